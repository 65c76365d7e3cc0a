// SPDX-License-Identifier: GPL-2.0
/*
 * The hooks of security modules, by SELinux with security.cil as its policy: a boolean for each
 * permission of class perf_event. Without a permission all that needs it fails with EACCES, and
 * nothing else does. "make check-consumers" boots a kernel with SELinux for this program.
 */
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"

#include <sys/mount.h>
#include <sys/stat.h>

#define SELINUX	"/sys/fs/selinux"
#define POLICY	"/modules/security.policy"

/* Names as in SELinux; in the order of operations[]. */
static const char *const permissions[] = { "open", "cpu", "kernel", "tracepoint", "read", "write" };

enum { OPEN, CPU, KERNEL, TRACEPOINT, READ, WRITE };

static struct perf_event_attr user_dummy(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_DUMMY);

	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	return attr;
}

/* The event is not closed: the case ends soon. */
static int try_open(struct perf_event_attr attr, bool on_cpu)
{
	return perf_open(&attr, on_cpu ? -1 : 0, on_cpu ? 0 : -1, -1, 0);
}

static int try_kernel(void)
{
	struct perf_event_attr attr = user_dummy();

	attr.exclude_kernel = 0;
	return try_open(attr, false);
}

/* Counting the hits of a tracepoint needs no permission; sampling its data does. */
static int try_tracepoint(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_TRACEPOINT,
						tracepoint_id("sched/sched_switch"));

	attr.sample_type = PERF_SAMPLE_RAW;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	return try_open(attr, true);
}

static int try_read(int fd)
{
	uint64_t count;

	return read(fd, &count, sizeof(count)) < 0 ? -1 : 0;
}

static int try_map(int fd)
{
	return mmap(NULL, getpagesize(), PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0;
}

static void set_permission(const char *permission, bool on)
{
	char path[64];

	snprintf(path, sizeof(path), SELINUX "/booleans/%s", permission);
	MUST(write_line(path, on ? "1" : "0"));
	MUST(write_line(SELINUX "/commit_pending_bools", "1"));
}

/* Checks @ret of an operation that needs permission @needed, while @gone is taken away. */
static bool result_is_right(const char *what, int ret, bool needed)
{
	return needed ? expect_refused(what, ret, EACCES, NULL) :
			expect_eq(what, ret < 0 ? errno : 0, 0);
}

static bool run_without(int gone)
{
	int fd = MUST(try_open(user_dummy(), false));
	bool good = true;

	if (gone >= 0)
		set_permission(permissions[gone], false);
	good &= result_is_right("a user's event", try_open(user_dummy(), false), gone == OPEN);
	good &= result_is_right("a CPU's event", try_open(user_dummy(), true),
				gone == OPEN || gone == CPU);
	good &= result_is_right("the kernel's", try_kernel(), gone == OPEN || gone == KERNEL);
	good &= result_is_right("tracepoint", try_tracepoint(),
				gone == OPEN || gone == CPU || gone == TRACEPOINT);
	good &= result_is_right("read", try_read(fd), gone == READ);
	good &= result_is_right("mmap", try_map(fd), gone == READ);
	good &= result_is_right("ioctl", ioctl(fd, PERF_EVENT_IOC_RESET, 0), gone == WRITE);
	if (gone >= 0)
		set_permission(permissions[gone], true);
	return good;
}

static bool all_allowed(void)	{ return run_without(-1); }
static bool no_open(void)	{ return run_without(OPEN); }
static bool no_cpu(void)	{ return run_without(CPU); }
static bool no_kernel(void)	{ return run_without(KERNEL); }
static bool no_tracepoint(void)	{ return run_without(TRACEPOINT); }
static bool no_read(void)	{ return run_without(READ); }
static bool no_write(void)	{ return run_without(WRITE); }

static const struct test tests[] = {
	{ "all is allowed", all_allowed },
	{ "without permission open", no_open },
	{ "without permission cpu", no_cpu },
	{ "without permission kernel", no_kernel },
	{ "without permission tracepoint", no_tracepoint },
	{ "without permission read", no_read },
	{ "without permission write", no_write },
};

/* Loads the policy, once for all cases. */
static void load_policy(void)
{
	static char policy[1 << 16];
	int from = open(POLICY, O_RDONLY), to;
	ssize_t size;

	if (from < 0 || mount("selinuxfs", SELINUX, "selinuxfs", 0, NULL)) {
		ktap_start();
		ktap_skip("security", "no SELinux, or no policy for it");
		exit(ktap_finish());
	}
	size = read(from, policy, sizeof(policy));
	to = open(SELINUX "/load", O_RDWR);
	if (size <= 0 || to < 0 || write(to, policy, size) != size)
		ktap_bail_out("SELinux does not take its policy");
	close(from);
	close(to);
}

int main(int argc, char **argv)
{
	load_policy();
	return run_tests(tests, ARRAY_SIZE(tests), argc, argv);
}
