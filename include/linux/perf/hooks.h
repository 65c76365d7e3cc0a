/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Performance events: what the rest of the kernel calls. Hook sites of the scheduler, fork, exec,
 * mm, tracing and BPF; hypervisors; interrupted registers. Include linux/perf_event.h.
 */
#ifndef _LINUX_PERF_HOOKS_H
#define _LINUX_PERF_HOOKS_H

/* -------------------------------------------------------------------- guests */

/* Result of perf_guest_info_callbacks::state(). */
#define PERF_GUEST_ACTIVE	0x01	/* this CPU was running a guest */
#define PERF_GUEST_USER		0x02	/* ... and the guest was in its user mode */

/**
 * struct perf_guest_info_callbacks - a hypervisor's functions about the interrupted guest
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

/**
 * perf_register_guest_info_callbacks - register a hypervisor
 * @cbs: functions of the hypervisor
 *
 * A second hypervisor is refused with a warning.
 *
 * Context: may sleep
 */
void perf_register_guest_info_callbacks(struct perf_guest_info_callbacks *cbs);

/**
 * perf_unregister_guest_info_callbacks - unregister a hypervisor
 * @cbs: functions that were registered
 *
 * When the function returns none of the functions is running.
 *
 * Context: may sleep
 */
void perf_unregister_guest_info_callbacks(struct perf_guest_info_callbacks *cbs);

#else
static inline unsigned int perf_guest_state(void)			{ return 0; }
static inline unsigned long perf_guest_get_ip(void)			{ return 0; }
static inline unsigned int perf_guest_handle_intel_pt_intr(void)	{ return 0; }
#endif

/* ----------------------------------------------------------------- registers */

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
 * Fills in the registers that a stack walk needs, as of the caller of the function that contains
 * this one inline. CALLER_ADDR0 is exact only if every function in between is inlined, too.
 */
static __always_inline void perf_fetch_caller_regs(struct pt_regs *regs)
{
	perf_arch_fetch_caller_regs(regs, CALLER_ADDR0);
}

/* ---------------------------------------------------------------- hook sites */

#ifdef CONFIG_PERF_EVENTS
extern struct static_key perf_swevent_enabled[PERF_COUNT_SW_MAX];
extern struct static_key_false perf_sched_events;

DECLARE_PER_CPU(struct pt_regs, __perf_regs[4]);

/**
 * ___perf_sw_event - count a software event without a check for recursion
 * @event_id: PERF_COUNT_SW_*
 * @nr: number of events
 * @regs: registers where the event happened; NULL: the event is counted and not sampled
 * @addr: address that the event is about, 0 if none
 *
 * Context: any but NMI, preemption off
 */
void ___perf_sw_event(u32 event_id, u64 nr, struct pt_regs *regs, u64 addr);

/**
 * __perf_sw_event - count a software event of which perf_swevent_enabled is set
 * @event_id: PERF_COUNT_SW_*
 * @nr: number of events
 * @regs: registers where the event happened; NULL: the event is counted and not sampled
 * @addr: address that the event is about, 0 if none
 *
 * An event that happens on this CPU while another one is handled at the same interrupt level is not
 * counted.
 *
 * Context: any but NMI
 */
void __perf_sw_event(u32 event_id, u64 nr, struct pt_regs *regs, u64 addr);

/**
 * __perf_event_task_sched_in - start the events of a task that is switched in
 * @prev: task that was switched out
 * @task: the task, which is current
 *
 * Context: scheduler, interrupts off, rq->lock is held; takes ctx->lock
 */
void __perf_event_task_sched_in(struct task_struct *prev, struct task_struct *task);

/**
 * __perf_event_task_sched_out - stop the events of a task that is switched out
 * @prev: the task, which is current
 * @next: task that is switched in
 *
 * Context: scheduler, interrupts off, rq->lock is held; takes ctx->lock
 */
void __perf_event_task_sched_out(struct task_struct *prev, struct task_struct *next);

/**
 * perf_sw_event - count a software event
 * @event_id: PERF_COUNT_SW_*
 * @nr: number of events
 * @regs: registers where the event happened
 * @addr: address that the event is about, 0 if none
 *
 * Context: any but NMI
 */
static __always_inline void perf_sw_event(u32 event_id, u64 nr, struct pt_regs *regs, u64 addr)
{
	if (static_key_false(&perf_swevent_enabled[event_id]))
		__perf_sw_event(event_id, nr, regs, addr);
}

/* perf_sw_event() in the scheduler: interrupts are off, the registers are those of the caller. */
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

/* A migration is counted when the task is switched in on its new CPU. */
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
/**
 * perf_cgroup_differs - are two tasks in different cgroups of the perf_event controller?
 * @prev: a task
 * @next: another task
 *
 * Context: any; takes rcu_read_lock()
 * Return: true if the cgroups differ
 */
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

/**
 * perf_event_init_task - inherit the events of the running task
 * @child: new task, not visible yet
 * @clone_flags: flags of clone(2)
 *
 * Context: may sleep
 * Return: 0 or -errno; on failure nothing is left to be undone
 */
int perf_event_init_task(struct task_struct *child, u64 clone_flags);

/**
 * perf_event_exit_task - remove the events of a task
 * @child: the running task, which exits, or execs a program that tracers must not see
 *
 * Context: may sleep; before the task drops the mm. In exec, exec_update_lock is held for writing
 */
void perf_event_exit_task(struct task_struct *child);

/**
 * perf_event_free_task - undo perf_event_init_task()
 * @task: task that has never run
 *
 * Context: may sleep
 */
void perf_event_free_task(struct task_struct *task);

/**
 * perf_event_delayed_put - check that a task has no context left
 * @task: task that is being freed
 *
 * Context: any
 */
void perf_event_delayed_put(struct task_struct *task);

/**
 * perf_event_fork - write the records of a new task
 * @tsk: new task, visible, not running yet
 *
 * Context: may sleep
 */
void perf_event_fork(struct task_struct *tsk);

/**
 * perf_event_exec - enable and remove events of the running task at exec
 *
 * Context: may sleep; exec_update_lock is held for writing
 */
void perf_event_exec(void);

/**
 * perf_event_comm - write the records of a new task name
 * @tsk: the task
 * @exec: the name was changed by exec
 *
 * Context: any but NMI
 */
void perf_event_comm(struct task_struct *tsk, bool exec);

/**
 * perf_event_namespaces - write the records of the namespaces of a task
 * @tsk: new task, or task that has entered other namespaces
 *
 * Context: may sleep
 */
void perf_event_namespaces(struct task_struct *tsk);

/**
 * perf_event_mmap - write the records of a new mapping
 * @vma: mapping of the running task, new or just made executable
 *
 * Context: process context, mmap_lock is held for writing
 */
void perf_event_mmap(struct vm_area_struct *vma);

/**
 * perf_event_ksymbol - write the records of a kernel symbol
 * @ksym_type: PERF_RECORD_KSYMBOL_TYPE_*
 * @addr: address
 * @len: length, bytes
 * @unregister: the symbol is being removed
 * @sym: name
 *
 * Context: process or soft interrupt context
 */
void perf_event_ksymbol(u16 ksym_type, u64 addr, u32 len, bool unregister, const char *sym);

/**
 * perf_event_bpf_event - write the records of a BPF program
 * @prog: the program
 * @type: loaded or unloaded
 * @flags: flags of the record
 *
 * Context: process or soft interrupt context
 */
void perf_event_bpf_event(struct bpf_prog *prog, enum perf_bpf_event_type type, u16 flags);

/**
 * perf_event_text_poke - write the records of a change of kernel text
 * @addr: address of the text
 * @old_bytes: present content
 * @old_len: length of @old_bytes in bytes, 0 for new text
 * @new_bytes: new content
 * @new_len: length of @new_bytes in bytes, 0 for text that is removed
 *
 * Context: process context
 */
void perf_event_text_poke(const void *addr, const void *old_bytes, size_t old_len,
			  const void *new_bytes, size_t new_len);

/**
 * perf_event_task_tick - unthrottle events and adjust periods at the scheduler's tick
 *
 * Context: hard interrupt
 */
void perf_event_task_tick(void);

/**
 * perf_event_task_enable - prctl(2): enable the events that the caller has opened
 *
 * Context: may sleep
 * Return: 0
 */
int perf_event_task_enable(void);

/**
 * perf_event_task_disable - prctl(2): disable the events that the caller has opened
 *
 * Context: may sleep
 * Return: 0
 */
int perf_event_task_disable(void);

/**
 * perf_event_print_debug - print the counters of this CPU to the log
 *
 * For SysRq-P. Without a driver that implements the function, nothing is printed.
 *
 * Context: any but NMI
 */
void perf_event_print_debug(void);

/**
 * perf_event_init - set up the subsystem at boot
 *
 * Context: start_kernel(): one CPU is online, interrupts off, memory can be allocated
 */
void perf_event_init(void);

/**
 * perf_bp_event - handle a hit of a breakpoint
 * @bp: breakpoint that is in a debug register of this CPU
 * @data: registers at the hit, struct pt_regs
 *
 * Context: debug exception, interrupts off; NMI on x86
 */
void perf_bp_event(struct perf_event *bp, void *data);

/**
 * perf_tp_event - handle a hit of a tracepoint or probe
 * @event_type: number of the trace event
 * @count: number of events that the hit counts as
 * @record: trace record; the header is filled in here
 * @entry_size: size of @record, bytes
 * @regs: registers at the hit
 * @head: events that are switched in on this CPU
 * @rctx: from perf_swevent_get_recursion_context(); released here
 * @task: task with events that count the hit, too; or NULL
 *
 * Context: any, preemption off
 */
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

/**
 * perf_event_init_cpu - accept events on a CPU that is online
 * @cpu: number of the CPU
 *
 * Those that exist start in CPUHP_AP_PERF_EVENTS_ONLINE, when the drivers have prepared the CPU.
 * Nothing is done in CPUHP_PERF_PREPARE, where the CPU is offline.
 *
 * Context: CPU hotplug, may sleep
 * Return: 0
 */
int perf_event_init_cpu(unsigned int cpu);

/**
 * perf_event_exit_cpu - stop the events of a CPU that is taken offline
 * @cpu: number of the CPU
 *
 * In CPUHP_PERF_PREPARE, where the CPU is dead, the rotation timers of the CPU are cancelled. At
 * reboot the function is called for all CPUs.
 *
 * Context: CPU hotplug or reboot, may sleep
 * Return: 0
 */
int perf_event_exit_cpu(unsigned int cpu);

#else
# define perf_event_init_cpu	NULL
# define perf_event_exit_cpu	NULL
#endif

/* An architecture that needs a call on low-power states defines perf_lopwr_cb(). */
#ifndef PERF_NEEDS_LOPWR_CB
static inline void perf_lopwr_cb(bool mode)					{ }
#endif

/*
 * Fills @entries with at most @cnt branches, the newest first. Returns their number; 0 without a
 * driver, or if no event on this CPU has branch records. Context: any, NMI included.
 */
typedef int (perf_snapshot_branch_stack_t)(struct perf_branch_entry *entries, unsigned int cnt);
DECLARE_STATIC_CALL(perf_snapshot_branch_stack, perf_snapshot_branch_stack_t);

#endif /* _LINUX_PERF_HOOKS_H */
