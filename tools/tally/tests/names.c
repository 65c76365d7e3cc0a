// SPDX-License-Identifier: GPL-2.0
/* Names of events: what each form makes of an attr, which texts are refused; on a made sysfs. */
#include "tally_open.h"

#include "../../testing/selftests/perf_events/harness.h"
#include "../../testing/selftests/perf_events/expect.h"

#include <linux/hw_breakpoint.h>
#include <sys/stat.h>

#define CORE_TYPE	4
#define IMC_TYPE	20
#define IMC1_TYPE	21
#define KPROBE_TYPE	30
#define UPROBE_TYPE	31

static char made_root[64];

static bool expect_that(const char *what, bool holds)
{
	return expect(holds, "%s", what);
}

static const struct {
	const char *path;
	const char *text;
} made_files[] = {
	{ "cpu/type", "4\n" },
	{ "cpu/format/event", "config:0-7,32-35\n" },
	{ "cpu/format/umask", "config:8-15\n" },
	{ "cpu/format/edge", "config:18\n" },
	{ "cpu/format/cmask", "config:24-31\n" },
	{ "cpu/format/ldlat", "config1:0-15\n" },
	{ "cpu/format/wide", "config2:0-63\n" },
	{ "cpu/format/third", "config3:4-7\n" },
	{ "cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n" },
	{ "cpu/events/open-ended", "event=0x10,umask=?\n" },
	{ "uncore_imc_0/type", "20\n" },
	{ "uncore_imc_0/cpumask", "0\n" },
	{ "uncore_imc_0/format/event", "config:0-7\n" },
	{ "uncore_imc_0/events/cas_read", "event=0x04\n" },
	{ "uncore_imc_0/events/cas_read.scale", "6.103515625e-5\n" },
	{ "uncore_imc_0/events/cas_read.unit", "MiB\n" },
	{ "uncore_imc_1/type", "21\n" },
	{ "uncore_imc_1/cpumask", "0\n" },
	{ "uncore_imc_1/format/event", "config:0-7\n" },
	{ "uncore_imc_1/events/cas_read", "event=0x04\n" },
	{ "kprobe/type", "30\n" },
	{ "kprobe/format/retprobe", "config:0\n" },
	{ "uprobe/type", "31\n" },
	{ "uprobe/format/retprobe", "config:0\n" },
	{ "uprobe/format/ref_ctr_offset", "config:32-63\n" },
};

static const struct {
	const char *path;
	const char *text;
} made_tracepoints[] = {
	{ "sched/sched_switch/id", "314\n" },
	{ "sched/sched_wakeup/id", "315\n" },
	{ "sched/enable", "0\n" },
	{ "irq/irq_handler_entry/id", "99\n" },
};

static void make_file(const char *dir, const char *path, const char *text)
{
	char full[256];
	FILE *file;

	snprintf(full, sizeof(full), "%s/%s/%s", made_root, dir, path);
	for (char *slash = full + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = 0;
		mkdir(full, 0755);
		*slash = '/';
	}
	file = fopen(full, "w");
	if (!file || fputs(text, file) < 0 || fclose(file))
		fail_case(full);
}

static void make_roots(void)
{
	static char tracefs[80];

	snprintf(made_root, sizeof(made_root), "/tmp/tally-names-XXXXXX");
	if (!mkdtemp(made_root))
		fail_case("mkdtemp");
	for (size_t i = 0; i < ARRAY_SIZE(made_files); i++)
		make_file("bus/event_source/devices", made_files[i].path, made_files[i].text);
	for (size_t i = 0; i < ARRAY_SIZE(made_tracepoints); i++)
		make_file("events", made_tracepoints[i].path, made_tracepoints[i].text);
	snprintf(tracefs, sizeof(tracefs), "%s", made_root);
	tally_set_roots(made_root, tracefs);
}

static void remove_roots(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", made_root);
	if (system(command))
		printf("# %s stays\n", made_root);
}

struct name_row {
	const char *text;
	int events;
	uint32_t type;
	uint64_t config, config1, config2, config3;
};

/* Compares the first event of each row. */
static bool names_are(const struct name_row *rows, size_t n)
{
	bool good = true;

	make_roots();
	for (size_t i = 0; i < n; i++) {
		struct tally_events events = { 0 };
		struct tally_error err = { 0 };
		int ret = tally_parse_events(&events, rows[i].text, &err);
		struct perf_event_attr *attr;

		if (ret != rows[i].events) {
			printf("# %s: %d instead of %d events: %s\n", rows[i].text, ret,
			       rows[i].events, err.text);
			good = false;
			continue;
		}
		attr = &events.event[0].attr;
		good &= expect_eq(rows[i].text, attr->type, rows[i].type);
		good &= expect_eq(rows[i].text, attr->config, rows[i].config);
		if (attr->type != KPROBE_TYPE && attr->type != UPROBE_TYPE)
			good &= expect_eq(rows[i].text, attr->config1, rows[i].config1);
		good &= expect_eq(rows[i].text, attr->config2, rows[i].config2);
		good &= expect_eq(rows[i].text, attr->config3, rows[i].config3);
		tally_free_events(&events);
	}
	remove_roots();
	return good;
}

static bool generic_names(void)
{
	static const struct name_row rows[] = {
		{ "cycles", 1, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 0, 0, 0 },
		{ "cpu-cycles", 1, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 0, 0, 0 },
		{ "branches", 1, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 0, 0, 0 },
		{ "branch-misses", 1, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, 0, 0, 0 },
		{ "ref-cycles", 1, PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES, 0, 0, 0 },
		{ "faults", 1, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 0, 0, 0 },
		{ "cs", 1, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 0, 0, 0 },
		{ "cgroup-switches", 1, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CGROUP_SWITCHES, 0, 0,
		  0 },
		{ "r1a8", 1, PERF_TYPE_RAW, 0x1a8, 0, 0, 0 },
		{ "r20000038f:u", 1, PERF_TYPE_RAW, 0x20000038f, 0, 0, 0 },
	};

	return names_are(rows, ARRAY_SIZE(rows));
}

static bool cache_names(void)
{
	static const struct name_row rows[] = {
		{ "L1-dcache-loads", 1, PERF_TYPE_HW_CACHE, 0x0, 0, 0, 0 },
		{ "L1-dcache-load-misses", 1, PERF_TYPE_HW_CACHE, 0x10000, 0, 0, 0 },
		{ "l1d-misses-stores", 1, PERF_TYPE_HW_CACHE, 0x10100, 0, 0, 0 },
		{ "LLC-prefetch-misses", 1, PERF_TYPE_HW_CACHE, 0x10202, 0, 0, 0 },
		{ "dTLB-store-misses", 1, PERF_TYPE_HW_CACHE, 0x10103, 0, 0, 0 },
		{ "d-tlb-speculative-load", 1, PERF_TYPE_HW_CACHE, 0x203, 0, 0, 0 },
		{ "branch-load-misses", 1, PERF_TYPE_HW_CACHE, 0x10005, 0, 0, 0 },
		{ "node-loads", 1, PERF_TYPE_HW_CACHE, 0x6, 0, 0, 0 },
		{ "iTLB", 1, PERF_TYPE_HW_CACHE, 0x4, 0, 0, 0 },
	};

	return names_are(rows, ARRAY_SIZE(rows));
}

static bool pmu_names(void)
{
	static const struct name_row rows[] = {
		{ "cpu/event=0x3c/", 1, CORE_TYPE, 0x3c, 0, 0, 0 },
		{ "cpu/event=0x28f,umask=3/", 1, CORE_TYPE, 0x20000038f, 0, 0, 0 },
		{ "cpu/event=1,edge,cmask=2/u", 1, CORE_TYPE, 0x2040001, 0, 0, 0 },
		{ "cpu/wide=0xffffffffffffffff/", 1, CORE_TYPE, 0, 0, ~0ull, 0 },
		{ "cpu/third=15/", 1, CORE_TYPE, 0, 0, 0, 0xf0 },
		{ "cpu/config=7,config1=8,config2=9,config3=10/", 1, CORE_TYPE, 7, 8, 9, 10 },
		{ "cpu/mem-loads/", 1, CORE_TYPE, 0x1cd, 3, 0, 0 },
		{ "cpu/mem-loads,ldlat=30/pp", 1, CORE_TYPE, 0x1cd, 30, 0, 0 },
		{ "cpu/ldlat=30,mem-loads/pp", 1, CORE_TYPE, 0x1cd, 30, 0, 0 },
		{ "mem-loads:u", 1, CORE_TYPE, 0x1cd, 3, 0, 0 },
		{ "cpu/open-ended,umask=5/", 1, CORE_TYPE, 0x510, 0, 0, 0 },
		{ "cpu/r1a8/", 1, CORE_TYPE, 0x1a8, 0, 0, 0 },
		{ "cpu/r0x1a8/", 1, CORE_TYPE, 0x1a8, 0, 0, 0 },
		{ "cpu/cycles/", 1, PERF_TYPE_HARDWARE, (uint64_t)CORE_TYPE << 32, 0, 0, 0 },
		{ "uncore_imc_0/event=4/", 1, IMC_TYPE, 4, 0, 0, 0 },
		{ "imc/cas_read/", 2, IMC_TYPE, 4, 0, 0, 0 },
		{ "uncore_imc/cas_read/", 2, IMC_TYPE, 4, 0, 0, 0 },
		{ "*imc_1/cas_read/", 1, IMC1_TYPE, 4, 0, 0, 0 },
	};

	return names_are(rows, ARRAY_SIZE(rows));
}

static bool probe_names(void)
{
	static const struct name_row rows[] = {
		{ "kprobe:do_exit", 1, KPROBE_TYPE, 0, 0, 0, 0 },
		{ "kretprobe:do_exit", 1, KPROBE_TYPE, 1, 0, 0, 0 },
		{ "kprobe:do_exit+0x10", 1, KPROBE_TYPE, 0, 0, 0x10, 0 },
		{ "kprobe/func=do_exit,offset=8,retprobe/", 1, KPROBE_TYPE, 1, 0, 8, 0 },
		{ "uprobe:/bin/sh:0x1000", 1, UPROBE_TYPE, 0, 0, 0x1000, 0 },
		{ "uretprobe:/bin/sh:64", 1, UPROBE_TYPE, 1, 0, 64, 0 },
		{ "uprobe/path='/bin/a,b',offset=64,ref_ctr_offset=2/", 1, UPROBE_TYPE,
		  2ull << 32, 0, 64, 0 },
	};

	return names_are(rows, ARRAY_SIZE(rows));
}

static bool probe_texts(void)
{
	struct tally_events events = { 0 };
	bool good;

	make_roots();
	tally_parse_events(&events, "kprobe:do_exit+16,uprobe/path='/bin/a,b',offset=64/", NULL);
	good = expect_eq("events", events.n, 2) &&
		expect_that("function", !strcmp((char *)(uintptr_t)events.event[0].attr.kprobe_func,
						"do_exit")) &&
		expect_that("path", !strcmp((char *)(uintptr_t)events.event[1].attr.uprobe_path,
					    "/bin/a,b"));
	tally_free_events(&events);
	remove_roots();
	return good;
}

static bool tracepoint_names(void)
{
	static const struct name_row rows[] = {
		{ "sched:sched_switch", 1, PERF_TYPE_TRACEPOINT, 314, 0, 0, 0 },
		{ "sched:sched_*", 2, PERF_TYPE_TRACEPOINT, 314, 0, 0, 0 },
		{ "*:*", 3, PERF_TYPE_TRACEPOINT, 99, 0, 0, 0 },
		{ "irq:irq_handler_entry:u", 1, PERF_TYPE_TRACEPOINT, 99, 0, 0, 0 },
	};

	return names_are(rows, ARRAY_SIZE(rows));
}

static bool breakpoint_names(void)
{
	static const struct name_row rows[] = {
		{ "mem:0x1000", 1, PERF_TYPE_BREAKPOINT, 0, 0x1000, HW_BREAKPOINT_LEN_4, 0 },
		{ "mem:0x1000/8", 1, PERF_TYPE_BREAKPOINT, 0, 0x1000, 8, 0 },
		{ "mem:0x1000/1:w", 1, PERF_TYPE_BREAKPOINT, 0, 0x1000, 1, 0 },
		{ "mem:0x1000:x", 1, PERF_TYPE_BREAKPOINT, 0, 0x1000, sizeof(long), 0 },
		{ "mem:0x1000:rw:u", 1, PERF_TYPE_BREAKPOINT, 0, 0x1000, HW_BREAKPOINT_LEN_4, 0 },
	};
	struct tally_events events = { 0 };
	bool good = names_are(rows, ARRAY_SIZE(rows));

	tally_parse_events(&events, "mem:0x10:w,mem:0x10:rw:k,mem:0x10:x", NULL);
	good = good && expect_eq("events", events.n, 3) &&
		expect_eq("w", events.event[0].attr.bp_type, HW_BREAKPOINT_W) &&
		expect_eq("rw", events.event[1].attr.bp_type, HW_BREAKPOINT_RW) &&
		expect_eq("k", events.event[1].attr.exclude_user, 1) &&
		expect_eq("x", events.event[2].attr.bp_type, HW_BREAKPOINT_X);
	tally_free_events(&events);
	return good;
}

/* Bits of an attr and of its event, for the rows of modifiers. */
struct modifier_row {
	const char *letters;
	unsigned int user, kernel, hv, host, guest, idle;
	unsigned int precise, pinned, exclusive, read, weak, max;
};

static bool modifiers(void)
{
	static const struct modifier_row rows[] = {
		{ "u", .kernel = 1, .hv = 1 },
		{ "k", .user = 1, .hv = 1 },
		{ "h", .user = 1, .kernel = 1 },
		{ "uk", .hv = 1 },
		{ "G", .host = 1 },
		{ "H", .guest = 1 },
		{ "GH", .user = 0 },
		{ "I", .idle = 1 },
		{ "p", .precise = 1 },
		{ "ppp", .precise = 3 },
		{ "upp", .kernel = 1, .hv = 1, .precise = 2 },
		{ "P", .max = 1 },
		{ "S", .read = 1 },
		{ "D", .pinned = 1 },
		{ "e", .exclusive = 1 },
		{ "W", .weak = 1 },
	};
	bool good = true;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct modifier_row *row = &rows[i];
		struct tally_events events = { 0 };
		struct perf_event_attr *attr;
		char text[32];

		snprintf(text, sizeof(text), "page-faults:%s", row->letters);
		if (!expect_eq(text, tally_parse_events(&events, text, NULL), 1))
			return false;
		attr = &events.event[0].attr;
		good &= expect_eq(text, attr->exclude_user, row->user) &
			expect_eq(text, attr->exclude_kernel, row->kernel) &
			expect_eq(text, attr->exclude_hv, row->hv) &
			expect_eq(text, attr->exclude_host, row->host) &
			expect_eq(text, attr->exclude_guest, row->guest) &
			expect_eq(text, attr->exclude_idle, row->idle) &
			expect_eq(text, attr->precise_ip, row->precise) &
			expect_eq(text, attr->pinned, row->pinned) &
			expect_eq(text, attr->exclusive, row->exclusive) &
			expect_eq(text, events.event[0].sample_read, row->read) &
			expect_eq(text, events.event[0].weak, row->weak) &
			expect_eq(text, events.event[0].precise_max, row->max) &
			expect_that(text, !strcmp(events.event[0].name, text));
		tally_free_events(&events);
	}
	return good;
}

static bool groups(void)
{
	static const char text[] = "cs, {faults, cs:u}:kD, own:{cs,faults}:S,dummy";
	struct tally_events events = { 0 };
	const struct tally_counter *e;
	bool good;

	if (!expect_eq("events", tally_parse_events(&events, text, NULL), 6))
		return false;
	e = events.event;
	good = expect_eq("groups", events.groups, 2) && expect_eq("alone", e[0].group, -1) &&
		expect_eq("first", e[1].group, 0) && expect_eq("second", e[2].group, 0) &&
		expect_that("leader", e[1].leader && !e[2].leader && e[3].leader && !e[4].leader) &&
		expect_that("the leader alone is pinned", e[1].attr.pinned && !e[2].attr.pinned) &&
		expect_that("members have the modifiers", e[2].attr.exclude_user) &&
		expect_that("S", e[3].sample_read && e[4].sample_read) &&
		expect_eq("second group", e[4].group, 1) && expect_eq("alone", e[5].group, -1);
	tally_free_events(&events);
	return good;
}

static bool terms_of_sampling(void)
{
	struct tally_events events = { 0 };
	const struct tally_counter *e;
	bool good;

	make_roots();
	tally_parse_events(&events,
			   "cpu/event=1,period=1000,name=first,call-graph=dwarf,percore/", NULL);
	tally_parse_events(&events, "cycles/freq=99,no-inherit,max-stack=7,time=0/k", NULL);
	tally_parse_events(&events, "cycles/branch_type=any_call+u,stack-size=4096/", NULL);
	if (!expect_eq("events", events.n, 3))
		return false;
	e = events.event;
	good = expect_eq("period", e[0].attr.sample_period, 1000) &&
		expect_that("name", !strcmp(e[0].name, "first")) &&
		expect_eq("call graph", e[0].callgraph, TALLY_CALLGRAPH_DWARF) &&
		expect_eq("stack", e[2].stack_size, 4096) && expect_that("percore", e[0].percore) &&
		expect_eq("set", e[0].set, TALLY_SET_PERIOD | TALLY_SET_CALLGRAPH) &&
		expect_eq("frequency", e[1].attr.sample_freq, 99) &&
		expect_that("in Hz", e[1].attr.freq && !e[0].attr.freq) &&
		expect_eq("depth", e[1].attr.sample_max_stack, 7) &&
		expect_eq("branches", e[2].attr.branch_sample_type,
			  PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_USER) &&
		expect_eq("level", e[1].attr.exclude_user, 1);
	tally_free_events(&events);
	remove_roots();
	return good;
}

static bool units(void)
{
	struct tally_events events = { 0 };
	bool good;

	make_roots();
	tally_parse_events(&events, "uncore_imc_0/cas_read/,task-clock", NULL);
	good = expect_eq("events", events.n, 2) &&
		expect_that("unit", !strcmp(events.event[0].unit, "MiB")) &&
		expect_that("scale", events.event[0].scale == 0.00006103515625) &&
		expect_that("CPUs", !strcmp(events.event[0].cpus, "0")) &&
		expect_that("clock", !strcmp(events.event[1].unit, "msec"));
	tally_free_events(&events);
	remove_roots();
	return good;
}

static bool refused_names(void)
{
	static const struct {
		const char *text;
		const char *reason;
	} rows[] = {
		{ "", "column 1" },
		{ "no-such", "no such event" },
		{ "cs,", "column 4" },
		{ "cs faults", "column 4" },
		{ "{cs,faults", "closing brace" },
		{ "{cs,{faults}}", "group in a group" },
		{ "cs:q", "modifiers are" },
		{ "cs:pppp", "modifiers are" },
		{ "cs:", "modifiers are" },
		{ "cpu/event=1", "no closing slash" },
		{ "cpu/event=0x1000/", "12 bits" },
		{ "cpu/umask=0x100/", "8 bits" },
		{ "cpu/event=x/", "not a number" },
		{ "cpu/event=-1/", "not a number" },
		{ "cpu/evnt=1/", "evnt: neither a term of cpu (cmask, edge, event" },
		{ "cpu/open-ended/", "needs umask=value" },
		{ "cpu/name=/", "needs a text" },
		{ "cpu/name='x/", "no closing" },
		{ "nopmu/event=1/", "no PMU nopmu" },
		{ "sched:no_such", "no such tracepoint" },
		{ "mem:", "needs an address" },
		{ "mem:0x10/4x", "mem:ADDRESS" },
		{ "uprobe:/bin/sh", "uprobe:PATH:OFFSET" },
		{ "kprobe:f+x", "no offset" },
		{ "cs/call-graph=nothing/", "call chains are taken by" },
		{ "cs/branch_type=every/", "not a kind of branch" },
		{ "cs/max-stack=70000/", "65535 at most" },
	};
	struct tally_events events = { 0 };
	bool good = true;

	make_roots();
	tally_parse_events(&events, "cs", NULL);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct tally_error err = { 0 };
		int ret = tally_parse_events(&events, rows[i].text, &err);

		if (ret >= 0 || !strstr(err.text, rows[i].reason)) {
			printf("# '%s': %d, \"%s\" lacks \"%s\"\n", rows[i].text, ret, err.text,
			       rows[i].reason);
			good = false;
		}
		good &= expect_eq("events after an error", events.n, 1);
	}
	tally_free_events(&events);
	remove_roots();
	return good;
}

static const struct test tests[] = {
	{ "generic and raw names", generic_names },
	{ "cache names", cache_names },
	{ "PMU terms, aliases and globs", pmu_names },
	{ "probes", probe_names },
	{ "texts of probes", probe_texts },
	{ "tracepoints with globs", tracepoint_names },
	{ "breakpoints", breakpoint_names },
	{ "each modifier", modifiers },
	{ "groups", groups },
	{ "terms that set up sampling", terms_of_sampling },
	{ "units and CPUs of a PMU", units },
	{ "a text that is wrong is refused with the reason", refused_names },
};

TESTS_MAIN(tests)
