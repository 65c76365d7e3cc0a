// SPDX-License-Identifier: GPL-2.0
/*
 * Events by the names that perf stat -T and --topdown look for.
 *
 * Transactions: SDM 3B, "Performance Monitoring and Intel TSX": codes 0xc9 (RTM_RETIRED), 0xc8
 * (HLE_RETIRED) and 0x54 (TX_MEM). Top-down, before parts had metrics for it: the "Top-Down
 * Microarchitecture Analysis Method" of the Optimization Reference Manual, appendix B. A core has four
 * slots in each cycle; where its threads share it, its cycles are those of both.
 */
#include "models.h"

#define TRANSACTION_EVENTS						\
	{ "tx-start", "event=0xc9,umask=0x1", 0x01c9, NULL, HSW_IN_TX },	\
	{ "tx-commit", "event=0xc9,umask=0x2", 0x02c9, NULL, HSW_IN_TX },	\
	{ "tx-abort", "event=0xc9,umask=0x4", 0x04c9, NULL, HSW_IN_TX },	\
	{ "tx-conflict", "event=0x54,umask=0x1", 0x0154, NULL, HSW_IN_TX },	\
	{ "el-start", "event=0xc8,umask=0x1", 0x01c8, NULL, HSW_IN_TX },	\
	{ "el-commit", "event=0xc8,umask=0x2", 0x02c8, NULL, HSW_IN_TX },	\
	{ "el-abort", "event=0xc8,umask=0x4", 0x04c8, NULL, HSW_IN_TX },	\
	{ "el-conflict", "event=0x54,umask=0x1", 0x0154, NULL, HSW_IN_TX },	\
	{ "cycles-t", "event=0x3c,in_tx=1", 0x3c | HSW_IN_TX, NULL, HSW_IN_TX },	\
	{ "cycles-ct", "event=0x3c,in_tx=1,in_tx_cp=1",			\
	  0x3c | HSW_IN_TX | HSW_IN_TX_CHECKPOINTED, NULL, HSW_IN_TX }

#define TOP_DOWN_EVENTS							\
	{ "topdown-total-slots", "event=0x3c,umask=0x0", 0x003c,	\
	  "event=0x3c,umask=0x0,any=1" },				\
	{ "topdown-total-slots.scale", "4", 0x003c, "2" },		\
	{ "topdown-slots-issued", "event=0xe,umask=0x1", 0x010e },	\
	{ "topdown-slots-retired", "event=0xc2,umask=0x2", 0x02c2 },	\
	{ "topdown-fetch-bubbles", "event=0x9c,umask=0x1", 0x019c },	\
	{ "topdown-recovery-bubbles", "event=0xd,umask=0x3,cmask=1", 0x100030d,	\
	  "event=0xd,umask=0x3,cmask=1,any=1" },			\
	{ "topdown-recovery-bubbles.scale", "4", 0x100030d, "2" }

const struct x86_named_event intel_topdown_named[] = { TOP_DOWN_EVENTS, { } };

const struct x86_named_event intel_haswell_named[] = {
	TOP_DOWN_EVENTS,
	TRANSACTION_EVENTS,
	{ "tx-capacity", "event=0x54,umask=0x2", 0x0254, NULL, HSW_IN_TX },
	{ "el-capacity", "event=0x54,umask=0x2", 0x0254, NULL, HSW_IN_TX },
	{ }
};

const struct x86_named_event intel_icelake_named[] = {
	TRANSACTION_EVENTS,
	{ "tx-capacity-read", "event=0x54,umask=0x80", 0x8054, NULL, HSW_IN_TX },
	{ "tx-capacity-write", "event=0x54,umask=0x2", 0x0254, NULL, HSW_IN_TX },
	{ "el-capacity-read", "event=0x54,umask=0x80", 0x8054, NULL, HSW_IN_TX },
	{ "el-capacity-write", "event=0x54,umask=0x2", 0x0254, NULL, HSW_IN_TX },
	{ }
};
