/* SPDX-License-Identifier: GPL-2.0 */
/* Parts of the programs that are measured. */
#ifndef HOT_H
#define HOT_H

#define NOINLINE	__attribute__((noinline, noclone))

/* Keeps the call before it from becoming a jump, so that the caller stays on the stack. */
#define STAY()		asm volatile("" : : : "memory")

/* @n rounds of two instructions. */
static inline __attribute__((always_inline)) void loop(unsigned long n)
{
#ifdef __aarch64__
	asm volatile("1: subs %0, %0, #1; b.ne 1b" : "+r" (n) : : "cc");
#else
	asm volatile("1: dec %0; jnz 1b" : "+r" (n) : : "cc");
#endif
}

#endif
