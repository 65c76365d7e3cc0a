/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Performance events: struct perf_event, kernel counters, permissions.
 * Include linux/perf_event.h.
 */
#ifndef _LINUX_PERF_EVENT_STRUCT_H
#define _LINUX_PERF_EVENT_STRUCT_H

#ifdef CONFIG_PERF_EVENTS
/* ----------------------------------------------------------- address filters */

enum perf_addr_filter_action_t {
	PERF_ADDR_FILTER_ACTION_STOP = 0,
	PERF_ADDR_FILTER_ACTION_START,
	PERF_ADDR_FILTER_ACTION_FILTER,
};

/**
 * struct perf_addr_filter - one address filter, as written by the user
 * @entry: in perf_addr_filters_head::list
 * @path: object file; path.dentry is NULL for a kernel address
 * @offset: offset in the file, or kernel address
 * @size: length in bytes; 0 for a single address
 * @action: effect on the trace
 */
struct perf_addr_filter {
	struct list_head		entry;
	struct path			path;
	unsigned long			offset;
	unsigned long			size;
	enum perf_addr_filter_action_t	action;
};

/**
 * struct perf_addr_filters_head - an event's address filters
 * @list: the filters
 * @lock: guards @list and perf_event::addr_filter_ranges; irqsave
 * @nr_file_filters: number of filters with a path
 */
struct perf_addr_filters_head {
	struct list_head	list;
	raw_spinlock_t		lock;
	unsigned int		nr_file_filters;
};

/* A filter's range in the task's address space. Size 0: not mapped, or a single address. */
struct perf_addr_filter_range {
	unsigned long		start;
	unsigned long		size;
};

/* --------------------------------------------------------------------- event */

/**
 * enum perf_event_state - state of an event
 * @PERF_EVENT_STATE_DEAD: closed by the last user
 * @PERF_EVENT_STATE_EXIT: the counted task has exited, or an exec of the task has removed the event
 *	(remove_on_exec)
 * @PERF_EVENT_STATE_ERROR: pinned and could not be scheduled; read() returns 0 bytes
 * @PERF_EVENT_STATE_OFF: disabled
 * @PERF_EVENT_STATE_INACTIVE: enabled, waiting for a counter
 * @PERF_EVENT_STATE_ACTIVE: enabled and selected: counts whenever the context is on a CPU
 */
enum perf_event_state {
	PERF_EVENT_STATE_DEAD		= -4,
	PERF_EVENT_STATE_EXIT		= -3,
	PERF_EVENT_STATE_ERROR		= -2,
	PERF_EVENT_STATE_OFF		= -1,
	PERF_EVENT_STATE_INACTIVE	= 0,
	PERF_EVENT_STATE_ACTIVE		= 1,
};

/* perf_event::attach_state */
#define PERF_ATTACH_CONTEXT	0x0001	/* in its context's lists */
#define PERF_ATTACH_GROUP	0x0002	/* in its leader's sibling list */
#define PERF_ATTACH_TASK	0x0004	/* opened for a task */
#define PERF_ATTACH_TASK_DATA	0x0008	/* needs perf_event_task_data() */
#define PERF_ATTACH_ITRACE	0x0010	/* ITRACE_START was written */
#define PERF_ATTACH_SCHED_CB	0x0020	/* the driver requests pmu::sched_task */
#define PERF_ATTACH_CHILD	0x0040	/* in its parent's child list */
#define PERF_ATTACH_EXCLUSIVE	0x0080	/* counted in pmu::exclusive_cnt */
#define PERF_ATTACH_CALLCHAIN	0x0100	/* holds the callchain buffers */
#define PERF_ATTACH_MOVING	0x0200	/* being moved to another CPU's context */
#define PERF_ATTACH_USER_PAGE	0x0400	/* perf_event_user_page_mapped() */
#define PERF_ATTACH_DATA_PAGES	0x0800	/* data pages follow that page */

/*
 * perf_event::event_caps and group_caps
 *
 * An event is of one of three kinds, by what a context switch does with it:
 *
 *   resident	PERF_EV_CAP_RESIDENT: pmu::add and pmu::del when the event is enabled and disabled,
 *		nothing on a switch. Events of the PMU "software" but BPF output; clocks that do
 *		not sample.
 *   counter	the PMU has pmu::sched_load: the schedule that contains the event is loaded and
 *		saved.
 *   switched	everything else: pmu::add and pmu::del on each switch.
 */
#define PERF_EV_CAP_SOFTWARE		BIT(0)	/* needs no counter: can always be scheduled */
#define PERF_EV_CAP_READ_ACTIVE_PKG	BIT(1)	/* any CPU of the package can read it */
#define PERF_EV_CAP_SIBLING		BIT(2)	/* cannot be a leader */
#define PERF_EV_CAP_READ_SCOPE		BIT(3)	/* any CPU of the PMU's scope can read it */
#define PERF_EV_CAP_RESIDENT		BIT(4)	/* see above */

typedef void (*perf_overflow_handler_t)(struct perf_event *event, struct perf_sample_data *data,
					struct pt_regs *regs);

/**
 * struct perf_sample_layout - layout of an event's samples, computed when the event is opened
 * @nr_words: number of @word entries
 * @nr_fields: number of @field entries
 * @rest: there is something to do behind the words: @nr_fields is not 0, or wakeup_events are set
 * @word: offsets of the words behind the header in struct perf_sample_data, in units of 8 bytes
 * @field: fields behind those words, in record order; indices into the table of output/sample.c
 */
struct perf_sample_layout {
	u8	nr_words;
	u8	nr_fields;
	bool	rest;
	u8	word[9];
	u8	field[15];
};

/*
 * struct perf_event - one event
 *
 * Drivers use @attr, @hw, @pmu, @cpu, @oncpu, @count, @parent, @group_leader and its @sibling_list,
 * @active_entry, @pmu_private, @destroy, @event_caps, @attach_state (PERF_ATTACH_TASK is read; what
 * a driver needs is set in pmu::event_init), @addr_filter_ranges and, read only, @state. All other
 * members belong to kernel/events/.
 *
 * Locks: [c] written under ctx->lock as kernel/events/core/core.h explains, [m] ctx->mutex,
 * [i] constant once the event is published, [o] see kernel/events/output/buffer.h.
 *
 * Members from @child_mutex on exist only in events with a memory of their own: an embedded event
 * ends there. See perf_event_is_embeddable().
 */
struct perf_event {
	/* Read by hits and context switches. */
	struct pmu			*pmu;			/* [i] */
	struct perf_event_context	*ctx;			/* [i] but for moves */
	struct perf_event_pmu_context	*pmu_ctx;		/* [c] schedules the group */
	enum perf_event_state		state;			/* [c] */
	int				cpu;			/* -1: any; [i] but for moves */
	int				oncpu;			/* CPU it was added on, or -1 */
	unsigned int			attach_state;
	local64_t			count;
	struct hw_perf_event		hw;

	/* Group. */
	struct perf_event		*group_leader;		/* [c][m] */
	struct list_head		sibling_list;		/* list of a leader, or entry */
	int				nr_siblings;
	int				event_caps;
	int				group_caps;		/* leader: of all members */
	unsigned int			group_generation;	/* number of changes */

	/* Time: see kernel/events/core/state.c. Nanoseconds of the context's clock. */
	u64				tstamp;			/* [c] of the last update */
	u64				time_disabled;		/* [c] not enabled up to tstamp */
	u64				time_stopped;		/* [c] not running up to tstamp */

	/* Membership. */
	struct list_head		event_entry;		/* ctx->event_list */
	struct hlist_node		hlist_entry;		/* ctx->sw_list, probe's list */
	struct list_head		switch_entry;		/* ctx->switch_list */
	struct list_head		sb_list;		/* ctx->sb_list */
	struct list_head		freq_entry;		/* ctx->freq_list */
	struct list_head		active_entry;		/* driver's */
	struct list_head		group_entry;		/* leader: pmu_ctx->flexible */
	struct list_head		pinned_entry;		/* leader: pmu_ctx->pinned */
	u64				round;			/* leader: see group_queue.c */
	s64				slice_left;		/* leader: ns, see group_queue.c */
	u64				sched_stamp;		/* leader: ns, see group_queue.c */
	u64				sched_mark;		/* schedule being applied */

	struct perf_event_attr		attr;
	u16				header_size;		/* [i] fixed part, bytes */
	u16				id_header_size;		/* [i] sample_id trailer */
	u32				orig_type;		/* attr.type before event_init */
	struct perf_sample_layout	layout;			/* [i] see output/sample.c */

	/* Inheritance. */
	struct perf_event		*parent;		/* [i] top event, or NULL */
	struct list_head		child_list;		/* list of a parent, or entry */

	/* Identity and lifetime. */
	atomic_long_t			refcount;
	u64				id;			/* [i] unique */
	struct pid_namespace		*ns;			/* [i] */
	u64				(*clock)(void);		/* [i] timestamps of records */
	void				(*destroy)(struct perf_event *event);
	void				*pmu_private;
	struct perf_cgroup		*cgrp;			/* [i] */
	union {
		struct task_struct	*owner;			/* opener, until exit or set-uid */
		struct perf_event	*origin;		/* child: the creating task's */
	};
	struct list_head		owner_entry;		/* task->perf_event_list */
	unsigned int			account_flags;		/* see event/account.c */

	/* Overflow. */
	atomic_t			event_limit;		/* IOC_REFRESH */
	perf_overflow_handler_t		overflow_handler;
	void				*overflow_handler_context;
	struct bpf_prog			*prog;
	u64				bpf_cookie;
	atomic64_t			lost_samples;
	unsigned int			pending_wakeup;
	unsigned int			pending_kill;
	unsigned int			pending_disable;
	unsigned int			pending_work;
	unsigned long			pending_addr;
	struct irq_work			pending_irq;
	struct irq_work			pending_disable_irq;
	struct callback_head		pending_task;

	/* AUX. */
	struct perf_event		*aux_event;

	/* [o] Buffer; a child writes to its parent's. */
	struct perf_buffer __rcu	*rb;

	/* Not in embedded events: a parent's, */
	struct mutex			child_mutex;		/* child_list, child sums */
	atomic64_t			child_count;
	atomic64_t			child_total_time_enabled;
	atomic64_t			child_total_time_running;

	/* those of a file or of a separate allocation, */
	struct rcu_head			rcu_head;
	void				*security;

	/* address filters, */
	struct perf_addr_filters_head	addr_filters;
	struct perf_addr_filter_range	*addr_filter_ranges;
	unsigned long			addr_filters_gen;

	/* and a mapping's. */
	struct mutex			mmap_mutex;
	atomic_t			mmap_count;
	struct list_head		rb_entry;
	unsigned long			rcu_batches;
	int				rcu_pending;
	atomic_t			late_children;		/* freed, but not their memory */
	wait_queue_head_t		waitq;
	struct fasync_struct		*fasync;

#ifdef CONFIG_EVENT_TRACING
	struct trace_event_call		*tp_event;
	struct event_filter		*filter;
# ifdef CONFIG_FUNCTION_TRACER
	struct ftrace_ops		ftrace_ops;
# endif
#endif
};

/**
 * perf_event_user_page_mapped - does user space read the counter of an event?
 * @event: the event
 *
 * User space may while the event's user page is mapped by the process that is counted or, for an
 * event of a CPU, by any process. The raw value that user space reads has to continue from the one
 * with which the event left the last counter.
 *
 * Context: ctx->lock
 * Return: true if the user page can show a counter index
 */
static inline bool perf_event_user_page_mapped(const struct perf_event *event)
{
	return event->attach_state & PERF_ATTACH_USER_PAGE;
}

/**
 * perf_event_user_page_alone - is the user page all that is mapped of an event's buffer?
 * @event: the event
 *
 * A page with data pages behind it is rather that of a reader of samples. It can show a counter
 * index, too, and has to be right.
 *
 * Context: ctx->lock; or the event is on this CPU, NMI included
 * Return: true if perf_event_user_page_mapped() and there are no data pages
 */
static inline bool perf_event_user_page_alone(const struct perf_event *event)
{
	return (event->attach_state & (PERF_ATTACH_USER_PAGE | PERF_ATTACH_DATA_PAGES)) ==
	       PERF_ATTACH_USER_PAGE;
}

/* The first sibling of a leader, else the position that ends for_each_sibling_event(). */
static __always_inline struct perf_event *perf_first_sibling(struct perf_event *event)
{
	struct list_head *first = &event->sibling_list;

	if (event->group_leader == event)
		first = first->next;
	return list_entry(first, struct perf_event, sibling_list);
}

/**
 * for_each_sibling_event - iterate over the siblings of a group leader
 * @sibling: loop variable
 * @event: leader; if the event is a sibling the loop body does not run
 *
 * Context: ctx->mutex or ctx->lock is held, or the group is on this CPU and interrupts are off
 */
#define for_each_sibling_event(sibling, event)					\
	for (sibling = perf_first_sibling(event);				\
	     !list_entry_is_head(sibling, &(event)->sibling_list, sibling_list);	\
	     sibling = list_next_entry(sibling, sibling_list))

/* ----------------------------------------------------------- kernel counters */

/**
 * perf_event_create_kernel_counter - create an event for a kernel user
 * @attr: attributes, which are not checked as those of a system call are
 * @cpu: CPU number, -1 for a task on any CPU
 * @task: task to count, NULL for all of a CPU; for that the running task needs what
 *	perf_allow_cpu() requires
 * @callback: overflow handler, NULL to write records
 * @context: value of perf_event::overflow_handler_context
 *
 * Context: may sleep
 * Return: the event, to be released by perf_event_release_kernel(), or an ERR_PTR(): -EINVAL (for
 *	AUX output and actions, too), -ENOENT, -EACCES, -ESRCH if the task exits, -ENODEV if the CPU
 *	is offline, -EBUSY, -ENOMEM, or an errno of pmu::event_init
 */
struct perf_event *perf_event_create_kernel_counter(struct perf_event_attr *attr, int cpu,
						    struct task_struct *task,
						    perf_overflow_handler_t callback,
						    void *context);

/**
 * perf_event_release_kernel - release an event
 * @event: event without other users
 *
 * Context: may sleep
 * Return: 0. The event does not count any more and the counter is free.
 */
int perf_event_release_kernel(struct perf_event *event);

/**
 * perf_event_enable - enable an event
 * @event: the event
 *
 * Context: may sleep; or interrupts off, for an event of the running task or of this CPU
 */
void perf_event_enable(struct perf_event *event);

/**
 * perf_event_disable - disable an event
 * @event: the event
 *
 * When the function returns the event has stopped counting.
 *
 * Context: may sleep; or interrupts off, for an event of the running task or of this CPU
 */
void perf_event_disable(struct perf_event *event);

/**
 * perf_event_refresh - enable a sampling event for a number of overflows
 * @event: sampling event, not inherited
 * @refresh: overflows until the event is disabled
 *
 * Context: may sleep
 * Return: 0 or -EINVAL
 */
int perf_event_refresh(struct perf_event *event, int refresh);

/**
 * perf_event_period - change the period or the frequency of a sampling event
 * @event: sampling event
 * @value: events, or Hz if attr.freq is set
 *
 * Context: may sleep
 * Return: 0 or -EINVAL
 */
int perf_event_period(struct perf_event *event, u64 value);

/**
 * perf_event_pause - disable an event and read the count
 * @event: a kernel user's event, without children
 * @reset: also set the count to 0
 *
 * Context: may sleep
 * Return: the count
 */
u64 perf_event_pause(struct perf_event *event, bool reset);

/**
 * perf_event_read_local - read an event without a cross-call
 * @event: event of the running task, or of this CPU
 * @value: result: the count
 * @enabled: result: time enabled in ns, or NULL
 * @running: result: time running in ns, or NULL
 *
 * Context: any, NMI included
 * Return: 0; -EOPNOTSUPP for an inherited event; -EINVAL if the event belongs to another task or
 *	CPU; -EBUSY for a pinned event that is not running
 */
int perf_event_read_local(struct perf_event *event, u64 *value, u64 *enabled, u64 *running);

/**
 * perf_event_read_value - read the count of an event and of the children of the event
 * @event: the event
 * @enabled: result: time enabled, ns
 * @running: result: time running, ns
 *
 * Context: may sleep
 * Return: the count
 */
u64 perf_event_read_value(struct perf_event *event, u64 *enabled, u64 *running);

/**
 * perf_event_get - get the file of an event
 * @fd: file descriptor
 *
 * Context: process context
 * Return: a referenced file, or ERR_PTR(-EBADF)
 */
struct file *perf_event_get(unsigned int fd);

/**
 * perf_get_event - get the event of a file
 * @file: any open file
 *
 * Context: any
 * Return: the event, or ERR_PTR(-EINVAL) if the file is not an event's
 */
const struct perf_event *perf_get_event(struct file *file);

/**
 * perf_event_attrs - get the attributes of an event
 * @event: event, or NULL
 *
 * Context: any
 * Return: the attributes, or ERR_PTR(-EINVAL)
 */
const struct perf_event_attr *perf_event_attrs(struct perf_event *event);

/**
 * arch_perf_update_userpage - fill in the members of a user page that depend on the architecture
 * @event: the event
 * @userpg: user page of @event
 * @now: current time of local_clock(), ns
 *
 * Context: any, NMI included
 */
void arch_perf_update_userpage(struct perf_event *event,
			       struct perf_event_mmap_page *userpg, u64 now);

/* ---------------------------------------------------- limits and permissions */

extern int sysctl_perf_event_paranoid;
extern int sysctl_perf_event_mlock;
extern int sysctl_perf_event_sample_rate;
extern int sysctl_perf_cpu_time_max_percent;

/**
 * perf_event_max_sample_rate_handler - read or write sysctl kernel.perf_event_max_sample_rate
 * @table: entry of the sysctl
 * @write: true for a write
 * @buffer: text to parse, or buffer for the text
 * @lenp: length of @buffer in bytes; set to the bytes used
 * @ppos: position in the file
 *
 * Context: process context, may sleep
 * Return: 0; -EINVAL for a value out of range, or while perf_cpu_time_max_percent is 0 or 100
 */
int perf_event_max_sample_rate_handler(const struct ctl_table *table, int write, void *buffer,
				       size_t *lenp, loff_t *ppos);

/**
 * perf_cpu_time_max_percent_handler - read or write sysctl kernel.perf_cpu_time_max_percent
 * @table: entry of the sysctl
 * @write: true for a write
 * @buffer: text to parse, or buffer for the text
 * @lenp: length of @buffer in bytes; set to the bytes used
 * @ppos: position in the file
 *
 * Context: process context, may sleep
 * Return: 0; -EINVAL for a value out of range
 */
int perf_cpu_time_max_percent_handler(const struct ctl_table *table, int write, void *buffer,
				      size_t *lenp, loff_t *ppos);

/**
 * perf_event_max_stack_handler - read or write a limit of call chains
 * @table: entry of perf_event_max_stack or perf_event_max_contexts_per_stack
 * @write: true for a write
 * @buffer: text to parse, or buffer for the text
 * @lenp: length of @buffer in bytes; set to the bytes used
 * @ppos: position in the file
 *
 * Context: process context, may sleep; takes the mutex of the call chain buffers
 * Return: 0; -EBUSY for a write while events use call chains; -EINVAL for a value out of range
 */
int perf_event_max_stack_handler(const struct ctl_table *table, int write, void *buffer,
				 size_t *lenp, loff_t *ppos);

/* Argument of security_perf_event_open(). */
#define PERF_SECURITY_OPEN		0
#define PERF_SECURITY_CPU		1
#define PERF_SECURITY_KERNEL		2
#define PERF_SECURITY_TRACEPOINT	3

static inline bool perf_paranoid_any(void)
{
	return sysctl_perf_event_paranoid > 2;
}

static inline bool perf_is_paranoid(void)
{
	return sysctl_perf_event_paranoid > -1;
}

/**
 * perf_allow_kernel - may the caller measure the kernel?
 *
 * Context: process context
 * Return: 0, -EACCES or a security module's errno
 */
int perf_allow_kernel(void);

/* May the caller count all tasks of a CPU? 0 or -errno. */
static inline int perf_allow_cpu(void)
{
	if (sysctl_perf_event_paranoid <= 0 || perfmon_capable())
		return security_perf_event_open(PERF_SECURITY_CPU);
	return -EACCES;
}

/* May the caller see raw tracepoint data? 0 or -errno. */
static inline int perf_allow_tracepoint(void)
{
	if (!perf_is_paranoid() || perfmon_capable())
		return security_perf_event_open(PERF_SECURITY_TRACEPOINT);
	return -EPERM;
}

/* ---------------------------------------------------- properties of an event */

static inline bool is_sampling_event(struct perf_event *event)
{
	return event->attr.sample_period;
}

/* A software event needs no counter, so it can always be scheduled. */
static inline int is_software_event(struct perf_event *event)
{
	return event->event_caps & PERF_EV_CAP_SOFTWARE;
}

/* Does the group of @event consist of software events only? */
static inline int in_software_context(struct perf_event *event)
{
	return event->group_leader->group_caps & PERF_EV_CAP_SOFTWARE;
}

static inline int is_exclusive_pmu(struct pmu *pmu)
{
	return pmu->capabilities & PERF_PMU_CAP_EXCLUSIVE;
}

static inline bool event_has_any_exclude_flag(struct perf_event *event)
{
	const struct perf_event_attr *a = &event->attr;

	return a->exclude_user | a->exclude_kernel | a->exclude_hv | a->exclude_idle |
	       a->exclude_host | a->exclude_guest;
}

static inline u64 branch_sample_type(struct perf_event *event)
{
	return event->attr.branch_sample_type;
}

static inline bool branch_sample_no_flags(const struct perf_event *event)
{
	return event->attr.branch_sample_type & PERF_SAMPLE_BRANCH_NO_FLAGS;
}

static inline bool branch_sample_no_cycles(const struct perf_event *event)
{
	return event->attr.branch_sample_type & PERF_SAMPLE_BRANCH_NO_CYCLES;
}

static inline bool branch_sample_type_save(const struct perf_event *event)
{
	return event->attr.branch_sample_type & PERF_SAMPLE_BRANCH_TYPE_SAVE;
}

static inline bool branch_sample_hw_index(const struct perf_event *event)
{
	return event->attr.branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX;
}

static inline bool branch_sample_priv(const struct perf_event *event)
{
	return event->attr.branch_sample_type & PERF_SAMPLE_BRANCH_PRIV_SAVE;
}

static inline bool branch_sample_counters(const struct perf_event *event)
{
	return event->attr.branch_sample_type & PERF_SAMPLE_BRANCH_COUNTERS;
}

static inline bool branch_sample_call_stack(const struct perf_event *event)
{
	return event->attr.branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK;
}

static inline bool has_branch_stack(struct perf_event *event)
{
	return event->attr.sample_type & PERF_SAMPLE_BRANCH_STACK;
}

static inline bool needs_branch_stack(struct perf_event *event)
{
	return event->attr.branch_sample_type != 0;
}

static inline bool has_aux(struct perf_event *event)
{
	return event->pmu->setup_aux;
}

static inline bool has_aux_action(struct perf_event *event)
{
	return event->attr.aux_sample_size || event->attr.aux_pause || event->attr.aux_resume;
}

static inline bool is_write_backward(struct perf_event *event)
{
	return !!event->attr.write_backward;
}

static inline bool has_addr_filter(struct perf_event *event)
{
	return event->pmu->nr_addr_filters;
}

/* A child uses its parent's filters. */
static inline struct perf_addr_filters_head *perf_event_addr_filters(struct perf_event *event)
{
	return event->parent ? &event->parent->addr_filters : &event->addr_filters;
}

static inline struct fasync_struct **perf_event_fasync(struct perf_event *event)
{
	return event->parent ? &event->parent->fasync : &event->fasync;
}
#endif /* CONFIG_PERF_EVENTS */

#endif /* _LINUX_PERF_EVENT_STRUCT_H */
