// SPDX-License-Identifier: GPL-2.0
/*
 * Events by the names that perf stat -T and --topdown use.
 *
 * Transactions: SDM 3B, "Performance Monitoring and Intel TSX": codes 0xc9 (RTM_RETIRED), 0xc8
 * (HLE_RETIRED) and 0x54 (TX_MEM). Top-down, for parts without metrics for it: "Top-Down
 * Microarchitecture Analysis Method" of the Optimization Reference Manual, appendix B. A core has
 * four slots in each cycle. With SMT its cycles are those of both threads. Atoms: event files SLM,
 * GLM, GLP, SNR, ADL (gracemont), SRF, LNL (skymont).
 *
 * Loads and stores of perf mem and perf c2c: SDM 3B, "Load Latency Performance Monitoring Facility"
 * and "Precise Store Facility"; from Golden Cove on, MEM_TRANS_RETIRED.STORE_SAMPLE.
 */
#include "models.h"

#define RTM_EVENTS							\
	{ "tx-start", "event=0xc9,umask=0x1", 0x01c9, NULL, HSW_IN_TX },	\
	{ "tx-commit", "event=0xc9,umask=0x2", 0x02c9, NULL, HSW_IN_TX },	\
	{ "tx-abort", "event=0xc9,umask=0x4", 0x04c9, NULL, HSW_IN_TX },	\
	{ "tx-conflict", "event=0x54,umask=0x1", 0x0154, NULL, HSW_IN_TX },	\
	{ "cycles-t", "event=0x3c,in_tx=1", 0x3c | HSW_IN_TX, NULL, HSW_IN_TX },	\
	{ "cycles-ct", "event=0x3c,in_tx=1,in_tx_cp=1",			\
	  0x3c | HSW_IN_TX | HSW_IN_TX_CHECKPOINTED, NULL, HSW_IN_TX }

#define HLE_EVENTS							\
	{ "el-start", "event=0xc8,umask=0x1", 0x01c8, NULL, HSW_IN_TX },	\
	{ "el-commit", "event=0xc8,umask=0x2", 0x02c8, NULL, HSW_IN_TX },	\
	{ "el-abort", "event=0xc8,umask=0x4", 0x04c8, NULL, HSW_IN_TX },	\
	{ "el-conflict", "event=0x54,umask=0x1", 0x0154, NULL, HSW_IN_TX }

#define CAPACITY_EVENTS							\
	{ "tx-capacity", "event=0x54,umask=0x2", 0x0254, NULL, HSW_IN_TX },	\
	{ "el-capacity", "event=0x54,umask=0x2", 0x0254, NULL, HSW_IN_TX }

#define RTM_CAPACITY_EVENTS						\
	{ "tx-capacity-read", "event=0x54,umask=0x80", 0x8054, NULL, HSW_IN_TX },	\
	{ "tx-capacity-write", "event=0x54,umask=0x2", 0x0254, NULL, HSW_IN_TX }

#define HLE_CAPACITY_EVENTS						\
	{ "el-capacity-read", "event=0x54,umask=0x80", 0x8054, NULL, HSW_IN_TX },	\
	{ "el-capacity-write", "event=0x54,umask=0x2", 0x0254, NULL, HSW_IN_TX }

/* @_recovery: umask of INT_MISC.RECOVERY_CYCLES, as a string and as a number */
#define TOP_DOWN_EVENTS(_recovery, _umask)				\
	{ "topdown-total-slots", "event=0x3c,umask=0x0", 0x003c,	\
	  "event=0x3c,umask=0x0,any=1" },				\
	{ "topdown-total-slots.scale", "4", 0x003c, "2" },		\
	{ "topdown-slots-issued", "event=0xe,umask=0x1", 0x010e },	\
	{ "topdown-slots-retired", "event=0xc2,umask=0x2", 0x02c2 },	\
	{ "topdown-fetch-bubbles", "event=0x9c,umask=0x1", 0x019c },	\
	{ "topdown-recovery-bubbles", "event=0xd,umask=" _recovery ",cmask=1",	\
	  0x100000d | (_umask) << 8, "event=0xd,umask=" _recovery ",cmask=1,any=1" },	\
	{ "topdown-recovery-bubbles.scale", "4", 0x100000d | (_umask) << 8, "2" }

#define MEMORY_EVENT(_name, _text, _select)	\
	{ _name, _text, _select, .precise = true }

#define LOADS_AT_CD	MEMORY_EVENT("mem-loads", "event=0xcd,umask=0x1,ldlat=3", 0x01cd)
#define STORES_AT_CD	MEMORY_EVENT("mem-stores", "event=0xcd,umask=0x2", 0x02cd)
#define STORES_AT_D0	MEMORY_EVENT("mem-stores", "event=0xd0,umask=0x82", 0x82d0)

const struct x86_sysfs_event intel_nehalem_events[] = {
	MEMORY_EVENT("mem-loads", "event=0x0b,umask=0x10,ldlat=3", 0x100b),
	{ }
};

const struct x86_sysfs_event intel_sandybridge_events[] = {
	TOP_DOWN_EVENTS("0x3", 3),
	LOADS_AT_CD, STORES_AT_CD,
	{ }
};

#define METRIC_EVENT(_name, _umask)					\
	{ .name = _name, .text = "event=0x00,umask=" #_umask,		\
	  .config = (_umask) << 8, .metrics = true }

/* Names of metrics, see topdown.c. */
#define METRIC_EVENTS							\
	METRIC_EVENT("slots", 0x4),					\
	METRIC_EVENT("topdown-retiring", 0x80),				\
	METRIC_EVENT("topdown-bad-spec", 0x81),				\
	METRIC_EVENT("topdown-fe-bound", 0x82),				\
	METRIC_EVENT("topdown-be-bound", 0x83)

#define METRIC_EVENTS_2							\
	METRIC_EVENT("topdown-heavy-ops", 0x84),			\
	METRIC_EVENT("topdown-br-mispredict", 0x85),			\
	METRIC_EVENT("topdown-fetch-lat", 0x86),			\
	METRIC_EVENT("topdown-mem-bound", 0x87)

const struct x86_sysfs_event intel_haswell_events[] = {
	TOP_DOWN_EVENTS("0x3", 3),
	LOADS_AT_CD, STORES_AT_D0,
	RTM_EVENTS, HLE_EVENTS, CAPACITY_EVENTS,
	{ }
};

/* Event files SKL, SKX and CLX: INT_MISC.RECOVERY_CYCLES has umask 1. */
const struct x86_sysfs_event intel_skylake_events[] = {
	TOP_DOWN_EVENTS("0x1", 1),
	LOADS_AT_CD, STORES_AT_D0,
	RTM_EVENTS, HLE_EVENTS, CAPACITY_EVENTS,
	{ }
};

const struct x86_sysfs_event intel_icelake_events[] = {
	LOADS_AT_CD, STORES_AT_D0,
	METRIC_EVENTS,
	RTM_EVENTS, HLE_EVENTS, RTM_CAPACITY_EVENTS, HLE_CAPACITY_EVENTS,
	{ }
};

/* Cores without hardware lock elision. LD_BLOCKS: the source of a load needs it in its group. */
const struct x86_sysfs_event intel_goldencove_events[] = {
	LOADS_AT_CD, STORES_AT_CD,
	MEMORY_EVENT("mem-loads-aux", "event=0x03,umask=0x82", 0x8203),
	METRIC_EVENTS, METRIC_EVENTS_2,
	RTM_EVENTS, RTM_CAPACITY_EVENTS,
	{ }
};

const struct x86_sysfs_event intel_redwoodcove_events[] = {
	LOADS_AT_CD, STORES_AT_CD,
	METRIC_EVENTS, METRIC_EVENTS_2,
	RTM_EVENTS, RTM_CAPACITY_EVENTS,
	{ }
};

const struct x86_sysfs_event intel_lioncove_events[] = {
	LOADS_AT_CD, STORES_AT_CD,
	METRIC_EVENTS, METRIC_EVENTS_2,
	{ }
};

/* Slots of Silvermont to Goldmont Plus, two to four in each cycle. */
#define ATOM_TOP_DOWN_EVENTS(_scale)					\
	{ "topdown-total-slots", "event=0x3c", 0x3c },			\
	{ "topdown-total-slots.scale", _scale, 0x3c }

const struct x86_sysfs_event intel_silvermont_events[] = {
	ATOM_TOP_DOWN_EVENTS("2"),
	{ "topdown-fetch-bubbles", "event=0xca,umask=0x50", 0x50ca },
	{ "topdown-slots-issued", "event=0xc2,umask=0x10", 0x10c2 },
	{ "topdown-slots-retired", "event=0xc2,umask=0x10", 0x10c2 },
	{ }
};

#define GOLDMONT_EVENTS							\
	{ "topdown-fetch-bubbles", "event=0x9c", 0x9c },		\
	{ "topdown-recovery-bubbles", "event=0xca,umask=0x02", 0x02ca },	\
	{ "topdown-slots-issued", "event=0x0e", 0x0e },			\
	{ "topdown-slots-retired", "event=0xc2", 0xc2 }

const struct x86_sysfs_event intel_goldmont_events[] = {
	ATOM_TOP_DOWN_EVENTS("3"), GOLDMONT_EVENTS, { }
};

const struct x86_sysfs_event intel_goldmont_plus_events[] = {
	ATOM_TOP_DOWN_EVENTS("4"), GOLDMONT_EVENTS, { }
};

/* Later cores count the slots of each kind. */
const struct x86_sysfs_event intel_tremont_events[] = {
	{ "topdown-retiring", "event=0xc2,umask=0x0", 0xc2 },
	{ "topdown-bad-spec", "event=0x73,umask=0x6", 0x0673 },
	{ "topdown-fe-bound", "event=0x71,umask=0x0", 0x71 },
	{ "topdown-be-bound", "event=0x74,umask=0x0", 0x74 },
	{ }
};

#define ATOM_MEMORY_EVENTS						\
	MEMORY_EVENT("mem-loads", "event=0xd0,umask=0x5,ldlat=3", 0x05d0),	\
	MEMORY_EVENT("mem-stores", "event=0xd0,umask=0x6", 0x06d0)

const struct x86_sysfs_event intel_gracemont_events[] = {
	ATOM_MEMORY_EVENTS,
	{ "topdown-retiring", "event=0xc2,umask=0x0", 0xc2 },
	{ "topdown-bad-spec", "event=0x73,umask=0x0", 0x73 },
	{ "topdown-fe-bound", "event=0x71,umask=0x0", 0x71 },
	{ "topdown-be-bound", "event=0x74,umask=0x0", 0x74 },
	{ }
};

const struct x86_sysfs_event intel_crestmont_events[] = {
	ATOM_MEMORY_EVENTS,
	{ "topdown-retiring", "event=0x72,umask=0x0", 0x72 },
	{ "topdown-bad-spec", "event=0x73,umask=0x0", 0x73 },
	{ "topdown-fe-bound", "event=0x71,umask=0x0", 0x71 },
	{ "topdown-be-bound", "event=0x74,umask=0x0", 0x74 },
	{ }
};

/* SDM 3B, "Architectural Performance Monitoring Version 5": the four top-down events. */
const struct x86_sysfs_event intel_skymont_events[] = {
	ATOM_MEMORY_EVENTS,
	{ "topdown-retiring", "event=0xc2,umask=0x02", 0x02c2 },
	{ "topdown-bad-spec", "event=0x73,umask=0x0", 0x73 },
	{ "topdown-fe-bound", "event=0x9c,umask=0x01", 0x019c },
	{ "topdown-be-bound", "event=0xa4,umask=0x02", 0x02a4 },
	{ }
};
