/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Performance events: what the rest of the kernel sees.
 *
 * Three kinds of readers come here. The hook sites (scheduler, fork, exec, mm, tracing, BPF)
 * use the inlines at the end. A PMU driver implements struct pmu and works on the fields of
 * struct perf_event and struct hw_perf_event that are marked for drivers. kernel/events/ itself
 * owns everything else; its private headers start at kernel/events/ground.h.
 *
 * Documentation/core-api/perf-events.rst explains the design.
 */
#ifndef _LINUX_PERF_EVENT_H
#define _LINUX_PERF_EVENT_H

#include <uapi/linux/perf_event.h>
#include <uapi/linux/bpf_perf_event.h>

#ifdef CONFIG_PERF_EVENTS
# include <asm/perf_event.h>
# include <asm/local64.h>
#endif

#ifdef CONFIG_HAVE_HW_BREAKPOINT
# include <linux/rhashtable-types.h>
# include <asm/hw_breakpoint.h>
#endif

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/hrtimer.h>
#include <linux/fs.h>
#include <linux/pid_namespace.h>
#include <linux/workqueue.h>
#include <linux/ftrace.h>
#include <linux/cpu.h>
#include <linux/irq_work.h>
#include <linux/static_key.h>
#include <linux/jump_label_ratelimit.h>
#include <linux/atomic.h>
#include <linux/sysfs.h>
#include <linux/perf_regs.h>
#include <linux/cgroup.h>
#include <linux/refcount.h>
#include <linux/security.h>
#include <linux/static_call.h>
#include <linux/lockdep.h>
#include <asm/local.h>

struct perf_event;
struct perf_event_context;
struct perf_event_pmu_context;
struct perf_cpu_pmu_context;
struct perf_buffer;
struct perf_cgroup;
struct perf_output_handle;
struct perf_sample_data;

/* ------------------------------------------------------------------ guests */

/* Bits answered by perf_guest_info_callbacks::state(). */
#define PERF_GUEST_ACTIVE	0x01	/* this CPU was running a guest */
#define PERF_GUEST_USER		0x02	/* ... and the guest was in its user mode */

/**
 * struct perf_guest_info_callbacks - what a hypervisor tells about an interrupted guest
 * @state: PERF_GUEST_* bits; any context
 * @get_ip: the guest's instruction pointer; only called while PERF_GUEST_ACTIVE
 * @handle_intel_pt_intr: 1 if the Intel PT interrupt was the guest's; may be NULL
 */
struct perf_guest_info_callbacks {
	unsigned int	(*state)(void);
	unsigned long	(*get_ip)(void);
	unsigned int	(*handle_intel_pt_intr)(void);
};

#ifdef CONFIG_GUEST_PERF_EVENTS
extern struct perf_guest_info_callbacks __rcu *perf_guest_cbs;

DECLARE_STATIC_CALL(__perf_guest_state, *perf_guest_cbs->state);
DECLARE_STATIC_CALL(__perf_guest_get_ip, *perf_guest_cbs->get_ip);
DECLARE_STATIC_CALL(__perf_guest_handle_intel_pt_intr, *perf_guest_cbs->handle_intel_pt_intr);

static inline unsigned int perf_guest_state(void)
{
	return static_call(__perf_guest_state)();
}

static inline unsigned long perf_guest_get_ip(void)
{
	return static_call(__perf_guest_get_ip)();
}

static inline unsigned int perf_guest_handle_intel_pt_intr(void)
{
	return static_call(__perf_guest_handle_intel_pt_intr)();
}

void perf_register_guest_info_callbacks(struct perf_guest_info_callbacks *cbs);
void perf_unregister_guest_info_callbacks(struct perf_guest_info_callbacks *cbs);
#else
static inline unsigned int perf_guest_state(void)			{ return 0; }
static inline unsigned long perf_guest_get_ip(void)			{ return 0; }
static inline unsigned int perf_guest_handle_intel_pt_intr(void)	{ return 0; }
#endif

/* --------------------------------------------------------- payloads of a sample */

/**
 * struct perf_callchain_entry - a call chain as it goes into a record
 * @nr: entries of @ip in use
 * @ip: addresses and PERF_CONTEXT_* markers, innermost first
 */
struct perf_callchain_entry {
	__u64	nr;
	__u64	ip[];
};

/**
 * struct perf_callchain_entry_ctx - a call chain while it is being collected
 * @entry: where it goes
 * @max_stack: addresses that may be stored
 * @nr: addresses stored so far
 * @contexts: markers stored so far
 * @contexts_maxed: no marker may be stored any more, and no address behind it
 */
struct perf_callchain_entry_ctx {
	struct perf_callchain_entry	*entry;
	u32				max_stack;
	u32				nr;
	short				contexts;
	bool				contexts_maxed;
};

/* Copies @n bytes at @off of @src to @dst; answers the bytes it could not copy. */
typedef unsigned long (*perf_copy_f)(void *dst, const void *src, unsigned long off,
				     unsigned long n);

/**
 * struct perf_raw_frag - one piece of a raw payload
 * @next: the piece behind it; in the last one the bits hold the padding instead
 * @pad: bytes of padding behind the last piece (less than 8)
 * @copy: how to copy it; NULL for memcpy
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
 * struct perf_branch_stack - a branch stack as the hardware gave it
 * @nr: entries
 * @hw_idx: the hardware's top-of-stack index, -1ULL if there is none
 * @entries: newest first
 */
struct perf_branch_stack {
	__u64				nr;
	__u64				hw_idx;
	struct perf_branch_entry	entries[];
};

/* --------------------------------------------------------------- hw_perf_event */

/**
 * struct hw_perf_event_extra - a register that an event needs beside its counter
 * @config: value for the register
 * @reg: register address
 * @alloc: claimed by this event
 * @idx: index in the driver's table
 */
struct hw_perf_event_extra {
	u64		config;
	unsigned int	reg;
	int		alloc;
	int		idx;
};

/* hw_perf_event::flags: low bits are the driver's, PERF_EVENT_FLAG_ARCH is its mask. */
#define PERF_EVENT_FLAG_ARCH		0x0fffffff
#define PERF_EVENT_FLAG_USER_READ_CNT	0x80000000	/* user space may read the counter */

/* hw_perf_event::state */
#define PERF_HES_STOPPED	0x01	/* the counter does not run */
#define PERF_HES_UPTODATE	0x02	/* perf_event::count holds all of it */
#define PERF_HES_ARCH		0x04	/* free for the driver */

/* hw_perf_event::interrupts of an event that is throttled: it waits for pmu::start */
#define PERF_THROTTLED		(~0ULL)

#ifdef CONFIG_PERF_EVENTS
/**
 * struct hw_perf_event - the part of an event that its PMU driver works on
 *
 * The members of the union exclude one another by kind of PMU; everything behind it is common.
 * @config: event selection as the driver programs it
 * @last_tag: driver's mark of the last programming
 * @config_base: address or extra bits of the control register
 * @event_base: address of the counter
 * @event_base_rdpmc: index for user-space reads, as the hardware wants it
 * @idx: counter in use; -1 none
 * @last_cpu: CPU on which @idx was last used
 * @flags: PERF_EVENT_FLAG_*, driver bits
 * @extra_reg: extra register
 * @branch_reg: branch filter register
 * @counters: counters that can count it, a bit for each
 * @aux_config: what an AUX driver programs
 * @aux_paused: AUX tracing is paused by another event of the group
 * @aux_pausing: it is just being paused or resumed; core
 * @hrtimer: sampling timer of a clock event
 * @tp_list: a probe's list of events
 * @info: breakpoint as the architecture programs it
 * @bp_list: node in the breakpoint slot accounting
 * @target: task the event was opened for; NULL for a CPU event
 * @addr_filters: driver's copy of address filters
 * @addr_filters_gen: generation of that copy
 * @state: PERF_HES_*
 * @prev_count: counter's value when @perf_event::count was last brought up to date
 * @sample_period: period in force
 * @last_period: period of the overflow being handled
 * @period_left: events left until the next overflow
 * @interrupts_seq: tick in which @interrupts was counted
 * @interrupts: overflows in that tick; PERF_THROTTLED while throttled
 * @freq_time_stamp: frequency control: time of the last adjustment, ns
 * @freq_count_stamp: frequency control: count at that time
 */
struct hw_perf_event {
	union {
		struct {
			u64				config;
			u64				last_tag;
			unsigned long			config_base;
			unsigned long			event_base;
			int				event_base_rdpmc;
			int				idx;
			int				last_cpu;
			int				flags;
			struct hw_perf_event_extra	extra_reg;
			struct hw_perf_event_extra	branch_reg;
			u64				counters;
		};
		struct {
			u64				aux_config;
			unsigned int			aux_paused;
			unsigned int			aux_pausing;
		};
		struct {
			struct hrtimer			hrtimer;
		};
		struct {
			struct list_head		tp_list;
		};
		struct {
			u64				pwr_acc;
			u64				ptsc;
		};
#ifdef CONFIG_HAVE_HW_BREAKPOINT
		struct {
			struct arch_hw_breakpoint	info;
			struct rhlist_head		bp_list;
		};
#endif
		struct {
			u8				iommu_bank;
			u8				iommu_cntr;
			u16				padding;
			u64				conf;
			u64				conf1;
		};
	};

	struct task_struct	*target;
	void			*addr_filters;
	unsigned long		addr_filters_gen;

	int			state;
	local64_t		prev_count;
	u64			sample_period;
	u64			last_period;
	local64_t		period_left;
	u64			interrupts_seq;
	u64			interrupts;
	u64			freq_time_stamp;
	u64			freq_count_stamp;
};

/* ------------------------------------------------------------------------- PMU */

/* pmu::capabilities */
#define PERF_PMU_CAP_NO_INTERRUPT	0x0001	/* cannot sample */
#define PERF_PMU_CAP_NO_NMI		0x0002	/* overflows never come from NMI */
#define PERF_PMU_CAP_AUX_NO_SG		0x0004	/* AUX area must be contiguous */
#define PERF_PMU_CAP_EXTENDED_REGS	0x0008	/* samples registers past PERF_REG_EXTENDED_MASK */
#define PERF_PMU_CAP_EXCLUSIVE		0x0010	/* one event per context */
#define PERF_PMU_CAP_ITRACE		0x0020	/* instruction trace */
#define PERF_PMU_CAP_NO_EXCLUDE		0x0040	/* counts all privilege levels or none */
#define PERF_PMU_CAP_AUX_OUTPUT		0x0080	/* other events' samples can go into its AUX area */
#define PERF_PMU_CAP_EXTENDED_HW_TYPE	0x0100	/* serves HARDWARE/HW_CACHE with a type in config */
#define PERF_PMU_CAP_AUX_PAUSE		0x0200	/* AUX tracing can be paused */
#define PERF_PMU_CAP_AUX_PREFER_LARGE	0x0400	/* AUX area rather in large pieces */

/**
 * enum perf_pmu_scope - how many CPUs share one instance of a PMU
 *
 * An event of a shared PMU may be opened on any CPU and is moved to the one that serves the domain.
 */
enum perf_pmu_scope {
	PERF_PMU_SCOPE_NONE	= 0,
	PERF_PMU_SCOPE_CORE,
	PERF_PMU_SCOPE_DIE,
	PERF_PMU_SCOPE_CLUSTER,
	PERF_PMU_SCOPE_PKG,
	PERF_PMU_SCOPE_SYS_WIDE,
	PERF_PMU_MAX_SCOPE,
};

/* Flags of pmu::add, del, start and stop. */
#define PERF_EF_START	0x01	/* add: start it, too */
#define PERF_EF_RELOAD	0x02	/* start: set the counter from period_left */
#define PERF_EF_UPDATE	0x04	/* stop, del: bring perf_event::count up to date */
#define PERF_EF_PAUSE	0x08	/* stop: pause AUX tracing */
#define PERF_EF_RESUME	0x10	/* start: resume AUX tracing */

/* Kinds of transaction. */
#define PERF_PMU_TXN_ADD	0x1	/* events of one group are being added */
#define PERF_PMU_TXN_READ	0x2	/* events of one group are being read */

/* pmu::dev of a PMU that has no place in sysfs. */
#define PMU_NULL_DEV	((void *)(~0UL))

/**
 * struct perf_sched_slot - one event in a schedule
 * @event: the event
 * @idx: its counter, given by pmu::sched_assign
 */
struct perf_sched_slot {
	struct perf_event	*event;
	int			idx;
};

#define PERF_SCHED_SLOTS	64

/**
 * struct perf_schedule - events of one PMU that run on a CPU at the same time
 * @nr: slots in use
 * @user: the task it is for has events that user space may read from the counter, though perhaps
 *	none of them is here now
 * @task_mask: slots whose event belongs to a task's context (the others are the CPU's)
 * @slot: events by falling priority, with their counters
 *
 * The core builds a schedule when the set of events changes and uses it again until then, on
 * every context switch; pmu::sched_assign decides on the counters, once.
 */
struct perf_schedule {
	unsigned int		nr;
	bool			user;
	u64			task_mask;
	struct perf_sched_slot	slot[PERF_SCHED_SLOTS];
};

/**
 * struct pmu - a performance monitoring unit
 *
 * Unless said otherwise callbacks run on the CPU concerned with interrupts off, and with the PMU
 * disabled (pmu_disable) where they change what it counts.
 *
 * @entry: list of all PMUs; core
 * @module: owner; pinned while an event lives
 * @dev: device in sysfs; core
 * @parent: parent of that device
 * @attr_groups: sysfs attributes
 * @attr_update: sysfs attributes that the driver adds where they apply
 * @name: name
 * @type: PERF_TYPE_* or the number given at registration
 * @capabilities: PERF_PMU_CAP_*
 * @scope: enum perf_pmu_scope
 * @pmu_disable_count: nesting of perf_pmu_disable(), per CPU; core
 * @cpu_pmu_context: the PMU's state per CPU; core
 * @exclusive_cnt: users of a PERF_PMU_CAP_EXCLUSIVE PMU: > 0 CPU events, < 0 task events; core
 * @task_ctx_nr: perf_hw_context or perf_sw_context if tasks can have such events,
 *	perf_invalid_context if only CPUs can
 * @hrtimer_interval_ms: multiplexing interval
 * @nr_addr_filters: address filters an event can have
 *
 * @pmu_enable: let the PMU run; optional
 * @pmu_disable: halt the whole PMU so that it can be changed; optional
 * @event_init: take on @event. May sleep. -ENOENT: not ours, others are asked. Other errors end
 *	the search: -ENODEV, -EBUSY, -EINVAL, -EOPNOTSUPP, -EACCES.
 * @event_mapped: a user mapped the event's buffer; under mmap_lock
 * @event_unmapped: and unmapped it
 * @add: give the event a counter on this CPU, and start it if PERF_EF_START. Negative: no room.
 * @del: take it away again; count is brought up to date
 * @start: start counting; PERF_EF_RELOAD. With PERF_EF_RESUME it may be called in NMI, and must not
 *	bring address filters up to date.
 * @stop: stop counting; PERF_EF_UPDATE. May come from the overflow handler, in NMI.
 * @read: bring perf_event::count up to date; the event runs on this CPU. NMI.
 * @start_txn: add or read the events that follow as one group; optional
 * @commit_txn: all of them, or a negative error
 * @cancel_txn: forget the transaction
 * @event_idx: value of perf_event_mmap_page::index (0: no user-space read); optional
 * @sched_task: context switch callback for PMUs that asked by perf_sched_cb_inc()
 * @task_ctx_cache: slab for per-task data; unused by the core
 * @swap_task_ctx: swap per-task data of two contexts; unused by the core
 * @setup_aux: prepare for the AUX area of @pages; may sleep; answers driver data
 * @free_aux: undo setup_aux
 * @snapshot_aux: copy what is in the AUX area now into the sample; NMI
 * @addr_filters_validate: check a list of address filters; may sleep
 * @addr_filters_sync: program perf_event::addr_filter_ranges
 * @aux_output_match: the event's samples can go to this PMU's AUX area
 * @filter: true if this PMU cannot serve CPU @cpu
 * @check_period: may the event have this period?
 *
 * A PMU with several like counters implements the next three instead of add, del and
 * transactions, and gets the core's fast context switch:
 * @sched_assign: give every slot of @s from @from on a counter, moving earlier slots if that is
 *	what it takes; may not touch hardware; any CPU, interrupts off. 0, -ENOSPC if they do not all
 *	fit, in which case slots before @from are unchanged, or -EBUSY if nothing would: all are taken.
 * @sched_load: make the counters of this CPU run @s and nothing else. Events that are already
 *	running on their counter go on; others that still run are brought up to date and stopped.
 *	Sets hw_perf_event::idx. A control register that already holds its value is not written.
 *	What lets user space read counters is on if perf_schedule::user is, and stays on while the
 *	task is here: it may be between looking up the index and reading the counter.
 * @sched_save: bring the events in the slots of @mask up to date and take them off the CPU. What
 *	cannot interrupt may be left running for nobody: its next sched_load takes the difference
 *	from there. The task leaves, with user space's access; @mask is 0 if it has nothing else.
 */
struct pmu {
	struct list_head			entry;
	struct module				*module;
	struct device				*dev;
	struct device				*parent;
	const struct attribute_group		**attr_groups;
	const struct attribute_group		**attr_update;
	const char				*name;
	int					type;
	int					capabilities;
	unsigned int				scope;
	int __percpu				*pmu_disable_count;
	struct perf_cpu_pmu_context __percpu	*cpu_pmu_context;
	atomic_t				exclusive_cnt;
	int					task_ctx_nr;
	int					hrtimer_interval_ms;
	unsigned int				nr_addr_filters;

	void (*pmu_enable)(struct pmu *pmu);
	void (*pmu_disable)(struct pmu *pmu);
	int  (*event_init)(struct perf_event *event);
	void (*event_mapped)(struct perf_event *event, struct mm_struct *mm);
	void (*event_unmapped)(struct perf_event *event, struct mm_struct *mm);
	int  (*add)(struct perf_event *event, int flags);
	void (*del)(struct perf_event *event, int flags);
	void (*start)(struct perf_event *event, int flags);
	void (*stop)(struct perf_event *event, int flags);
	void (*read)(struct perf_event *event);
	void (*start_txn)(struct pmu *pmu, unsigned int txn_flags);
	int  (*commit_txn)(struct pmu *pmu);
	void (*cancel_txn)(struct pmu *pmu);
	int  (*event_idx)(struct perf_event *event);
	void (*sched_task)(struct perf_event_pmu_context *pmu_ctx, struct task_struct *task,
			   bool sched_in);
	struct kmem_cache *task_ctx_cache;
	void (*swap_task_ctx)(struct perf_event_pmu_context *prev_epc,
			      struct perf_event_pmu_context *next_epc);
	void *(*setup_aux)(struct perf_event *event, void **pages, int nr_pages, bool overwrite);
	void (*free_aux)(void *aux);
	long (*snapshot_aux)(struct perf_event *event, struct perf_output_handle *handle,
			     unsigned long size);
	int  (*addr_filters_validate)(struct list_head *filters);
	void (*addr_filters_sync)(struct perf_event *event);
	int  (*aux_output_match)(struct perf_event *event);
	void (*filter)(struct pmu *pmu, int cpu, bool *ret);
	int  (*check_period)(struct perf_event *event, u64 value);
	int  (*sched_assign)(struct pmu *pmu, struct perf_schedule *s, unsigned int from);
	void (*sched_load)(struct pmu *pmu, const struct perf_schedule *s);
	void (*sched_save)(struct pmu *pmu, const struct perf_schedule *s, u64 mask);
};

/* ------------------------------------------------------------- address filters */

enum perf_addr_filter_action_t {
	PERF_ADDR_FILTER_ACTION_STOP = 0,
	PERF_ADDR_FILTER_ACTION_START,
	PERF_ADDR_FILTER_ACTION_FILTER,
};

/**
 * struct perf_addr_filter - one address filter, as the user wrote it
 * @entry: in perf_addr_filters_head::list
 * @path: object file for a user-space filter; no dentry for a kernel one
 * @offset: offset in the file, or kernel address
 * @size: bytes; 0 for a single address
 * @action: what happens there
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
 * @nr_file_filters: how many of them have a path
 */
struct perf_addr_filters_head {
	struct list_head	list;
	raw_spinlock_t		lock;
	unsigned int		nr_file_filters;
};

/* Where a filter lies in the task's address space now; size 0: not mapped. */
struct perf_addr_filter_range {
	unsigned long		start;
	unsigned long		size;
};

/* ----------------------------------------------------------------------- event */

/**
 * enum perf_event_state - the life of an event
 * @PERF_EVENT_STATE_DEAD: its last user is gone
 * @PERF_EVENT_STATE_EXIT: the task it counted for is gone
 * @PERF_EVENT_STATE_ERROR: pinned, and could not run; read() says end of file
 * @PERF_EVENT_STATE_OFF: disabled
 * @PERF_EVENT_STATE_INACTIVE: enabled, not in its context's selection
 * @PERF_EVENT_STATE_ACTIVE: enabled and selected: it counts whenever its context is on a CPU
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
#define PERF_ATTACH_TASK_DATA	0x0008	/* driver keeps per-task data */
#define PERF_ATTACH_ITRACE	0x0010	/* ITRACE_START was written */
#define PERF_ATTACH_SCHED_CB	0x0020	/* driver wants sched_task */
#define PERF_ATTACH_CHILD	0x0040	/* in its parent's child list */
#define PERF_ATTACH_EXCLUSIVE	0x0080	/* counted in pmu::exclusive_cnt */
#define PERF_ATTACH_CALLCHAIN	0x0100	/* holds the callchain buffers */
#define PERF_ATTACH_MOVING	0x0200	/* on its way from one CPU's context to another's */

/* perf_event::event_caps and group_caps */
#define PERF_EV_CAP_SOFTWARE		BIT(0)	/* always fits */
#define PERF_EV_CAP_READ_ACTIVE_PKG	BIT(1)	/* any CPU of the package can read it */
#define PERF_EV_CAP_SIBLING		BIT(2)	/* may only be a sibling, cannot be enabled alone */
#define PERF_EV_CAP_READ_SCOPE		BIT(3)	/* any CPU of the PMU's scope can read it */
#define PERF_EV_CAP_RESIDENT		BIT(4)	/* add and del on a change only, not on a switch */

typedef void (*perf_overflow_handler_t)(struct perf_event *event, struct perf_sample_data *data,
					struct pt_regs *regs);

/**
 * struct perf_sample_layout - an event's samples, compiled when it is opened
 * @nr_plain: words right behind the header
 * @nr_other: fields behind those
 * @plain: where in struct perf_sample_data these words are, in units of eight bytes
 * @other: which fields, in record order; see kernel/events/sample.c
 */
struct perf_sample_layout {
	u8	nr_plain;
	u8	nr_other;
	u8	plain[9];
	u8	other[15];
};

/**
 * struct perf_event - one event
 *
 * For drivers: @attr, @hw, @pmu, @cpu, @oncpu, @count, @parent, @group_leader and its
 * @sibling_list, @active_entry, @pmu_private, @destroy, @event_caps, @attach_state (to tell a task
 * event), @addr_filter_ranges, @state (read only). The rest belongs to kernel/events/.
 *
 * Locks: [c] written under ctx->lock with the context's CPU agreeing (see kernel/events/context.h),
 * [m] ctx->mutex, [i] immutable once visible, [o] output side, see kernel/events/output.h.
 *
 * Everything from @mmap_mutex on is used by events that have a file; an inherited child's memory
 * may end there.
 */
struct perf_event {
	/* What fires and switches read. */
	struct pmu			*pmu;			/* [i] */
	struct perf_event_context	*ctx;			/* [i] once attached */
	struct perf_event_pmu_context	*pmu_ctx;		/* [c] where its group is scheduled */
	enum perf_event_state		state;			/* [c] */
	int				cpu;			/* -1: any; [i] but for migration */
	int				oncpu;			/* CPU it was last started on, -1 */
	unsigned int			attach_state;
	local64_t			count;
	struct hw_perf_event		hw;

	/* Group. */
	struct perf_event		*group_leader;		/* [c][m] */
	struct list_head		sibling_list;		/* head in a leader, node else */
	int				nr_siblings;
	int				event_caps;
	int				group_caps;		/* of all members, in a leader */
	unsigned int			group_generation;	/* bumped when members change */

	/* Time: see kernel/events/state.c. Nanoseconds of the context's clock. */
	u64				tstamp;			/* [c] */
	u64				total_time_enabled;	/* [c] up to tstamp */
	u64				total_time_running;	/* [c] */

	/* Membership. */
	struct list_head		event_entry;		/* ctx->event_list */
	struct hlist_node		hlist_entry;		/* where a software event fires from */
	struct list_head		switch_entry;		/* ctx->switched */
	struct list_head		sb_list;		/* ctx or CPU side-band listeners */
	struct list_head		freq_entry;		/* ctx->freq_list */
	struct list_head		active_entry;		/* free for the driver */
	struct list_head		group_entry;		/* leader: in pmu_ctx's flexible queue */
	struct list_head		pinned_entry;		/* leader: in pmu_ctx's pinned list */
	u64				round;			/* leader: turns it has had; see groups.c */
	s64				turn_left;		/* leader: ns left of the next one */
	u64				sched_stamp;		/* leader: total_time_running at turn_left */
	u64				sched_mark;		/* schedule being applied */

	struct perf_event_attr		attr;
	u16				header_size;		/* [i] fixed part of a sample, bytes */
	u16				id_header_size;		/* [i] sample_id trailer */
	u16				read_size;		/* [c] bytes of a read() */
	u8				orig_type_set;
	u32				orig_type;		/* attr.type before event_init */
	struct perf_sample_layout	layout;			/* [i] samples, see sample.c */

	/* Inheritance. */
	struct perf_event		*parent;		/* [i] the event that has the file */
	struct mutex			child_mutex;		/* parent: child_list, child sums */
	struct list_head		child_list;		/* head in a parent, node in a child */
	atomic64_t			child_count;
	atomic64_t			child_total_time_enabled;
	atomic64_t			child_total_time_running;

	/* Identity and lifetime. */
	atomic_long_t			refcount;
	struct rcu_head			rcu_head;
	u64				id;			/* [i] unique */
	struct pid_namespace		*ns;			/* [i] */
	u64				(*clock)(void);		/* [i] time of its records */
	void				(*destroy)(struct perf_event *event);
	void				*pmu_private;
	struct perf_cgroup		*cgrp;			/* [i] */
	union {
		struct task_struct	*owner;			/* opener, while it lives */
		struct perf_event	*creator;		/* a child's, while it is being made */
	};
	struct list_head		owner_entry;		/* task->perf_event_list */
	void				*security;
	unsigned int			account_flags;		/* static keys taken, see account.c */

	/* Overflow. */
	perf_overflow_handler_t		overflow_handler;
	void				*overflow_handler_context;
	struct bpf_prog			*prog;
	u64				bpf_cookie;
	atomic_t			event_limit;		/* IOC_REFRESH */
	atomic64_t			lost_samples;
	unsigned int			pending_wakeup;
	unsigned int			pending_kill;
	unsigned int			pending_disable;
	unsigned long			pending_addr;
	unsigned int			pending_work;
	struct irq_work			pending_irq;
	struct irq_work			pending_disable_irq;
	struct callback_head		pending_task;

	/* Address filters. */
	struct perf_addr_filters_head	addr_filters;
	struct perf_addr_filter_range	*addr_filter_ranges;
	unsigned long			addr_filters_gen;

	/* AUX. */
	struct perf_event		*aux_event;

	/* Buffer it writes to: [o]. A child uses its parent's. */
	struct perf_buffer __rcu	*rb;

	/* Only events with a file, from here on. */
	struct mutex			mmap_mutex;
	atomic_t			mmap_count;
	struct list_head		rb_entry;
	unsigned long			rcu_batches;
	int				rcu_pending;
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

/* Walks the siblings of a leader; nothing if @event is not a leader. */
#define for_each_sibling_event(sibling, event)					\
	if ((event)->group_leader != (event)) { /* no siblings of its own */ }	\
	else list_for_each_entry((sibling), &(event)->sibling_list, sibling_list)

/* ---------------------------------------------------------------------- output */

/**
 * struct perf_output_handle - a write to a buffer in progress
 * @event: whose record it is
 * @rb: the buffer
 * @wakeup: position of the record; for AUX, the position at which to wake the reader
 * @size: bytes left in the current page; for AUX the room there is
 * @flags: record flags
 * @aux_flags: PERF_AUX_FLAG_* for the AUX record
 * @skip_read: READ part of a sample must not read hardware
 * @claimed: the buffer is one of several CPUs, and this write has claimed it; core
 * @addr: where the next byte goes
 * @head: for AUX: where the room begins
 * @page: index of the current page
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
		};
	};
	union {
		void		*addr;
		unsigned long	head;
	};
	int			page;
};

/**
 * struct perf_sample_data - what a sample is made of
 * @sample_flags: PERF_SAMPLE_* bits that are filled in already
 * @period: period; BPF reads it
 * @dyn_size: bytes of the parts whose size varies, of those filled in already
 * @nr_read: members of the group in the READ part
 *
 * The other members are the payloads by the name of their PERF_SAMPLE_* bit. Drivers set what only
 * they know and mark it in @sample_flags; the rest is computed when the sample is written.
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
 * struct bpf_perf_event_data_kern - context of a BPF overflow program, as the kernel sees it
 * @regs: where it happened
 * @data: the sample
 * @event: the event
 */
struct bpf_perf_event_data_kern {
	bpf_user_pt_regs_t	*regs;
	struct perf_sample_data	*data;
	struct perf_event	*event;
};

/* data_src of a sample about which the hardware said nothing. */
#define PERF_MEM_NA (PERF_MEM_S(OP, NA) | PERF_MEM_S(LVL, NA) | PERF_MEM_S(SNOOP, NA) |	\
		     PERF_MEM_S(LOCK, NA) | PERF_MEM_S(TLB, NA) | PERF_MEM_S(LVLNUM, NA))

static inline void perf_sample_data_init(struct perf_sample_data *data, u64 addr, u64 period)
{
	data->sample_flags = addr ? PERF_SAMPLE_PERIOD | PERF_SAMPLE_ADDR : PERF_SAMPLE_PERIOD;
	data->period = period;
	data->dyn_size = 0;
	data->addr = addr;
}

int  perf_output_begin(struct perf_output_handle *handle, struct perf_sample_data *data,
		       struct perf_event *event, unsigned int size);
int  perf_output_begin_forward(struct perf_output_handle *handle, struct perf_sample_data *data,
			       struct perf_event *event, unsigned int size);
int  perf_output_begin_backward(struct perf_output_handle *handle, struct perf_sample_data *data,
				struct perf_event *event, unsigned int size);
void perf_output_end(struct perf_output_handle *handle);
unsigned int perf_output_copy(struct perf_output_handle *handle, const void *buf,
			      unsigned int len);
unsigned int perf_output_skip(struct perf_output_handle *handle, unsigned int len);
long perf_output_copy_aux(struct perf_output_handle *aux_handle,
			  struct perf_output_handle *handle, unsigned long from,
			  unsigned long to);
#define perf_output_put(handle, x)	perf_output_copy((handle), &(x), sizeof(x))

void *perf_aux_output_begin(struct perf_output_handle *handle, struct perf_event *event);
void perf_aux_output_end(struct perf_output_handle *handle, unsigned long size);
int  perf_aux_output_skip(struct perf_output_handle *handle, unsigned long size);
void *perf_get_aux(struct perf_output_handle *handle);
void perf_aux_output_flag(struct perf_output_handle *handle, u64 flags);
void perf_event_itrace_started(struct perf_event *event);
void perf_report_aux_output_id(struct perf_event *event, u64 hw_id);

void perf_event_header__init(struct perf_event_header *header, struct perf_sample_data *data,
			     u32 type, u16 misc, u16 size, struct perf_event *event);
void perf_event__output_id_sample(struct perf_event *event, struct perf_output_handle *handle,
				  struct perf_sample_data *sample);
void perf_output_sample(struct perf_output_handle *handle, struct perf_event_header *header,
			struct perf_sample_data *data, struct perf_event *event);
void perf_prepare_sample(struct perf_sample_data *data, struct perf_event *event,
			 struct pt_regs *regs);
void perf_prepare_header(struct perf_event_header *header, struct perf_sample_data *data,
			 struct perf_event *event, struct pt_regs *regs);
void perf_event_output_forward(struct perf_event *event, struct perf_sample_data *data,
			       struct pt_regs *regs);
void perf_event_output_backward(struct perf_event *event, struct perf_sample_data *data,
				struct pt_regs *regs);
int  perf_event_output(struct perf_event *event, struct perf_sample_data *data,
		       struct pt_regs *regs);
void perf_log_lost_samples(struct perf_event *event, u64 lost);

int  perf_event_overflow(struct perf_event *event, struct perf_sample_data *data,
			 struct pt_regs *regs);
int  perf_event_account_interrupt(struct perf_event *event);
void perf_sample_event_took(u64 sample_len_ns);

/* ------------------------------------------------------------ for PMU drivers */

int  perf_pmu_register(struct pmu *pmu, const char *name, int type);
void perf_pmu_unregister(struct pmu *pmu);
void perf_pmu_disable(struct pmu *pmu);
void perf_pmu_enable(struct pmu *pmu);
void perf_pmu_resched(struct pmu *pmu);
void perf_pmu_migrate_context(struct pmu *pmu, int src_cpu, int dst_cpu);
void perf_sched_cb_inc(struct pmu *pmu);
void perf_sched_cb_dec(struct pmu *pmu);
void perf_event_update_userpage(struct perf_event *event);
void perf_event_addr_filters_sync(struct perf_event *event);
void perf_event_disable_local(struct perf_event *event);
void perf_event_disable_inatomic(struct perf_event *event);
u64  perf_swevent_set_period(struct perf_event *event);
int  perf_swevent_get_recursion_context(void);
void perf_swevent_put_recursion_context(int rctx);

/**
 * perf_refuse - remember why a request of the calling thread is refused
 * @err: negative errno
 * @fmt: reason, a literal: "field: rule". Only %lld, %llu and %llx conversions, at most three
 *
 * The thread reads it from /proc/sys/kernel/perf_event_error. The text is put together when
 * somebody reads it: refusing costs a few stores.
 * Context: process context, may hold any lock.
 * Return: @err
 */
#define perf_refuse(err, fmt, ...)						\
	__perf_refuse((err), (fmt), (const u64 [3]){ __VA_ARGS__ })
int  __perf_refuse(int err, const char *fmt, const u64 arg[3]);

/* True while @pmu_ctx's events are the ones on this CPU. */
bool perf_pmu_ctx_is_active(struct perf_event_pmu_context *pmu_ctx);

/* -------------------------------------------------------- for kernel counters */

struct perf_event *perf_event_create_kernel_counter(struct perf_event_attr *attr, int cpu,
						    struct task_struct *task,
						    perf_overflow_handler_t callback,
						    void *context);
int  perf_event_release_kernel(struct perf_event *event);
void perf_event_enable(struct perf_event *event);
void perf_event_disable(struct perf_event *event);
int  perf_event_refresh(struct perf_event *event, int refresh);
int  perf_event_period(struct perf_event *event, u64 value);
u64  perf_event_pause(struct perf_event *event, bool reset);
int  perf_event_read_local(struct perf_event *event, u64 *value, u64 *enabled, u64 *running);
u64  perf_event_read_value(struct perf_event *event, u64 *enabled, u64 *running);
struct file *perf_event_get(unsigned int fd);
const struct perf_event *perf_get_event(struct file *file);
const struct perf_event_attr *perf_event_attrs(struct perf_event *event);

/* --------------------------------------------------------------- callchains */

DECLARE_PER_CPU(struct perf_callchain_entry, perf_callchain_entry);

void perf_callchain_user(struct perf_callchain_entry_ctx *entry, struct pt_regs *regs);
void perf_callchain_kernel(struct perf_callchain_entry_ctx *entry, struct pt_regs *regs);
struct perf_callchain_entry *get_perf_callchain(struct pt_regs *regs, bool kernel, bool user,
						u32 max_stack, bool crosstask, bool add_mark);
int  get_callchain_buffers(int max_stack);
void put_callchain_buffers(void);
struct perf_callchain_entry *get_callchain_entry(int *rctx);
void put_callchain_entry(int rctx);
struct perf_callchain_entry *perf_callchain(struct perf_event *event, struct pt_regs *regs);

extern int sysctl_perf_event_max_stack;
extern int sysctl_perf_event_max_contexts_per_stack;

/* Stores an address; -1 when the chain is full. Any context. */
static inline int perf_callchain_store(struct perf_callchain_entry_ctx *ctx, u64 ip)
{
	if (ctx->contexts_maxed || ctx->nr >= ctx->max_stack)
		return -1;

	ctx->entry->ip[ctx->entry->nr++] = ip;
	ctx->nr++;
	return 0;
}

/* Stores a PERF_CONTEXT_* marker; -1 when there may be no more of them. */
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

/* -------------------------------------------------- limits and permissions */

extern int sysctl_perf_event_paranoid;
extern int sysctl_perf_event_mlock;
extern int sysctl_perf_event_sample_rate;
extern int sysctl_perf_cpu_time_max_percent;

int perf_event_max_sample_rate_handler(const struct ctl_table *table, int write, void *buffer,
				       size_t *lenp, loff_t *ppos);
int perf_cpu_time_max_percent_handler(const struct ctl_table *table, int write, void *buffer,
				      size_t *lenp, loff_t *ppos);
int perf_event_max_stack_handler(const struct ctl_table *table, int write, void *buffer,
				 size_t *lenp, loff_t *ppos);

/* What the security modules are asked about. */
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

int perf_allow_kernel(void);

/* May the caller count on whole CPUs? 0 or -errno. */
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

/* ----------------------------------------------------------- questions to an event */

static inline bool is_sampling_event(struct perf_event *event)
{
	return event->attr.sample_period;
}

/* An event that always fits: it needs nothing that others could have taken. */
static inline int is_software_event(struct perf_event *event)
{
	return event->event_caps & PERF_EV_CAP_SOFTWARE;
}

/* The same of a whole group. */
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

/* A child's filters are its parent's. */
static inline struct perf_addr_filters_head *perf_event_addr_filters(struct perf_event *event)
{
	return event->parent ? &event->parent->addr_filters : &event->addr_filters;
}

static inline struct fasync_struct **perf_event_fasync(struct perf_event *event)
{
	return event->parent ? &event->parent->fasync : &event->fasync;
}

static inline bool is_default_overflow_handler(struct perf_event *event)
{
	perf_overflow_handler_t handler = event->overflow_handler;

	return handler == perf_event_output_forward || handler == perf_event_output_backward;
}

/* ------------------------------------------- pieces a driver adds to a sample */

static inline u32 perf_sample_data_size(struct perf_sample_data *data, struct perf_event *event)
{
	return sizeof(struct perf_event_header) + event->header_size + event->id_header_size +
	       data->dyn_size;
}

static inline void perf_sample_save_callchain(struct perf_sample_data *data,
					      struct perf_event *event, struct pt_regs *regs)
{
	if (!(event->attr.sample_type & PERF_SAMPLE_CALLCHAIN))
		return;

	data->callchain = perf_callchain(event, regs);
	data->dyn_size += (1 + data->callchain->nr) * sizeof(u64);
	data->sample_flags |= PERF_SAMPLE_CALLCHAIN;
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
	br->mispred = br->predicted = br->in_tx = br->abort = 0;
	br->cycles = br->type = br->spec = br->new_type = br->priv = br->reserved = 0;
}

extern void arch_perf_update_userpage(struct perf_event *event,
				      struct perf_event_mmap_page *userpg, u64 now);
#endif /* CONFIG_PERF_EVENTS */

/* ------------------------------------------------------------------ registers */

#ifndef perf_misc_flags
# define perf_misc_flags(regs) \
	(user_mode(regs) ? PERF_RECORD_MISC_USER : PERF_RECORD_MISC_KERNEL)
# define perf_instruction_pointer(regs)	instruction_pointer(regs)
#endif
#ifndef perf_arch_bpf_user_pt_regs
# define perf_arch_bpf_user_pt_regs(regs) regs
#endif
#ifndef perf_arch_fetch_caller_regs
static inline void perf_arch_fetch_caller_regs(struct pt_regs *regs, unsigned long ip) { }
#endif

/*
 * Registers of whoever called the function that uses this, as far as a stack walk needs them.
 * CALLER_ADDR0 makes that precise only if every function in between is inlined.
 */
static __always_inline void perf_fetch_caller_regs(struct pt_regs *regs)
{
	perf_arch_fetch_caller_regs(regs, CALLER_ADDR0);
}

/* --------------------------------------------------------------------- hook sites */

#ifdef CONFIG_PERF_EVENTS
extern struct static_key perf_swevent_enabled[PERF_COUNT_SW_MAX];
extern struct static_key_false perf_sched_events;

DECLARE_PER_CPU(struct pt_regs, __perf_regs[4]);

void ___perf_sw_event(u32 event_id, u64 nr, struct pt_regs *regs, u64 addr);
void __perf_sw_event(u32 event_id, u64 nr, struct pt_regs *regs, u64 addr);
void __perf_event_task_sched_in(struct task_struct *prev, struct task_struct *task);
void __perf_event_task_sched_out(struct task_struct *prev, struct task_struct *next);

/**
 * perf_sw_event - something happened that a software event counts
 * @event_id: PERF_COUNT_SW_*
 * @nr: how often
 * @regs: where
 * @addr: address concerned, 0 if none
 *
 * Context: any but NMI.
 */
static __always_inline void perf_sw_event(u32 event_id, u64 nr, struct pt_regs *regs, u64 addr)
{
	if (static_key_false(&perf_swevent_enabled[event_id]))
		__perf_sw_event(event_id, nr, regs, addr);
}

/* The same from inside the scheduler: interrupts are off, the registers are the caller's. */
static __always_inline void __perf_sw_event_sched(u32 event_id, u64 nr, u64 addr)
{
	struct pt_regs *regs = this_cpu_ptr(&__perf_regs[0]);

	perf_fetch_caller_regs(regs);
	___perf_sw_event(event_id, nr, regs, addr);
}

static __always_inline bool __perf_sw_enabled(int event_id)
{
	return static_key_false(&perf_swevent_enabled[event_id]);
}

/* A task is given another CPU; counted when it gets there. */
static inline void perf_event_task_migrate(struct task_struct *task)
{
	if (__perf_sw_enabled(PERF_COUNT_SW_CPU_MIGRATIONS))
		task->sched_migrated = 1;
}

static inline void perf_event_task_sched_in(struct task_struct *prev, struct task_struct *task)
{
	if (static_branch_unlikely(&perf_sched_events))
		__perf_event_task_sched_in(prev, task);

	if (__perf_sw_enabled(PERF_COUNT_SW_CPU_MIGRATIONS) && task->sched_migrated) {
		__perf_sw_event_sched(PERF_COUNT_SW_CPU_MIGRATIONS, 1, 0);
		task->sched_migrated = 0;
	}
}

#ifdef CONFIG_CGROUP_PERF
bool perf_cgroup_differs(struct task_struct *prev, struct task_struct *next);
#else
static inline bool perf_cgroup_differs(struct task_struct *prev, struct task_struct *next)
{
	return false;
}
#endif

static inline void perf_event_task_sched_out(struct task_struct *prev, struct task_struct *next)
{
	if (__perf_sw_enabled(PERF_COUNT_SW_CONTEXT_SWITCHES))
		__perf_sw_event_sched(PERF_COUNT_SW_CONTEXT_SWITCHES, 1, 0);

	if (__perf_sw_enabled(PERF_COUNT_SW_CGROUP_SWITCHES) && perf_cgroup_differs(prev, next))
		__perf_sw_event_sched(PERF_COUNT_SW_CGROUP_SWITCHES, 1, 0);

	if (static_branch_unlikely(&perf_sched_events))
		__perf_event_task_sched_out(prev, next);
}

int  perf_event_init_task(struct task_struct *child, u64 clone_flags);
void perf_event_exit_task(struct task_struct *child);
void perf_event_free_task(struct task_struct *task);
void perf_event_delayed_put(struct task_struct *task);
void perf_event_fork(struct task_struct *tsk);
void perf_event_exec(void);
void perf_event_comm(struct task_struct *tsk, bool exec);
void perf_event_namespaces(struct task_struct *tsk);
void perf_event_mmap(struct vm_area_struct *vma);
void perf_event_ksymbol(u16 ksym_type, u64 addr, u32 len, bool unregister, const char *sym);
void perf_event_bpf_event(struct bpf_prog *prog, enum perf_bpf_event_type type, u16 flags);
void perf_event_text_poke(const void *addr, const void *old_bytes, size_t old_len,
			  const void *new_bytes, size_t new_len);
void perf_event_task_tick(void);
int  perf_event_task_enable(void);
int  perf_event_task_disable(void);
void perf_event_print_debug(void);
void perf_event_init(void);
void perf_bp_event(struct perf_event *event, void *data);
void perf_tp_event(u16 event_type, u64 count, void *record, int entry_size, struct pt_regs *regs,
		   struct hlist_head *head, int rctx, struct task_struct *task);
#else /* !CONFIG_PERF_EVENTS */
static inline void perf_event_task_migrate(struct task_struct *task)		{ }
static inline void perf_event_task_sched_in(struct task_struct *prev,
					    struct task_struct *task)		{ }
static inline void perf_event_task_sched_out(struct task_struct *prev,
					     struct task_struct *next)		{ }
static inline int  perf_event_init_task(struct task_struct *child, u64 flags)	{ return 0; }
static inline void perf_event_exit_task(struct task_struct *child)		{ }
static inline void perf_event_free_task(struct task_struct *task)		{ }
static inline void perf_event_delayed_put(struct task_struct *task)		{ }
static inline void perf_event_fork(struct task_struct *tsk)			{ }
static inline void perf_event_exec(void)					{ }
static inline void perf_event_comm(struct task_struct *tsk, bool exec)		{ }
static inline void perf_event_namespaces(struct task_struct *tsk)		{ }
static inline void perf_event_mmap(struct vm_area_struct *vma)			{ }
static inline void perf_event_ksymbol(u16 ksym_type, u64 addr, u32 len,
				      bool unregister, const char *sym)		{ }
static inline void perf_event_bpf_event(struct bpf_prog *prog,
					enum perf_bpf_event_type type,
					u16 flags)				{ }
static inline void perf_event_text_poke(const void *addr, const void *old_bytes,
					size_t old_len, const void *new_bytes,
					size_t new_len)				{ }
static inline void perf_event_task_tick(void)					{ }
static inline int  perf_event_task_enable(void)				{ return -EINVAL; }
static inline int  perf_event_task_disable(void)				{ return -EINVAL; }
static inline void perf_event_print_debug(void)				{ }
static inline void perf_event_init(void)					{ }
static inline void perf_bp_event(struct perf_event *event, void *data)		{ }
static inline void perf_sw_event(u32 event_id, u64 nr, struct pt_regs *regs, u64 addr) { }
static inline struct file *perf_event_get(unsigned int fd)	{ return ERR_PTR(-EINVAL); }
static inline const struct perf_event *perf_get_event(struct file *file)
{
	return ERR_PTR(-EINVAL);
}
static inline const struct perf_event_attr *perf_event_attrs(struct perf_event *event)
{
	return ERR_PTR(-EINVAL);
}
static inline int perf_event_read_local(struct perf_event *event, u64 *value, u64 *enabled,
					u64 *running)
{
	return -EINVAL;
}
static inline int perf_event_release_kernel(struct perf_event *event)		{ return 0; }
static inline void perf_event_enable(struct perf_event *event)			{ }
static inline void perf_event_disable(struct perf_event *event)		{ }
static inline int  perf_event_refresh(struct perf_event *event, int n)		{ return -EINVAL; }
static inline int  perf_event_period(struct perf_event *event, u64 value)	{ return -EINVAL; }
static inline u64  perf_event_pause(struct perf_event *event, bool reset)	{ return 0; }
static inline int  perf_swevent_get_recursion_context(void)			{ return -1; }
static inline void perf_swevent_put_recursion_context(int rctx)		{ }
static inline void *perf_aux_output_begin(struct perf_output_handle *handle,
					  struct perf_event *event)		{ return NULL; }
static inline void perf_aux_output_end(struct perf_output_handle *handle,
				       unsigned long size)			{ }
static inline int perf_aux_output_skip(struct perf_output_handle *handle,
				       unsigned long size)			{ return -EINVAL; }
static inline void *perf_get_aux(struct perf_output_handle *handle)		{ return NULL; }
#endif

#if defined(CONFIG_PERF_EVENTS) && defined(CONFIG_CPU_SUP_INTEL)
void perf_restore_debug_store(void);
#else
static inline void perf_restore_debug_store(void)				{ }
#endif

#ifdef CONFIG_PERF_EVENTS
int perf_event_init_cpu(unsigned int cpu);
int perf_event_exit_cpu(unsigned int cpu);
#else
# define perf_event_init_cpu	NULL
# define perf_event_exit_cpu	NULL
#endif

/* An architecture that wants to hear of low-power states defines perf_lopwr_cb() itself. */
#ifndef PERF_NEEDS_LOPWR_CB
static inline void perf_lopwr_cb(bool mode)					{ }
#endif

typedef int (perf_snapshot_branch_stack_t)(struct perf_branch_entry *entries, unsigned int cnt);
DECLARE_STATIC_CALL(perf_snapshot_branch_stack, perf_snapshot_branch_stack_t);

/* -------------------------------------------------------------- sysfs attributes */

/**
 * struct perf_pmu_events_attr - an event's file in sysfs
 * @attr: the file
 * @id: the event's number
 * @event_str: what the file says, if it is not derived from @id
 */
struct perf_pmu_events_attr {
	struct device_attribute	attr;
	u64			id;
	const char		*event_str;
};

/* The same where the text depends on hyper-threading. */
struct perf_pmu_events_ht_attr {
	struct device_attribute	attr;
	u64			id;
	const char		*event_str_ht;
	const char		*event_str_noht;
};

/* The same where it depends on the kind of core. */
struct perf_pmu_events_hybrid_attr {
	struct device_attribute	attr;
	u64			id;
	const char		*event_str;
	u64			pmu_type;
};

struct perf_pmu_format_hybrid_attr {
	struct device_attribute	attr;
	u64			pmu_type;
};

ssize_t perf_event_sysfs_show(struct device *dev, struct device_attribute *attr, char *page);

#define PMU_EVENT_ATTR(_name, _var, _id, _show)					\
static struct perf_pmu_events_attr _var = {					\
	.attr	= __ATTR(_name, 0444, _show, NULL),				\
	.id	= (_id),							\
}

#define PMU_EVENT_ATTR_STRING(_name, _var, _str)				\
static struct perf_pmu_events_attr _var = {					\
	.attr		= __ATTR(_name, 0444, perf_event_sysfs_show, NULL),	\
	.id		= 0,							\
	.event_str	= (_str),						\
};

#define PMU_EVENT_ATTR_ID(_name, _show, _id)					\
	(&((struct perf_pmu_events_attr[]) {{					\
		.attr	= __ATTR(_name, 0444, _show, NULL),			\
		.id	= (_id),						\
	}})[0].attr.attr)

#define PMU_FORMAT_ATTR_SHOW(_name, _format)					\
static ssize_t _name##_show(struct device *dev, struct device_attribute *attr,	\
			    char *page)						\
{										\
	BUILD_BUG_ON(sizeof(_format) >= PAGE_SIZE);				\
	return sysfs_emit(page, _format "\n");					\
}

#define PMU_FORMAT_ATTR(_name, _format)						\
	PMU_FORMAT_ATTR_SHOW(_name, _format)					\
static struct device_attribute format_attr_##_name = __ATTR_RO(_name)

#endif /* _LINUX_PERF_EVENT_H */
