// SPDX-License-Identifier: GPL-2.0
/*
 * Zhaoxin and Centaur processors with architectural performance monitoring: ZX-C, ZX-D, ZX-E and
 * later.
 *
 * Manual: Zhaoxin KaiXian KX-5000/KX-6000 performance monitoring events, as published with the
 * processors' Linux support.
 */
#include <linux/cpufeature.h>
#include <linux/init.h>

#include "../archperf.h"
#include "models.h"

/* Cycles without an event of code 01H, umask 01H. */
#define ZX_STALLED_FRONTEND	(0x01000101 | ARCH_PERFMON_EVENTSEL_INV)	/* cmask 1 */
#define ZX_STALLED_BACKEND	0x040f

/* In the order of enum perf_hw_id. */
static const u64 zxc_generic[] = {
	0x0082, 0, 0, 0, 0, 0, 0, 0, 0, 0
};

static const u64 zxd_generic[] = {
	0x0082, 0x00c0, 0x0515, 0x051a, 0x0700, 0x0709, 0x0083, ZX_STALLED_FRONTEND,
	ZX_STALLED_BACKEND, 0
};

static const u64 zxe_generic[] = {
	0x0082, 0x00c0, 0x0515, 0x051a, 0x0028, 0x0029, 0x0083, ZX_STALLED_FRONTEND,
	ZX_STALLED_BACKEND, 0
};

const struct x86_model zxc_model = {
	.name		= "zxc",
	.manual		= "KX-5000 performance events",
	.generic	= zxc_generic,
};

const struct x86_model zxd_model = {
	.name		= "zxd",
	.manual		= "KX-5000 performance events",
	.generic	= zxd_generic,
};

const struct x86_model zxe_model = {
	.name		= "zxe",
	.manual		= "KX-6000 performance events",
	.generic	= zxe_generic,
};

/*
 * Family 6 has VIA Nano, too, with earlier steppings of model 15: it reports architectural
 * performance monitoring, and an access to a fixed counter faults.
 */
static const struct zhaoxin_part zhaoxin_parts[] = {
	{ 6, 0x0f, 0x0e, &zxc_model, 0 },
	{ 6, 0x19, 0, &zxc_model, 0 },
	{ 7, 0x1b, 0, &zxd_model, X86_FIXED(0) },
	{ 7, 0x3b, 0, &zxe_model, X86_FIXED(0) },
};

/**
 * zhaoxin_find_part - find what is known of a processor
 * @family: CPUID family
 * @number: CPUID model
 * @stepping: CPUID stepping
 *
 * Context: any.
 * Return: the processors of the same kind; NULL for a processor without a known PMU
 */
const struct zhaoxin_part *zhaoxin_find_part(unsigned int family, unsigned int number,
					     unsigned int stepping)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(zhaoxin_parts); i++) {
		const struct zhaoxin_part *part = &zhaoxin_parts[i];

		if (part->family == family && part->number == number && stepping >= part->stepping)
			return part;
	}
	return NULL;
}

/**
 * zhaoxin_pmu_detect - fill x86_pmu_regs and x86_pmus
 *
 * ZX-C clears bits of the status register only while counters are enabled.
 *
 * Context: initcall; may sleep.
 * Return: 0, -ENODEV
 */
int __init zhaoxin_pmu_detect(void)
{
	const struct zhaoxin_part *part = zhaoxin_find_part(boot_cpu_data.x86,
							    boot_cpu_data.x86_model,
							    boot_cpu_data.x86_stepping);
	struct archperf_leaf leaf;

	if (!part || !boot_cpu_has(X86_FEATURE_ARCH_PERFMON))
		return -ENODEV;
	archperf_read_leaf(&leaf);
	if (leaf.eax.split.version_id < 2 || !leaf.eax.split.num_counters)
		return -ENODEV;

	archperf_setup(&x86_pmus[0], &leaf, part->model);
	x86_pmus[0].counters &= X86_GENERAL_MASK | part->fixed;
	x86_pmu_regs.ack_while_on = boot_cpu_data.x86 == 6;
	x86_nr_pmus = 1;
	return 0;
}
