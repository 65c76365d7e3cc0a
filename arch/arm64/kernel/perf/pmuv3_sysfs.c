// SPDX-License-Identifier: GPL-2.0
/*
 * PMUv3: sysfs attributes: implemented common events, fields of perf_event_attr, and parameters of
 * the implementation from PMMIR_EL1.
 */
#include <linux/device.h>
#include <linux/sysfs.h>

#include "pmuv3.h"

/* ------------------------------------------------------------------------ events */

static ssize_t pmuv3_event_show(struct device *dev, struct device_attribute *attr, char *page)
{
	struct perf_pmu_events_attr *event = container_of(attr, struct perf_pmu_events_attr, attr);

	return sysfs_emit(page, "event=0x%04llx\n", event->id);
}

#define EVENT(name, number)	PMU_EVENT_ATTR_ID(name, pmuv3_event_show, number)
#define COMMON(name, NAME)	EVENT(name, ARMV8_PMUV3_PERFCTR_##NAME)
#define SPE(name, NAME)		EVENT(name, ARMV8_SPE_PERFCTR_##NAME)
#define AMU(name, NAME)		EVENT(name, ARMV8_AMU_PERFCTR_##NAME)
#define MTE(name, NAME)		EVENT(name, ARMV8_MTE_PERFCTR_##NAME)

/* By event number. Without CHAIN, which pmuv3_event_init() refuses. */
static struct attribute *pmuv3_event_attrs[] = {
	COMMON(sw_incr, SW_INCR),
	COMMON(l1i_cache_refill, L1I_CACHE_REFILL),
	COMMON(l1i_tlb_refill, L1I_TLB_REFILL),
	COMMON(l1d_cache_refill, L1D_CACHE_REFILL),
	COMMON(l1d_cache, L1D_CACHE),
	COMMON(l1d_tlb_refill, L1D_TLB_REFILL),
	COMMON(ld_retired, LD_RETIRED),
	COMMON(st_retired, ST_RETIRED),
	COMMON(inst_retired, INST_RETIRED),
	COMMON(exc_taken, EXC_TAKEN),
	COMMON(exc_return, EXC_RETURN),
	COMMON(cid_write_retired, CID_WRITE_RETIRED),
	COMMON(pc_write_retired, PC_WRITE_RETIRED),
	COMMON(br_immed_retired, BR_IMMED_RETIRED),
	COMMON(br_return_retired, BR_RETURN_RETIRED),
	COMMON(unaligned_ldst_retired, UNALIGNED_LDST_RETIRED),
	COMMON(br_mis_pred, BR_MIS_PRED),
	COMMON(cpu_cycles, CPU_CYCLES),
	COMMON(br_pred, BR_PRED),
	COMMON(mem_access, MEM_ACCESS),
	COMMON(l1i_cache, L1I_CACHE),
	COMMON(l1d_cache_wb, L1D_CACHE_WB),
	COMMON(l2d_cache, L2D_CACHE),
	COMMON(l2d_cache_refill, L2D_CACHE_REFILL),
	COMMON(l2d_cache_wb, L2D_CACHE_WB),
	COMMON(bus_access, BUS_ACCESS),
	COMMON(memory_error, MEMORY_ERROR),
	COMMON(inst_spec, INST_SPEC),
	COMMON(ttbr_write_retired, TTBR_WRITE_RETIRED),
	COMMON(bus_cycles, BUS_CYCLES),
	COMMON(l1d_cache_allocate, L1D_CACHE_ALLOCATE),
	COMMON(l2d_cache_allocate, L2D_CACHE_ALLOCATE),
	COMMON(br_retired, BR_RETIRED),
	COMMON(br_mis_pred_retired, BR_MIS_PRED_RETIRED),
	COMMON(stall_frontend, STALL_FRONTEND),
	COMMON(stall_backend, STALL_BACKEND),
	COMMON(l1d_tlb, L1D_TLB),
	COMMON(l1i_tlb, L1I_TLB),
	COMMON(l2i_cache, L2I_CACHE),
	COMMON(l2i_cache_refill, L2I_CACHE_REFILL),
	COMMON(l3d_cache_allocate, L3D_CACHE_ALLOCATE),
	COMMON(l3d_cache_refill, L3D_CACHE_REFILL),
	COMMON(l3d_cache, L3D_CACHE),
	COMMON(l3d_cache_wb, L3D_CACHE_WB),
	COMMON(l2d_tlb_refill, L2D_TLB_REFILL),
	COMMON(l2i_tlb_refill, L2I_TLB_REFILL),
	COMMON(l2d_tlb, L2D_TLB),
	COMMON(l2i_tlb, L2I_TLB),
	COMMON(remote_access, REMOTE_ACCESS),
	COMMON(ll_cache, LL_CACHE),
	COMMON(ll_cache_miss, LL_CACHE_MISS),
	COMMON(dtlb_walk, DTLB_WALK),
	COMMON(itlb_walk, ITLB_WALK),
	COMMON(ll_cache_rd, LL_CACHE_RD),
	COMMON(ll_cache_miss_rd, LL_CACHE_MISS_RD),
	COMMON(remote_access_rd, REMOTE_ACCESS_RD),
	COMMON(l1d_cache_lmiss_rd, L1D_CACHE_LMISS_RD),
	COMMON(op_retired, OP_RETIRED),
	COMMON(op_spec, OP_SPEC),
	COMMON(stall, STALL),
	COMMON(stall_slot_backend, STALL_SLOT_BACKEND),
	COMMON(stall_slot_frontend, STALL_SLOT_FRONTEND),
	COMMON(stall_slot, STALL_SLOT),
	SPE(sample_pop, SAMPLE_POP),
	SPE(sample_feed, SAMPLE_FEED),
	SPE(sample_filtrate, SAMPLE_FILTRATE),
	SPE(sample_collision, SAMPLE_COLLISION),
	AMU(cnt_cycles, CNT_CYCLES),
	AMU(stall_backend_mem, STALL_BACKEND_MEM),
	COMMON(l1i_cache_lmiss, L1I_CACHE_LMISS),
	COMMON(l2d_cache_lmiss_rd, L2D_CACHE_LMISS_RD),
	COMMON(l2i_cache_lmiss, L2I_CACHE_LMISS),
	COMMON(l3d_cache_lmiss_rd, L3D_CACHE_LMISS_RD),
	COMMON(trb_wrap, TRB_WRAP),
	COMMON(trb_trig, TRB_TRIG),
	COMMON(trcextout0, TRCEXTOUT0),
	COMMON(trcextout1, TRCEXTOUT1),
	COMMON(trcextout2, TRCEXTOUT2),
	COMMON(trcextout3, TRCEXTOUT3),
	COMMON(cti_trigout4, CTI_TRIGOUT4),
	COMMON(cti_trigout5, CTI_TRIGOUT5),
	COMMON(cti_trigout6, CTI_TRIGOUT6),
	COMMON(cti_trigout7, CTI_TRIGOUT7),
	COMMON(ldst_align_lat, LDST_ALIGN_LAT),
	COMMON(ld_align_lat, LD_ALIGN_LAT),
	COMMON(st_align_lat, ST_ALIGN_LAT),
	MTE(mem_access_checked, MEM_ACCESS_CHECKED),
	MTE(mem_access_checked_rd, MEM_ACCESS_CHECKED_RD),
	MTE(mem_access_checked_wr, MEM_ACCESS_CHECKED_WR),
	NULL
};

static umode_t pmuv3_event_visible(struct kobject *kobj, struct attribute *attr, int i)
{
	const struct arm_pmu *armpmu = armpmu_of_dev(kobj_to_dev(kobj));
	const struct perf_pmu_events_attr *event =
		container_of(attr, struct perf_pmu_events_attr, attr.attr);
	const unsigned long *implemented = armpmu->pmceid_bitmap;
	u64 bit = event->id;

	if (bit >= ARMV8_PMUV3_EXT_COMMON_EVENT_BASE) {
		implemented = armpmu->pmceid_ext_bitmap;
		bit -= ARMV8_PMUV3_EXT_COMMON_EVENT_BASE;
	}
	return bit < ARMV8_PMUV3_MAX_COMMON_EVENTS && test_bit(bit, implemented) ? attr->mode : 0;
}

const struct attribute_group pmuv3_events_group = {
	.name		= "events",
	.attrs		= pmuv3_event_attrs,
	.is_visible	= pmuv3_event_visible,
};

/* ------------------------------------------------------------------------ format */

GEN_PMU_FORMAT_ATTR(event);
GEN_PMU_FORMAT_ATTR(long);
GEN_PMU_FORMAT_ATTR(rdpmc);
GEN_PMU_FORMAT_ATTR(threshold_count);
GEN_PMU_FORMAT_ATTR(threshold_compare);
GEN_PMU_FORMAT_ATTR(threshold);

static struct attribute *pmuv3_format_attrs[] = {
	&format_attr_event.attr,
	&format_attr_long.attr,
	&format_attr_rdpmc.attr,
	&format_attr_threshold.attr,
	&format_attr_threshold_compare.attr,
	&format_attr_threshold_count.attr,
	NULL
};

const struct attribute_group pmuv3_format_group = {
	.name	= "format",
	.attrs	= pmuv3_format_attrs,
};

/* -------------------------------------------------------------------------- caps */

static ssize_t slots_show(struct device *dev, struct device_attribute *attr, char *page)
{
	u32 slots = FIELD_GET(ARMV8_PMU_SLOTS, armpmu_of_dev(dev)->reg_pmmir);

	return sysfs_emit(page, "0x%08x\n", slots);
}
static DEVICE_ATTR_RO(slots);

static ssize_t bus_slots_show(struct device *dev, struct device_attribute *attr, char *page)
{
	u32 slots = FIELD_GET(ARMV8_PMU_BUS_SLOTS, armpmu_of_dev(dev)->reg_pmmir);

	return sysfs_emit(page, "0x%08x\n", slots);
}
static DEVICE_ATTR_RO(bus_slots);

/**
 * pmuv3_bus_width - width of the bus that BUS_ACCESS counts transfers on
 * @armpmu: PMU
 *
 * Context: any.
 * Return: bytes, 4 to 2048; 0 if PMMIR_EL1 does not have the width. The values 1, 2 and 13 to 15 of
 * the field are reserved.
 */
u32 pmuv3_bus_width(const struct arm_pmu *armpmu)
{
	u32 width = FIELD_GET(ARMV8_PMU_BUS_WIDTH, armpmu->reg_pmmir);

	return width >= 3 && width <= 12 ? BIT(width - 1) : 0;
}

static ssize_t bus_width_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "0x%08x\n", pmuv3_bus_width(armpmu_of_dev(dev)));
}
static DEVICE_ATTR_RO(bus_width);

static ssize_t threshold_max_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "0x%08x\n", pmuv3_threshold_max(armpmu_of_dev(dev)));
}
static DEVICE_ATTR_RO(threshold_max);

static struct attribute *pmuv3_caps_attrs[] = {
	&dev_attr_slots.attr,
	&dev_attr_bus_slots.attr,
	&dev_attr_bus_width.attr,
	&dev_attr_threshold_max.attr,
	NULL
};

const struct attribute_group pmuv3_caps_group = {
	.name	= "caps",
	.attrs	= pmuv3_caps_attrs,
};
