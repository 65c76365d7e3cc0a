// SPDX-License-Identifier: GPL-2.0
/*
 * Instruction based sampling of AMD (ibs_op, ibs_fetch): the instruction, the data and the period
 * of each sample of known loops. Instructions are the clock of the machine. The kernel's are
 * counted, too, so that a sample is identified by its registers, which are those after the
 * instruction. How many the kernel executes is counted by the core's PMU at the same time.
 */
#include "harness.h"

#ifdef __x86_64__
#include "x86_ibs.h"

#define DEVICES		"/sys/bus/event_source/devices/"

/* ------------------------------------------------------- instructions and periods */

#define MOST_SHORT	0x40000

/*
 * What the samples of a loop show. A step is the instructions from one sample in the loop to the
 * next; it is short of what the counter has counted, and the sampled instruction, by those of the
 * kernel in between.
 */
struct steps {
	unsigned int	samples, inside, wrong, inexact, other_records, other_periods;
	unsigned int	steps, too_long, commonest;
	bool		fetches;
	uint64_t	count, period, length, control, kernel_between;
	struct insns	insns;
	unsigned int	short_by[MOST_SHORT + 16];
};

static struct steps loop_steps, more_steps;

static void count_step(struct steps *t, int64_t step)
{
	int64_t kernel = t->length + 1 - step;

	t->steps++;
	if (kernel < 0) {
		t->too_long++;
		return;
	}
	t->kernel_between += kernel;
	if (kernel < MOST_SHORT && ++t->short_by[kernel] > t->short_by[t->commonest])
		t->commonest = kernel;
}

static void count_sample(struct steps *t, const struct sample *s, int64_t *last)
{
	int64_t insn;

	t->samples++;
	t->other_periods += s->period && s->period != t->period;
	if (s->raw) {
		const struct raw_op *raw = (void *)s->raw;

		t->length = t->fetches ? (raw->ctl & 0xffff) << 4 :
			    op_length(raw->ctl, t->control);
		t->control = raw->ctl;
	}
	if (point_of(precise_loop_points, s->ip) < 0) {
		*last = -1;
		return;
	}
	insn = insn_of(s, precise_loop_points, SAMPLED_ROUNDS, true);
	if (insn < 0) {
		if (!t->wrong++)
			ktap_note("sample %u at %#lx: rsi %#lx, rcx %#lx", t->samples, (long)s->ip,
				  (long)s->intr_regs[REG_SI], (long)s->intr_regs[REG_CX]);
		return;
	}
	t->inside++;
	if (*last >= 0)
		count_step(t, insn - *last);
	*last = insn;
}

static void sample_loop(struct perf_event_attr *attr, struct steps *t)
{
	struct perf_event_header *h;
	struct ring ring;
	int64_t last = -1;
	int fd;

	memset(t, 0, sizeof(*t));
	t->period = SAMPLED_PERIOD;
	t->length = SAMPLED_PERIOD;
	t->fetches = (int)attr->type == perf_pmu_type("ibs_fetch");
	fd = open_self(attr, -1);
	if (!ring_map(&ring, fd, 64))
		fail_case("mmap");
	insns_begin(&t->insns);
	event_enable(fd);
	precise_loop(SAMPLED_ROUNDS, XMM_VALUE);
	event_disable(fd);
	insns_end(&t->insns);
	t->count = perf_count(fd);
	while ((h = ring_next(&ring))) {
		struct sample s;

		if (h->type != PERF_RECORD_SAMPLE) {
			t->other_records++;
			continue;
		}
		t->inexact += !(h->misc & PERF_RECORD_MISC_EXACT_IP);
		sample_parse(&s, h, attr);
		count_sample(t, &s, &last);
	}
	ring_unmap(&ring);
	close(fd);
}

/*
 * The count is the periods of the samples, and the rest; the last sample can be early. It has all
 * instructions of user space, and some of the kernel, but not those that were sampled.
 */
static bool count_is_right(const char *what, uint64_t count, unsigned int samples, uint64_t loop,
			   const struct insns *insns)
{
	return expect_between(what, samples, count / SAMPLED_PERIOD,
			      (count + MOST_LATE) / SAMPLED_PERIOD) &
	       expect_between("count", count + samples, loop, insns->user + insns->kernel);
}

/*
 * Each sample in the loop is of the instruction that its registers name. No two are further apart
 * than was counted, and the instruction that is sampled, unless the kernel had a sample in between.
 */
static bool steps_are_right(const char *what, const struct steps *t)
{
	return count_is_right(what, t->count, t->samples, SAMPLED_ROUNDS * ROUND, &t->insns) &
	       expect(t->inside >= MOST_OF(t->samples), "%s: %u of %u samples in the loop", what,
		      t->inside, t->samples) &
	       expect_eq("registers that are not those of the instruction", t->wrong, 0) &
	       expect_eq("addresses that are not exact", t->inexact, 0) &
	       expect_eq("other records", t->other_records, 0) &
	       expect_eq("other periods", t->other_periods, 0) &
	       expect_eq("steps of more than was counted", t->too_long, 0) &
	       expect_between("instructions of the kernel between samples", t->kernel_between, 1,
			      t->insns.kernel);
}

/* After nearly all samples the kernel executes as many instructions until the next period. */
static bool steps_are_alike(const struct steps *t)
{
	return expect(t->short_by[t->commonest] * 10 >= t->steps * 9, "%u of %u steps are alike",
		      t->short_by[t->commonest], t->steps);
}

/* Ops count with @config CNT_CTL; without it cycles do, and an instruction is a cycle. */
static bool samples_are_exact(const char *what, const char *pmu, uint64_t config)
{
	struct perf_event_attr attr;

	need_ibs();
	attr = ibs_attr(pmu, config);
	attr.sample_type |= PERF_SAMPLE_PERIOD;
	sample_loop(&attr, &loop_steps);
	return steps_are_right(what, &loop_steps) & steps_are_alike(&loop_steps);
}

static bool ops_are_exact(void)
{
	return samples_are_exact("ops", "ibs_op", CNT_CTL);
}

static bool cycles_are_exact(void)
{
	return samples_are_exact("cycles", "ibs_op", 0);
}

static bool fetches_are_exact(void)
{
	return samples_are_exact("fetches", "ibs_fetch", 0);
}

/* The low bits of a period are dropped. */
static bool periods_are_rounded(void)
{
	struct perf_event_attr attr;

	need_ibs();
	attr = ibs_attr("ibs_op", CNT_CTL);
	attr.sample_period += 7;
	attr.sample_type |= PERF_SAMPLE_PERIOD;
	sample_loop(&attr, &loop_steps);
	return steps_are_right("samples of a rounded period", &loop_steps);
}

/* Of 16 random periods each begins with another number from 0 to 15, whatever its maximum is. */
static bool random_periods_are_alike(void)
{
	struct steps *fixed = &loop_steps, *random = &more_steps;
	struct perf_event_attr attr;
	unsigned int n;
	bool good;

	need_ibs();
	attr = ibs_attr("ibs_fetch", 0);
	sample_loop(&attr, fixed);
	attr.config = FETCH_RAND;
	attr.sample_type |= PERF_SAMPLE_RAW;
	sample_loop(&attr, random);
	n = fixed->commonest;
	good = steps_are_right("fixed periods", fixed) &
	       steps_are_right("random periods", random) & steps_are_alike(fixed);
	for (unsigned int i = 0; i < 16; i++)
		good &= expect_between("steps that are shorter by such a number",
				       random->short_by[n + i], random->steps * 9 / 160,
				       random->samples / 16 + 1);
	return good;
}

/* The maximum is in config where there is no period, and the period that the samples have. */
static bool config_has_the_period(void)
{
	struct perf_event_attr attr;

	need_ibs();
	attr = ibs_attr("ibs_op", CNT_CTL | SAMPLED_PERIOD >> 4);
	attr.sample_period = 0;
	attr.sample_type |= PERF_SAMPLE_PERIOD;
	sample_loop(&attr, &loop_steps);
	return steps_are_right("samples", &loop_steps);
}

/* ------------------------------------------------------------ of the core PMU */

static bool precise_is_handed_on(const char *what, uint32_t type, uint64_t config)
{
	struct perf_event_attr attr = ibs_attr("ibs_op", 0);
	bool good = true;

	attr.type = type;
	attr.config = config;
	attr.sample_type |= PERF_SAMPLE_PERIOD;
	for (attr.precise_ip = 1; attr.precise_ip <= 2; attr.precise_ip++) {
		sample_loop(&attr, &loop_steps);
		good &= steps_are_right(what, &loop_steps);
	}
	return good & expect_refused(what, perf_open(&attr, 0, -1, -1, 0), EOPNOTSUPP,
				     "precise_ip");
}

static bool precise_events_are_ops(void)
{
	struct perf_event_attr attr;

	need_ibs();
	attr = ibs_attr("ibs_op", 0);
	attr.type = PERF_TYPE_HARDWARE;
	attr.config = PERF_COUNT_HW_INSTRUCTIONS;
	attr.precise_ip = 1;
	return precise_is_handed_on("cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES) &
	       precise_is_handed_on("raw cycles", PERF_TYPE_RAW, 0x76) &
	       precise_is_handed_on("raw ops", PERF_TYPE_RAW, 0xc1) &
	       expect_refused("instructions", perf_open(&attr, 0, -1, -1, 0), EOPNOTSUPP,
			      "precise_ip");
}

/* ---------------------------------------------------------------------- data */

#define STRIDE		0x440
#define WORDS		1000
#define LAPS		(400 * scale)
#define MEMORY_ROUND	7

/* Each round loads, stores and does both; RSI and RDI are the addresses. */
asm(".pushsection .text\n"
	"memory_loop:\n"
	"20:	mov (%rsi), %eax\n"
	"21:	mov %ax, (%rdi)\n"
	"22:	lock decl (%rsi)\n"
	"23:	add %rdx, %rsi\n"
	"24:	add %rdx, %rdi\n"
	"25:	dec %rcx\n"
	"26:	jnz 20b\n"
	"	ret\n"
	"memory_points: .long 20b, 21b, 22b, 23b, 24b, 25b, 26b\n"
	".popsection");
void memory_loop(char *to, char *from, unsigned long stride, unsigned long rounds);
extern const uint32_t memory_points[MEMORY_ROUND];

static char from[WORDS * STRIDE + 8] __aligned(32768);
static char to[WORDS * STRIDE + 8] __aligned(32768);

/* The machine's rules for what is at an address; tools/testing/qemu/README.md has them. */
static uint64_t latency_at(uint64_t address)
{
	return 4 << (address >> 10 & 7);
}

static unsigned int code_at(uint64_t address)
{
	return address >> 6 & 15;
}

/* Level of the cache; 4: none has it. */
static unsigned int level_at(uint64_t address)
{
	unsigned int code = code_at(address);

	return code == 0 || code >= 8 ? 4 : code >= 4 ? 3 : code >= 2 ? 2 : 1;
}

#define LVL(name)	PERF_MEM_LVLNUM_##name

/* Where a load finds what is beyond L2, by the code of the address; 0: it is in L1 or L2. */
static unsigned int beyond_l2(unsigned int code)
{
	static const unsigned char older[] = {
		LVL(RAM), 0, 0, 0, LVL(L3), LVL(L3), LVL(L3), LVL(L3), LVL(ANY_CACHE),
		LVL(ANY_CACHE), LVL(RAM), LVL(RAM), LVL(RAM), LVL(RAM), LVL(IO), LVL(IO),
	}, zen4[] = {
		LVL(RAM), 0, 0, 0, LVL(L3), LVL(L3), LVL(L3), LVL(L3), LVL(ANY_CACHE),
		LVL(ANY_CACHE), LVL(RAM), LVL(RAM), LVL(PMEM), LVL(CXL), LVL(IO), LVL(NA),
	};

	return ibs_caps() & HAS_ZEN4 ? zen4[code] : older[code];
}

static unsigned int level_number(uint64_t address, bool load)
{
	unsigned int level = level_at(address);

	if (level == 1)
		return LVL(L1);
	if (level == 2)
		return ibs_caps() & HAS_L2 ? LVL(L2) : LVL(NA);
	return load ? beyond_l2(code_at(address)) : code_at(address) == 14 ? LVL(UNC) : LVL(NA);
}

static bool is_remote(uint64_t address, bool load)
{
	return load && 1 << code_at(address) & (1 << 8 | 1 << 9 | 1 << 11 | 1 << 13);
}

/* From Zen to Zen 3 one code is that of all other caches. */
static unsigned int hops_at(uint64_t address, bool load)
{
	bool zen = ibs_caps() & HAS_L2, zen4 = ibs_caps() & HAS_ZEN4;

	if (!is_remote(address, load))
		return 0;
	return code_at(address) == 8 && (!zen || zen4) ? PERF_MEM_HOPS_0 : PERF_MEM_HOPS_1;
}

static unsigned int snoop_at(uint64_t address, bool load)
{
	bool has_state = (ibs_caps() & (HAS_L2 | HAS_ZEN4)) != HAS_L2;	/* not Zen 3 */
	unsigned int code = load && has_state ? code_at(address) : 0;

	return code == 8 ? PERF_MEM_SNOOP_HITM : code == 9 ? PERF_MEM_SNOOP_HIT : PERF_MEM_SNOOP_NA;
}

static unsigned int tlb_at(uint64_t address)
{
	if (!(address >> 13 & 1))
		return PERF_MEM_TLB_L1 | PERF_MEM_TLB_HIT;
	return PERF_MEM_TLB_L2 | (address >> 14 & 1 ? PERF_MEM_TLB_MISS : PERF_MEM_TLB_HIT);
}

/* An instruction of the loop and its access. */
struct access {
	uint64_t	address;
	bool		load, locked;
};

static struct access access_of(const struct sample *s)
{
	if (s->ip == memory_points[0])
		return (struct access){ s->intr_regs[REG_SI], true, false };
	if (s->ip == memory_points[1])
		return (struct access){ s->intr_regs[REG_DI], false, false };
	if (s->ip == memory_points[2])
		return (struct access){ s->intr_regs[REG_SI], true, true };
	return (struct access){ 0 };
}

static bool source_is_right(uint64_t val, const struct access *a)
{
	union perf_mem_data_src source = { .val = val };

	if (!a->address)
		return source.mem_op == PERF_MEM_OP_NA && source.mem_lvl == PERF_MEM_LVL_NA &&
		       source.mem_snoop == PERF_MEM_SNOOP_NA && source.mem_dtlb == PERF_MEM_TLB_NA;
	return source.mem_op == (a->load ? PERF_MEM_OP_LOAD : PERF_MEM_OP_STORE) &&
	       source.mem_lvl_num == level_number(a->address, a->load) &&
	       source.mem_remote == is_remote(a->address, a->load) &&
	       source.mem_hops == hops_at(a->address, a->load) &&
	       source.mem_snoop == snoop_at(a->address, a->load) &&
	       source.mem_dtlb == tlb_at(a->address) &&
	       source.mem_lock == (a->locked ? PERF_MEM_LOCK_LOCKED : PERF_MEM_LOCK_NA);
}

/* The latency of the access, and behind it the cycles from the tag to the retirement. */
static uint64_t weight_of(const struct sample *s, const struct access *a, bool two)
{
	uint64_t latency;

	if (!a->load || level_at(a->address) == 1)
		return 0;
	latency = latency_at(a->address);
	return two ? latency | ((s->ip & 15) + 1 + latency) << 32 : latency;
}

struct data_tally {
	unsigned int	samples, inside, kinds[3], codes, address, source, weight, physical, raw;
	uint64_t	count;
	struct insns	insns;
};

/* The registers are in the record as they are numbered, from the control register on. */
static bool raw_is_right(const struct sample *s, uint64_t address)
{
	const struct raw_op *raw = (void *)s->raw;
	unsigned int more = !!(ibs_caps() & 1 << 5) + !!(ibs_caps() & 1 << 10);

	return s->raw_size == sizeof(*raw) + 8 * more && raw->caps == ibs_caps() &&
	       raw->rip == s->ip && (raw->ctl >> 17 & 7) == 7 && raw->linear == address &&
	       (!address || raw->physical == s->phys_addr);
}

static void check_data(const struct sample *s, const struct perf_event_attr *attr,
		       struct data_tally *t)
{
	struct access a = access_of(s);
	bool two = attr->sample_type & PERF_SAMPLE_WEIGHT_STRUCT;

	t->samples++;
	if (s->ip < memory_points[0] || s->ip > memory_points[MEMORY_ROUND - 1])
		return;
	t->inside++;
	if (a.address) {
		t->kinds[a.locked ? 2 : !a.load]++;
		t->codes |= 1u << code_at(a.address);
	}
	t->address += s->addr != a.address;
	t->weight += s->weight != weight_of(s, &a, two);
	t->physical += a.address ? !s->phys_addr || (s->phys_addr ^ a.address) & 4095 :
		       !!s->phys_addr;
	t->raw += !raw_is_right(s, a.address);
	if (!source_is_right(s->data_src, &a) && !t->source++)
		ktap_note("source %#lx at %#lx, which is that of %#lx", (long)s->data_src,
			  (long)s->ip, (long)a.address);
}

static void sample_memory(struct perf_event_attr *attr, struct data_tally *t)
{
	struct perf_event_header *h;
	struct ring ring;
	int fd;

	memset(t, 0, sizeof(*t));
	memset(from, 0, sizeof(from));
	memset(to, 0, sizeof(to));
	fd = open_self(attr, -1);
	if (!ring_map(&ring, fd, 128))
		fail_case("mmap");
	insns_begin(&t->insns);
	event_enable(fd);
	for (unsigned int i = 0; i < LAPS; i++)
		memory_loop(to, from, STRIDE, WORDS);
	event_disable(fd);
	insns_end(&t->insns);
	t->count = perf_count(fd);
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		struct sample s;

		if (!sample_parse(&s, h, attr))
			fail_case("a sample");
		check_data(&s, attr, t);
	}
	ring_unmap(&ring);
	close(fd);
}

static struct perf_event_attr data_attr(uint64_t weight)
{
	struct perf_event_attr attr = ibs_attr("ibs_op", CNT_CTL);

	attr.sample_type |= PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_PHYS_ADDR |
			    PERF_SAMPLE_RAW | weight;
	return attr;
}

static bool data_are_exact(uint64_t weight)
{
	struct perf_event_attr attr = data_attr(weight);
	struct data_tally t;

	sample_memory(&attr, &t);
	return count_is_right("samples", t.count, t.samples, LAPS * WORDS * MEMORY_ROUND,
			      &t.insns) &
	       expect(t.inside >= MOST_OF(t.samples), "%u of %u samples in the loop", t.inside,
		      t.samples) &
	       expect(t.kinds[0] > 50 && t.kinds[1] > 50 && t.kinds[2] > 50,
		      "%u loads, %u stores, %u of both", t.kinds[0], t.kinds[1], t.kinds[2]) &
	       expect_eq("codes of sources", t.codes, 0xffff) &
	       expect_eq("wrong addresses", t.address, 0) &
	       expect_eq("wrong physical addresses", t.physical, 0) &
	       expect_eq("wrong sources", t.source, 0) & expect_eq("wrong weights", t.weight, 0) &
	       expect_eq("wrong raw records", t.raw, 0);
}

static bool samples_have_their_data(void)
{
	need_ibs();
	return data_are_exact(PERF_SAMPLE_WEIGHT);
}

static bool weights_have_two_latencies(void)
{
	need_ibs();
	return data_are_exact(PERF_SAMPLE_WEIGHT_STRUCT);
}

/* ------------------------------------------------------------------- L3 misses */

/* Samples that a filter has left: all, those that L3 had, those with a wrong or the next latency */
struct loads {
	unsigned int	samples, cached, wrong, next;
};

/* The model's latencies are 4 and its doubles. */
static unsigned int latency_above(unsigned int cycles)
{
	return 1u << (32 - __builtin_clz(cycles | 3));
}

static struct loads sample_loads(struct perf_event_attr *attr, unsigned int cycles)
{
	struct perf_event_header *h;
	struct loads l = { };
	struct ring ring;
	int fd;

	memset(from, 0, sizeof(from));
	memset(to, 0, sizeof(to));
	fd = open_self(attr, -1);
	if (!ring_map(&ring, fd, 128))
		fail_case("mmap");
	event_enable(fd);
	for (unsigned int i = 0; i < 4 * LAPS; i++)
		memory_loop(to, from, STRIDE, WORDS);
	event_disable(fd);
	for (; (h = ring_find(&ring, PERF_RECORD_SAMPLE)); l.samples++) {
		struct sample s;

		sample_parse(&s, h, attr);
		l.cached += !s.addr || level_at(s.addr) < 4;
		l.wrong += s.weight <= cycles || s.weight != latency_at(s.addr);
		l.next += s.weight == latency_above(cycles);
	}
	ring_unmap(&ring);
	close(fd);
	return l;
}

static bool ops_have_missed(void)
{
	struct perf_event_attr attr = data_attr(PERF_SAMPLE_WEIGHT);
	struct loads l;

	attr.config |= OP_L3_MISS;
	l = sample_loads(&attr, 0);
	/* 2 of 7 are loads, of which 9 in 16 miss; a period follows each that does not. */
	return expect_between("ops that have missed L3", l.samples, 160, 800) &
	       expect_eq("ops that have not", l.cached, 0);
}

static bool fetches_have_missed(void)
{
	struct perf_event_attr attr = ibs_attr("ibs_fetch", FETCH_L3_MISS);
	unsigned int samples = 0, hits = 0;
	struct perf_event_header *h;
	struct ring ring;
	int fd;

	attr.sample_period = 1024 * scale;
	fd = open_self(&attr, -1);
	if (!ring_map(&ring, fd, 128))
		fail_case("mmap");
	event_enable(fd);
	for (unsigned int i = 0; i < 20000; i++)
		getppid();
	event_disable(fd);
	for (; (h = ring_find(&ring, PERF_RECORD_SAMPLE)); samples++) {
		struct sample s;

		sample_parse(&s, h, &attr);
		hits += level_at(s.ip) < 4;
	}
	ring_unmap(&ring);
	close(fd);
	return expect(samples > 100, "%u fetches that have missed L3", samples) &
	       expect_eq("fetches that have not", hits, 0);
}

static bool misses_can_be_selected(void)
{
	struct perf_event_attr attr;

	need_ibs();
	if (ibs_caps() & HAS_ZEN4)
		return ops_have_missed() & fetches_have_missed();
	attr = ibs_attr("ibs_op", OP_L3_MISS);
	if (!expect_refused("ops", perf_open(&attr, 0, -1, -1, 0), EINVAL, "config"))
		return false;
	attr = ibs_attr("ibs_fetch", FETCH_L3_MISS);
	return expect_refused("fetches", perf_open(&attr, 0, -1, -1, 0), EINVAL, "config");
}

static bool loads_are_slower(unsigned int cycles)
{
	struct perf_event_attr attr = data_attr(PERF_SAMPLE_WEIGHT);
	struct loads l;

	attr.config1 = cycles;
	l = sample_loads(&attr, cycles);
	return expect(cycles >= 512 ? !l.samples : l.next > 4, "above %u: %u samples, %u of %u",
		      cycles, l.samples, l.next, latency_above(cycles)) &
	       expect_eq("faster ones", l.wrong, 0) &
	       expect_eq("cached, by erratum 1606", l.cached, 0);
}

static bool slow_loads_can_be_selected(void)
{
	static const unsigned int cycles[] = { 128, 200, 256, 300, 511, 512, 2048 };
	struct perf_event_attr attr;
	bool good;

	need_ibs();
	attr = data_attr(PERF_SAMPLE_WEIGHT);
	attr.config1 = 127;
	if (!(ibs_caps() & HAS_LDLAT))
		return expect(!close(open_self(&attr, -1)), "config1 is not ignored");
	good = expect_refused("127", perf_open(&attr, 0, -1, -1, 0), EINVAL, "config1");
	attr.config1 = 2049;
	good &= expect_refused("2049", perf_open(&attr, 0, -1, -1, 0), EINVAL, "config1");
	for (unsigned int i = 0; i < ARRAY_SIZE(cycles); i++)
		good &= loads_are_slower(cycles[i]);
	return good;
}

static bool files_say_what_there_is(void)
{
	static const struct {
		const char	*path, *text;
		uint64_t	needs;		/* bits of CPUID 8000_001BH:EAX */
	} files[] = {
		{ "ibs_op/format/cnt_ctl", "config:19" },
		{ "ibs_op/format/l3missonly", "config:16", HAS_ZEN4 },
		{ "ibs_op/format/ldlat", "config1:0-11", HAS_LDLAT },
		{ "ibs_op/caps/ldlat", "1", HAS_LDLAT },
		{ "ibs_op/caps/zen4_ibs_extensions", "1", HAS_ZEN4 },
		{ "ibs_fetch/format/rand_en", "config:57" },
		{ "ibs_fetch/format/l3missonly", "config:59", HAS_ZEN4 },
		{ "ibs_fetch/caps/zen4_ibs_extensions", "1", HAS_ZEN4 },
	};
	bool good = true;

	need_ibs();
	for (unsigned int i = 0; i < ARRAY_SIZE(files); i++) {
		char path[128], line[32] = "";

		snprintf(path, sizeof(path), DEVICES "%s", files[i].path);
		read_line(path, line, sizeof(line));
		if (files[i].needs & ~ibs_caps())
			good &= expect(access(path, F_OK), "%s is there", path);
		else
			good &= expect(!strcmp(line, files[i].text), "%s: \"%s\"", path, line);
	}
	return good;
}

/* ----------------------------------------------------------------------- tasks */

#define INTERRUPTS	9	/* of the PMU model's statistics */
#define TASK_TURNS	(10 * TURNS)
#define STOPS		(2 * TASK_TURNS)
/* Instructions in which a stop has begun, and the counter is not read yet. */
#define BEGIN_INSNS	8
/* Those until it has been disabled. */
#define STOP_INSNS	64

/* Instructions from a sample to the start of the next period, which are not counted. */
static uint64_t insns_to_restart(struct perf_event_attr *attr)
{
	const struct insns *insns = &loop_steps.insns;

	sample_loop(attr, &loop_steps);
	return (insns->user + insns->kernel - loop_steps.count) / loop_steps.samples;
}

/*
 * The rest of a period continues after a switch: the samples are the periods in the counts, but for
 * those that end where a stop begins. A period ends early with less than 144 events left. Counts
 * are all instructions but those in the handlers, and a few in the switches. An interrupt finds no
 * sample if the sampled instruction is one of those that stop the counter.
 */
static bool tasks_have_their_own(void)
{
	uint64_t interrupts, samples, insns = 0, count = 0, least = 0, most = 0, dead;
	struct perf_event_attr attr;
	struct turner *t;
	bool good;

	need_ibs();
	attr = ibs_attr("ibs_op", CNT_CTL);
	dead = insns_to_restart(&attr);
	t = two_turners();
	for (int i = 0; i < 2; i++) {
		t[i].exact = true;
		t[i].counts_insns = true;
		t[i].period = 2048 * scale;
	}
	interrupts = stats_of(INTERRUPTS).writes;
	good = take_own_turns(t, &attr, TASK_TURNS);
	interrupts = stats_of(INTERRUPTS).writes - interrupts;
	samples = t[0].samples + t[1].samples;
	for (int i = 0; i < 2; i++) {
		insns += t[i].insns.user + t[i].insns.kernel;
		count += t[i].count;
		least += t[i].count / t[i].period;
		most += (t[i].count + 143) / t[i].period;
	}
	return good & expect_near("count", count, insns - interrupts * dead,
				  STOPS * t[0].period / (scale > 1 ? 2 : 8)) &
	       expect_between("samples", samples, least - STOPS * BEGIN_INSNS / t[0].period,
			      most) &
	       expect_between("interrupts", interrupts, samples,
			      samples + STOPS * STOP_INSNS * scale / t[0].period);
}

/* ---------------------------------------------------------------------- errors */

#define ATTR(...)	{ .sample_period = IBS_PERIOD, __VA_ARGS__ }

/* The stock kernel answers with the same numbers. */
static const struct {
	const char		*name;
	bool			fetch;
	int			error;
	struct perf_event_attr	attr;
	const char		*reason;
} requests[] = {
	{ "a period", false, 0, ATTR() },
	{ "a period of fetches", true, 0, ATTR() },
	{ "ops", false, 0, ATTR(.config = CNT_CTL) },
	{ "random fetches", true, 0, ATTR(.config = FETCH_RAND) },
	{ "a frequency", false, 0, { .freq = 1, .sample_freq = 1000 } },
	{ "inherited", false, 0, ATTR(.inherit = 1) },
	{ "pinned", false, 0, ATTR(.pinned = 1) },
	{ "a maximum", false, 0, { .config = 0x100 } },
	{ "no period", false, EINVAL, { .config = 0 }, "sample_period" },
	{ "no period of fetches", true, EINVAL, { .config = 0 }, "sample_period" },
	{ "a period and a maximum", false, EINVAL, ATTR(.config = 0x100), "config" },
	{ "a period of 8", true, 0, { .sample_period = 8 } },
	{ "a period of 8 ops", false, 0, { .sample_period = 8 } },
	{ "the enable bit", false, EINVAL, ATTR(.config = 1 << 17), "config" },
	{ "the valid bit", false, EINVAL, ATTR(.config = 1 << 18), "config" },
	{ "a count", false, EINVAL, ATTR(.config = 1ull << 32), "config" },
	{ "the enable bit of fetches", true, EINVAL, ATTR(.config = 1ull << 48), "config" },
	{ "a bit of ops for fetches", true, EINVAL, ATTR(.config = CNT_CTL), "config" },
	{ "exclude_user", false, EINVAL, ATTR(.exclude_user = 1), "exclude" },
	{ "exclude_kernel", true, EINVAL, ATTR(.exclude_kernel = 1), "exclude" },
	{ "exclude_hv", false, EINVAL, ATTR(.exclude_hv = 1), "exclude" },
	{ "exclude_idle", false, EINVAL, ATTR(.exclude_idle = 1), "exclude" },
	{ "exclude_host", false, EINVAL, ATTR(.exclude_host = 1), "exclude" },
	{ "exclude_guest", false, EINVAL, ATTR(.exclude_guest = 1), "exclude" },
};

static bool requests_are_answered(void)
{
	bool good = true;

	need_ibs();
	for (unsigned int i = 0; i < ARRAY_SIZE(requests); i++) {
		struct perf_event_attr attr = requests[i].attr;
		int fd;

		attr.type = perf_pmu_type(requests[i].fetch ? "ibs_fetch" : "ibs_op");
		attr.size = sizeof(attr);
		attr.disabled = 1;
		attr.sample_type = PERF_SAMPLE_IP;
		fd = perf_open(&attr, 0, -1, -1, 0);
		if (requests[i].error)
			good &= expect_refused(requests[i].name, fd, requests[i].error,
					       requests[i].reason);
		else
			good &= expect_errno(requests[i].name, fd, 0);
		if (fd >= 0)
			close(fd);
	}
	return good;
}

/* Events of two PMUs with counters are in no group, either. */
static bool groups_have_one(void)
{
	struct perf_event_attr soft = sw_attr(PERF_COUNT_SW_PAGE_FAULTS), op, fetch;
	int of_soft, of_op;

	need_ibs();
	op = ibs_attr("ibs_op", 0);
	fetch = ibs_attr("ibs_fetch", 0);
	of_soft = MUST(perf_open(&soft, 0, -1, -1, 0));
	of_op = MUST(perf_open(&op, 0, -1, -1, 0));
	return expect_errno("page faults and ops", perf_open(&op, 0, -1, of_soft, 0), 0) &
	       expect_refused("ops again", perf_open(&op, 0, -1, of_soft, 0), EINVAL, "group") &
	       expect_errno("ops and page faults", perf_open(&soft, 0, -1, of_op, 0), 0) &
	       expect_refused("ops and ops", perf_open(&op, 0, -1, of_op, 0), EINVAL, "group") &
	       expect_refused("ops and fetches", perf_open(&fetch, 0, -1, of_op, 0), EINVAL,
			      "group");
}

static const struct test tests[] = {
	{ "ops: each sample is of the instruction that its registers say", ops_are_exact },
	{ "cycles: each sample is of the instruction that its registers say", cycles_are_exact },
	{ "fetches: each sample is of the instruction that its registers say", fetches_are_exact },
	{ "periods are multiples of 16", periods_are_rounded },
	{ "random periods differ in their low bits alone", random_periods_are_alike },
	{ "without a period config has it", config_has_the_period },
	{ "precise cycles and ops are those of ibs_op", precise_events_are_ops },
	{ "samples have address, source, latency and registers", samples_have_their_data },
	{ "a weight has two latencies", weights_have_two_latencies },
	{ "misses of L3 can be selected where the part can", misses_can_be_selected },
	{ "slow loads can be selected", slow_loads_can_be_selected },
	{ "files say what the part has", files_say_what_there_is },
	{ "a task's samples are its own", tasks_have_their_own },
	{ "each request has its errno", requests_are_answered },
	{ "a group has one event of each PMU", groups_have_one },
};

TESTS_MAIN(tests)
#else
TESTS_MAIN_SKIPPED("instruction based sampling", "not an x86")
#endif
