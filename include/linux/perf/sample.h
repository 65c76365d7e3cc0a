/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Performance events: samples, their payloads, and writing them to a buffer.
 * Include linux/perf_event.h.
 */
#ifndef _LINUX_PERF_SAMPLE_H
#define _LINUX_PERF_SAMPLE_H

/* ------------------------------------------------------ payloads of a sample */

/**
 * struct perf_callchain_entry - a call chain in the format of a record
 * @nr: entries of @ip in use
 * @ip: addresses and PERF_CONTEXT_* markers, innermost first
 */
struct perf_callchain_entry {
	__u64	nr;
	__u64	ip[];
};

/**
 * struct perf_callchain_buffer - memory for one call chain
 * @busy: @chain is in use
 * @chain: the chain
 */
struct perf_callchain_buffer {
	u64				busy;
	struct perf_callchain_entry	chain;
};

/**
 * struct perf_callchain_entry_ctx - a call chain that is being collected
 * @entry: result
 * @max_stack: addresses that may be stored
 * @nr: addresses stored so far
 * @contexts: markers stored so far
 * @contexts_maxed: no marker may be stored any more, and no address behind a marker
 */
struct perf_callchain_entry_ctx {
	struct perf_callchain_entry	*entry;
	u32				max_stack;
	u32				nr;
	short				contexts;
	bool				contexts_maxed;
};

/* Copies @n bytes from @src + @off to @dst. Returns the number of bytes that were not copied. */
typedef unsigned long (*perf_copy_f)(void *dst, const void *src, unsigned long off,
				     unsigned long n);

/**
 * struct perf_raw_frag - one piece of a raw payload
 * @next: the next piece; in the last one the bits hold the padding instead
 * @pad: bytes of padding behind the last piece (less than 8)
 * @copy: function that copies the piece; NULL for memcpy
 * @data: source
 * @size: bytes
 */
struct perf_raw_frag {
	union {
		struct perf_raw_frag	*next;
		unsigned long		pad;
	};
	perf_copy_f			copy;
	void				*data;
	u32				size;
} __packed;

/**
 * struct perf_raw_record - the payload of PERF_SAMPLE_RAW
 * @frag: the first piece
 * @size: bytes of all the pieces and the padding, set when the sample is laid out
 */
struct perf_raw_record {
	struct perf_raw_frag	frag;
	u32			size;
};

static __always_inline bool perf_raw_frag_last(const struct perf_raw_frag *frag)
{
	return frag->pad < sizeof(u64);
}

/**
 * struct perf_branch_stack - a branch stack in the format of a record
 * @nr: entries
 * @hw_idx: the hardware's top-of-stack index, -1ULL if there is none
 * @entries: newest first
 */
struct perf_branch_stack {
	__u64				nr;
	__u64				hw_idx;
	struct perf_branch_entry	entries[];
};

#ifdef CONFIG_PERF_EVENTS
/* -------------------------------------------------------------------- output */

/**
 * struct perf_output_handle - a write to a buffer in progress
 * @event: event of the record
 * @rb: buffer
 * @wakeup: position of the record; for AUX, the position at which to wake the reader
 * @size: bytes left in the current chunk of the buffer; for AUX, bytes available
 * @flags: record flags
 * @aux_flags: PERF_AUX_FLAG_* of the AUX record
 * @skip_read: the READ part of a sample must not access hardware
 * @claimed: this write has claimed a multi_writer buffer; core
 * @no_signal: the end of the write sends no SIGIO: perf_event_overflow() does; core
 * @addr: address of the next byte
 * @head: for AUX, position of the first available byte
 * @page: index of the current chunk
 */
struct perf_output_handle {
	struct perf_event	*event;
	struct perf_buffer	*rb;
	unsigned long		wakeup;
	unsigned long		size;
	union {
		u64		flags;
		u64		aux_flags;
		struct {
			u64	skip_read : 1;
			u64	claimed : 1;
			u64	no_signal : 1;
		};
	};
	union {
		void		*addr;
		unsigned long	head;
	};
	int			page;
};

/**
 * struct perf_sample_data - the content of a sample
 *
 * A driver sets the payloads that only the hardware provides and the bits of these in
 * @sample_flags. The rest is determined when the sample is written.
 *
 * @sample_flags: PERF_SAMPLE_* bits of the payloads that are valid
 * @period: PERIOD, in events; also read by BPF
 * @dyn_size: size of the valid payloads of variable size, bytes
 * @type: copy of attr.sample_type
 * @tid_entry: TID: process and thread ID
 * @time: TIME, ns of perf_event::clock
 * @id: ID and IDENTIFIER
 * @cpu_entry: CPU: number, and 0
 * @ip: IP
 * @callchain: CALLCHAIN
 * @raw: RAW
 * @br_stack: BRANCH_STACK
 * @br_stack_cntr: branch counters, one word for each branch, or NULL
 * @weight: WEIGHT or WEIGHT_STRUCT
 * @data_src: DATA_SRC
 * @txn: TRANSACTION
 * @regs_user: REGS_USER
 * @regs_intr: REGS_INTR
 * @stack_user_size: STACK_USER: bytes to copy
 * @stream_id: STREAM_ID
 * @cgroup: CGROUP: ID of the cgroup
 * @addr: ADDR
 * @phys_addr: PHYS_ADDR
 * @data_page_size: DATA_PAGE_SIZE, bytes
 * @code_page_size: CODE_PAGE_SIZE, bytes
 * @aux_size: AUX: bytes
 * @nr_read: READ: members of the group
 */
struct perf_sample_data {
	u64				sample_flags;
	u64				period;
	u64				dyn_size;

	u64				type;
	struct {
		u32	pid;
		u32	tid;
	}				tid_entry;
	u64				time;
	u64				id;
	struct {
		u32	cpu;
		u32	reserved;
	}				cpu_entry;

	u64				ip;
	struct perf_callchain_entry	*callchain;
	struct perf_raw_record		*raw;
	struct perf_branch_stack	*br_stack;
	u64				*br_stack_cntr;
	union perf_sample_weight	weight;
	union perf_mem_data_src		data_src;
	u64				txn;

	struct perf_regs		regs_user;
	struct perf_regs		regs_intr;
	u64				stack_user_size;

	u64				stream_id;
	u64				cgroup;
	u64				addr;
	u64				phys_addr;
	u64				data_page_size;
	u64				code_page_size;
	u64				aux_size;
	u32				nr_read;
} ____cacheline_aligned;

/**
 * struct bpf_perf_event_data_kern - context of a BPF overflow program
 * @regs: registers at the overflow
 * @data: sample
 * @event: event that has overflowed
 */
struct bpf_perf_event_data_kern {
	bpf_user_pt_regs_t	*regs;
	struct perf_sample_data	*data;
	struct perf_event	*event;
};

/* data_src of a sample without information from the hardware. */
#define PERF_MEM_NA (PERF_MEM_S(OP, NA) | PERF_MEM_S(LVL, NA) | PERF_MEM_S(SNOOP, NA) |	\
		     PERF_MEM_S(LOCK, NA) | PERF_MEM_S(TLB, NA) | PERF_MEM_S(LVLNUM, NA))

/**
 * perf_sample_data_init - initialize a sample
 * @data: sample
 * @addr: value of ADDR, 0 if unknown
 * @period: value of PERIOD, in events
 *
 * Context: any, NMI included
 */
static inline void perf_sample_data_init(struct perf_sample_data *data, u64 addr, u64 period)
{
	data->sample_flags = addr ? PERF_SAMPLE_PERIOD | PERF_SAMPLE_ADDR : PERF_SAMPLE_PERIOD;
	data->period = period;
	data->dyn_size = 0;
	data->addr = addr;
}

/**
 * perf_output_begin - begin to write a record
 * @handle: result
 * @data: sample data of the record, for the trailer of a LOST record
 * @event: event of the record
 * @size: size of the record, bytes
 *
 * Context: any, NMI included; on success preemption stays off until perf_output_end()
 * Return: 0; -ENOSPC if the event has no buffer or the record is lost
 */
int perf_output_begin(struct perf_output_handle *handle, struct perf_sample_data *data,
		      struct perf_event *event, unsigned int size);

/**
 * perf_output_begin_forward - begin to write the sample of an overflow to a forward buffer
 * @handle: result
 * @data: sample data of the record, for the trailer of a LOST record
 * @event: event of the record; a child writes to the parent's buffer
 * @size: size of the record, bytes
 *
 * Context: as perf_output_begin()
 * Return: as perf_output_begin()
 */
int perf_output_begin_forward(struct perf_output_handle *handle, struct perf_sample_data *data,
			      struct perf_event *event, unsigned int size);

/**
 * perf_output_end - complete a record
 * @handle: write in progress
 *
 * Context: as perf_output_begin()
 */
void perf_output_end(struct perf_output_handle *handle);

/**
 * perf_output_copy - append bytes to a record
 * @handle: write in progress
 * @buf: source
 * @len: number of bytes
 *
 * Context: as perf_output_begin()
 * Return: 0, the number of bytes that were not copied
 */
unsigned int perf_output_copy(struct perf_output_handle *handle, const void *buf,
			      unsigned int len);

/**
 * perf_output_skip - append bytes with undefined content
 * @handle: write in progress
 * @len: number of bytes; the previous content of the buffer stays
 *
 * Context: as perf_output_begin()
 * Return: 0
 */
unsigned int perf_output_skip(struct perf_output_handle *handle, unsigned int len);

/**
 * perf_output_copy_aux - append a part of the AUX area to a record
 * @aux_handle: the driver's use of the area
 * @handle: write in progress
 * @from: position of the first byte; positions wrap at the size of the area
 * @to: position behind the last byte; the whole area if @to equals @from modulo the size
 *
 * Context: any, NMI included
 * Return: number of bytes appended
 */
long perf_output_copy_aux(struct perf_output_handle *aux_handle,
			  struct perf_output_handle *handle, unsigned long from,
			  unsigned long to);

#define perf_output_put(handle, x)	perf_output_copy((handle), &(x), sizeof(x))

/**
 * perf_aux_output_begin - begin to use the free part of the AUX area
 * @handle: result: @head is the position of the free part, @size its length in bytes, @wakeup the
 *	position at which the reader is to be woken. In overwrite mode @size is 0 and the whole area
 *	may be used
 * @event: event of the driver's PMU, inherited or not
 *
 * If the area is full the event is disabled and the reader is woken; the driver leaves the event
 * stopped.
 *
 * Context: on the event's CPU, interrupts off
 * Return: the value of pmu::setup_aux; NULL if there is no area, or the area belongs to another
 *	PMU, is full or in use
 */
void *perf_aux_output_begin(struct perf_output_handle *handle, struct perf_event *event);

/**
 * perf_aux_output_end - end the use of the AUX area
 * @handle: from perf_aux_output_begin()
 * @size: bytes written at @handle->head; in overwrite mode @handle->head is the position behind
 *	these bytes
 *
 * If the driver has set PERF_AUX_FLAG_TRUNCATED because the area is full, the event is disabled and
 * the reader woken.
 *
 * Context: on the event's CPU, interrupts off
 */
void perf_aux_output_end(struct perf_output_handle *handle, unsigned long size);

/**
 * perf_aux_output_skip - leave out bytes of the part in use
 * @handle: from perf_aux_output_begin()
 * @size: number of bytes
 *
 * Context: on the event's CPU, interrupts off
 * Return: 0; -ENOSPC if the part in use is smaller
 */
int perf_aux_output_skip(struct perf_output_handle *handle, unsigned long size);

/**
 * perf_get_aux - get the driver data of the AUX area
 * @handle: from perf_aux_output_begin()
 *
 * Context: on the event's CPU, interrupts off
 * Return: the value of pmu::setup_aux, or NULL
 */
void *perf_get_aux(struct perf_output_handle *handle);

/**
 * perf_aux_output_flag - set flags of the AUX record
 * @handle: from perf_aux_output_begin()
 * @flags: PERF_AUX_FLAG_*
 *
 * Context: on the event's CPU, interrupts off
 */
void perf_aux_output_flag(struct perf_output_handle *handle, u64 flags);

/**
 * perf_event_itrace_started - note that a trace has been started
 * @event: event that needs no ITRACE_START record: the driver has written one
 *
 * Context: interrupts off
 */
void perf_event_itrace_started(struct perf_event *event);

/**
 * perf_report_aux_output_id - write a record with the identification of an event's data in an AUX
 * area
 * @event: the event
 * @hw_id: the hardware's identification
 *
 * Context: any
 */
void perf_report_aux_output_id(struct perf_event *event, u64 hw_id);

/**
 * perf_event_header__init - initialize the header of a record that is not a sample
 * @header: result
 * @data: result: the members of the sample_id trailer
 * @type: PERF_RECORD_*
 * @misc: PERF_RECORD_MISC_*
 * @size: size of the record without the trailer, bytes
 * @event: event of the record
 *
 * Context: any, NMI included
 */
void perf_event_header__init(struct perf_event_header *header, struct perf_sample_data *data,
			     u32 type, u16 misc, u16 size, struct perf_event *event);

/**
 * perf_event__output_id_sample - write the sample_id trailer of a record
 * @event: event of the record
 * @handle: write in progress
 * @sample: from perf_event_header__init()
 *
 * Context: as perf_output_begin()
 */
void perf_event__output_id_sample(struct perf_event *event, struct perf_output_handle *handle,
				  struct perf_sample_data *sample);

/**
 * perf_output_sample - write a sample
 * @handle: a write of @header->size bytes, just begun
 * @header: from perf_prepare_header()
 * @data: from perf_prepare_sample()
 * @event: event of the sample
 *
 * Context: as perf_output_begin()
 */
void perf_output_sample(struct perf_output_handle *handle, struct perf_event_header *header,
			struct perf_sample_data *data, struct perf_event *event);

/**
 * perf_prepare_sample - determine the payloads of a sample that the driver has not set
 * @data: sample, initialized
 * @event: event of the sample
 * @regs: registers at the sample
 *
 * Context: any; RCU read section, because of the call chain's buffer, which is released by
 *	perf_callchain_release()
 */
void perf_prepare_sample(struct perf_sample_data *data, struct perf_event *event,
			 struct pt_regs *regs);

/**
 * perf_prepare_header - initialize the header of a sample
 * @header: result; the size is 0 if the sample exceeds the maximum size of a record
 * @data: from perf_prepare_sample()
 * @event: event of the sample
 * @regs: registers at the sample
 *
 * Context: any, NMI included
 */
void perf_prepare_header(struct perf_event_header *header, struct perf_sample_data *data,
			 struct perf_event *event, struct pt_regs *regs);

/**
 * perf_event_output_forward - overflow handler: write a sample to a forward buffer
 * @event: event that has overflowed
 * @data: sample, initialized
 * @regs: registers at the sample
 *
 * Context: any
 */
void perf_event_output_forward(struct perf_event *event, struct perf_sample_data *data,
			       struct pt_regs *regs);

/**
 * perf_event_output_backward - overflow handler: write a sample to a backward buffer
 * @event: event that has overflowed
 * @data: sample, initialized
 * @regs: registers at the sample
 *
 * Context: any
 */
void perf_event_output_backward(struct perf_event *event, struct perf_sample_data *data,
				struct pt_regs *regs);

/**
 * perf_event_output - write a sample to a forward or backward buffer
 * @event: event that runs on this CPU
 * @data: sample, initialized
 * @regs: registers at the sample
 *
 * Context: any
 * Return: 0; -ENOSPC if there is no buffer or a full one; -E2BIG
 */
int perf_event_output(struct perf_event *event, struct perf_sample_data *data,
		      struct pt_regs *regs);

/**
 * perf_log_lost_samples - write a record about samples that the hardware could not assign
 * @event: event that the samples may belong to
 * @lost: number of samples
 *
 * Context: any
 */
void perf_log_lost_samples(struct perf_event *event, u64 lost);

/**
 * perf_event_overflow - handle the overflow of an event
 * @event: event that has counted a period; perf_event::count is up to date
 * @data: sample, initialized, with the payloads of the hardware
 * @regs: registers at the sample
 *
 * Context: any, NMI included; on the event's CPU
 * Return: 1 if the driver has to stop the event, else 0
 */
int perf_event_overflow(struct perf_event *event, struct perf_sample_data *data,
			struct pt_regs *regs);

/**
 * perf_event_overflow_batched - handle an overflow that shares the interrupt with later ones
 * @event: event that has counted a period, without AUX actions
 * @data: sample, initialized, with the payloads of the hardware
 * @regs: registers at the sample
 *
 * Does not throttle the event: the last overflow of the interrupt is handled by
 * perf_event_overflow(), which does.
 *
 * Context: any, NMI included; on the event's CPU
 * Return: 1 if the driver has to stop the event, else 0
 */
int perf_event_overflow_batched(struct perf_event *event, struct perf_sample_data *data,
				struct pt_regs *regs);

/**
 * perf_event_overflow_only_samples - is a sample all that an overflow of an event results in?
 * @event: the event
 *
 * Then overflows that share an interrupt may be written by perf_sample_batch_add(), but the last.
 *
 * Context: any, NMI included; on the event's CPU
 * Return: true if there is nothing else, such as a BPF program, a signal or a limit
 */
bool perf_event_overflow_only_samples(struct perf_event *event);

/**
 * struct perf_sample_batch - samples of one event that are written together
 * @handle: write of all samples
 * @header: header of each
 * @event: the event
 *
 * The samples have one size, and the same values of what the driver does not set. A reader gets all
 * samples or none.
 */
struct perf_sample_batch {
	struct perf_output_handle	handle;
	struct perf_event_header	header;
	struct perf_event		*event;
};

/**
 * perf_sample_batch_begin - begin to write samples together
 * @batch: result
 * @event: event of which perf_event_overflow_only_samples() is true
 * @data: the first sample, initialized, with the payloads of the hardware and the address; on
 *	return @data has all payloads
 * @regs: registers at the sample
 * @nr: number of samples
 *
 * On success the driver adds exactly @nr samples, the first one included, and ends the batch.
 *
 * Context: any, NMI included; on success preemption stays off until perf_sample_batch_end()
 * Return: false if the samples have to be handled one by one; none is lost by that
 */
bool perf_sample_batch_begin(struct perf_sample_batch *batch, struct perf_event *event,
			     struct perf_sample_data *data, struct pt_regs *regs, unsigned int nr);

/**
 * perf_sample_batch_add - write the next sample of a batch
 * @batch: the batch
 * @data: from perf_sample_batch_begin(), with the payloads of this sample; the address is
 *	perf_sample_data::ip
 * @regs: registers at the sample
 *
 * Context: as perf_sample_batch_begin()
 */
void perf_sample_batch_add(struct perf_sample_batch *batch, struct perf_sample_data *data,
			   struct pt_regs *regs);

/**
 * perf_sample_batch_end - publish the samples of a batch
 * @batch: the batch
 *
 * Context: as perf_sample_batch_begin()
 */
void perf_sample_batch_end(struct perf_sample_batch *batch);

/**
 * perf_event_account_interrupt - account an interrupt that does not result in a sample
 * @event: the event
 *
 * Context: any, NMI included
 * Return: 1 if the driver has to stop the event, else 0
 */
int perf_event_account_interrupt(struct perf_event *event);

/**
 * perf_sample_event_took - account the time of a driver's interrupt
 * @sample_len_ns: length of the interrupt, ns
 *
 * Context: the interrupt, NMI included
 */
void perf_sample_event_took(u64 sample_len_ns);

static inline bool is_default_overflow_handler(struct perf_event *event)
{
	perf_overflow_handler_t handler = event->overflow_handler;

	return handler == perf_event_output_forward || handler == perf_event_output_backward;
}

/* --------------------------------------------------------------- call chains */

/**
 * perf_callchain_user - collect the user part of a call chain; provided by the architecture
 * @entry: chain
 * @regs: user registers
 *
 * Context: any, NMI included
 */
void perf_callchain_user(struct perf_callchain_entry_ctx *entry, struct pt_regs *regs);

/**
 * perf_callchain_kernel - collect the kernel part of a call chain; provided by the architecture
 * @entry: chain
 * @regs: kernel registers
 *
 * Context: any, NMI included
 */
void perf_callchain_kernel(struct perf_callchain_entry_ctx *entry, struct pt_regs *regs);

/**
 * get_perf_callchain - collect a call chain
 * @regs: registers to begin at
 * @kernel: include the kernel part
 * @user: include the user part
 * @max_stack: maximum number of addresses, limited by perf_event_max_stack
 * @crosstask: the chain is of another task than the running one: no user part
 * @add_mark: store a PERF_CONTEXT_* marker before each part
 *
 * Context: any, NMI included; preemption off, which the caller leaves off until the last use of
 *	the chain
 * Return: the chain; NULL if no buffer is free
 */
struct perf_callchain_entry *get_perf_callchain(struct pt_regs *regs, bool kernel, bool user,
						u32 max_stack, bool crosstask, bool add_mark);

/**
 * get_callchain_buffers - allocate the buffers for call chains
 * @max_stack: maximum number of addresses that the caller needs
 *
 * Context: may sleep
 * Return: 0, to be undone by put_callchain_buffers(); -EOVERFLOW over perf_event_max_stack; -ENOMEM
 */
int get_callchain_buffers(int max_stack);

/**
 * put_callchain_buffers - undo get_callchain_buffers()
 *
 * Context: may sleep
 */
void put_callchain_buffers(void);

/**
 * get_callchain_entry - claim this CPU's call chain buffer
 * @rctx: result: argument of put_callchain_entry()
 *
 * Context: any; preemption off until the last use of the buffer
 * Return: the buffer; NULL if the buffer is in use or there is none
 */
struct perf_callchain_entry *get_callchain_entry(int *rctx);

/**
 * put_callchain_entry - release a call chain buffer
 * @rctx: from get_callchain_entry()
 *
 * Context: as get_callchain_entry(), on the same CPU
 */
void put_callchain_entry(int rctx);

/**
 * perf_callchain - collect the call chain of a sample
 * @event: event of the sample
 * @regs: registers at the sample
 *
 * Context: as get_perf_callchain()
 * Return: the chain, empty if no buffer is free; released by perf_callchain_release()
 */
struct perf_callchain_entry *perf_callchain(struct perf_event *event, struct pt_regs *regs);

/**
 * perf_callchain_release - allow a call chain's buffer to be reused
 * @chain: from perf_callchain()
 *
 * Context: as perf_callchain(), on the same CPU
 */
static __always_inline void perf_callchain_release(struct perf_callchain_entry *chain)
{
	barrier();
	WRITE_ONCE(container_of(chain, struct perf_callchain_buffer, chain)->busy, 0);
}

extern int sysctl_perf_event_max_stack;
extern int sysctl_perf_event_max_contexts_per_stack;

/* Stores an address. -1 if the chain is full. Any context. */
static inline int perf_callchain_store(struct perf_callchain_entry_ctx *ctx, u64 ip)
{
	if (ctx->contexts_maxed || ctx->nr >= ctx->max_stack)
		return -1;

	ctx->entry->ip[ctx->entry->nr++] = ip;
	ctx->nr++;
	return 0;
}

/* Stores a PERF_CONTEXT_* marker. -1 if perf_event_max_contexts_per_stack is exceeded. */
static inline int perf_callchain_store_context(struct perf_callchain_entry_ctx *ctx, u64 ip)
{
	if (ctx->contexts >= sysctl_perf_event_max_contexts_per_stack) {
		ctx->contexts_maxed = true;
		return -1;
	}

	ctx->entry->ip[ctx->entry->nr++] = ip;
	ctx->contexts++;
	return 0;
}

/* ----------------------------------------------- payloads that a driver adds */

static inline u32 perf_sample_data_size(struct perf_sample_data *data, struct perf_event *event)
{
	return sizeof(struct perf_event_header) + event->header_size + event->id_header_size +
	       data->dyn_size;
}

/**
 * perf_sample_save_callchain - collect a sample's call chain if the event has PERF_SAMPLE_CALLCHAIN
 * @data: sample, initialized
 * @event: event of the sample
 * @regs: registers at the sample
 *
 * A driver that calls this calls perf_sample_put_callchain() after perf_event_overflow().
 *
 * Context: as perf_callchain()
 */
static inline void perf_sample_save_callchain(struct perf_sample_data *data,
					      struct perf_event *event, struct pt_regs *regs)
{
	if (!(event->attr.sample_type & PERF_SAMPLE_CALLCHAIN))
		return;

	data->callchain = perf_callchain(event, regs);
	data->dyn_size += (1 + data->callchain->nr) * sizeof(u64);
	data->sample_flags |= PERF_SAMPLE_CALLCHAIN;
}

/**
 * perf_sample_put_callchain - release the call chain that a driver has collected
 * @data: sample after perf_event_overflow()
 *
 * A sample that is written has released the chain. One that is dropped has not: the event has no
 * buffer, the BPF program of the event drops the sample, or a BPF program is running on the CPU.
 *
 * Context: as perf_callchain(), on the same CPU
 */
static inline void perf_sample_put_callchain(struct perf_sample_data *data)
{
	if (data->sample_flags & PERF_SAMPLE_CALLCHAIN)
		perf_callchain_release(data->callchain);
}

/* Lays out @raw: the last fragment is padded so that size word and data fill whole u64s. */
static inline void perf_sample_save_raw_data(struct perf_sample_data *data,
					     struct perf_event *event, struct perf_raw_record *raw)
{
	struct perf_raw_frag *last = &raw->frag;
	u32 bytes;

	if (!(event->attr.sample_type & PERF_SAMPLE_RAW))
		return;
	if (WARN_ON_ONCE(data->sample_flags & PERF_SAMPLE_RAW))
		return;

	for (bytes = last->size; !perf_raw_frag_last(last); bytes += last->size)
		last = last->next;

	raw->size = round_up(bytes + sizeof(u32), sizeof(u64)) - sizeof(u32);
	last->pad = raw->size - bytes;

	data->raw = raw;
	data->dyn_size += sizeof(u32) + raw->size;
	data->sample_flags |= PERF_SAMPLE_RAW;
}

static inline void perf_sample_save_brstack(struct perf_sample_data *data,
					    struct perf_event *event,
					    struct perf_branch_stack *brs, u64 *brs_cntr)
{
	u64 words = 1 + branch_sample_hw_index(event);

	if (!has_branch_stack(event))
		return;
	if (WARN_ON_ONCE(data->sample_flags & PERF_SAMPLE_BRANCH_STACK))
		return;

	if (branch_sample_counters(event) && brs_cntr)
		words += brs->nr;

	data->br_stack = brs;
	data->br_stack_cntr = brs_cntr;
	data->dyn_size += words * sizeof(u64) + brs->nr * sizeof(struct perf_branch_entry);
	data->sample_flags |= PERF_SAMPLE_BRANCH_STACK;
}

/* All the bit-fields of a branch entry, which drivers fill one by one. */
static inline void perf_clear_branch_entry_bitfields(struct perf_branch_entry *br)
{
	br->mispred = 0;
	br->predicted = 0;
	br->in_tx = 0;
	br->abort = 0;
	br->cycles = 0;
	br->type = 0;
	br->spec = 0;
	br->new_type = 0;
	br->priv = 0;
	br->reserved = 0;
}
#endif /* CONFIG_PERF_EVENTS */

#endif /* _LINUX_PERF_SAMPLE_H */
