// SPDX-License-Identifier: GPL-2.0
/*
 * The software filter of AMD's instruction based sampling (swfilt): exclude_user and exclude_kernel
 * drop the samples of a level, which the counter has counted like all others. And what the samples
 * of a user without access to the kernel have: no address of the kernel, and no physical one.
 *
 * Instructions are the clock of the machine. The work is a loop of known loads, stores and system
 * calls.
 */
#include "harness.h"

#ifdef __x86_64__
#include <asm/perf_regs.h>

#include "events.h"
#include "expect.h"
#include "files.h"
#include "processes.h"
#include "records.h"
#include "require.h"
#include "workloads.h"

#define DEVICES		"/sys/bus/event_source/devices/"
#define NOBODY_ID	65534
#define IBS_LEAF	0x8000001b
#define HAS_TARGET	0x20		/* bit of its EAX: branch targets */

#define CNT_CTL		0x80000ull	/* of ibs_op: ops, not cycles */
#define SWFILT		1		/* of config2 */
#define PERIOD		16448		/* a multiple of 16 */
#define ROUNDS		300000
/* Most ops by which a period ends late: the random bits from which its count began, and 15. */
#define MOST_LATE	142

/*
 * A round loads from RSI, stores behind it, and calls the kernel; 39 is getpid(). By a generator of
 * numbers it leaves out 0 to 31 NOPs: rounds of one length would be sampled in the same places.
 */
asm(".pushsection .text\n"
	"filter_loop:\n"
	"	movabs $0x5851f42d4c957f2d, %r8\n"
	"	mov %r8, %r9\n"
	"10:	mov (%rsi), %edx\n"
	"	mov %edx, 8(%rsi)\n"
	"	imul %r8, %r9\n"
	"	mov %r9, %rdx\n"
	"	shr $59, %rdx\n"
	"	lea 11f(%rip), %rax\n"
	"	add %rdx, %rax\n"
	"	jmp *%rax\n"
	"11:	.fill 31, 1, 0x90\n"
	"	mov $39, %eax\n"
	"12:	syscall\n"
	"	dec %rdi\n"
	"	jnz 10b\n"
	"	ret\n"
	"filter_loop_end:\n"
	"filter_call: .long 12b\n"
	".popsection");
void filter_loop(unsigned long rounds, void *data);
extern const char filter_loop_end[];
extern const uint32_t filter_call;

static uint64_t words[2] __aligned(64);

static void work(void)
{
	filter_loop(ROUNDS, words);
}

enum { FETCH, OP };

static const char *const pmus[] = { "ibs_fetch", "ibs_op" };

/* The rate can be set only while there is a limit of the time. */
static void set_rate(long rate)
{
	sysctl_set("perf_cpu_time_max_percent", 25);
	sysctl_set("perf_event_max_sample_rate", rate);
	sysctl_set("perf_cpu_time_max_percent", 0);
}

static void need_ibs(void)
{
	if (perf_pmu_type("ibs_op") < 0 || perf_pmu_type("ibs_fetch") < 0)
		skip_case("no instruction based sampling");
	if (kernel_function("kasan_report"))
		skip_case("a sample takes a debug kernel longer than a period");
	require_exact_instructions();
	MUST(pin_to_cpu(0));
	set_rate(10000000);
}

/* @modes: "u", "k", "uk", or "" for none. */
static struct perf_event_attr filter_attr(int pmu, const char *modes)
{
	struct perf_event_attr attr = perf_attr(perf_pmu_type(pmus[pmu]), 0);

	attr.disabled = 1;
	attr.config = pmu == OP ? CNT_CTL : 0;
	attr.config2 = SWFILT;
	attr.exclude_user = !strchr(modes, 'u');
	attr.exclude_kernel = !strchr(modes, 'k');
	attr.sample_period = PERIOD;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_PERIOD |
			   PERF_SAMPLE_REGS_INTR;
	attr.sample_regs_intr = 1ull << PERF_REG_X86_SP | 1ull << PERF_REG_X86_IP |
				1ull << PERF_REG_X86_FLAGS;
	return attr;
}

static bool is_kernel(uint64_t address)
{
	return address >> 63;
}

/* What the samples of the work show. */
struct levels {
	unsigned int	user, kernel;
	unsigned int	calls;		/* of the user's: those of SYSCALL */
	unsigned int	outside;	/* of the user's: not in the loop */
	unsigned int	modes;		/* with a mode that is not that of the address */
	unsigned int	registers;	/* of user space, with the kernel's registers */
	unsigned int	periods;	/* with another period */
	unsigned int	throttled;	/* records of that */
	uint64_t	count;
};

/*
 * SP, IP, flags. The kernel's entry runs with interrupts disabled, at first on the user's stack.
 * What it has not saved yet is 0.
 */
static bool are_of_user(const uint64_t *regs, uint64_t ip)
{
	return regs[1] == ip && !is_kernel(regs[0]) && (!regs[0] || regs[2] & 0x200);
}

static void check_sample(struct levels *l, const struct perf_event_header *h,
			 const struct perf_event_attr *attr)
{
	unsigned int mode = h->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	struct sample s;

	if (!sample_parse(&s, h, attr))
		fail_case("a sample");
	l->periods += s.period != PERIOD;
	if (is_kernel(s.ip)) {
		l->kernel++;
		l->modes += mode != PERF_RECORD_MISC_KERNEL;
		return;
	}
	l->user++;
	l->modes += mode != PERF_RECORD_MISC_USER;
	l->calls += s.ip == filter_call;
	l->outside += s.ip < (uintptr_t)filter_loop || s.ip >= (uintptr_t)filter_loop_end;
	l->registers += !are_of_user(s.intr_regs, s.ip);
}

static void sample_work(struct perf_event_attr *attr, struct levels *l)
{
	struct perf_event_header *h;
	struct ring ring;
	int fd = open_self(attr, -1);

	memset(l, 0, sizeof(*l));
	if (!ring_map(&ring, fd, 128))
		fail_case("mmap");
	event_enable(fd);
	work();
	event_disable(fd);
	l->count = perf_count(fd);
	while ((h = ring_next(&ring))) {
		if (h->type == PERF_RECORD_SAMPLE)
			check_sample(l, h, attr);
		l->throttled += h->type == PERF_RECORD_THROTTLE;
	}
	ring_unmap(&ring);
	close(fd);
}

/* Samples have the mode of their address, registers of that level, and the period. */
static bool samples_are_right(const char *what, const struct levels *l)
{
	return expect(l->outside <= 1, "%s: %u of %u samples of user space beside the loop", what,
		      l->outside, l->user) &
	       expect_eq("modes that are not those of the address", l->modes, 0) &
	       expect_eq("registers of the kernel in user space", l->registers, 0) &
	       expect_eq("other periods", l->periods, 0) &
	       expect_eq("records of throttling", l->throttled, 0);
}

/*
 * The counter counts all levels, whatever is dropped: the periods in the count are the samples of
 * both. Each event has its share of them, as far as the level that a period ends in is chance.
 */
static bool levels_add_up(int pmu)
{
	struct perf_event_attr attr = filter_attr(pmu, "uk");
	struct levels all, user, kernel, none;
	bool good;

	need_ibs();
	sample_work(&attr, &all);
	attr = filter_attr(pmu, "u");
	sample_work(&attr, &user);
	attr = filter_attr(pmu, "k");
	sample_work(&attr, &kernel);
	attr = filter_attr(pmu, "");
	sample_work(&attr, &none);
	good = samples_are_right("both levels", &all) &
	       samples_are_right("user space", &user) & samples_are_right("the kernel", &kernel) &
	       expect_between("samples of both levels", all.user + all.kernel, all.count / PERIOD,
			      (all.count + MOST_LATE) / PERIOD) &
	       expect(all.user > 200 && all.kernel > 200,
		      "%u samples of user space, %u of the kernel", all.user, all.kernel) &
	       expect_eq("samples of the kernel for user space", user.kernel, 0) &
	       expect_eq("samples of user space for the kernel", kernel.user, 0) &
	       expect_eq("samples for neither", none.user + none.kernel, 0);
	/*
	 * Handlers differ in length, which moves the ends of all periods: that of a sample that is
	 * dropped is short, and the next period begins in another place.
	 */
	return good & expect_near("samples of user space", user.user, all.user, all.user / 4) &
	       expect_near("samples of the kernel", kernel.kernel, all.kernel, all.kernel / 8) &
	       expect_near("count for user space", user.count, all.count, all.count / 50) &
	       expect_near("count for the kernel", kernel.count, all.count, all.count / 50) &
	       expect_near("count for neither", none.count, all.count, all.count / 50) &
	       expect_near("samples of the levels", user.user + kernel.kernel,
			   all.count / PERIOD, all.count / PERIOD / 25) &
	       expect(user.calls, "%u of %u samples at a system call", user.calls, user.user);
}

static bool levels_of_ops(void)
{
	return levels_add_up(OP);
}

static bool levels_of_fetches(void)
{
	return levels_add_up(FETCH);
}

/* Their interrupts are as many as those of other events. */
static bool dropped_samples_are_throttled(void)
{
	struct perf_event_attr attr = filter_attr(OP, "");
	struct levels l;

	need_ibs();
	set_rate(1000);
	sample_work(&attr, &l);
	return expect(l.throttled, "no record of throttling") &
	       expect_eq("samples", l.user + l.kernel, 0);
}

/* ------------------------------------------------------------------------ requests */

static bool has_format(const char *pmu)
{
	char path[128], line[32] = "";

	snprintf(path, sizeof(path), DEVICES "%s/format/swfilt", pmu);
	read_line(path, line, sizeof(line));
	return expect(!strcmp(line, "config2:0"), "%s: \"%s\"", path, line);
}

static bool is_answered(const char *what, struct perf_event_attr *attr, int error,
			const char *reason)
{
	int fd = perf_open(attr, 0, -1, -1, 0);
	bool good = error ? expect_refused(what, fd, error, reason) : expect_errno(what, fd, 0);

	if (fd >= 0)
		close(fd);
	return good;
}

/* Without the bit the answer is that of the stock kernel, of precise events, too. */
static bool levels_need_the_filter(void)
{
	static const char *const modes[] = { "uk", "u", "k", "" };
	struct perf_event_attr attr;
	bool good = true;

	need_ibs();
	for (int pmu = FETCH; pmu <= OP; pmu++) {
		good &= has_format(pmus[pmu]);
		for (unsigned int i = 0; i < ARRAY_SIZE(modes); i++) {
			attr = filter_attr(pmu, modes[i]);
			good &= is_answered("with swfilt", &attr, 0, NULL);
			attr.config2 = 0;
			good &= is_answered("without swfilt", &attr, i ? EINVAL : 0, "swfilt");
		}
		attr = filter_attr(pmu, "uk");
		attr.config2 = SWFILT << 1;
		good &= is_answered("another bit", &attr, EINVAL, "config2");
		attr.config2 = SWFILT;
		attr.exclude_hv = 1;
		good &= is_answered("exclude_hv with swfilt", &attr, 0, NULL);
		attr.config2 = 0;
		good &= is_answered("exclude_hv without swfilt", &attr, EINVAL, "swfilt");
		attr.config2 = SWFILT;
		attr.exclude_hv = 0;
		attr.exclude_guest = 1;
		good &= is_answered("exclude_guest with swfilt", &attr, EINVAL, "exclude");
	}
	attr = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "u");
	attr.exclude_hv = 0;
	attr.precise_ip = 2;
	attr.sample_period = PERIOD;
	good &= is_answered("precise cycles of user space", &attr, EINVAL, "swfilt");
	attr.config2 = SWFILT;
	return good & is_answered("precise cycles of user space, with swfilt", &attr, 0, NULL);
}

/* ------------------------------------------------- users without access to the kernel */

/* What PERF_SAMPLE_RAW has: of an op, the target if the part has it; and of a fetch. */
struct raw_op {
	uint32_t	caps;
	uint64_t	ctl, rip, data, data2, data3, linear, physical, target;
} __packed;

struct raw_fetch {
	uint32_t	caps;
	uint64_t	ctl, linear, physical;
} __packed;

#define FETCH_PHYSICAL	0x10000000000000ull	/* of the control: there is a physical address */
#define DATA_LINEAR	0x20000	/* of data 3: there is a linear address */
#define DATA_PHYSICAL	0x40000

/* Addresses in the raw records of samples. */
struct shown {
	unsigned int	samples, user, kernel, physical;
	unsigned int	valid;		/* bits of physical addresses */
	unsigned int	data;		/* linear addresses of the loop's data, each with its bit */
	pid_t		pid;		/* the task of the counted samples */
};

static bool has_target(void)
{
	uint32_t a, b, c, d;

	__cpuid(IBS_LEAF, a, b, c, d);
	return a & HAS_TARGET;
}

static bool is_of_work(uint64_t address)
{
	return address >= (uintptr_t)words && address < (uintptr_t)(words + ARRAY_SIZE(words));
}

static void count_address(struct shown *n, uint64_t address)
{
	if (is_kernel(address))
		n->kernel++;
	else if (address)
		n->user++;
}

static void check_raw(struct shown *n, const struct sample *s, int pmu)
{
	const struct raw_fetch *fetch = (void *)s->raw;
	const struct raw_op *op = (void *)s->raw;

	n->samples++;
	if (pmu == FETCH) {
		count_address(n, fetch->linear);
		n->physical += !!fetch->physical;
		n->valid += !!(fetch->ctl & FETCH_PHYSICAL);
		return;
	}
	count_address(n, op->rip);
	count_address(n, op->linear);
	if (has_target())
		count_address(n, op->target);
	n->physical += !!op->physical;
	n->valid += !!(op->data3 & DATA_PHYSICAL);
	n->data += is_of_work(op->linear) && op->data3 & DATA_LINEAR;
}

static struct perf_event_attr raw_attr(int pmu)
{
	struct perf_event_attr attr = filter_attr(pmu, "u");

	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_RAW;
	attr.sample_regs_intr = 0;
	attr.inherit = 1;
	return attr;
}

/* @in_child: a child does the work. */
static struct shown raw_of_work(int pmu, bool in_child)
{
	struct perf_event_attr attr = raw_attr(pmu);
	struct perf_event_header *h;
	struct shown n = { };
	struct ring ring;
	int fd;

	/* A buffer of inherited events is that of a CPU. */
	fd = MUST(perf_open(&attr, 0, 0, -1, 0));
	if (!ring_map(&ring, fd, 128))
		fail_case("mmap");
	n.pid = in_child ? fork_child() : getpid();
	if (!n.pid) {
		event_enable(fd);
		work();
		_exit(0);
	}
	if (in_child) {
		if (!child_succeeded(n.pid))
			fail_case("a child");
	} else {
		event_enable(fd);
		work();
	}
	event_disable(fd);
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		struct sample s;

		sample_parse(&s, h, &attr);
		if ((pid_t)s.pid == n.pid)
			check_raw(&n, &s, pmu);
	}
	ring_unmap(&ring);
	close(fd);
	return n;
}

/* What the root sees shows that there is something to hide. */
static bool all_is_shown(int pmu, const struct shown *n)
{
	return expect(n->samples > 200, "%u samples", n->samples) &
	       expect(n->user >= n->samples, "%u addresses of user space", n->user) &
	       expect(pmu == FETCH ? n->physical == n->samples : n->physical >= n->data,
		      "%u physical addresses", n->physical) &
	       expect(n->valid >= (pmu == FETCH ? n->samples : n->data), "%u of them are valid",
		      n->valid);
}

static bool kernel_is_hidden(const char *what, int pmu, const struct shown *n)
{
	return expect(n->samples > 200, "%s: %u samples", what, n->samples) &
	       expect(n->user >= n->samples, "%u addresses of user space", n->user) &
	       expect(pmu == FETCH || n->data, "%u addresses of the loop's data", n->data) &
	       expect_eq("addresses of the kernel", n->kernel, 0) &
	       expect_eq("physical addresses", n->physical, 0) &
	       expect_eq("valid bits of them", n->valid, 0);
}

static void become_nobody(void)
{
	sysctl_set("perf_event_paranoid", 2);
	MUST(setgid(NOBODY_ID));
	MUST(setuid(NOBODY_ID));
}

static bool addresses_are_hidden(int pmu)
{
	struct shown root, nobody, child;

	need_ibs();
	root = raw_of_work(pmu, false);
	become_nobody();
	nobody = raw_of_work(pmu, false);
	child = raw_of_work(pmu, true);
	return all_is_shown(pmu, &root) & kernel_is_hidden("unprivileged", pmu, &nobody) &
	       kernel_is_hidden("a child, unprivileged", pmu, &child);
}

static bool addresses_of_ops_are_hidden(void)
{
	return addresses_are_hidden(OP);
}

static bool addresses_of_fetches_are_hidden(void)
{
	return addresses_are_hidden(FETCH);
}

/* Without access to the kernel an event has to exclude it, for which it needs the filter. */
static bool unprivileged_events_exclude_the_kernel(void)
{
	struct perf_event_attr attr;
	bool good = true;

	need_ibs();
	become_nobody();
	for (int pmu = FETCH; pmu <= OP; pmu++) {
		attr = filter_attr(pmu, "uk");
		good &= is_answered("with the kernel", &attr, EACCES, "exclude_kernel");
		attr = filter_attr(pmu, "k");
		good &= is_answered("the kernel", &attr, EACCES, "exclude_kernel");
		attr = filter_attr(pmu, "u");
		good &= is_answered("user space", &attr, 0, NULL);
		attr.sample_type |= PERF_SAMPLE_PHYS_ADDR;
		good &= is_answered("physical addresses", &attr, EACCES, "PHYS_ADDR");
		attr = filter_attr(pmu, "u");
		attr.config2 = 0;
		good &= is_answered("without swfilt", &attr, EINVAL, "swfilt");
	}
	return good;
}

static const struct test tests[] = {
	{ "samples of ops are those of a level, and their periods add up", levels_of_ops },
	{ "samples of fetches are those of a level, and their periods add up", levels_of_fetches },
	{ "dropped samples are throttled, too", dropped_samples_are_throttled },
	{ "exclude_user and exclude_kernel need the filter", levels_need_the_filter },
	{ "an unprivileged user's ops have no address of the kernel", addresses_of_ops_are_hidden },
	{ "an unprivileged user's fetches have no address of the kernel",
	  addresses_of_fetches_are_hidden },
	{ "an unprivileged user's events exclude the kernel",
	  unprivileged_events_exclude_the_kernel },
};

TESTS_MAIN(tests)
#else
TESTS_MAIN_SKIPPED("the filter of instruction based sampling", "not an x86")
#endif
