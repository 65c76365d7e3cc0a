// SPDX-License-Identifier: GPL-2.0
/*
 * Which PMU an Intel processor has, from CPUID and the model number.
 */
#include <linux/cpufeature.h>
#include <linux/init.h>
#include <asm/cpu_device_id.h>
#include <asm/intel-family.h>
#include <asm/perf_event_p4.h>

#include "../arch.h"
#include "models.h"

#define MODEL(_vfm, _table)	X86_MATCH_VFM(INTEL_##_vfm, &_table##_model)

/* Parts whose number is not here count what CPUID promises. */
static const struct x86_cpu_id models[] __initconst = {
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
	MODEL(ATOM_AIRMONT, silvermont), MODEL(ATOM_AIRMONT_NP, silvermont),
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
 * struct hybrid_models - the two kinds of core of a hybrid part
 * @name: in sysfs' caps/pmu_name of both
 * @big: tables of the big cores
 * @small: tables of the small ones
 */
struct hybrid_models {
	const char		*name;
	const struct x86_model	*big;
	const struct x86_model	*small;
};

static const struct hybrid_models alderlake __initconst = {
	"alderlake_hybrid", &goldencove_model, &gracemont_model
};
static const struct hybrid_models meteorlake __initconst = {
	"meteorlake_hybrid", &redwoodcove_model, &crestmont_model
};
static const struct hybrid_models lunarlake __initconst = {
	"lunarlake_hybrid", &lioncove_model, &skymont_model
};

#define HYBRID(_vfm, _models)	X86_MATCH_VFM(INTEL_##_vfm, &_models)

static const struct x86_cpu_id hybrids[] __initconst = {
	HYBRID(ALDERLAKE, alderlake), HYBRID(ALDERLAKE_L, alderlake),
	HYBRID(RAPTORLAKE, alderlake), HYBRID(RAPTORLAKE_P, alderlake),
	HYBRID(RAPTORLAKE_S, alderlake),
	HYBRID(METEORLAKE, meteorlake), HYBRID(METEORLAKE_L, meteorlake),
	HYBRID(ARROWLAKE_U, meteorlake),
	HYBRID(LUNARLAKE_M, lunarlake), HYBRID(ARROWLAKE, lunarlake),
	HYBRID(ARROWLAKE_H, lunarlake),
	{ }
};

static const struct x86_model * __init pick_model(unsigned int version)
{
	const struct x86_cpu_id *id = x86_match_cpu(models);

	if (id)
		return (const struct x86_model *)id->driver_data;
	if (version >= 5)
		return &x86_model_arch_v5;
	return version >= 2 ? &x86_model_arch_v2 : &x86_model_arch_v1;
}

/* ------------------------------------------------------------------ hybrid parts */

/* CPUID.1AH:EAX[31:24]; the bits below tell which core of that kind it is. */
#define KIND_SMALL	0x20

/**
 * intel_hybrid_counters - the counters of a CPU of a hybrid part
 * @model: its tables
 * @leaf: CPUID.0AH
 * @guest: a hypervisor has said what there is
 *
 * Alder and Raptor Lake name those that both kinds of core have: 6 general and 3 fixed ones. By the
 * event file ADL the big cores have 8 and 4.
 */
u64 intel_hybrid_counters(const struct x86_model *model, const struct x86_arch_leaf *leaf, bool guest)
{
	u64 counters = x86_arch_counters(leaf);

	if (model == &goldencove_model && !guest)
		counters |= FIRST(8) | X86_FIXED(3);
	return counters;
}

/**
 * intel_core_takes - can a CPU of the right kind be driven as that PMU?
 * @core: the PMU, which is what its first CPU was
 * @native: the CPU's CPUID.1AH:EAX
 * @counters: the CPU's counters
 *
 * One of another make is left alone (Arrow Lake H has two small ones, Skymont and Crestmont), and one
 * that lacks a counter: an event on it would be an exception.
 */
bool intel_core_takes(struct x86_core *core, u32 native, u64 counters)
{
	if (!core->native) {
		core->native = native;
		core->counters = counters;
	}
	return core->native == native && !(core->counters & ~counters);
}

/**
 * intel_core_is_here - does this CPU have that PMU?
 * @core: one of a hybrid part's: the first is the big cores', the second the small ones'
 *
 * The counters of a kind are known for certain only once a CPU of that kind runs; this one is it.
 */
bool intel_core_is_here(struct x86_core *core)
{
	u32 native = cpuid_eax(0x1a);
	bool small = native >> 24 == KIND_SMALL;
	struct x86_arch_leaf leaf;

	if (core != &x86_cores[small])
		return false;
	x86_arch_read_leaf(&leaf);
	return intel_core_takes(core, native, intel_hybrid_counters(core->model, &leaf,
								    boot_cpu_has(X86_FEATURE_HYPERVISOR)));
}

/* Those whose number is in neither list are newer: each kind has what CPUID promises. */
static const struct hybrid_models unknown __initconst = {
	NULL, &x86_model_arch_v5, &x86_model_arch_v5
};

static const struct hybrid_models * __init pick_hybrid(const struct x86_cpu_id *id)
{
	if (!boot_cpu_has(X86_FEATURE_HYBRID_CPU))
		return NULL;
	if (id)
		return (const struct hybrid_models *)id->driver_data;
	return x86_match_cpu(models) ? NULL : &unknown;
}

static void __init hybrid_setup(const struct hybrid_models *models, const struct x86_arch_leaf *leaf)
{
	x86_arch_setup(&x86_cores[0], leaf, models->big);
	x86_arch_setup(&x86_cores[1], leaf, models->small);
	x86_cores[0].part = x86_cores[1].part = models->name;
	x86_nr_cores = 2;
}

/* -------------------------------------------------------------------- all others */

/*
 * P6: two counters of 40 bits, of which writes set 32; bit 22 of the first select enables both, a
 * select without an event counts nothing.
 */
static const struct x86_hw p6 __initconst = {
	.name		= "P6 registers",
	X86_HW_REGISTERS(MSR_P6_EVNTSEL0, MSR_P6_PERFCTR0, 1),
	.idle		= ARCH_PERFMON_EVENTSEL_ENABLE,
	.ack_lvt	= true,
	.late_nmi	= true,
};

static int __init p6_setup(struct x86_core *core)
{
	core->model = &p6_model;
	core->counters = FIRST(2);
	core->width = 40;
	core->write_bits = 32;
	core->select_mask = X86_RAW_EVENT_MASK;
	x86_hw = p6;
	x86_nr_cores = 1;
	return 0;
}

/* Counters of 40 bits, all of which a write sets; firmware may have them switched off altogether. */
static const struct x86_hw netburst __initconst = {
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

static int __init p4_setup(struct x86_core *core)
{
	u64 misc;

	if (rdmsrl_safe(MSR_IA32_MISC_ENABLE, &misc) || !(misc & MSR_IA32_MISC_ENABLE_EMON))
		return -ENODEV;
	core->model = &p4_model;
	core->counters = p4_counters_of_thread(__max_threads_per_core);
	core->width = ARCH_P4_CNTRVAL_BITS;
	core->write_bits = ARCH_P4_CNTRVAL_BITS;
	core->select_mask = P4_CONFIG_MASK;
	x86_hw = netburst;
	x86_nr_cores = 1;
	/* RDPMC reads what the other thread counts, too: that it may has to be said. */
	if (__max_threads_per_core > 1)
		x86_set_rdpmc_mode(0);
	return 0;
}

/* Parts from before CPUID told of the counters. */
static int __init early_setup(struct x86_core *core)
{
	switch (boot_cpu_data.x86) {
	case 6:
		return p6_setup(core);
	case 15:
		return p4_setup(core);
	default:
		return -ENODEV;
	}
}

/**
 * intel_counters_beside_rtm - the counters that microcode leaves alone
 * @counters: the counters there are
 * @rtm: transactions work, by the microcode that has TSX_FORCE_ABORT to make them fail
 *
 * White paper 604224, "Performance Monitoring Impact of Intel Transactional Synchronization
 * Extension Memory Ordering Issue": from Skylake to Coffee Lake it then uses counter 3.
 */
u64 intel_counters_beside_rtm(u64 counters, bool rtm)
{
	return rtm ? counters & ~BIT_ULL(3) : counters;
}

/**
 * intel_pmu_detect - fill x86_hw and x86_cores
 *
 * Return: 0, -ENODEV.
 */
int __init intel_pmu_detect(void)
{
	const struct x86_cpu_id *id = x86_match_cpu(hybrids);
	const struct hybrid_models *hybrid = pick_hybrid(id);
	struct x86_arch_leaf leaf;
	bool rtm;

	if (!boot_cpu_has(X86_FEATURE_ARCH_PERFMON))
		return early_setup(&x86_cores[0]);

	x86_arch_read_leaf(&leaf);
	if (!leaf.eax.split.version_id || !leaf.eax.split.num_counters)
		return -ENODEV;

	if (hybrid) {
		hybrid_setup(hybrid, &leaf);
		return 0;
	}
	/* With the small cores switched off, a hybrid part is an ordinary one. */
	x86_arch_setup(&x86_cores[0], &leaf,
		       id ? ((const struct hybrid_models *)id->driver_data)->big
			  : pick_model(leaf.eax.split.version_id));
	rtm = boot_cpu_has(X86_FEATURE_TSX_FORCE_ABORT) && boot_cpu_has(X86_FEATURE_RTM);
	x86_cores[0].counters = intel_counters_beside_rtm(x86_cores[0].counters, rtm);
	x86_nr_cores = 1;
	return 0;
}
