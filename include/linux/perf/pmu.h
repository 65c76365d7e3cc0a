/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Performance events, for PMU drivers: struct pmu, schedules, registration and sysfs attributes.
 * Include linux/perf_event.h.
 */
#ifndef _LINUX_PERF_PMU_H
#define _LINUX_PERF_PMU_H

/**
 * struct hw_perf_event_extra - a register that an event needs beside the counter
 * @config: value for the register
 * @reg: register address
 * @alloc: driver's; x86: 1 if the other register of a pair is used
 * @idx: index in the driver's table
 */
struct hw_perf_event_extra {
	u64		config;
	unsigned int	reg;
	int		alloc;
	int		idx;
};

/* hw_perf_event::flags: the bits of PERF_EVENT_FLAG_ARCH are the driver's. */
#define PERF_EVENT_FLAG_ARCH		0x0fffffff
#define PERF_EVENT_FLAG_USER_READ_CNT	0x80000000	/* user space may read the counter */

/* hw_perf_event::state */
#define PERF_HES_STOPPED	0x01	/* the counter does not run */
#define PERF_HES_UPTODATE	0x02	/* perf_event::count is up to date */
#define PERF_HES_ARCH		0x04	/* driver-specific */

/* hw_perf_event::interrupts of a throttled event: pmu::start has to be called */
#define PERF_THROTTLED		(~0ULL)

#ifdef CONFIG_PERF_EVENTS
/**
 * struct hw_perf_event - the part of an event that belongs to the PMU driver
 *
 * The structures in the union exclude one another by kind of PMU. The members behind the union are
 * common.
 *
 * @config: event selection, in the driver's format
 * @last_tag: driver's tag of the last programming
 * @config_base: address or extra bits of the control register; x86: of a precise event the kind of
 *	record, see intel/pebs.h
 * @event_base: address of the counter; x86: of a precise event bits of PEBS_DATA_CFG
 * @event_base_rdpmc: counter number in the format of the user-space read instruction
 * @idx: counter in use, -1 if none
 * @last_cpu: CPU on which @idx was last used
 * @flags: PERF_EVENT_FLAG_* and driver-specific bits
 * @extra_reg: extra register
 * @branch_reg: branch filter register
 * @branch_tag: driver's tag of what was last saved of a guest's branch records
 * @counters: bit mask of the counters that can count the event
 * @aux_config: configuration of an AUX driver
 * @aux_paused: AUX tracing is paused by another event of the group
 * @aux_pausing: a pause or resume is in progress; core
 * @hrtimer: sampling timer of a clock event
 * @tp_list: events of a probe
 * @pwr_acc: accumulated power (AMD power PMU)
 * @ptsc: time stamp of the last reading (AMD power PMU)
 * @info: breakpoint in the architecture's format
 * @bp_list: entry in the accounts of claimed debug registers
 * @iommu_bank: counter bank (AMD IOMMU PMU)
 * @iommu_cntr: counter in the bank (AMD IOMMU PMU)
 * @padding: unused
 * @conf: configuration (AMD IOMMU PMU)
 * @conf1: configuration (AMD IOMMU PMU)
 * @target: task of the event, NULL for an event of a CPU
 * @addr_filters: driver's copy of the address filters
 * @addr_filters_gen: generation of that copy
 * @state: PERF_HES_*
 * @prev_count: value of the counter when perf_event::count was last updated
 * @sample_period: current period, in events
 * @last_period: period in progress, in events; at an overflow, until the next one is begun, the one
 *	that has ended
 * @period_left: events until the next overflow
 * @interrupts_seq: jiffies when @interrupts was counted
 * @interrupts: overflows in that tick; PERF_THROTTLED while the event is throttled
 * @freq_time_stamp: frequency control: time of the last adjustment, ns
 * @freq_count_stamp: frequency control: perf_event::count at that time
 * @freq_sleep_stamp: frequency control: time for which the context's clock has stood still, less
 *	that for which it has run, at the last overflow, ns; 0: none yet
 * @freq_sleeps: frequency control: voluntary switches of the task at the last overflow
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
			u64				branch_tag;
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
			struct hlist_node		bp_list;
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
	u64			freq_sleep_stamp;
	unsigned long		freq_sleeps;
};

/* ----------------------------------------------------------------------- PMU */

/* pmu::capabilities */
#define PERF_PMU_CAP_NO_INTERRUPT	0x0001	/* cannot sample */
#define PERF_PMU_CAP_NO_NMI		0x0002	/* overflows are not handled in NMI */
#define PERF_PMU_CAP_AUX_NO_SG		0x0004	/* AUX area contiguous if overwritten, else large */
#define PERF_PMU_CAP_EXTENDED_REGS	0x0008	/* can sample those in PERF_REG_EXTENDED_MASK */
#define PERF_PMU_CAP_EXCLUSIVE		0x0010	/* see perf_exclusive_get() */
#define PERF_PMU_CAP_ITRACE		0x0020	/* instruction trace */
#define PERF_PMU_CAP_NO_EXCLUDE		0x0040	/* cannot exclude privilege levels */
#define PERF_PMU_CAP_AUX_OUTPUT		0x0080	/* its samples can be written to an AUX area */
#define PERF_PMU_CAP_EXTENDED_HW_TYPE	0x0100	/* has HARDWARE/HW_CACHE with a type in config */
#define PERF_PMU_CAP_AUX_PAUSE		0x0200	/* AUX tracing can be paused */
#define PERF_PMU_CAP_AUX_PREFER_LARGE	0x0400	/* AUX area rather in large pieces */

/**
 * enum perf_pmu_scope - set of CPUs that share one instance of a PMU
 * @PERF_PMU_SCOPE_NONE: each CPU has a separate instance
 * @PERF_PMU_SCOPE_CORE: threads of a core
 * @PERF_PMU_SCOPE_DIE: CPUs of a die
 * @PERF_PMU_SCOPE_CLUSTER: CPUs of a cluster
 * @PERF_PMU_SCOPE_PKG: CPUs of a package
 * @PERF_PMU_SCOPE_SYS_WIDE: all CPUs
 * @PERF_PMU_MAX_SCOPE: number of scopes
 *
 * An event of a shared PMU may be opened on any CPU and counts on the instance's designated CPU.
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
#define PERF_PMU_TXN_READ	0x2	/* not used; some drivers test for it */

/* pmu::dev of a PMU that has no place in sysfs. */
#define PMU_NULL_DEV	((void *)(~0UL))

/**
 * struct perf_sched_slot - one event in a schedule
 * @event: the event
 * @idx: counter number, set by pmu::sched_assign
 */
struct perf_sched_slot {
	struct perf_event	*event;
	int			idx;
};

#define PERF_SCHED_SLOTS	64

/**
 * struct perf_schedule - events of one PMU that run on a CPU at the same time
 * @nr: slots in use, 0 to PERF_SCHED_SLOTS
 * @user: the task has events with PERF_EVENT_FLAG_USER_READ_CNT, in this schedule or waiting; the
 *	x86 driver does not set the flag
 * @task_mask: bit mask of the slots that belong to a task's context; the others belong to the CPU
 *	side
 * @stamp: for the driver, which sets it in @sched_load; 0 after a compilation, and when slots have
 *	been removed. A schedule to which slots are added is loaded before it is saved
 * @slot: events in the order of falling priority, with the counters
 *
 * The core compiles a schedule when the set of events changes and uses the schedule for every
 * context switch until the next change. During a compilation pmu::sched_assign is called for each
 * pinned group, once for as many flexible groups of a context as are expected to fit, and then for
 * each of the rest.
 */
struct perf_schedule {
	unsigned int		nr;
	bool			user;
	u64			task_mask;
	u64			stamp;
	struct perf_sched_slot	slot[PERF_SCHED_SLOTS];
};

/**
 * struct pmu - a performance monitoring unit
 *
 * Unless stated otherwise, callbacks run on the CPU concerned with interrupts off. @add, @del,
 * @start and @stop are called between @pmu_disable and @pmu_enable; exceptions are events with
 * PERF_EV_CAP_RESIDENT, a PMU with @sched_load, and PERF_EF_PAUSE and PERF_EF_RESUME.
 *
 * A PMU with several similar counters implements @sched_assign, @sched_load and @sched_save instead
 * of @add, @del and the transactions. A context switch then costs what the counters in use cost.
 *
 * @entry: list of all PMUs; core
 * @module: owner; referenced by each event
 * @dev: device in sysfs; core
 * @parent: parent of @dev
 * @attr_groups: sysfs attributes
 * @attr_update: sysfs attributes that are added where they apply
 * @name: name
 * @type: PERF_TYPE_* or the number assigned at registration
 * @capabilities: PERF_PMU_CAP_*
 * @scope: enum perf_pmu_scope
 * @pmu_disable_count: nesting depth of perf_pmu_disable() on each CPU; core
 * @cpu_pmu_context: state of the PMU on each CPU; core
 * @exclusive_cnt: number of CPU events (> 0) or task events (< 0) of a PERF_PMU_CAP_EXCLUSIVE PMU;
 *	core
 * @task_ctx_nr: perf_hw_context or perf_sw_context if tasks can have events of this PMU,
 *	perf_invalid_context if only CPUs can
 * @hrtimer_interval_ms: multiplexing interval, ms
 * @nr_addr_filters: maximum number of address filters of an event
 * @pmu_enable: let the PMU run; optional
 * @pmu_disable: stop the whole PMU for changes; optional
 * @event_init: initialize @event if this PMU supports the event. May sleep. Return -ENOENT to let
 *	other PMUs be tried; any other errno ends the search, with the reason passed to
 *	perf_refuse()
 * @event_mapped: the event's buffer has been mapped; mmap_lock is held
 * @event_unmapped: the event's buffer is being unmapped; mmap_lock is held
 * @add: assign a counter of this CPU to the event, and start it with PERF_EF_START. Return a
 *	negative errno if none is free
 * @del: update perf_event::count and release the counter
 * @start: start counting; PERF_EF_RELOAD. With PERF_EF_RESUME @start may be called in NMI and must
 *	not update address filters
 * @stop: stop counting; PERF_EF_UPDATE. May be called by the overflow handler, in NMI
 * @read: update perf_event::count of an event that runs on this CPU, or that this CPU may read for
 *	another (PERF_EV_CAP_READ_*, PERF_EV_CAP_RESIDENT). Any context, NMI included
 * @start_txn: begin to add the events of a group; optional
 * @commit_txn: end the transaction. Return a negative errno if the group cannot be scheduled
 * @cancel_txn: abort the transaction
 * @event_idx: value of perf_event_mmap_page::index; 0 if user space cannot read the counter;
 *	optional
 * @sched_task: context switch callback, see perf_sched_cb_inc(); @pmu_ctx is NULL; also without a
 *	switch, with @sched_in false, before the running task exits or executes a program; optional
 * @task_ctx_cache: slab cache of perf_event_task_data(), for events with PERF_ATTACH_TASK_DATA
 * @swap_task_ctx: exchange such data between two contexts; not used by this implementation
 * @setup_aux: prepare for the AUX area in @pages; may sleep. Return driver data, NULL on failure
 * @free_aux: undo setup_aux
 * @snapshot_aux: copy the current content of the AUX area into a sample; NMI
 * @addr_filters_validate: check a list of address filters; may sleep
 * @addr_filters_sync: program perf_event::addr_filter_ranges
 * @aux_output_match: argument: an AUX event; return true if samples of this PMU's events can be
 *	written to the AUX area of that event
 * @filter: set *@ret if this PMU cannot count on CPU @cpu
 * @check_period: return a negative errno if the event cannot have this period
 * @sched_assign: assign a counter to every slot of @s from @from on. Earlier slots may be moved.
 *	Must not access hardware; any CPU, preemption off. Return 0; -ENOSPC if not all slots fit,
 *	and slots before @from are unchanged; -EBUSY if no event would fit because every counter is
 *	taken
 * @sched_load: make the counters of this CPU run @s and nothing else. An event that is already
 *	running on the assigned counter continues; any other running event is updated and removed.
 *	Sets hw_perf_event::idx. A control register that already has its value is not written. User
 *	space access to counters is enabled if perf_schedule::user is set, and stays enabled while
 *	the task is on the CPU, which may be between looking up the index and reading the counter
 * @sched_save: update the events in the slots of @mask and release the counters. A counter that
 *	cannot interrupt, or not before the next @sched_load, may continue to run unused: the next
 *	@sched_load of the event starts from that counter's value. Disables the task's user space
 *	access; @mask is 0 if nothing else is to be done. The task @next is switched in afterwards,
 *	see perf_sched_load_follows(); NULL: no switch
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
	void (*sched_load)(struct pmu *pmu, struct perf_schedule *s);
	void (*sched_save)(struct pmu *pmu, const struct perf_schedule *s, u64 mask,
			   const struct task_struct *next);
};

/* ----------------------------------------------------- functions for drivers */

/**
 * perf_pmu_register - register a PMU
 * @pmu: PMU in memory of the caller
 * @name: name in sysfs; NULL for @pmu->name. A PMU with PMU_NULL_DEV has no place in sysfs
 * @type: PERF_TYPE_*, or -1 to have a number assigned
 *
 * Context: process context, may sleep
 * Return: 0; -ENOMEM; -EINVAL without a name or with an invalid scope; -ENOSPC if the type is
 *	taken; the errno of adding the device
 */
int perf_pmu_register(struct pmu *pmu, const char *name, int type);

/**
 * perf_pmu_unregister - unregister a PMU
 * @pmu: PMU without events
 *
 * Context: process context, may sleep
 */
void perf_pmu_unregister(struct pmu *pmu);

/**
 * perf_pmu_disable - stop a PMU on this CPU for a change
 * @pmu: the PMU
 *
 * Context: interrupts or preemption off; calls nest
 */
void perf_pmu_disable(struct pmu *pmu);

/**
 * perf_pmu_enable - undo perf_pmu_disable()
 * @pmu: the PMU
 *
 * Context: as perf_pmu_disable()
 */
void perf_pmu_enable(struct pmu *pmu);

/**
 * perf_pmu_resched - compile a PMU's schedules again after a change of constraints
 * @pmu: PMU with changed constraints; the caller excludes other calls for @pmu
 *
 * The schedule of a task that is not running is compiled when the task runs next.
 *
 * Context: process context; may sleep
 */
void perf_pmu_resched(struct pmu *pmu);

/**
 * perf_pmu_migrate_context - move a PMU's events from one CPU to another
 * @pmu: PMU with events that can count on any CPU of an instance
 * @src_cpu: source; may be about to be offlined
 * @dst_cpu: destination, online
 *
 * Context: CPU hotplug callback, may sleep
 */
void perf_pmu_migrate_context(struct pmu *pmu, int src_cpu, int dst_cpu);

/**
 * perf_event_update_userpage - update an event's user page
 * @event: the event
 *
 * Called when the event starts or stops using a counter, when the counter's base changes, and at
 * each switch of a task's event. An event without a counter needs the call when the event is
 * enabled or disabled, and when the task of the event is switched in. An overflow changes only the
 * base: in NMI times are not updated.
 *
 * Context: any, NMI included; on the CPU where the event counts, or while the event does not count
 */
void perf_event_update_userpage(struct perf_event *event);

/**
 * perf_event_addr_filters_sync - program the address ranges of an event if changed
 * @event: event that is being started by the driver
 *
 * Context: interrupts off
 */
void perf_event_addr_filters_sync(struct perf_event *event);

/**
 * perf_event_disable_local - disable an event of this CPU or of the running task
 * @event: the event
 *
 * If the task has migrated, the request is forwarded to the CPU of the task.
 *
 * Context: interrupts off, not NMI
 */
void perf_event_disable_local(struct perf_event *event);

/**
 * perf_event_disable_inatomic - disable an event as soon as interrupts are enabled
 * @event: event that runs on this CPU
 *
 * Context: any, NMI included
 */
void perf_event_disable_inatomic(struct perf_event *event);

/**
 * perf_swevent_set_period - start the next period if one has ended
 * @event: sampling event; hw.period_left counts down to the overflow
 *
 * Context: any, NMI included; on the CPU where the event counts
 * Return: number of periods that have ended since the last call
 */
u64 perf_swevent_set_period(struct perf_event *event);

/**
 * perf_swevent_get_recursion_context - enter the running task's level for this kind of context
 *
 * Context: any, NMI included; preemption off
 * Return: 0 task, 1 softirq, 2 hard interrupt, 3 NMI, for perf_swevent_put_recursion_context();
 *	-1 if this level has been entered already
 */
int perf_swevent_get_recursion_context(void);

/**
 * perf_swevent_put_recursion_context - leave a context level
 * @rctx: result of perf_swevent_get_recursion_context(), not -1
 *
 * Context: as perf_swevent_get_recursion_context()
 */
void perf_swevent_put_recursion_context(int rctx);

/**
 * perf_refuse - record why a request of the calling thread is refused
 * @err: negative errno
 * @fmt: reason, a string literal: "field: rule". Only %lld, %llu and %llx, at most three
 *
 * The thread reads the reason from /proc/sys/kernel/perf_event_error. The text is formatted by the
 * read, so a refusal costs a lock of its own and a few stores. The literal of a module may have
 * been freed by then, so the file has "refused by a module"; the tracepoint has the text.
 *
 * Context: process context; any lock may be held
 * Return: @err
 */
#define perf_refuse(err, fmt, ...)						\
	CONCATENATE(__perf_refuse_, COUNT_ARGS(__VA_ARGS__))(err, fmt, ##__VA_ARGS__)
#define __perf_refuse_2(err, fmt, arg0, arg1)	__perf_refuse_3(err, fmt, arg0, arg1, 0)
int __perf_refuse_0(int err, const char *fmt);
int __perf_refuse_1(int err, const char *fmt, u64 arg0);
int __perf_refuse_3(int err, const char *fmt, u64 arg0, u64 arg1, u64 arg2);

/**
 * perf_pmu_ctx_is_active - test whether a PMU context is active on this CPU
 * @pmu_ctx: the PMU context
 *
 * Context: preemption off
 * Return: true if events of @pmu_ctx may count on this CPU now
 */
bool perf_pmu_ctx_is_active(struct perf_event_pmu_context *pmu_ctx);

#endif /* CONFIG_PERF_EVENTS */

/* ---------------------------------------------------------- sysfs attributes */

/**
 * struct perf_pmu_events_attr - an event's file in sysfs
 * @attr: the file
 * @id: number of the event
 * @event_str: content of the file, unless derived from @id
 */
struct perf_pmu_events_attr {
	struct device_attribute	attr;
	u64			id;
	const char		*event_str;
};

/* An event's file, with content that depends on hyper-threading. */
struct perf_pmu_events_ht_attr {
	struct device_attribute	attr;
	u64			id;
	const char		*event_str_ht;
	const char		*event_str_noht;
};

/* An event's file of a hybrid machine: one PMU for each kind of core. */
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

/**
 * perf_event_sysfs_show - show function for files made with PMU_EVENT_ATTR_STRING()
 * @dev: the PMU's device
 * @attr: the file's attribute, in a struct perf_pmu_events_attr
 * @page: result
 *
 * Context: process context
 * Return: bytes written
 */
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

#endif /* _LINUX_PERF_PMU_H */
