// SPDX-License-Identifier: GPL-2.0
/*
 * Events that the benchmark's own code hits: probes of the kernel and of a function here, with or
 * without a BPF program, and a breakpoint.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <linux/bpf.h>
#include <linux/hw_breakpoint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include "bench.h"

#define DEVICES "/sys/bus/event_source/devices/"

#if defined(__aarch64__)
#define GETPPID "__arm64_sys_getppid"
#elif defined(__x86_64__)
#define GETPPID "__x64_sys_getppid"
#else
#error "the kernel's name of getppid(2) is needed"
#endif

volatile long probe_stored;

/*
 * Called from another file, so that there is one copy. Its first instruction is one that every
 * kernel emulates or steps over in the same way.
 */
void probe_called(void)
{
	asm volatile("nop\n\tnop" : : : "memory");
}

static bool pmu_type(const char *pmu, uint32_t *type)
{
	char path[96];
	FILE *file;
	bool ok;

	snprintf(path, sizeof(path), DEVICES "%s/type", pmu);
	file = fopen(path, "r");
	if (!file)
		return false;
	ok = fscanf(file, "%u", type) == 1;
	fclose(file);
	return ok;
}

/* The offset of an address of the benchmark in its file. */
static uint64_t file_offset(const void *address)
{
	unsigned long from, to, offset, at = (unsigned long)address;
	FILE *maps = fopen("/proc/self/maps", "r");
	uint64_t found = 0;
	char line[256];

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %lx", &from, &to, &offset) == 3 &&
		    at >= from && at < to)
			found = at - from + offset;
	}
	if (maps)
		fclose(maps);
	return found;
}

static void breakpoint_attr(struct perf_event_attr *attr)
{
	attr->type = PERF_TYPE_BREAKPOINT;
	attr->config = 0;
	attr->bp_type = HW_BREAKPOINT_W;
	attr->bp_addr = (uint64_t)(uintptr_t)&probe_stored;
	attr->bp_len = sizeof(probe_stored);
	attr->exclude_kernel = 1;
}

/* Makes @attr that of the row's probe. */
bool probe_attr(struct run *run, struct perf_event_attr *attr)
{
	bool kernel = run->row->events.probe == PROBE_KPROBE;
	static char self[256];

	if (run->row->events.probe == PROBE_BREAKPOINT) {
		breakpoint_attr(attr);
		return true;
	}
	attr->config = 0;
	if (!pmu_type(kernel ? "kprobe" : "uprobe", &attr->type)) {
		run->skip = true;
		return run_failed(run, "no probes");
	}
	if (kernel) {
		attr->kprobe_func = (uint64_t)(uintptr_t)GETPPID;
		return true;
	}
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return run_failed(run, "/proc/self/exe");
	attr->uprobe_path = (uint64_t)(uintptr_t)self;
	attr->probe_offset = file_offset((const void *)probe_called);
	return true;
}

/* A program that returns 0: the hit is neither counted nor sampled. */
static int load_program(void)
{
	static const struct bpf_insn program[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_KPROBE,
		.insns = (uint64_t)(uintptr_t)program,
		.insn_cnt = ARRAY_SIZE(program),
		.license = (uint64_t)(uintptr_t)"GPL",
	};

	return syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

bool probe_set_bpf(struct run *run, int fd)
{
	int program = load_program(), ret;

	if (program < 0)
		return run_failed(run, "BPF_PROG_LOAD");
	ret = ioctl(fd, PERF_EVENT_IOC_SET_BPF, program);
	close(program);
	return !ret || run_failed(run, "SET_BPF");
}
