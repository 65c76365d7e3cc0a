/* SPDX-License-Identifier: GPL-2.0 */
/* Code of known instructions for unit-ibs.c. */
	.section .note.GNU-stack, "", @progbits
	.text

/*
 * Writes ibs_value to ibs_msr, and executes ibs_rounds rounds of 9 instructions. Round n, from 0
 * on, loads from ibs_from + n * ibs_stride, stores to ibs_to likewise, and increments where it has
 * loaded from; it calls with the stack at ibs_stack.
 */
	.globl	ibs_walk, ibs_load, ibs_store, ibs_lock, ibs_next, ibs_back, ibs_end, ibs_ret
ibs_walk:
	push	%esi
	push	%edi
	push	%ebx
	push	%ebp
	mov	%esp, ibs_stack
	mov	ibs_from, %esi
	mov	ibs_to, %edi
	mov	ibs_stride, %ebx
	mov	ibs_rounds, %ebp
	mov	ibs_msr, %ecx
	mov	ibs_value, %eax
	mov	ibs_value + 4, %edx
	wrmsr
ibs_load:
	mov	(%esi), %eax
ibs_store:
	mov	%ax, (%edi)
ibs_lock:
	lock incl (%esi)
ibs_next:
	add	%ebx, %esi
	add	%ebx, %edi
	call	ibs_ret
	dec	%ebp
ibs_back:
	jnz	ibs_load
ibs_end:
	pop	%ebp
	pop	%ebx
	pop	%edi
	pop	%esi
ibs_ret:
	ret
