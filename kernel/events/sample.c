// SPDX-License-Identifier: GPL-2.0
/*
 * Samples: which fields they have, in which order, how large they are and who writes them.
 *
 * One table, sample_fields, says all of that; its order is the order in the record. When an event
 * is opened its own fields are picked from the table:
 *
 *   plain	words up to PERIOD, which stand in struct perf_sample_data: copied in one go
 *   other	the rest, each written by its function
 *
 * A sample is made in three steps: perf_prepare_sample() finds the values that the driver has not
 * supplied, and with them the sizes; perf_prepare_header(); perf_output_sample() writes. The first
 * may have been called already, for a BPF program: what perf_sample_data::sample_flags names is
 * there and is left as it is.
 *
 * Context: any, NMI included. No locks, no memory is allocated.
 */
#include <linux/cgroup.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sizes.h>

#include "buffer.h"
#include "output.h"

/* The header has 16 bits for the size, which is a multiple of 8. */
#define SAMPLE_SIZE_MAX		(U16_MAX & ~7U)

/* Bytes of a read(), and so of a READ part. */
#define READ_SIZE_MAX		SZ_16K

#define IDENTITY_FIELDS	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |		\
			 PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

/* Fields that are always right in perf_sample_data, or found by perf_prepare_sample() itself. */
#define PLAIN_FIELDS	(IDENTITY_FIELDS | PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD)

/**
 * struct sample_field - one field of a sample
 * @bit: PERF_SAMPLE_* bits, one of which asks for it
 * @word: where its word is in struct perf_sample_data, in units of eight bytes
 * @fixed: bytes it always takes
 * @prepare: find its value, and add what it takes beyond @fixed to perf_sample_data::dyn_size
 * @write: write it; NULL for a word
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

static void put_u64(struct perf_output_handle *handle, u64 value)
{
	u64 *at = perf_output_span(handle, sizeof(value));

	if (likely(at))
		*at = value;
	else
		perf_output_put(handle, value);
}

/* ------------------------------------------------------------------ identity */

static u64 primary_id(const struct perf_event *event)
{
	return event->parent ? event->parent->id : event->id;
}

/* A task's number as the opener of the event sees it; -1 once the task has lost it. */
static u32 pid_as_seen(struct perf_event *event, struct task_struct *task, enum pid_type type)
{
	pid_t nr;

	if (likely(event->ns == &init_pid_ns && pid_alive(task)))
		return type == PIDTYPE_TGID ? task->tgid : task->pid;
	nr = __task_pid_nr_ns(task, type, event->ns);
	return nr || pid_alive(task) ? nr : -1;
}

u32 perf_event_pid(struct perf_event *event, struct task_struct *task)
{
	return pid_as_seen(event, task, PIDTYPE_TGID);
}

u32 perf_event_tid(struct perf_event *event, struct task_struct *task)
{
	return pid_as_seen(event, task, PIDTYPE_PID);
}

static __always_inline void fill_identity(struct perf_sample_data *data, struct perf_event *event,
					  u64 fields)
{
	if (fields & PERF_SAMPLE_TID) {
		data->tid_entry.pid = perf_event_pid(event, current);
		data->tid_entry.tid = perf_event_tid(event, current);
	}
	if (fields & PERF_SAMPLE_TIME)
		data->time = event->clock();
	if (fields & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER))
		data->id = primary_id(event);
	if (fields & PERF_SAMPLE_STREAM_ID)
		data->stream_id = event->id;
	if (fields & PERF_SAMPLE_CPU) {
		data->cpu_entry.cpu = raw_smp_processor_id();
		data->cpu_entry.reserved = 0;
	}
}

/* ---------------------------------------------------------------------- READ */

static unsigned int read_words(u64 format, unsigned int nr)
{
	unsigned int head = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
			    !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	unsigned int each = 1 + !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST);

	return format & PERF_FORMAT_GROUP ? 1 + head + nr * each : head + each;
}

/**
 * perf_event_read_size - bytes that read() of an event answers
 * @read_format: its format
 * @nr_siblings: siblings in its group
 *
 * Return: bytes, or -E2BIG if they are more than a read may have
 */
int perf_event_read_size(u64 read_format, int nr_siblings)
{
	u64 size = (u64)read_words(read_format, 1 + nr_siblings) * sizeof(u64);

	if (size > READ_SIZE_MAX)
		return perf_refuse(-E2BIG, "group: a read of it would have %llu bytes, at most %llu",
				   size, READ_SIZE_MAX);
	return size;
}

static void prepare_read(struct perf_sample_data *data, struct perf_event *event,
			 struct pt_regs *regs)
{
	data->nr_read = 1 + event->group_leader->nr_siblings;
	data->dyn_size += read_words(event->attr.read_format, data->nr_read) * sizeof(u64);
}

static void write_times(struct perf_output_handle *handle, struct perf_event *event, u64 format)
{
	u64 enabled, running;

	if (!(format & (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)))
		return;
	perf_event_times(event, perf_ctx_time(event->ctx), &enabled, &running);
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		put_u64(handle, enabled);
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		put_u64(handle, running);
}

static void write_identity(struct perf_output_handle *handle, struct perf_event *event, u64 format)
{
	if (format & PERF_FORMAT_ID)
		put_u64(handle, primary_id(event));
	if (format & PERF_FORMAT_LOST)
		put_u64(handle, atomic64_read(&perf_event_writer(event)->lost_samples));
}

/*
 * A task's event may be told of something while the task is on no CPU, or on another. Where that runs
 * its members are not ours to ask; on no CPU there is only the clock of a resident one, which has been
 * read before it stopped or is now.
 */
static bool may_be_asked(const struct perf_event *member)
{
	int cpu = READ_ONCE(member->ctx->active_cpu);

	if (cpu < 0)
		return member->event_caps & PERF_EV_CAP_RESIDENT;
	return cpu == smp_processor_id();
}

/* The event itself is up to date; others of its group may have to be asked. */
static void write_member(struct perf_output_handle *handle, struct perf_event *event,
			 struct perf_event *member, u64 format)
{
	if (member != event && !handle->skip_read && member->state == PERF_EVENT_STATE_ACTIVE &&
	    may_be_asked(member))
		member->pmu->read(member);

	put_u64(handle, local64_read(&member->count));
	write_identity(handle, member, format);
}

/* An interrupt may change the group between its sizing and here: room is for as many as were. */
static void write_group(struct perf_output_handle *handle, struct perf_event *event,
			unsigned int nr, u64 format)
{
	struct perf_event *leader = event->group_leader, *sibling;
	unsigned int each = 1 + !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST);
	unsigned long flags;

	put_u64(handle, nr);
	write_times(handle, event, format);

	local_irq_save(flags);
	write_member(handle, event, leader, format);
	nr--;
	for_each_sibling_event(sibling, leader) {
		if (!nr)
			break;
		write_member(handle, event, sibling, format);
		nr--;
	}
	local_irq_restore(flags);

	for (nr *= each; nr; nr--)
		put_u64(handle, 0);
}

static void write_read_format(struct perf_output_handle *handle, struct perf_event *event,
			      unsigned int nr)
{
	u64 format = event->attr.read_format;

	if (format & PERF_FORMAT_GROUP) {
		write_group(handle, event, nr, format);
		return;
	}
	put_u64(handle, local64_read(&event->count));
	write_times(handle, event, format);
	write_identity(handle, event, format);
}

static void write_read(struct perf_output_handle *handle, struct perf_sample_data *data,
		       struct perf_event *event)
{
	write_read_format(handle, event, data->nr_read);
}

/* ----------------------------------------------------------- CALLCHAIN and RAW */

static void write_callchain(struct perf_output_handle *handle, struct perf_sample_data *data,
			    struct perf_event *event)
{
	struct perf_callchain_entry *chain = data->callchain;

	perf_output_copy(handle, chain, (1 + chain->nr) * sizeof(u64));
}

/* Nothing is said by four bytes of nothing, which fill up the word with the size. */
static void prepare_raw(struct perf_sample_data *data, struct perf_event *event,
			struct pt_regs *regs)
{
	data->raw = NULL;
	data->dyn_size += sizeof(u64);
}

/* Where a chunk of the buffer ends, or pieces are to be gathered. */
static noinline void gather_raw(struct perf_output_handle *handle,
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

/* Size, bytes and padding make whole words: the padding is in the last one. */
static void write_raw(struct perf_output_handle *handle, struct perf_sample_data *data,
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
	gather_raw(handle, raw);
}

/* -------------------------------------------------------------- BRANCH_STACK */

static void prepare_branches(struct perf_sample_data *data, struct perf_event *event,
			     struct pt_regs *regs)
{
	data->br_stack = NULL;
	data->dyn_size += sizeof(u64);
}

static void write_branches(struct perf_output_handle *handle, struct perf_sample_data *data,
			   struct perf_event *event)
{
	struct perf_branch_stack *stack = data->br_stack;

	if (!stack) {
		put_u64(handle, 0);
		return;
	}
	put_u64(handle, stack->nr);
	if (branch_sample_hw_index(event))
		put_u64(handle, stack->hw_idx);
	perf_output_copy(handle, stack->entries, stack->nr * sizeof(stack->entries[0]));
	if (branch_sample_counters(event) && data->br_stack_cntr)
		perf_output_copy(handle, data->br_stack_cntr, stack->nr * sizeof(u64));
}

/* ------------------------------------------------------- registers and stacks */

static u64 regs_size(const struct perf_regs *regs, u64 mask)
{
	return regs->abi == PERF_SAMPLE_REGS_ABI_NONE ? 0 : hweight64(mask) * sizeof(u64);
}

/* Those of user space, if the task has any, wherever it was interrupted. */
static void find_user_regs(struct perf_sample_data *data, struct perf_event *event,
			   struct pt_regs *regs)
{
	/* A wake-up is told to events of the task that is woken. Who wakes it is not theirs to look into. */
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

static void prepare_user_regs(struct perf_sample_data *data, struct perf_event *event,
			      struct pt_regs *regs)
{
	find_user_regs(data, event, regs);
	data->dyn_size += regs_size(&data->regs_user, event->attr.sample_regs_user);
}

static void prepare_intr_regs(struct perf_sample_data *data, struct perf_event *event,
			      struct pt_regs *regs)
{
	data->regs_intr.regs = regs;
	data->regs_intr.abi = perf_reg_abi(current);
	data->dyn_size += regs_size(&data->regs_intr, event->attr.sample_regs_intr);
}

static void write_regs(struct perf_output_handle *handle, const struct perf_regs *regs, u64 mask)
{
	put_u64(handle, regs->abi);
	if (regs->abi == PERF_SAMPLE_REGS_ABI_NONE)
		return;
	for (; mask; mask &= mask - 1)
		put_u64(handle, perf_reg_value(regs->regs, __ffs64(mask)));
}

static void write_user_regs(struct perf_output_handle *handle, struct perf_sample_data *data,
			    struct perf_event *event)
{
	write_regs(handle, &data->regs_user, event->attr.sample_regs_user);
}

static void write_intr_regs(struct perf_output_handle *handle, struct perf_sample_data *data,
			    struct perf_event *event)
{
	write_regs(handle, &data->regs_intr, event->attr.sample_regs_intr);
}

/* Bytes that a sample can still take. */
static u64 sample_room(struct perf_sample_data *data, struct perf_event *event)
{
	u64 size = perf_sample_data_size(data, event);

	return size < SAMPLE_SIZE_MAX ? SAMPLE_SIZE_MAX - size : 0;
}

/*
 * After all others but AUX: the dump gets what they leave, and goes no further than user
 * addresses do. The dump's own two sizes: the first is fixed, the second comes with content.
 */
static void prepare_user_stack(struct perf_sample_data *data, struct perf_event *event,
			       struct pt_regs *regs)
{
	u64 size = event->attr.sample_stack_user;
	u64 room = sample_room(data, event);
	unsigned long sp;

	data->stack_user_size = 0;
	if (!(event->attr.sample_type & PERF_SAMPLE_REGS_USER))
		find_user_regs(data, event, regs);
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

static void write_user_stack(struct perf_output_handle *handle, struct perf_sample_data *data,
			     struct perf_event *event)
{
	u64 size = data->stack_user_size;
	unsigned int missing;
	unsigned long sp;

	put_u64(handle, size);
	if (!size)
		return;
	sp = user_stack_pointer(data->regs_user.regs);
	missing = perf_output_copy_user(handle, (void __user *)sp, size);
	perf_output_skip(handle, missing);
	put_u64(handle, size - missing);
}

/* -------------------------------------------- words that need to be looked up */

static void prepare_weight(struct perf_sample_data *data, struct perf_event *event,
			   struct pt_regs *regs)
{
	data->weight.full = 0;
}

static void prepare_data_src(struct perf_sample_data *data, struct perf_event *event,
			     struct pt_regs *regs)
{
	data->data_src.val = PERF_MEM_NA;
}

static void prepare_txn(struct perf_sample_data *data, struct perf_event *event,
			struct pt_regs *regs)
{
	data->txn = 0;
}

static void prepare_phys_addr(struct perf_sample_data *data, struct perf_event *event,
			      struct pt_regs *regs)
{
	data->phys_addr = perf_addr_to_phys(data->addr);
}

static void prepare_cgroup(struct perf_sample_data *data, struct perf_event *event,
			   struct pt_regs *regs)
{
#ifdef CONFIG_CGROUP_PERF
	data->cgroup = cgroup_id(task_css_check(current, perf_event_cgrp_id, true)->cgroup);
#endif
}

static void prepare_data_page_size(struct perf_sample_data *data, struct perf_event *event,
				   struct pt_regs *regs)
{
	data->data_page_size = perf_addr_page_size(data->addr);
}

static void prepare_code_page_size(struct perf_sample_data *data, struct perf_event *event,
				   struct pt_regs *regs)
{
	if (!(event->attr.sample_type & PERF_SAMPLE_IP))
		data->ip = perf_instruction_pointer(regs);
	data->code_page_size = perf_addr_page_size(data->ip);
}

/* ------------------------------------------------------------------------ AUX */

/* The last of all: it gets what is left. */
static void prepare_aux(struct perf_sample_data *data, struct perf_event *event,
			struct pt_regs *regs)
{
	u64 max = min_t(u64, event->attr.aux_sample_size, sample_room(data, event));

	data->aux_size = round_down(perf_aux_sample_size(event, max), sizeof(u64));
	data->dyn_size += data->aux_size;
}

static void write_aux(struct perf_output_handle *handle, struct perf_sample_data *data,
		      struct perf_event *event)
{
	put_u64(handle, data->aux_size);
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
	  .prepare = prepare_##_name, .write = write_##_name }

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
	{ .bit = PERF_SAMPLE_CALLCHAIN, .write = write_callchain },
	FIELD(RAW,		0,		raw),
	FIELD(BRANCH_STACK,	0,		branches),
	FIELD(REGS_USER,	sizeof(u64),	user_regs),
	FIELD(STACK_USER,	sizeof(u64),	user_stack),
	WORD(WEIGHT_TYPE,	weight,		prepare_weight),
	WORD(DATA_SRC,		data_src,	prepare_data_src),
	WORD(TRANSACTION,	txn,		prepare_txn),
	FIELD(REGS_INTR,	sizeof(u64),	intr_regs),
	WORD(PHYS_ADDR,		phys_addr,	prepare_phys_addr),
	WORD(CGROUP,		cgroup,		prepare_cgroup),
	WORD(DATA_PAGE_SIZE,	data_page_size,	prepare_data_page_size),
	WORD(CODE_PAGE_SIZE,	code_page_size,	prepare_code_page_size),
	FIELD(AUX,		sizeof(u64),	aux),
};

/* Trailer of the other records: the identity fields in their own order. */
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

static void layout_add(struct perf_sample_layout *layout, unsigned int i)
{
	const struct sample_field *field = &sample_fields[i];

	if (field->bit & PLAIN_FIELDS)
		layout->plain[layout->nr_plain++] = field->word;
	else
		layout->other[layout->nr_other++] = i;
}

/**
 * perf_event_sample_sizes - compile an event's samples
 * @event: its attr is final
 *
 * Sets layout, header_size and id_header_size. The last two together are the fixed part of a
 * sample; id_header_size alone is the trailer of other records.
 */
void perf_event_sample_sizes(struct perf_event *event)
{
	u64 type = event->attr.sample_type;

	BUILD_BUG_ON(ARRAY_SIZE(sample_fields) !=
		     ARRAY_SIZE(event->layout.plain) + ARRAY_SIZE(event->layout.other));

	event->layout.nr_plain = 0;
	event->layout.nr_other = 0;
	event->header_size = 0;
	event->id_header_size = 0;
	for (int i = 0; type && i < ARRAY_SIZE(sample_fields); i++) {
		const struct sample_field *field = &sample_fields[i];

		if (!(type & field->bit))
			continue;
		layout_add(&event->layout, i);
		if (field->bit & IDENTITY_FIELDS)
			event->id_header_size += field->fixed;
		else
			event->header_size += field->fixed;
	}
}

/* -------------------------------------------------------------------- prepare */

/* These two need to know how much room the others leave. */
#define GREEDY_FIELDS	(PERF_SAMPLE_STACK_USER | PERF_SAMPLE_AUX)

static noinline void prepare_others(struct perf_sample_data *data, struct perf_event *event,
				    struct pt_regs *regs, u64 missing)
{
	const struct perf_sample_layout *layout = &event->layout;

	for (int i = 0; i < layout->nr_other; i++) {
		const struct sample_field *field = &sample_fields[layout->other[i]];

		if (missing & field->bit & ~GREEDY_FIELDS)
			field->prepare(data, event, regs);
	}
	if (missing & PERF_SAMPLE_STACK_USER)
		prepare_user_stack(data, event, regs);
	if (missing & PERF_SAMPLE_AUX)
		prepare_aux(data, event, regs);
}

/* A call chain can be made longer than a sample can be. */
static noinline void fit_sample(struct perf_sample_data *data, struct perf_event *event)
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

static __always_inline void prepare_missing(struct perf_sample_data *data, struct perf_event *event,
					    struct pt_regs *regs, u64 missing)
{
	fill_identity(data, event, missing);
	if (missing & PERF_SAMPLE_IP)
		data->ip = perf_instruction_pointer(regs);
	/* So frequent that it does not go through the table. */
	if (missing & PERF_SAMPLE_CALLCHAIN)
		perf_sample_save_callchain(data, event, regs);
	if (missing & ~(PLAIN_FIELDS | PERF_SAMPLE_CALLCHAIN))
		prepare_others(data, event, regs, missing & ~PERF_SAMPLE_CALLCHAIN);
	data->sample_flags |= missing;
}

static __always_inline void prepare(struct perf_sample_data *data, struct perf_event *event,
				    struct pt_regs *regs)
{
	u64 missing = event->attr.sample_type & ~data->sample_flags;

	/* A BPF program's record often consists of what it brought. */
	if (missing)
		prepare_missing(data, event, regs, missing);
	if (unlikely(data->dyn_size > SAMPLE_SIZE_MAX / 2))
		fit_sample(data, event);
}

/**
 * perf_prepare_sample - find what is still missing of a sample
 * @data: initialised; what sample_flags names is there
 * @event: the event
 * @regs: where it happened
 *
 * Context: any; under RCU, because of the call chain's buffer, which perf_callchain_release() gives back
 */
void perf_prepare_sample(struct perf_sample_data *data, struct perf_event *event,
			 struct pt_regs *regs)
{
	prepare(data, event, regs);
}

/**
 * perf_prepare_header - the header of a prepared sample
 * @header: result; its size is 0 if the sample is larger than a record can be
 * @data: prepared
 * @event: the event
 * @regs: where it happened
 */
void perf_prepare_header(struct perf_event_header *header, struct perf_sample_data *data,
			 struct perf_event *event, struct pt_regs *regs)
{
	u64 size = sizeof(*header) + event->header_size + event->id_header_size + data->dyn_size;

	header->type = PERF_RECORD_SAMPLE;
	header->misc = perf_misc_flags(regs);
	header->size = likely(size <= SAMPLE_SIZE_MAX) ? size : 0;
}

/* --------------------------------------------------------------------- output */

static __always_inline void fill_plain(u64 *to, const struct perf_event_header *header,
				       const struct perf_sample_data *data,
				       const struct perf_sample_layout *layout)
{
	const u64 *from = (const u64 *)data;

	const u8 *field = layout->plain, *end = field + layout->nr_plain;

	memcpy(to++, header, sizeof(*header));
	while (field < end)
		*to++ = from[*field++];
}

static noinline void write_others(struct perf_output_handle *handle, struct perf_sample_data *data,
				  struct perf_event *event)
{
	const struct perf_sample_layout *layout = &event->layout;

	for (int i = 0; i < layout->nr_other; i++) {
		const struct sample_field *field = &sample_fields[layout->other[i]];

		if (field->write)
			field->write(handle, data, event);
		else
			put_u64(handle, ((u64 *)data)[field->word]);
	}
}

/* Where a chunk of the buffer ends. */
static noinline void copy_plain(struct perf_output_handle *handle,
				const struct perf_event_header *header,
				const struct perf_sample_data *data,
				const struct perf_sample_layout *layout)
{
	u64 words[1 + ARRAY_SIZE(layout->plain)] __uninitialized;

	fill_plain(words, header, data, layout);
	perf_output_copy(handle, words, (1 + layout->nr_plain) * sizeof(u64));
}

static __always_inline void write_sample(struct perf_output_handle *handle,
					 struct perf_event_header *header,
					 struct perf_sample_data *data, struct perf_event *event)
{
	const struct perf_sample_layout *layout = &event->layout;
	u64 *at = perf_output_span(handle, (1 + layout->nr_plain) * sizeof(u64));

	if (likely(at))
		fill_plain(at, header, data, layout);
	else
		copy_plain(handle, header, data, layout);
	if (layout->nr_other)
		write_others(handle, data, event);
	perf_output_sample_done(handle);
}

/**
 * perf_output_sample - write a sample
 * @handle: a write of @header->size bytes, just begun
 * @header: from perf_prepare_header()
 * @data: prepared
 * @event: the event
 */
void perf_output_sample(struct perf_output_handle *handle, struct perf_event_header *header,
			struct perf_sample_data *data, struct perf_event *event)
{
	write_sample(handle, header, data, event);
}

typedef int (*output_begin_t)(struct perf_output_handle *handle, struct perf_sample_data *data,
			      struct perf_event *event, unsigned int size);
typedef void (*output_end_t)(struct perf_output_handle *handle);

/* The buffer is others' from here on: a hit's next sample gets its chain anew. */
static __always_inline void forget_callchain(struct perf_sample_data *data)
{
	data->sample_flags &= ~PERF_SAMPLE_CALLCHAIN;
	data->dyn_size -= (1 + data->callchain->nr) * sizeof(u64);
	perf_callchain_release(data->callchain);
}

static __always_inline int output(struct perf_event *event, struct perf_sample_data *data,
				  struct pt_regs *regs, output_begin_t begin, output_end_t end)
{
	struct perf_output_handle handle __uninitialized;
	struct perf_event_header header __uninitialized;
	int ret;

	/* Nobody listens: spare the work. */
	if (!rcu_access_pointer(perf_event_writer(event)->rb))
		return -ENOENT;

	guard(rcu)();
	prepare(data, event, regs);
	perf_prepare_header(&header, data, event, regs);
	ret = -E2BIG;
	if (likely(header.size))
		ret = begin(&handle, data, event, header.size);
	else
		atomic64_inc(&perf_event_writer(event)->lost_samples);
	if (likely(!ret))
		write_sample(&handle, &header, data, event);
	if (event->attr.sample_type & PERF_SAMPLE_CALLCHAIN)
		forget_callchain(data);
	if (likely(!ret))
		end(&handle);
	return ret;
}

/**
 * perf_event_output_forward - overflow handler that writes a sample
 * @event: the event
 * @data: initialised
 * @regs: where it happened
 *
 * For buffers that grow upwards. Context: any
 */
void perf_event_output_forward(struct perf_event *event, struct perf_sample_data *data,
			       struct pt_regs *regs)
{
	output(event, data, regs, perf_output_begin_forward, perf_output_end_overflow);
}

/* The same for buffers that grow downwards. */
void perf_event_output_backward(struct perf_event *event, struct perf_sample_data *data,
				struct pt_regs *regs)
{
	output(event, data, regs, perf_output_begin_backward, perf_output_end_overflow);
}

/**
 * perf_event_output - write a sample to whichever kind of buffer the event has
 * @event: the event; runs on this CPU
 * @data: initialised
 * @regs: where it happened
 *
 * Context: any
 * Return: 0, -ENOENT without a buffer, -ENOSPC if it is full, -E2BIG
 */
int perf_event_output(struct perf_event *event, struct perf_sample_data *data,
		      struct pt_regs *regs)
{
	return output(event, data, regs, perf_output_begin, perf_output_end);
}

/* -------------------------------------------------------------- other records */

/**
 * perf_event_header__init - header of a record that is not a sample, with its identity
 * @header: result
 * @data: its identity fields are filled in if the record has a trailer
 * @type: PERF_RECORD_*
 * @misc: PERF_RECORD_MISC_*
 * @size: bytes of the record without trailer
 * @event: to whose buffer it goes
 */
void perf_event_header__init(struct perf_event_header *header, struct perf_sample_data *data,
			     u32 type, u16 misc, u16 size, struct perf_event *event)
{
	bool trailer = event->attr.sample_id_all;

	*header = (struct perf_event_header){
		.type = type, .misc = misc, .size = size + (trailer ? event->id_header_size : 0),
	};
	if (trailer)
		fill_identity(data, event, event->attr.sample_type);
}

/**
 * perf_event__output_id_sample - the trailer of such a record
 * @event: to whose buffer it goes
 * @handle: the write
 * @sample: as it came from perf_event_header__init()
 */
void perf_event__output_id_sample(struct perf_event *event, struct perf_output_handle *handle,
				  struct perf_sample_data *sample)
{
	const u64 *from = (const u64 *)sample;

	if (!event->attr.sample_id_all)
		return;
	for (int i = 0; i < ARRAY_SIZE(id_fields); i++) {
		if (event->attr.sample_type & id_fields[i].bit)
			put_u64(handle, from[id_fields[i].word]);
	}
}

/* The body of a READ record: what read() would say, of a task that is going. */
void perf_output_read_format(struct perf_output_handle *handle, struct perf_event *event)
{
	write_read_format(handle, event, 1 + event->group_leader->nr_siblings);
}
