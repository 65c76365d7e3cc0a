/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Definitions of the benchmark.
 *
 * A row is a unit of work (struct work) that is done while a set of events is open (struct events).
 * Its raw figure is the cost of one operation, its marginal figure the rest after subtracting the
 * floor row: the same work with no event open. Under QEMU's -icount shift=0 a nanosecond of
 * CLOCK_MONOTONIC is one retired instruction, so both are instruction counts.
 *
 * bench.c has the table of rows and main(), work.c the loops, files.c those about opening, mapping
 * and closing, events.c the events, probe.c those that the benchmark's own code hits, access.c the
 * register accesses, guest.c what an init process has to do before and after.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <linux/perf_event.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define MAX_FDS		2048
#define MAX_CGROUPS	128
#define POLLED		64
#define RING_PAGES	128

/**
 * enum probe - events that a row's own code hits
 * @PROBE_NONE: none: software and hardware events
 * @PROBE_KPROBE: the kernel's entry of getppid(2)
 * @PROBE_UPROBE: a function of the benchmark
 * @PROBE_BREAKPOINT: a write to a variable of the benchmark
 */
enum probe {
	PROBE_NONE,
	PROBE_KPROBE,
	PROBE_UPROBE,
	PROBE_BREAKPOINT,
};

/**
 * struct events - the events that are open while a row runs
 * @sw: counting software events per target
 * @hw: hardware events per target
 * @cgroups: number of cgroups that have one hardware event each on CPU 0
 * @both: the peer task has the same events as the benchmark's own
 * @cpu: on CPU 0 instead of on the task
 * @group: the events form one group instead of one group each
 * @inherit: children get them
 * @sideband: a dummy event that requests mmap, comm and task records
 * @disabled: never enabled
 * @exec: enabled when the task calls execve(2)
 * @freq: @period is a frequency
 * @bpf: each hit runs a BPF program that returns 0
 * @probe: the events counted as @sw are of this kind
 * @pages: data pages of a buffer that each event gets; 0: no buffer
 * @stack: bytes of PERF_SAMPLE_STACK_USER
 * @precise: attr.precise_ip; such hardware events are instructions alone
 * @branches: samples have these branches of user space
 * @topdown: such hardware events are slots, which lead the group, and top-down metrics
 * @ibs: such a hardware event is of AMD's instruction based sampling, of ops
 * @period: sample each @period events; 0 counts only
 * @sample_type: what a sample holds
 */
struct events {
	unsigned short	sw;
	unsigned short	hw;
	unsigned short	cgroups;
	bool		both;
	bool		cpu;
	bool		group;
	bool		inherit;
	bool		sideband;
	bool		disabled;
	bool		exec;
	bool		freq;
	bool		bpf;
	enum probe	probe;
	unsigned int	pages;
	unsigned int	stack;
	unsigned int	precise;
	uint64_t	branches;
	bool		topdown;
	bool		ibs;
	uint64_t	period;
	uint64_t	sample_type;
};

struct row;

/**
 * struct access - accesses to the PMU's registers since the machine started
 * @writes: WRMSR
 * @reads: RDMSR
 * @rdpmc: RDPMC
 */
struct access {
	uint64_t	writes;
	uint64_t	reads;
	uint64_t	rdpmc;
};

/**
 * struct run - what a row needs while it runs
 * @row: the row
 * @fd: the open events, the leader of a group before its members
 * @nr_fds: how many
 * @map: header pages of the events' buffers, NULL for events without a buffer
 * @ring: header page of the first event's ring buffer, or NULL
 * @peer: the other task of a row with two, 0 if there is none
 * @to_peer: pipe towards the peer
 * @from_peer: pipe back
 * @area: memory that the row faults in
 * @before: register accesses before the measured rounds
 * @reason: why the row failed or was skipped
 * @skip: the machine lacks what the row is about
 */
struct run {
	const struct row		*row;
	int				fd[MAX_FDS];
	int				nr_fds;
	struct perf_event_mmap_page	*map[MAX_FDS];
	struct perf_event_mmap_page	*ring;
	pid_t				peer;
	int				to_peer[2];
	int				from_peer[2];
	char				*area;
	struct access			before;
	char				reason[160];
	bool				skip;
};

/**
 * struct work - something done many times over
 * @rounds: how often a round is measured; the middle half makes the row's figure
 * @ops: operations per round
 * @setup: makes tasks and memory, before the events are opened; may be NULL
 * @prepare: called before each round, not measured; may be NULL
 * @round: does @ops operations
 * @teardown: undoes @setup, after the events are closed; may be NULL
 * @opens: @round itself opens what the row is about
 * @turns: number of turns in which a row and its floor alternate, where earlier work changes the
 *         cost; 0: none
 *
 * The callbacks return false with run->reason set when they fail.
 */
struct work {
	unsigned int	rounds;
	unsigned int	ops;
	bool		(*setup)(struct run *run);
	bool		(*prepare)(struct run *run);
	bool		(*round)(struct run *run, unsigned int ops);
	void		(*teardown)(struct run *run);
	bool		opens;
	unsigned int	turns;
};

/**
 * struct row - one line of the result
 * @name: as in the performance table
 * @work: what is done
 * @events: what is open meanwhile
 * @floor: name of the row to take away, NULL for an absolute figure
 * @records: records that one operation must leave in the ring buffer, 0 if it is not looked at
 * @record_type: of which type; 0 is samples
 * @per_record: the figure is per record instead of per operation
 */
struct row {
	const char		*name;
	const struct work	*work;
	struct events		events;
	const char		*floor;
	unsigned int		records;
	uint32_t		record_type;
	bool			per_record;
};

extern const struct work work_getppid, work_open_close, work_open_reject, work_read, work_toggle;
extern const struct work work_switch2, work_fork_exit, work_fault, work_mmap_exec, work_spin;
extern const struct work work_overflow, work_overflow_batch, work_fault_few, work_fault_deep;
extern const struct work work_exec, work_exec_enable, work_toggle_group;
extern const struct work work_period, work_poll, work_read_inherited;
extern const struct work work_close, work_open_many, work_close_many, work_set_output;
extern const struct work work_map, work_unmap, work_unmap_freed, work_call, work_store;

uint64_t now_ns(void);
bool run_failed(struct run *run, const char *what);

bool events_open(struct run *run);
bool events_open_one(struct run *run, int *fd);
bool events_open_target(struct run *run, pid_t pid);
bool events_map(struct run *run);
void events_unmap(struct run *run);
bool events_check(struct run *run);
void events_close(struct run *run);
uint64_t ring_drain(struct run *run);

bool access_counts(struct access *access);

extern volatile long probe_stored;
void probe_called(void);
bool probe_attr(struct run *run, struct perf_event_attr *attr);
bool probe_set_bpf(struct run *run, int fd);

void spin(unsigned long instructions);

bool guest_setup(void);
void guest_finish(void);
int guest_cgroup(unsigned int index);
bool guest_join_cgroup(pid_t pid, unsigned int index);

#endif
