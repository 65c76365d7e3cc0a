// SPDX-License-Identifier: GPL-2.0
/* Checks of the counter that microcode has unless transactions abort, on the bare machine. */
#include "unit.h"

#define FORCE_ABORT 0x10f
#define SELECT 0x189
#define COUNTER 0xc4
#define GLOBAL_CTRL 0x38f
#define INSTRUCTIONS 0x4300c0

void test_tfa(void)
{
	u64 left, global = read_msr(GLOBAL_CTRL);

	check_eq("abort out of reset", read_msr(FORCE_ABORT), 0);
	check_gp("abort reserved", FORCE_ABORT, 2);
	/* Microcode has the counter. */
	check_write("microcode's select", SELECT, INSTRUCTIONS, INSTRUCTIONS);
	check_write("microcode's counter", COUNTER, 5, 5);
	run_loop(GLOBAL_CTRL, 8, 100);
	write_msr(GLOBAL_CTRL, 0);
	check_eq("counts nothing", read_msr(COUNTER), 5);
	/* The driver has it. */
	check_write("abort", FORCE_ABORT, 1, 1);
	check_write("select", SELECT, INSTRUCTIONS, INSTRUCTIONS);
	check_write("counter", COUNTER, 0, 0);
	run_loop(GLOBAL_CTRL, 8, 100);
	write_msr(GLOBAL_CTRL, 0);
	check_eq("counts", read_msr(COUNTER) > 200, 1);
	/* What microcode leaves behind is a select and a value of its own. */
	write_msr(SELECT, 0);
	write_msr(COUNTER, 0);
	write_msr(FORCE_ABORT, 0);
	write_msr(FORCE_ABORT, 1);
	left = read_msr(COUNTER);
	check_eq("another value", left != 0, 1);
	check_eq("another select", read_msr(SELECT), INSTRUCTIONS);
	write_msr(SELECT, 0);
	write_msr(COUNTER, 0);
	write_msr(GLOBAL_CTRL, global);
}
