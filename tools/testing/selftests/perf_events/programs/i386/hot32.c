// SPDX-License-Identifier: GPL-2.0
/*
 * A 32-bit program without a library: _start calls outer, that calls middle, and that inner, where the
 * time goes.
 */
#define NOINLINE	__attribute__((noinline, noclone))

/* Keeps a call in front of it from becoming a jump. */
#define STAY()		asm volatile("" : : : "memory")

NOINLINE void inner(unsigned long n)
{
	asm volatile("1: dec %0; jnz 1b" : "+r" (n) : : "cc");
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
