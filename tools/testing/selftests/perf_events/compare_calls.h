/* SPDX-License-Identifier: GPL-2.0 */
/* The calls of compare.c, chosen at random. Each describes itself and adds its answer. */
#ifndef PERF_TEST_COMPARE_CALLS_H
#define PERF_TEST_COMPARE_CALLS_H

#include "compare_records.h"
#include "compare_work.h"

#include <poll.h>
#include <sys/prctl.h>

/* What an event counts. */
struct compare_scope {
	const char	*name;
	pid_t		pid;
	int		cpu;
	unsigned long	flags;
	bool		own;
};

static struct compare_scope scope_choose(void)
{
	const pid_t helper = compare.helper;

	switch (compare_random(40)) {
	case 0 ... 2:
		return (struct compare_scope) { "self", 0, 0, 0, true };
	case 3:
		return (struct compare_scope) { "self", 0, 1, 0, false };
	case 4 ... 7:
		return (struct compare_scope) { "all", -1, 0, 0, false };
	case 8:
		return (struct compare_scope) { "all", -1, 1, 0, false };
	case 9 ... 14:
		if (helper)
			return (struct compare_scope) { "helper", helper, -1, 0, true };
		break;
	case 15:
		if (helper)
			return (struct compare_scope) { "helper", helper, 0, 0, true };
		break;
	case 16:
	case 17:
		return (struct compare_scope) { "cgroup", compare.cgroup, 0,
						PERF_FLAG_PID_CGROUP };
	case 18:
		if (compare_one_in(2))
			return (struct compare_scope) { "nothing", -1, -1, 0 };
		return (struct compare_scope) { "init", 1, -1, 0 };
	case 19:
		if (compare_one_in(2))
			return (struct compare_scope) { "dead", compare.dead, -1, 0 };
		return (struct compare_scope) { "cgroup", COMPARE_BAD_FD,
						compare_one_in(2) ? 0 : -1,
						PERF_FLAG_PID_CGROUP };
	case 20: {
		static const int cpus[] = { 2, 99, 5000, -2 };

		return (struct compare_scope) { "self", 0, COMPARE_PICK(cpus), 0 };
	}
	case 21: {
		static const pid_t pids[] = { -1, -2, 1 << 30 };

		return (struct compare_scope) { "odd", COMPARE_PICK(pids), 99, 0 };
	}
	}
	return (struct compare_scope) { "self", 0, -1, 0, true };
}

/* The attribute may be longer than the kernel's, with something behind the last field. */
static int call_open_raw(struct perf_event_attr *attr, const struct compare_scope *scope, int group,
			 unsigned long flags, bool tail)
{
	static char longer[4096] __aligned(8);
	int fd;

	memset(longer, 0, sizeof(longer));
	memcpy(longer, attr, sizeof(*attr));
	longer[sizeof(*attr)] = tail;
	fd = syscall(__NR_perf_event_open, longer, scope->pid, scope->cpu, group, flags);
	attr->size = ((struct perf_event_attr *)longer)->size;
	return fd;
}

/* What is known of an event that has been opened. */
static void call_note_event(struct compare_slot *slot, const struct compare_scope *scope)
{
	const struct perf_event_attr *attr = &slot->attr;
	unsigned int hardware = 0;

	slot->own = scope->own;
	slot->noisy = attr->sample_period &&
		      (!attr_is_exact(attr) || attr->freq || !scope->own);
	/* Records of switches, too, fill the buffer at times of their own. */
	slot->noisy |= attr->context_switch;
	compare.noisy |= slot->noisy;
	ioctl(slot->fd, PERF_EVENT_IOC_ID, &slot->id);
	for (unsigned int i = 0; i < compare.nr_slots; i++) {
		if (compare.slots[i].fd >= 0 && attr_is_hardware(&compare.slots[i].attr))
			hardware++;
	}
	compare.multiplexed |= hardware > 3 || (attr->exclusive && attr_is_hardware(attr));
}

static void call_open(void)
{
	static const unsigned long odd_flags[] = {
		PERF_FLAG_FD_NO_GROUP, PERF_FLAG_FD_OUTPUT, PERF_FLAG_PID_CGROUP, 1UL << 4,
		1UL << 40, PERF_FLAG_FD_NO_GROUP | PERF_FLAG_FD_OUTPUT
	};
	struct compare_scope scope = scope_choose();
	struct compare_slot *slot, *leader = NULL;
	unsigned long flags = scope.flags;
	bool tail = compare_one_in(4);
	int group = -1;

	if (compare.nr_slots == COMPARE_SLOTS)
		return;
	if (compare.nr_slots && compare_one_in(3))
		leader = compare_pick_slot();
	if (leader)
		group = leader->fd;
	else if (compare_one_in(40))
		group = compare_one_in(2) ? COMPARE_BAD_FD : 1;
	if (compare_one_in(3))
		flags |= PERF_FLAG_FD_CLOEXEC;
	if (compare_one_in(16))
		flags |= COMPARE_PICK(odd_flags);
	slot = &compare.slots[compare.nr_slots++];
	slot->attr = attr_choose();
	answer_describe("open pid=%s cpu=%d group=%d flags=%#lx%s", scope.name, scope.cpu,
			leader ? (int)(leader - compare.slots) : group, flags,
			tail ? " tail" : "");
	attr_describe(&slot->attr);
	slot->fd = call_open_raw(&slot->attr, &scope, group, flags, tail);
	answer_begin();
	if (slot->fd < 0) {
		answer_add("%s size%u", strerrorname_np(errno), slot->attr.size);
	} else {
		answer_add("ok");
		call_note_event(slot, &scope);
		if (leader && flags & PERF_FLAG_FD_OUTPUT)
			leader->shared = true;
	}
	answer_end();
}

static void call_close(struct compare_slot *slot)
{
	answer_describe("close #%d", (int)(slot - compare.slots));
	answer_call(close(slot->fd));
	slot->fd = -1;
}

static void call_read(struct compare_slot *slot)
{
	static const size_t sizes[] = { 0, 4, 8, 16, 24, 32, 40, 4096 };
	size_t size = compare_one_in(5) ? COMPARE_PICK(sizes) : 4096;
	static uint64_t words[512];
	ssize_t n;

	answer_describe("read #%d %zu format=%#llx", (int)(slot - compare.slots), size,
			(long long)slot->attr.read_format);
	n = read(slot->fd, words, size);
	answer_begin();
	answer_result(n);
	if (n > 0) {
		answer_add(" ");
		records_show_values(slot, words, n / 8);
	}
	answer_end();
}

/* The size of a mapping: mostly a valid one. */
static size_t call_choose_map_size(void)
{
	static const unsigned int odd[] = { 0, 4, 6, 7, 513, 1025, 4097 };

	if (compare_one_in(8))
		return COMPARE_PICK(odd) * COMPARE_PAGE;
	return (1 + (compare_one_in(5) ? 0 : 1 << compare_random(4))) * COMPARE_PAGE;
}

static void call_mmap(struct compare_slot *slot)
{
	int prot = compare_one_in(8) ? PROT_READ : PROT_READ | PROT_WRITE;
	int flags = compare_one_in(20) ? MAP_PRIVATE : MAP_SHARED;
	off_t offset = compare_one_in(20) ? COMPARE_PAGE << compare_random(5) : 0;
	size_t size = call_choose_map_size();
	char *map;

	/* The kernels may differ in the faults that reading takes. */
	if (!compare_one_in(16))
		flags |= MAP_POPULATE;
	if (compare_one_in(40))
		prot |= PROT_EXEC;
	answer_describe("mmap #%d pages=%zu prot=%d %s%s offset=%ld",
			(int)(slot - compare.slots), size / COMPARE_PAGE, prot,
			flags & MAP_SHARED ? "shared" : "private",
			flags & MAP_POPULATE ? "" : " lazy", (long)(offset / COMPARE_PAGE));
	map = mmap(NULL, size, prot, flags, slot->fd, offset);
	answer_begin();
	answer_add("%s", map == MAP_FAILED ? strerrorname_np(errno) : "ok");
	if (map != MAP_FAILED && !slot->map_size && !offset && prot & PROT_WRITE) {
		slot->map = map;
		slot->map_size = size;
		/* MAP_POPULATE is for reading. */
		if (flags & MAP_POPULATE)
			madvise(map, COMPARE_PAGE, MADV_POPULATE_WRITE);
		answer_add(" ");
		records_show_page(slot);
	}
	answer_end();
}

static void call_munmap(struct compare_slot *slot)
{
	if (!slot->map_size)
		return;
	answer_describe("munmap #%d", (int)(slot - compare.slots));
	answer_call(munmap(slot->map, slot->map_size));
	slot->map_size = 0;
	slot->tail = 0;
}

static void call_drain(struct compare_slot *slot)
{
	if (!slot->map_size)
		return;
	answer_describe("drain #%d noisy=%d", (int)(slot - compare.slots), slot->noisy);
	answer_begin();
	records_show_page(slot);
	if (slot->map_size > COMPARE_PAGE && !slot->attr.write_backward)
		records_drain(slot);
	answer_end();
}

static void call_poll(struct compare_slot *slot)
{
	struct pollfd pfd = { .fd = slot->fd, .events = POLLIN | POLLPRI };
	int ret;

	answer_describe("poll #%d", (int)(slot - compare.slots));
	ret = poll(&pfd, 1, 0);
	answer_begin();
	if (compare.noisy)
		answer_add("%#x", pfd.revents & ~(POLLIN | POLLPRI));
	else
		answer_add("%d %#x", ret, pfd.revents);
	answer_end();
}

/* Another buffer may have the records from now on. */
static void call_set_output(struct compare_slot *slot)
{
	struct compare_slot *target = compare_pick_slot();
	int fd = compare_one_in(6) ? -1 : compare_one_in(12) ? 1 : target->fd, ret;

	answer_describe("ioctl #%d SET_OUTPUT %s%d", (int)(slot - compare.slots),
			fd == 1 ? "fd " : fd < 0 ? "" : "#",
			fd <= 1 ? fd : (int)(target - compare.slots));
	ret = ioctl(slot->fd, PERF_EVENT_IOC_SET_OUTPUT, fd);
	if (!ret && fd == target->fd && target != slot)
		target->shared = true;
	answer_call(ret);
}

static void call_set_filter(struct compare_slot *slot)
{
	static const char * const filters[] = {
		"common_pid > 0", "common_pid == 1", "nofield == 1", "common_pid >", "",
		"common_pid > 0 && common_pid < 100000", "filter 0x1000/0x1000@/bin/busybox",
		"start 0x1000@/bin/busybox", "0"
	};
	const char *filter = COMPARE_PICK(filters);

	answer_describe("ioctl #%d SET_FILTER '%s'", (int)(slot - compare.slots), filter);
	answer_call(ioctl(slot->fd, PERF_EVENT_IOC_SET_FILTER, filter));
}

static void call_set_bpf(struct compare_slot *slot)
{
	static const char * const names[] = { "perf event", "tracepoint", "nothing", "no program" };
	unsigned int which = compare_random(4);
	int fd = which < 2 ? compare.programs[which] : which == 2 ? COMPARE_BAD_FD : 1;

	answer_describe("ioctl #%d SET_BPF %s", (int)(slot - compare.slots), names[which]);
	answer_call(ioctl(slot->fd, PERF_EVENT_IOC_SET_BPF, fd));
}

static void call_query_bpf(struct compare_slot *slot)
{
	static const uint32_t lengths[] = { 0, 1, 4, 64, 65, 1000 };
	struct {
		struct perf_event_query_bpf	query;
		uint32_t			ids[64];
	} room = { };
	int ret;

	room.query.ids_len = COMPARE_PICK(lengths);
	answer_describe("ioctl #%d QUERY_BPF %u", (int)(slot - compare.slots), room.query.ids_len);
	ret = ioctl(slot->fd, PERF_EVENT_IOC_QUERY_BPF, &room);
	answer_begin();
	answer_result(ret);
	answer_add(" %u", room.query.prog_cnt);
	answer_end();
}

static void call_period(struct compare_slot *slot)
{
	uint64_t value = compare_one_in(3) ? attr_edge_value() : 1 + compare_random(5);
	bool nowhere = compare_one_in(20);

	/* A short period of what never rests would leave no time for anything else. */
	if (slot->noisy && !slot->attr.freq && value && value < 20000)
		value = 20011;
	answer_describe("ioctl #%d PERIOD %llu%s", (int)(slot - compare.slots), (long long)value,
			nowhere ? " nowhere" : "");
	answer_call(ioctl(slot->fd, PERF_EVENT_IOC_PERIOD, nowhere ? NULL : &value));
}

static void call_modify(struct compare_slot *slot)
{
	struct perf_event_attr attr = slot->attr;

	if (!compare_one_in(3))
		attr.bp_addr = (unsigned long)&compare_watched[(slot - compare.slots) * 4 + 2];
	if (compare_one_in(3))
		attr.disabled ^= 1;
	if (compare_one_in(3))
		attr_change(&attr);
	attr_bound_period(&attr);
	if (slot->noisy)
		attr.sample_period = slot->attr.sample_period;
	answer_describe("ioctl #%d MODIFY", (int)(slot - compare.slots));
	attr_describe(&attr);
	answer_call(ioctl(slot->fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr));
}

static void call_id(struct compare_slot *slot)
{
	uint64_t id = 0;
	int ret;

	answer_describe("ioctl #%d ID", (int)(slot - compare.slots));
	ret = ioctl(slot->fd, PERF_EVENT_IOC_ID, compare_one_in(12) ? NULL : &id);
	answer_begin();
	answer_result(ret);
	answer_add(" #%d", compare_slot_of(id));
	answer_end();
}

static void call_control(struct compare_slot *slot)
{
	static const struct {
		const char	*name;
		unsigned long	number;
	} controls[] = {
		{ "ENABLE", PERF_EVENT_IOC_ENABLE }, { "DISABLE", PERF_EVENT_IOC_DISABLE },
		{ "ENABLE", PERF_EVENT_IOC_ENABLE }, { "DISABLE", PERF_EVENT_IOC_DISABLE },
		{ "RESET", PERF_EVENT_IOC_RESET }, { "REFRESH", PERF_EVENT_IOC_REFRESH },
		{ "PAUSE_OUTPUT", PERF_EVENT_IOC_PAUSE_OUTPUT }, { "99", _IO('$', 99) },
	};
	static const unsigned long arguments[] = { 0, 0, 0, PERF_IOC_FLAG_GROUP, 2, 3, ~0UL };
	unsigned int i = compare_random(ARRAY_SIZE(controls));
	unsigned long argument = COMPARE_PICK(arguments);

	answer_describe("ioctl #%d %s %#lx", (int)(slot - compare.slots), controls[i].name,
			argument);
	answer_call(ioctl(slot->fd, controls[i].number, argument));
}

static void call_ioctl(struct compare_slot *slot)
{
	switch (compare_random(20)) {
	case 0 ... 8:
		call_control(slot);
		break;
	case 9 ... 11:
		call_set_output(slot);
		break;
	case 12:
		call_set_filter(slot);
		break;
	case 13:
	case 14:
		call_set_bpf(slot);
		break;
	case 15:
		call_query_bpf(slot);
		break;
	case 16:
	case 17:
		call_period(slot);
		break;
	case 18:
		call_modify(slot);
		break;
	default:
		call_id(slot);
		break;
	}
}

static void call_prctl(void)
{
	bool on = compare_one_in(2);

	answer_describe("prctl %s", on ? "ENABLE" : "DISABLE");
	answer_call(prctl(on ? PR_TASK_PERF_EVENTS_ENABLE : PR_TASK_PERF_EVENTS_DISABLE));
}

/* A signal at each wakeup. */
static void call_async(struct compare_slot *slot)
{
	int ret = fcntl(slot->fd, F_SETOWN, getpid());

	answer_describe("fcntl #%d O_ASYNC", (int)(slot - compare.slots));
	if (!ret)
		ret = fcntl(slot->fd, F_SETFL, O_RDWR | O_ASYNC);
	answer_call(ret);
}

static void call_other_file(struct compare_slot *slot)
{
	uint64_t value = 0;

	switch (compare_random(3)) {
	case 0:
		answer_describe("write #%d", (int)(slot - compare.slots));
		answer_call(write(slot->fd, &value, sizeof(value)));
		break;
	case 1:
		answer_describe("lseek #%d", (int)(slot - compare.slots));
		answer_call(lseek(slot->fd, 8, SEEK_SET));
		break;
	default:
		answer_describe("pread #%d", (int)(slot - compare.slots));
		answer_call(pread(slot->fd, &value, sizeof(value), 0) < 0 ? -1 : 0);
		break;
	}
}

static void call_work(void)
{
	unsigned int before = compare_signals;

	answer_describe("work");
	compare_work();
	answer_begin();
	if (compare.noisy)
		answer_add("done");
	else
		answer_add("%u signals", compare_signals - before);
	answer_end();
}

static void call_child(void)
{
	bool exec = compare_one_in(3);

	answer_describe("child%s", exec ? " exec" : "");
	compare_work_in_child(exec);
	answer_begin();
	answer_add("done");
	answer_end();
}

static void call_helper(void)
{
	static const char commands[] = "wwwweeffnmx";
	char command = commands[compare_random(sizeof(commands) - 1)];

	answer_describe("helper %c", command);
	answer_begin();
	answer_add("%d", helper_do(command));
	answer_end();
}

/* One call on an event of the case. */
static void call_on_slot(struct compare_slot *slot)
{
	switch (compare_random(32)) {
	case 0 ... 12:
		call_ioctl(slot);
		break;
	case 13 ... 18:
		call_read(slot);
		break;
	case 19 ... 23:
		if (slot->map_size)
			call_drain(slot);
		else
			call_mmap(slot);
		break;
	case 24:
		call_munmap(slot);
		break;
	case 25 ... 27:
		call_poll(slot);
		break;
	case 28:
		call_async(slot);
		break;
	case 29:
		call_other_file(slot);
		break;
	case 30:
		call_mmap(slot);
		break;
	default:
		call_close(slot);
		break;
	}
}

static void call_any(void)
{
	switch (compare_random(24)) {
	case 0 ... 3:
		call_open();
		break;
	case 4 ... 8:
		call_work();
		break;
	case 9:
		call_prctl();
		break;
	case 10:
		call_child();
		break;
	case 11 ... 13:
		if (compare.helper && !helper_exited)
			call_helper();
		else
			call_work();
		break;
	default:
		if (compare.nr_slots)
			call_on_slot(compare_pick_slot());
		break;
	}
}

#endif /* PERF_TEST_COMPARE_CALLS_H */
