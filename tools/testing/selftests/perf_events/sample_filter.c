// SPDX-License-Identifier: GPL-2.0
/* Which samples are kept: filters of tracepoints, BPF programs of events. Run as root. */
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

static const struct test tests[] = {
	{ "a filter of a tracepoint", tracepoint_filter },
	{ "a BPF program drops or passes samples", bpf_answers },
	{ "a BPF link holds the program until it is closed", bpf_link },
	{ "a program is freed when its event is closed", bpf_is_freed },
	{ "QUERY_BPF lists the programs of all events of a tracepoint", bpf_query },
};

TESTS_MAIN_SETUP(tests, sampling_setup)
