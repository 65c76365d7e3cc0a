// SPDX-License-Identifier: GPL-2.0
/* PERF_SAMPLE_AUX, and events of a group that pause and resume the trace. */
#include "aux.h"

/* Samples of another event in the group hold the newest part of the area. */
static bool sampled_area(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	struct area area = open_area(256, PROT_READ);
	unsigned int samples = 0;
	bool good = true;
	uint64_t pos;
	char *fresh;
	int fd;
	bool ok;

	attr.sample_period = 1;
	attr.exclude_kernel = 1;
	attr.sample_type = PERF_SAMPLE_AUX;
	attr.aux_sample_size = 512;
	fd = perf_open(&attr, 0, -1, area.fd, 0);
	if (!expect_errno("an event that samples the AUX area", fd, 0))
		return false;
	ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, (long)area.fd);
	fresh = mmap(NULL, 16 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(fresh, 16 * page, MADV_NOHUGEPAGE);
	ioctl(area.fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 16; i++)
		*(volatile char *)(fresh + i * page) = 1;
	ioctl(area.fd, PERF_EVENT_IOC_DISABLE, 0);

	for (pos = area.tail; pos < area.user->data_head; ) {
		union {
			uint64_t word;
			struct perf_event_header header;
		} u = { area_word(&area, pos) };

		if (u.header.type == PERF_RECORD_SAMPLE) {
			uint64_t size = area_word(&area, pos + 8);

			samples++;
			good &= size == 512 && u.header.size == 16 + 512;
			for (uint64_t at = 8; at < size; at += 8) {
				uint64_t a = area_word(&area, pos + 16 + at);
				uint64_t b = area_word(&area, pos + 8 + at);

				good &= a == b + 8 || (samples == 1 && a == 0) || (!b && a == 8);
			}
		}
		if (!u.header.size)
			break;
		pos += u.header.size;
	}
	ok = expect(good && samples >= 16, "%u samples with 512 bytes of it each", samples);
	munmap(fresh, 16 * page);
	close(fd);
	close_area(&area);
	return ok;
}

/* A sample as large as the area. */
static bool sampled_whole_area(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	struct area area = open_data(aux_attr(page));
	uint64_t pos = 0, words = 0;
	char *fresh;
	int fd;
	bool ok;

	if (map_aux(&area, 1, PROT_READ))
		fail_case("mmap of the AUX area");
	attr.sample_period = 1;
	attr.exclude_kernel = 1;
	attr.sample_type = PERF_SAMPLE_AUX;
	attr.aux_sample_size = page;
	fd = perf_open(&attr, 0, -1, area.fd, 0);
	ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, (long)area.fd);
	fresh = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(fresh, 3 * page, MADV_NOHUGEPAGE);
	for (int i = 0; i < 3; i++) {
		pos = area.user->data_head;
		ioctl(area.fd, PERF_EVENT_IOC_ENABLE, 0);
		*(volatile char *)(fresh + i * page) = 1;
		ioctl(area.fd, PERF_EVENT_IOC_DISABLE, 0);
		area.user->data_tail = pos;
	}
	while (pos < area.user->data_head) {
		union {
			uint64_t word;
			struct perf_event_header header;
		} u = { area_word(&area, pos) };

		if (u.header.type == PERF_RECORD_SAMPLE &&
		    area_word(&area, pos + 8) == (uint64_t)page) {
			words = 1;
			for (int64_t at = 8; at < page; at += 8)
				words += area_word(&area, pos + 16 + at) ==
					 area_word(&area, pos + 8 + at) + 8;
		}
		if (!u.header.size)
			break;
		pos += u.header.size;
	}
	ok = expect(words == (uint64_t)page / 8, "a sample of the whole area: %llu words",
		    (unsigned long long)words);
	munmap(fresh, 3 * page);
	close(fd);
	close_area(&area);
	return ok;
}

static bool pause_and_resume(bool paused)
{
	struct perf_event_attr attr = aux_attr(RANGE_BYTES), resume, pause;
	unsigned int idle, busy;
	struct area area;
	int fd[2];
	bool ok = true;

	attr.aux_start_paused = paused;
	area = open_data(attr);
	if (map_aux(&area, AUX_PAGES, PROT_READ | PROT_WRITE))
		fail_case("mmap of the AUX area");
	write_burst(&area);
	idle = records_of(&area);
	ok &= expect(idle == !paused, "%s: %u traces", paused ? "aux_start_paused" : "not paused",
		     idle);

	resume = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	resume.sample_period = 1;
	resume.exclude_kernel = 1;
	pause = resume;
	resume.aux_resume = 1;
	pause.type = PERF_TYPE_TRACEPOINT;
	pause.config = tracepoint_id("syscalls/sys_enter_getppid");
	pause.exclude_kernel = 0;
	pause.aux_pause = 1;
	fd[0] = perf_open(&resume, 0, -1, area.fd, 0);
	fd[1] = perf_open(&pause, 0, -1, area.fd, 0);
	if (!expect(fd[0] >= 0 && fd[1] >= 0, "events that pause and resume the trace"))
		return false;

	fault_pages(1);
	ioctl(area.fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 10; i++) {
		syscall(__NR_getppid);	/* pauses the trace if it runs */
		syscall(__NR_getppid);
		fault_pages(1);
		fault_pages(1);
	}
	syscall(__NR_getppid);
	ioctl(area.fd, PERF_EVENT_IOC_DISABLE, 0);
	busy = records_of(&area);
	ok &= expect(busy == 10u + !paused, "%s: %u traces in ten rounds",
		     paused ? "aux_start_paused" : "not paused", busy);
	close(fd[0]);
	close(fd[1]);
	close_area(&area);
	return ok;
}

static bool pause_running(void)
{
	return pause_and_resume(false);
}

static bool pause_from_start(void)
{
	return pause_and_resume(true);
}

/* One round of a child: a fault resumes its trace, and a system call pauses it again. */
static void resume_and_pause(void)
{
	fault_pages(1);
	syscall(__NR_getppid);
}

/* A group of a trace and what resumes and pauses it, for children on CPU 0. */
static struct area open_inherited_group(void)
{
	struct perf_event_attr attr = aux_attr(RANGE_BYTES);
	struct area area;

	attr.inherit = 1;
	attr.aux_start_paused = 1;
	attr.sample_type = PERF_SAMPLE_TID;
	attr.sample_id_all = 1;
	area = open_data(attr);
	if (map_aux(&area, AUX_PAGES, PROT_READ | PROT_WRITE))
		fail_case("mmap of the AUX area");
	attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	attr.inherit = 1;
	attr.sample_period = 1;
	attr.exclude_kernel = 1;
	attr.aux_resume = 1;
	MUST(perf_open(&attr, 0, 0, area.fd, 0));
	attr.type = PERF_TYPE_TRACEPOINT;
	attr.config = tracepoint_id("syscalls/sys_enter_getppid");
	attr.exclude_kernel = 0;
	attr.aux_resume = 0;
	attr.aux_pause = 1;
	MUST(perf_open(&attr, 0, 0, area.fd, 0));
	return area;
}

/* AUX records with this PID, which is the last field. */
static unsigned int records_of_task(struct area *area, pid_t pid)
{
	struct aux_record record;
	unsigned int n = 0;

	while (next_aux_record(area, &record))
		n += record.size == RANGE_BYTES &&
		     (uint32_t)area_word(area, area->tail - 8) == (uint32_t)pid;
	return n;
}

static bool pause_in_child(void)
{
	struct gate go = gate_new(), done = gate_new();
	struct area area;
	bool good;
	pid_t pid;

	MUST(pin_to_cpu(0));
	area = open_inherited_group();
	event_enable(area.fd);
	pid = fork_worker(&go, &done, resume_and_pause);
	/* After its first rounds the child has no other faults. */
	for (int i = 0; i < 3; i++) {
		gate_open(&go);
		gate_wait(&done);
	}
	records_of_task(&area, pid);
	for (int i = 0; i < 10; i++) {
		gate_open(&go);
		gate_wait(&done);
	}
	good = expect_eq("traces of a child in ten rounds", records_of_task(&area, pid), 10);
	kill_child(pid);
	close_area(&area);
	return good;
}

static const struct test tests[] = {
	{ "a sample holds the newest part of the AUX area", sampled_area },
	{ "a sample holds the whole AUX area", sampled_whole_area },
	{ "aux_pause and aux_resume of a running trace", pause_running },
	{ "aux_pause and aux_resume with aux_start_paused", pause_from_start },
	{ "aux_pause and aux_resume in an inherited group", pause_in_child },
};

TESTS_MAIN_SETUP(tests, aux_setup)
