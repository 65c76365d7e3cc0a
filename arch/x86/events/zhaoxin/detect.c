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

/* In the order of enum perf_hw_id. */
static const u64 zxc_generic[] = {
	0x0082, 0x00c0, 0x0515, 0x051a, 0, 0, 0x0083, 0, 0, 0
};

static const u64 zxd_generic[] = {
	0x0082, 0x00c0, 0x0515, 0x051a, 0x0700, 0x0709, 0x0083, 0, 0, 0
};

static const u64 zxe_generic[] = {
	0x0082, 0x00c0, 0x0515, 0x051a, 0x0028, 0x0029, 0x0083, 0, 0, 0
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
	.flags		= X86_MODEL_CODE_0,
};

const struct x86_model zxe_model = {
	.name		= "zxe",
	.manual		= "KX-6000 performance events",
	.generic	= zxe_generic,
	.flags		= X86_MODEL_CODE_0,
};

/* ZX-C is family 6, the later processors are family 7. */
static const struct x86_model * __init zhaoxin_pick_model(void)
{
	if (boot_cpu_data.x86 == 6)
		return &zxc_model;
	return boot_cpu_data.x86_model == 0x1b ? &zxd_model : &zxe_model;
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
	struct archperf_leaf leaf;

	if (!boot_cpu_has(X86_FEATURE_ARCH_PERFMON))
		return -ENODEV;
	archperf_read_leaf(&leaf);
	if (leaf.eax.split.version_id < 2 || !leaf.eax.split.num_counters)
		return -ENODEV;

	archperf_setup(&x86_pmus[0], &leaf, zhaoxin_pick_model());
	x86_pmu_regs.ack_while_on = boot_cpu_data.x86 == 6;
	x86_nr_pmus = 1;
	return 0;
}
