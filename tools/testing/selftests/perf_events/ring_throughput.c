// SPDX-License-Identifier: GPL-2.0
/*
 * The rate of records with 8 bytes of payload from a writer on one CPU to a reader on another with
 * a wake-up for each (wakeup_events is 1), and that none is missing in the end.
 *
 * The writer is a BPF program that only calls bpf_perf_event_output(), run by BPF_PROG_TEST_RUN, so
 * that little else is measured. RECORDS in the environment: number of records.
 */
#include "bpf_prog.h"
#include "expect.h"
#include "workloads.h"

#include <poll.h>
#include <pthread.h>

#define PER_RUN		1000
#define DATA_PAGES	2048

#define INSN(c, d, s, o, i)                                                         \
	{                                                                           \
		.code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) \
	}

static uint64_t got, lost, polls, sleeps, timeouts;
static struct perf_event_mmap_page *user;
static volatile bool finished;
static int event;

static int put_in_map(int map, uint32_t cpu, int fd)
{
	union bpf_attr attr = { .map_fd = map };

	attr.key = (uintptr_t)&cpu;
	attr.value = (uintptr_t)&fd;
	return sys_bpf(BPF_MAP_UPDATE_ELEM, &attr);
}

/* PER_RUN times: bpf_perf_event_output(ctx, map, BPF_F_CURRENT_CPU, &word, 8) */
static int make_program(int map)
{
	struct bpf_insn insns[] = {
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 6, 1, 0, 0),
		INSN(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8, 0x1234),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 7, 0, 0, PER_RUN),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 1, 6, 0, 0),
		INSN(BPF_LD | BPF_IMM | BPF_DW, 2, BPF_PSEUDO_MAP_FD, 0, map),
		INSN(0, 0, 0, 0, 0),
		INSN(BPF_LD | BPF_IMM | BPF_DW, 3, 0, 0, -1),
		INSN(0, 0, 0, 0, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 4, 10, 0, 0),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, 4, 0, 0, -8),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 5, 0, 0, 8),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_perf_event_output),
		INSN(BPF_ALU64 | BPF_SUB | BPF_K, 7, 0, 0, 1),
		INSN(BPF_JMP | BPF_JNE | BPF_K, 7, 0, -11, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	union bpf_attr attr = { .prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
				.insn_cnt = ARRAY_SIZE(insns) };

	attr.insns = (uintptr_t)insns;
	attr.license = (uintptr_t)"GPL";
	return sys_bpf(BPF_PROG_LOAD, &attr);
}

static int run_program(int program)
{
	union bpf_attr attr = { .test.prog_fd = program };

	return sys_bpf(BPF_PROG_TEST_RUN, &attr);
}

static void drain_buffer(void)
{
	uint64_t head = __atomic_load_n(&user->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = user->data_tail, mask = user->data_size - 1;
	char *data = (char *)user + user->data_offset;

	while (tail != head) {
		struct perf_event_header *header = (void *)(data + (tail & mask));

		if (header->type == PERF_RECORD_LOST)
			lost += *(uint64_t *)(data + ((tail + 16) & mask));
		else
			got++;
		tail += header->size;
	}
	__atomic_store_n(&user->data_tail, head, __ATOMIC_RELEASE);
}

static void *read_all(void *arg)
{
	struct pollfd p = { .fd = event, .events = POLLIN };
	struct rusage usage;
	bool last;

	(void)arg;
	pin_to_cpu(1);
	do {
		last = finished;
		drain_buffer();
		if (last)
			break;
		polls++;
		if (poll(&p, 1, 10000) == 0)
			timeouts++;
	} while (!timeouts);
	getrusage(RUSAGE_THREAD, &usage);
	sleeps = usage.ru_nvcsw;
	return NULL;
}

static bool records_per_second(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_BPF_OUTPUT);
	int map = bpf_create_map(BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, sysconf(_SC_NPROCESSORS_CONF),
				 0),
	    program = make_program(map);
	uint64_t total = env_number("RECORDS", 300000), written = 0;
	struct timespec t[2];
	pthread_t thread;
	double seconds;

	if (program < 0 || sysconf(_SC_NPROCESSORS_ONLN) < 2)
		skip_case("needs BPF and two CPUs");
	attr.sample_type = PERF_SAMPLE_RAW;
	attr.sample_period = 1;
	attr.wakeup_events = 1;
	event = perf_open(&attr, -1, 0, -1, 0);
	if (event < 0 || put_in_map(map, 0, event))
		fail_case("bpf-output event");
	user = mmap(NULL, (1 + DATA_PAGES) * sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
		    MAP_SHARED, event, 0);
	if (user == MAP_FAILED)
		fail_case("mmap");

	pin_to_cpu(0);
	pthread_create(&thread, NULL, read_all, NULL);
	clock_gettime(CLOCK_MONOTONIC, &t[0]);
	while (written < total && !timeouts) {
		if (run_program(program))
			fail_case("BPF_PROG_TEST_RUN");
		written += PER_RUN;
	}
	clock_gettime(CLOCK_MONOTONIC, &t[1]);
	finished = true;
	run_program(program);
	written += PER_RUN;
	pthread_join(thread, NULL);
	drain_buffer();

	seconds = t[1].tv_sec - t[0].tv_sec + (t[1].tv_nsec - t[0].tv_nsec) / 1e9;
	ktap_note("%.0f records/s, %.0f sleeps/s, %llu polls, %llu lost", total / seconds,
		  sleeps / seconds, (unsigned long long)polls, (unsigned long long)lost);
	return expect(got >= PER_RUN && got + lost == written && !timeouts,
		      "%llu records at wakeup_events 1: %llu read, %llu lost, %llu timeouts",
		      (unsigned long long)written, (unsigned long long)got,
		      (unsigned long long)lost, (unsigned long long)timeouts);
}

static const struct test tests[] = {
	{ "many records, each with a wake-up: none is missing", records_per_second },
};

TESTS_MAIN(tests)
