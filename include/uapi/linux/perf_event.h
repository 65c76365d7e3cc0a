/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Performance events: the contract between the kernel and its users.
 *
 * An event is opened with perf_event_open(2). It counts, or it samples into a buffer that the
 * user maps. Everything here is fixed ABI. What may be added: a new constant below a *_MAX, a
 * bit taken from a __reserved field (which must be zero today), or fields appended to struct
 * perf_event_attr together with a new PERF_ATTR_SIZE_VERn.
 *
 * In reading order: naming what to count; choosing what a sample and a read contain; the
 * attributes that perf_event_open(2) takes; operations on the file; the mapped buffer; the
 * records in it; and the encodings inside samples.
 */
#ifndef _UAPI_LINUX_PERF_EVENT_H
#define _UAPI_LINUX_PERF_EVENT_H

#include <linux/types.h>
#include <linux/ioctl.h>
#include <asm/byteorder.h>

/*
 * Naming what to count
 * --------------------
 */

/**
 * enum perf_type_id - perf_event_attr.type: how perf_event_attr.config is interpreted
 * @PERF_TYPE_HARDWARE:   &enum perf_hw_id; bits 32..63 may name the PMU (see PERF_PMU_TYPE_SHIFT)
 * @PERF_TYPE_SOFTWARE:   &enum perf_sw_ids
 * @PERF_TYPE_TRACEPOINT: the number in the tracepoint's id file in tracefs
 * @PERF_TYPE_HW_CACHE:   cache | operation << 8 | result << 16, bits 32..63 as for HARDWARE
 * @PERF_TYPE_RAW:        the CPU's own event code
 * @PERF_TYPE_BREAKPOINT: 0; the breakpoint is described by bp_type, bp_addr and bp_len
 * @PERF_TYPE_MAX:        first number for PMUs that are numbered when they register; theirs are
 *                        in /sys/bus/event_source/devices/<pmu>/type
 */
enum perf_type_id {
	PERF_TYPE_HARDWARE			= 0,
	PERF_TYPE_SOFTWARE			= 1,
	PERF_TYPE_TRACEPOINT			= 2,
	PERF_TYPE_HW_CACHE			= 3,
	PERF_TYPE_RAW				= 4,
	PERF_TYPE_BREAKPOINT			= 5,

	PERF_TYPE_MAX,
};

/*
 * PERF_TYPE_HARDWARE and PERF_TYPE_HW_CACHE on a machine with several kinds of core: the number
 * of the PMU is in the upper half of config, the generic event into the lower. With an upper
 * half of zero the kernel picks the PMU.
 */
#define PERF_PMU_TYPE_SHIFT			32
#define PERF_HW_EVENT_MASK			0xffffffff

/**
 * enum perf_hw_id - events that most processors have, under one name
 * @PERF_COUNT_HW_CPU_CYCLES:              core clock cycles, slower when the core is clocked down
 * @PERF_COUNT_HW_INSTRUCTIONS:            instructions retired
 * @PERF_COUNT_HW_CACHE_REFERENCES:        lookups, in most cases of the last cache before memory
 * @PERF_COUNT_HW_CACHE_MISSES:            those of the lookups that missed
 * @PERF_COUNT_HW_BRANCH_INSTRUCTIONS:     branches retired
 * @PERF_COUNT_HW_BRANCH_MISSES:           branches that were predicted wrongly
 * @PERF_COUNT_HW_BUS_CYCLES:              cycles of the bus or another slower fixed clock
 * @PERF_COUNT_HW_STALLED_CYCLES_FRONTEND: cycles in which nothing was there to be issued
 * @PERF_COUNT_HW_STALLED_CYCLES_BACKEND:  cycles in which nothing could be executed
 * @PERF_COUNT_HW_REF_CPU_CYCLES:          unhalted cycles of a clock that does not scale
 * @PERF_COUNT_HW_MAX:                     number of the above
 */
enum perf_hw_id {
	PERF_COUNT_HW_CPU_CYCLES		= 0,
	PERF_COUNT_HW_INSTRUCTIONS		= 1,
	PERF_COUNT_HW_CACHE_REFERENCES		= 2,
	PERF_COUNT_HW_CACHE_MISSES		= 3,
	PERF_COUNT_HW_BRANCH_INSTRUCTIONS	= 4,
	PERF_COUNT_HW_BRANCH_MISSES		= 5,
	PERF_COUNT_HW_BUS_CYCLES		= 6,
	PERF_COUNT_HW_STALLED_CYCLES_FRONTEND	= 7,
	PERF_COUNT_HW_STALLED_CYCLES_BACKEND	= 8,
	PERF_COUNT_HW_REF_CPU_CYCLES		= 9,

	PERF_COUNT_HW_MAX,
};

/**
 * enum perf_hw_cache_id - PERF_TYPE_HW_CACHE, config bits 0..7: which cache
 * @PERF_COUNT_HW_CACHE_L1D:  first level, data
 * @PERF_COUNT_HW_CACHE_L1I:  first level, instructions
 * @PERF_COUNT_HW_CACHE_LL:   last level
 * @PERF_COUNT_HW_CACHE_DTLB: translations of data addresses
 * @PERF_COUNT_HW_CACHE_ITLB: translations of instruction addresses
 * @PERF_COUNT_HW_CACHE_BPU:  the branch predictor's tables
 * @PERF_COUNT_HW_CACHE_NODE: memory of a NUMA node; a miss is an access to another node
 * @PERF_COUNT_HW_CACHE_MAX:  number of the above
 */
enum perf_hw_cache_id {
	PERF_COUNT_HW_CACHE_L1D			= 0,
	PERF_COUNT_HW_CACHE_L1I			= 1,
	PERF_COUNT_HW_CACHE_LL			= 2,
	PERF_COUNT_HW_CACHE_DTLB		= 3,
	PERF_COUNT_HW_CACHE_ITLB		= 4,
	PERF_COUNT_HW_CACHE_BPU			= 5,
	PERF_COUNT_HW_CACHE_NODE		= 6,

	PERF_COUNT_HW_CACHE_MAX,
};

/**
 * enum perf_hw_cache_op_id - PERF_TYPE_HW_CACHE, config bits 8..15: what was done to it
 * @PERF_COUNT_HW_CACHE_OP_READ:     loads, or instruction fetches
 * @PERF_COUNT_HW_CACHE_OP_WRITE:    stores
 * @PERF_COUNT_HW_CACHE_OP_PREFETCH: prefetches
 * @PERF_COUNT_HW_CACHE_OP_MAX:      number of the above
 */
enum perf_hw_cache_op_id {
	PERF_COUNT_HW_CACHE_OP_READ		= 0,
	PERF_COUNT_HW_CACHE_OP_WRITE		= 1,
	PERF_COUNT_HW_CACHE_OP_PREFETCH		= 2,

	PERF_COUNT_HW_CACHE_OP_MAX,
};

/**
 * enum perf_hw_cache_op_result_id - PERF_TYPE_HW_CACHE, config bits 16..23: which of them count
 * @PERF_COUNT_HW_CACHE_RESULT_ACCESS: all
 * @PERF_COUNT_HW_CACHE_RESULT_MISS:   those that missed
 * @PERF_COUNT_HW_CACHE_RESULT_MAX:    number of the above
 */
enum perf_hw_cache_op_result_id {
	PERF_COUNT_HW_CACHE_RESULT_ACCESS	= 0,
	PERF_COUNT_HW_CACHE_RESULT_MISS		= 1,

	PERF_COUNT_HW_CACHE_RESULT_MAX,
};

/**
 * enum perf_sw_ids - events that the kernel counts itself
 * @PERF_COUNT_SW_CPU_CLOCK:        nanoseconds of the CPU's clock
 * @PERF_COUNT_SW_TASK_CLOCK:       nanoseconds for which the task ran
 * @PERF_COUNT_SW_PAGE_FAULTS:      page faults, minor and major
 * @PERF_COUNT_SW_CONTEXT_SWITCHES: times that the CPU was given to another task
 * @PERF_COUNT_SW_CPU_MIGRATIONS:   times that a task was moved to another CPU
 * @PERF_COUNT_SW_PAGE_FAULTS_MIN:  page faults that needed no I/O
 * @PERF_COUNT_SW_PAGE_FAULTS_MAJ:  page faults that waited for I/O
 * @PERF_COUNT_SW_ALIGNMENT_FAULTS: unaligned accesses that the kernel completed
 * @PERF_COUNT_SW_EMULATION_FAULTS: instructions that the kernel emulated
 * @PERF_COUNT_SW_DUMMY:            never counts; carries side-band records
 * @PERF_COUNT_SW_BPF_OUTPUT:       never counts; a BPF program writes its samples
 * @PERF_COUNT_SW_CGROUP_SWITCHES:  context switches to a task of another cgroup
 * @PERF_COUNT_SW_MAX:              number of the above
 */
enum perf_sw_ids {
	PERF_COUNT_SW_CPU_CLOCK			= 0,
	PERF_COUNT_SW_TASK_CLOCK		= 1,
	PERF_COUNT_SW_PAGE_FAULTS		= 2,
	PERF_COUNT_SW_CONTEXT_SWITCHES		= 3,
	PERF_COUNT_SW_CPU_MIGRATIONS		= 4,
	PERF_COUNT_SW_PAGE_FAULTS_MIN		= 5,
	PERF_COUNT_SW_PAGE_FAULTS_MAJ		= 6,
	PERF_COUNT_SW_ALIGNMENT_FAULTS		= 7,
	PERF_COUNT_SW_EMULATION_FAULTS		= 8,
	PERF_COUNT_SW_DUMMY			= 9,
	PERF_COUNT_SW_BPF_OUTPUT		= 10,
	PERF_COUNT_SW_CGROUP_SWITCHES		= 11,

	PERF_COUNT_SW_MAX,
};

/*
 * Choosing what a sample and a read contain
 * -----------------------------------------
 */

/**
 * enum perf_event_sample_format - perf_event_attr.sample_type: the fields of a sample
 * @PERF_SAMPLE_IP:             instruction pointer
 * @PERF_SAMPLE_TID:            process and thread, in the opener's pid namespace
 * @PERF_SAMPLE_TIME:           nanoseconds, of perf's clock or of perf_event_attr.clockid
 * @PERF_SAMPLE_ADDR:           data address, or what the event has in its place
 * @PERF_SAMPLE_READ:           counter values in the format of perf_event_attr.read_format
 * @PERF_SAMPLE_CALLCHAIN:      return addresses, innermost first
 * @PERF_SAMPLE_ID:             id of the event; an inherited one shows its parent's
 * @PERF_SAMPLE_CPU:            CPU number
 * @PERF_SAMPLE_PERIOD:         how many occurrences this sample stands for
 * @PERF_SAMPLE_STREAM_ID:      id of the very event, inherited or not
 * @PERF_SAMPLE_RAW:            bytes from the event's source, such as a tracepoint's fields
 * @PERF_SAMPLE_BRANCH_STACK:   branches that were taken last, &struct perf_branch_entry
 * @PERF_SAMPLE_REGS_USER:      registers that user space had
 * @PERF_SAMPLE_STACK_USER:     bytes from the top of the user stack
 * @PERF_SAMPLE_WEIGHT:         cost of the sampled access, one 64-bit number
 * @PERF_SAMPLE_DATA_SRC:       what served the sampled access, &union perf_mem_data_src
 * @PERF_SAMPLE_IDENTIFIER:     same as ID, at a place that no other field moves
 * @PERF_SAMPLE_TRANSACTION:    how a hardware transaction ended, PERF_TXN_*
 * @PERF_SAMPLE_REGS_INTR:      registers at the interrupt, in user space or in the kernel
 * @PERF_SAMPLE_PHYS_ADDR:      physical address behind ADDR
 * @PERF_SAMPLE_AUX:            a piece of the AUX area
 * @PERF_SAMPLE_CGROUP:         id of the task's cgroup
 * @PERF_SAMPLE_DATA_PAGE_SIZE: size of the page at ADDR, bytes
 * @PERF_SAMPLE_CODE_PAGE_SIZE: size of the page at IP, bytes
 * @PERF_SAMPLE_WEIGHT_STRUCT:  like WEIGHT, in parts: &union perf_sample_weight
 * @PERF_SAMPLE_MAX:            first bit that is not defined
 *
 * The order of the fields in a sample is another one: see PERF_RECORD_SAMPLE.
 */
enum perf_event_sample_format {
	PERF_SAMPLE_IP				= 1U << 0,
	PERF_SAMPLE_TID				= 1U << 1,
	PERF_SAMPLE_TIME			= 1U << 2,
	PERF_SAMPLE_ADDR			= 1U << 3,
	PERF_SAMPLE_READ			= 1U << 4,
	PERF_SAMPLE_CALLCHAIN			= 1U << 5,
	PERF_SAMPLE_ID				= 1U << 6,
	PERF_SAMPLE_CPU				= 1U << 7,
	PERF_SAMPLE_PERIOD			= 1U << 8,
	PERF_SAMPLE_STREAM_ID			= 1U << 9,
	PERF_SAMPLE_RAW				= 1U << 10,
	PERF_SAMPLE_BRANCH_STACK		= 1U << 11,
	PERF_SAMPLE_REGS_USER			= 1U << 12,
	PERF_SAMPLE_STACK_USER			= 1U << 13,
	PERF_SAMPLE_WEIGHT			= 1U << 14,
	PERF_SAMPLE_DATA_SRC			= 1U << 15,
	PERF_SAMPLE_IDENTIFIER			= 1U << 16,
	PERF_SAMPLE_TRANSACTION			= 1U << 17,
	PERF_SAMPLE_REGS_INTR			= 1U << 18,
	PERF_SAMPLE_PHYS_ADDR			= 1U << 19,
	PERF_SAMPLE_AUX				= 1U << 20,
	PERF_SAMPLE_CGROUP			= 1U << 21,
	PERF_SAMPLE_DATA_PAGE_SIZE		= 1U << 22,
	PERF_SAMPLE_CODE_PAGE_SIZE		= 1U << 23,
	PERF_SAMPLE_WEIGHT_STRUCT		= 1U << 24,

	PERF_SAMPLE_MAX				= 1U << 25,
};

/* Both forms of the weight; a sample has at most one of them. */
#define PERF_SAMPLE_WEIGHT_TYPE		(PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT)

/**
 * enum perf_branch_sample_type_shift - bit numbers of &enum perf_branch_sample_type
 * @PERF_SAMPLE_BRANCH_USER_SHIFT:       targets in user space
 * @PERF_SAMPLE_BRANCH_KERNEL_SHIFT:     targets in the kernel
 * @PERF_SAMPLE_BRANCH_HV_SHIFT:         targets in the hypervisor
 * @PERF_SAMPLE_BRANCH_ANY_SHIFT:        every kind of branch
 * @PERF_SAMPLE_BRANCH_ANY_CALL_SHIFT:   calls, direct, indirect and into the kernel
 * @PERF_SAMPLE_BRANCH_ANY_RETURN_SHIFT: returns
 * @PERF_SAMPLE_BRANCH_IND_CALL_SHIFT:   indirect calls
 * @PERF_SAMPLE_BRANCH_ABORT_TX_SHIFT:   aborts of a transaction
 * @PERF_SAMPLE_BRANCH_IN_TX_SHIFT:      branches inside a transaction
 * @PERF_SAMPLE_BRANCH_NO_TX_SHIFT:      branches outside of one
 * @PERF_SAMPLE_BRANCH_COND_SHIFT:       conditional branches
 * @PERF_SAMPLE_BRANCH_CALL_STACK_SHIFT: calls that have not returned yet
 * @PERF_SAMPLE_BRANCH_IND_JUMP_SHIFT:   indirect jumps
 * @PERF_SAMPLE_BRANCH_CALL_SHIFT:       direct calls
 * @PERF_SAMPLE_BRANCH_NO_FLAGS_SHIFT:   leave out mispred, predicted, in_tx and abort
 * @PERF_SAMPLE_BRANCH_NO_CYCLES_SHIFT:  leave out cycles
 * @PERF_SAMPLE_BRANCH_TYPE_SAVE_SHIFT:  fill in perf_branch_entry.type
 * @PERF_SAMPLE_BRANCH_HW_INDEX_SHIFT:   put the hardware's index before the entries
 * @PERF_SAMPLE_BRANCH_PRIV_SAVE_SHIFT:  fill in perf_branch_entry.priv
 * @PERF_SAMPLE_BRANCH_COUNTERS_SHIFT:   put event counts behind the entries
 * @PERF_SAMPLE_BRANCH_MAX_SHIFT:        number of the above
 */
enum perf_branch_sample_type_shift {
	PERF_SAMPLE_BRANCH_USER_SHIFT		= 0,
	PERF_SAMPLE_BRANCH_KERNEL_SHIFT		= 1,
	PERF_SAMPLE_BRANCH_HV_SHIFT		= 2,

	PERF_SAMPLE_BRANCH_ANY_SHIFT		= 3,
	PERF_SAMPLE_BRANCH_ANY_CALL_SHIFT	= 4,
	PERF_SAMPLE_BRANCH_ANY_RETURN_SHIFT	= 5,
	PERF_SAMPLE_BRANCH_IND_CALL_SHIFT	= 6,
	PERF_SAMPLE_BRANCH_ABORT_TX_SHIFT	= 7,
	PERF_SAMPLE_BRANCH_IN_TX_SHIFT		= 8,
	PERF_SAMPLE_BRANCH_NO_TX_SHIFT		= 9,
	PERF_SAMPLE_BRANCH_COND_SHIFT		= 10,
	PERF_SAMPLE_BRANCH_CALL_STACK_SHIFT	= 11,
	PERF_SAMPLE_BRANCH_IND_JUMP_SHIFT	= 12,
	PERF_SAMPLE_BRANCH_CALL_SHIFT		= 13,
	PERF_SAMPLE_BRANCH_NO_FLAGS_SHIFT	= 14,
	PERF_SAMPLE_BRANCH_NO_CYCLES_SHIFT	= 15,
	PERF_SAMPLE_BRANCH_TYPE_SAVE_SHIFT	= 16,
	PERF_SAMPLE_BRANCH_HW_INDEX_SHIFT	= 17,
	PERF_SAMPLE_BRANCH_PRIV_SAVE_SHIFT	= 18,
	PERF_SAMPLE_BRANCH_COUNTERS_SHIFT	= 19,

	PERF_SAMPLE_BRANCH_MAX_SHIFT,
};

/*
 * enum perf_branch_sample_type - perf_event_attr.branch_sample_type: which branches, what of each
 *
 * The bits are explained with their numbers above. The three privilege levels alone are not
 * enough: at least one other bit has to select branches. With none of the levels the event's
 * own exclude_* bits decide.
 */
enum perf_branch_sample_type {
	PERF_SAMPLE_BRANCH_USER		= 1U << PERF_SAMPLE_BRANCH_USER_SHIFT,
	PERF_SAMPLE_BRANCH_KERNEL	= 1U << PERF_SAMPLE_BRANCH_KERNEL_SHIFT,
	PERF_SAMPLE_BRANCH_HV		= 1U << PERF_SAMPLE_BRANCH_HV_SHIFT,

	PERF_SAMPLE_BRANCH_ANY		= 1U << PERF_SAMPLE_BRANCH_ANY_SHIFT,
	PERF_SAMPLE_BRANCH_ANY_CALL	= 1U << PERF_SAMPLE_BRANCH_ANY_CALL_SHIFT,
	PERF_SAMPLE_BRANCH_ANY_RETURN	= 1U << PERF_SAMPLE_BRANCH_ANY_RETURN_SHIFT,
	PERF_SAMPLE_BRANCH_IND_CALL	= 1U << PERF_SAMPLE_BRANCH_IND_CALL_SHIFT,
	PERF_SAMPLE_BRANCH_ABORT_TX	= 1U << PERF_SAMPLE_BRANCH_ABORT_TX_SHIFT,
	PERF_SAMPLE_BRANCH_IN_TX	= 1U << PERF_SAMPLE_BRANCH_IN_TX_SHIFT,
	PERF_SAMPLE_BRANCH_NO_TX	= 1U << PERF_SAMPLE_BRANCH_NO_TX_SHIFT,
	PERF_SAMPLE_BRANCH_COND		= 1U << PERF_SAMPLE_BRANCH_COND_SHIFT,
	PERF_SAMPLE_BRANCH_CALL_STACK	= 1U << PERF_SAMPLE_BRANCH_CALL_STACK_SHIFT,
	PERF_SAMPLE_BRANCH_IND_JUMP	= 1U << PERF_SAMPLE_BRANCH_IND_JUMP_SHIFT,
	PERF_SAMPLE_BRANCH_CALL		= 1U << PERF_SAMPLE_BRANCH_CALL_SHIFT,
	PERF_SAMPLE_BRANCH_NO_FLAGS	= 1U << PERF_SAMPLE_BRANCH_NO_FLAGS_SHIFT,
	PERF_SAMPLE_BRANCH_NO_CYCLES	= 1U << PERF_SAMPLE_BRANCH_NO_CYCLES_SHIFT,
	PERF_SAMPLE_BRANCH_TYPE_SAVE	= 1U << PERF_SAMPLE_BRANCH_TYPE_SAVE_SHIFT,
	PERF_SAMPLE_BRANCH_HW_INDEX	= 1U << PERF_SAMPLE_BRANCH_HW_INDEX_SHIFT,
	PERF_SAMPLE_BRANCH_PRIV_SAVE	= 1U << PERF_SAMPLE_BRANCH_PRIV_SAVE_SHIFT,
	PERF_SAMPLE_BRANCH_COUNTERS	= 1U << PERF_SAMPLE_BRANCH_COUNTERS_SHIFT,

	PERF_SAMPLE_BRANCH_MAX		= 1U << PERF_SAMPLE_BRANCH_MAX_SHIFT,
};

/* The three privilege levels together. */
#define PERF_SAMPLE_BRANCH_PLM_ALL \
	(PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV)

/**
 * enum perf_event_read_format - perf_event_attr.read_format: what read(2) returns
 * @PERF_FORMAT_TOTAL_TIME_ENABLED: nanoseconds for which the event was enabled
 * @PERF_FORMAT_TOTAL_TIME_RUNNING: nanoseconds of these for which it counted; less when events
 *                                  take turns, count * enabled / running is then the estimate
 * @PERF_FORMAT_ID:                 id of each event, to match it with samples
 * @PERF_FORMAT_GROUP:              the leader's read returns the values of the whole group
 * @PERF_FORMAT_LOST:               samples of each event that found no room
 * @PERF_FORMAT_MAX:                first bit that is not defined
 *
 * All numbers are 64 bits wide, in this order, bracketed ones only if requested:
 *
 *	without GROUP:	value [enabled] [running] [id] [lost]
 *	with GROUP:	nr [enabled] [running], then nr times: value [id] [lost]
 *
 * A buffer that is too short for all of it gets ENOSPC.
 */
enum perf_event_read_format {
	PERF_FORMAT_TOTAL_TIME_ENABLED		= 1U << 0,
	PERF_FORMAT_TOTAL_TIME_RUNNING		= 1U << 1,
	PERF_FORMAT_ID				= 1U << 2,
	PERF_FORMAT_GROUP			= 1U << 3,
	PERF_FORMAT_LOST			= 1U << 4,

	PERF_FORMAT_MAX				= 1U << 5,
};

/*
 * The attributes that perf_event_open(2) takes
 * --------------------------------------------
 */

/* Sizes that struct perf_event_attr has had, each with the last field that it added. */
#define PERF_ATTR_SIZE_VER0			64	/* config1: the first that was released */
#define PERF_ATTR_SIZE_VER1			72	/* config2 */
#define PERF_ATTR_SIZE_VER2			80	/* branch_sample_type */
#define PERF_ATTR_SIZE_VER3			96	/* sample_regs_user, _stack_user, clockid */
#define PERF_ATTR_SIZE_VER4			104	/* sample_regs_intr */
#define PERF_ATTR_SIZE_VER5			112	/* aux_watermark, sample_max_stack */
#define PERF_ATTR_SIZE_VER6			120	/* aux_sample_size, aux_action */
#define PERF_ATTR_SIZE_VER7			128	/* sig_data */
#define PERF_ATTR_SIZE_VER8			136	/* config3 */

/**
 * struct perf_event_attr - what to count, when to sample, what to record
 * @type: interpretation of @config: &enum perf_type_id, or the number of a PMU in sysfs
 * @size: sizeof(struct perf_event_attr) as the caller was compiled; 0 means
 *	PERF_ATTR_SIZE_VER0. Fields beyond are taken as zero. A caller newer than the kernel gets
 *	E2BIG if it set a field unknown here, and finds the kernel's size in this field.
 * @config: which event, by the rules of @type
 * @sample_period: occurrences per sample; 0 means that the event only counts
 * @sample_freq: with @freq, samples per second
 * @sample_type: fields of a sample, &enum perf_event_sample_format
 * @read_format: values of a read, &enum perf_event_read_format
 * @disabled: do not count before the event is enabled
 * @inherit: count in threads and processes that the task creates from now on, too
 * @pinned: always on the PMU, or in an error state in which read(2) returns 0 bytes
 * @exclusive: while the group is on the PMU no other is
 * @exclude_user: not in user space
 * @exclude_kernel: not in the kernel
 * @exclude_hv: not in the hypervisor
 * @exclude_idle: not while the CPU is idle
 * @mmap: record executable mappings
 * @comm: record changes of a task's name
 * @freq: @sample_freq is meant, not @sample_period
 * @inherit_stat: keep the counts of inherited tasks apart and record them at exit
 * @enable_on_exec: enable at the next exec
 * @task: record creation and exit of tasks
 * @watermark: @wakeup_watermark is meant, not @wakeup_events
 * @precise_ip: distance between the event and the IP of its sample: 0 any, 1 constant,
 *	2 none if possible, 3 none
 * @mmap_data: record mappings that are not executable
 * @sample_id_all: append the identifying fields of @sample_type to every other record too
 * @exclude_host: not on the host
 * @exclude_guest: not in guests
 * @exclude_callchain_kernel: leave the kernel's part out of callchains
 * @exclude_callchain_user: leave the user's part out of callchains
 * @mmap2: record mappings as PERF_RECORD_MMAP2
 * @comm_exec: the reader handles PERF_RECORD_MISC_COMM_EXEC
 * @use_clockid: time stamps from @clockid
 * @context_switch: record context switches
 * @write_backward: fill the buffer from its end to its beginning
 * @namespaces: record a task's namespaces
 * @ksymbol: record kernel symbols that are added and removed
 * @bpf_event: record BPF programs that are loaded and unloaded
 * @aux_output: write samples to the group leader's AUX area
 * @cgroup: record new cgroups
 * @text_poke: record changes of kernel code
 * @build_id: PERF_RECORD_MMAP2 carries the build id, not device and inode
 * @inherit_thread: with @inherit, only into threads of the same process
 * @remove_on_exec: the event ends when its task executes another program
 * @sigtrap: each overflow sends the task a SIGTRAP, synchronously
 * @__reserved_1: must be zero
 * @wakeup_events: samples between two wakeups of the reader
 * @wakeup_watermark: bytes between two wakeups of the reader; 0 means half of the buffer
 * @bp_type: breakpoint: HW_BREAKPOINT_R, _W, _RW or _X of linux/hw_breakpoint.h
 * @bp_addr: breakpoint: the address
 * @kprobe_func: kprobe PMU: pointer to the function's name, or NULL for @kprobe_addr
 * @uprobe_path: uprobe PMU: pointer to the file's path
 * @config1: more of @config, for PMUs
 * @bp_len: breakpoint: bytes watched
 * @kprobe_addr: kprobe PMU: address, if @kprobe_func is NULL
 * @probe_offset: kprobe and uprobe PMU: offset from the function or into the file
 * @config2: more of @config1
 * @branch_sample_type: &enum perf_branch_sample_type
 * @sample_regs_user: registers of PERF_SAMPLE_REGS_USER, one bit each, by asm/perf_regs.h
 * @sample_stack_user: bytes of PERF_SAMPLE_STACK_USER, a multiple of 8
 * @clockid: clock for time stamps, with @use_clockid
 * @sample_regs_intr: registers of PERF_SAMPLE_REGS_INTR, one bit each, by asm/perf_regs.h
 * @aux_watermark: bytes in the AUX area between two wakeups of the reader
 * @sample_max_stack: addresses in a callchain at most; 0 means the system's limit
 * @__reserved_2: must be zero
 * @aux_sample_size: bytes of PERF_SAMPLE_AUX at most
 * @aux_action: the next four together
 * @aux_start_paused: the AUX trace starts paused
 * @aux_pause: an overflow pauses the group leader's AUX trace
 * @aux_resume: an overflow resumes it
 * @__reserved_3: must be zero
 * @sig_data: with @sigtrap, handed to the signal handler as si_perf_data; a 32-bit task sees
 *	the lower half
 * @config3: more of @config2
 *
 * Where there are several names at one place, @type or another field selects one of them.
 */
struct perf_event_attr {
	__u32	type;
	__u32	size;
	__u64	config;

	union {
		__u64	sample_period;
		__u64	sample_freq;
	};

	__u64	sample_type;
	__u64	read_format;

	__u64	disabled			:  1,
		inherit				:  1,
		pinned				:  1,
		exclusive			:  1,
		exclude_user			:  1,
		exclude_kernel			:  1,
		exclude_hv			:  1,
		exclude_idle			:  1,
		mmap				:  1,
		comm				:  1,
		freq				:  1,
		inherit_stat			:  1,
		enable_on_exec			:  1,
		task				:  1,
		watermark			:  1,
		precise_ip			:  2,
		mmap_data			:  1,
		sample_id_all			:  1,
		exclude_host			:  1,
		exclude_guest			:  1,
		exclude_callchain_kernel	:  1,
		exclude_callchain_user		:  1,
		mmap2				:  1,
		comm_exec			:  1,
		use_clockid			:  1,
		context_switch			:  1,
		write_backward			:  1,
		namespaces			:  1,
		ksymbol				:  1,
		bpf_event			:  1,
		aux_output			:  1,
		cgroup				:  1,
		text_poke			:  1,
		build_id			:  1,
		inherit_thread			:  1,
		remove_on_exec			:  1,
		sigtrap				:  1,
		__reserved_1			: 26;

	union {
		__u32	wakeup_events;
		__u32	wakeup_watermark;
	};

	__u32	bp_type;
	union {
		__u64	bp_addr;
		__u64	kprobe_func;
		__u64	uprobe_path;
		__u64	config1;
	};
	union {
		__u64	bp_len;
		__u64	kprobe_addr;
		__u64	probe_offset;
		__u64	config2;
	};

	__u64	branch_sample_type;
	__u64	sample_regs_user;
	__u32	sample_stack_user;
	__s32	clockid;
	__u64	sample_regs_intr;
	__u32	aux_watermark;
	__u16	sample_max_stack;
	__u16	__reserved_2;
	__u32	aux_sample_size;

	union {
		__u32	aux_action;
		struct {
			__u32	aux_start_paused	:  1,
				aux_pause		:  1,
				aux_resume		:  1,
				__reserved_3		: 29;
		};
	};

	__u64	sig_data;
	__u64	config3;
};

/* The last argument of perf_event_open(2). */
#define PERF_FLAG_FD_NO_GROUP	(1UL << 0)	/* group_fd is for FD_OUTPUT, not for grouping */
#define PERF_FLAG_FD_OUTPUT	(1UL << 1)	/* write records to group_fd's buffer */
#define PERF_FLAG_PID_CGROUP	(1UL << 2)	/* pid is an open directory of a cgroup */
#define PERF_FLAG_FD_CLOEXEC	(1UL << 3)	/* exec closes the new file */

/*
 * Operations on the file
 * ----------------------
 */

/**
 * struct perf_event_query_bpf - argument of PERF_EVENT_IOC_QUERY_BPF
 * @ids_len: number of entries in @ids, set by the caller
 * @prog_cnt: number of programs attached to the tracepoint, set by the kernel
 * @ids: ids of the programs, as many as fit, set by the kernel
 */
struct perf_event_query_bpf {
	__u32	ids_len;
	__u32	prog_cnt;
	__u32	ids[];
};

/*
 * ENABLE, DISABLE and RESET act on one event, or on its group if the argument is
 * PERF_IOC_FLAG_GROUP. RESET zeroes counts, not times.
 */
#define PERF_EVENT_IOC_ENABLE		_IO('$', 0)
#define PERF_EVENT_IOC_DISABLE		_IO('$', 1)
/* Enable for the number of overflows in the argument, in addition to those still due. */
#define PERF_EVENT_IOC_REFRESH		_IO('$', 2)
#define PERF_EVENT_IOC_RESET		_IO('$', 3)
/* A new sample_period, or sample_freq. */
#define PERF_EVENT_IOC_PERIOD		_IOW('$', 4, __u64)
/* Write records to the buffer of the event of this file descriptor; -1: to none. */
#define PERF_EVENT_IOC_SET_OUTPUT	_IO('$', 5)
/* A tracepoint's filter expression, or address ranges to trace. */
#define PERF_EVENT_IOC_SET_FILTER	_IOW('$', 6, char *)
/* The event's id, as samples and reads have it. */
#define PERF_EVENT_IOC_ID		_IOR('$', 7, __u64 *)
/* File descriptor of a BPF program that runs at each occurrence or overflow. */
#define PERF_EVENT_IOC_SET_BPF		_IOW('$', 8, __u32)
/* Not 0: records are dropped and counted as lost; 0: written again. */
#define PERF_EVENT_IOC_PAUSE_OUTPUT	_IOW('$', 9, __u32)
/* Which BPF programs the tracepoint has. */
#define PERF_EVENT_IOC_QUERY_BPF	_IOWR('$', 10, struct perf_event_query_bpf *)
/* Move a breakpoint. */
#define PERF_EVENT_IOC_MODIFY_ATTRIBUTES _IOW('$', 11, struct perf_event_attr *)

/**
 * enum perf_event_ioc_flags - argument of ENABLE, DISABLE and RESET
 * @PERF_IOC_FLAG_GROUP: all events of the group
 */
enum perf_event_ioc_flags {
	PERF_IOC_FLAG_GROUP			= 1U << 0,
};

/*
 * The mapped buffer
 * -----------------
 */

/**
 * struct perf_event_mmap_page - first page of an event's mapping
 * @version: 0
 * @compat_version: 0, the oldest version that a reader may assume
 * @lock: sequence count over @index to @time_mask below: read it before and after, and read
 *	again if it changed
 * @index: number of the counter register plus 1; 0 while the event has none that the reader
 *	may use
 * @offset: count up to now without the register; add the register's value, sign extended from
 *	@pmc_width bits, if @index is not 0
 * @time_enabled: nanoseconds, as of when the event was last added to or removed from the PMU
 * @time_running: nanoseconds, as of when the event was last added to or removed from the PMU
 * @capabilities: all cap_* bits
 * @cap_bit0: always 0; kernels before Linux 3.12 gave it two meanings
 * @cap_bit0_is_deprecated: always 1: the bits have the meaning described here
 * @cap_user_rdpmc: user space may read the counter register
 * @cap_user_time: @time_shift, @time_mult and @time_offset are valid
 * @cap_user_time_zero: @time_zero is valid
 * @cap_user_time_short: the time counter is narrow, @time_cycles and @time_mask are valid
 * @cap_____res: 0
 * @pmc_width: bits of the counter register
 * @time_shift: for conversion of the time counter, see below
 * @time_mult: for conversion of the time counter, see below
 * @time_offset: nanoseconds between the counter's zero and @time_enabled
 * @time_zero: nanoseconds of perf's clock at the counter's zero
 * @size: bytes of this structure that are filled, up to @__reserved
 * @__reserved_1: 0
 * @time_cycles: value of the time counter when it was last extended
 * @time_mask: bits of the time counter
 * @__reserved: 0; the fields that follow begin at byte 1024
 * @data_head: bytes written so far, by the kernel; does not wrap. Read it, then let a read
 *	barrier precede reading the data.
 * @data_tail: bytes consumed so far, by the user; read the data, then let a barrier precede
 *	writing it. The kernel keeps off what is not consumed. Only where the mapping is writable:
 *	if not, the kernel overwrites the oldest records and this field is not used.
 * @data_offset: where the data begin in the mapping, bytes
 * @data_size: length of the data, bytes
 * @aux_head: as @data_head, for the AUX area
 * @aux_tail: as @data_tail, for the AUX area
 * @aux_offset: where the AUX area is to be mapped, bytes; set by the user before mapping it
 * @aux_size: length of the AUX area, bytes; set by the user before mapping it
 *
 * With C the value of the time counter (x86: TSC, arm64: CNTVCT), the nanoseconds are
 *
 *	ns(C) = (C >> time_shift) * time_mult +
 *		(((C & ((1 << time_shift) - 1)) * time_mult) >> time_shift)
 *
 * and time_offset + ns(C) is to be added to @time_enabled, and to @time_running if @index is not
 * 0, while time_zero + ns(C) is the time that a sample taken now would show. With
 * cap_user_time_short, C = time_cycles + ((counter - time_cycles) & time_mask).
 */
struct perf_event_mmap_page {
	__u32	version;
	__u32	compat_version;
	__u32	lock;
	__u32	index;
	__s64	offset;
	__u64	time_enabled;
	__u64	time_running;
	union {
		__u64	capabilities;
		struct {
			__u64	cap_bit0		:  1,
				cap_bit0_is_deprecated	:  1,
				cap_user_rdpmc		:  1,
				cap_user_time		:  1,
				cap_user_time_zero	:  1,
				cap_user_time_short	:  1,
				cap_____res		: 58;
		};
	};
	__u16	pmc_width;
	__u16	time_shift;
	__u32	time_mult;
	__u64	time_offset;
	__u64	time_zero;
	__u32	size;
	__u32	__reserved_1;
	__u64	time_cycles;
	__u64	time_mask;

	__u8	__reserved[928];

	__u64	data_head;
	__u64	data_tail;
	__u64	data_offset;
	__u64	data_size;

	__u64	aux_head;
	__u64	aux_tail;
	__u64	aux_offset;
	__u64	aux_size;
};

/*
 * The records in it
 * -----------------
 */

/**
 * struct perf_event_header - start of every record
 * @type: &enum perf_event_type
 * @misc: PERF_RECORD_MISC_*: the CPU's mode, and bits with a meaning that depends on @type
 * @size: bytes of the record with this header, a multiple of 8
 */
struct perf_event_header {
	__u32	type;
	__u16	misc;
	__u16	size;
};

/* misc, bits 0..2: what the CPU was running. */
#define PERF_RECORD_MISC_CPUMODE_MASK		(7 << 0)
#define PERF_RECORD_MISC_CPUMODE_UNKNOWN	(0 << 0)
#define PERF_RECORD_MISC_KERNEL			(1 << 0)
#define PERF_RECORD_MISC_USER			(2 << 0)
#define PERF_RECORD_MISC_HYPERVISOR		(3 << 0)
#define PERF_RECORD_MISC_GUEST_KERNEL		(4 << 0)
#define PERF_RECORD_MISC_GUEST_USER		(5 << 0)

/* misc, bit 12: not from the kernel; a tool that reads /proc/PID/maps ran out of time. */
#define PERF_RECORD_MISC_PROC_MAP_PARSE_TIMEOUT	(1 << 12)

/* misc, bit 13, by record type. */
#define PERF_RECORD_MISC_MMAP_DATA		(1 << 13)	/* MMAP*: not executable */
#define PERF_RECORD_MISC_COMM_EXEC		(1 << 13)	/* COMM: renamed by exec */
#define PERF_RECORD_MISC_FORK_EXEC		(1 << 13)	/* FORK: used by tools only */
#define PERF_RECORD_MISC_SWITCH_OUT		(1 << 13)	/* SWITCH*: left the CPU */

/* misc, bit 14, by record type. */
#define PERF_RECORD_MISC_EXACT_IP		(1 << 14)	/* SAMPLE: IP without skid */
#define PERF_RECORD_MISC_SWITCH_OUT_PREEMPT	(1 << 14)	/* SWITCH*: still runnable */
#define PERF_RECORD_MISC_MMAP_BUILD_ID		(1 << 14)	/* MMAP2: has the build id */

/* misc, bit 15: for a longer header, not in use. */
#define PERF_RECORD_MISC_EXT_RESERVED		(1 << 15)

/**
 * struct perf_ns_link_info - a namespace in PERF_RECORD_NAMESPACES
 * @dev: device of the file in /proc/PID/ns that stands for it
 * @ino: inode of that file
 */
struct perf_ns_link_info {
	__u64	dev;
	__u64	ino;
};

/* Places of the namespaces in PERF_RECORD_NAMESPACES. */
enum {
	NET_NS_INDEX				= 0,
	UTS_NS_INDEX				= 1,
	IPC_NS_INDEX				= 2,
	PID_NS_INDEX				= 3,
	USER_NS_INDEX				= 4,
	MNT_NS_INDEX				= 5,
	CGROUP_NS_INDEX				= 6,

	NR_NAMESPACES,
};

/*
 * enum perf_event_type - perf_event_header.type
 *
 * Each entry shows what stands behind the header. Strings end with a NUL and are padded with NULs
 * to a multiple of 8 bytes. With sample_id_all every record except SAMPLE ends with
 *
 *	u32 pid, tid (TID); u64 time (TIME); u64 id (ID); u64 stream_id (STREAM_ID);
 *	u32 cpu, 0 (CPU); u64 id (IDENTIFIER)
 *
 * each of them only if sample_type has the PERF_SAMPLE_ bit in parentheses.
 */
enum perf_event_type {
	/*
	 * A mapping, for mmap or mmap_data.
	 *	u32 pid, tid; u64 addr, len, offset in the file in bytes; char filename[]
	 */
	PERF_RECORD_MMAP			= 1,

	/*
	 * Records that found no room, at this place.
	 *	u64 id, number
	 */
	PERF_RECORD_LOST			= 2,

	/*
	 * A new name of a task, for comm.
	 *	u32 pid, tid; char comm[]
	 */
	PERF_RECORD_COMM			= 3,

	/*
	 * A thread ended, for task.
	 *	u32 pid, pid of the parent, tid, tid of the parent; u64 time
	 */
	PERF_RECORD_EXIT			= 4,

	/*
	 * The event overflowed too often and is stopped until the next tick, or is resumed.
	 *	u64 time, id, stream_id
	 */
	PERF_RECORD_THROTTLE			= 5,
	PERF_RECORD_UNTHROTTLE			= 6,

	/*
	 * A thread was created, for task.
	 *	as EXIT
	 */
	PERF_RECORD_FORK			= 7,

	/*
	 * Counts of an inherited event at the end of its task, for inherit_stat.
	 *	u32 pid, tid; values by read_format
	 */
	PERF_RECORD_READ			= 8,

	/*
	 * A sample. The fields in sample_type, in this order:
	 *	IDENTIFIER	u64 id
	 *	IP		u64 ip
	 *	TID		u32 pid, tid
	 *	TIME		u64 nanoseconds
	 *	ADDR		u64 addr
	 *	ID		u64 id
	 *	STREAM_ID	u64 stream_id
	 *	CPU		u32 cpu, 0
	 *	PERIOD		u64 period
	 *	READ		values by read_format
	 *	CALLCHAIN	u64 nr, ips[nr], with PERF_CONTEXT_* among them
	 *	RAW		u32 size; char data[size]; together padded to 8
	 *	BRANCH_STACK	u64 nr; u64 index of the newest entry, with BRANCH_HW_INDEX;
	 *			struct perf_branch_entry [nr], newest first;
	 *			u64 counts[nr], with BRANCH_COUNTERS where the PMU has them
	 *	REGS_USER	u64 abi; one u64 per bit of sample_regs_user unless ABI_NONE
	 *	STACK_USER	u64 size; char data[size]; u64 bytes of it that are valid;
	 *			or, if there is no user stack, one u64 0
	 *	WEIGHT		union perf_sample_weight, for WEIGHT_STRUCT too
	 *	DATA_SRC	union perf_mem_data_src
	 *	TRANSACTION	u64 of PERF_TXN_*
	 *	REGS_INTR	u64 abi; one u64 per bit of sample_regs_intr unless ABI_NONE
	 *	PHYS_ADDR	u64 physical address
	 *	CGROUP		u64 id
	 *	DATA_PAGE_SIZE	u64 bytes
	 *	CODE_PAGE_SIZE	u64 bytes
	 *	AUX		u64 size; char data[size]
	 */
	PERF_RECORD_SAMPLE			= 9,

	/*
	 * A mapping, for mmap or mmap_data together with mmap2.
	 *	u32 pid, tid; u64 addr, len, offset in the file in bytes;
	 *	either	u32 major, minor of the device; u64 inode, its generation
	 *	or	u8 length of the build id; u8 0; u16 0; u8 build_id[20]
	 *		(PERF_RECORD_MISC_MMAP_BUILD_ID);
	 *	u32 PROT_* bits, MAP_* bits; char filename[]
	 */
	PERF_RECORD_MMAP2			= 10,

	/*
	 * New data in the AUX area.
	 *	u64 offset, size, PERF_AUX_FLAG_* bits
	 */
	PERF_RECORD_AUX				= 11,

	/*
	 * An instruction trace began for this thread.
	 *	u32 pid, tid
	 */
	PERF_RECORD_ITRACE_START		= 12,

	/*
	 * Samples that the hardware took and that could not be assigned to an event.
	 *	u64 number
	 */
	PERF_RECORD_LOST_SAMPLES		= 13,

	/*
	 * The thread was switched in, or out (PERF_RECORD_MISC_SWITCH_OUT), for
	 * context_switch of an event that belongs to a task.
	 *	nothing
	 */
	PERF_RECORD_SWITCH			= 14,

	/*
	 * The same for an event that belongs to a CPU.
	 *	u32 pid, tid of the other thread: the next one on SWITCH_OUT, else the last one
	 */
	PERF_RECORD_SWITCH_CPU_WIDE		= 15,

	/*
	 * The namespaces of a thread, for namespaces.
	 *	u32 pid, tid; u64 NR_NAMESPACES; struct perf_ns_link_info [NR_NAMESPACES]
	 */
	PERF_RECORD_NAMESPACES			= 16,

	/*
	 * A kernel symbol was added or removed, for ksymbol.
	 *	u64 addr; u32 len; u16 enum perf_record_ksymbol_type;
	 *	u16 PERF_RECORD_KSYMBOL_FLAGS_*; char name[]
	 */
	PERF_RECORD_KSYMBOL			= 17,

	/*
	 * A BPF program was loaded or unloaded, for bpf_event.
	 *	u16 enum perf_bpf_event_type; u16 0; u32 id; u8 tag[8]
	 */
	PERF_RECORD_BPF_EVENT			= 18,

	/*
	 * A cgroup, for cgroup.
	 *	u64 id; char path[]
	 */
	PERF_RECORD_CGROUP			= 19,

	/*
	 * Kernel code changed, for text_poke.
	 *	u64 addr; u16 bytes before, bytes after; u8 before[]; u8 after[]; padded to 8
	 */
	PERF_RECORD_TEXT_POKE			= 20,

	/*
	 * Under which number the hardware names this event in the AUX area, for aux_output.
	 *	u64 hardware's id
	 */
	PERF_RECORD_AUX_OUTPUT_HW_ID		= 21,

	PERF_RECORD_MAX,
};

/**
 * enum perf_record_ksymbol_type - what a symbol in PERF_RECORD_KSYMBOL is
 * @PERF_RECORD_KSYMBOL_TYPE_UNKNOWN: not given
 * @PERF_RECORD_KSYMBOL_TYPE_BPF:     translated BPF program
 * @PERF_RECORD_KSYMBOL_TYPE_OOL:     code made at run time: probe slots, trampolines
 * @PERF_RECORD_KSYMBOL_TYPE_MAX:     number of the above
 */
enum perf_record_ksymbol_type {
	PERF_RECORD_KSYMBOL_TYPE_UNKNOWN	= 0,
	PERF_RECORD_KSYMBOL_TYPE_BPF		= 1,
	PERF_RECORD_KSYMBOL_TYPE_OOL		= 2,

	PERF_RECORD_KSYMBOL_TYPE_MAX,
};

/* The symbol in PERF_RECORD_KSYMBOL was removed. */
#define PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER	(1 << 0)

/**
 * enum perf_bpf_event_type - what happened in PERF_RECORD_BPF_EVENT
 * @PERF_BPF_EVENT_UNKNOWN:     not given
 * @PERF_BPF_EVENT_PROG_LOAD:   the program was loaded
 * @PERF_BPF_EVENT_PROG_UNLOAD: the program was unloaded
 * @PERF_BPF_EVENT_MAX:         number of the above
 */
enum perf_bpf_event_type {
	PERF_BPF_EVENT_UNKNOWN			= 0,
	PERF_BPF_EVENT_PROG_LOAD		= 1,
	PERF_BPF_EVENT_PROG_UNLOAD		= 2,

	PERF_BPF_EVENT_MAX,
};

/* Flags of PERF_RECORD_AUX. */
#define PERF_AUX_FLAG_TRUNCATED			0x01	/* there was more than the room */
#define PERF_AUX_FLAG_OVERWRITE			0x02	/* area is overwritten: a snapshot */
#define PERF_AUX_FLAG_PARTIAL			0x04	/* the trace has gaps */
#define PERF_AUX_FLAG_COLLISION			0x08	/* a sample collided with another */
#define PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK	0xff00	/* format of the data, by PMU */

/* Values under PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK for CoreSight. */
#define PERF_AUX_FLAG_CORESIGHT_FORMAT_CORESIGHT 0x0000	/* formatted frames */
#define PERF_AUX_FLAG_CORESIGHT_FORMAT_RAW	0x0100	/* one source's bytes as they are */

/*
 * The encodings inside samples
 * ----------------------------
 */

/* Addresses in a callchain, unless perf_event_attr.sample_max_stack or sysctl set another limit. */
#define PERF_MAX_STACK_DEPTH			127
/* PERF_CONTEXT_* markers in a callchain, in addition. */
#define PERF_MAX_CONTEXTS_PER_STACK		8

/**
 * enum perf_callchain_context - markers in a callchain: where the addresses after it are
 * @PERF_CONTEXT_HV:           hypervisor
 * @PERF_CONTEXT_KERNEL:       kernel
 * @PERF_CONTEXT_USER:         user space
 * @PERF_CONTEXT_GUEST:        guest
 * @PERF_CONTEXT_GUEST_KERNEL: guest, kernel
 * @PERF_CONTEXT_GUEST_USER:   guest, user space
 * @PERF_CONTEXT_MAX:          a value from here up is a marker, not an address
 */
enum perf_callchain_context {
	PERF_CONTEXT_HV				= (__u64)-32,
	PERF_CONTEXT_KERNEL			= (__u64)-128,
	PERF_CONTEXT_USER			= (__u64)-512,

	PERF_CONTEXT_GUEST			= (__u64)-2048,
	PERF_CONTEXT_GUEST_KERNEL		= (__u64)-2176,
	PERF_CONTEXT_GUEST_USER			= (__u64)-2560,

	PERF_CONTEXT_MAX			= (__u64)-4095,
};

/**
 * enum perf_sample_regs_abi - word size of the program that the registers belong to
 * @PERF_SAMPLE_REGS_ABI_NONE: there are none, none follow
 * @PERF_SAMPLE_REGS_ABI_32:   32 bits
 * @PERF_SAMPLE_REGS_ABI_64:   64 bits
 */
enum perf_sample_regs_abi {
	PERF_SAMPLE_REGS_ABI_NONE		= 0,
	PERF_SAMPLE_REGS_ABI_32			= 1,
	PERF_SAMPLE_REGS_ABI_64			= 2,
};

/* PERF_SAMPLE_TRANSACTION: how the transaction ended, bits that combine. */
enum {
	PERF_TXN_ELISION		= 1 << 0,	/* it was a lock elision */
	PERF_TXN_TRANSACTION		= 1 << 1,	/* it was a plain transaction */
	PERF_TXN_SYNC			= 1 << 2,	/* because of the sampled instruction */
	PERF_TXN_ASYNC			= 1 << 3,	/* because of something else */
	PERF_TXN_RETRY			= 1 << 4,	/* another try may succeed */
	PERF_TXN_CONFLICT		= 1 << 5,	/* another CPU accessed the memory */
	PERF_TXN_CAPACITY_WRITE		= 1 << 6,	/* it wrote too much */
	PERF_TXN_CAPACITY_READ		= 1 << 7,	/* it read too much */

	PERF_TXN_MAX			= 1 << 8,

	/* The code that the program gave with its abort: upper half. */
	PERF_TXN_ABORT_MASK		= 0xffffffffULL << 32,
	PERF_TXN_ABORT_SHIFT		= 32,
};

/**
 * union perf_sample_weight - PERF_SAMPLE_WEIGHT and PERF_SAMPLE_WEIGHT_STRUCT
 * @full: the one number of PERF_SAMPLE_WEIGHT
 * @var1_dw: bits 0..31, what the PMU has first, in most cases a latency in cycles
 * @var2_w: bits 32..47, what it has second
 * @var3_w: bits 48..63, what it has third
 */
union perf_sample_weight {
	__u64	full;
#if defined(__LITTLE_ENDIAN_BITFIELD)
	struct {
		__u32	var1_dw;
		__u16	var2_w;
		__u16	var3_w;
	};
#elif defined(__BIG_ENDIAN_BITFIELD)
	struct {
		__u16	var3_w;
		__u16	var2_w;
		__u32	var1_dw;
	};
#else
# error "byte order of bit-fields is not known"
#endif
};

/**
 * union perf_mem_data_src - PERF_SAMPLE_DATA_SRC: what a memory access was and what served it
 * @val: all of it
 * @mem_op: PERF_MEM_OP_*
 * @mem_lvl: PERF_MEM_LVL_*
 * @mem_snoop: PERF_MEM_SNOOP_*
 * @mem_lock: PERF_MEM_LOCK_*
 * @mem_dtlb: PERF_MEM_TLB_*
 * @mem_lvl_num: PERF_MEM_LVLNUM_*
 * @mem_remote: PERF_MEM_REMOTE_*
 * @mem_snoopx: PERF_MEM_SNOOPX_*, more of @mem_snoop
 * @mem_blk: PERF_MEM_BLK_*
 * @mem_hops: PERF_MEM_HOPS_*
 * @mem_rsvd: 0
 *
 * The bits have the same place in @val whatever the byte order.
 */
union perf_mem_data_src {
	__u64	val;
#if defined(__LITTLE_ENDIAN_BITFIELD)
	struct {
		__u64	mem_op		:  5,
			mem_lvl		: 14,
			mem_snoop	:  5,
			mem_lock	:  2,
			mem_dtlb	:  7,
			mem_lvl_num	:  4,
			mem_remote	:  1,
			mem_snoopx	:  2,
			mem_blk		:  3,
			mem_hops	:  3,
			mem_rsvd	: 18;
	};
#elif defined(__BIG_ENDIAN_BITFIELD)
	struct {
		__u64	mem_rsvd	: 18,
			mem_hops	:  3,
			mem_blk		:  3,
			mem_snoopx	:  2,
			mem_remote	:  1,
			mem_lvl_num	:  4,
			mem_dtlb	:  7,
			mem_lock	:  2,
			mem_snoop	:  5,
			mem_lvl		: 14,
			mem_op		:  5;
	};
#else
# error "byte order of bit-fields is not known"
#endif
};

/* A value at its place in perf_mem_data_src.val: PERF_MEM_S(OP, LOAD) */
#define PERF_MEM_S(a, s) \
	(((__u64)PERF_MEM_##a##_##s) << PERF_MEM_##a##_SHIFT)

/* Kind of access, bits that combine. */
#define PERF_MEM_OP_NA			0x01	/* not known */
#define PERF_MEM_OP_LOAD		0x02
#define PERF_MEM_OP_STORE		0x04
#define PERF_MEM_OP_PFETCH		0x08	/* prefetch */
#define PERF_MEM_OP_EXEC		0x10	/* instruction fetch */
#define PERF_MEM_OP_SHIFT		0

/* Level that served it, bits that combine. Coarser than LVLNUM with REMOTE and HOPS. */
#define PERF_MEM_LVL_NA			0x0001	/* not known */
#define PERF_MEM_LVL_HIT		0x0002	/* the levels named here hit */
#define PERF_MEM_LVL_MISS		0x0004	/* the levels named here missed */
#define PERF_MEM_LVL_L1			0x0008
#define PERF_MEM_LVL_LFB		0x0010	/* line fill buffer */
#define PERF_MEM_LVL_L2			0x0020
#define PERF_MEM_LVL_L3			0x0040
#define PERF_MEM_LVL_LOC_RAM		0x0080	/* own node's memory */
#define PERF_MEM_LVL_REM_RAM1		0x0100	/* memory one hop away */
#define PERF_MEM_LVL_REM_RAM2		0x0200	/* memory two hops away */
#define PERF_MEM_LVL_REM_CCE1		0x0400	/* cache one hop away */
#define PERF_MEM_LVL_REM_CCE2		0x0800	/* cache two hops away */
#define PERF_MEM_LVL_IO			0x1000
#define PERF_MEM_LVL_UNC		0x2000	/* uncached */
#define PERF_MEM_LVL_SHIFT		5

/* What other caches answered, bits that combine. */
#define PERF_MEM_SNOOP_NA		0x01	/* not known */
#define PERF_MEM_SNOOP_NONE		0x02	/* no request was sent */
#define PERF_MEM_SNOOP_HIT		0x04
#define PERF_MEM_SNOOP_MISS		0x08
#define PERF_MEM_SNOOP_HITM		0x10	/* had it, modified */
#define PERF_MEM_SNOOP_SHIFT		19

/* Locked access. */
#define PERF_MEM_LOCK_NA		0x01	/* not known */
#define PERF_MEM_LOCK_LOCKED		0x02
#define PERF_MEM_LOCK_SHIFT		24

/* How the address was translated, bits that combine. */
#define PERF_MEM_TLB_NA			0x01	/* not known */
#define PERF_MEM_TLB_HIT		0x02
#define PERF_MEM_TLB_MISS		0x04
#define PERF_MEM_TLB_L1			0x08
#define PERF_MEM_TLB_L2			0x10
#define PERF_MEM_TLB_WK			0x20	/* the hardware walked the tables */
#define PERF_MEM_TLB_OS			0x40	/* a fault, the kernel helped */
#define PERF_MEM_TLB_SHIFT		26

/* Level that served it, one number. */
#define PERF_MEM_LVLNUM_L1		0x01
#define PERF_MEM_LVLNUM_L2		0x02
#define PERF_MEM_LVLNUM_L3		0x03
#define PERF_MEM_LVLNUM_L4		0x04
#define PERF_MEM_LVLNUM_L2_MHB		0x05	/* the L2's miss handling buffer */
#define PERF_MEM_LVLNUM_MSC		0x06	/* cache on the memory's side */
#define PERF_MEM_LVLNUM_UNC		0x08	/* uncached */
#define PERF_MEM_LVLNUM_CXL		0x09	/* memory behind CXL */
#define PERF_MEM_LVLNUM_IO		0x0a
#define PERF_MEM_LVLNUM_ANY_CACHE	0x0b	/* a cache, not known which */
#define PERF_MEM_LVLNUM_LFB		0x0c	/* line fill buffer, L1's miss buffer */
#define PERF_MEM_LVLNUM_RAM		0x0d
#define PERF_MEM_LVLNUM_PMEM		0x0e	/* persistent memory */
#define PERF_MEM_LVLNUM_NA		0x0f	/* not known */
#define PERF_MEM_LVLNUM_SHIFT		33

/* What served it is not the CPU's own. */
#define PERF_MEM_REMOTE_REMOTE		0x01
#define PERF_MEM_REMOTE_SHIFT		37

/* More on what other caches answered. */
#define PERF_MEM_SNOOPX_FWD		0x01	/* passed it on unmodified */
#define PERF_MEM_SNOOPX_PEER		0x02	/* data from a peer at the same level */
#define PERF_MEM_SNOOPX_SHIFT		38

/* What a load had to wait for. */
#define PERF_MEM_BLK_NA			0x01	/* not known */
#define PERF_MEM_BLK_DATA		0x02	/* an earlier store's data could not be forwarded */
#define PERF_MEM_BLK_ADDR		0x04	/* an earlier store's address looked the same */
#define PERF_MEM_BLK_SHIFT		40

/* How far away what served it is; 5 to 7 are not in use. */
#define PERF_MEM_HOPS_0			0x01	/* other core, same node */
#define PERF_MEM_HOPS_1			0x02	/* other node, same socket */
#define PERF_MEM_HOPS_2			0x03	/* other socket, same board */
#define PERF_MEM_HOPS_3			0x04	/* other board */
#define PERF_MEM_HOPS_SHIFT		43

/* perf_branch_entry.type */
enum {
	PERF_BR_UNKNOWN				= 0,
	PERF_BR_COND				= 1,	/* conditional */
	PERF_BR_UNCOND				= 2,	/* unconditional */
	PERF_BR_IND				= 3,	/* indirect */
	PERF_BR_CALL				= 4,	/* call */
	PERF_BR_IND_CALL			= 5,	/* indirect call */
	PERF_BR_RET				= 6,	/* return */
	PERF_BR_SYSCALL				= 7,	/* into the kernel */
	PERF_BR_SYSRET				= 8,	/* back from it */
	PERF_BR_COND_CALL			= 9,	/* conditional call */
	PERF_BR_COND_RET			= 10,	/* conditional return */
	PERF_BR_ERET				= 11,	/* return from an exception */
	PERF_BR_IRQ				= 12,	/* interrupt */
	PERF_BR_SERROR				= 13,	/* system error */
	PERF_BR_NO_TX				= 14,	/* not in a transaction */
	PERF_BR_EXTEND_ABI			= 15,	/* perf_branch_entry.new_type has it */

	PERF_BR_MAX,
};

/* perf_branch_entry.spec: was it executed speculatively, and rightly so? */
enum {
	PERF_BR_SPEC_NA				= 0,	/* not known */
	PERF_BR_SPEC_WRONG_PATH			= 1,	/* speculatively, in vain */
	PERF_BR_NON_SPEC_CORRECT_PATH		= 2,	/* not speculatively */
	PERF_BR_SPEC_CORRECT_PATH		= 3,	/* speculatively, rightly */

	PERF_BR_SPEC_MAX,
};

/* perf_branch_entry.new_type, if type is PERF_BR_EXTEND_ABI */
enum {
	PERF_BR_NEW_FAULT_ALGN			= 0,	/* alignment fault */
	PERF_BR_NEW_FAULT_DATA			= 1,	/* data fault */
	PERF_BR_NEW_FAULT_INST			= 2,	/* instruction fault */
	PERF_BR_NEW_ARCH_1			= 3,	/* the architecture's own, from here on */
	PERF_BR_NEW_ARCH_2			= 4,
	PERF_BR_NEW_ARCH_3			= 5,
	PERF_BR_NEW_ARCH_4			= 6,
	PERF_BR_NEW_ARCH_5			= 7,

	PERF_BR_NEW_MAX,
};

/* What arm64 uses its own types for. */
#define PERF_BR_ARM64_FIQ			PERF_BR_NEW_ARCH_1
#define PERF_BR_ARM64_DEBUG_HALT		PERF_BR_NEW_ARCH_2
#define PERF_BR_ARM64_DEBUG_EXIT		PERF_BR_NEW_ARCH_3
#define PERF_BR_ARM64_DEBUG_INST		PERF_BR_NEW_ARCH_4
#define PERF_BR_ARM64_DEBUG_DATA		PERF_BR_NEW_ARCH_5

/* perf_branch_entry.priv: privilege level of the branch's source */
enum {
	PERF_BR_PRIV_UNKNOWN			= 0,
	PERF_BR_PRIV_USER			= 1,
	PERF_BR_PRIV_KERNEL			= 2,
	PERF_BR_PRIV_HV				= 3,
};

/**
 * struct perf_branch_entry - one branch in PERF_SAMPLE_BRANCH_STACK
 * @from: address of the branch
 * @to: address of its target
 * @mispred: predicted wrongly; if neither this nor @predicted is set, it is not known
 * @predicted: predicted rightly
 * @in_tx: in a transaction
 * @abort: abort of a transaction
 * @cycles: cycles since the entry before it in time; 0 if not known
 * @type: PERF_BR_*, for PERF_SAMPLE_BRANCH_TYPE_SAVE
 * @spec: PERF_BR_SPEC_*
 * @new_type: PERF_BR_NEW_*, if @type is PERF_BR_EXTEND_ABI
 * @priv: PERF_BR_PRIV_*, for PERF_SAMPLE_BRANCH_PRIV_SAVE
 * @reserved: 0
 */
struct perf_branch_entry {
	__u64	from;
	__u64	to;
	__u64	mispred		:  1,
		predicted	:  1,
		in_tx		:  1,
		abort		:  1,
		cycles		: 16,
		type		:  4,
		spec		:  2,
		new_type	:  4,
		priv		:  3,
		reserved	: 31;
};

/* Bits of struct perf_branch_entry that are in use, behind its addresses. */
#define PERF_BRANCH_ENTRY_INFO_BITS_MAX		33

#endif /* _UAPI_LINUX_PERF_EVENT_H */
