/* SPDX-License-Identifier: GPL-2.0 */
/* Code of known instructions, loads and stores, for unit-pebs.c. */
	.section .note.GNU-stack, "", @progbits
	.text

/*
 * Writes walk_on to GLOBAL_CTRL (EDX is walk_on_high), executes walk_rounds rounds of 6
 * instructions, and writes 0. Round n, from 0 on, loads from walk_from + n * walk_stride, and
 * stores to walk_to likewise.
 */
	.globl	walk, walk_load, walk_store, walk_next, walk_back, walk_end
walk:
	push	%esi
	push	%edi
	push	%ebx
	push	%ebp
	mov	walk_from, %esi
	mov	walk_to, %edi
	mov	walk_stride, %ebx
	mov	walk_rounds, %ebp
	mov	$0x38f, %ecx
	mov	walk_on, %eax
	mov	walk_on_high, %edx
	wrmsr
walk_load:
	mov	(%esi), %eax
walk_store:
	mov	%eax, (%edi)
walk_next:
	add	%ebx, %esi
	add	%ebx, %edi
	dec	%ebp
walk_back:
	jnz	walk_load
walk_end:
	xor	%eax, %eax
	xor	%edx, %edx
	wrmsr
	pop	%ebp
	pop	%ebx
	pop	%edi
	pop	%esi
	ret
