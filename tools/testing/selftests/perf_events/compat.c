// SPDX-License-Identifier: GPL-2.0
/*
 * System calls of 32-bit programs: int $0x80 enters the kernel as in such a program, whatever the
 * mode of the code. All pointers are to static memory, which is below 4 GiB. Numbers of ioctls that
 * contain the size of a pointer differ.
 */
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "readings.h"
#include "workloads.h"

#include <poll.h>
#include <linux/hw_breakpoint.h>

#ifdef __x86_64__

/* Numbers of i386. */
#define READ32		3
#define IOCTL32		54
#define POLL32		168
#define MMAP2_32	192
#define OPEN32		336

/* Returns -1 and errno, as the C library does. */
static long syscall_32(uint32_t nr, uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t e,
		       uint32_t f)
{
	uint64_t last = f;
	uint32_t ret;

	asm volatile("xchg %%rbp, %[last]; int $0x80; xchg %%rbp, %[last]"
		     : "=a" (ret), [last] "+r" (last)
		     : "0" (nr), "b" (a), "c" (b), "d" (c), "S" (d), "D" (e)
		     : "memory", "cc", "r8", "r9", "r10", "r11");
	if (ret > -4096u) {
		errno = -ret;
		return -1;
	}
	return ret;
}

static uint32_t low_address(const void *p)
{
	if ((uintptr_t)p >> 32)
		fail_case("static data are not below 4 GiB");
	return (uintptr_t)p;
}

static int open_32(const struct perf_event_attr *wanted, pid_t pid, int cpu, int group)
{
	static struct perf_event_attr attr;

	attr = *wanted;
	return syscall_32(OPEN32, low_address(&attr), pid, cpu, group, PERF_FLAG_FD_CLOEXEC, 0);
}

static long ioctl_32(int fd, uint32_t request, uint32_t arg)
{
	return syscall_32(IOCTL32, fd, request, arg, 0, 0, 0);
}

static uint64_t count_32(int fd)
{
	static uint64_t value;

	return syscall_32(READ32, fd, low_address(&value), sizeof(value), 0, 0, 0) ==
			       sizeof(value) ?
		       value :
		       UINT64_MAX;
}

/* The number of a request where pointers have four bytes. */
static unsigned int ioc_32(unsigned int request)
{
	return _IOC(_IOC_DIR(request), _IOC_TYPE(request), _IOC_NR(request), 4);
}

static struct perf_event_attr fault_attr(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);

	attr.disabled = 1;
	attr.exclude_kernel = 1;
	fault_pages(2);
	return attr;
}

/* Negative numbers and arguments wider than a register. */
static bool open_events(void)
{
	struct perf_event_attr attr = fault_attr();
	bool good = true;
	int fd;

	attr.disabled = 0;
	fd = MUST(open_32(&attr, 0, -1, -1));
	fault_pages(10);
	good &= expect_eq("faults", count_32(fd), 10);
	MUST(open_32(&attr, getpid(), 0, -1));
	MUST(open_32(&attr, -1, 0, -1));
	MUST(open_32(&attr, 0, -1, fd));
	good &= expect_refused("no target", open_32(&attr, -1, -1, -1), EINVAL, "cpu");
	good &= expect_refused("no group", open_32(&attr, 0, -1, -2), EBADF, "group_fd");
	good &= expect_refused("no attr", syscall_32(OPEN32, 8, 0, -1, -1, 0, 0), EFAULT, "attr");
	good &= expect_refused("flags", syscall_32(OPEN32, 8, 0, -1, -1, 1u << 31, 0), EINVAL,
			       "flags");
	attr.sample_period = 1ull << 63;
	return good & expect_refused("bit 63", open_32(&attr, 0, -1, -1), EINVAL, "sample_period");
}

/* Counts, times and ids have 64 bits in both. */
static bool read_events(void)
{
	struct perf_event_attr attr = fault_attr();
	static uint64_t words[16];
	int fd, sibling;
	bool good = true;

	attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | FORMAT_TIMES;
	fd = MUST(open_32(&attr, 0, -1, -1));
	sibling = MUST(open_32(&attr, 0, -1, fd));
	MUST(ioctl_32(fd, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP));
	fault_pages(20);
	MUST(ioctl_32(fd, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP));
	good &= expect_eq("length",
			  syscall_32(READ32, fd, low_address(words), sizeof(words), 0, 0, 0),
			  7 * 8);
	good &= expect_eq("members", words[0], 2);
	good &= expect_eq("times", words[1], words[2]);
	good &= expect_eq("leader", words[3], 20);
	good &= expect_eq("sibling", words[5], 20);
	good &= expect_refused("short",
			       syscall_32(READ32, sibling, low_address(words), 55, 0, 0, 0), ENOSPC,
			       "read");
	good &= expect_refused("not mapped", syscall_32(READ32, fd, 8, 56, 0, 0, 0), EFAULT,
			       "read");
	return good;
}

static bool control_events(void)
{
	struct perf_event_attr attr = fault_attr();
	static uint64_t period = 5, none;
	bool good = true;
	int fd;

	attr.sample_period = 100;
	fd = MUST(open_32(&attr, 0, -1, -1));
	MUST(ioctl_32(fd, PERF_EVENT_IOC_ENABLE, 0));
	fault_pages(10);
	MUST(ioctl_32(fd, PERF_EVENT_IOC_DISABLE, 0));
	fault_pages(10);
	good &= expect_eq("enabled", count_32(fd), 10);
	MUST(ioctl_32(fd, PERF_EVENT_IOC_RESET, 0));
	good &= expect_eq("reset", count_32(fd), 0);
	MUST(ioctl_32(fd, PERF_EVENT_IOC_REFRESH, 1));
	MUST(ioctl_32(fd, PERF_EVENT_IOC_PERIOD, low_address(&period)));
	good &= expect_refused("period 0", ioctl_32(fd, PERF_EVENT_IOC_PERIOD, low_address(&none)),
			       EINVAL, "period");
	good &= expect_refused("pause", ioctl_32(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1), EINVAL,
			       "buffer");
	MUST(ioctl_32(fd, PERF_EVENT_IOC_SET_OUTPUT, -1));
	good &= expect_refused("output", ioctl_32(fd, PERF_EVENT_IOC_SET_OUTPUT, -2), EBADF,
			       "output");
	good &= expect_refused("program", ioctl_32(fd, PERF_EVENT_IOC_SET_BPF, -1), EBADF, "bpf");
	return good & expect_refused("unknown", ioctl_32(fd, _IO('$', 99), 0), ENOTTY, "ioctl");
}

/* The native numbers work as well. */
static bool event_ids(void)
{
	struct perf_event_attr attr = fault_attr();
	static uint64_t id, again;
	bool good = true;
	int fd;

	fd = MUST(open_32(&attr, 0, -1, -1));
	good &= expect_eq("number", ioc_32(PERF_EVENT_IOC_ID), 0x80042407);
	MUST(ioctl_32(fd, ioc_32(PERF_EVENT_IOC_ID), low_address(&id)));
	MUST(ioctl(fd, PERF_EVENT_IOC_ID, &again));
	good &= expect_between("id", id, 1, UINT64_MAX) & expect_eq("id", id, again);
	again = 0;
	MUST(ioctl_32(fd, PERF_EVENT_IOC_ID, low_address(&again)));
	good &= expect_eq("id by its native number", again, id);
	return good & expect_refused("not mapped", ioctl_32(fd, ioc_32(PERF_EVENT_IOC_ID), 8),
				     EFAULT, "id:");
}

static int open_switches(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_TRACEPOINT,
						tracepoint_id("sched/sched_switch"));

	if (attr.config == UINT64_MAX)
		skip_case("no tracepoint");
	return MUST(open_32(&attr, 0, -1, -1));
}

static bool set_filters(void)
{
	static const char nobody[] = "prev_pid == 0x7ffffff", wrong[] = "no_field == 1";
	int filtered = open_switches(), all = open_switches();
	uint64_t before;
	bool good = true;

	good &= expect_eq("number", ioc_32(PERF_EVENT_IOC_SET_FILTER), 0x40042406);
	MUST(ioctl_32(filtered, ioc_32(PERF_EVENT_IOC_SET_FILTER), low_address(nobody)));
	before = count_32(filtered);
	for (int i = 0; i < 5; i++)
		usleep(1000);
	good &= expect_eq("filtered", count_32(filtered), before);
	good &= expect_between("not filtered", count_32(all), 5, 1000);
	good &= expect_refused("wrong",
			       ioctl_32(all, ioc_32(PERF_EVENT_IOC_SET_FILTER), low_address(wrong)),
			       EINVAL, "filter");
	return good & expect_refused("not mapped",
				     ioctl_32(filtered, ioc_32(PERF_EVENT_IOC_SET_FILTER), 8),
				     EFAULT, "filter");
}

static bool query_bpf(void)
{
	static struct perf_event_query_bpf query = { .prog_cnt = 77 };
	struct perf_event_attr attr = fault_attr();
	int fd = open_switches();
	bool good = true;

	good &= expect_eq("number", ioc_32(PERF_EVENT_IOC_QUERY_BPF), 0xc004240a);
	MUST(ioctl_32(fd, ioc_32(PERF_EVENT_IOC_QUERY_BPF), low_address(&query)));
	good &= expect_eq("programs", query.prog_cnt, 0);
	query.ids_len = 1 << 20;
	good &= expect_refused("too many",
			       ioctl_32(fd, ioc_32(PERF_EVENT_IOC_QUERY_BPF), low_address(&query)),
			       E2BIG, "ids_len");
	fd = MUST(open_32(&attr, 0, -1, -1));
	return good &
	       expect_refused("no tracepoint",
			      ioctl_32(fd, ioc_32(PERF_EVENT_IOC_QUERY_BPF), low_address(&query)),
			      EINVAL, "tracepoint");
}

static bool modify_attributes(void)
{
	static struct perf_event_attr bp;
	static volatile long watched[2];
	bool good = true;
	int fd;

	bp = perf_attr(PERF_TYPE_BREAKPOINT, 0);
	bp.bp_type = HW_BREAKPOINT_W;
	bp.bp_addr = low_address((void *)&watched[0]);
	bp.bp_len = 8;
	bp.exclude_kernel = 1;
	fd = MUST(open_32(&bp, 0, -1, -1));
	watched[0] = 1;
	watched[1] = 1;
	good &= expect_eq("the first", count_32(fd), 1);
	bp.bp_addr = low_address((void *)&watched[1]);
	good &= expect_eq("number", ioc_32(PERF_EVENT_IOC_MODIFY_ATTRIBUTES), 0x4004240b);
	MUST(ioctl_32(fd, ioc_32(PERF_EVENT_IOC_MODIFY_ATTRIBUTES), low_address(&bp)));
	watched[0] = 2;
	for (int i = 0; i < 3; i++)
		watched[1] = i;
	return good & expect_eq("the second", count_32(fd), 4);
}

/* Numbers without a pointer are the same: a period has eight bytes in both. */
static bool only_pointers_are_translated(void)
{
	struct perf_event_attr attr = fault_attr();
	static uint64_t period = 5;
	bool good;
	int fd;

	attr.sample_period = 100;
	fd = MUST(open_32(&attr, 0, -1, -1));
	good = expect_refused("PERIOD with 4 bytes",
			      ioctl_32(fd, ioc_32(PERF_EVENT_IOC_PERIOD), low_address(&period)),
			      ENOTTY, "ioctl");
	good &= expect_refused("of a 64-bit program", ioctl(fd, ioc_32(PERF_EVENT_IOC_ID), &period),
			       ENOTTY, "ioctl");
	return good & expect_refused("ID with 2 bytes",
				     ioctl_32(fd, _IOC(_IOC_READ, '$', 7, 2), low_address(&period)),
				     ENOTTY, "ioctl");
}

static bool map_and_poll(void)
{
	struct perf_event_attr attr = fault_attr();
	static struct pollfd p = { .events = POLLIN };
	struct perf_event_mmap_page *page;
	struct perf_event_header *h;
	bool good = true;
	long base;

	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_TID;
	attr.wakeup_events = 1;
	p.fd = MUST(open_32(&attr, 0, -1, -1));
	base = syscall_32(MMAP2_32, 0, 3 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, p.fd, 0);
	if (base < 0)
		fail_case("mmap2");
	page = (void *)base;
	good &= expect_between("address", base, 4096, UINT32_MAX);
	good &= expect_eq("data_offset", page->data_offset, 4096);
	good &= expect_eq("data_size", page->data_size, 2 * 4096);
	MUST(ioctl_32(p.fd, PERF_EVENT_IOC_ENABLE, 0));
	fault_pages(3);
	MUST(ioctl_32(p.fd, PERF_EVENT_IOC_DISABLE, 0));
	good &= expect_eq("poll", syscall_32(POLL32, low_address(&p), 1, 0, 0, 0, 0), 1);
	good &= expect_eq("head", page->data_head, 3 * 16);
	h = (void *)(base + 4096);
	good &= expect_eq("type", h->type, PERF_RECORD_SAMPLE);
	good &= expect_eq("pid", *(uint32_t *)(h + 1), getpid());
	good &= expect_refused("another size",
			       syscall_32(MMAP2_32, 0, 2 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
					  p.fd, 0),
			       EINVAL, "mmap");
	MUST(ioctl_32(p.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1));
	MUST(ioctl_32(p.fd, PERF_EVENT_IOC_ENABLE, 0));
	fault_pages(3);
	return good & expect_eq("head, paused", page->data_head, 3 * 16);
}

static const struct test tests[] = {
	{ "perf_event_open", open_events },
	{ "read", read_events },
	{ "ioctls without pointers", control_events },
	{ "IOC_ID", event_ids },
	{ "IOC_SET_FILTER", set_filters },
	{ "IOC_QUERY_BPF", query_bpf },
	{ "IOC_MODIFY_ATTRIBUTES", modify_attributes },
	{ "only pointers have another size", only_pointers_are_translated },
	{ "mmap and poll", map_and_poll },
};

TESTS_MAIN(tests)

#else

TESTS_MAIN_SKIPPED("compat", "no system calls of other programs")

#endif
