// SPDX-License-Identifier: GPL-2.0
/*
 * Properties of an address in a sample: PHYS_ADDR, DATA_PAGE_SIZE, CODE_PAGE_SIZE.
 *
 * Context: any, NMI included. No locks: page tables are not freed while interrupts are off, because
 * they are freed after an IPI or a grace period.
 */
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#include "output.h"

static bool addr_is_user(unsigned long addr)
{
	return addr < TASK_SIZE;
}

/* Returns 0 for user memory that is not present. */
static u64 addr_user_to_phys(unsigned long addr)
{
	struct page *page;
	u64 phys = 0;

	pagefault_disable();
	if (get_user_page_fast_only(addr, 0, &page)) {
		phys = page_to_phys(page) + offset_in_page(addr);
		put_page(page);
	}
	pagefault_enable();
	return phys;
}

/**
 * perf_addr_to_phys - translate a virtual address
 * @addr: address of the current task or the kernel
 *
 * Context: any, NMI included
 * Return: the physical address, 0 if it is not known
 */
u64 perf_addr_to_phys(unsigned long addr)
{
	void *ptr = (void *)addr;

	if (!addr)
		return 0;
	if (addr_is_user(addr))
		return is_user_task(current) ? addr_user_to_phys(addr) : 0;
	if (is_vmalloc_or_module_addr(ptr) || !virt_addr_valid(ptr))
		return 0;
	return virt_to_phys(ptr);
}

#ifdef CONFIG_HAVE_GUP_FAST

static u64 addr_size_below_pmd(pmd_t pmd, unsigned long addr)
{
	pte_t *table = pte_offset_map(&pmd, addr);
	u64 size = 0;
	pte_t pte;

	if (!table)
		return 0;
	/* For sparse: pte_offset_map() has no annotation, pte_unmap() has one. */
	__acquire(RCU);
	pte = ptep_get_lockless(table);
	if (pte_present(pte))
		size = __pte_leaf_size(pmd, pte);
	pte_unmap(table);
	return size;
}

static u64 addr_size_below_pud(pud_t *pudp, pud_t pud, unsigned long addr)
{
	pmd_t pmd = pmdp_get_lockless(pmd_offset_lockless(pudp, pud, addr));

	if (!pmd_present(pmd))
		return 0;
	return pmd_leaf(pmd) ? pmd_leaf_size(pmd) : addr_size_below_pmd(pmd, addr);
}

static u64 addr_size_below_p4d(p4d_t *p4dp, p4d_t p4d, unsigned long addr)
{
	pud_t *pudp = pud_offset_lockless(p4dp, p4d, addr);
	pud_t pud = READ_ONCE(*pudp);

	if (!pud_present(pud))
		return 0;
	return pud_leaf(pud) ? pud_leaf_size(pud) : addr_size_below_pud(pudp, pud, addr);
}

static u64 addr_mapping_size(struct mm_struct *mm, unsigned long addr)
{
	pgd_t *pgdp = pgd_offset(mm, addr);
	pgd_t pgd = READ_ONCE(*pgdp);
	p4d_t *p4dp, p4d;

	if (pgd_none(pgd) || pgd_bad(pgd))
		return 0;
	p4dp = p4d_offset_lockless(pgdp, pgd, addr);
	p4d = READ_ONCE(*p4dp);
	if (!p4d_present(p4d))
		return 0;
	return p4d_leaf(p4d) ? p4d_leaf_size(p4d) : addr_size_below_p4d(p4dp, p4d, addr);
}

#else

static u64 addr_mapping_size(struct mm_struct *mm, unsigned long addr)
{
	return 0;
}

#endif

/**
 * perf_addr_page_size - find the size of the page that maps an address
 * @addr: address of the current task or the kernel
 *
 * Context: any, NMI included
 * Return: bytes, 0 if @addr is not mapped
 */
u64 perf_addr_page_size(unsigned long addr)
{
	struct mm_struct *mm = addr_is_user(addr) ? current->mm : &init_mm;

	if (!addr || !mm)
		return 0;
	guard(perf_irqs)();
	return addr_mapping_size(mm, addr);
}
