/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Framework for the drivers of CPU PMUs of the Arm architectures.
 *
 * The framework finds the devices (device tree, ACPI), requests their interrupts, handles CPU
 * hotplug and power-down, and implements struct pmu's add/del callbacks by the register-level
 * callbacks of struct arm_pmu. A driver may replace members of arm_pmu::pmu by its own: PMUv3
 * implements sched_assign, sched_load and sched_save, which make a context switch cheaper.
 */
#ifndef __ARM_PMU_H__
#define __ARM_PMU_H__

#include <linux/interrupt.h>
#include <linux/perf_event.h>
#include <linux/platform_device.h>
#include <linux/sysfs.h>
#include <asm/cputype.h>

#ifdef CONFIG_ARM_PMU

/* Most counters a PMU has: 31 event counters, the cycle counter, on arm64 PMICNTR_EL0 too. */
#ifdef CONFIG_ARM64
# define ARMPMU_MAX_HWEVENTS	33
#else
# define ARMPMU_MAX_HWEVENTS	32
#endif

/* hw_perf_event::flags: width of the event's counter; 32 bits if none of these is set. */
#define ARMPMU_EVT_64BIT	0x00001
#define ARMPMU_EVT_47BIT	0x00002
#define ARMPMU_EVT_63BIT	0x00004
/* The period ended while the event was being stopped; the overflow has not been handled yet. */
#define ARMPMU_EVT_OVERDUE	0x00008
/* Bits of hw_perf_event::flags that belong to the driver. */
#define ARMPMU_EVT_DRIVER	0x0ffff000

/* Entry of an event map that no hardware event corresponds to. */
#define HW_OP_UNSUPPORTED	0xFFFF
#define CACHE_OP_UNSUPPORTED	0xFFFF

/* Indices of a cache map, for example C(L1D), C(OP_READ), C(RESULT_MISS). */
#define C(_x)			PERF_COUNT_HW_CACHE_##_x

/* First initializer of an event map; later initializers override it. */
#define PERF_MAP_ALL_UNSUPPORTED						\
	[0 ... PERF_COUNT_HW_MAX - 1] = HW_OP_UNSUPPORTED

#define PERF_CACHE_MAP_ALL_UNSUPPORTED						\
	[0 ... C(MAX) - 1][0 ... C(OP_MAX) - 1][0 ... C(RESULT_MAX) - 1] =	\
		CACHE_OP_UNSUPPORTED

/**
 * struct pmu_hw_events - events on the counters of one CPU
 * @events: event on each counter, by counter index; NULL if there is none
 * @used_mask: allocated counters. arm_pmu::get_event_idx and clear_event_idx define what a bit
 *	means; usually a bit is set where @events is not NULL.
 * @suspended: counters of the events that the framework stopped for a power-down
 *
 * Accessed by the CPU of the counters with interrupts off, and by the overflow handler, which may
 * be an NMI.
 */
struct pmu_hw_events {
	struct perf_event	*events[ARMPMU_MAX_HWEVENTS];
	DECLARE_BITMAP(used_mask, ARMPMU_MAX_HWEVENTS);
	DECLARE_BITMAP(suspended, ARMPMU_MAX_HWEVENTS);
};

/* Indices of arm_pmu::attr_groups. The framework fills in COMMON. */
enum armpmu_attr_groups {
	ARMPMU_ATTR_GROUP_COMMON,
	ARMPMU_ATTR_GROUP_EVENTS,
	ARMPMU_ATTR_GROUP_FORMATS,
	ARMPMU_ATTR_GROUP_CAPS,
	ARMPMU_NR_ATTR_GROUPS
};

#define ARMV8_PMUV3_MAX_COMMON_EVENTS		0x40
#define ARMV8_PMUV3_EXT_COMMON_EVENT_BASE	0x4000

/**
 * struct arm_pmu - the PMU of all CPUs of one type
 *
 * Callbacks that take an event or a pmu_hw_events run on the CPU concerned with interrupts off.
 * Callbacks marked (add/del) are called by the framework's own pmu::add, del, start, stop, read,
 * pmu_enable and pmu_disable only.
 *
 * @pmu: the PMU as registered with the perf core
 * @supported_cpus: CPUs with this PMU. On ACPI systems a CPU is added when first online.
 * @name: name in sysfs
 * @pmuver: PMUv3: ID_AA64DFR0_EL1.PMUVer
 * @handle_irq: handle the overflow interrupt; interrupt or NMI context
 * @enable: (add/del) start the counter of an event
 * @disable: (add/del) stop the counter of an event
 * @get_event_idx: (add/del) allocate a counter for an event in @used_mask; index of the counter or
 *	-EAGAIN. Must not access the hardware.
 * @clear_event_idx: (add/del) free the counter of an event
 * @set_event_filter: translate the attr's exclude_* bits to hw_perf_event::config_base; 0 or
 *	-errno. NULL if the PMU has no filters.
 * @read_counter: (add/del) value of an event's counter
 * @write_counter: (add/del) set the value of an event's counter
 * @start: (add/del) start the PMU as a whole
 * @stop: (add/del) stop the PMU as a whole
 * @reset: reset the PMU of this CPU, so that no counter runs; the argument is the struct arm_pmu.
 *	Interrupts are off.
 * @map_event: number of the hardware event that an event's attr selects; -ENOENT or -EINVAL
 * @power_down: update and stop the events of this CPU, which is about to lose the registers.
 *	Default: the framework stops each event in @hw_events.
 * @power_up: start the events of this CPU again, after @reset or after a power-down that failed
 * @cntr_mask: implemented counters, by counter index
 * @secure_access: 32-bit: the registers of the secure side are accessible
 * @threaded: PMUv3: a core of this type runs more than one hardware thread
 * @pmceid_bitmap: PMUv3: implemented common events 0x0-0x3f
 * @pmceid_ext_bitmap: PMUv3: implemented common events 0x4000-0x403f
 * @plat_device: device that was probed; NULL on ACPI systems
 * @hw_events: per-CPU state of the framework's pmu::add and del
 * @node: entry in the list of CPU hotplug state CPUHP_AP_PERF_ARM_STARTING
 * @cpu_pm_nb: CPU power management notifier
 * @attr_groups: sysfs attributes, by enum armpmu_attr_groups; NULL-terminated
 * @reg_pmmir: PMUv3: PMMIR_EL1
 * @acpi_cpuid: ACPI: MIDR_EL1 of the CPUs of this type
 */
struct arm_pmu {
	struct pmu			pmu;
	cpumask_t			supported_cpus;
	char				*name;
	int				pmuver;
	irqreturn_t			(*handle_irq)(struct arm_pmu *pmu);
	void				(*enable)(struct perf_event *event);
	void				(*disable)(struct perf_event *event);
	int				(*get_event_idx)(struct pmu_hw_events *hw_events,
							 struct perf_event *event);
	void				(*clear_event_idx)(struct pmu_hw_events *hw_events,
							   struct perf_event *event);
	int				(*set_event_filter)(struct hw_perf_event *evt,
							    struct perf_event_attr *attr);
	u64				(*read_counter)(struct perf_event *event);
	void				(*write_counter)(struct perf_event *event, u64 val);
	void				(*start)(struct arm_pmu *pmu);
	void				(*stop)(struct arm_pmu *pmu);
	void				(*reset)(void *arm_pmu);
	int				(*map_event)(struct perf_event *event);
	void				(*power_down)(struct arm_pmu *pmu);
	void				(*power_up)(struct arm_pmu *pmu);
	DECLARE_BITMAP(cntr_mask, ARMPMU_MAX_HWEVENTS);
	bool				secure_access;
	bool				threaded;
	DECLARE_BITMAP(pmceid_bitmap, ARMV8_PMUV3_MAX_COMMON_EVENTS);
	DECLARE_BITMAP(pmceid_ext_bitmap, ARMV8_PMUV3_MAX_COMMON_EVENTS);
	struct platform_device		*plat_device;
	struct pmu_hw_events __percpu	*hw_events;
	struct hlist_node		node;
	struct notifier_block		cpu_pm_nb;
	const struct attribute_group	*attr_groups[ARMPMU_NR_ATTR_GROUPS + 1];
	u64				reg_pmmir;
	unsigned long			acpi_cpuid;
};

#define to_arm_pmu(p)		container_of(p, struct arm_pmu, pmu)

typedef int (*armpmu_init_fn)(struct arm_pmu *pmu);

/**
 * struct pmu_probe_info - a PMU that is identified by the CPU's MIDR
 * @cpuid: value that MIDR & @mask must have
 * @mask: bits of MIDR to compare; 0 in the last entry of a table
 * @init: initializes struct arm_pmu; called on a matching CPU with preemption disabled
 */
struct pmu_probe_info {
	unsigned int		cpuid;
	unsigned int		mask;
	armpmu_init_fn		init;
};

#define PMU_PROBE(_id, _bits, _init)	{ .cpuid = (_id), .mask = (_bits), .init = (_init) }

/* A match by part number; for XScale by implementer and architecture version. */
#define ARM_PMU_PROBE(_id, _init)	PMU_PROBE(_id, ARM_CPU_PART_MASK, _init)
#define ARM_PMU_XSCALE_MASK	((0xff << 24) | ARM_CPU_XSCALE_ARCH_MASK)
#define XSCALE_PMU_PROBE(_version, _init)					\
	PMU_PROBE((_version) | (ARM_CPU_IMP_INTEL << 24), ARM_PMU_XSCALE_MASK, _init)

u64 armpmu_event_update(struct perf_event *event);
int armpmu_event_set_period(struct perf_event *event);
int armpmu_map_event(struct perf_event *event,
		     const unsigned int (*event_map)[PERF_COUNT_HW_MAX],
		     const unsigned int (*cache_map)[C(MAX)][C(OP_MAX)][C(RESULT_MAX)],
		     u32 raw_event_mask);

int arm_pmu_device_probe(struct platform_device *pdev, const struct of_device_id *of_table,
			 const struct pmu_probe_info *probe_table);

#ifdef CONFIG_ACPI
int arm_pmu_acpi_probe(armpmu_init_fn init_fn);
#else
static inline int arm_pmu_acpi_probe(armpmu_init_fn init_fn)	{ return 0; }
#endif

#ifdef CONFIG_KVM
/**
 * kvm_host_pmu_init - make a PMU available to KVM
 * @pmu: PMU that is registered with the perf core
 *
 * KVM ignores a PMU that is no PMUv3, and one for which there is no memory.
 *
 * Context: process context; may sleep. Takes a mutex of KVM.
 */
void kvm_host_pmu_init(struct arm_pmu *pmu);
#else
static inline void kvm_host_pmu_init(struct arm_pmu *pmu)	{ }
#endif

bool arm_pmu_irq_is_nmi(void);

struct arm_pmu *armpmu_alloc(void);
void armpmu_free(struct arm_pmu *pmu);
int  armpmu_register(struct arm_pmu *pmu);
int  armpmu_request_irq(int irq, int cpu);
void armpmu_free_irq(int irq, int cpu);

#define ARMV8_PMU_PDEV_NAME	"armv8-pmu"
#endif /* CONFIG_ARM_PMU */

/* Platform devices for SPE and TRBE, which arm_pmu_acpi.c creates. */
#define ARMV8_SPE_PDEV_NAME	"arm,spe-v1"
#define ARMV8_TRBE_PDEV_NAME	"arm,trbe"

/*
 * Fields of perf_event_attr::config*. A driver defines a field by three macros:
 *	ATTR_CFG_FLD_<name>_CFG		the member: config, config1, ...
 *	ATTR_CFG_FLD_<name>_LO, _HI	its lowest and highest bit
 * GEN_PMU_FORMAT_ATTR(name) makes the sysfs format file, ATTR_CFG_GET_FLD(attr, name) is the value.
 */
#define __GEN_PMU_FORMAT_ATTR(cfg, lo, hi)					\
	(lo) == (hi) ? #cfg ":" #lo "\n" : #cfg ":" #lo "-" #hi

/* Expands the three macros before they become strings. */
#define _GEN_PMU_FORMAT_ATTR(cfg, lo, hi)	__GEN_PMU_FORMAT_ATTR(cfg, lo, hi)

#define GEN_PMU_FORMAT_ATTR(name)						\
	PMU_FORMAT_ATTR(name, _GEN_PMU_FORMAT_ATTR(ATTR_CFG_FLD_##name##_CFG,	\
						   ATTR_CFG_FLD_##name##_LO,	\
						   ATTR_CFG_FLD_##name##_HI))

#define _ATTR_CFG_GET_FLD(attr, cfg, lo, hi)					\
	(((attr)->cfg & GENMASK_ULL(hi, lo)) >> (lo))

#define ATTR_CFG_GET_FLD(attr, name)						\
	_ATTR_CFG_GET_FLD(attr, ATTR_CFG_FLD_##name##_CFG,			\
			  ATTR_CFG_FLD_##name##_LO, ATTR_CFG_FLD_##name##_HI)

#endif /* __ARM_PMU_H__ */
