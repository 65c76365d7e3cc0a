/* SPDX-License-Identifier: GPL-2.0 */
/* Code of known branches, for unit-lbr.c. */
	.section .note.GNU-stack, "", @progbits
	.text

/*
 * Writes branchy_value to MSR branchy_msr (EDX is always 0), executes branchy_rounds rounds, and
 * writes 0. A round has 12 instructions if the conditional branch forward is taken, else 13.
 */
	.globl	branchy, br_loop, br_call, br_jmp, br_1, br_ind_call, br_ind_jmp, br_2, br_skip
	.globl	br_3, br_back, br_f, br_g
branchy:
	push	%esi
	push	%ebx
	mov	branchy_msr, %ecx
	mov	branchy_value, %eax
	xor	%edx, %edx
	mov	branchy_rounds, %esi
	wrmsr
br_loop:
br_call:
	call	br_f
br_jmp:	jmp	br_1
	nop
br_1:	mov	$br_g, %eax
br_ind_call:
	call	*%eax
	mov	$br_2, %eax
br_ind_jmp:
	jmp	*%eax
	nop
br_2:	test	$1, %esi
br_skip:
	jz	br_3
	nop
br_3:	dec	%esi
br_back:
	jnz	br_loop
	xor	%eax, %eax
	wrmsr
	pop	%ebx
	pop	%esi
	ret
br_f:	ret
br_g:	ret

/*
 * Writes nest_value to MSR nest_msr, nests nest_depth calls, of which the inmost writes 0, and
 * returns from all.
 */
	.globl	nest, nest_first, nest_more
nest:	push	%esi
	mov	nest_depth, %esi
	mov	nest_msr, %ecx
	mov	nest_value, %eax
	xor	%edx, %edx
	wrmsr
nest_first:
	call	nest_level
	xor	%eax, %eax
	wrmsr
	pop	%esi
	ret
nest_level:
	call	nest_next
nest_next:
	pop	%eax
	call	nest_leaf
	dec	%esi
	jz	nest_stop
nest_more:
	call	nest_level
nest_leaf:
	ret
nest_stop:
	xor	%eax, %eax
	wrmsr
	ret
