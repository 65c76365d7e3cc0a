/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CPU PMUs of the Arm architectures: the framework that their drivers build on.
 *
 * The framework finds the devices (device tree, ACPI), requests their interrupts, follows CPUs
 * through hotplug and power-down, and turns struct pmu's callbacks into the smaller ones of struct
 * arm_pmu. A driver that would rather serve the core directly replaces the members of arm_pmu::pmu
 * that it wants to; PMUv3 does, for the sake of the context switch.
 */
#ifndef __ARM_PMU_H__
#define __ARM_PMU_H__

#include <linux/interrupt.h>
#include <linux/perf_event.h>
#include <linux/platform_device.h>
#include <linux/sysfs.h>
#include <asm/cputype.h>

#ifdef CONFIG_ARM_PMU

/* Counters of the largest PMU: 31 event counters, cycles and, on arm64 only, instructions. */
#ifdef CONFIG_ARM64
# define ARMPMU_MAX_HWEVENTS	33
#else
# define ARMPMU_MAX_HWEVENTS	32
#endif

/* hw_perf_event::flags. Width of the counter; without any of them it is 32 bits. */
#define ARMPMU_EVT_64BIT	0x00001
#define ARMPMU_EVT_47BIT	0x00002
#define ARMPMU_EVT_63BIT	0x00004
/* It overflowed while it was being stopped, and nobody has been told yet. */
#define ARMPMU_EVT_OVERDUE	0x00008
/* The bits that a driver may use for itself. */
#define ARMPMU_EVT_DRIVER	0x0ffff000

/* Event maps: what no hardware event stands for. */
#define HW_OP_UNSUPPORTED	0xFFFF
#define CACHE_OP_UNSUPPORTED	0xFFFF

/* Index into a cache map: C(L1D), C(OP_READ), C(RESULT_MISS). */
#define C(_x)			PERF_COUNT_HW_CACHE_##_x

/* First line of an event map; the lines after it override it. */
#define PERF_MAP_ALL_UNSUPPORTED						\
	[0 ... PERF_COUNT_HW_MAX - 1] = HW_OP_UNSUPPORTED

#define PERF_CACHE_MAP_ALL_UNSUPPORTED						\
	[0 ... C(MAX) - 1][0 ... C(OP_MAX) - 1][0 ... C(RESULT_MAX) - 1] =	\
		CACHE_OP_UNSUPPORTED

/**
 * struct pmu_hw_events - which events have which counters of a CPU
 * @events: event on each counter; NULL for none
 * @used_mask: counters given away. Usually the same as the non-NULL ones of @events, but how its
 *	bits are used is up to arm_pmu::get_event_idx.
 * @asleep: counters whose events the framework has stopped for the time of a power-down
 */
struct pmu_hw_events {
	struct perf_event	*events[ARMPMU_MAX_HWEVENTS];
	DECLARE_BITMAP(used_mask, ARMPMU_MAX_HWEVENTS);
	DECLARE_BITMAP(asleep, ARMPMU_MAX_HWEVENTS);
};

/* arm_pmu::attr_groups: which group stands where. The framework fills in COMMON. */
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
 * struct arm_pmu - a kind of CPU PMU, on all the CPUs that have it
 *
 * Callbacks that take an event or a pmu_hw_events run on the CPU concerned with interrupts off.
 * Those marked (add) are used by the framework's own pmu::add and friends only.
 *
 * @pmu: what perf's core sees
 * @supported_cpus: CPUs that have this PMU; grows as they come up, on ACPI systems
 * @name: name in sysfs
 * @pmuver: version field of the ID register, on PMUv3
 * @handle_irq: the overflow interrupt; may be an NMI
 * @enable: (add) let the counter of an event run
 * @disable: (add) stop it
 * @get_event_idx: (add) claim a counter for an event: its index or -EAGAIN; no hardware access
 * @clear_event_idx: (add) give it back
 * @set_event_filter: translate exclude_* of the attr to hw_perf_event::config_base; 0 or -errno.
 *	NULL: the PMU cannot filter.
 * @read_counter: (add) value of an event's counter
 * @write_counter: (add) and set it
 * @start: (add) let the PMU as a whole run
 * @stop: (add) halt it
 * @reset: put the PMU of this CPU into a known state with nothing running; argument is the arm_pmu
 * @map_event: number of the hardware event for an event's attr; -ENOENT, -EINVAL
 * @power_down: this CPU will lose its registers: bring events up to date and stop them. NULL: the
 *	framework stops the events in @hw_events one by one.
 * @power_up: its registers have been reset: put the events back
 * @cntr_mask: counters there are
 * @secure_access: registers of the secure side can be reached (32-bit)
 * @threaded: its cores run several threads, on PMUv3
 * @pmceid_bitmap: common events 0x0-0x3f that the hardware counts
 * @pmceid_ext_bitmap: common events 0x4000-0x403f that it counts
 * @plat_device: device it was probed from; NULL on ACPI systems
 * @hw_events: per CPU, what is on its counters; for drivers that use the framework's pmu::add
 * @node: in the list of the hotplug state
 * @cpu_pm_nb: told about power-down
 * @attr_groups: sysfs, see enum armpmu_attr_groups; NULL-terminated
 * @reg_pmmir: PMMIR_EL1, on PMUv3
 * @acpi_cpuid: MIDR_EL1 of its CPUs, on ACPI systems
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
 * struct pmu_probe_info - how to tell a PMU by the CPU's identification
 * @cpuid: wanted value of MIDR under @mask
 * @mask: bits that matter; 0 ends a table
 * @init: fills in struct arm_pmu; runs on such a CPU
 */
struct pmu_probe_info {
	unsigned int		cpuid;
	unsigned int		mask;
	armpmu_init_fn		init;
};

#define PMU_PROBE(_id, _bits, _init)	{ .cpuid = (_id), .mask = (_bits), .init = (_init) }

/* By part number, and, for XScale, by implementer and architecture version. */
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
void kvm_host_pmu_init(struct arm_pmu *pmu);
#else
# define kvm_host_pmu_init(pmu)		do { } while (0)
#endif

bool arm_pmu_irq_is_nmi(void);

struct arm_pmu *armpmu_alloc(void);
void armpmu_free(struct arm_pmu *pmu);
int  armpmu_register(struct arm_pmu *pmu);
int  armpmu_request_irq(int irq, int cpu);
void armpmu_free_irq(int irq, int cpu);

#define ARMV8_PMU_PDEV_NAME	"armv8-pmu"
#endif /* CONFIG_ARM_PMU */

/* Platform devices that the ACPI side creates for the profiling extension and the trace buffer. */
#define ARMV8_SPE_PDEV_NAME	"arm,spe-v1"
#define ARMV8_TRBE_PDEV_NAME	"arm,trbe"

/*
 * Fields of perf_event_attr::config*. A driver says where one lies by three macros,
 *	ATTR_CFG_FLD_<name>_CFG (config, config1, ...), ATTR_CFG_FLD_<name>_LO and _HI (its bits),
 * and gets its sysfs format file and its value by name.
 */
#define __GEN_PMU_FORMAT_ATTR(cfg, lo, hi)					\
	(lo) == (hi) ? #cfg ":" #lo "\n" : #cfg ":" #lo "-" #hi

/* The step between expands the three macros. */
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
