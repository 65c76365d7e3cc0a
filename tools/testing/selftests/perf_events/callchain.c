// SPDX-License-Identifier: GPL-2.0
/*
 * Call chains: the functions that are in them and their order, the limits, and what keeps the
 * limits from being changed.
 *
 * A page fault is taken at the bottom of a known sequence of calls that keep frame pointers. Run as
 * root. The compiler is told to leave frames and calls alone.
 */
#include "perf_test.h"

#include <signal.h>
#include <stddef.h>

#define DEPTH	12
#define MAX_IPS	2048

static long page;

/* The last sample's chain. */
static struct {
	uint64_t	nr, ip[MAX_IPS];
	unsigned int	samples;
} chain;

/* Every call has its frame, set up before anything else. */
#define FRAME __attribute__((noinline, noclone, optimize("no-omit-frame-pointer", \
			     "no-optimize-sibling-calls", "no-shrink-wrap")))

/* Calls itself @depth times and then touches @p. Each level returns to the same place. */
FRAME static int descend(volatile char *p, int depth)
{
	int ret;

	if (!depth) {
		*p = 1;
		return 0;
	}
	ret = descend(p, depth - 1);
	asm volatile("" : "+r" (ret));
	return ret + 1;
}

FRAME static void outer(volatile char *p, int depth)
{
	int ret = descend(p, depth);

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

/* The chain of a fault under DEPTH calls, in user space or, by a system call, in the kernel. */
static bool sample(struct perf_event_attr attr, int depth, bool in_kernel)
{
	struct perf_event_mmap_page *user;
	char *fresh;
	int fd = perf_open(&attr, 0, -1, -1, 0), zero = open("/dev/zero", O_RDONLY);

	if (fd < 0)
		return false;
	user = mmap(NULL, 17 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	fresh = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (user == MAP_FAILED || fresh == MAP_FAILED)
		ktap_bail_out("mmap");
	outer((volatile char *)&chain.samples, depth);	/* stack and code are there */
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	if (!in_kernel)
		outer(fresh, depth);
	else if (read(zero, fresh, 8) != 8)
		ktap_bail_out("read");
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	read_last(user);
	munmap(fresh, page);
	munmap(user, 17 * page);
	close(zero);
	close(fd);
	return chain.samples == 1;
}

static uint64_t marks(void)
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

static void test_user(void)
{
	struct perf_event_attr attr = chain_attr();
	unsigned int same = 0;
	uintptr_t at;

	attr.exclude_callchain_kernel = 1;
	if (!ktap_result(sample(attr, DEPTH, false), "one sample of one fault"))
		return;
	at = (uintptr_t)descend;
	ktap_result(chain.nr > DEPTH + 2 && chain.ip[0] == (uint64_t)PERF_CONTEXT_USER && marks() == 1,
		    "user mark first, and no other");
	ktap_result(chain.ip[1] - at < 256, "it begins at the store");
	for (unsigned int i = 2; i < 2 + DEPTH; i++)
		same += chain.ip[i] == chain.ip[2] && chain.ip[i] - at < 256;
	ktap_result(same == DEPTH, "then %d returns to one place: %u", DEPTH, same);
	ktap_result(chain.ip[2 + DEPTH] - (uintptr_t)outer < 256, "then its caller");
}

static void test_kernel(void)
{
	struct perf_event_attr attr = chain_attr();

	if (!ktap_result(sample(attr, 0, true), "one sample of a fault in the kernel"))
		return;
	ktap_result(chain.ip[0] == (uint64_t)PERF_CONTEXT_KERNEL && (int64_t)chain.ip[1] < 0 &&
		    chain.ip[1] < (uint64_t)PERF_CONTEXT_MAX && has_mark(PERF_CONTEXT_USER),
		    "kernel part, then user part");

	attr.exclude_callchain_user = 1;
	ktap_result(sample(attr, 0, true) && marks() == 1 && has_mark(PERF_CONTEXT_KERNEL) &&
		    chain.nr > 3, "exclude_callchain_user");
	attr.exclude_callchain_user = 0;
	attr.exclude_callchain_kernel = 1;
	ktap_result(sample(attr, 0, true) && marks() == 1 && has_mark(PERF_CONTEXT_USER),
		    "exclude_callchain_kernel");
	attr.exclude_callchain_user = 1;
	ktap_result(sample(attr, 0, true) && chain.nr == 0, "neither: %llu",
		    (unsigned long long)chain.nr);
}

static void test_limits(void)
{
	struct perf_event_attr attr = chain_attr();
	long most = sysctl_get("perf_event_max_stack", 127), contexts;
	bool good = true;
	char line[128];

	for (unsigned int n = 1; n <= 8; n++) {
		attr.sample_max_stack = n;
		good &= sample(attr, DEPTH, false) && chain.nr - marks() == n;
	}
	ktap_result(good, "sample_max_stack");

	attr.sample_max_stack = most + 1;
	ktap_result(perf_open(&attr, 0, -1, -1, 0) == -1 && errno == EOVERFLOW &&
		    (perf_reason(line, sizeof(line)) < 0 || strstr(line, "perf_event_max_stack")),
		    "no more than perf_event_max_stack");
	attr.sample_max_stack = 0;

	ktap_result(sysctl_set("perf_event_max_stack", 5) == 0 && sample(attr, DEPTH, false) &&
		    chain.nr - marks() == 5, "perf_event_max_stack 5");
	ktap_result(sysctl_set("perf_event_max_stack", 1000) == 0 && sample(attr, 600, false) &&
		    chain.nr - marks() > 600, "perf_event_max_stack 1000: %llu",
		    (unsigned long long)(chain.nr - marks()));
	ktap_result(sysctl_set("perf_event_max_stack", 640 * 1024 + 1) == -1 && errno == EINVAL &&
		    sysctl_set("perf_event_max_stack", -1) == -1 && errno == EINVAL, "its bounds");
	sysctl_set("perf_event_max_stack", most);

	contexts = sysctl_get("perf_event_max_contexts_per_stack", 8);
	ktap_result(sysctl_set("perf_event_max_contexts_per_stack", 1) == 0 &&
		    sample(attr, 0, true) && marks() == 1 && !has_mark(PERF_CONTEXT_USER),
		    "perf_event_max_contexts_per_stack 1");
	sysctl_set("perf_event_max_contexts_per_stack", contexts);
}

/* Nobody changes the limits while there are users of them. */
static void test_busy(void)
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
	ktap_result(good, "busy while an event wants chains, and not after");
}

static int tracepoint(const char *name)
{
	char path[100], line[16] = "";
	FILE *f;
	int id = 0;

	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/id", name);
	f = fopen(path, "r");
	if (f) {
		if (fgets(line, sizeof(line), f))
			id = atoi(line);
		fclose(f);
	}
	return id;
}

/*
 * Where there is no interrupt, a chain begins with whoever called the kernel's hook, and nobody is in it
 * twice.
 */
static void callers(const char *what, struct perf_event_attr attr)
{
	struct perf_event_mmap_page *user;
	bool good;
	int fd;

	attr.exclude_callchain_user = 1;
	fd = perf_open(&attr, 0, -1, -1, 0);
	user = mmap(NULL, 17 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd < 0 || user == MAP_FAILED)
		ktap_bail_out("an event for callers");
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	usleep(2000);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	read_last(user);
	good = chain.samples && chain.nr >= 4 && chain.nr < MAX_IPS &&
	       chain.ip[0] == (uint64_t)PERF_CONTEXT_KERNEL;
	for (uint64_t i = 1; good && i + 1 < chain.nr; i++)
		good = chain.ip[i] != chain.ip[i + 1];
	if (!ktap_result(good, "%s", what)) {
		for (uint64_t i = 0; i < chain.nr && i < 8; i++)
			ktap_note("%llx", (unsigned long long)chain.ip[i]);
	}
	munmap(user, 17 * page);
	close(fd);
}

static void test_callers(void)
{
	struct perf_event_attr attr = chain_attr();

	attr.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
	callers("callers of a software event's hook", attr);
	attr.type = PERF_TYPE_TRACEPOINT;
	attr.config = tracepoint("sched/sched_switch");
	callers("callers of a tracepoint", attr);
}

/*
 * A function that the kernel calls while it writes a sample is traced, with a call chain too, which is
 * longer. The sample has its own chain nevertheless: its size is what its header says. For several
 * that one hit is worth see bpf.c.
 */
static void test_traced(void)
{
	const char *what = "a traced function in the middle of a sample";
	struct perf_event_attr attr = chain_attr();
	struct perf_event_attr trace = perf_attr(PERF_TYPE_TRACEPOINT, tracepoint("ftrace/function"));
	struct perf_event_mmap_page *user;
	unsigned int samples = 0, wrong = 0;
	uint64_t tail = 0, mask;
	int fd, tracer;

	trace.sample_period = 1;
	trace.sample_type = PERF_SAMPLE_CALLCHAIN;
	trace.disabled = 1;
	trace.exclude_callchain_user = 1;
	tracer = trace.config ? perf_open(&trace, 0, -1, -1, 0) : -1;
	if (tracer < 0) {
		ktap_skip(what, "functions cannot be traced");
		return;
	}
	if (ioctl(tracer, PERF_EVENT_IOC_SET_FILTER, "ip == perf_output_begin*")) {
		ktap_result(false, "filter of functions");
		close(tracer);
		return;
	}
	attr.config = PERF_COUNT_SW_CPU_CLOCK;
	attr.sample_period = 100000;
	attr.exclude_callchain_user = 1;
	fd = perf_open(&attr, 0, -1, -1, 0);
	user = mmap(NULL, 65 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd < 0 || user == MAP_FAILED ||
	    mmap(NULL, 9 * page, PROT_READ | PROT_WRITE, MAP_SHARED, tracer, 0) == MAP_FAILED)
		ktap_bail_out("events");
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
	ktap_result(samples > 100 && !wrong && perf_count(tracer) > 10,
		    "%s: %u samples, %u wrong, %llu calls", what, samples, wrong,
		    (unsigned long long)perf_count(tracer));
	munmap(user, 65 * page);
	close(fd);
	close(tracer);
}

int main(void)
{
	page = sysconf(_SC_PAGESIZE);
	ktap_start(0);
	test_user();
	test_kernel();
	test_callers();
	test_limits();
	test_busy();
	test_traced();
	return ktap_finish();
}
