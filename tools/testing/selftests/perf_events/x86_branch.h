/* SPDX-License-Identifier: GPL-2.0 */
/* Branch records on x86: a program with known branches, and events that record them. */
#ifndef PERF_TEST_X86_BRANCH_H
#define PERF_TEST_X86_BRANCH_H

#include "events.h"
#include "files.h"
#include "harness.h"
#include "require.h"

#define CAPS_BRANCHES	"/sys/bus/event_source/devices/cpu/caps/branches"
#define CAPS_COUNTERS	"/sys/bus/event_source/devices/cpu/caps/branch_counter_nr"
#define PERIOD		997
#define ROUNDS		20000
#define FORM_ANY	(PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY)

/*
 * Each round of a loop has the same branches, in this order: a call and its return, an indirect
 * call and its return, an indirect jump, a jump, a conditional branch back. There are two loops.
 */
#define LOOP(name)						\
	asm(".pushsection .text\n"				\
	    ".globl " #name "\n" #name ":\n"			\
	    "	mov $20f, %eax\n"				\
	    "	mov $21f, %edx\n"				\
	    "10:	call 20f\n"				\
	    "	nop\n"						\
	    "11:	call *%rax\n"				\
	    "12:	jmp *%rdx\n"				\
	    "	nop\n"						\
	    "21:	nop\n"					\
	    "13:	jmp 22f\n"				\
	    "	nop\n"						\
	    "22:	dec %rdi\n"				\
	    "14:	jnz 10b\n"				\
	    "15:	ret\n"					\
	    "20:	nop\n"					\
	    "16:	ret\n"					\
	    ".globl " #name "_points\n"				\
	    #name "_points: .long 10b, 20b, 16b, 11b, 12b, 21b, 13b, 22b, 14b, 15b\n" \
	    ".popsection");					\
	void name(unsigned long rounds);			\
	extern const uint32_t name##_points[10]

LOOP(branch_loop);

enum { CALL, TARGET, RETURN, IND_CALL, IND_JUMP, PLACE, JUMP, TAIL, COND, END };

#define ROUND	7	/* branches of a round */

struct branch {
	uint64_t	from, to, flags;
};

/* Entries that the CPU records; need_branches(). */
static unsigned int depth;

/* The branches of a round in order; the first return ends 1 byte before the indirect call. */
static inline void branches_of(const uint32_t *at, struct branch *b)
{
	const struct branch round[ROUND] = {
		{ at[CALL], at[TARGET], PERF_SAMPLE_BRANCH_CALL },
		{ at[RETURN], at[IND_CALL] - 1, PERF_SAMPLE_BRANCH_ANY_RETURN },
		{ at[IND_CALL], at[TARGET], PERF_SAMPLE_BRANCH_IND_CALL },
		{ at[RETURN], at[IND_JUMP], PERF_SAMPLE_BRANCH_ANY_RETURN },
		{ at[IND_JUMP], at[PLACE], PERF_SAMPLE_BRANCH_IND_JUMP },
		{ at[JUMP], at[TAIL], 0 },
		{ at[COND], at[CALL], PERF_SAMPLE_BRANCH_COND },
	};

	memcpy(b, round, sizeof(round));
}

/* An interrupt of a debug kernel has more branches than a short period: nothing else would run. */
static inline void need_short_interrupts(void)
{
	if (kernel_function("kasan_report"))
		skip_case("a sample takes a debug kernel longer than a period");
}

static inline void need_branches(void)
{
	char line[32];

	if (read_line(CAPS_BRANCHES, line, sizeof(line)) <= 0)
		skip_case("no branch records");
	depth = atoi(line);
	/* No event is throttled. The rate cannot be set while there is no limit of the time. */
	sysctl_set("perf_cpu_time_max_percent", 25);
	sysctl_set("perf_event_max_sample_rate", 10000000);
	sysctl_set("perf_cpu_time_max_percent", 0);
}

#define ARCH_LBR_BIT	19	/* CPUID.7:EDX */
#define AMD_LBR_BIT	1	/* CPUID 8000_0022:EAX */

static inline bool records_are_amd(void)
{
	uint32_t a, b, c, d;

	return __get_cpuid(0x80000022, &a, &b, &c, &d) && a >> AMD_LBR_BIT & 1;
}

/* Is the newest entry in another register each time? */
static inline bool records_are_a_ring(void)
{
	uint32_t a, b, c, d;

	if (records_are_amd())
		return false;
	__cpuid_count(7, 0, a, b, c, d);
	return !(d >> ARCH_LBR_BIT & 1);
}

/* Parts with records that differ in what can be selected. */
enum {
	NO_RECORDS	= 1 << 0,
	NO_FILTER	= 1 << 1,	/* Core 2, Bonnell: software selects */
	NEHALEM		= 1 << 2,	/* and Silvermont: an erratum, no direct calls alone */
	SANDYBRIDGE	= 1 << 3,	/* and Knights Landing */
	WITH_STACK	= 1 << 4,	/* Haswell and later */
	AMD_V2		= 1 << 5,
	WITHOUT_STACK	= NO_FILTER | NEHALEM | SANDYBRIDGE | AMD_V2,
};

/* Models of family 6. */
#define INTEL_CORE2		15
#define INTEL_NEHALEM		26
#define INTEL_BONNELL		28
#define INTEL_SANDYBRIDGE	42
#define INTEL_SILVERMONT	55
#define INTEL_KNL		87

static inline unsigned int part_of_cpu(void)
{
	uint32_t a, b, c, d;

	if (access(CAPS_BRANCHES, F_OK))
		return NO_RECORDS;
	if (records_are_amd())
		return AMD_V2;
	__cpuid(1, a, b, c, d);
	switch ((a >> 4 & 0xf) | (a >> 12 & 0xf0)) {
	case INTEL_CORE2:
	case INTEL_BONNELL:
		return NO_FILTER;
	case INTEL_NEHALEM:
	case INTEL_SILVERMONT:
		return NEHALEM;
	case INTEL_SANDYBRIDGE:
	case INTEL_KNL:
		return SANDYBRIDGE;
	default:
		return WITH_STACK;
	}
}

/* Is a selection of kinds and options one that this part has to refuse? */
static inline bool part_lacks(uint64_t type)
{
	switch (part_of_cpu()) {
	case NEHALEM:
		return type & PERF_SAMPLE_BRANCH_CALL;
	case AMD_V2:
		return type & (PERF_SAMPLE_BRANCH_NO_FLAGS | PERF_SAMPLE_BRANCH_IN_TX |
			       PERF_SAMPLE_BRANCH_NO_TX | PERF_SAMPLE_BRANCH_ABORT_TX);
	default:
		return false;
	}
}

static inline struct perf_event_attr branch_attr(uint64_t type)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");

	attr.sample_period = PERIOD;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_BRANCH_STACK;
	attr.branch_sample_type = type;
	return attr;
}

static inline uint64_t named_kinds(uint64_t type)
{
	uint64_t kinds = type & (PERF_SAMPLE_BRANCH_ANY_RETURN | PERF_SAMPLE_BRANCH_IND_CALL |
				 PERF_SAMPLE_BRANCH_COND | PERF_SAMPLE_BRANCH_IND_JUMP |
				 PERF_SAMPLE_BRANCH_CALL);

	if (type & PERF_SAMPLE_BRANCH_ANY_CALL)
		kinds |= PERF_SAMPLE_BRANCH_CALL | PERF_SAMPLE_BRANCH_IND_CALL;
	return kinds;
}

/* The branches that @type selects, in order; returns their number. */
static inline unsigned int select_branches(const uint32_t *at, uint64_t type, struct branch *b)
{
	struct branch all[ROUND];
	unsigned int n = 0;

	branches_of(at, all);
	for (unsigned int i = 0; i < ROUND; i++)
		if (type & PERF_SAMPLE_BRANCH_ANY || all[i].flags & named_kinds(type))
			b[n++] = all[i];
	return n;
}

static inline int position_of(const struct perf_branch_entry *e, const struct branch *b,
			      unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (b[i].from == e->from && b[i].to == e->to)
			return i;
	return -1;
}

/* Each entry is the branch before that of the entry before; returns the number of good ones. */
static inline unsigned int follow(const struct perf_branch_entry *e, unsigned int nr,
				  const struct branch *b, unsigned int n)
{
	int at, last = -1;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		at = position_of(&e[i], b, n);
		if (at < 0 || (last >= 0 && at != (last + (int)n - 1) % (int)n))
			break;
		last = at;
	}
	return i;
}

#define MSR_DEBUGCTL		0x1d9
#define DEBUGCTL_LBR		0x1
#define DEBUGCTL_FREEZE		0x800	/* of branch records, by an interrupt */
#define MSR_ARCH_LBR_CTL	0x14ce
#define ARCH_LBR_ENABLE		0x1
#define MSR_DBG_EXTN_CFG	0xc000010f
#define DBG_EXTN_LBR		0x40

/* A register of a CPU. */
static inline uint64_t register_of(int cpu, uint32_t number)
{
	char path[32];
	uint64_t val;
	int fd;

	snprintf(path, sizeof(path), "/dev/cpu/%d/msr", cpu);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		skip_case("no file with the registers of a CPU");
	if (pread(fd, &val, sizeof(val), number) != sizeof(val))
		fail_case("a register of the CPU cannot be read");
	close(fd);
	return val;
}

#endif /* PERF_TEST_X86_BRANCH_H */
