/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program whose branches are known: what records of them must show, tools/testing/qemu/branches
 * computes from the labels below. Static, without a library, x86_64.
 *
 * loop:    ROUNDS times one branch of each near kind. The conditional branch "skip" is forward, and
 *          taken in even rounds; "back" is backward, and taken but in the last round.
 * syscall: CALLS times getppid(2).
 * deep:    a recursion of LEVELS calls, LOOPS times; each level executes "leaf" before and after
 *          the next one.
 */
#ifndef ROUNDS
#define ROUNDS	10000
#endif
#define CALLS	100
#define LOOPS	100
#define LEVELS	40

#define NR_getppid	110
#define NR_exit_group	231

	.section .note.GNU-stack, "", @progbits
	.text
	.globl	_start
_start:
	mov	$ROUNDS, %r12d
	mov	$ind_f, %ebx
	mov	$after, %ebp
loop:
call:	call	f
jump:	jmp	ind_call
	nop
ind_call:
	call	*%rbx
ind_jump:
	jmp	*%rbp
	nop
after:	test	$1, %r12b
skip:	jz	even
	nop
even:	dec	%r12d
back:	jnz	loop

	mov	$CALLS, %r12d
syscalls:
	mov	$NR_getppid, %eax
syscall:
	syscall
	dec	%r12d
sys_back:
	jnz	syscalls

	mov	$LOOPS, %r12d
deep:	mov	$LEVELS, %ecx
deep_call:
	call	level
	dec	%r12d
deep_back:
	jnz	deep

	mov	$NR_exit_group, %eax
	xor	%edi, %edi
	syscall

f:	ret

	/* The call's target is not in the order of the code. */
ind_f:	ret

level:
leaf_1:	call	leaf
	dec	%ecx
last:	jz	leaf_2
inner:	call	level
leaf_2:	call	leaf
level_ret:
	ret

leaf:	ret
