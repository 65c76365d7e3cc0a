// SPDX-License-Identifier: GPL-2.0
/*
 * The branch trace store of Intel: exact records of a program with known branches in the AUX area,
 * the reader's wake-ups, full, overwritten and unmapped areas, tasks that take turns, refusals.
 */
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "processes.h"
#include "records.h"
#include "require.h"
#include "workloads.h"

#ifdef __x86_64__
#include "x86_bts.h"
#include "x86_rdpmc.h"

#include <poll.h>

#define NOBODY_ID	65534
#define DATA_PAGES	64

static long page;

struct aux_record {
	struct perf_event_header	header;
	uint64_t			offset, size, flags;
};

struct area {
	int		fd;
	struct ring	ring;
	char		*aux;
	uint64_t	size;
};

static void bts_setup(void)
{
	page = sysconf(_SC_PAGESIZE);
	need_bts();
}

/* Returns 0, or -1 and errno. */
static int map_aux(struct area *area, unsigned int pages, int prot)
{
	struct perf_event_mmap_page *user = area->ring.page;

	user->aux_offset = (1 + DATA_PAGES) * page;
	user->aux_size = pages * page;
	area->size = user->aux_size;
	area->aux = mmap(NULL, area->size, prot, MAP_SHARED, area->fd, user->aux_offset);
	return area->aux == MAP_FAILED ? -1 : 0;
}

static void open_data(struct area *area, struct perf_event_attr *attr)
{
	area->fd = MUST(perf_open(attr, 0, -1, -1, 0));
	if (!ring_map(&area->ring, area->fd, DATA_PAGES))
		fail_case("mmap");
}

static void open_area(struct area *area, struct perf_event_attr *attr, unsigned int pages, int prot)
{
	open_data(area, attr);
	MUST(map_aux(area, pages, prot));
}

static bool next_aux(struct area *area, struct aux_record *record)
{
	struct perf_event_header *h = ring_find(&area->ring, PERF_RECORD_AUX);

	if (h)
		memcpy(record, h, sizeof(*record));
	return h;
}

static struct bts_record record_at(const struct area *area, uint64_t pos)
{
	uint64_t at[3];

	for (unsigned int i = 0; i < 3; i++)
		memcpy(&at[i], area->aux + ((pos + 8 * i) & (area->size - 1)), 8);
	return (struct bts_record){ at[0], at[1], at[2] };
}

static void walk_range(const struct area *area, uint64_t from, uint64_t size, struct walk *w)
{
	/* A record does not wrap: there are zeroes at the end of the area. */
	for (uint64_t pos = from, end = from + size; pos + 24 <= end; pos += 24) {
		struct bts_record r;

		if ((pos & (area->size - 1)) + 24 > area->size) {
			pos = (pos | (area->size - 1)) + 1 - 24;
			continue;
		}
		r = record_at(area, pos);
		walk_record(w, &r);
	}
}

/* ------------------------------------------------------------------------ cases */

/*
 * The AUX record begins with the end of the last one. A record for the processor does not fit where
 * two parts of memory meet: its bytes are left out, and zero.
 */
static bool follows(const struct area *area, uint64_t end, uint64_t offset)
{
	struct bts_record gap;

	if (offset != end + sizeof(gap) || end / page == offset / page)
		return expect_eq("offset", offset, end);
	gap = record_at(area, end);
	return expect(!gap.from && !gap.to && !gap.flags, "the record left out at %#lx: %#lx %#lx",
		      (long)end, (long)gap.from, (long)gap.to);
}

static bool exact_in(unsigned int pages, unsigned int rounds)
{
	struct perf_event_attr attr = bts_attr("u");
	struct walk w = NEW_WALK;
	struct aux_record r;
	uint64_t end = 0;
	struct area area;
	bool good = true;

	require_exact_instructions();
	open_area(&area, &attr, pages, PROT_READ | PROT_WRITE);
	event_enable(area.fd);
	branch_loop(rounds);
	event_disable(area.fd);
	while (next_aux(&area, &r)) {
		good &= expect_eq("flags", r.flags, 0) & follows(&area, end, r.offset);
		walk_range(&area, r.offset, r.size, &w);
		end = r.offset + r.size;
	}
	return good & walk_is_exact(&w, rounds, 1) &
	       expect_eq("head", area.ring.page->aux_head, end) &
	       expect_eq("bytes of a part of a record", end % 24, 0);
}

static bool trace_is_exact(void)
{
	return exact_in(64, 1000);
}

/* The kernel has no contiguous memory of more than 4 MiB for it. */
static bool trace_of_parts(void)
{
	return exact_in(2048, 40000);
}

/* The area's size is no multiple of a record's; the trace wraps several times. */
static bool trace_goes_round(void)
{
	struct perf_event_attr attr = bts_attr("u");
	struct walk w = NEW_WALK;
	struct aux_record r;
	struct area area;
	uint64_t end = 0;
	unsigned int backward = 0, flags = 0;

	require_exact_instructions();
	open_area(&area, &attr, 16, PROT_READ | PROT_WRITE);
	for (unsigned int i = 0; i < 20; i++) {
		event_enable(area.fd);
		branch_loop(300);
		event_disable(area.fd);
		while (next_aux(&area, &r)) {
			walk_range(&area, r.offset, r.size, &w);
			backward += r.offset < end;
			flags += !!r.flags;
			end = r.offset + r.size;
		}
		area.ring.page->aux_tail = area.ring.page->aux_head;
	}
	return walk_is_exact(&w, 300, 20) & expect_eq("records that overlap", backward, 0) &
	       expect_eq("records with flags", flags, 0) &
	       expect(end > 10 * area.size, "%lu bytes in all", (long)end);
}

/* Signals that were sent, which are blocked. */
static unsigned int signals_taken(const sigset_t *set)
{
	unsigned int n = 0;

	while (sigtimedwait(set, NULL, &(struct timespec){ 0 }) > 0)
		n++;
	return n;
}

#define WATERMARK	2400	/* of 100 records */

/* The interrupt at the watermark is a branch, too, and the last one of its record. */
static bool reader_is_woken(void)
{
	struct perf_event_attr attr = bts_attr("u");
	unsigned int whole = 0, records = 0, signals;
	struct aux_record r;
	struct area area;
	uint64_t end = 0;
	sigset_t set;

	require_exact_instructions();
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	MUST(sigprocmask(SIG_BLOCK, &set, NULL));
	attr.aux_watermark = WATERMARK;
	open_area(&area, &attr, 32, PROT_READ | PROT_WRITE);
	MUST(fcntl(area.fd, F_SETSIG, SIGRTMIN));
	MUST(fcntl(area.fd, F_SETOWN, getpid()));
	MUST(fcntl(area.fd, F_SETFL, O_ASYNC));
	event_enable(area.fd);
	branch_loop(300);
	event_disable(area.fd);
	signals = signals_taken(&set);
	while (next_aux(&area, &r)) {
		whole += (r.offset + r.size) % WATERMARK == sizeof(struct bts_record);
		records++;
		end = r.offset + r.size;
	}
	return expect(end > 2100 * 24, "%lu bytes", (long)end) &
	       expect_eq("signals", signals, end / WATERMARK) &
	       expect_eq("records up to a watermark", whole, end / WATERMARK) &
	       expect_eq("records", records, end / WATERMARK + !!(end % WATERMARK));
}

/* Nothing is read: the trace ends with the area, the event is disabled, the reader woken. */
static bool full_pages_end_it(unsigned int pages)
{
	uint64_t room = pages * page / 24 * 24;
	struct perf_event_attr attr = bts_attr("u");
	struct walk w = NEW_WALK;
	struct pollfd p = { .events = POLLIN };
	struct aux_record r = { .flags = 0 };
	struct area area;
	uint64_t end = 0;
	bool good;

	open_area(&area, &attr, pages, PROT_READ | PROT_WRITE);
	p.fd = area.fd;
	event_enable(area.fd);
	branch_loop(100);
	event_disable(area.fd);
	while (next_aux(&area, &r)) {
		walk_range(&area, r.offset, r.size, &w);
		end = r.offset + r.size;
	}
	good = expect_eq("flags of the last record", r.flags, PERF_AUX_FLAG_TRUNCATED) &
	       expect_eq("its end", end, room) & expect_eq("head", area.ring.page->aux_head, end) &
	       expect_eq("readable", poll(&p, 1, 0), 1) & expect_eq("wrong ones", w.wrong, 0) &
	       expect(w.loop > room / 24 - 40 && !w.ends, "%u branches of the loop", w.loop);

	area.ring.page->aux_tail = end;
	w = (struct walk)NEW_WALK;
	event_enable(area.fd);
	branch_loop(20);
	event_disable(area.fd);
	while (next_aux(&area, &r))
		walk_range(&area, r.offset, r.size, &w);
	good &= walk_is_exact(&w, 20, 1);
	munmap(area.aux, area.size);
	ring_unmap(&area.ring);
	close(area.fd);
	return good;
}

static bool full_area_ends_it(void)
{
	require_exact_instructions();
	return full_pages_end_it(2) & full_pages_end_it(1);
}

/* Mapped for reading alone the area is a ring, of which the last part of the trace remains. */
static bool area_is_overwritten(void)
{
	struct perf_event_attr attr = bts_attr("u");
	struct walk w = { .last = -1 };
	struct aux_record r = { .flags = 0 };
	struct area area;
	uint64_t ring;
	bool good;

	require_exact_instructions();
	open_area(&area, &attr, 4, PROT_READ);
	ring = area.size / 24 * 24;
	event_enable(area.fd);
	branch_loop(1000);
	event_disable(area.fd);
	good = expect(next_aux(&area, &r), "a record") &
	       expect_eq("flags", r.flags, PERF_AUX_FLAG_OVERWRITE) &
	       expect_eq("size", r.size, area.size) &
	       expect(r.offset <= ring && r.offset % 24 == 0, "ends at %lu", (long)r.offset) &
	       expect_eq("head", area.ring.page->aux_head, r.offset);
	walk_range(&area, r.offset, ring - r.offset, &w);
	walk_range(&area, 0, r.offset, &w);
	return good & expect_eq("wrong ones", w.wrong, 0) & expect_eq("returns", w.ends, 1) &
	       expect(w.loop > ring / 24 - 40, "%u branches of %lu", w.loop, (long)(ring / 24));
}

/* What was traced before has its record. A new area is filled as the first was. */
static bool unmapped_while_filled(void)
{
	struct perf_event_attr attr = bts_attr("u");
	struct walk w = NEW_WALK;
	struct aux_record r = { .size = 0 };
	struct area area;
	bool good;

	require_exact_instructions();
	open_area(&area, &attr, 16, PROT_READ | PROT_WRITE);
	event_enable(area.fd);
	branch_loop(100);
	munmap(area.aux, area.size);
	branch_loop(100);
	event_disable(area.fd);
	good = expect(next_aux(&area, &r), "a record of the trace") &
	       expect_between("its branches", r.size / 24, 700, 760) &
	       expect(!next_aux(&area, &r), "one record");

	MUST(map_aux(&area, 16, PROT_READ | PROT_WRITE));
	event_enable(area.fd);
	branch_loop(100);
	event_disable(area.fd);
	while (next_aux(&area, &r))
		walk_range(&area, r.offset, r.size, &w);
	return good & walk_is_exact(&w, 100, 1);
}

static bool others_are_not_traced(void)
{
	struct perf_event_attr attr = bts_attr("u");
	struct gate go = gate_new(), back = gate_new();
	struct walk w = NEW_WALK;
	unsigned int records = 0;
	struct aux_record r;
	struct area area;
	pid_t other;

	require_exact_instructions();
	MUST(pin_to_cpu(0));
	other = fork_worker(&go, &back, run_other);
	open_area(&area, &attr, 64, PROT_READ | PROT_WRITE);
	event_enable(area.fd);
	take_turns(&go, &back, TURNS, run_mine);
	event_disable(area.fd);
	kill_child(other);
	while (next_aux(&area, &r)) {
		walk_range(&area, r.offset, r.size, &w);
		records++;
	}
	return walk_is_exact(&w, 15, TURNS) & expect_eq("branches of the other", w.foreign, 0) &
	       expect(records >= TURNS, "%u records", records);
}

/*
 * In one record of the trace, what is executed from a branch's target on is straight code up to the
 * next branch, unless user space was in between.
 */
static void follow_kernel(const struct area *area, const struct aux_record *a, unsigned int *n,
			  unsigned int *wrong)
{
	uint64_t last = 0;

	for (uint64_t pos = a->offset; pos < a->offset + a->size; pos += 24) {
		struct bts_record r = record_at(area, pos);

		*n += 1;
		if (!(r.from >> 63) || (last >> 63 && r.from - last > 16384))
			if (!(*wrong)++)
				ktap_note("kernel's branch %u: %#lx, after one to %#lx", *n,
					  (long)r.from, (long)last);
		last = r.to;
	}
}

static bool kernel_is_traced(void)
{
	struct perf_event_attr attr = bts_attr("k");
	unsigned int n = 0, wrong = 0, flags = 0;
	struct aux_record r;
	struct area area;

	require_exact_instructions();
	attr.aux_watermark = 24000;
	open_area(&area, &attr, 2048, PROT_READ | PROT_WRITE);
	/* The area has room for more than what the kernel executes between two readings. */
	for (unsigned int i = 0; i < 300; i++) {
		event_enable(area.fd);
		getppid();
		event_disable(area.fd);
		while (next_aux(&area, &r)) {
			follow_kernel(&area, &r, &n, &wrong);
			flags |= r.flags;
		}
		area.ring.page->aux_tail = area.ring.page->aux_head;
	}
	return expect(n > 3000, "%u branches", n) & expect_eq("that do not follow", wrong, 0) &
	       expect_eq("flags", flags, 0);
}

/* A request of a user without privileges, while perf_event_paranoid is @paranoid. */
static bool asks_as_nobody(int paranoid, const char *modes, const char *reason)
{
	pid_t pid = fork_child();
	bool good;

	if (pid)
		return child_succeeded(pid);
	MUST(sysctl_set("perf_event_paranoid", paranoid));
	MUST(setuid(NOBODY_ID));
	if (reason)
		good = expect_refused(modes, open_bts(modes), EACCES, reason);
	else
		good = expect(open_bts(modes) >= 0, "%s: errno %d", modes, errno);
	fflush(stdout);
	_exit(!good);
}

static bool trace_needs_permission(void)
{
	long old = sysctl_get("perf_event_paranoid", -2);
	bool good = true;

	good &= asks_as_nobody(2, "u", "exclude_kernel: a trace has addresses of the kernel");
	good &= asks_as_nobody(2, "k", "kernel");
	good &= asks_as_nobody(1, "u", NULL);
	good &= asks_as_nobody(1, "k", NULL);
	MUST(sysctl_set("perf_event_paranoid", old));
	return good;
}

/* Branch records and the trace exclude each other; so do two traces of a task. */
static bool trace_is_exclusive(void)
{
	struct perf_event_attr branches = branch_attr(FORM_ANY);
	bool good;
	int fd;

	fd = MUST(perf_open(&branches, 0, -1, -1, 0));
	good = expect_refused("beside branch records", open_bts("u"), EBUSY, "type: branches");
	close(fd);
	fd = MUST(open_bts("u"));
	good &= expect_refused("branch records", perf_open(&branches, 0, -1, -1, 0), EBUSY,
			       "branches are being traced");
	good &= expect_refused("a second trace", open_bts("u"), EBUSY, "");
	close(fd);
	good &= expect((fd = open_bts("u")) >= 0, "afterwards: errno %d", errno);
	return good;
}

/* No record of branches is written beside a trace, whichever other events are open. */
static bool records_end_before_trace(void)
{
	struct perf_event_attr branches = branch_attr(FORM_ANY);
	struct perf_event_attr cycles = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "u");
	int counter, fd;
	bool good;

	pin_to_cpu(0);
	counter = MUST(perf_open(&cycles, 0, -1, -1, 0));
	fd = MUST(perf_open(&branches, 0, -1, -1, 0));
	event_enable(fd);
	good = expect_eq("LBR", register_of(0, MSR_DEBUGCTL) & DEBUGCTL_LBR, 1);
	close(fd);
	fd = MUST(open_bts("u"));
	good &= expect_eq("LBR beside a trace", register_of(0, MSR_DEBUGCTL) & DEBUGCTL_LBR, 0);
	close(fd);
	fd = MUST(perf_open(&branches, 0, -1, -1, 0));
	event_enable(fd);
	good &= expect_eq("LBR, after the trace", register_of(0, MSR_DEBUGCTL) & DEBUGCTL_LBR, 1);
	close(fd);
	close(counter);
	return good;
}

/* What a trace has no use for is ignored. */
static bool attributes_are_checked(void)
{
	struct perf_event_attr attr = bts_attr("u");
	struct area area;
	bool good = true;
	int fd;

	attr.config = 5;
	good &= expect((fd = perf_open(&attr, 0, -1, -1, 0)) >= 0, "config: errno %d", errno);
	close(fd);
	attr = bts_attr("u");
	attr.sample_period = 1;
	good &= expect((fd = perf_open(&attr, 0, -1, -1, 0)) >= 0, "period: errno %d", errno);
	close(fd);
	attr = bts_attr("u");
	attr.aux_output = 1;
	good &= expect_refused("aux_output", perf_open(&attr, 0, -1, -1, 0), EOPNOTSUPP, "aux");
	attr = bts_attr("u");
	open_data(&area, &attr);
	return good &
	       expect(!map_aux(&area, 1, PROT_READ | PROT_WRITE), "one page: errno %d", errno);
}

static const struct test tests[] = {
	{ "the trace is every branch, in order", trace_is_exact },
	{ "the trace is every branch in an area of several parts", trace_of_parts },
	{ "the trace goes round the area", trace_goes_round },
	{ "the reader is woken at each watermark", reader_is_woken },
	{ "a full area ends the trace until it has been read", full_area_ends_it },
	{ "an area for reading alone is overwritten", area_is_overwritten },
	{ "an area is unmapped while it is filled", unmapped_while_filled },
	{ "a task's trace has no branches of another", others_are_not_traced },
	{ "the kernel's branches are traced, and none is lost", kernel_is_traced },
	{ "a trace of user space needs permission for the kernel's", trace_needs_permission },
	{ "the trace excludes branch records and a second trace", trace_is_exclusive },
	{ "branch records end before a trace begins", records_end_before_trace },
	{ "attributes without a use are ignored, aux_output is refused", attributes_are_checked },
};

TESTS_MAIN_SETUP(tests, bts_setup)
#else
TESTS_MAIN_SKIPPED("branch trace store", "not an x86")
#endif
