/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Random attributes for compare.c: those of an event that tools open, and a few changes to them,
 * most of which are valid by themselves.
 */
#ifndef PERF_TEST_COMPARE_ATTR_H
#define PERF_TEST_COMPARE_ATTR_H

#include "compare.h"

#include <linux/hw_breakpoint.h>

/*
 * What breakpoints watch: four words for each event, as an emulator may report only one of several
 * breakpoints at an address.
 */
static volatile uint64_t compare_watched[COMPARE_SLOTS * 4] __aligned(64);

static uint64_t compare_tracepoint;	/* sys_enter_getppid */
static int compare_kprobe, compare_uprobe;	/* types of the PMUs */
static unsigned int compare_types[8];	/* of PMUs that are found by name */
static unsigned int compare_nr_types;

/* The bits of the attribute's flags, in their order. */
static const char * const compare_flags[] = {
	"disabled", "inherit", "pinned", "exclusive", "exclude_user", "exclude_kernel",
	"exclude_hv", "exclude_idle", "mmap", "comm", "freq", "inherit_stat", "enable_on_exec",
	"task", "watermark", "precise_ip1", "precise_ip2", "mmap_data", "sample_id_all",
	"exclude_host", "exclude_guest", "exclude_callchain_kernel", "exclude_callchain_user",
	"mmap2", "comm_exec", "use_clockid", "context_switch", "write_backward", "namespaces",
	"ksymbol", "bpf_event", "aux_output", "cgroup", "text_poke", "build_id",
	"inherit_thread", "remove_on_exec", "sigtrap",
};

#define COMPARE_FLAGS_AT	40	/* offset in the attribute */

static uint64_t *compare_flags_of(struct perf_event_attr *attr)
{
	return (uint64_t *)((char *)attr + COMPARE_FLAGS_AT);
}

static void compare_find_pmus(void)
{
	static const char * const names[] = {
		"cpu", "armv8_pmuv3_0", "armv8_pmuv3", "msr", "kprobe", "uprobe", "breakpoint"
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++) {
		int type = perf_pmu_type(names[i]);

		if (type >= 0)
			compare_types[compare_nr_types++] = type;
	}
	compare_kprobe = perf_pmu_type("kprobe");
	compare_uprobe = perf_pmu_type("uprobe");
	compare_tracepoint = tracepoint_id("syscalls/sys_enter_getppid");
}

/* True if what the event counts depends on the calls of the case alone. */
static bool attr_is_exact(const struct perf_event_attr *attr)
{
	switch (attr->type) {
	case PERF_TYPE_SOFTWARE:
		switch (attr->config) {
		case PERF_COUNT_SW_PAGE_FAULTS:
		case PERF_COUNT_SW_PAGE_FAULTS_MIN:
		case PERF_COUNT_SW_PAGE_FAULTS_MAJ:
		case PERF_COUNT_SW_ALIGNMENT_FAULTS:
		case PERF_COUNT_SW_EMULATION_FAULTS:
		case PERF_COUNT_SW_DUMMY:
		case PERF_COUNT_SW_BPF_OUTPUT:
			return true;
		}
		return false;
	case PERF_TYPE_TRACEPOINT:
		return attr->config == compare_tracepoint;
	case PERF_TYPE_BREAKPOINT:
		return true;
	}
	return (int)attr->type == compare_kprobe || (int)attr->type == compare_uprobe;
}

/* True if the event is one that is counted whenever its task runs. */
static bool attr_always_counts(const struct perf_event_attr *attr)
{
	if (attr->type == PERF_TYPE_SOFTWARE)
		return attr->config <= PERF_COUNT_SW_TASK_CLOCK;
	return attr->type == PERF_TYPE_HARDWARE && attr->config <= PERF_COUNT_HW_INSTRUCTIONS;
}

static bool attr_is_hardware(const struct perf_event_attr *attr)
{
	return attr->type != PERF_TYPE_SOFTWARE && attr->type != PERF_TYPE_TRACEPOINT &&
	       attr->type != PERF_TYPE_BREAKPOINT && (int)attr->type != compare_kprobe &&
	       (int)attr->type != compare_uprobe;
}

static void attr_choose_software(struct perf_event_attr *attr)
{
	static const uint8_t often[] = {
		PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_PAGE_FAULTS_MIN, PERF_COUNT_SW_DUMMY,
		PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_PAGE_FAULTS
	};

	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = compare_one_in(2) ? COMPARE_PICK(often) :
		       compare_random(PERF_COUNT_SW_MAX + 1);
}

static void attr_choose_breakpoint(struct perf_event_attr *attr)
{
	attr->type = PERF_TYPE_BREAKPOINT;
	attr->bp_type = HW_BREAKPOINT_W;
	attr->bp_len = HW_BREAKPOINT_LEN_8;
	attr->bp_addr = (unsigned long)&compare_watched[(compare.nr_slots - 1) * 4];
	attr->exclude_kernel = !compare_one_in(6);
	if (compare_one_in(4))
		attr->bp_type = compare_random(8);
	if (compare_one_in(4))
		attr->bp_len = compare_random(10);
	if (compare_one_in(4))
		attr->bp_addr += compare_random(16);
	if (compare_one_in(12))
		attr->bp_addr = 0xffff800000001000;
}

static void attr_choose_raw(struct perf_event_attr *attr)
{
#ifdef __x86_64__
	static const uint64_t known[] = { 0x3c, 0xc0, 0xc4, 0x76, 0x013c, 0x0300, 0, 0x0400 };
#else
	static const uint64_t known[] = { 0x11, 0x08, 0x10, 0x12, 0x00, 0x1e, 0x03 };
#endif

	attr->type = PERF_TYPE_RAW;
	attr->config = COMPARE_PICK(known);
	if (compare_one_in(4))
		attr->config = compare_random(1 << 16);
	if (compare_one_in(8))
		attr->config |= 1ULL << compare_random(64);
}

/* What uprobes probe; it is called once by each work. */
static noinline __noclone void compare_probed(void)
{
	__asm__ volatile("" ::: "memory");
}

/* Probes of the system call and of the function that work calls, mostly valid. */
static void attr_choose_probe(struct perf_event_attr *attr)
{
	extern const char __executable_start[];
	static const char * const functions[] = {
#ifdef __x86_64__
		"__x64_sys_getppid",
#else
		"__arm64_sys_getppid",
#endif
		"no_such_function", "",
	};

	attr->config = compare_one_in(4);	/* at the return */
	if (compare_one_in(2)) {
		attr->type = compare_kprobe;
		attr->config1 = (unsigned long)functions[compare_one_in(4) ? compare_random(3) : 0];
		attr->config2 = compare_one_in(8) ? compare_random(9000) : 0;
	} else {
		const char *path = compare_one_in(8) ? "/nowhere" : "/proc/self/exe";

		attr->type = compare_uprobe;
		attr->config1 = (unsigned long)path;
		attr->config2 = (unsigned long)compare_probed - (unsigned long)__executable_start;
		if (compare_one_in(8))
			attr->config2 = compare_one_in(2) ? 1UL << 40 : ~0UL;
	}
}

static void attr_choose_event(struct perf_event_attr *attr)
{
	switch (compare_random(21)) {
	case 20:
		attr_choose_probe(attr);
		break;
	case 0 ... 6:
		attr_choose_software(attr);
		break;
	case 7 ... 10:
		attr->type = PERF_TYPE_HARDWARE;
		attr->config = compare_one_in(2) ? compare_random(2) :
			       compare_random(PERF_COUNT_HW_MAX + 1);
		if (compare_one_in(12))
			attr->config |= (uint64_t)compare_types[0] << PERF_PMU_TYPE_SHIFT;
		if (compare_one_in(24))
			attr->config |= 99ULL << PERF_PMU_TYPE_SHIFT;
		break;
	case 11:
		attr->type = PERF_TYPE_HW_CACHE;
		attr->config = compare_random(8) | compare_random(4) << 8 | compare_random(3) << 16;
		break;
	case 12:
	case 13:
		attr_choose_raw(attr);
		break;
	case 14:
	case 15:
		attr_choose_breakpoint(attr);
		break;
	case 16 ... 18:
		attr->type = PERF_TYPE_TRACEPOINT;
		attr->config = compare_one_in(12) ? 65535 : compare_tracepoint;
		break;
	default:
		attr->type = compare_one_in(4) ? 100 + compare_random(3) :
			     compare_types[compare_random(compare_nr_types)];
		attr->config = compare_random(8);
		break;
	}
}

/* As tools sample: with some fields of each kind. */
static void attr_choose_sampling(struct perf_event_attr *attr)
{
	static const uint64_t types[] = {
		PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD,
		PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_READ,
		PERF_SAMPLE_TID | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID,
		PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW | PERF_SAMPLE_IDENTIFIER,
	};
	static const uint32_t periods[] = { 1, 1, 1, 2, 3, 7 };

	attr->sample_type = COMPARE_PICK(types);
	if (compare_one_in(2))
		attr->sample_type |= 1ULL << compare_random(25);
	if (compare_one_in(4))
		attr->sample_type |= 1ULL << compare_random(25);
	attr->sample_id_all = compare_one_in(2);
	attr->sample_period = attr_is_exact(attr) ? COMPARE_PICK(periods) : 100003;
	if (compare_one_in(8)) {
		attr->freq = 1;
		attr->sample_freq = compare_one_in(4) ? 1000000 : 1000;
	}
	if (compare_one_in(3))
		attr->wakeup_events = compare_random(4);
	if (attr->sample_type & PERF_SAMPLE_REGS_USER)
		attr->sample_regs_user = 1 + compare_random(64);
	if (attr->sample_type & PERF_SAMPLE_REGS_INTR)
		attr->sample_regs_intr = 1 + compare_random(64);
	if (attr->sample_type & PERF_SAMPLE_STACK_USER)
		attr->sample_stack_user = 8 << compare_random(10);
	if (attr->sample_type & PERF_SAMPLE_BRANCH_STACK)
		attr->branch_sample_type = 1ULL << compare_random(PERF_SAMPLE_BRANCH_MAX_SHIFT);
}

/* Side-band records, as in the event that a tool opens for them. */
static void attr_choose_sideband(struct perf_event_attr *attr)
{
	attr->mmap = compare_one_in(2);
	attr->mmap2 = compare_one_in(2);
	attr->mmap_data = compare_one_in(4);
	attr->comm = compare_one_in(2);
	attr->comm_exec = compare_one_in(2);
	attr->task = compare_one_in(2);
	attr->sample_id_all = compare_one_in(2);
	attr->context_switch = compare_one_in(8);
	attr->namespaces = compare_one_in(8);
	attr->cgroup = compare_one_in(8);
}

/* A value that is at the edge of something. */
static uint64_t attr_edge_value(void)
{
	static const uint64_t edges[] = {
		0, 1, 2, 3, 7, 8, 9, 64, 4096, 65528, 65535, 65536, 0x7fffffff, 0x80000000,
		0xffffffff, 1ULL << 32, 1ULL << 62, 1ULL << 63, ~0ULL
	};

	return COMPARE_PICK(edges);
}

static void attr_change_field(struct perf_event_attr *attr)
{
	switch (compare_random(17)) {
	case 0:
		attr->size = compare_one_in(3) ? compare_random(300) :
			     64 + 8 * compare_random(12);
		break;
	case 1:
		attr->config = compare_one_in(2) ? attr_edge_value() :
			       attr->config | 1ULL << compare_random(64);
		break;
	case 2:
		attr->sample_period = attr_edge_value();
		break;
	case 3:
		attr->read_format = compare_random(64);
		break;
	case 4:
		attr->config1 = attr_edge_value();
		break;
	case 5:
		attr->config2 = attr_edge_value();
		break;
	case 6:
		attr->branch_sample_type = attr_edge_value();
		break;
	case 7:
		attr->sample_regs_user = attr_edge_value();
		break;
	case 8:
		attr->sample_stack_user = attr_edge_value();
		break;
	case 9:
		attr->use_clockid = 1;
		attr->clockid = (int)compare_random(16) - 2;
		break;
	case 10:
		attr->sample_regs_intr = attr_edge_value();
		break;
	case 11:
		attr->aux_watermark = attr_edge_value();
		break;
	case 12:
		attr->sample_max_stack = attr_edge_value();
		break;
	case 13:
		attr->aux_sample_size = attr_edge_value();
		break;
	case 14:
		attr->aux_action = compare_random(16);
		break;
	case 15:
		attr->sig_data = attr_edge_value();
		break;
	case 16:
		attr->config3 = attr_edge_value();
		break;
	}
}

static void attr_change(struct perf_event_attr *attr)
{
	switch (compare_random(6)) {
	case 0:
	case 1:
		*compare_flags_of(attr) ^= 1ULL << compare_random(compare_one_in(6) ? 64 :
							      ARRAY_SIZE(compare_flags));
		break;
	case 2:
		attr->sample_type ^= 1ULL << compare_random(compare_one_in(6) ? 64 : 25);
		break;
	case 3:
		attr->read_format ^= 1ULL << compare_random(6);
		break;
	default:
		attr_change_field(attr);
		break;
	}
}

/* Signals and samples must leave the program time for its work. */
static void attr_bound_period(struct perf_event_attr *attr)
{
	if (attr->sample_period && !attr->freq && !attr_is_exact(attr) &&
	    attr->sample_period < 20000)
		attr->sample_period = 20011;
}

static struct perf_event_attr attr_choose(void)
{
	static const uint8_t changes[] = { 0, 0, 0, 0, 1, 1, 1, 2, 3, 5 };
	struct perf_event_attr attr = perf_attr(0, 0);
	unsigned int nr = COMPARE_PICK(changes);

	attr_choose_event(&attr);
	attr.disabled = compare_one_in(2);
	attr.exclude_kernel |= !compare_one_in(3);
	attr.exclude_hv = compare_one_in(4);
	attr.inherit = compare_one_in(5);
	attr.pinned = compare_one_in(12);
	attr.exclusive = compare_one_in(40);
	attr.enable_on_exec = compare_one_in(10);
	attr.remove_on_exec = compare_one_in(12);
	attr.sigtrap = attr.remove_on_exec && compare_one_in(3);
	if (compare_one_in(2))
		attr.read_format = compare_random(32);
	if (compare_one_in(2))
		attr_choose_sampling(&attr);
	if (compare_one_in(4))
		attr_choose_sideband(&attr);
	while (nr--)
		attr_change(&attr);
	attr_bound_period(&attr);
	return attr;
}

/* The fields that are not zero, by name. */
static void attr_describe(struct perf_event_attr *attr)
{
	static const struct {
		const char	*name;
		unsigned int	at, size;
	} fields[] = {
		{ "type", 0, 4 }, { "size", 4, 4 }, { "config", 8, 8 }, { "sample_period", 16, 8 },
		{ "sample_type", 24, 8 }, { "read_format", 32, 8 }, { "wakeup_events", 48, 4 },
		{ "bp_type", 52, 4 }, { "config1", 56, 8 }, { "config2", 64, 8 },
		{ "branch_sample_type", 72, 8 }, { "sample_regs_user", 80, 8 },
		{ "sample_stack_user", 88, 4 }, { "clockid", 92, 4 },
		{ "sample_regs_intr", 96, 8 }, { "aux_watermark", 104, 4 },
		{ "sample_max_stack", 108, 2 }, { "aux_sample_size", 112, 4 },
		{ "aux_action", 116, 4 }, { "sig_data", 120, 8 }, { "config3", 128, 8 },
	};
	uint64_t flags = *compare_flags_of(attr);

	for (unsigned int i = 0; i < ARRAY_SIZE(fields); i++) {
		uint64_t value = 0;

		memcpy(&value, (char *)attr + fields[i].at, fields[i].size);
		if (value || !i)
			answer_describe(" %s=%#llx", fields[i].name, (long long)value);
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(compare_flags); i++) {
		if (flags >> i & 1)
			answer_describe(" %s", compare_flags[i]);
	}
	if (flags >> ARRAY_SIZE(compare_flags))
		answer_describe(" reserved=%#llx",
				(long long)(flags >> ARRAY_SIZE(compare_flags)));
}

#endif /* PERF_TEST_COMPARE_ATTR_H */
