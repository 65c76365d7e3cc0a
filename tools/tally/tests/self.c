// SPDX-License-Identifier: GPL-2.0
/* tally_read(): between two read(2), never backwards, and without a system call where allowed. */
#include "tally_open.h"

#include "../../testing/selftests/perf_events/harness.h"
#include "../../testing/selftests/perf_events/expect.h"
#include "../../testing/selftests/perf_events/workloads.h"

#define ROUNDS	2000

static struct tally_error self_err;

static void self_sysctl(const char *path)
{
	FILE *file = fopen(path, "w");

	if (!file)
		return;
	fputs("1", file);
	fclose(file);
}

static void open_or_skip(struct tally_self *self, const char *name)
{
	int ret;

	/* arm64: kernel.perf_user_access; root may set it. */
	self_sysctl("/proc/sys/kernel/perf_user_access");
	ret = tally_self_open(self, name, &self_err);
	if (ret == -ENOENT || ret == -EOPNOTSUPP || ret == -ENODEV)
		skip_case("no instruction counter");
	if (ret)
		fail_case(self_err.text);
}

static uint64_t file_value(const struct tally_self *self)
{
	uint64_t words[3];

	if (read(self->fd, words, sizeof(words)) != sizeof(words))
		fail_case("read");
	return words[0];
}

static bool lies_between_reads(void)
{
	struct tally_self self;
	int quick = 0;

	open_or_skip(&self, "instructions:u");
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t before = file_value(&self), value, after;
		int ret = tally_read(&self, &value);

		after = file_value(&self);
		if (ret < 0 || value < before || value > after)
			return expect(false, "%llu, %llu, %llu: %d", (unsigned long long)before,
				      (unsigned long long)value, (unsigned long long)after, ret);
		quick += ret;
	}
	if (!self.page->cap_user_rdpmc)
		skip_case("user space may not read counters");
	tally_self_close(&self);
	return expect_between("reads without a system call", quick, ROUNDS - 10, ROUNDS);
}

/* The kernel counts this thread's system calls. Among them is the second read of their number. */
static bool needs_no_call(void)
{
	struct tally_self self, calls;
	uint64_t value, before, after;

	open_or_skip(&self, "instructions:u");
	if (tally_self_open(&calls, "raw_syscalls:sys_enter", &self_err))
		skip_case("no tracepoint of system calls");
	if (tally_read(&self, &value) != 1)
		skip_case("user space may not read counters");
	before = file_value(&calls);
	for (int i = 0; i < ROUNDS; i++)
		tally_read(&self, &value);
	after = file_value(&calls);
	return expect_eq("system calls", after - before, 1);
}

/* Two reads without a system call differ by the loop and by less than a call of the kernel. */
static bool counts_a_loop(void)
{
	uint64_t before, after, one, two;
	struct tally_self self;

	open_or_skip(&self, "instructions:u");
	if (tally_read(&self, &before) != 1)
		skip_case("user space may not read counters");
	run_loop(1000);
	tally_read(&self, &one);
	run_loop(11000);
	tally_read(&self, &two);
	tally_read(&self, &after);
	one -= before;
	two -= before + one;
	return expect_near("10000 more rounds of two instructions", two - one, 20000, 500) &&
		expect_between("instructions of a read", after - before - one - two, 1, 400);
}

static bool times_agree(void)
{
	struct tally_count count;
	uint64_t words[3];
	struct tally_self self;
	int ret;

	open_or_skip(&self, "instructions:u");
	spin_ms(5);
	ret = tally_read_times(&self, &count);
	if (read(self.fd, words, sizeof(words)) != sizeof(words))
		fail_case("read");
	return expect_between("result", ret, 0, 1) &&
		expect_eq("on a counter all the time", count.enabled, count.running) &&
		expect_between("time of read(2) from it", words[1] - count.enabled, 0, 5000000) &&
		expect_between("time", count.enabled, 4000000, 5000000000ull);
}

static bool software_event(void)
{
	struct tally_self self;
	uint64_t before, after;

	if (tally_self_open(&self, "faults", &self_err))
		fail_case(self_err.text);
	if (tally_read(&self, &before))
		return expect(false, "a software event has no register");
	fault_pages(100);
	tally_read(&self, &after);
	return expect_eq("faults", after - before, 100);
}

static bool no_such_event(void)
{
	struct tally_self self;

	return expect_eq("errno", -tally_self_open(&self, "no-such", &self_err), ENOENT);
}

static const struct test tests[] = {
	{ "tally_read() lies between two read(2)", lies_between_reads },
	{ "tally_read() needs no system call", needs_no_call },
	{ "a loop is counted by two reads of the register", counts_a_loop },
	{ "times are those of read(2)", times_agree },
	{ "a software event is read from its file", software_event },
	{ "an event that does not exist", no_such_event },
};

TESTS_MAIN(tests)
