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
	const char *value = getenv("PRECISE_SAMPLES");

	return value ? strtoul(value, NULL, 0) : 1;
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
	event_enable(fd);
	precise_loop(ROUNDS, XMM_VALUE);
	event_disable(fd);
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

/* Two events with records, and one without in between. */
static bool two_events_are_exact(void)
{
	static const uint64_t periods[] = { 997, 0, 487 };
	struct perf_event_attr attr[3];
	struct tally t[3] = { 0 };
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
	ioctl(fd[0], PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
	precise_loop(ROUNDS, XMM_VALUE);
	ioctl(fd[0], PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
	exact = max_precise > 1;
	for (unsigned int i = 0; i < 3; i += 2) {
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
	uint32_t a, b, c, d, model;

	__cpuid(1, a, b, c, d);
	model = (a >> 4 & 15) | (a >> 12 & 0xf0);
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

#define STORE_REGISTERS		12	/* of the PMU model's statistics; the debug store */
#define PRECISE_REGISTERS	13

/* Register writes of switches to a task without events and back. */
static bool switches_write(unsigned int precise, uint64_t writes)
{
	struct gate go = gate_new(), back = gate_new();
	struct accesses before[2], after[2];
	struct perf_event_attr attr;
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
	take_turns(&go, &back, TURNS, run_mine);
	for (int i = 0; i < 2; i++)
		after[i] = stats_of(STORE_REGISTERS + i);
	close(fd);
	kill_child(other);
	return expect_eq("reads of PEBS registers", after[1].reads - before[1].reads, 0) &
	       expect_eq("writes of PEBS registers", after[1].writes - before[1].writes, writes);
}

/* At precision 1: the branch records of higher ones are written at a switch on old parts. */
static bool switches_write_nothing(void)
{
	need_precise();
	return switches_write(1, 0) & switches_write(0, 0);
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
		wrong += s.intr_regs[2] != XMM_VALUE || s.intr_regs[3];
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

/* The event's samples of loads from load_data are in @ring. */
static void sample_loads(int fd, struct ring *ring)
{
	if (!ring_map(ring, fd, 64))
		fail_case("mmap");
	memset(load_data, 0, sizeof(load_data));
	event_enable(fd);
	for (int i = 0; i < 200; i++)
		load_words(load_data, sizeof(load_data) / STRIDE);
	event_disable(fd);
}

/* The machine's rule for the cycles that a load takes. */
static uint64_t cycles_of_load(uint64_t address)
{
	return 4 << (address >> 10 & 7);
}

/* Only loads above the threshold are events; each sample has the address that RSI had. */
static bool loads_have_their_data(void)
{
	unsigned int samples = 0, wrong = 0, outside = 0;
	struct perf_event_header *h;
	struct perf_event_attr attr;
	struct ring ring;
	int fd;

	need_precise();
	attr = precise_attr(0, max_precise < 2 ? max_precise : 2);
	attr.type = PERF_TYPE_RAW;
	attr.config = select_of_file(EVENTS "mem-loads");
	if (!attr.config)
		return expect_eq("an event mem-loads of Core 2 alone is missing",
				 access(EVENTS "mem-stores", F_OK), -1);
	attr.config1 = LDLAT;
	attr.sample_period = 37;
	attr.sample_type |= PERF_SAMPLE_ADDR | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC;
	if (!access(EVENTS "mem-loads-aux", F_OK)) {
		if (!expect_refused("the source without mem-loads-aux",
				    perf_open(&attr, 0, -1, -1, 0), ENODATA, "DATA_SRC"))
			return false;
		attr.sample_type &= ~PERF_SAMPLE_DATA_SRC;
	}
	fd = open_self(&attr, -1);
	sample_loads(fd, &ring);
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		union perf_mem_data_src source;
		uint64_t cycles;
		struct sample s;

		sample_parse(&s, h, &attr);
		source.val = s.data_src;
		samples++;
		if (s.addr - (uint64_t)load_data >= sizeof(load_data)) {
			outside++;
			continue;
		}
		cycles = cycles_of_load(s.addr);
		/* Where there are two latencies, that of the caches is half of the other. */
		wrong += s.addr != s.intr_regs[0] || cycles <= LDLAT ||
			 (s.weight != cycles && s.weight != cycles / 2) ||
			 (s.data_src && source.mem_op != PERF_MEM_OP_LOAD);
	}
	return expect(samples > 50 && outside * 10 <= samples, "%u samples, %u of other data",
		      samples, outside) &
	       expect_eq("samples with wrong data", wrong, 0);
}

/* Each sample of the event's loads has the address that RSI had. */
static bool load_samples_have_address(int fd, const struct perf_event_attr *attr)
{
	unsigned int samples = 0, wrong = 0;
	struct perf_event_header *h;
	struct ring ring;

	sample_loads(fd, &ring);
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		struct sample s;

		sample_parse(&s, h, attr);
		if (s.intr_regs[0] - (uint64_t)load_data >= sizeof(load_data))
			continue;
		samples++;
		wrong += s.addr != s.intr_regs[0];
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

static const struct test tests[] = {
	{ "instructions: each sample is at the end of its period", instructions_are_exact },
	{ "cycles: each sample is at the end of its period", cycles_are_exact },
	{ "samples at a frequency have the registers of their instruction", frequencies_are_exact },
	{ "two precise events of a group and a counting one are exact", two_events_are_exact },
	{ "a task's precise samples are its own, and none is lost", tasks_have_their_own },
	{ "a switch with precise samples accesses no register of theirs", switches_write_nothing },
	{ "a call chain begins at the instruction of its sample", chains_begin_there },
	{ "samples of user space and of the kernel have their addresses", levels_are_kept },
	{ "XMM registers are sampled where records have them", xmm_is_sampled },
	{ "loads have their address and latency", loads_have_their_data },
	{ "any precise event of loads has their addresses", records_have_addresses },
	{ "events with a threshold, edges or inversion", modified_events },
	{ "what no precise sample has is refused", refusals },
};

TESTS_MAIN(tests)
#else
TESTS_MAIN_SKIPPED("precise samples of x86", "not an x86")
#endif
