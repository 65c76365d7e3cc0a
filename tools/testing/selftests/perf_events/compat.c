// SPDX-License-Identifier: GPL-2.0
/*
 * System calls of 32-bit programs: int $0x80 enters the kernel as theirs do, whatever the code around
 * it is. What is pointed to is static, and therefore below 4 GiB. Numbers of ioctls that contain the
 * size of a pointer are others there.
 */
#include "workload.h"
#include "record.h"

#include <poll.h>
#include <linux/hw_breakpoint.h>

#ifdef __x86_64__

/* i386's numbers. */
#define READ32		3
#define IOCTL32		54
#define POLL32		168
#define MMAP2_32	192
#define OPEN32		336

/* -1 and errno, as of a C library. */
static long call32(uint32_t nr, uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t e,
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

static uint32_t low(const void *p)
{
	if ((uintptr_t)p >> 32)
		fail_case("static data are not below 4 GiB");
	return (uintptr_t)p;
}

static int open32(const struct perf_event_attr *wanted, pid_t pid, int cpu, int group)
{
	static struct perf_event_attr attr;

	attr = *wanted;
	return call32(OPEN32, low(&attr), pid, cpu, group, PERF_FLAG_FD_CLOEXEC, 0);
}

static long ioctl32(int fd, uint32_t request, uint32_t arg)
{
	return call32(IOCTL32, fd, request, arg, 0, 0, 0);
}

static uint64_t count32(int fd)
{
	static uint64_t value;

	return call32(READ32, fd, low(&value), sizeof(value), 0, 0, 0) == sizeof(value) ? value :
	       UINT64_MAX;
}

/* The number that a request has where pointers have four bytes. */
#define FOUR(request)	_IOC(_IOC_DIR(request), _IOC_TYPE(request), _IOC_NR(request), 4)

static struct perf_event_attr fault_attr(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);

	attr.disabled = 1;
	attr.exclude_kernel = 1;
	fault(2);
	return attr;
}

/* Negative numbers, and what is wider than a register, arrive as they should. */
static bool opens(void)
{
	struct perf_event_attr attr = fault_attr();
	bool good = true;
	int fd;

	attr.disabled = 0;
	fd = MUST(open32(&attr, 0, -1, -1));
	fault(10);
	good &= same("faults", count32(fd), 10);
	MUST(open32(&attr, getpid(), 0, -1));
	MUST(open32(&attr, -1, 0, -1));
	MUST(open32(&attr, 0, -1, fd));
	good &= refused("no target", open32(&attr, -1, -1, -1), EINVAL, "cpu");
	good &= refused("no group", open32(&attr, 0, -1, -2), EBADF, "group_fd");
	good &= refused("no attr", call32(OPEN32, 8, 0, -1, -1, 0, 0), EFAULT, "attr");
	good &= refused("flags", call32(OPEN32, 8, 0, -1, -1, 1u << 31, 0), EINVAL,
			"flags");
	attr.sample_period = 1ull << 63;
	return good & refused("bit 63", open32(&attr, 0, -1, -1), EINVAL, "sample_period");
}

/* Counts, times and ids have 64 bits everywhere. */
static bool reads(void)
{
	struct perf_event_attr attr = fault_attr();
	static uint64_t words[16];
	int fd, sibling;
	bool good = true;

	attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | FORMAT_TIMES;
	fd = MUST(open32(&attr, 0, -1, -1));
	sibling = MUST(open32(&attr, 0, -1, fd));
	MUST(ioctl32(fd, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP));
	fault(20);
	MUST(ioctl32(fd, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP));
	good &= same("length", call32(READ32, fd, low(words), sizeof(words), 0, 0, 0), 7 * 8);
	good &= same("members", words[0], 2);
	good &= same("times", words[1], words[2]);
	good &= same("leader", words[3], 20);
	good &= same("sibling", words[5], 20);
	good &= refused("short", call32(READ32, sibling, low(words), 55, 0, 0, 0), ENOSPC, "read");
	good &= refused("not mapped", call32(READ32, fd, 8, 56, 0, 0, 0), EFAULT, "read");
	return good;
}

static bool controls(void)
{
	struct perf_event_attr attr = fault_attr();
	static uint64_t period = 5, none;
	bool good = true;
	int fd;

	attr.sample_period = 100;
	fd = MUST(open32(&attr, 0, -1, -1));
	MUST(ioctl32(fd, PERF_EVENT_IOC_ENABLE, 0));
	fault(10);
	MUST(ioctl32(fd, PERF_EVENT_IOC_DISABLE, 0));
	fault(10);
	good &= same("enabled", count32(fd), 10);
	MUST(ioctl32(fd, PERF_EVENT_IOC_RESET, 0));
	good &= same("reset", count32(fd), 0);
	MUST(ioctl32(fd, PERF_EVENT_IOC_REFRESH, 1));
	MUST(ioctl32(fd, PERF_EVENT_IOC_PERIOD, low(&period)));
	good &= refused("period 0", ioctl32(fd, PERF_EVENT_IOC_PERIOD, low(&none)), EINVAL, "period");
	good &= refused("pause", ioctl32(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1), EINVAL, "buffer");
	MUST(ioctl32(fd, PERF_EVENT_IOC_SET_OUTPUT, -1));
	good &= refused("output", ioctl32(fd, PERF_EVENT_IOC_SET_OUTPUT, -2), EBADF, "output");
	good &= refused("program", ioctl32(fd, PERF_EVENT_IOC_SET_BPF, -1), EBADF, "bpf");
	return good & refused("unknown", ioctl32(fd, _IO('$', 99), 0), ENOTTY, "ioctl");
}

/* The native numbers do as well. */
static bool ids(void)
{
	struct perf_event_attr attr = fault_attr();
	static uint64_t id, again;
	bool good = true;
	int fd;

	fd = MUST(open32(&attr, 0, -1, -1));
	good &= same("number", FOUR(PERF_EVENT_IOC_ID), 0x80042407);
	MUST(ioctl32(fd, FOUR(PERF_EVENT_IOC_ID), low(&id)));
	MUST(ioctl(fd, PERF_EVENT_IOC_ID, &again));
	good &= between("id", id, 1, UINT64_MAX) & same("id", id, again);
	again = 0;
	MUST(ioctl32(fd, PERF_EVENT_IOC_ID, low(&again)));
	good &= same("id by its native number", again, id);
	return good & refused("not mapped", ioctl32(fd, FOUR(PERF_EVENT_IOC_ID), 8), EFAULT, "id:");
}

static int open_switches(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_TRACEPOINT,
						tracepoint_id("sched/sched_switch"));

	if (attr.config == UINT64_MAX)
		skip_case("no tracepoint");
	return MUST(open32(&attr, 0, -1, -1));
}

static bool filters(void)
{
	static const char nobody[] = "prev_pid == 0x7ffffff", wrong[] = "no_field == 1";
	int filtered = open_switches(), all = open_switches();
	uint64_t before;
	bool good = true;

	good &= same("number", FOUR(PERF_EVENT_IOC_SET_FILTER), 0x40042406);
	MUST(ioctl32(filtered, FOUR(PERF_EVENT_IOC_SET_FILTER), low(nobody)));
	before = count32(filtered);
	for (int i = 0; i < 5; i++)
		usleep(1000);
	good &= same("filtered", count32(filtered), before);
	good &= between("not filtered", count32(all), 5, 1000);
	good &= refused("wrong", ioctl32(all, FOUR(PERF_EVENT_IOC_SET_FILTER), low(wrong)), EINVAL,
			"filter");
	return good & refused("not mapped", ioctl32(filtered, FOUR(PERF_EVENT_IOC_SET_FILTER), 8),
			      EFAULT, "filter");
}

static bool queries(void)
{
	static struct perf_event_query_bpf query = { .prog_cnt = 77 };
	struct perf_event_attr attr = fault_attr();
	int fd = open_switches();
	bool good = true;

	good &= same("number", FOUR(PERF_EVENT_IOC_QUERY_BPF), 0xc004240a);
	MUST(ioctl32(fd, FOUR(PERF_EVENT_IOC_QUERY_BPF), low(&query)));
	good &= same("programs", query.prog_cnt, 0);
	query.ids_len = 1 << 20;
	good &= refused("too many", ioctl32(fd, FOUR(PERF_EVENT_IOC_QUERY_BPF), low(&query)), E2BIG,
			"ids_len");
	fd = MUST(open32(&attr, 0, -1, -1));
	return good & refused("no tracepoint", ioctl32(fd, FOUR(PERF_EVENT_IOC_QUERY_BPF), low(&query)),
			      EINVAL, "tracepoint");
}

static bool modifies(void)
{
	static struct perf_event_attr bp;
	static volatile long watched[2];
	bool good = true;
	int fd;

	bp = perf_attr(PERF_TYPE_BREAKPOINT, 0);
	bp.bp_type = HW_BREAKPOINT_W;
	bp.bp_addr = low((void *)&watched[0]);
	bp.bp_len = 8;
	bp.exclude_kernel = 1;
	fd = MUST(open32(&bp, 0, -1, -1));
	watched[0] = 1;
	watched[1] = 1;
	good &= same("the first", count32(fd), 1);
	bp.bp_addr = low((void *)&watched[1]);
	good &= same("number", FOUR(PERF_EVENT_IOC_MODIFY_ATTRIBUTES), 0x4004240b);
	MUST(ioctl32(fd, FOUR(PERF_EVENT_IOC_MODIFY_ATTRIBUTES), low(&bp)));
	watched[0] = 2;
	for (int i = 0; i < 3; i++)
		watched[1] = i;
	return good & same("the second", count32(fd), 4);
}

/* What is no pointer has no other number: a period has eight bytes for everybody. */
static bool only_pointers_are_translated(void)
{
	struct perf_event_attr attr = fault_attr();
	static uint64_t period = 5;
	bool good;
	int fd;

	attr.sample_period = 100;
	fd = MUST(open32(&attr, 0, -1, -1));
	good = refused("PERIOD with 4 bytes", ioctl32(fd, FOUR(PERF_EVENT_IOC_PERIOD), low(&period)),
		       ENOTTY, "ioctl");
	good &= refused("of a 64-bit program", ioctl(fd, FOUR(PERF_EVENT_IOC_ID), &period), ENOTTY,
			"ioctl");
	return good & refused("ID with 2 bytes", ioctl32(fd, _IOC(_IOC_READ, '$', 7, 2), low(&period)),
			      ENOTTY, "ioctl");
}

static bool maps(void)
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
	p.fd = MUST(open32(&attr, 0, -1, -1));
	base = call32(MMAP2_32, 0, 3 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, p.fd, 0);
	if (base < 0)
		fail_case("mmap2");
	page = (void *)base;
	good &= between("address", base, 4096, UINT32_MAX);
	good &= same("data_offset", page->data_offset, 4096);
	good &= same("data_size", page->data_size, 2 * 4096);
	MUST(ioctl32(p.fd, PERF_EVENT_IOC_ENABLE, 0));
	fault(3);
	MUST(ioctl32(p.fd, PERF_EVENT_IOC_DISABLE, 0));
	good &= same("poll", call32(POLL32, low(&p), 1, 0, 0, 0, 0), 1);
	good &= same("head", page->data_head, 3 * 16);
	h = (void *)(base + 4096);
	good &= same("type", h->type, PERF_RECORD_SAMPLE);
	good &= same("pid", *(uint32_t *)(h + 1), getpid());
	good &= refused("another size", call32(MMAP2_32, 0, 2 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
					       p.fd, 0), EINVAL, "mmap");
	MUST(ioctl32(p.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1));
	MUST(ioctl32(p.fd, PERF_EVENT_IOC_ENABLE, 0));
	fault(3);
	return good & same("head, paused", page->data_head, 3 * 16);
}

static const struct test tests[] = {
	{ "open", opens },
	{ "read", reads },
	{ "ioctls without pointers", controls },
	{ "ID", ids },
	{ "SET_FILTER", filters },
	{ "QUERY_BPF", queries },
	{ "MODIFY_ATTRIBUTES", modifies },
	{ "only pointers have another size", only_pointers_are_translated },
	{ "mmap and poll", maps },
};

TESTS_MAIN(tests)

#else

int main(void)
{
	ktap_start(0);
	ktap_skip("compat", "no system calls of other programs");
	return ktap_finish();
}

#endif
