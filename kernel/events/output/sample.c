// SPDX-License-Identifier: GPL-2.0
/*
 * Samples: their fields, in which order, of which size, and what writes them.
 *
 * One table, sample_fields, describes the fields, in the order of the record. When an event is
 * opened perf_event_sample_sizes() computes its perf_event::layout from the table:
 *
 *   word	fields up to PERIOD, words of struct perf_sample_data: copied in one loop
 *   field	the others, each written by its function
 *
 * A sample is made in three steps. perf_prepare_sample() determines the values that the driver has
 * not supplied, and the sizes that depend on them; perf_prepare_header() makes the header; and
 * perf_output_sample() writes the record. perf_prepare_sample() may have been called before, for a
 * BPF program: fields in perf_sample_data::sample_flags are present and are not changed.
 *
 * Context: any, NMI included. No locks are taken and no memory is allocated.
 */
#include <linux/cgroup.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/ptrace.h>
#include <linux/sched.h>

#include "output.h"
#include "read_format.h"

/* The header has 16 bits for the size, which is a multiple of 8. */
#define SAMPLE_SIZE_MAX		(U16_MAX & ~7U)

#define IDENTITY_FIELDS	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |		\
			 PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

/* Fields that sample_prepare() makes valid in perf_sample_data without the table. */
#define WORD_FIELDS	(IDENTITY_FIELDS | PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD)

/**
 * struct sample_field - one field of a sample
 * @bit: PERF_SAMPLE_* bits; the field is present if one of them is set
 * @word: offset of the field in struct perf_sample_data, in units of 8 bytes; 0 with @write
 * @fixed: constant part of the field's size, bytes
 * @prepare: determine the value, and add the rest of the size to perf_sample_data::dyn_size
 * @write: write the field; NULL if it is a word of struct perf_sample_data
 */
struct sample_field {
	u64	bit;
	u8	word;
	u8	fixed;
	void	(*prepare)(struct perf_sample_data *data, struct perf_event *event,
			   struct pt_regs *regs);
	void	(*write)(struct perf_output_handle *handle, struct perf_sample_data *data,
			 struct perf_event *event);
};

/* perf_output_put_u64() for fields that are written less often. */
static void sample_put_u64(struct perf_output_handle *handle, u64 value)
{
	perf_output_put_u64(handle, value);
}

/* ------------------------------------------------------------------ identity */

/* A task's number in the namespace of the event's opener. */
static u32 sample_task_nr(struct perf_event *event, struct task_struct *task, enum pid_type type)
{
	pid_t nr = __task_pid_nr_ns(task, type, event->ns);

	return nr || pid_alive(task) ? nr : -1;
}

/* The task's own fields have the numbers of the initial namespace. */
static __always_inline struct perf_ids sample_ids(struct perf_event *event,
						  struct task_struct *task)
{
	if (likely(event->ns == &init_pid_ns && pid_alive(task)))
		return (struct perf_ids){ .pid = task->tgid, .tid = task->pid };
	return (struct perf_ids){
		.pid = sample_task_nr(event, task, PIDTYPE_TGID),
		.tid = sample_task_nr(event, task, PIDTYPE_PID),
	};
}

/**
 * perf_event_ids - ids of a task as an event reports them
 * @event: event that determines the pid namespace
 * @task: the task
 *
 * Context: any
 * Return: the ids
 */
struct perf_ids perf_event_ids(struct perf_event *event, struct task_struct *task)
{
	return sample_ids(event, task);
}

static __always_inline void sample_fill_tid(struct perf_sample_data *data, struct perf_event *event)
{
	struct perf_ids ids = sample_ids(event, current);

	data->tid_entry.pid = ids.pid;
	data->tid_entry.tid = ids.tid;
}

static __always_inline void sample_fill_identity(struct perf_sample_data *data,
						 struct perf_event *event, u64 fields)
{
	if (fields & PERF_SAMPLE_TID)
		sample_fill_tid(data, event);
	if (fields & PERF_SAMPLE_TIME)
		data->time = event->clock();
	if (fields & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER))
		data->id = perf_event_top(event)->id;
	if (fields & PERF_SAMPLE_STREAM_ID)
		data->stream_id = event->id;
	if (fields & PERF_SAMPLE_CPU) {
		data->cpu_entry.cpu = raw_smp_processor_id();
		data->cpu_entry.reserved = 0;
	}
}

/* One body for what is not a frequent sample. */
static void sample_fill_identity_any(struct perf_sample_data *data, struct perf_event *event,
				     u64 fields)
{
	sample_fill_identity(data, event, fields);
}

/* ---------------------------------------------------------------------- READ */

static void sample_prepare_read(struct perf_sample_data *data, struct perf_event *event,
				struct pt_regs *regs)
{
	data->nr_read = 1 + event->group_leader->nr_siblings;
	data->dyn_size += perf_read_words(event->attr.read_format, data->nr_read) * sizeof(u64);
}

static void sample_write_read(struct perf_output_handle *handle, struct perf_sample_data *data,
			      struct perf_event *event)
{
	perf_output_read_format(handle, event, data->nr_read);
}

/* ----------------------------------------------------------- CALLCHAIN and RAW */

static void sample_write_callchain(struct perf_output_handle *handle, struct perf_sample_data *data,
				   struct perf_event *event)
{
	struct perf_callchain_entry *chain = data->callchain;

	perf_output_copy(handle, chain, (1 + chain->nr) * sizeof(u64));
}

/* No raw payload: a u32 size of 4 and four zero bytes keep the field 8-byte aligned. */
static void sample_prepare_raw(struct perf_sample_data *data, struct perf_event *event,
			       struct pt_regs *regs)
{
	data->raw = NULL;
	data->dyn_size += sizeof(u64);
}

/* A payload of several pieces, or one that crosses the end of a chunk of the buffer. */
static noinline void sample_gather_raw(struct perf_output_handle *handle,
				       const struct perf_raw_record *raw)
{
	const struct perf_raw_frag *frag;
	u64 zero = 0;

	perf_output_put(handle, raw->size);
	for (frag = &raw->frag; ; frag = frag->next) {
		if (frag->copy)
			perf_output_custom(handle, frag->copy, frag->data, frag->size);
		else
			perf_output_copy(handle, frag->data, frag->size);
		if (perf_raw_frag_last(frag))
			break;
	}
	perf_output_copy(handle, &zero, frag->pad);
}

/* Size, payload and padding are a multiple of 8 bytes: clearing the last 8 writes the padding. */
static void sample_write_raw(struct perf_output_handle *handle, struct perf_sample_data *data,
			     struct perf_event *event)
{
	const struct perf_raw_record *raw = data->raw;
	u32 none[2] = { sizeof(u32), 0 }, *at;
	unsigned int size;

	if (!raw) {
		perf_output_put(handle, none);
		return;
	}

	size = sizeof(raw->size) + raw->size;
	if (likely(!raw->frag.copy && perf_raw_frag_last(&raw->frag))) {
		at = perf_output_span(handle, size);
		if (likely(at)) {
			*(u64 *)((void *)at + size - sizeof(u64)) = 0;
			*at++ = raw->size;
			memcpy(at, raw->frag.data, raw->frag.size);
			return;
		}
	}
	sample_gather_raw(handle, raw);
}

/* -------------------------------------------------------------- BRANCH_STACK */

static void sample_prepare_branches(struct perf_sample_data *data, struct perf_event *event,
				    struct pt_regs *regs)
{
	data->br_stack = NULL;
	data->dyn_size += sizeof(u64);
}

static void sample_write_branches(struct perf_output_handle *handle, struct perf_sample_data *data,
				  struct perf_event *event)
{
	struct perf_branch_stack *stack = data->br_stack;

	sample_put_u64(handle, stack ? stack->nr : 0);
	if (!stack)
		return;
	if (branch_sample_hw_index(event))
		sample_put_u64(handle, stack->hw_idx);
	perf_output_copy(handle, stack->entries, stack->nr * sizeof(stack->entries[0]));
	if (branch_sample_counters(event) && data->br_stack_cntr)
		perf_output_copy(handle, data->br_stack_cntr, stack->nr * sizeof(u64));
}

/* ------------------------------------------------------- registers and stacks */

static u64 sample_regs_size(const struct perf_regs *regs, u64 mask)
{
	return regs->abi == PERF_SAMPLE_REGS_ABI_NONE ? 0 : hweight64(mask) * sizeof(u64);
}

/* The task's user registers; none if it has no user space. */
static noinline void sample_find_user_regs(struct perf_sample_data *data,
					   struct perf_event *event, struct pt_regs *regs)
{
	/* A wake-up is reported to events of the woken task: current is another task. */
	if (event->hw.target && event->hw.target != current) {
		data->regs_user.regs = NULL;
		data->regs_user.abi = PERF_SAMPLE_REGS_ABI_NONE;
	} else if (user_mode(regs)) {
		data->regs_user.regs = regs;
		data->regs_user.abi = perf_reg_abi(current);
	} else if (is_user_task(current)) {
		perf_get_regs_user(&data->regs_user, regs);
	} else {
		data->regs_user.regs = NULL;
		data->regs_user.abi = PERF_SAMPLE_REGS_ABI_NONE;
	}
}

static void sample_prepare_user_regs(struct perf_sample_data *data, struct perf_event *event,
				     struct pt_regs *regs)
{
	sample_find_user_regs(data, event, regs);
	data->dyn_size += sample_regs_size(&data->regs_user, event->attr.sample_regs_user);
}

static void sample_prepare_intr_regs(struct perf_sample_data *data, struct perf_event *event,
				     struct pt_regs *regs)
{
	data->regs_intr.regs = regs;
	data->regs_intr.abi = perf_reg_abi(current);
	data->dyn_size += sample_regs_size(&data->regs_intr, event->attr.sample_regs_intr);
}

static noinline void sample_write_regs(struct perf_output_handle *handle,
				       const struct perf_regs *regs, u64 mask)
{
	u64 *at;

	sample_put_u64(handle, regs->abi);
	if (regs->abi == PERF_SAMPLE_REGS_ABI_NONE)
		return;
	at = perf_output_span(handle, hweight64(mask) * sizeof(u64));
	for (; mask; mask &= mask - 1) {
		u64 value = perf_reg_value(regs->regs, __ffs64(mask));

		if (likely(at))
			*at++ = value;
		else
			sample_put_u64(handle, value);
	}
}

static void sample_write_user_regs(struct perf_output_handle *handle, struct perf_sample_data *data,
				   struct perf_event *event)
{
	sample_write_regs(handle, &data->regs_user, event->attr.sample_regs_user);
}

static void sample_write_intr_regs(struct perf_output_handle *handle, struct perf_sample_data *data,
				   struct perf_event *event)
{
	sample_write_regs(handle, &data->regs_intr, event->attr.sample_regs_intr);
}

/* Bytes that can be added to a sample. */
static u64 sample_room(struct perf_sample_data *data, struct perf_event *event)
{
	u64 size = perf_sample_data_size(data, event);

	return size < SAMPLE_SIZE_MAX ? SAMPLE_SIZE_MAX - size : 0;
}

/*
 * The dump gets what the other fields, except AUX, leave free, and ends with the user address
 * space. The field has two sizes beside the dump: the first is always present, the second, of the
 * bytes that could be read, only with a dump.
 */
static void sample_prepare_user_stack(struct perf_sample_data *data, struct perf_event *event,
				      struct pt_regs *regs)
{
	u64 size = event->attr.sample_stack_user;
	u64 room = sample_room(data, event);
	unsigned long sp;

	data->stack_user_size = 0;
	if (!(event->attr.sample_type & PERF_SAMPLE_REGS_USER))
		sample_find_user_regs(data, event, regs);
	if (!data->regs_user.regs || room <= sizeof(u64))
		return;

	sp = user_stack_pointer(data->regs_user.regs);
	if (!sp || sp >= TASK_SIZE)
		return;
	size = round_down(min3(size, room - sizeof(u64), (u64)(TASK_SIZE - sp)), sizeof(u64));
	if (!size)
		return;
	data->stack_user_size = size;
	data->dyn_size += size + sizeof(u64);
}

static void sample_write_user_stack(struct perf_output_handle *handle,
				    struct perf_sample_data *data, struct perf_event *event)
{
	u64 size = data->stack_user_size;
	unsigned int missing;
	unsigned long sp;

	sample_put_u64(handle, size);
	if (!size)
		return;
	sp = user_stack_pointer(data->regs_user.regs);
	missing = perf_output_copy_user(handle, (void __user *)sp, size);
	perf_output_skip(handle, missing);
	sample_put_u64(handle, size - missing);
}

/* --------------------------------------------------- words, by their defaults */

static void sample_prepare_weight(struct perf_sample_data *data, struct perf_event *event,
				  struct pt_regs *regs)
{
	data->weight.full = 0;
}

static void sample_prepare_data_src(struct perf_sample_data *data, struct perf_event *event,
				    struct pt_regs *regs)
{
	data->data_src.val = PERF_MEM_NA;
}

static void sample_prepare_txn(struct perf_sample_data *data, struct perf_event *event,
			       struct pt_regs *regs)
{
	data->txn = 0;
}

static void sample_prepare_phys_addr(struct perf_sample_data *data, struct perf_event *event,
				     struct pt_regs *regs)
{
	data->phys_addr = perf_addr_to_phys(data->addr);
}

static void sample_prepare_cgroup(struct perf_sample_data *data, struct perf_event *event,
				  struct pt_regs *regs)
{
#ifdef CONFIG_CGROUP_PERF
	data->cgroup = cgroup_id(task_css_check(current, perf_event_cgrp_id, true)->cgroup);
#endif
}

static void sample_prepare_data_page_size(struct perf_sample_data *data, struct perf_event *event,
					  struct pt_regs *regs)
{
	data->data_page_size = perf_addr_page_size(data->addr);
}

static void sample_prepare_code_page_size(struct perf_sample_data *data, struct perf_event *event,
					  struct pt_regs *regs)
{
	if (!(event->attr.sample_type & PERF_SAMPLE_IP))
		data->ip = perf_instruction_pointer(regs);
	data->code_page_size = perf_addr_page_size(data->ip);
}

/* ------------------------------------------------------------------------ AUX */

/* Prepared last: the field gets the space that all others leave. */
static void sample_prepare_aux(struct perf_sample_data *data, struct perf_event *event,
			       struct pt_regs *regs)
{
	u64 max = min_t(u64, event->attr.aux_sample_size, sample_room(data, event));

	data->aux_size = round_down(perf_aux_sample_size(event, max), sizeof(u64));
	data->dyn_size += data->aux_size;
}

static void sample_write_aux(struct perf_output_handle *handle, struct perf_sample_data *data,
			     struct perf_event *event)
{
	sample_put_u64(handle, data->aux_size);
	if (data->aux_size)
		perf_aux_sample_output(event, handle, data->aux_size);
}

/* ------------------------------------------------------------------ the table */

#define AT(_member)	(offsetof(struct perf_sample_data, _member) / sizeof(u64))

#define WORD(_bit, _member, _prepare)						\
	{ .bit = PERF_SAMPLE_##_bit, .word = AT(_member), .fixed = sizeof(u64),	\
	  .prepare = _prepare }
#define FIELD(_bit, _fixed, _name)						\
	{ .bit = PERF_SAMPLE_##_bit, .fixed = _fixed,				\
	  .prepare = sample_prepare_##_name, .write = sample_write_##_name }

static const struct sample_field sample_fields[] = {
	WORD(IDENTIFIER,	id,		NULL),
	WORD(IP,		ip,		NULL),
	WORD(TID,		tid_entry,	NULL),
	WORD(TIME,		time,		NULL),
	WORD(ADDR,		addr,		NULL),
	WORD(ID,		id,		NULL),
	WORD(STREAM_ID,		stream_id,	NULL),
	WORD(CPU,		cpu_entry,	NULL),
	WORD(PERIOD,		period,		NULL),
	FIELD(READ,		0,		read),
	{ .bit = PERF_SAMPLE_CALLCHAIN, .write = sample_write_callchain },
	FIELD(RAW,		0,		raw),
	FIELD(BRANCH_STACK,	0,		branches),
	FIELD(REGS_USER,	sizeof(u64),	user_regs),
	FIELD(STACK_USER,	sizeof(u64),	user_stack),
	WORD(WEIGHT_TYPE,	weight,		sample_prepare_weight),
	WORD(DATA_SRC,		data_src,	sample_prepare_data_src),
	WORD(TRANSACTION,	txn,		sample_prepare_txn),
	FIELD(REGS_INTR,	sizeof(u64),	intr_regs),
	WORD(PHYS_ADDR,		phys_addr,	sample_prepare_phys_addr),
	WORD(CGROUP,		cgroup,		sample_prepare_cgroup),
	WORD(DATA_PAGE_SIZE,	data_page_size,	sample_prepare_data_page_size),
	WORD(CODE_PAGE_SIZE,	code_page_size,	sample_prepare_code_page_size),
	FIELD(AUX,		sizeof(u64),	aux),
};

/* Trailer of records that are not samples: the identity fields, in an order of its own. */
static const struct {
	u64	bit;
	u8	word;
} id_fields[] = {
	{ PERF_SAMPLE_TID,		AT(tid_entry) },
	{ PERF_SAMPLE_TIME,		AT(time) },
	{ PERF_SAMPLE_ID,		AT(id) },
	{ PERF_SAMPLE_STREAM_ID,	AT(stream_id) },
	{ PERF_SAMPLE_CPU,		AT(cpu_entry) },
	{ PERF_SAMPLE_IDENTIFIER,	AT(id) },
};

static void sample_layout_add(struct perf_sample_layout *layout, unsigned int i)
{
	const struct sample_field *field = &sample_fields[i];

	if (field->bit & WORD_FIELDS)
		layout->word[layout->nr_words++] = field->word;
	else
		layout->field[layout->nr_fields++] = i;
}

/**
 * perf_event_sample_sizes - compute the layout of an event's samples
 * @event: event with its final attributes
 *
 * Sets perf_event::layout, header_size and id_header_size (bytes). The sum of the sizes is the
 * constant part of a sample; id_header_size is the size of other records' trailer.
 *
 * Context: process context
 */
void perf_event_sample_sizes(struct perf_event *event)
{
	u64 type = event->attr.sample_type;

	BUILD_BUG_ON(ARRAY_SIZE(sample_fields) !=
		     ARRAY_SIZE(event->layout.word) + ARRAY_SIZE(event->layout.field));

	event->layout.nr_words = 0;
	event->layout.nr_fields = 0;
	event->header_size = 0;
	event->id_header_size = 0;
	for (int i = 0; type && i < ARRAY_SIZE(sample_fields); i++) {
		const struct sample_field *field = &sample_fields[i];

		if (!(type & field->bit))
			continue;
		sample_layout_add(&event->layout, i);
		if (field->bit & IDENTITY_FIELDS)
			event->id_header_size += field->fixed;
		else
			event->header_size += field->fixed;
	}
	event->layout.rest = event->layout.nr_fields ||
			     (event->attr.wakeup_events && !event->attr.watermark);
}

/* -------------------------------------------------------------------- prepare */

/* The sizes of these two depend on the space that the others leave. */
#define GREEDY_FIELDS	(PERF_SAMPLE_STACK_USER | PERF_SAMPLE_AUX)

static noinline void sample_prepare_fields(struct perf_sample_data *data, struct perf_event *event,
					   struct pt_regs *regs, u64 missing)
{
	const struct perf_sample_layout *layout = &event->layout;

	for (int i = 0; i < layout->nr_fields; i++) {
		const struct sample_field *field = &sample_fields[layout->field[i]];

		if (missing & field->bit & ~GREEDY_FIELDS)
			field->prepare(data, event, regs);
	}
	if (missing & PERF_SAMPLE_STACK_USER)
		sample_prepare_user_stack(data, event, regs);
	if (missing & PERF_SAMPLE_AUX)
		sample_prepare_aux(data, event, regs);
}

/* perf_event_max_stack allows a call chain that is longer than a record can be. */
static noinline void sample_trim_callchain(struct perf_sample_data *data, struct perf_event *event)
{
	u64 size = perf_sample_data_size(data, event);
	u64 entries;

	if (size <= SAMPLE_SIZE_MAX || !(event->attr.sample_type & PERF_SAMPLE_CALLCHAIN))
		return;
	entries = DIV_ROUND_UP(size - SAMPLE_SIZE_MAX, sizeof(u64));
	if (entries > data->callchain->nr)
		return;
	data->callchain->nr -= entries;
	data->dyn_size -= entries * sizeof(u64);
}

typedef void (*sample_fill_fn)(struct perf_sample_data *data, struct perf_event *event, u64 fields);

static __always_inline void sample_prepare_missing(struct perf_sample_data *data,
						   struct perf_event *event, struct pt_regs *regs,
						   u64 missing, sample_fill_fn fill)
{
	fill(data, event, missing);
	if (missing & PERF_SAMPLE_IP)
		data->ip = perf_instruction_pointer(regs);
	/* Frequent: not by the table. */
	if (missing & PERF_SAMPLE_CALLCHAIN)
		perf_sample_save_callchain(data, event, regs);
	if (missing & ~(WORD_FIELDS | PERF_SAMPLE_CALLCHAIN))
		sample_prepare_fields(data, event, regs, missing & ~PERF_SAMPLE_CALLCHAIN);
	data->sample_flags |= missing;
}

/* @fill: sample_fill_identity() inline or as a function */
static __always_inline void sample_prepare_by(struct perf_sample_data *data,
					      struct perf_event *event, struct pt_regs *regs,
					      sample_fill_fn fill)
{
	u64 missing = event->attr.sample_type & ~data->sample_flags;

	/* A BPF program's record often has only what the program supplies. */
	if (missing)
		sample_prepare_missing(data, event, regs, missing, fill);
	if (unlikely(data->dyn_size > SAMPLE_SIZE_MAX / 2))
		sample_trim_callchain(data, event);
}

static __always_inline void sample_prepare(struct perf_sample_data *data, struct perf_event *event,
					   struct pt_regs *regs)
{
	sample_prepare_by(data, event, regs, sample_fill_identity);
}

noinline void perf_prepare_sample(struct perf_sample_data *data, struct perf_event *event,
				  struct pt_regs *regs)
{
	sample_prepare_by(data, event, regs, sample_fill_identity_any);
}

static __always_inline void sample_prepare_header(struct perf_event_header *header,
						  struct perf_sample_data *data,
						  struct perf_event *event, struct pt_regs *regs)
{
	u64 size = sizeof(*header) + event->header_size + event->id_header_size + data->dyn_size;

	header->type = PERF_RECORD_SAMPLE;
	header->misc = perf_misc_flags(regs);
	header->size = likely(size <= SAMPLE_SIZE_MAX) ? size : 0;
}

void perf_prepare_header(struct perf_event_header *header, struct perf_sample_data *data,
			 struct perf_event *event, struct pt_regs *regs)
{
	sample_prepare_header(header, data, event, regs);
}

/* --------------------------------------------------------------------- output */

static __always_inline void sample_fill_words(u64 *to, const struct perf_event_header *header,
					      const struct perf_sample_data *data,
					      const struct perf_sample_layout *layout)
{
	const u8 *field = layout->word, *end = field + layout->nr_words;
	const u64 *from = (const u64 *)data;

	memcpy(to++, header, sizeof(*header));
	while (field < end)
		*to++ = from[*field++];
}

static noinline void sample_write_rest(struct perf_output_handle *handle,
				       struct perf_sample_data *data, struct perf_event *event)
{
	const struct perf_sample_layout *layout = &event->layout;

	for (int i = 0; i < layout->nr_fields; i++) {
		const struct sample_field *field = &sample_fields[layout->field[i]];

		if (field->write)
			field->write(handle, data, event);
		else
			perf_output_put_u64(handle, ((u64 *)data)[field->word]);
	}
	perf_output_sample_done(handle);
}

/* The words cross the end of a chunk of the buffer. */
static noinline void sample_copy_words(struct perf_output_handle *handle,
				       const struct perf_event_header *header,
				       const struct perf_sample_data *data,
				       const struct perf_sample_layout *layout)
{
	u64 words[1 + ARRAY_SIZE(layout->word)] __uninitialized;

	sample_fill_words(words, header, data, layout);
	perf_output_copy(handle, words, (1 + layout->nr_words) * sizeof(u64));
}

static __always_inline void sample_write(struct perf_output_handle *handle,
					 struct perf_event_header *header,
					 struct perf_sample_data *data, struct perf_event *event)
{
	const struct perf_sample_layout *layout = &event->layout;
	u64 *at = perf_output_span(handle, (1 + layout->nr_words) * sizeof(u64));

	if (likely(at))
		sample_fill_words(at, header, data, layout);
	else
		sample_copy_words(handle, header, data, layout);
	if (layout->rest)
		sample_write_rest(handle, data, event);
}

void perf_output_sample(struct perf_output_handle *handle, struct perf_event_header *header,
			struct perf_sample_data *data, struct perf_event *event)
{
	sample_write(handle, header, data, event);
}

/* The chain's buffer can be reused now: the next sample of the same hit collects its own chain. */
static __always_inline void sample_drop_callchain(struct perf_sample_data *data)
{
	data->sample_flags &= ~PERF_SAMPLE_CALLCHAIN;
	data->dyn_size -= (1 + data->callchain->nr) * sizeof(u64);
	perf_callchain_release(data->callchain);
}

/*
 * @prepare and @write: sample_prepare() and sample_write(), inline or as functions; @begin: one of
 * perf_output_begin*(). @overflow: perf_event_overflow(), the caller, sends the signal.
 */
static __always_inline int sample_output(struct perf_event *event, struct perf_sample_data *data,
					 struct pt_regs *regs,
					 void (*prepare)(struct perf_sample_data *data,
							 struct perf_event *event,
							 struct pt_regs *regs),
					 int (*begin)(struct perf_output_handle *handle,
						      struct perf_sample_data *data,
						      struct perf_event *event, unsigned int size),
					 void (*write)(struct perf_output_handle *handle,
						       struct perf_event_header *header,
						       struct perf_sample_data *data,
						       struct perf_event *event),
					 bool overflow)
{
	struct perf_output_handle handle __uninitialized;
	struct perf_event_header header __uninitialized;
	int ret;

	/* Without a buffer nothing has to be prepared. */
	if (!rcu_access_pointer(perf_event_top(event)->rb))
		return -ENOSPC;

	guard(rcu)();
	prepare(data, event, regs);
	sample_prepare_header(&header, data, event, regs);
	ret = -E2BIG;
	if (likely(header.size))
		ret = begin(&handle, data, event, header.size);
	else
		perf_output_lose(event);
	if (likely(!ret))
		write(&handle, &header, data, event);
	if (event->attr.sample_type & PERF_SAMPLE_CALLCHAIN)
		sample_drop_callchain(data);
	if (likely(!ret)) {
		handle.no_signal = overflow;
		perf_output_end(&handle);
	}
	return ret;
}

void perf_event_output_forward(struct perf_event *event, struct perf_sample_data *data,
			       struct pt_regs *regs)
{
	sample_output(event, data, regs, sample_prepare, perf_output_begin_forward, sample_write,
		      true);
}

#ifdef CONFIG_CPU_SUP_INTEL
/* Fields that the driver sets for each sample of a batch, or that are the same in all of them. */
#define BATCH_FIELDS	(WORD_FIELDS | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_WEIGHT_TYPE |	\
			 PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_REGS_INTR)

bool perf_sample_batch_begin(struct perf_sample_batch *batch, struct perf_event *event,
			     struct perf_sample_data *data, struct pt_regs *regs, unsigned int nr)
{
	if (event->attr.sample_type & ~BATCH_FIELDS)
		return false;
	batch->event = event;
	perf_prepare_sample(data, event, regs);
	perf_prepare_header(&batch->header, data, event, regs);
	return batch->header.size &&
	       perf_output_begin_many(&batch->handle, event, nr * batch->header.size);
}

void perf_sample_batch_add(struct perf_sample_batch *batch, struct perf_sample_data *data,
			   struct pt_regs *regs)
{
	batch->header.misc = perf_misc_flags(regs);
	sample_write(&batch->handle, &batch->header, data, batch->event);
}

void perf_sample_batch_end(struct perf_sample_batch *batch)
{
	batch->handle.no_signal = 1;
	perf_output_end(&batch->handle);
}
#endif

/* One body for what is written less often. */
static noinline int sample_output_any(struct perf_event *event, struct perf_sample_data *data,
				      struct pt_regs *regs, bool overflow)
{
	return sample_output(event, data, regs, perf_prepare_sample, perf_output_begin,
			     perf_output_sample, overflow);
}

void perf_event_output_backward(struct perf_event *event, struct perf_sample_data *data,
				struct pt_regs *regs)
{
	sample_output_any(event, data, regs, true);
}

int perf_event_output(struct perf_event *event, struct perf_sample_data *data,
		      struct pt_regs *regs)
{
	return sample_output_any(event, data, regs, false);
}

/* -------------------------------------------------------------- other records */

void perf_event_header__init(struct perf_event_header *header, struct perf_sample_data *data,
			     u32 type, u16 misc, u16 size, struct perf_event *event)
{
	bool trailer = event->attr.sample_id_all;

	*header = (struct perf_event_header){
		.type = type, .misc = misc, .size = size + (trailer ? event->id_header_size : 0),
	};
	if (trailer)
		sample_fill_identity_any(data, event, event->attr.sample_type);
}

void perf_event__output_id_sample(struct perf_event *event, struct perf_output_handle *handle,
				  struct perf_sample_data *sample)
{
	u64 left = event->attr.sample_type & IDENTITY_FIELDS;
	const u64 *from = (const u64 *)sample;

	if (!event->attr.sample_id_all)
		return;
	for (int i = 0; left; i++) {
		if (left & id_fields[i].bit)
			perf_output_put_u64(handle, from[id_fields[i].word]);
		left &= ~id_fields[i].bit;
	}
}
