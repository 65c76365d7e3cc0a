// SPDX-License-Identifier: GPL-2.0
/*
 * Pentium 4 and Xeons with the NetBurst microarchitecture (family 15): events and counters.
 *
 * There are 18 counters of 40 bits in four groups. Each counter has a CCCR, with the enable bit,
 * filters and the interrupt bit. The CCCR picks one of the ESCRs of its group, and the ESCR selects
 * the event and the privilege levels. ESCRs are in pairs: one half of a group's counters (the first
 * side) can use the first ESCR of a pair, the other half (the second side) the second one. An ESCR
 * selects one event at a time.
 *
 * A selection, in hw_perf_event::config and x86_pmu_cpu::select, is both registers in one word, the
 * ESCR in the upper half, for the first thread of a core. The format for users is similar, with a
 * number for the event (enum P4_EVENTS) and without the bits that the kernel sets; see
 * asm/perf_event_p4.h.
 *
 * The threads of a core share all of these registers. With two threads, the first thread uses the
 * first side of each group, and the second thread the second side. Schedules contain counters of
 * the first side; x86_pmu_cpu::thread_offset converts them for the second thread.
 *
 * Manual: SDM 3B, "Performance Monitoring (Processors Based on Intel NetBurst Microarchitecture)"
 * and "... and Intel Hyper-Threading Technology in Processors Based on ..."; the event lists
 * "Performance Monitoring Events Supported by Intel NetBurst Microarchitecture" for counting at
 * retirement and before it, and those of metrics for replay tagging and of qualification by logical
 * processor.
 *
 * Context: any; no hardware access. p4_encode() needs process context.
 */
#include <linux/nospec.h>
#include <asm/perf_event_p4.h>

#include "models.h"

/* --------------------------------------------------------------- counters and ESCRs */

enum p4_group { BPU, MS, FLAME, IQ, P4_GROUPS };

/*
 * The first two counters of a group are its first side, the next two its second side. The last
 * group has one more for each side. Counter 1 is not used: the enable bit of its CCCR does not
 * work reliably.
 */
#define SECOND_SIDE	(GENMASK_ULL(3, 2) | GENMASK_ULL(7, 6) | GENMASK_ULL(11, 10) | \
			 GENMASK_ULL(15, 14) | BIT_ULL(17))
#define USABLE		(GENMASK_ULL(ARCH_P4_MAX_CCCR - 1, 0) & ~BIT_ULL(1))

static const u64 group_counters[P4_GROUPS] = {
	[BPU]	= GENMASK_ULL(3, 0),
	[MS]	= GENMASK_ULL(7, 4),
	[FLAME]	= GENMASK_ULL(11, 8),
	[IQ]	= GENMASK_ULL(17, 12),
};

/* By group and ESCR select of the CCCR: first register of a pair, the second is the next MSR. */
static const u16 escrs[P4_GROUPS][8] = {
	[BPU] = {
		MSR_P4_BPU_ESCR0, MSR_P4_IS_ESCR0, MSR_P4_MOB_ESCR0, MSR_P4_ITLB_ESCR0,
		MSR_P4_PMH_ESCR0, MSR_P4_IX_ESCR0, MSR_P4_FSB_ESCR0, MSR_P4_BSU_ESCR0,
	},
	[MS] = { MSR_P4_MS_ESCR0, MSR_P4_TC_ESCR0, MSR_P4_TBPU_ESCR0 },
	[FLAME] = {
		MSR_P4_FLAME_ESCR0, MSR_P4_FIRM_ESCR0, MSR_P4_SAAT_ESCR0, MSR_P4_U2L_ESCR0,
		0, MSR_P4_DAC_ESCR0,
	},
	[IQ] = {
		MSR_P4_IQ_ESCR0, MSR_P4_ALF_ESCR0, MSR_P4_RAT_ESCR0, MSR_P4_SSU_ESCR0,
		MSR_P4_CRU_ESCR0, MSR_P4_CRU_ESCR2, MSR_P4_CRU_ESCR4,
	},
};

static enum p4_group p4_group_of(unsigned int counter)
{
	return min_t(unsigned int, counter / 4, IQ);
}

static unsigned int p4_escr_select(u64 select)
{
	return (select & P4_CCCR_ESCR_SELECT_MASK) >> P4_CCCR_ESCR_SELECT_SHIFT;
}

/**
 * p4_escr - the ESCR that a counter uses
 * @counter: number of the counter in hardware, 0..17
 * @select: selection, which picks one of the counter's ESCRs
 *
 * Context: any, NMI included.
 * Return: MSR number of the ESCR; 0: none
 */
u32 p4_escr(unsigned int counter, u64 select)
{
	u32 first = escrs[p4_group_of(counter)][p4_escr_select(select)];

	return first && SECOND_SIDE & BIT_ULL(counter) ? first + 1 : first;
}

/**
 * p4_counters_of_thread - the counters that the first thread of a core can use
 * @threads: number of threads of a core
 *
 * The second thread of two uses the counters with numbers that are higher by two. Counters 16 and
 * 17 have no such distance and are not used with two threads.
 *
 * Context: any.
 * Return: set of counters
 */
u64 p4_counters_of_thread(unsigned int threads)
{
	return threads > 1 ? USABLE & ~SECOND_SIDE & GENMASK_ULL(15, 0) : USABLE;
}

/**
 * p4_on_thread - convert a selection to the register values for a thread
 * @select: selection, for the first thread
 * @second: convert for the second thread
 *
 * Privilege levels and the interrupt have separate bits for each thread.
 *
 * Context: any, NMI included.
 * Return: the values of ESCR and CCCR
 */
u64 p4_on_thread(u64 select, bool second)
{
	const u64 levels = p4_config_pack_escr(P4_ESCR_T0_OS | P4_ESCR_T0_USR);
	u64 val = select & ~(levels | P4_CCCR_OVF_PMI_T0);

	if (!second)
		return select;
	if (select & P4_CCCR_OVF_PMI_T0)
		val |= P4_CCCR_OVF_PMI_T1;
	return val | (select & levels) >> 2;
}

/* ------------------------------------------------------------------------- events */

#define FIRST_SIDE_ONLY		BIT(0)
#define SECOND_SIDE_ONLY	BIT(1)
#define BOTH_THREADS		BIT(2)	/* counts both threads of the core */

/**
 * struct p4_event - an event class
 * @opcode: P4_OPCODE(): event select of the ESCR, and ESCR select of the CCCR
 * @mask: bits that exist in the event mask
 * @group: enum p4_group of the counters
 * @flags: FIRST_SIDE_ONLY, SECOND_SIDE_ONLY, BOTH_THREADS
 */
struct p4_event {
	u16	opcode;
	u16	mask;
	u8	group;
	u8	flags;
};

#define EVENT(_name, _group, _mask, _flags)	\
	[P4_EVENT_##_name] = { P4_OPCODE(P4_EVENT_##_name), (_mask), (_group), (_flags) }

/*
 * The event list has ESCR select 3 for these bus events, and an FSB ESCR. By the table of registers
 * only ESCR select 6 picks an FSB ESCR.
 */
#define FSB_EVENT(_name, _mask, _flags)		\
	[P4_EVENT_##_name] = { (P4_OPCODE(P4_EVENT_##_name) & 0xff00) | 6, (_mask), BPU, (_flags) }

static const struct p4_event p4_events[] = {
	EVENT(TC_DELIVER_MODE,		MS,	0x00ff, BOTH_THREADS),
	EVENT(BPU_FETCH_REQUEST,	BPU,	0x0001, 0),
	EVENT(ITLB_REFERENCE,		BPU,	0x0007, 0),
	EVENT(MEMORY_CANCEL,		FLAME,	0x000c, 0),
	EVENT(MEMORY_COMPLETE,		FLAME,	0x0003, 0),
	EVENT(LOAD_PORT_REPLAY,		FLAME,	0x0002, 0),
	EVENT(STORE_PORT_REPLAY,	FLAME,	0x0002, 0),
	EVENT(MOB_LOAD_REPLAY,		BPU,	0x003a, 0),
	EVENT(PAGE_WALK_TYPE,		BPU,	0x0003, BOTH_THREADS),
	EVENT(BSQ_CACHE_REFERENCE,	BPU,	0x073f, 0),
	EVENT(IOQ_ALLOCATION,		BPU,	0xefff, 0),
	EVENT(IOQ_ACTIVE_ENTRIES,	BPU,	0xefff, SECOND_SIDE_ONLY),
	EVENT(FSB_DATA_ACTIVITY,	BPU,	0x003f, BOTH_THREADS),
	EVENT(BSQ_ALLOCATION,		BPU,	0x3fef, FIRST_SIDE_ONLY),
	EVENT(BSQ_ACTIVE_ENTRIES,	BPU,	0x3fef, SECOND_SIDE_ONLY),
	EVENT(SSE_INPUT_ASSIST,		FLAME,	0x8000, BOTH_THREADS),
	EVENT(PACKED_SP_UOP,		FLAME,	0x8000, BOTH_THREADS),
	EVENT(PACKED_DP_UOP,		FLAME,	0x8000, BOTH_THREADS),
	EVENT(SCALAR_SP_UOP,		FLAME,	0x8000, BOTH_THREADS),
	EVENT(SCALAR_DP_UOP,		FLAME,	0x8000, BOTH_THREADS),
	EVENT(64BIT_MMX_UOP,		FLAME,	0x8000, BOTH_THREADS),
	EVENT(128BIT_MMX_UOP,		FLAME,	0x8000, BOTH_THREADS),
	EVENT(X87_FP_UOP,		FLAME,	0x8000, BOTH_THREADS),
	EVENT(TC_MISC,			MS,	0x0010, BOTH_THREADS),
	EVENT(GLOBAL_POWER_EVENTS,	BPU,	0x0001, 0),
	EVENT(TC_MS_XFER,		MS,	0x0001, BOTH_THREADS),
	EVENT(UOP_QUEUE_WRITES,		MS,	0x0007, 0),
	EVENT(RETIRED_MISPRED_BRANCH_TYPE, MS,	0x001e, BOTH_THREADS),
	EVENT(RETIRED_BRANCH_TYPE,	MS,	0x001e, BOTH_THREADS),
	EVENT(RESOURCE_STALL,		IQ,	0x0020, BOTH_THREADS),
	EVENT(WC_BUFFER,		FLAME,	0x0003, BOTH_THREADS),
	FSB_EVENT(B2B_CYCLES,			0x007e, BOTH_THREADS),
	FSB_EVENT(BNR,				0x0007, BOTH_THREADS),
	FSB_EVENT(SNOOP,			0x00c4, BOTH_THREADS),
	FSB_EVENT(RESPONSE,			0x0306, BOTH_THREADS),
	EVENT(FRONT_END_EVENT,		IQ,	0x0003, 0),
	EVENT(EXECUTION_EVENT,		IQ,	0x00ff, 0),
	EVENT(REPLAY_EVENT,		IQ,	0x0003, 0),
	EVENT(INSTR_RETIRED,		IQ,	0x000f, 0),
	EVENT(UOPS_RETIRED,		IQ,	0x0003, 0),
	EVENT(UOP_TYPE,			IQ,	0x0006, 0),
	EVENT(BRANCH_RETIRED,		IQ,	0x000f, 0),
	EVENT(MISPRED_BRANCH_RETIRED,	IQ,	0x0001, 0),
	EVENT(X87_ASSIST,		IQ,	0x001f, 0),
	EVENT(MACHINE_CLEAR,		IQ,	0x0007, 0),
	EVENT(INSTR_COMPLETED,		IQ,	0x0003, 0),
};

static const struct p4_event *p4_find_event(u64 config)
{
	unsigned int n = p4_config_unpack_event(config);

	if (n >= ARRAY_SIZE(p4_events))
		return NULL;
	return &p4_events[array_index_nospec(n, ARRAY_SIZE(p4_events))];
}

/**
 * p4_counters - the counters that can count an event
 * @config: event in the format for users
 *
 * Context: any.
 * Return: set of counters; 0: there is no such event
 */
u64 p4_counters(u64 config)
{
	const struct p4_event *e = p4_find_event(config);
	u64 counters;

	if (!e)
		return 0;
	counters = group_counters[e->group] & USABLE;
	if (e->flags & FIRST_SIDE_ONLY)
		counters &= ~SECOND_SIDE;
	if (e->flags & SECOND_SIDE_ONLY)
		counters &= SECOND_SIDE;
	return counters;
}

/* Bits of a CCCR that users can set. The field of active threads is always 3: any. */
#define CCCR_FILTER	(P4_CCCR_EDGE | P4_CCCR_THRESHOLD_MASK | P4_CCCR_COMPLEMENT |	\
			 P4_CCCR_COMPARE)

/* Bits of an ESCR that users can set, beside the event. */
#define ESCR_DETAIL	(P4_ESCR_EVENTMASK_MASK | P4_ESCR_TAG_MASK | P4_ESCR_TAG_ENABLE)

/**
 * p4_select - the selection for an event, without privilege levels
 * @config: valid event in the format for users
 *
 * Context: any.
 * Return: the selection
 */
u64 p4_select(u64 config)
{
	const struct p4_event *e = p4_find_event(config);
	u64 escr = P4_ESCR_EVENT((u64)P4_OPCODE_EVNT(e->opcode));
	u64 cccr = P4_CCCR_ESEL((u64)P4_OPCODE_ESEL(e->opcode)) | P4_CCCR_THREAD_ANY;

	escr |= p4_config_unpack_escr(config) & ESCR_DETAIL;
	return p4_config_pack_escr(escr) | cccr | (config & CCCR_FILTER);
}

/* ------------------------------------------------------------------ replay tagging */

/*
 * Replays tag instructions, which replay_event counts. MSR_IA32_PEBS_ENABLE selects the cause of a
 * replay and has a bit for tagging (and another for PEBS records, which are not used). The next
 * MSR, MSR_P4_PEBS_MATRIX_VERT, selects loads or stores. The value of the extra register is both,
 * with the second one in the upper half.
 */
#define REPLAY(_metric, _cause, _kind)	\
	[P4_PEBS_METRIC__##_metric] = P4_PEBS_ENABLE_UOP_TAG | (_cause) | (u64)(_kind) << 32

static const u64 replays[P4_PEBS_METRIC__max] = {
	REPLAY(1stl_cache_load_miss_retired,	BIT(0),		BIT(0)),
	REPLAY(2ndl_cache_load_miss_retired,	BIT(1),		BIT(0)),
	REPLAY(dtlb_load_miss_retired,		BIT(2),		BIT(0)),
	REPLAY(dtlb_store_miss_retired,		BIT(2),		BIT(1)),
	REPLAY(dtlb_all_miss_retired,		BIT(2),		BIT(0) | BIT(1)),
	REPLAY(tagged_mispred_branch,		BIT(15) | BIT(16), BIT(4)),
	REPLAY(mob_load_replay_retired,		BIT(9),		BIT(0)),
	REPLAY(split_load_retired,		BIT(10),	BIT(0)),
	REPLAY(split_store_retired,		BIT(10),	BIT(1)),
};

/* Event and ESCR select identify a selection of replay_event. */
#define REPLAY_SELECT	(p4_config_pack_escr(P4_ESCR_EVENT(0x09ULL)) | P4_CCCR_ESEL(5ULL))

static const struct x86_extra p4_extra[] = {
	{
		.match	= REPLAY_SELECT,
		.mask	= p4_config_pack_escr(P4_ESCR_EVENT_MASK) | P4_CCCR_ESCR_SELECT_MASK,
		.valid	= P4_PEBS_ENABLE_UOP_TAG | GENMASK_ULL(2, 0) | GENMASK_ULL(10, 9) |
			  GENMASK_ULL(16, 15) | GENMASK_ULL(36, 32),
		.msr	= MSR_IA32_PEBS_ENABLE,
		.id	= X86_EXTRA_REPLAY,
		.pair	= true,
	},
	{ }
};

/* -------------------------------------------------------------------------- tables */

#define MASK(_event, _bit)	((u64)P4_ESCR_EMASK_BIT(P4_EVENT_##_event, _bit))
#define CONFIG(_event, _masks)	\
	p4_config_pack_escr(P4_ESCR_EVENT((u64)P4_EVENT_##_event) | (_masks))
#define REPLAYED(_metric)	\
	(CONFIG(REPLAY_EVENT, MASK(REPLAY_EVENT, NBOGUS)) | P4_PEBS_METRIC__##_metric)

static const u64 p4_generic[] = {
	CONFIG(GLOBAL_POWER_EVENTS, MASK(GLOBAL_POWER_EVENTS, RUNNING)),
	CONFIG(INSTR_RETIRED, MASK(INSTR_RETIRED, NBOGUSNTAG) | MASK(INSTR_RETIRED, BOGUSNTAG)),
	CONFIG(BSQ_CACHE_REFERENCE,
	       MASK(BSQ_CACHE_REFERENCE, RD_2ndL_HITS) | MASK(BSQ_CACHE_REFERENCE, RD_3rdL_HITS) |
	       MASK(BSQ_CACHE_REFERENCE, RD_2ndL_HITE) | MASK(BSQ_CACHE_REFERENCE, RD_3rdL_HITE) |
	       MASK(BSQ_CACHE_REFERENCE, RD_2ndL_HITM) | MASK(BSQ_CACHE_REFERENCE, RD_3rdL_HITM)),
	CONFIG(BSQ_CACHE_REFERENCE,
	       MASK(BSQ_CACHE_REFERENCE, RD_2ndL_MISS) | MASK(BSQ_CACHE_REFERENCE, RD_3rdL_MISS) |
	       MASK(BSQ_CACHE_REFERENCE, WR_2ndL_MISS)),
	CONFIG(RETIRED_BRANCH_TYPE,
	       MASK(RETIRED_BRANCH_TYPE, CALL) | MASK(RETIRED_BRANCH_TYPE, RETURN) |
	       MASK(RETIRED_BRANCH_TYPE, CONDITIONAL) | MASK(RETIRED_BRANCH_TYPE, INDIRECT)),
	CONFIG(MISPRED_BRANCH_RETIRED, MASK(MISPRED_BRANCH_RETIRED, NBOGUS)),
	CONFIG(FSB_DATA_ACTIVITY,
	       MASK(FSB_DATA_ACTIVITY, DRDY_OWN) | MASK(FSB_DATA_ACTIVITY, DRDY_DRV)) |
		P4_CCCR_COMPARE | P4_CCCR_EDGE,
	0, 0, 0
};

static const struct x86_cache_event p4_cache[] = {
	CACHE(L1D, LOAD, MISS, REPLAYED(1stl_cache_load_miss_retired)),
	CACHE(LL, LOAD, MISS, REPLAYED(2ndl_cache_load_miss_retired)),
	CACHE(DTLB, LOAD, MISS, REPLAYED(dtlb_load_miss_retired)),
	CACHE(DTLB, STORE, MISS, REPLAYED(dtlb_store_miss_retired)),
	CACHE(ITLB, LOAD, ACCESS, CONFIG(ITLB_REFERENCE, MASK(ITLB_REFERENCE, HIT) |
		MASK(ITLB_REFERENCE, HIT_UK) | MASK(ITLB_REFERENCE, MISS))),
	CACHE(ITLB, LOAD, MISS, CONFIG(ITLB_REFERENCE, MASK(ITLB_REFERENCE, MISS))),
	{ }
};

const struct x86_model p4_model = {
	.name		= "Netburst P4/Xeon",
	.manual		= "SDM 3B, NetBurst microarchitecture events",
	.generic	= p4_generic,
	.cache		= p4_cache,
	.extra		= p4_extra,
	.flags		= X86_MODEL_NETBURST | X86_MODEL_HT_EXTRA,
};

/* ----------------------------------------------------------------------- one event */

static int p4_check_config(u64 config)
{
	const struct p4_event *e = p4_find_event(config);
	u64 metric = config & P4_PEBS_CONFIG_METRIC_MASK;

	if (!e)
		return perf_refuse(-EINVAL, "config: there is no event class %llu",
				   p4_config_unpack_event(config));
	if (p4_config_unpack_emask(config) & ~e->mask)
		return perf_refuse(-EINVAL, "config: the event has no mask bits %#llx",
				   p4_config_unpack_emask(config) & ~e->mask);
	if (config & P4_PEBS_CONFIG_ENABLE)
		return perf_refuse(-EINVAL, "config: no precise samples on this CPU");
	if (metric >= P4_PEBS_METRIC__max)
		return perf_refuse(-EINVAL, "config: there is no replay metric %llu", metric);
	if (metric && e != &p4_events[P4_EVENT_REPLAY_EVENT])
		return perf_refuse(-EINVAL,
			"config: replay metric %llu, but the event is not replay_event", metric);
	return 0;
}

/* Family 15, models below 2 and early steppings of model 2: ioq_allocation has FSB_ESCR0 only. */
static u64 p4_early_counters(u64 config)
{
	const struct cpuinfo_x86 *c = &boot_cpu_data;

	if (p4_config_unpack_event(config) != P4_EVENT_IOQ_ALLOCATION ||
	    c->x86_model > 2 || (c->x86_model == 2 && c->x86_stepping >= 7))
		return USABLE;
	return ~SECOND_SIDE;
}

/* Generic events need no privilege, although some of them count the other thread as well. */
static int p4_check_threads(const struct p4_event *e, const struct perf_event_attr *attr)
{
	if (!p4_ht_active())
		return 0;
	if (e->flags & (FIRST_SIDE_ONLY | SECOND_SIDE_ONLY))
		return perf_refuse(-EOPNOTSUPP,
			"config: only one of a core's threads can count this event");
	if (attr->type == PERF_TYPE_HARDWARE || attr->type == PERF_TYPE_HW_CACHE)
		return 0;
	if (e->flags & BOTH_THREADS && perf_allow_cpu())
		return perf_refuse(-EACCES,
			"config: the other thread is counted, too, which needs CAP_PERFMON");
	return 0;
}

/**
 * p4_encode - set the selection and the counters of an event
 * @xpmu: the PMU
 * @event: event with hw.config in the format for users; hw.config and hw.counters are set
 * @extra: set to the value of the registers for replay tagging; 0: no tagging
 *
 * Context: process.
 * Return: 0, -EINVAL, -EOPNOTSUPP, -EACCES
 */
int p4_encode(const struct x86_pmu *xpmu, struct perf_event *event, u64 *extra)
{
	const struct perf_event_attr *attr = &event->attr;
	u64 config = event->hw.config;
	unsigned int metric;
	int ret;

	ret = p4_check_config(config);
	/* Inherited events are not checked again: their parent was accepted. */
	if (!ret && !event->parent)
		ret = p4_check_threads(p4_find_event(config), attr);
	if (ret)
		return ret;

	metric = config & P4_PEBS_CONFIG_METRIC_MASK;
	*extra = replays[array_index_nospec(metric, P4_PEBS_METRIC__max)];
	event->hw.counters = p4_counters(config) & xpmu->counters & p4_early_counters(config);
	event->hw.config = p4_select(config);
	if (!attr->exclude_user)
		event->hw.config |= p4_config_pack_escr(P4_ESCR_T0_USR);
	if (!attr->exclude_kernel)
		event->hw.config |= p4_config_pack_escr(P4_ESCR_T0_OS);
	return 0;
}

/* ------------------------------------------------------------------ several events */

/* Do two events need the same pair of ESCRs? */
static bool p4_same_escrs(const struct hw_perf_event *a, const struct hw_perf_event *b)
{
	return p4_escr_select(a->config) == p4_escr_select(b->config) &&
	       p4_group_of(__ffs64(a->counters)) == p4_group_of(__ffs64(b->counters));
}

/* The counter that slot @i has, or that its event had last; negative: none. */
static int p4_slot_counter(const struct perf_schedule *s, unsigned int i, unsigned int from)
{
	return i < from ? s->slot[i].idx & X86_SLOT_COUNTER : s->slot[i].event->hw.idx;
}

/*
 * Slots @a and @b need the same pair of ESCRs. Does @a get the first one? Both keep their sides if
 * that is possible.
 */
static bool p4_first_on_first_side(const struct perf_schedule *s, unsigned int a, unsigned int b,
				   unsigned int from)
{
	u64 ca = s->slot[a].event->hw.counters, cb = s->slot[b].event->hw.counters;
	int place;

	if (!(ca & SECOND_SIDE) || !(cb & ~SECOND_SIDE))
		return true;
	if (!(ca & ~SECOND_SIDE) || !(cb & SECOND_SIDE))
		return false;
	place = p4_slot_counter(s, a, from);
	if (place >= 0)
		return !(SECOND_SIDE & BIT_ULL(place));
	place = p4_slot_counter(s, b, from);
	return place < 0 || SECOND_SIDE & BIT_ULL(place);
}

/**
 * p4_sched_counters - the counters that an event can use beside the other events of a schedule
 * @s: the schedule
 * @i: slot of the event
 * @from: first slot without a counter
 *
 * Two events with the same pair of ESCRs must be on different sides of the group of counters. The
 * counters of a side are equivalent, therefore it does not matter to other events which of the two
 * is on which side. With the sides fixed, x86_assign_add() finds the counters.
 *
 * Context: any.
 * Return: set of counters; 0 if three events need a pair of ESCRs
 */
u64 p4_sched_counters(const struct perf_schedule *s, unsigned int i, unsigned int from)
{
	const struct hw_perf_event *hw = &s->slot[i].event->hw;
	int other = -1;
	unsigned int j;
	bool first;

	for (j = 0; j < s->nr; j++) {
		if (j == i || !p4_same_escrs(hw, &s->slot[j].event->hw))
			continue;
		if (other >= 0)
			return 0;
		other = j;
	}
	if (other < 0)
		return hw->counters;
	if (i < other)
		first = p4_first_on_first_side(s, i, other, from);
	else
		first = !p4_first_on_first_side(s, other, i, from);
	return hw->counters & (first ? ~SECOND_SIDE : SECOND_SIDE);
}
