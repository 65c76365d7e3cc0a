// SPDX-License-Identifier: GPL-2.0
/*
 * Detection of the PMU of Intel processors, from CPUID and the model number.
 */
#include <linux/cpufeature.h>
#include <linux/init.h>
#include <asm/cpu_device_id.h>
#include <asm/intel-family.h>
#include <asm/perf_event_p4.h>

#include "../archperf.h"
#include "../topdown.h"
#include "models.h"

#define MODEL(_vfm, _table)	X86_MATCH_VFM(INTEL_##_vfm, &_table##_model)

/* Models that are not listed have the architectural events of CPUID. */
static const struct x86_cpu_id intel_models[] __initconst = {
	MODEL(CORE_YONAH, core),
	MODEL(CORE2_MEROM, core2), MODEL(CORE2_MEROM_L, core2),
	MODEL(CORE2_PENRYN, core2), MODEL(CORE2_DUNNINGTON, core2),
	MODEL(NEHALEM, nehalem), MODEL(NEHALEM_EP, nehalem), MODEL(NEHALEM_EX, nehalem),
	MODEL(WESTMERE, westmere), MODEL(WESTMERE_EP, westmere), MODEL(WESTMERE_EX, westmere),
	MODEL(SANDYBRIDGE, sandybridge), MODEL(SANDYBRIDGE_X, sandybridge_ep),
	MODEL(IVYBRIDGE, ivybridge), MODEL(IVYBRIDGE_X, ivybridge_ep),
	MODEL(HASWELL, haswell), MODEL(HASWELL_X, haswell),
	MODEL(HASWELL_L, haswell), MODEL(HASWELL_G, haswell),
	MODEL(BROADWELL, broadwell), MODEL(BROADWELL_G, broadwell),
	MODEL(BROADWELL_X, broadwell), MODEL(BROADWELL_D, broadwell),
	MODEL(SKYLAKE, skylake), MODEL(SKYLAKE_L, skylake), MODEL(SKYLAKE_X, skylake),
	MODEL(KABYLAKE, skylake), MODEL(KABYLAKE_L, skylake),
	MODEL(COMETLAKE, skylake), MODEL(COMETLAKE_L, skylake), MODEL(CANNONLAKE_L, skylake),
	MODEL(ICELAKE, icelake), MODEL(ICELAKE_L, icelake),
	MODEL(ICELAKE_X, icelake), MODEL(ICELAKE_D, icelake),
	MODEL(TIGERLAKE, icelake), MODEL(TIGERLAKE_L, icelake), MODEL(ROCKETLAKE, icelake),
	MODEL(SAPPHIRERAPIDS_X, goldencove_x), MODEL(EMERALDRAPIDS_X, goldencove_x),
	MODEL(GRANITERAPIDS_X, redwoodcove_x), MODEL(GRANITERAPIDS_D, redwoodcove_x),
	MODEL(ATOM_BONNELL, bonnell), MODEL(ATOM_BONNELL_MID, bonnell),
	MODEL(ATOM_SALTWELL, bonnell), MODEL(ATOM_SALTWELL_MID, bonnell),
	MODEL(ATOM_SALTWELL_TABLET, bonnell),
	MODEL(ATOM_SILVERMONT, silvermont), MODEL(ATOM_SILVERMONT_D, silvermont),
	MODEL(ATOM_SILVERMONT_MID, silvermont),
	MODEL(ATOM_AIRMONT, silvermont), MODEL(ATOM_AIRMONT_MID, silvermont),
	MODEL(ATOM_AIRMONT_NP, silvermont),
	MODEL(XEON_PHI_KNL, knl), MODEL(XEON_PHI_KNM, knl),
	MODEL(ATOM_GOLDMONT, goldmont), MODEL(ATOM_GOLDMONT_D, goldmont),
	MODEL(ATOM_GOLDMONT_PLUS, goldmont_plus),
	MODEL(ATOM_TREMONT, tremont), MODEL(ATOM_TREMONT_D, tremont),
	MODEL(ATOM_TREMONT_L, tremont),
	MODEL(ATOM_GRACEMONT, gracemont),
	MODEL(ATOM_CRESTMONT_X, crestmont), MODEL(ATOM_CRESTMONT, crestmont),
	{ }
};

/**
 * struct intel_hybrid_models - tables of a hybrid part
 * @name: content of caps/pmu_name in sysfs for both PMUs; NULL: the name of the tables
 * @big: tables of the big cores
 * @small: tables of the small cores
 */
struct intel_hybrid_models {
	const char		*name;
	const struct x86_model	*big;
	const struct x86_model	*small;
};

static const struct intel_hybrid_models alderlake __initconst = {
	"alderlake_hybrid", &goldencove_model, &gracemont_model
};

static const struct intel_hybrid_models meteorlake __initconst = {
	"meteorlake_hybrid", &redwoodcove_model, &crestmont_model
};

static const struct intel_hybrid_models lunarlake __initconst = {
	"lunarlake_hybrid", &lioncove_model, &skymont_model
};

#define HYBRID(_vfm, _models)	X86_MATCH_VFM(INTEL_##_vfm, &(_models))

static const struct x86_cpu_id intel_hybrids[] __initconst = {
	HYBRID(ALDERLAKE, alderlake), HYBRID(ALDERLAKE_L, alderlake),
	HYBRID(RAPTORLAKE, alderlake), HYBRID(RAPTORLAKE_P, alderlake),
	HYBRID(RAPTORLAKE_S, alderlake),
	HYBRID(METEORLAKE, meteorlake), HYBRID(METEORLAKE_L, meteorlake),
	HYBRID(ARROWLAKE_U, meteorlake),
	HYBRID(LUNARLAKE_M, lunarlake), HYBRID(ARROWLAKE, lunarlake),
	HYBRID(ARROWLAKE_H, lunarlake),
	{ }
};

static const struct x86_model * __init intel_pick_model(unsigned int version)
{
	const struct x86_cpu_id *id = x86_match_cpu(intel_models);

	if (id)
		return (const struct x86_model *)id->driver_data;
	if (version >= 5)
		return &x86_model_arch_v5;
	return version >= 2 ? &x86_model_arch_v2 : &x86_model_arch_v1;
}

/* ------------------------------------------------------------------ hybrid parts */

/* CPUID.1AH:EAX[31:24]; the bits below are the microarchitecture. */
#define KIND_SMALL	0x20

/**
 * intel_hybrid_counters - the counters of a CPU of a hybrid part
 * @model: tables of the kind of core
 * @leaf: values of CPUID on the CPU
 * @guest: CPUID is a hypervisor's
 *
 * CPUID of Alder and Raptor Lake has the counters that both kinds of core have: 6 general and 3
 * fixed counters. By the event file ADL the big cores have 8 and 4.
 *
 * Context: any.
 * Return: set of counters
 */
u64 intel_hybrid_counters(const struct x86_model *model, const struct archperf_leaf *leaf,
			  bool guest)
{
	u64 counters = archperf_counters(leaf);

	if (model == &goldencove_model && !guest)
		counters |= FIRST(8) | X86_FIXED(3);
	return counters;
}

/**
 * intel_pmu_accepts_cpu - can a CPU of the right kind of core use a PMU?
 * @xpmu: the PMU; the first CPU with this PMU sets x86_pmu::native and x86_pmu::counters
 * @native: CPUID.1AH:EAX of the CPU
 * @counters: set of counters of the CPU
 *
 * A CPU of another microarchitecture is not accepted (Arrow Lake H has two kinds of small cores,
 * Skymont and Crestmont). Neither is a CPU that lacks a counter: an access would raise #GP.
 *
 * Context: CPU hotplug, on the CPU concerned; one CPU at a time.
 * Return: true if the CPU can use the PMU
 */
bool intel_pmu_accepts_cpu(struct x86_pmu *xpmu, u32 native, u64 counters)
{
	if (!xpmu->native) {
		xpmu->native = native;
		xpmu->counters = counters;
	}
	return xpmu->native == native && !(xpmu->counters & ~counters);
}

/**
 * intel_pmu_is_here - does this CPU have a PMU?
 * @xpmu: PMU of a hybrid part: x86_pmus[0] of the big cores, x86_pmus[1] of the small cores
 *
 * CPUID of a CPU describes only the CPU's kind of core. The counters of a PMU are known when the
 * first CPU of the PMU calls this.
 *
 * Context: CPU hotplug, on the CPU concerned; one CPU at a time.
 * Return: true if @xpmu is the PMU of this CPU
 */
bool intel_pmu_is_here(struct x86_pmu *xpmu)
{
	u32 native = cpuid_eax(0x1a);
	bool small = native >> 24 == KIND_SMALL, first = !xpmu->native;
	struct archperf_leaf leaf;

	if (xpmu != &x86_pmus[small])
		return false;
	archperf_read_leaf(&leaf);
	if (!intel_pmu_accepts_cpu(xpmu, native,
				   intel_hybrid_counters(xpmu->model, &leaf,
							 boot_cpu_has(X86_FEATURE_HYPERVISOR))))
		return false;
	if (first)
		intel_pebs_setup(xpmu);
	return true;
}

/* Models in neither list are newer: each kind of core has the architectural events of CPUID. */
static const struct intel_hybrid_models hybrid_unknown __initconst = {
	NULL, &x86_model_arch_v5, &x86_model_arch_v5
};

static const struct intel_hybrid_models * __init intel_pick_hybrid(const struct x86_cpu_id *id)
{
	if (!boot_cpu_has(X86_FEATURE_HYBRID_CPU))
		return NULL;
	if (id)
		return (const struct intel_hybrid_models *)id->driver_data;
	return x86_match_cpu(intel_models) ? NULL : &hybrid_unknown;
}

static void __init intel_hybrid_setup(const struct intel_hybrid_models *models,
				      const struct archperf_leaf *leaf)
{
	archperf_setup(&x86_pmus[0], leaf, models->big);
	archperf_setup(&x86_pmus[1], leaf, models->small);
	x86_pmus[0].part = models->name;
	x86_pmus[1].part = models->name;
	intel_lbr_setup(&x86_pmus[0]);
	intel_lbr_setup(&x86_pmus[1]);
	intel_topdown_setup(&x86_pmus[0]);
	x86_nr_pmus = 2;
}

/* ------------------------------------------------------------------ other parts */

/*
 * P6: two counters of 40 bits, of which a write sets 32. Bit 22 of select 0 enables both counters.
 * A select of 0 counts nothing.
 */
static const struct x86_pmu_regs intel_regs_p6 __initconst = {
	.name		= "P6 registers",
	X86_PMU_REGS_COUNTERS(MSR_P6_EVNTSEL0, MSR_P6_PERFCTR0, 1),
	.idle		= ARCH_PERFMON_EVENTSEL_ENABLE,
	.ack_lvt	= true,
	.late_nmi	= true,
};

static int __init intel_p6_setup(struct x86_pmu *xpmu)
{
	/* Pentium Pro, erratum 26: no RDPMC in user mode. */
	if (boot_cpu_data.x86_model == 1 && boot_cpu_data.x86_stepping < 9)
		x86_set_rdpmc_mode(0);
	xpmu->model = &p6_model;
	xpmu->counters = FIRST(2);
	xpmu->width = 40;
	xpmu->write_bits = 32;
	xpmu->select_mask = X86_RAW_EVENT_MASK;
	x86_pmu_regs = intel_regs_p6;
	x86_nr_pmus = 1;
	return 0;
}

/* Counters of 40 bits, all of which a write sets. Firmware can have disabled the PMU. */
static const struct x86_pmu_regs intel_regs_netburst __initconst = {
	.name		= "NetBurst registers",
	.select		= MSR_P4_BPU_CCCR0,
	.counter	= MSR_P4_BPU_PERFCTR0,
	.counter_write	= MSR_P4_BPU_PERFCTR0,
	.step		= 1,
	.enable		= P4_CCCR_ENABLE,
	.interrupt	= P4_CCCR_OVF_PMI_T0,
	.ack_lvt	= true,
	.late_nmi	= true,
	.netburst	= true,
};

static int __init intel_p4_setup(struct x86_pmu *xpmu)
{
	u64 misc;

	if (rdmsrl_safe(MSR_IA32_MISC_ENABLE, &misc) || !(misc & MSR_IA32_MISC_ENABLE_EMON))
		return -ENODEV;
	xpmu->model = &p4_model;
	xpmu->counters = p4_counters_of_thread(__max_threads_per_core);
	xpmu->width = ARCH_P4_CNTRVAL_BITS;
	xpmu->write_bits = ARCH_P4_CNTRVAL_BITS;
	xpmu->select_mask = P4_CONFIG_MASK;
	x86_pmu_regs = intel_regs_netburst;
	x86_nr_pmus = 1;
	/* RDPMC can read counters of the other thread: an administrator has to allow it. */
	if (__max_threads_per_core > 1)
		x86_set_rdpmc_mode(0);
	return 0;
}

/* Processors without CPUID.0AH. */
static int __init intel_early_setup(struct x86_pmu *xpmu)
{
	switch (boot_cpu_data.x86) {
	case 6:
		return intel_p6_setup(xpmu);
	case 15:
		return intel_p4_setup(xpmu);
	default:
		return -ENODEV;
	}
}

/**
 * intel_pmu_detect - fill x86_pmu_regs and x86_pmus
 *
 * Context: initcall; may sleep.
 * Return: 0, -ENODEV
 */
int __init intel_pmu_detect(void)
{
	const struct x86_cpu_id *id = x86_match_cpu(intel_hybrids);
	const struct intel_hybrid_models *hybrid = intel_pick_hybrid(id);
	struct archperf_leaf leaf;

	if (!boot_cpu_has(X86_FEATURE_ARCH_PERFMON))
		return intel_early_setup(&x86_pmus[0]);

	archperf_read_leaf(&leaf);
	if (!leaf.eax.split.version_id || !leaf.eax.split.num_counters)
		return -ENODEV;

	if (hybrid) {
		intel_hybrid_setup(hybrid, &leaf);
		return 0;
	}
	/* A hybrid part with its small cores disabled has one PMU. */
	archperf_setup(&x86_pmus[0], &leaf,
		       id ? ((const struct intel_hybrid_models *)id->driver_data)->big
			  : intel_pick_model(leaf.eax.split.version_id));
	/* If transactions always abort, the microcode needs no counter (Intel, document 604224). */
	if (boot_cpu_has(X86_FEATURE_TSX_FORCE_ABORT) &&
	    !boot_cpu_has(X86_FEATURE_RTM_ALWAYS_ABORT))
		x86_pmus[0].rtm_counters = x86_pmus[0].counters & BIT_ULL(3);
	intel_lbr_setup(&x86_pmus[0]);
	intel_pebs_setup(&x86_pmus[0]);
	intel_topdown_setup(&x86_pmus[0]);
	x86_nr_pmus = 1;
	return 0;
}
