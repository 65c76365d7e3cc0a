/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program whose instructions, loads and stores are known: what precise samples of them must show,
 * tools/testing/qemu/precise computes. Static, without a library, x86_64.
 *
 * LAPS times it loads ROUNDS words from "from" and stores them to "to", each STRIDE bytes apart,
 * which gives addresses of all kinds that the emulator's model tells apart.
 */
#define LAPS	20
#define ROUNDS	1000
#define STRIDE	0x440

#define NR_exit_group	231

	.section .note.GNU-stack, "", @progbits
	.text
	.globl	_start
_start:
	mov	$LAPS, %r8d
lap:	mov	$from, %esi
	mov	$to, %edi
	mov	$ROUNDS, %ecx
loop:	mov	(%rsi), %rax
	mov	%rax, (%rdi)
	add	$STRIDE, %rsi
	add	$STRIDE, %rdi
	dec	%ecx
	jne	loop
	lock decl	(%rsi)
	dec	%r8d
	jne	lap

	mov	$NR_exit_group, %eax
	xor	%edi, %edi
	syscall

	.bss
	.balign	0x2000
from:	.skip	ROUNDS * STRIDE + 4
	.balign	0x2000
to:	.skip	ROUNDS * STRIDE
