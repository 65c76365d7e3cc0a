/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names of events, and everything that needs the running kernel: opening, counting, buffers.
 *
 * Functions return 0 or a positive result, or a negative errno with a line for people in
 * struct tally_error. Nothing here is safe for two threads on one object, except where stated.
 */
#ifndef TALLY_OPEN_H
#define TALLY_OPEN_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>

#include "tally.h"

/* What the name of an event has set; a command's options do not override these. */
#define TALLY_SET_PERIOD	0x1	/* sample_period or sample_freq */
#define TALLY_SET_CALLGRAPH	0x2	/* call chains, or that there are none */
#define TALLY_SET_TIME		0x4	/* PERF_SAMPLE_TIME */
#define TALLY_SET_INHERIT	0x8	/* inherit */
#define TALLY_SET_BRANCH	0x10	/* branch_sample_type */
#define TALLY_SET_LEVEL		0x20	/* exclude_user, exclude_kernel, exclude_hv */
#define TALLY_SET_OVERWRITE	0x40	/* write_backward */
#define TALLY_SET_GUEST		0x80	/* exclude_host, exclude_guest */

/**
 * enum tally_callgraph - how call chains are taken
 * @TALLY_CALLGRAPH_NONE: not at all
 * @TALLY_CALLGRAPH_FP: by the kernel, along frame pointers
 * @TALLY_CALLGRAPH_DWARF: registers and a copy of the user stack, unwound by the reader
 * @TALLY_CALLGRAPH_LBR: from the branch records' call-stack mode
 */
enum tally_callgraph {
	TALLY_CALLGRAPH_NONE,
	TALLY_CALLGRAPH_FP,
	TALLY_CALLGRAPH_DWARF,
	TALLY_CALLGRAPH_LBR,
};

/**
 * struct tally_counter - one event as its name describes it, to be opened
 * @attr: what perf_event_open(2) gets, before a command adds to it
 * @name: the name for output, as written with its modifiers
 * @pmu: PMU's name in sysfs, or NULL for a name without one
 * @cpus: CPUs that the PMU counts for, as a list in the form of sysfs, or NULL for all
 * @unit: unit of @scale times the count, or NULL
 * @text: string that config1 points to (a probe's function or path), or NULL
 * @scale: factor of the count, 1.0 without a unit
 * @set: TALLY_SET_* of what the name has decided
 * @group: number of the group, from 0, or -1
 * @stack_size: bytes of user stack in a sample with TALLY_CALLGRAPH_DWARF, 0 for the default
 * @max_events: stop after this many samples, 0 for no limit
 * @callgraph: valid with TALLY_SET_CALLGRAPH
 * @leader: first event of its group
 * @weak: the group may be split if it does not fit
 * @precise_max: use the highest precise_ip that opens
 * @sample_read: the leader samples, the others are read with each sample
 * @percore: sum over the threads of a core
 * @unsupported: tally_open() has found that this machine does not have it
 * @aux: its driver fills an AUX area, which is mapped
 * @side_band: it is there for the records of what runs, and has no samples
 */
struct tally_counter {
	struct perf_event_attr attr;
	char *name;
	char *pmu;
	char *cpus;
	char *unit;
	char *text;
	double scale;
	unsigned int set;
	int group;
	unsigned int stack_size;
	uint64_t max_events;
	enum tally_callgraph callgraph;
	bool leader;
	bool weak;
	bool precise_max;
	bool sample_read;
	bool percore;
	bool unsupported;
	bool aux;
	bool side_band;
};

/**
 * struct tally_events - events in the order of their names
 * @event: array of @n
 * @n: number of events
 * @groups: number of groups
 */
struct tally_events {
	struct tally_counter *event;
	int n;
	int groups;
};

/**
 * tally_parse_events() - append the events of a list of names
 * @events: list to append to; zeroed before the first call
 * @text: names, separated by commas, groups in braces
 * @err: gets the column at which the text is wrong
 *
 * Return: number of events appended, -ENOENT for a name that this machine does not have, -EINVAL
 * for a text that is no list of names. The list is unchanged after an error.
 */
int tally_parse_events(struct tally_events *events, const char *text, struct tally_error *err);

/**
 * tally_free_events() - empty a list
 * @events: list that tally_parse_events() has filled
 */
void tally_free_events(struct tally_events *events);

/**
 * tally_branch_filter() - words for kinds of branches
 * @text: words with commas or plus signs between them: any, any_call, u, k, save_type and others
 * @mask: gets PERF_SAMPLE_BRANCH_*; PERF_SAMPLE_BRANCH_ANY if no word names a kind
 * @err: names the word that is wrong
 *
 * Return: 0, or -EINVAL.
 */
int tally_branch_filter(const char *text, uint64_t *mask, struct tally_error *err);

/**
 * tally_callgraph_mode() - word for a kind of call chains
 * @text: no, fp, dwarf, dwarf,SIZE or lbr
 * @mode: gets the kind
 * @stack_size: gets SIZE in bytes, unchanged without one
 * @err: gets the reason
 *
 * Return: 0, or -EINVAL.
 */
int tally_callgraph_mode(const char *text, enum tally_callgraph *mode, unsigned int *stack_size,
			 struct tally_error *err);

/**
 * tally_set_roots() - read sysfs and tracefs from other places, for tests
 * @sysfs: directory that has bus/event_source, or NULL for /sys
 * @tracefs: directory that has events/, or NULL for where it is mounted
 */
void tally_set_roots(const char *sysfs, const char *tracefs);

/**
 * struct tally_target - what is measured, as a command's options set it
 * @pids: processes, each with the threads that it has when the events are opened
 * @tids: single threads
 * @cpus: CPUs as a list in the form of sysfs, or NULL; without a task each CPU with all it runs
 * @cgroups: cgroups by path, below the mount of cgroup2 or absolute
 * @nr_pids: number of @pids
 * @nr_tids: number of @tids
 * @nr_cgroups: number of @cgroups
 * @all_cpus: all CPUs that are online
 * @per_cpu: tasks are measured on each CPU apart, for buffers of events that children inherit
 */
struct tally_target {
	pid_t *pids;
	pid_t *tids;
	const char *cpus;
	char **cgroups;
	int nr_pids;
	int nr_tids;
	int nr_cgroups;
	bool all_cpus;
	bool per_cpu;
};

/**
 * struct tally_place - where one file of an event counts: arguments of perf_event_open(2)
 * @pid: thread, -1 for all, or the file descriptor of a cgroup with PERF_FLAG_PID_CGROUP
 * @cpu: CPU, or -1 for any
 * @cgroup: index in tally_target.cgroups, or -1
 * @flags: PERF_FLAG_*
 */
struct tally_place {
	pid_t pid;
	int cpu;
	int cgroup;
	unsigned long flags;
};

/**
 * struct tally_count - a count with the times that it was enabled and running, ns
 * @value: sum over the places that were read
 * @enabled: time enabled
 * @running: time on a counter; less than @enabled if the event was multiplexed
 */
struct tally_count {
	uint64_t value;
	uint64_t enabled;
	uint64_t running;
};

/* What tally_open() did without, in tally_opened.fell_back. */
#define TALLY_FELL_USER		0x1	/* the kernel is left out: perf_event_paranoid */
#define TALLY_FELL_CLOCK	0x2	/* cpu-clock in place of cycles */
#define TALLY_FELL_FEATURES	0x4	/* members of the attr that the kernel is too old for */
#define TALLY_FELL_PRECISE	0x8	/* a lower precise_ip */
#define TALLY_FELL_GROUP	0x10	/* a weak group was split */

/**
 * struct tally_opened - events that are open
 * @events: events; tally_open() changes attrs and names where it falls back
 * @places: array of @nr_places
 * @fds: file of event e at place p at [e * nr_places + p], -1 where there is none
 * @ids: PERF_EVENT_IOC_ID of each file
 * @nr_places: number of places
 * @keep_unsupported: mark events that the machine lacks in place of failing
 * @clock_for_cycles: cpu-clock may take the place of cycles
 * @fell_back: TALLY_FELL_*
 * @lacks: rows of the table of features that the kernel has refused
 */
struct tally_opened {
	struct tally_events *events;
	struct tally_place *places;
	int *fds;
	uint64_t *ids;
	int nr_places;
	bool keep_unsupported;
	bool clock_for_cycles;
	unsigned int fell_back;
	unsigned int lacks;
};

/**
 * tally_places() - decide where files are opened
 * @target: what is measured
 * @places: gets an array that the caller frees
 * @err: gets the reason
 *
 * The only function that turns a target into files.
 *
 * Return: number of places, or a negative errno.
 */
int tally_places(const struct tally_target *target, struct tally_place **places,
		 struct tally_error *err);

/**
 * tally_open() - open all events at all places
 * @session: with @events, keep_unsupported and clock_for_cycles set, all else zero
 * @target: what is measured
 * @err: names the event, the kernel's reason, and what to do about it
 *
 * A leader, and an event without a group, is opened enabled or disabled by its attr; members are
 * opened enabled. Files of threads that have ended meanwhile are -1.
 *
 * Return: 0, or a negative errno; nothing stays open then.
 */
int tally_open(struct tally_opened *session, const struct tally_target *target,
	       struct tally_error *err);

/**
 * tally_close() - close all files
 * @session: session; its events remain the caller's
 */
void tally_close(struct tally_opened *session);

/**
 * tally_ioctl() - the same request for each file that does not follow a leader
 * @session: session
 * @request: PERF_EVENT_IOC_ENABLE, DISABLE or RESET
 *
 * Return: 0, or the first negative errno.
 */
int tally_ioctl(const struct tally_opened *session, unsigned long request);

/**
 * tally_read_counts() - read every file, a group with one system call
 * @session: session; its attrs have the times in read_format, and leaders PERF_FORMAT_GROUP
 * @counts: gets the count of event e at place p at [e * nr_places + p]
 * @err: gets the reason
 *
 * Return: 0, or a negative errno.
 */
int tally_read_counts(const struct tally_opened *session, struct tally_count *counts,
		      struct tally_error *err);

/**
 * tally_read_lost() - records of an event that had no room in its buffer
 * @session: session; the event has PERF_FORMAT_LOST, and with PERF_FORMAT_GROUP PERF_FORMAT_ID too
 * @event: index of the event
 * @place: index of the place
 *
 * Return: their number, children included; 0 if the kernel does not count them.
 */
uint64_t tally_read_lost(const struct tally_opened *session, int event, int place);

/**
 * tally_scale() - estimate of a count that was multiplexed
 * @count: count
 *
 * Return: value times enabled / running; 0 if the event never ran.
 */
uint64_t tally_scale(const struct tally_count *count);

/**
 * tally_kernel_reason() - why the kernel last refused a request of this thread
 * @text: gets the reason, empty on a kernel that gives none
 * @size: bytes at @text
 *
 * Return: length of the text.
 */
size_t tally_kernel_reason(char *text, size_t size);

/**
 * tally_explain() - describe a request that the kernel has refused
 * @err: gets what failed, the errno, the kernel's reason and what to do
 * @error: errno, positive
 * @what: the event or the request
 *
 * Must follow the request in the same thread, before any other one about events.
 *
 * Return: -@error.
 */
int tally_explain(struct tally_error *err, int error, const char *what);

/**
 * struct tally_command - a program that waits to be executed
 * @pid: its process, which has forked and waits
 * @go: writing end of the pipe that it waits at
 * @failed: reading end of the pipe that gets the errno of a failed exec
 * @to_stderr: what it prints to its output is an error output, since the output is for data
 */
struct tally_command {
	pid_t pid;
	int go;
	int failed;
	bool to_stderr;
};

/**
 * tally_command_prepare() - fork a process that will execute a program
 * @command: gets the process; with to_stderr set
 * @argv: program and arguments, up to NULL
 * @err: gets the reason
 *
 * Return: 0, or a negative errno.
 */
int tally_command_prepare(struct tally_command *command, char **argv, struct tally_error *err);

/**
 * tally_command_start() - let the process execute its program
 * @command: process
 * @name: name of the program, for the error
 * @err: gets the reason
 *
 * Return: 0, or the negative errno of exec.
 */
int tally_command_start(struct tally_command *command, const char *name, struct tally_error *err);

/**
 * tally_cpu_list() - numbers of a list in the form of sysfs
 * @text: such as "0-3,8", or NULL for the CPUs that are online
 * @cpus: gets an array that the caller frees, ascending as the text is
 * @err: gets the reason
 *
 * Return: number of CPUs, or a negative errno.
 */
int tally_cpu_list(const char *text, int **cpus, struct tally_error *err);

/**
 * enum tally_level - parts of a machine that counts are summed over
 * @TALLY_LEVEL_CPU: CPU, a thread of a core
 * @TALLY_LEVEL_CORE: core
 * @TALLY_LEVEL_DIE: die
 * @TALLY_LEVEL_SOCKET: socket
 * @TALLY_LEVEL_NODE: NUMA node
 */
enum tally_level {
	TALLY_LEVEL_CPU,
	TALLY_LEVEL_CORE,
	TALLY_LEVEL_DIE,
	TALLY_LEVEL_SOCKET,
	TALLY_LEVEL_NODE,
};

/**
 * tally_part_of() - the part of the machine that has a CPU
 * @cpu: CPU
 * @level: kind of part
 * @name: gets its name, such as S0-D0-C1
 * @size: bytes at @name
 *
 * Return: a number that two CPUs share if they are of the same part.
 */
uint64_t tally_part_of(int cpu, enum tally_level level, char *name, size_t size);

/**
 * struct tally_ring - a mapped buffer
 * @page: first page, with positions of the kernel and of the reader
 * @data: records, @size bytes, a power of two
 * @size: bytes of @data
 * @fd: file that is mapped
 * @cpu: CPU of its records, or -1
 * @place: index of the place
 * @thread: number of the pump's thread that reads it
 * @overwrite: the newest records replace the oldest (write_backward); read at the end only
 * @aux: AUX area, @aux_size bytes, a power of two; NULL without one
 * @aux_size: bytes of @aux
 * @aux_fd: file of the event that fills it
 */
struct tally_ring {
	struct perf_event_mmap_page *page;
	uint8_t *data;
	size_t size;
	int fd;
	int cpu;
	int place;
	int thread;
	bool overwrite;
	uint8_t *aux;
	size_t aux_size;
	int aux_fd;
};

/**
 * struct tally_rings - the buffers of a session
 * @ring: array of @n
 * @n: number of buffers
 * @pages: pages of each, without the first
 */
struct tally_rings {
	struct tally_ring *ring;
	int n;
	unsigned int pages;
};

/**
 * tally_rings_pages() - pages of a buffer
 * @events: events
 * @pages: requested pages, or 0
 *
 * Return: @pages, or what an unprivileged user may lock for each CPU.
 */
unsigned int tally_rings_pages(const struct tally_events *events, unsigned int pages);

/* A reader is woken when so large a part of a buffer is full: it has the rest of it as time. */
#define TALLY_WATERMARK_PART	4

/**
 * tally_rings_watermark() - when a reader is woken
 * @events: events that are not open
 * @pages: as tally_rings_map() gets
 */
void tally_rings_watermark(struct tally_events *events, unsigned int pages);

/**
 * tally_rings_map() - map a buffer for each CPU or task, all events write to it
 * @rings: gets the buffers
 * @session: session that is open and not enabled
 * @pages: pages of a buffer, a power of two, or 0 for the default of tally_rings_pages()
 * @err: gets the reason
 *
 * Events with write_backward write to a second buffer for each CPU or task.
 *
 * Return: 0, or a negative errno.
 */
int tally_rings_map(struct tally_rings *rings, const struct tally_opened *session,
		    unsigned int pages, struct tally_error *err);

/**
 * tally_rings_unmap() - unmap all buffers, and their AUX areas
 * @rings: buffers
 */
void tally_rings_unmap(struct tally_rings *rings);

/**
 * tally_ring_of() - the buffer of a place
 * @rings: buffers that are mapped
 * @session: session
 * @place: index of the place
 * @overwrite: the buffer with records that are overwritten
 *
 * Return: the buffer of the place's CPU, or of its task on any CPU; NULL if there is none.
 */
struct tally_ring *tally_ring_of(struct tally_rings *rings, const struct tally_opened *session,
				 int place, bool overwrite);

/**
 * tally_aux_pages() - pages of an AUX area
 * @pages: requested pages, or 0
 *
 * Return: @pages, or those of 4 MiB, or of 128 KiB for a user other than root.
 */
unsigned int tally_aux_pages(unsigned int pages);

/**
 * tally_aux_watermark() - when a reader is woken to take what an AUX area has
 * @events: events that are not open
 * @pages: as tally_aux_map() gets
 */
void tally_aux_watermark(struct tally_events *events, unsigned int pages);

/**
 * tally_aux_map() - map an AUX area for each buffer that an event with @aux writes to
 * @rings: buffers that are mapped
 * @session: session that is open and not enabled; one event has @aux
 * @pages: pages of an area, a power of two, or 0 for the default of tally_aux_pages()
 * @err: gets the reason
 *
 * Return: 0, or a negative errno; -EOPNOTSUPP: the PMU has no AUX area.
 */
int tally_aux_map(struct tally_rings *rings, const struct tally_opened *session,
		  unsigned int pages, struct tally_error *err);

/**
 * tally_aux_unmap() - unmap the AUX area of a buffer
 * @ring: buffer, which may have none
 */
void tally_aux_unmap(struct tally_ring *ring);

/**
 * struct tally_piece - what a buffer has, a part at its end and a part at its begin
 * @head: first part
 * @head_size: bytes of @head
 * @tail: second part, where the buffer wraps; a record may lie across both
 * @tail_size: bytes of @tail, or 0
 */
struct tally_piece {
	const uint8_t *head;
	size_t head_size;
	const uint8_t *tail;
	size_t tail_size;
};

/**
 * tally_piece_copy() - copy bytes that may lie across both parts
 * @piece: piece
 * @at: first byte
 * @to: gets the bytes
 * @size: number of bytes; @at + @size is not beyond the piece
 */
void tally_piece_copy(const struct tally_piece *piece, size_t at, void *to, size_t size);

/**
 * struct tally_pump - threads that empty buffers, one for each NUMA node
 * @rings: buffers
 * @take: called with what a buffer has; from the thread of the buffer
 * @take_aux: called with what an AUX area has, after what its buffer has, and the position of its
 *	first byte since the start
 * @arg: first argument of @take and @take_aux
 * @threads: private
 * @nr_threads: number of threads; the caller's alone if there is one node
 * @enable_aux: events are enabled again after their AUX area was emptied: a full one ends them
 */
struct tally_pump {
	struct tally_rings *rings;
	void (*take)(void *arg, const struct tally_ring *ring, const struct tally_piece *piece);
	void (*take_aux)(void *arg, const struct tally_ring *ring, const struct tally_piece *piece,
			 uint64_t offset);
	void *arg;
	struct tally_pump_threads *threads;
	int nr_threads;
	bool enable_aux;
};

/**
 * tally_pump_start() - assign buffers to nodes, start a thread for each node
 * @pump: with rings, take and arg set
 * @nr_threads: number of threads, or 0 for the number of nodes
 * @err: gets the reason
 *
 * Return: 0, or a negative errno.
 */
int tally_pump_start(struct tally_pump *pump, int nr_threads, struct tally_error *err);

/**
 * tally_pump_pass() - empty each buffer once
 * @pump: pump
 *
 * Records that are in a buffer when the pass begins are taken when it returns. What the pass after
 * the next takes is not older than the newest record of this one.
 *
 * Return: bytes that were taken.
 */
uint64_t tally_pump_pass(struct tally_pump *pump);

/**
 * tally_pump_last() - take what the buffers with overwritten records hold
 * @pump: pump, its events are disabled
 *
 * Each buffer is taken once, from its newest record to its oldest, by the calling thread. A record
 * that is overwritten in part is left out.
 *
 * Return: bytes that were taken.
 */
uint64_t tally_pump_last(struct tally_pump *pump);

/**
 * tally_aux_take() - take what an AUX area has, as a pass does
 * @pump: pump
 * @ring: buffer with an AUX area
 *
 * Return: bytes that were taken.
 */
uint64_t tally_aux_take(struct tally_pump *pump, const struct tally_ring *ring);

/**
 * tally_pump_stop() - end the threads
 * @pump: pump
 */
void tally_pump_stop(struct tally_pump *pump);

/**
 * struct tally_order - records of several buffers by time, with bounded memory
 *
 * Records are put while a pass is made. tally_order_round() after the pass gives those that no
 * later record can precede. Beyond @limit bytes the oldest are given early.
 *
 * @limit: bytes that are kept at most
 * @give: called with each record, the oldest first
 * @arg: first argument of @give
 * @early: records that were given before their round
 * @late: records that were older than one given before
 * @last: time of the last record that was given
 * @newest: newest time of this pass
 * @round: newest time of the pass before
 * @used: bytes that are kept
 * @kept: private, a heap of records
 * @n: number of records that are kept
 * @room: private
 * @sequence: private
 */
struct tally_order {
	size_t limit;
	void (*give)(void *arg, const struct perf_event_header *record, uint64_t time);
	void *arg;
	uint64_t early;
	uint64_t late;
	uint64_t last;
	uint64_t newest;
	uint64_t round;
	size_t used;
	struct tally_kept *kept;
	size_t n;
	size_t room;
	uint64_t sequence;
};

/**
 * tally_order_put() - keep a record
 * @order: order, with limit, give and arg set, all else zero at first
 * @record: record, which is copied
 * @time: its time
 *
 * Return: 0, or -ENOMEM.
 */
int tally_order_put(struct tally_order *order, const struct perf_event_header *record,
		    uint64_t time);

/**
 * tally_order_round() - a pass over all buffers has ended
 * @order: order
 */
void tally_order_round(struct tally_order *order);

/**
 * tally_order_end() - give all records, free the memory
 * @order: order
 */
void tally_order_end(struct tally_order *order);

/**
 * tally_aux_is_known() - does the event's PMU fill an AUX area of a known kind?
 * @event: event
 *
 * Return: true for processor traces, branch traces and statistical profiling.
 */
bool tally_aux_is_known(const struct tally_counter *event);

/**
 * tally_aux_is_described() - can tally_auxtrace_info() describe what is in the AUX area?
 * @event: event
 *
 * Return: false for a PMU that is not known, and for one with a decoder that needs its registers.
 */
bool tally_aux_is_described(const struct tally_counter *event);

/**
 * tally_auxtrace_info() - the record AUXTRACE_INFO, which precedes what AUX areas have
 * @buf: buffer to append to
 * @event: event with an AUX area
 * @page: first page of a buffer
 * @per_cpu: the buffers are those of CPUs
 *
 * Return: 0, or -ENOENT if tally_aux_is_described() is false or sysfs lacks the PMU.
 */
int tally_auxtrace_info(struct tally_buf *buf, const struct tally_counter *event,
			const struct perf_event_mmap_page *page, bool per_cpu);

/**
 * tally_id_index() - records ID_INDEX: the buffer, CPU and task of each id
 * @buf: buffer to append to
 * @rings: buffers
 * @session: session
 */
void tally_id_index(struct tally_buf *buf, struct tally_rings *rings,
		    const struct tally_opened *session);

/**
 * tally_synthesize_kernel() - records of the kernel's and the modules' mappings
 * @buf: buffer to append to
 * @id_size: bytes of zeroes at the end of each record, tally_sample_id_size()
 *
 * Without the right to read addresses in /proc/kallsyms there are none.
 */
void tally_synthesize_kernel(struct tally_buf *buf, unsigned int id_size);

/**
 * tally_synthesize_process() - COMM and MMAP2 records of a process that runs already
 * @buf: buffer to append to
 * @pid: process
 * @id_size: bytes of zeroes at the end of each record
 *
 * Threads have a FORK and a COMM record each. A process that has ended has no records.
 */
void tally_synthesize_process(struct tally_buf *buf, pid_t pid, unsigned int id_size);

/**
 * tally_synthesize_all() - the same for all processes
 * @buf: buffer to append to
 * @id_size: bytes of zeroes at the end of each record
 */
void tally_synthesize_all(struct tally_buf *buf, unsigned int id_size);

/**
 * struct tally_object - a file, or the kernel or a module
 * @name: path, NULL where the table is empty
 * @pid: process that has mapped it first, -1 for the kernel
 * @time: when that was, 0 for what was mapped before
 * @order: number among those that were added
 * @id: which file of this path it is
 * @build_id: its build id
 * @size: bytes of @build_id, 0 if it is not known
 */
struct tally_object {
	char *name;
	pid_t pid;
	uint64_t time;
	size_t order;
	struct tally_file_id id;
	uint8_t build_id[20];
	unsigned int size;
};

/**
 * struct tally_objects - files and kernel objects that are mapped executable
 * @object: each once, a hash table of @room entries
 * @n: number of objects
 * @room: a power of two, or 0
 * @since: when the first one was added, by the clock that files have their times of
 */
struct tally_objects {
	struct tally_object *object;
	size_t n;
	size_t room;
	struct timespec since;
};

/**
 * tally_objects_add() - note a mapped object
 * @objects: objects, zeroed before the first call
 * @name: path as the MMAP or MMAP2 record has it
 * @pid: process of the record, -1 for the kernel
 * @id: the file by the MMAP2 record, zeroed if there is none
 * @time: of the record, 0 if it describes what was mapped before
 *
 * Buffers are emptied one after another: records are not in the order of their times.
 *
 * Return: 0, or -ENOMEM.
 */
int tally_objects_add(struct tally_objects *objects, const char *name, pid_t pid,
		      const struct tally_file_id *id, uint64_t time);

/**
 * tally_objects_build_ids() - contents of the section BUILD_ID
 * @objects: objects; gets the build ids
 * @buf: buffer to append to
 *
 * A file that was replaced has no build id, unless a record had it or a process still has the file.
 * Objects without one are left out, but for those that have a path in common with one that has it:
 * these have zeroes. They are in the order in which they were mapped.
 *
 * Return: 0, or -ENOMEM.
 */
int tally_objects_build_ids(struct tally_objects *objects, struct tally_buf *buf);

/**
 * tally_objects_free() - free the paths
 * @objects: objects
 */
void tally_objects_free(struct tally_objects *objects);

/**
 * tally_tracing_data() - contents of the section TRACING_DATA
 * @events: events; those that are tracepoints are described
 * @buf: buffer to append to
 *
 * Return: false if no event is a tracepoint; @buf is unchanged then.
 */
bool tally_tracing_data(const struct tally_events *events, struct tally_buf *buf);

/**
 * struct tally_self - an event of the calling thread that it reads itself
 * @fd: file of the event
 * @page: its mapped page, or NULL
 * @page_size: bytes that are mapped
 */
struct tally_self {
	int fd;
	struct perf_event_mmap_page *page;
	size_t page_size;
};

/**
 * tally_self_open() - count an event in the calling thread, from now on
 * @self: gets the event
 * @name: one event, such as instructions:u
 * @err: gets the reason
 *
 * Children are not counted, and other threads must not read the event.
 *
 * Return: 0, or a negative errno.
 */
int tally_self_open(struct tally_self *self, const char *name, struct tally_error *err);

/**
 * tally_read() - the count so far
 * @self: event of the calling thread
 * @value: gets the count, unscaled
 *
 * Reads the counter's register if the page allows it and the event is on a counter, else the file.
 *
 * Return: 1 without a system call, 0 with one, or a negative errno.
 */
int tally_read(const struct tally_self *self, uint64_t *value);

/**
 * tally_read_times() - the count so far with its times
 * @self: event of the calling thread
 * @count: gets the count and the times, for tally_scale()
 *
 * As tally_read(); without a system call only if the page also allows to read the time.
 *
 * Return: 1 without a system call, 0 with one, or a negative errno.
 */
int tally_read_times(const struct tally_self *self, struct tally_count *count);

/**
 * tally_self_close() - close the event
 * @self: event
 */
void tally_self_close(struct tally_self *self);

#endif
