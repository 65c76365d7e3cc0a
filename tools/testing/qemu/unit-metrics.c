// SPDX-License-Identifier: GPL-2.0
/* Checks of top-down metrics and slots, on the bare machine. */
#include "unit.h"

#define METRICS 0x329
#define SLOTS 0x30c
#define FIXED_CTRL 0x38d
#define GLOBAL_CTRL 0x38f
#define METRICS_ON 0x1000000000000ull
/* The model's own: the shares of the slots from now on. */
#define SHARES 0x4f504d55

static void metrics_spin(u64 on, u32 rounds)
{
	u32 low = on, high = on >> 32;

	asm volatile("wrmsr; 1: dec %2; jnz 1b; xor %%eax, %%eax; xor %%edx, %%edx; wrmsr"
		     : "+a"(low), "+d"(high), "+r"(rounds)
		     : "c"(GLOBAL_CTRL)
		     : "memory", "cc");
}

/* Shares change while slots count: the fractions are those of all slots in the counter. */
static void check_shares(u64 all)
{
	const u64 first = 0x4020100c4d331966ull & all, second = 0x2010080619664d33ull & all;

	check_eq("shares out of reset", read_msr(SHARES), first);
	if (all != ~0ull)
		check_gp("shares reserved", SHARES, 1ull << 32);
	write_msr(SLOTS, 0);
	write_msr(METRICS, 0);
	metrics_spin(1ull << 35 | METRICS_ON, 1000);
	check_write("shares", SHARES, second, second);
	check_eq("fractions of before", read_msr(METRICS), first);
	metrics_spin(1ull << 35 | METRICS_ON, 1000);
	check_eq("half of each", read_msr(METRICS), 0x30180c09334d334dull & all);
	/* What is saved and written again continues. */
	write_msr(SLOTS, 1ull << 40);
	write_msr(METRICS, first);
	metrics_spin(1ull << 35 | METRICS_ON, 1000);
	check_eq("few of many slots", read_msr(METRICS), first);
	write_msr(SLOTS, 0);
	write_msr(METRICS, 0);
	metrics_spin(1ull << 35 | METRICS_ON, 1000);
	check_eq("from 0 again", read_msr(METRICS), second);
	write_msr(SHARES, first);
}

void test_metrics(void)
{
	const u64 all = pmu.model == 0x7e ? 0xffffffff : ~0ull;
	const u64 fractions = 0x4020100c4d331966ull & all;
	u64 slots;

	check_eq("metrics out of reset", read_msr(METRICS), 0);
	check_write("metrics", METRICS, all, all);
	if (all != ~0ull)
		check_gp("metrics reserved", METRICS, 1ull << 32);
	check_write("metrics in GLOBAL_CTRL", GLOBAL_CTRL, METRICS_ON, METRICS_ON);
	check_gp("next bit of GLOBAL_CTRL", GLOBAL_CTRL, METRICS_ON << 1);
	check_eq("their overflow can be cleared", write_msr(0x390, METRICS_ON), 0);
	write_msr(GLOBAL_CTRL, 0);
	write_msr(SLOTS, 0);
	write_msr(METRICS, 0);
	write_msr(FIXED_CTRL, 0x1000);
	/* slots alone */
	metrics_spin(1ull << 35, 1000);
	check_eq("no metrics", read_msr(METRICS), 0);
	metrics_spin(1ull << 35 | METRICS_ON, 1000);
	slots = read_msr(SLOTS);
	check_eq("slots: 4 each cycle", slots, 4 * 2 * (2 * 1000 + 3));
	check_eq("fractions", read_msr(METRICS), fractions);
	check_eq("by RDPMC", read_pmc(1u << 29), fractions);
	check_eq("slots by RDPMC", read_pmc(1u << 30 | 3), slots);
	write_msr(SLOTS, 0);
	check_eq("of no slots", read_msr(METRICS), 0);
	check_shares(all);
	write_msr(FIXED_CTRL, 0);
	write_msr(METRICS, 0);
}
