// SPDX-License-Identifier: GPL-2.0
/*
 * Precise samples on x86 (PEBS): the instruction, the registers and the period of each sample of a
 * known loop. Instructions are the clock of the machine, and with one CPU of cycles, too. Nothing
 * skids there.
 *
 * PRECISE_SAMPLES in the environment (a kernel parameter) is the number of samples of each event at
 * each precise level, instead of 200. They are taken in turns of 200, each at a period of its own.
 */
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "processes.h"
#include "records.h"
#include "require.h"
#include "workloads.h"

#ifdef __x86_64__
#include "x86_precise.h"
#include "x86_rdpmc.h"

static unsigned int samples_wanted(void)
{
	return env_number("PRECISE_SAMPLES", 1);
}

/* The model number of a part of family 6; 0: another family. */
static unsigned int model_of_part(void)
{
	uint32_t a, b, c, d;

	__cpuid(1, a, b, c, d);
	return (a >> 8 & 15) == 6 ? (a >> 4 & 15) | (a >> 12 & 0xf0) : 0;
}

/*
 * The levels by model number. 2: the record has the address of the instruction, or branch records
 * lead to it; and with 3 there is an event with samples that are distributed evenly (PREC_DIST), or
 * its like. Merom has errata, and so has Sandy Bridge with old microcode.
 */
static const struct {
	unsigned int	level;
	uint8_t		models[40];
} levels[] = {
	{ 0, { 15 } },			/* Merom */
	{ 2, {	23, 29,			/* Penryn, Dunnington */
		26, 30, 46, 37, 44, 47,	/* Nehalem, Westmere */
		42, 45,			/* Sandy Bridge */
		28, 55, 77, 76 } },	/* Bonnell, Silvermont, Airmont */
	{ 3, {	58, 62,			/* Ivy Bridge */
		60, 63, 69, 70,		/* Haswell */
		61, 71, 79, 86,		/* Broadwell */
		78, 85, 94, 142, 158, 165, 166,		/* Skylake to Comet Lake */
		106, 108, 125, 126, 140, 141, 167,	/* Ice Lake, Tiger Lake, Rocket Lake */
		143, 207, 173, 174,	/* Sapphire, Emerald and Granite Rapids */
		92, 95, 122, 134, 150, 156 } },	/* Goldmont to Tremont */
};

static bool level_is_that_of_part(void)
{
	unsigned int model = model_of_part();
	char line[32];

	for (unsigned int i = 0; model && i < ARRAY_SIZE(levels); i++) {
		if (!memchr(levels[i].models, model, sizeof(levels[i].models)))
			continue;
		if (read_line(CAPS_PRECISE, line, sizeof(line)) <= 0)
			return expect(false, "%s cannot be read", CAPS_PRECISE);
		return expect_eq("max_precise", atoi(line), levels[i].level);
	}
	skip_case("no known level of this model");
}

/* Returns the number of samples, or 0 if one is wrong. */
static unsigned int loop_turn(struct perf_event_attr *attr, const char *what)
{
	struct perf_event_header *h;
	struct tally t = { 0 };
	struct ring ring;
	uint64_t count;
	bool exact;
	int fd;

	fd = open_self(attr, -1);
	if (!ring_map(&ring, fd, 64))
		fail_case("mmap");
	t.stops = thread_switches();
	event_enable(fd);
	precise_loop(ROUNDS, XMM_VALUE);
	event_disable(fd);
	t.stops = thread_switches() - t.stops;
	count = perf_count(fd);
	h = ring_find(&ring, PERF_RECORD_SAMPLE);
	if (!expect(h, "%s: samples", what))
		return 0;
	exact = names_insn(attr->precise_ip, h);
	ring.tail = 0;
	if (attr->config == PERF_COUNT_HW_CPU_CYCLES && attr->precise_ip == 3 &&
	    part_is_one_of(with_long_rests))
		t.least = 128;
	tally_ring(&t, &ring, attr, precise_loop_points, ROUNDS, exact);
	ring_unmap(&ring);
	close(fd);
	return tally_is_exact(what, &t, count, attr->sample_period, exact) ? t.samples : 0;
}

static bool loop_is_exact(const struct perf_event_attr *attr, const char *what)
{
	unsigned int wanted = samples_wanted(), samples = 0, turn;
	struct perf_event_attr of_turn = *attr;

	do {
		turn = loop_turn(&of_turn, what);
		samples += turn;
		of_turn.sample_period++;
	} while (turn && samples < wanted);
	if (wanted > 1)
		ktap_note("%s: %u samples", what, samples);
	return turn;
}

static bool each_config_is_exact(uint64_t config, const char *what)
{
	bool good = true;
	char name[48];

	need_precise();
	for (unsigned int precise = 1; precise <= max_precise; precise++) {
		struct perf_event_attr attr = precise_attr(config, precise);

		snprintf(name, sizeof(name), "%s, precise_ip %u", what, precise);
		good &= loop_is_exact(&attr, name);
	}
	return good;
}

static bool instructions_are_exact(void)
{
	return each_config_is_exact(PERF_COUNT_HW_INSTRUCTIONS, "instructions");
}

static bool cycles_are_exact(void)
{
	return each_config_is_exact(PERF_COUNT_HW_CPU_CYCLES, "cycles");
}

/*
 * Each period differs from the one before. An interrupt of a debug kernel takes tens of
 * microseconds: at this frequency the loop continues in between.
 */
static bool frequencies_are_exact(void)
{
	struct perf_event_attr attr;
	struct perf_event_header *h;
	struct tally t = { 0 };
	struct ring ring;
	int64_t before = -1;
	unsigned int back = 0;
	int fd;

	need_precise();
	attr = precise_attr(PERF_COUNT_HW_INSTRUCTIONS, max_precise);
	attr.freq = 1;
	attr.sample_freq = 10000;
	fd = open_self(&attr, -1);
	if (!ring_map(&ring, fd, 256))
		fail_case("mmap");
	event_enable(fd);
	precise_loop(100 * ROUNDS, XMM_VALUE);
	event_disable(fd);
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		struct sample s;

		sample_parse(&s, h, &attr);
		tally_sample(&t, &s, precise_loop_points, 100 * ROUNDS, 0,
			     names_insn(attr.precise_ip, h));
		back += t.inside && t.last <= before;
		before = t.last;
	}
	return expect(t.samples > 100, "%u samples", t.samples) &
	       expect(t.inside + 20 >= t.samples, "%u of %u in the loop", t.inside, t.samples) &
	       expect_eq("registers that are not those of the instruction", t.wrong, 0) &
	       expect(back <= t.samples - t.inside, "%u samples before the last one", back);
}

#define FREQUENCY_TURNS	20

/*
 * The work of a task in its turns, with an event of its own that has a frequency. Samples have the
 * period that they end: together they are the count, but for the period that has not ended. That is
 * at most 8 times the one before.
 */
static bool periods_add_up_in_turns(unsigned int precise, struct gate *to_other,
				    struct gate *from_other, bool begins)
{
	struct perf_event_attr attr = precise_attr(PERF_COUNT_HW_INSTRUCTIONS, precise);
	uint64_t count, sum = 0, last = 0;
	struct perf_event_header *h;
	unsigned int samples = 0;
	struct ring ring;
	int fd;

	attr.freq = 1;
	attr.sample_freq = 20000;
	attr.sample_type |= PERF_SAMPLE_PERIOD;
	fd = open_self(&attr, -1);
	if (!ring_map(&ring, fd, 256))
		fail_case("mmap");
	if (!begins)
		gate_wait(from_other);
	event_enable(fd);
	for (unsigned int i = 0; i < FREQUENCY_TURNS; i++) {
		precise_loop(5 * ROUNDS + i % 7 * ROUNDS, XMM_VALUE);
		gate_open(to_other);
		if (i < FREQUENCY_TURNS - 1 || begins)
			gate_wait(from_other);
	}
	event_disable(fd);
	count = perf_count(fd);
	for (; (h = ring_find(&ring, PERF_RECORD_SAMPLE)); samples++) {
		struct sample s;

		sample_parse(&s, h, &attr);
		sum += s.period;
		last = s.period;
	}
	close(fd);
	return expect(samples > 100, "%u samples", samples) &
	       expect_between("sum of the periods", sum, count - 8 * last, count);
}

/* Two tasks with a frequency take turns. */
static bool frequencies_add_up(void)
{
	struct gate go = gate_new(), back = gate_new();
	bool good = true;
	pid_t other;

	need_precise();
	MUST(pin_to_cpu(0));
	for (unsigned int precise = 1; precise <= max_precise; precise++) {
		other = fork_child();
		if (!other)
			_exit(!periods_add_up_in_turns(precise, &back, &go, false));
		good &= periods_add_up_in_turns(precise, &go, &back, true);
		good &= expect(child_succeeded(other), "the other task");
	}
	return good;
}

/* Two events with records, and one without in between. */
static bool two_events_are_exact(void)
{
	static const uint64_t periods[] = { 997, 0, 487 };
	struct perf_event_attr attr[3];
	struct tally t[3] = { 0 };
	unsigned int switches;
	bool good = true, exact;
	struct ring ring[3];
	int fd[3];

	need_precise();
	for (unsigned int i = 0; i < 3; i++) {
		attr[i] = precise_attr(PERF_COUNT_HW_INSTRUCTIONS, i == 1 ? 0 : max_precise);
		attr[i].sample_period = periods[i];
		if (!periods[i])
			attr[i].sample_type = 0;
		fd[i] = perf_open(&attr[i], 0, -1, i ? fd[0] : -1, 0);
		if (fd[i] < 0 && i == 2) {
			/* One counter alone has records. */
			close(fd[1]);
			close(fd[0]);
			return true;
		}
		MUST(fd[i]);
		if (periods[i] && !ring_map(&ring[i], fd[i], 64))
			fail_case("mmap");
	}
	switches = thread_switches();
	ioctl(fd[0], PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
	precise_loop(ROUNDS, XMM_VALUE);
	ioctl(fd[0], PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
	switches = thread_switches() - switches;
	exact = max_precise > 1;
	for (unsigned int i = 0; i < 3; i += 2) {
		t[i].stops = switches;
		tally_ring(&t[i], &ring[i], &attr[i], precise_loop_points, ROUNDS, exact);
		good &= tally_is_exact(i ? "second" : "first", &t[i], perf_count(fd[i]),
				       periods[i], exact);
	}
	return good & expect_eq("the event between them", perf_count(fd[1]), perf_count(fd[0]));
}

/*
 * Formats 0 and 1 have the address of the next instruction, after a SYSCALL one of the kernel. The
 * SYSCALL is found in the branch records of Core 2, which have no filter; later ones leave it out.
 */
static bool calls_have_samples(void)
{
	unsigned int model = model_of_part();

	return max_precise > 2 || model == 15 || model == 22 || model == 23 || model == 29;
}

/* All periods of both tasks have a sample, but for those that end at a SYSCALL on old parts. */
static bool tasks_have_their_own(void)
{
	struct perf_event_attr attr;
	struct turner *t;
	bool good;

	need_precise();
	attr = precise_attr(PERF_COUNT_HW_INSTRUCTIONS, max_precise);
	t = two_turners();
	t[0].period = 293;
	t[1].period = 499;
	t[0].exact = max_precise > 1;
	t[1].exact = max_precise > 1;
	good = take_own_turns(t, &attr, TURNS);
	for (int i = 0; i < 2; i++) {
		unsigned int calls = calls_have_samples() ? 0 : t[i].calls;

		good &= expect_between(i ? "samples of the other" : "samples",
				       t[i].samples + calls,
				       (t[i].count - 1 - LEAST) / t[i].period,
				       (t[i].count - 1) / t[i].period);
	}
	return good;
}

#define STORE_REGISTERS		12	/* of the PMU model's statistics; and branch records */
#define PRECISE_REGISTERS	13

static bool expect_accesses(const char *what, const struct accesses from[],
			    const struct accesses to[], uint64_t least, uint64_t most)
{
	return expect_between(what, to->reads - from->reads, least, most) &
	       expect_between(what, to->writes - from->writes, least, most);
}

/* Register accesses of switches to a task without events and back; @branches: to branch records. */
static bool switches_access(unsigned int precise, bool branches)
{
	struct gate go = gate_new(), back = gate_new();
	struct accesses before[2], after[2];
	struct perf_event_attr attr;
	uint64_t switches;
	pid_t other;
	int fd;

	need_stats();
	if (!kernel_gives_reasons())
		skip_case("this kernel writes at every switch");
	MUST(pin_to_cpu(0));
	other = fork_worker(&go, &back, run_other);
	attr = precise_attr(PERF_COUNT_HW_INSTRUCTIONS, precise);
	attr.sample_period = 1ull << 30;
	fd = open_self(&attr, -1);
	event_enable(fd);
	take_turns(&go, &back, TURNS, run_mine);
	for (int i = 0; i < 2; i++)
		before[i] = stats_of(STORE_REGISTERS + i);
	switches = thread_switches();
	take_turns(&go, &back, TURNS, run_mine);
	switches = thread_switches() - switches;
	for (int i = 0; i < 2; i++)
		after[i] = stats_of(STORE_REGISTERS + i);
	close(fd);
	kill_child(other);
	return expect_accesses("debug store and branches", &before[0], &after[0],
			       branches ? TURNS : 0, branches ? switches : 0) &
	       expect_accesses("PEBS registers", &before[1], &after[1], 0, 0);
}

/*
 * Up to Sandy Bridge the branch records find the instruction from precision 2 on: when the task is
 * switched to, one register of theirs is read, and one is written.
 */
static bool switches_access_nothing(void)
{
	bool good = true;

	need_precise();
	for (unsigned int precise = 0; precise <= max_precise; precise++)
		good &= switches_access(precise, precise > 1 && max_precise < 3);
	return good;
}

/* The chain begins at the instruction of the sample. */
static bool chains_begin_there(void)
{
	struct perf_event_attr attr;
	struct perf_event_header *h;
	unsigned int samples = 0, wrong = 0;
	struct ring ring;
	int fd;

	need_precise();
	attr = precise_attr(PERF_COUNT_HW_INSTRUCTIONS, max_precise);
	attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
	fd = open_self(&attr, -1);
	if (!ring_map(&ring, fd, 64))
		fail_case("mmap");
	event_enable(fd);
	precise_loop(ROUNDS / 4, XMM_VALUE);
	event_disable(fd);
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		struct sample s;

		sample_parse(&s, h, &attr);
		samples++;
		wrong += s.callchain[0] < 2 || s.callchain[1] != (uint64_t)PERF_CONTEXT_USER ||
			 s.callchain[2] != s.ip;
	}
	return expect(samples > 40, "%u samples", samples) & expect_eq("chains", wrong, 0);
}

/* Samples of the kernel have its addresses, and those of user space none of them. */
static bool levels_are_kept(void)
{
	struct perf_event_header *h;
	struct perf_event_attr attr;
	unsigned int samples = 0, wrong = 0;
	struct ring ring;
	int fd;

	need_precise();
	for (int kernel = 0; kernel < 2; kernel++) {
		for (unsigned int precise = 1; precise <= max_precise; precise++) {
			attr = precise_attr(PERF_COUNT_HW_INSTRUCTIONS, precise);
			attr.exclude_user = kernel;
			attr.exclude_kernel = !kernel;
			/* Odd: with user instructions of a call it meets each of them. */
			attr.sample_period = kernel ? 4999 : 131;
			fd = open_self(&attr, -1);
			if (!ring_map(&ring, fd, 64))
				fail_case("mmap");
			event_enable(fd);
			for (int i = 0; i < 1000; i++)
				syscall(__NR_getppid);
			event_disable(fd);
			for (; (h = ring_find(&ring, PERF_RECORD_SAMPLE)); samples++) {
				struct sample s;

				sample_parse(&s, h, &attr);
				wrong += s.ip >> 63 != (unsigned int)kernel ||
					 (h->misc & PERF_RECORD_MISC_CPUMODE_MASK) !=
					 (kernel ? PERF_RECORD_MISC_KERNEL :
						   PERF_RECORD_MISC_USER);
			}
			ring_unmap(&ring);
			close(fd);
		}
	}
	return expect(samples > 20 * max_precise, "%u samples", samples) &
	       expect_eq("samples of another level", wrong, 0);
}

/* Records of newer parts have XMM registers. */
static bool xmm_is_sampled(void)
{
	struct perf_event_header *h;
	struct perf_event_attr attr;
	unsigned int samples = 0, wrong = 0;
	struct ring ring;
	int fd;

	need_precise();
	attr = precise_attr(PERF_COUNT_HW_INSTRUCTIONS, 2 > max_precise ? max_precise : 2);
	attr.sample_regs_intr |= 3ull << PERF_REG_X86_XMM3;
	fd = perf_open(&attr, 0, -1, -1, 0);
	if (fd < 0) {
		attr.precise_ip = 0;
		return expect_errno("XMM registers", -1, EINVAL) &
		       expect_errno("XMM, not precise", perf_open(&attr, 0, -1, -1, 0), EINVAL);
	}
	if (!ring_map(&ring, fd, 64))
		fail_case("mmap");
	event_enable(fd);
	precise_loop(ROUNDS / 4, XMM_VALUE);
	event_disable(fd);
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		struct sample s;

		sample_parse(&s, h, &attr);
		if (point_of(precise_loop_points, s.ip) < 0)
			continue;
		samples++;
		wrong += s.intr_regs[REG_XMM] != XMM_VALUE || s.intr_regs[REG_XMM + 1];
	}
	attr.precise_ip = 0;
	return expect(samples > 40, "%u samples", samples) & expect_eq("values", wrong, 0) &
	       expect_errno("XMM, not precise", perf_open(&attr, 0, -1, -1, 0), EINVAL);
}

#define EVENTS		"/sys/bus/event_source/devices/cpu/events/"
#define DATA_PAGES	8
#define STRIDE		0x440
#define LDLAT		32

/* The selection of a file like event=0xcd,umask=0x1,ldlat=3; 0 if there is none. */
static uint64_t select_of_file(const char *path)
{
	unsigned int event, umask;
	char line[64];

	if (read_line(path, line, sizeof(line)) <= 0 ||
	    sscanf(line, "event=%x,umask=%x", &event, &umask) != 2)
		return 0;
	return event | umask << 8;
}

/* Loads of words that are STRIDE bytes apart; RSI is the address of the word. */
static void load_words(const char *from, unsigned long n)
{
	asm volatile("1: mov (%0), %%rax; add %2, %0; dec %1; jnz 1b"
		     : "+S" (from), "+c" (n) : "i" (STRIDE) : "rax", "memory", "cc");
}

static char load_data[DATA_PAGES * 4096] __aligned(4096);

/* The samples of loads from load_data are in @ring, when @enable has enabled the event. */
static void sample_loads(int enable, int fd, struct ring *ring)
{
	if (!ring_map(ring, fd, 64))
		fail_case("mmap");
	memset(load_data, 0, sizeof(load_data));
	event_enable(enable);
	for (int i = 0; i < 200; i++)
		load_words(load_data, sizeof(load_data) / STRIDE);
	event_disable(enable);
}

/* The machine's rule for the cycles that a load takes. */
static uint64_t cycles_of_load(uint64_t address)
{
	return 4 << (address >> 10 & 7);
}

/* The machine's rule for where the data was; PERF_MEM_LVLNUM_NA: parts differ. */
static unsigned int level_of_load(uint64_t address)
{
	switch (address >> 6 & 15) {
	case 1:
		return PERF_MEM_LVLNUM_L1;
	case 2:
		return PERF_MEM_LVLNUM_LFB;
	case 3:
		return PERF_MEM_LVLNUM_L2;
	case 4 ... 7:
		return PERF_MEM_LVLNUM_L3;
	case 10:
		return PERF_MEM_LVLNUM_RAM;
	}
	return PERF_MEM_LVLNUM_NA;
}

static bool source_is_right(uint64_t data_src, uint64_t address)
{
	union perf_mem_data_src source = { .val = data_src };
	unsigned int level = level_of_load(address);

	return source.mem_op == PERF_MEM_OP_LOAD && source.mem_lvl_num &&
	       (level == PERF_MEM_LVLNUM_NA || source.mem_lvl_num == level);
}

/* Records with the latency of the caches beside that of the instruction, and that of retirement. */
static const char *const with_two_latencies[] = { "143", "173", NULL };
/* Where the source of a load is right only with another event in the group. */
static const char *const with_loads_aux[] = { "143", NULL };

/* The event of loads, and one that is to be enabled, which can be the same. */
struct loads {
	struct perf_event_attr	attr;
	int			enable, fd;
};

/* Opens the event mem-loads with @fields in its samples; false if there is none. */
static bool open_loads(struct loads *loads, uint64_t fields)
{
	struct perf_event_attr *attr = &loads->attr, aux;

	*attr = precise_attr(0, max_precise < 2 ? max_precise : 2);
	attr->type = PERF_TYPE_RAW;
	attr->config = select_of_file(EVENTS "mem-loads");
	if (!attr->config)
		return false;
	attr->config1 = LDLAT;
	attr->sample_period = 37;
	attr->sample_type |= PERF_SAMPLE_ADDR | fields;
	if (!part_is_one_of(with_loads_aux)) {
		loads->fd = open_self(attr, -1);
		loads->enable = loads->fd;
		return true;
	}
	aux = perf_attr_modes(PERF_TYPE_RAW, select_of_file(EVENTS "mem-loads-aux"), "u");
	loads->enable = open_self(&aux, -1);
	attr->disabled = 0;
	loads->fd = open_self(attr, loads->enable);
	return true;
}

static bool no_loads_on_core2(void)
{
	return expect_eq("an event mem-loads of Core 2 alone is missing",
			 access(EVENTS "mem-stores", F_OK), -1) &
	       expect_eq("the model, which is not a Penryn", model_of_part() != 23, 0);
}

static bool aux_event_is_needed(void)
{
	bool listed = !access(EVENTS "mem-loads-aux", F_OK);
	struct perf_event_attr attr;

	if (!expect_eq("an event mem-loads-aux", listed, part_is_one_of(with_loads_aux)))
		return false;
	if (!listed)
		return true;
	attr = precise_attr(select_of_file(EVENTS "mem-loads"), 2);
	attr.type = PERF_TYPE_RAW;
	attr.config1 = LDLAT;
	attr.sample_type |= PERF_SAMPLE_DATA_SRC;
	return expect_refused("the source without mem-loads-aux", perf_open(&attr, 0, -1, -1, 0),
			      ENODATA, "DATA_SRC");
}

/* Only loads above the threshold are events; each sample has the address that RSI had. */
static bool loads_have_their_data(void)
{
	unsigned int samples = 0, wrong = 0, outside = 0, sources = 0;
	struct perf_event_header *h;
	struct loads loads;
	struct ring ring;
	bool two;

	need_precise();
	two = part_is_one_of(with_two_latencies);
	if (!open_loads(&loads, PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC))
		return no_loads_on_core2();
	sample_loads(loads.enable, loads.fd, &ring);
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		uint64_t cycles;
		struct sample s;

		sample_parse(&s, h, &loads.attr);
		samples++;
		if (s.addr - (uint64_t)load_data >= sizeof(load_data)) {
			outside++;
			continue;
		}
		cycles = cycles_of_load(s.addr);
		/* Where there are two latencies, that of the caches is half of the other. */
		wrong += s.addr != s.intr_regs[REG_SI] || cycles <= LDLAT ||
			 s.weight != (two ? cycles / 2 : cycles);
		sources += !source_is_right(s.data_src, s.addr);
	}
	return aux_event_is_needed() &
	       expect(samples > 50 && outside * 10 <= samples, "%u samples, %u of other data",
		      samples, outside) &
	       expect_eq("samples with wrong data", wrong, 0) &
	       expect_eq("samples with a wrong source", sources, 0);
}

/* The cycles from one record to the next are those of the retirement: the machine's rule. */
static uint64_t retire_cycles(uint64_t before, uint64_t now)
{
	return now - before < 0xffff ? now - before : 0xffff;
}

/*
 * PERF_SAMPLE_WEIGHT_STRUCT: the latency of the caches, and, where records have them, that of the
 * instruction and that of its retirement.
 */
static bool weights_have_their_parts(void)
{
	unsigned int samples = 0, caches = 0, insns = 0, retired = 0;
	struct perf_event_header *h;
	uint64_t before = 0;
	struct loads loads;
	struct ring ring;
	bool two;

	need_precise();
	two = part_is_one_of(with_two_latencies);
	if (!open_loads(&loads, PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_TIME))
		return no_loads_on_core2();
	sample_loads(loads.enable, loads.fd, &ring);
	for (; (h = ring_find(&ring, PERF_RECORD_SAMPLE)); samples++) {
		union perf_sample_weight weight;
		uint64_t cycles, retire;
		struct sample s;

		sample_parse(&s, h, &loads.attr);
		weight.full = s.weight;
		cycles = cycles_of_load(s.addr);
		caches += weight.var1_dw != (two ? cycles / 2 : cycles);
		insns += weight.var2_w != (two ? cycles : 0);
		/* The clock rounds to a nanosecond. */
		retire = two ? retire_cycles(before, s.time) : 0;
		retired += before && llabs((int64_t)(weight.var3_w - retire)) > two;
		before = s.time;
	}
	return expect(samples > 50, "%u samples", samples) &
	       expect_eq("wrong latencies of the caches", caches, 0) &
	       expect_eq("wrong latencies of the instruction", insns, 0) &
	       expect_eq("wrong latencies of the retirement", retired, 0);
}

/* Each sample of the event's loads has the address that RSI had. */
static bool load_samples_have_address(int fd, const struct perf_event_attr *attr)
{
	unsigned int samples = 0, wrong = 0;
	struct perf_event_header *h;
	struct ring ring;

	sample_loads(fd, fd, &ring);
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		struct sample s;

		sample_parse(&s, h, attr);
		if (s.intr_regs[REG_SI] - (uint64_t)load_data >= sizeof(load_data))
			continue;
		samples++;
		wrong += s.addr != s.intr_regs[REG_SI];
	}
	close(fd);
	return expect(samples > 50, "%#llx: %u samples", (unsigned long long)attr->config,
		      samples) &
	       expect_eq("samples without the address", wrong, 0);
}

/* Loads, whether or not the driver's table of the part has them: each record has an address. */
static bool records_have_addresses(void)
{
	static const uint64_t loads[] = { 0x81d0, 0x010b };
	unsigned int refused = 0;
	bool good = true;

	need_precise();
	for (int i = 0; i < 2; i++) {
		struct perf_event_attr attr = precise_attr(0, max_precise < 2 ? max_precise : 2);
		int fd;

		attr.type = PERF_TYPE_RAW;
		attr.config = loads[i];
		attr.sample_period = 37;
		attr.sample_type |= PERF_SAMPLE_ADDR;
		fd = perf_open(&attr, 0, -1, -1, 0);
		if (fd < 0)
			refused++;
		else
			good &= load_samples_have_address(fd, &attr);
	}
	if (refused == 2)
		return expect_eq("on Core 2 alone no load is precise",
				 access(EVENTS "mem-loads", F_OK), -1);
	return good;
}

/* Up to Skylake an event with a threshold, inversion or edges has no records. */
static bool modified_events(void)
{
	static const struct {
		const char	*what;
		uint64_t	bits;
	} modifier[] = {
		{ "threshold", 1 << 24 }, { "edges", 1 << 18 }, { "inversion", 1 << 23 | 2 << 24 },
	};
	bool old, good = true;

	need_precise();
	old = part_is_one_of(up_to_skylake);
	for (unsigned int i = 0; i < ARRAY_SIZE(modifier); i++) {
		struct perf_event_attr attr = precise_attr(0x00c5 | modifier[i].bits, 1);
		int fd;

		attr.type = PERF_TYPE_RAW;
		fd = perf_open(&attr, 0, -1, -1, 0);
		good &= old ? expect_errno(modifier[i].what, fd, EINVAL) :
			      expect(fd >= 0, "%s: %m", modifier[i].what);
	}
	return good;
}

/* Fixed counter 0 has the event of distributed samples, and the highest precision. */
static bool distribution_is_precise(void)
{
	need_precise();
	if (access(EVENTS "slots", F_OK))
		skip_case("no event of distributed samples");
	for (unsigned int level = 1; level <= max_precise; level++) {
		struct perf_event_attr attr = precise_attr(0x0100, level);

		attr.type = PERF_TYPE_RAW;
		close(MUST(perf_open(&attr, 0, -1, -1, 0)));
	}
	return true;
}

static bool refusals(void)
{
	struct perf_event_attr attr;
	bool good = true;

	need_precise();
	attr = precise_attr(PERF_COUNT_HW_INSTRUCTIONS, max_precise);
	attr.sample_period = 0;
	good &= expect_refused("no period", perf_open(&attr, 0, -1, -1, 0), EINVAL, "precise_ip");
	if (max_precise < 3) {
		attr = precise_attr(PERF_COUNT_HW_INSTRUCTIONS, max_precise + 1);
		good &= expect_refused("more precise", perf_open(&attr, 0, -1, -1, 0), EOPNOTSUPP,
				       "precise_ip");
	}
	attr = precise_attr(PERF_COUNT_HW_INSTRUCTIONS, 1);
	attr.exclude_host = 1;
	if (kernel_gives_reasons())
		good &= expect_refused("guests", perf_open(&attr, 0, -1, -1, 0), EOPNOTSUPP,
				       "exclude_host");
	attr = precise_attr(PERF_COUNT_HW_INSTRUCTIONS, 1);
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_REGS_USER;
	attr.sample_regs_user = 1ull << PERF_REG_X86_XMM3;
	return good & expect_errno("XMM of user space", perf_open(&attr, 0, -1, -1, 0), EINVAL);
}

#define GRANITE_RAPIDS	173
#define FIXED_INDEX	0x40000000	/* perf_event_mmap_page::index of fixed counters */

/* On this part fixed counter 0, which precise_ip 3 needs, has no latency of the retirement. */
static bool retirement_has_its_counter(void)
{
	bool good = true;

	need_precise();
	if (model_of_part() != GRANITE_RAPIDS)
		skip_case("all counters or none have the latency of a retirement");
	for (unsigned int precise = 1; precise <= max_precise; precise++) {
		struct perf_event_attr attr = precise_attr(PERF_COUNT_HW_INSTRUCTIONS, precise);
		unsigned int samples = 0, retired = 0, index;
		struct perf_event_header *h;
		struct ring ring;
		int fd;

		attr.sample_type |= PERF_SAMPLE_WEIGHT_STRUCT;
		/* Programs have the index of an event with an interrupt for each sample only. */
		attr.wakeup_events = 1;
		fd = open_self(&attr, -1);
		if (!ring_map(&ring, fd, 64))
			fail_case("mmap");
		event_enable(fd);
		precise_loop(ROUNDS, 0);
		index = ring.page->index;
		event_disable(fd);
		while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
			union perf_sample_weight weight;
			struct sample s;

			sample_parse(&s, h, &attr);
			weight.full = s.weight;
			samples++;
			retired += weight.var3_w != 0;
		}
		good &= expect(samples > 50, "%u samples", samples) &
			expect_eq("samples with a retirement", retired, precise < 3 ? samples : 0) &
			expect_eq("index of the counter", index >= FIXED_INDEX, precise == 3);
		ring_unmap(&ring);
		close(fd);
	}
	return good;
}

static const struct test tests[] = {
	{ "the highest precision is that of the part", level_is_that_of_part },
	{ "instructions: each sample is at the end of its period", instructions_are_exact },
	{ "cycles: each sample is at the end of its period", cycles_are_exact },
	{ "samples at a frequency have the registers of their instruction", frequencies_are_exact },
	{ "the periods of a frequency add up to the count, over switches", frequencies_add_up },
	{ "two precise events of a group and a counting one are exact", two_events_are_exact },
	{ "a task's precise samples are its own, and none is lost", tasks_have_their_own },
	{ "a switch with precise samples accesses no register of theirs", switches_access_nothing },
	{ "a call chain begins at the instruction of its sample", chains_begin_there },
	{ "samples of user space and of the kernel have their addresses", levels_are_kept },
	{ "XMM registers are sampled where records have them", xmm_is_sampled },
	{ "loads have their address and latency", loads_have_their_data },
	{ "the weight of a load has its parts", weights_have_their_parts },
	{ "the latency of a retirement needs another counter", retirement_has_its_counter },
	{ "any precise event of loads has their addresses", records_have_addresses },
	{ "events with a threshold, edges or inversion", modified_events },
	{ "the event of distributed samples has each precision", distribution_is_precise },
	{ "what no precise sample has is refused", refusals },
};

TESTS_MAIN(tests)
#else
TESTS_MAIN_SKIPPED("precise samples of x86", "not an x86")
#endif
