// SPDX-License-Identifier: GPL-2.0
/*
 * Call chains: which functions they contain and in which order, the limits of their length, and
 * when these limits cannot be changed.
 *
 * A page fault is taken below a known sequence of calls that keep frame pointers; attributes keep
 * the compiler from changing frames and calls. Run as root.
 */
#include "expect.h"
#include "records.h"
#include "workloads.h"

#include <signal.h>
#include <stddef.h>

#define DEPTH	12
#define MAX_IPS	2048
#define LONGEST	65528	/* bytes of a record */

static long page;

/* The chain of the last sample. */
static struct {
	uint64_t	nr, ip[MAX_IPS];
	unsigned int	samples;
} chain;

/* Each call has its frame, set up before anything else. */
#define FRAME noinline __noclone							\
	__attribute__((optimize("no-omit-frame-pointer", "no-optimize-sibling-calls",	\
				"no-shrink-wrap")))

/* Calls itself @depth times, then touches @p. Each level returns to the same address. */
static FRAME int recurse_to_fault(volatile char *p, int depth)
{
	int ret;

	if (!depth) {
		*p = 1;
		return 0;
	}
	ret = recurse_to_fault(p, depth - 1);
	asm volatile("" : "+r" (ret));
	return ret + 1;
}

static FRAME void call_recurse(volatile char *p, int depth)
{
	int ret = recurse_to_fault(p, depth);

	asm volatile("" : "+r" (ret));
}

static struct perf_event_attr chain_attr(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);

	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_CALLCHAIN;
	attr.disabled = 1;
	return attr;
}

static void read_last(struct perf_event_mmap_page *user)
{
	char *data = (char *)user + user->data_offset;
	uint64_t mask = user->data_size - 1, tail = user->data_tail;

	chain.samples = 0;
	while (tail < user->data_head) {
		struct perf_event_header *header = (void *)(data + (tail & mask));

		if (header->type == PERF_RECORD_SAMPLE) {
			chain.samples++;
			chain.nr = *(uint64_t *)(data + ((tail + 8) & mask));
			for (uint64_t i = 0; i < chain.nr && i < MAX_IPS; i++)
				chain.ip[i] = *(uint64_t *)(data + ((tail + 16 + 8 * i) & mask));
			if (header->size != 16 + 8 * chain.nr)
				chain.samples = 99;
		}
		tail += header->size;
	}
	user->data_tail = tail;
}

/* Takes the chain of a fault below @depth calls, in user space or, by read(2), in the kernel. */
static bool take_chain(struct perf_event_attr attr, int depth, bool in_kernel)
{
	struct perf_event_mmap_page *user;
	char *fresh;
	int fd = perf_open(&attr, 0, -1, -1, 0), zero = open("/dev/zero", O_RDONLY);

	if (fd < 0)
		return false;
	user = mmap(NULL, 17 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	fresh = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (user == MAP_FAILED || fresh == MAP_FAILED)
		fail_case("mmap");
	call_recurse((volatile char *)&chain.samples, depth);	/* maps stack and code */
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	if (!in_kernel)
		call_recurse(fresh, depth);
	else if (read(zero, fresh, 8) != 8)
		fail_case("read");
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	read_last(user);
	munmap(fresh, page);
	munmap(user, 17 * page);
	close(zero);
	close(fd);
	return chain.samples == 1;
}

static uint64_t context_marks(void)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < chain.nr; i++)
		n += chain.ip[i] >= (uint64_t)PERF_CONTEXT_MAX;
	return n;
}

static bool has_mark(uint64_t mark)
{
	for (uint64_t i = 0; i < chain.nr; i++) {
		if (chain.ip[i] == mark)
			return true;
	}
	return false;
}

static bool user_chain(void)
{
	struct perf_event_attr attr = chain_attr();
	unsigned int equal = 0;
	uintptr_t at;
	bool ok = true;

	attr.exclude_callchain_kernel = 1;
	if (!expect(take_chain(attr, DEPTH, false), "one sample of one fault"))
		return false;
	at = (uintptr_t)recurse_to_fault;
	ok &= expect(chain.nr > DEPTH + 2 && chain.ip[0] == (uint64_t)PERF_CONTEXT_USER &&
		     context_marks() == 1, "user mark first, and no other");
	ok &= expect(chain.ip[1] - at < 256, "it begins at the store");
	for (unsigned int i = 2; i < 2 + DEPTH; i++)
		equal += chain.ip[i] == chain.ip[2] && chain.ip[i] - at < 256;
	ok &= expect(equal == DEPTH, "then %d returns to one place: %u", DEPTH, equal);
	ok &= expect(chain.ip[2 + DEPTH] - (uintptr_t)call_recurse < 256, "then its caller");
	return ok;
}

static bool kernel_chain(void)
{
	struct perf_event_attr attr = chain_attr();
	bool ok = true;

	if (!expect(take_chain(attr, 0, true), "one sample of a fault in the kernel"))
		return false;
	ok &= expect(chain.ip[0] == (uint64_t)PERF_CONTEXT_KERNEL && (int64_t)chain.ip[1] < 0 &&
		     chain.ip[1] < (uint64_t)PERF_CONTEXT_MAX && has_mark(PERF_CONTEXT_USER),
		     "kernel part, then user part");

	attr.exclude_callchain_user = 1;
	ok &= expect(take_chain(attr, 0, true) && context_marks() == 1 &&
		     has_mark(PERF_CONTEXT_KERNEL) && chain.nr > 3, "exclude_callchain_user");
	attr.exclude_callchain_user = 0;
	attr.exclude_callchain_kernel = 1;
	ok &= expect(take_chain(attr, 0, true) && context_marks() == 1 &&
		     has_mark(PERF_CONTEXT_USER), "exclude_callchain_kernel");
	attr.exclude_callchain_user = 1;
	ok &= expect(take_chain(attr, 0, true) && chain.nr == 0, "neither: %llu",
		     (unsigned long long)chain.nr);
	return ok;
}

static bool chain_limits(void)
{
	struct perf_event_attr attr = chain_attr();
	long most = sysctl_get("perf_event_max_stack", 127), contexts;
	bool good = true;
	char line[128];
	bool ok = true;

	for (unsigned int n = 1; n <= 8; n++) {
		attr.sample_max_stack = n;
		good &= take_chain(attr, DEPTH, false) && chain.nr - context_marks() == n;
	}
	ok &= expect(good, "sample_max_stack");

	attr.sample_max_stack = most + 1;
	ok &= expect(perf_open(&attr, 0, -1, -1, 0) == -1 && errno == EOVERFLOW &&
		     (perf_reason(line, sizeof(line)) < 0 || strstr(line, "perf_event_max_stack")),
		     "no more than perf_event_max_stack");
	attr.sample_max_stack = 0;

	ok &= expect(sysctl_set("perf_event_max_stack", 5) == 0 && take_chain(attr, DEPTH, false) &&
		     chain.nr - context_marks() == 5, "perf_event_max_stack 5");
	ok &= expect(sysctl_set("perf_event_max_stack", 1000) == 0 &&
		     take_chain(attr, 600, false) && chain.nr - context_marks() > 600,
		     "perf_event_max_stack 1000: %llu",
		     (unsigned long long)(chain.nr - context_marks()));
	/* More than attr.sample_max_stack can hold. */
	ok &= expect(sysctl_set("perf_event_max_stack", 65536) == 0 &&
		     take_chain(attr, DEPTH, false) && chain.nr - context_marks() > DEPTH,
		     "perf_event_max_stack 65536: %llu",
		     (unsigned long long)(chain.nr - context_marks()));
	ok &= expect(sysctl_set("perf_event_max_stack", 640 * 1024 + 1) == -1 && errno == EINVAL &&
		     sysctl_set("perf_event_max_stack", -1) == -1 && errno == EINVAL, "its bounds");
	sysctl_set("perf_event_max_stack", most);

	contexts = sysctl_get("perf_event_max_contexts_per_stack", 8);
	ok &= expect(sysctl_set("perf_event_max_contexts_per_stack", 1) == 0 &&
		     take_chain(attr, 0, true) && context_marks() == 1 &&
		     !has_mark(PERF_CONTEXT_USER), "perf_event_max_contexts_per_stack 1");
	sysctl_set("perf_event_max_contexts_per_stack", contexts);
	return ok;
}

/* A record has a size of 16 bits: what it has no room for are the outermost callers. */
static bool longest_chain(void)
{
	struct perf_event_attr attr = chain_attr();
	long most = sysctl_get("perf_event_max_stack", 127);
	const struct perf_event_header *h;
	const uint64_t *words;
	char *p = fresh_pages(1);
	uint64_t reading[2], equal = 0;
	struct ring ring;
	bool good;
	int fd;

	if (!kernel_gives_reasons())
		skip_case("this kernel cuts the size of such a record, not the chain");
	MUST(sysctl_set("perf_event_max_stack", 16384));
	attr.exclude_callchain_kernel = 1;
	attr.read_format = PERF_FORMAT_LOST;
	fd = MUST(perf_open(&attr, 0, -1, -1, 0));
	if (!ring_map(&ring, fd, 32))
		fail_case("mmap");
	call_recurse((volatile char *)&chain.samples, 9000);	/* maps stack and code */
	event_enable(fd);
	call_recurse(p, 9000);
	event_disable(fd);
	MUST(read(fd, reading, sizeof(reading)));
	h = ring_find(&ring, PERF_RECORD_SAMPLE);
	good = expect_eq("faults", reading[0], 1) & expect_eq("lost", reading[1], 0) &
	       expect_eq("bytes of the sample", h ? h->size : 0, LONGEST);
	words = (const uint64_t *)(ring.record + sizeof(*h));
	if (good) {
		good = expect_eq("entries", words[0], LONGEST / 8 - 2) &
		       expect_eq("the first", words[1], (uint64_t)PERF_CONTEXT_USER);
		for (unsigned int i = 3; i < LONGEST / 8 - 1; i++)
			equal += words[i] == words[3];
		good &= expect_eq("returns to one place", equal, LONGEST / 8 - 4);
	}
	ring_unmap(&ring);
	close(fd);
	return good & !sysctl_set("perf_event_max_stack", most);
}

/* The limits cannot be changed while an event uses them. */
static bool busy_limits(void)
{
	struct perf_event_attr attr = chain_attr();
	long most = sysctl_get("perf_event_max_stack", 127);
	bool good = true;

	for (int i = 0; i < 20; i++) {
		int fd = perf_open(&attr, 0, -1, -1, 0);

		good &= fd >= 0 && sysctl_set("perf_event_max_stack", 50) == -1 && errno == EBUSY;
		good &= sysctl_get("perf_event_max_stack", -1) == most;
		close(fd);
		good &= sysctl_set("perf_event_max_stack", most) == 0;
	}
	return expect(good, "busy while an event wants chains, and not after");
}

/*
 * Without an interrupt a chain begins with the caller of the kernel's hook, and has no caller
 * twice.
 */
static bool has_callers(const char *what, struct perf_event_attr attr)
{
	struct perf_event_mmap_page *user;
	bool good;
	int fd;

	attr.exclude_callchain_user = 1;
	fd = perf_open(&attr, 0, -1, -1, 0);
	user = mmap(NULL, 17 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd < 0 || user == MAP_FAILED)
		fail_case("an event for callers");
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	usleep(2000);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	read_last(user);
	good = chain.samples && chain.nr >= 4 && chain.nr < MAX_IPS &&
	       chain.ip[0] == (uint64_t)PERF_CONTEXT_KERNEL;
	for (uint64_t i = 1; good && i + 1 < chain.nr; i++)
		good = chain.ip[i] != chain.ip[i + 1];
	if (!expect(good, "%s", what)) {
		for (uint64_t i = 0; i < chain.nr && i < 8; i++)
			ktap_note("%llx", (unsigned long long)chain.ip[i]);
	}
	munmap(user, 17 * page);
	close(fd);
	return good;
}

static bool callers_of_hooks(void)
{
	struct perf_event_attr attr = chain_attr();
	bool ok;

	attr.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
	ok = has_callers("callers of a software event's hook", attr);
	attr.type = PERF_TYPE_TRACEPOINT;
	attr.config = tracepoint_id("sched/sched_switch");
	return has_callers("callers of a tracepoint", attr) && ok;
}

/*
 * A function that the kernel calls while it writes a sample is traced, with a longer call chain.
 * The sample has its own chain nevertheless: its size is that of its header. See bpf.c for several
 * samples of one hit.
 */
static bool traced_output(void)
{
	struct perf_event_attr attr = chain_attr();
	struct perf_event_attr trace =
		perf_attr(PERF_TYPE_TRACEPOINT, tracepoint_id("ftrace/function"));
	struct perf_event_mmap_page *user;
	unsigned int samples = 0, wrong = 0;
	uint64_t tail = 0, mask;
	int fd, tracer;
	bool ok;

	trace.sample_period = 1;
	trace.sample_type = PERF_SAMPLE_CALLCHAIN;
	trace.disabled = 1;
	trace.exclude_callchain_user = 1;
	tracer = trace.config != (uint64_t)-1 ? perf_open(&trace, 0, -1, -1, 0) : -1;
	if (tracer < 0)
		skip_case("functions cannot be traced");
	if (ioctl(tracer, PERF_EVENT_IOC_SET_FILTER, "ip == perf_output_begin*"))
		return expect(false, "filter of functions");
	attr.config = PERF_COUNT_SW_CPU_CLOCK;
	attr.sample_period = 100000;
	attr.exclude_callchain_user = 1;
	fd = perf_open(&attr, 0, -1, -1, 0);
	user = mmap(NULL, 65 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd < 0 || user == MAP_FAILED ||
	    mmap(NULL, 9 * page, PROT_READ | PROT_WRITE, MAP_SHARED, tracer, 0) == MAP_FAILED)
		fail_case("events");
	ioctl(tracer, PERF_EVENT_IOC_ENABLE, 0);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 100000 && user->data_head < 8 * (uint64_t)page; i++)
		run_loop(10000);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	ioctl(tracer, PERF_EVENT_IOC_DISABLE, 0);

	mask = user->data_size - 1;
	while (tail < user->data_head) {
		char *data = (char *)user + user->data_offset;
		struct perf_event_header *header = (void *)(data + (tail & mask));

		if (header->type == PERF_RECORD_SAMPLE) {
			samples++;
			wrong += header->size != 16 + 8 * *(uint64_t *)(data + ((tail + 8) & mask));
		}
		if (header->size < 8 || header->type > PERF_RECORD_AUX_OUTPUT_HW_ID) {
			wrong++;
			break;
		}
		tail += header->size;
	}
	ok = expect(samples > 100 && !wrong && perf_count(tracer) > 10,
		    "%u samples, %u wrong, %llu calls", samples, wrong,
		    (unsigned long long)perf_count(tracer));
	munmap(user, 65 * page);
	close(fd);
	close(tracer);
	return ok;
}

static void callchain_setup(void)
{
	page = sysconf(_SC_PAGESIZE);
}

static const struct test tests[] = {
	{ "the chain of a fault in user space", user_chain },
	{ "the chain of a fault in the kernel, and each part alone", kernel_chain },
	{ "a chain begins with the caller of the hook", callers_of_hooks },
	{ "sample_max_stack and the sysctls limit a chain", chain_limits },
	{ "a chain longer than a record is cut at its end", longest_chain },
	{ "the sysctls are busy while an event takes chains", busy_limits },
	{ "a traced function in the middle of a sample", traced_output },
};

TESTS_MAIN_SETUP(tests, callchain_setup)
