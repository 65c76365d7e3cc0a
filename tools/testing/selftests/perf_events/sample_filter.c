// SPDX-License-Identifier: GPL-2.0
/*
 * Which samples are kept: filters of tracepoints, BPF programs of events, modes and idle time that
 * a clock excludes. Run as root.
 */
#include "bpf_prog.h"
#include "sampling.h"

static bool tracepoint_filter(void)
{
	struct perf_event_attr attr;
	int id = syscall_tracepoint_attr(&attr, "raw_syscalls/sys_enter"), fd;
	char filter[32];
	bool ok = true;

	if (id < 0)
		skip_case("no such tracepoint");
	fd = open_mapped(&attr, 16);
	ok &= expect_errno("filter: a field that is not there",
			   ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "no_such_field == 1"), EINVAL);
	snprintf(filter, sizeof(filter), "id == %d", __NR_getppid);
	ok &= expect_errno("filter: set", ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter), 0);
	call_getppid_20_times(fd);
	ok &= expect_eq("filter: samples that pass it", ring_count(&ring, PERF_RECORD_SAMPLE), 20);
	ok &= expect_eq("filter: count", perf_count(fd), 20);
	close_mapped(fd);

	attr = fault_attr(1, PERF_SAMPLE_IP);
	fd = perf_open(&attr, 0, -1, -1, 0);
	ok &= expect_errno("filter: not for page faults",
			   ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "id == 1"), EINVAL);
	close(fd);
	return ok;
}

static bool bpf_answers(void)
{
	int drop = bpf_load_constant(BPF_PROG_TYPE_PERF_EVENT, 0);
	int pass = bpf_load_constant(BPF_PROG_TYPE_PERF_EVENT, 1);
	int wrong = bpf_load_constant(BPF_PROG_TYPE_KPROBE, 0);
	struct perf_event_attr attr = fault_attr(1, PERF_SAMPLE_ADDR);
	int fd = open_mapped(&attr, 4);
	bool ok = true;

	ok &= expect_errno("BPF: another type of program", ioctl(fd, PERF_EVENT_IOC_SET_BPF, wrong),
			   EINVAL);
	ok &= expect_errno("BPF: a program that says no", ioctl(fd, PERF_EVENT_IOC_SET_BPF, drop),
			   0);
	ok &= expect_errno("BPF: a second one", ioctl(fd, PERF_EVENT_IOC_SET_BPF, pass), EEXIST);
	count_faults(fd, fresh_pages(20), 20);
	ok &= expect_eq("BPF: samples it lets through", ring_count(&ring, PERF_RECORD_SAMPLE), 0);
	ok &= expect_eq("BPF: count all the same", perf_count(fd), 20);
	close_mapped(fd);

	fd = open_mapped(&attr, 4);
	ok &= expect_errno("BPF: a program that says yes", ioctl(fd, PERF_EVENT_IOC_SET_BPF, pass),
			   0);
	count_faults(fd, fresh_pages(20), 20);
	ok &= expect_eq("BPF: samples it lets through", ring_count(&ring, PERF_RECORD_SAMPLE), 20);
	close_mapped(fd);
	close(drop);
	close(pass);
	close(wrong);
	return ok;
}

/* A BPF link holds the program until the link is closed. */
static bool bpf_link(void)
{
	int drop = bpf_load_constant(BPF_PROG_TYPE_PERF_EVENT, 0);
	struct perf_event_attr attr = fault_attr(1, PERF_SAMPLE_ADDR);
	int fd = open_mapped(&attr, 4), link;
	union bpf_attr create = {
		.link_create = {
			.prog_fd	= drop,
			.target_fd	= fd,
			.attach_type	= BPF_PERF_EVENT,
		},
	};
	bool ok = true;

	link = sys_bpf(BPF_LINK_CREATE, &create);
	if (!expect_errno("BPF_LINK_CREATE", link, 0))
		return false;
	count_faults(fd, fresh_pages(10), 10);
	ok &= expect_eq("BPF link: samples with it", ring_count(&ring, PERF_RECORD_SAMPLE), 0);
	close(link);
	count_faults(fd, fresh_pages(10), 10);
	ok &= expect_eq("BPF link: samples without it", ring_count(&ring, PERF_RECORD_SAMPLE), 10);
	close(drop);
	close_mapped(fd);
	return ok;
}

static uint32_t program_id(int program)
{
	struct bpf_prog_info about = {};
	union bpf_attr attr = {
		.info = { .bpf_fd = program, .info_len = sizeof(about), .info = (uintptr_t)&about },
	};

	sys_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr);
	return about.id;
}

/* Programs are freed soon after their last user. */
static bool program_is_freed(const char *what, uint32_t id)
{
	union bpf_attr attr = { .prog_id = id };
	int fd = -1;

	for (int i = 0; i < 1000; i++) {
		fd = sys_bpf(BPF_PROG_GET_FD_BY_ID, &attr);
		if (fd < 0)
			break;
		close(fd);
		usleep(5000);
	}
	return expect_errno(what, fd, ENOENT);
}

/* Attaches the program to the event, which is its only user then. The file of the link, or -1. */
static int attach_alone(int program, int fd, bool linked)
{
	union bpf_attr create = {
		.link_create = {
			.prog_fd	= program,
			.target_fd	= fd,
			.attach_type	= BPF_PERF_EVENT,
		},
	};
	int link = -1;

	if (linked)
		link = MUST(sys_bpf(BPF_LINK_CREATE, &create));
	else
		MUST(ioctl(fd, PERF_EVENT_IOC_SET_BPF, program));
	close(program);
	return link;
}

/* An event that is closed keeps its program no longer, nor does a link. */
static bool bpf_is_freed(void)
{
	static const char *const what[] = { "SET_BPF: the program", "BPF link: the program" };
	struct perf_event_attr attr = fault_attr(1, PERF_SAMPLE_ADDR);
	bool ok = true;

	for (int linked = 0; linked < 2; linked++) {
		int program = bpf_load_constant(BPF_PROG_TYPE_PERF_EVENT, 0);
		union bpf_attr by_id = { .prog_id = program_id(program) };
		int fd = open_mapped(&attr, 4), link = attach_alone(program, fd, linked);

		count_faults(fd, fresh_pages(5), 5);
		ok &= expect_eq("samples", ring_count(&ring, PERF_RECORD_SAMPLE), 0);
		close(MUST(sys_bpf(BPF_PROG_GET_FD_BY_ID, &by_id)));
		close(link);
		close_mapped(fd);
		ok &= program_is_freed(what[linked], by_id.prog_id);
	}
	return ok;
}

/* The query returns all programs of the tracepoint, also those of other events. */
static bool bpf_query(void)
{
	int id = tracepoint_id("syscalls/sys_enter_getppid"), fd[2], program[2];
	struct perf_event_attr attr = perf_attr(PERF_TYPE_TRACEPOINT, id);
	struct {
		uint32_t	len, nr, id[4];
	} query = { .len = 4 };
	bool ok = true;

	program[0] = bpf_load_constant(BPF_PROG_TYPE_TRACEPOINT, 1);
	program[1] = bpf_load_constant(BPF_PROG_TYPE_TRACEPOINT, 1);
	if (id < 0)
		skip_case("no such tracepoint");
	for (int i = 0; i < 2; i++)
		fd[i] = perf_open(&attr, 0, -1, -1, 0);
	ok &= expect(!ioctl(fd[0], PERF_EVENT_IOC_QUERY_BPF, &query) && !query.nr,
		     "BPF query: no program");
	for (int i = 0; i < 2; i++) {
		if (ioctl(fd[i], PERF_EVENT_IOC_SET_BPF, program[i]))
			fail_case("SET_BPF");
	}
	ok &= expect(!ioctl(fd[0], PERF_EVENT_IOC_QUERY_BPF, &query) && query.nr == 2 &&
		     query.id[0] == program_id(program[0]) && query.id[1] == program_id(program[1]),
		     "BPF query: two events' programs");
	query.len = 1;
	ok &= expect(ioctl(fd[0], PERF_EVENT_IOC_QUERY_BPF, &query) && errno == ENOSPC &&
		     query.nr == 2 && query.id[0] == program_id(program[0]),
		     "BPF query: room for one of them");
	close(fd[0]);
	query.len = 4;
	ok &= expect(!ioctl(fd[1], PERF_EVENT_IOC_QUERY_BPF, &query) && query.nr == 1 &&
		     query.id[0] == program_id(program[1]), "BPF query: one has been closed");
	close(fd[1]);
	close(program[0]);
	close(program[1]);
	return ok;
}

#define MS	1000000ull

/* Uses @ms of CPU time, a good part of it in the kernel. */
static void read_and_loop(unsigned int ms)
{
	static char zeros[65536];
	int fd = MUST(open("/dev/zero", O_RDONLY | O_CLOEXEC));
	uint64_t end = thread_cpu_ns() + ms * MS;

	while (thread_cpu_ns() < end) {
		MUST(read(fd, zeros, sizeof(zeros)));
		run_loop(5000);
	}
	close(fd);
}

/* The samples of one mode have the mode in their header, and an address of it. */
struct mode_samples {
	unsigned int	user, kernel, other;
};

static struct mode_samples samples_by_mode(const struct perf_event_attr *attr)
{
	struct mode_samples n = { 0 };
	struct perf_event_header *h;
	struct sample s;

	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		unsigned int mode = h->misc & PERF_RECORD_MISC_CPUMODE_MASK;

		sample_parse(&s, h, attr);
		if (mode == PERF_RECORD_MISC_USER && !(s.ip >> 63))
			n.user++;
		else if (mode == PERF_RECORD_MISC_KERNEL && s.ip >> 63)
			n.kernel++;
		else
			n.other++;
	}
	return n;
}

static bool clock_samples_modes(uint64_t id, const char *modes)
{
	bool user = strchr(modes, 'u'), kernel = strchr(modes, 'k');
	struct perf_event_attr attr = clock_attr(id, MS);
	struct mode_samples n;
	int fd;

	attr.exclude_user = !user;
	attr.exclude_kernel = !kernel;
	fd = open_mapped(&attr, 16);
	event_enable(fd);
	read_and_loop(300);
	event_disable(fd);
	n = samples_by_mode(&attr);
	close_mapped(fd);
	ktap_note("%s-clock:%s", id == PERF_COUNT_SW_CPU_CLOCK ? "cpu" : "task", modes);
	return expect_between("samples of user space", n.user, user ? 10 : 0, user ? 1000 : 0) &
	       expect_between("samples of the kernel", n.kernel, kernel ? 10 : 0,
			      kernel ? 1000 : 0) &
	       expect_eq("samples of neither", n.other, 0);
}

static bool clocks_exclude_modes(void)
{
	static const char *const modes[] = { "uk", "u", "k" };
	bool good = true;

	for (unsigned int i = 0; i < ARRAY_SIZE(modes); i++)
		good &= clock_samples_modes(PERF_COUNT_SW_CPU_CLOCK, modes[i]) &
			clock_samples_modes(PERF_COUNT_SW_TASK_CLOCK, modes[i]);
	return good;
}

/* Samples of the idle task of CPU 0 while this task sleeps; the time has room for @most. */
static unsigned int samples_of_idle(bool exclude, uint64_t *most)
{
	struct perf_event_attr attr = clock_attr(PERF_COUNT_SW_CPU_CLOCK, MS);
	struct perf_event_header *h;
	unsigned int n = 0;
	struct sample s;
	int fd;

	attr.exclude_idle = exclude;
	fd = MUST(perf_open(&attr, -1, 0, -1, 0));
	if (!ring_map(&ring, fd, 64))
		fail_case("mmap");
	event_enable(fd);
	sleep_ms(300);
	event_disable(fd);
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		sample_parse(&s, h, &attr);
		n += !s.pid && !s.tid;
	}
	*most = perf_count(fd) / MS + 1;
	close_mapped(fd);
	return n;
}

static bool clock_excludes_idle(void)
{
	uint64_t most;
	unsigned int n;
	bool good;

	pin_to_cpu(0);
	n = samples_of_idle(false, &most);
	good = expect_between("samples of the idle task", n, 100, most);
	n = samples_of_idle(true, &most);
	return good & expect_eq("samples with exclude_idle", n, 0);
}

static const struct test tests[] = {
	{ "a filter of a tracepoint", tracepoint_filter },
	{ "a BPF program drops or passes samples", bpf_answers },
	{ "a BPF link holds the program until it is closed", bpf_link },
	{ "a program is freed when its event is closed", bpf_is_freed },
	{ "QUERY_BPF lists the programs of all events of a tracepoint", bpf_query },
	{ "a clock samples the modes that it does not exclude", clocks_exclude_modes },
	{ "a clock with exclude_idle has no sample of the idle task", clock_excludes_idle },
};

TESTS_MAIN_SETUP(tests, sampling_setup)
