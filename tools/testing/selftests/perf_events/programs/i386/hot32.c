// SPDX-License-Identifier: GPL-2.0
/*
 * A 32-bit program without a library: _start calls outer(), which calls middle(), which calls
 * inner(), where the time is spent.
 */
#include "../hot.h"

NOINLINE void inner(unsigned long n)
{
	loop(n);
	STAY();
}

NOINLINE void middle(unsigned long n)
{
	inner(n);
	STAY();
}

NOINLINE void outer(unsigned long n)
{
	middle(n);
	STAY();
}

void _start(void)
{
	outer(50000000);
	/* exit(0) */
	asm volatile("int $0x80" : : "a" (1), "b" (0));
	__builtin_unreachable();
}
