// SPDX-License-Identifier: GPL-2.0
/*
 * The PMU's directory in sysfs: format, events, caps and rdpmc.
 *
 * Tools parse these files: names and texts are user interface. All PMUs have the same attribute
 * groups; the is_visible callbacks hide the files that do not apply to a PMU.
 */
#include <linux/cpu.h>
#include <linux/device.h>
#include <linux/export.h>
#include <linux/kstrtox.h>
#include <linux/sched/smt.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "branch.h"
#include "pmu.h"

/* As __ATTR() for reading, with the name as a string. */
#define X86_SYSFS_ATTR(_name, _show)	{ .attr = { .name = _name, .mode = 0444 }, .show = _show }

static struct x86_pmu *x86_sysfs_pmu(struct device *dev)
{
	return to_x86_pmu(dev_get_drvdata(dev));
}

static struct x86_pmu *x86_sysfs_kobj_pmu(struct kobject *kobj)
{
	return x86_sysfs_pmu(kobj_to_dev(kobj));
}

/* --------------------------------------------------------------------- format */

/**
 * struct format_attr - a file of the format directory
 * @attr: attribute of the file
 * @text: content of the file: position of the field in perf_event_attr
 * @flag: X86_MODEL_* or FORMAT_* that makes the file visible
 */
struct format_attr {
	struct device_attribute	attr;
	const char		*text;
	u32			flag;
};

#define FORMAT_UMASK16	BIT(20)		/* umask has 16 bits */
#define FORMAT_EQ	BIT(21)
#define FORMAT_ANY	BIT(22)
#define FORMAT_TX	BIT(23)
#define FORMAT_EVENT8	BIT(24)		/* the event code has 8 bits */
#define FORMAT_EVENT12	BIT(25)		/* the event code has 12 bits */
#define FORMAT_UMASK8	BIT(26)		/* umask has 8 bits */
#define FORMAT_OFFCORE	BIT(27)
#define FORMAT_FRONTEND	BIT(28)
#define FORMAT_SNOOP	BIT(29)
#define FORMAT_PC	BIT(30)
#define FORMAT_SELECT	BIT(31)		/* a selection is an event select register */

static ssize_t x86_format_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "%s\n", container_of(attr, struct format_attr, attr)->text);
}

#define FORMAT(_name, _id, _text, _flag)				\
static struct format_attr format_##_id = {				\
	.attr	= X86_SYSFS_ATTR(_name, x86_format_show),		\
	.text	= _text,						\
	.flag	= _flag,						\
}

FORMAT("event", event8, "config:0-7", FORMAT_EVENT8);
FORMAT("event", event12, "config:0-7,32-35", FORMAT_EVENT12);
FORMAT("umask", umask8, "config:8-15", FORMAT_UMASK8);
FORMAT("umask", umask16, "config:8-15,40-47", FORMAT_UMASK16);
FORMAT("edge", edge, "config:18", FORMAT_SELECT);
FORMAT("pc", pc, "config:19", FORMAT_PC);
FORMAT("any", any, "config:21", FORMAT_ANY);
FORMAT("inv", inv, "config:23", FORMAT_SELECT);
FORMAT("cmask", cmask, "config:24-31", FORMAT_SELECT);
FORMAT("in_tx", in_tx, "config:32", FORMAT_TX);
FORMAT("in_tx_cp", in_tx_cp, "config:33", FORMAT_TX);
FORMAT("eq", eq, "config:36", FORMAT_EQ);
FORMAT("offcore_rsp", offcore_rsp, "config1:0-63", FORMAT_OFFCORE);
FORMAT("ldlat", ldlat, "config1:0-15", X86_MODEL_LDLAT);
FORMAT("frontend", frontend, "config1:0-23", FORMAT_FRONTEND);
FORMAT("snoop_rsp", snoop_rsp, "config1:0-63", FORMAT_SNOOP);
FORMAT("cccr", cccr, "config:0-31", X86_MODEL_NETBURST);
FORMAT("escr", escr, "config:32-62", X86_MODEL_NETBURST);
FORMAT("ht", ht, "config:63", X86_MODEL_NETBURST);

static struct attribute *format_attrs[] = {
	&format_event8.attr.attr, &format_event12.attr.attr, &format_umask8.attr.attr,
	&format_umask16.attr.attr, &format_edge.attr.attr, &format_pc.attr.attr,
	&format_any.attr.attr, &format_inv.attr.attr, &format_cmask.attr.attr,
	&format_in_tx.attr.attr, &format_in_tx_cp.attr.attr, &format_eq.attr.attr,
	&format_offcore_rsp.attr.attr, &format_ldlat.attr.attr, &format_frontend.attr.attr,
	&format_snoop_rsp.attr.attr, &format_cccr.attr.attr, &format_escr.attr.attr,
	&format_ht.attr.attr,
	NULL,
};

static u32 x86_format_extra_flag(const struct x86_pmu *xpmu, u8 id, u32 flag)
{
	const struct x86_extra *x = xpmu->model->extra;

	for (; x && x->mask; x++)
		if (x->id == id)
			return flag;
	return 0;
}

static u32 x86_format_flags(const struct x86_pmu *xpmu)
{
	u32 flags = xpmu->model->flags;

	if (flags & X86_MODEL_NETBURST)
		return flags;
	flags |= FORMAT_SELECT;
	flags |= xpmu->select_mask & GENMASK_ULL(35, 34) ? FORMAT_EVENT12 : FORMAT_EVENT8;
	flags |= xpmu->select_mask & ARCH_PERFMON_EVENTSEL_UMASK2 ? FORMAT_UMASK16 : FORMAT_UMASK8;
	if (xpmu->select_mask & ARCH_PERFMON_EVENTSEL_EQ)
		flags |= FORMAT_EQ;
	if (xpmu->select_mask & ARCH_PERFMON_EVENTSEL_ANY)
		flags |= FORMAT_ANY;
	if (flags & X86_MODEL_TSX && xpmu->select_mask & HSW_IN_TX)
		flags |= FORMAT_TX;
	/* Tools expect the file, although the bit is ignored. */
	if (boot_cpu_data.x86_vendor == X86_VENDOR_INTEL)
		flags |= FORMAT_PC;
	flags |= x86_format_extra_flag(xpmu, X86_EXTRA_OFFCORE_0, FORMAT_OFFCORE);
	flags |= x86_format_extra_flag(xpmu, X86_EXTRA_FRONTEND, FORMAT_FRONTEND);
	flags |= x86_format_extra_flag(xpmu, X86_EXTRA_SNOOP_0, FORMAT_SNOOP);
	return flags;
}

static umode_t x86_format_visible(struct kobject *kobj, struct attribute *attr, int i)
{
	struct format_attr *f = container_of(attr, struct format_attr, attr.attr);

	return f->flag & x86_format_flags(x86_sysfs_kobj_pmu(kobj)) ? attr->mode : 0;
}

static const struct attribute_group format_group = {
	.name		= "format",
	.attrs		= format_attrs,
	.is_visible	= x86_format_visible,
};

/* --------------------------------------------------------------------- events */

/* Writes a selection in the form that perf parses. */
static ssize_t x86_sysfs_emit_select(char *page, u64 config)
{
	u64 code = (config & ARCH_PERFMON_EVENTSEL_EVENT) | (config >> 24 & 0xf00);
	u64 umask = (config >> 8 & 0xff) | (config >> 32 & 0xff00);
	ssize_t len = sysfs_emit(page, "event=0x%02llx", code);

	if (config & (ARCH_PERFMON_EVENTSEL_UMASK | ARCH_PERFMON_EVENTSEL_UMASK2))
		len += sysfs_emit_at(page, len, ",umask=0x%02llx", umask);
	if (config & ARCH_PERFMON_EVENTSEL_EDGE)
		len += sysfs_emit_at(page, len, ",edge");
	if (config & ARCH_PERFMON_EVENTSEL_PIN_CONTROL)
		len += sysfs_emit_at(page, len, ",pc");
	if (config & ARCH_PERFMON_EVENTSEL_ANY)
		len += sysfs_emit_at(page, len, ",any");
	if (config & ARCH_PERFMON_EVENTSEL_INV)
		len += sysfs_emit_at(page, len, ",inv");
	if (config & ARCH_PERFMON_EVENTSEL_CMASK)
		len += sysfs_emit_at(page, len, ",cmask=0x%02llx", config >> 24 & 0xff);
	return len + sysfs_emit_at(page, len, "\n");
}

static ssize_t x86_sysfs_emit_event(char *page, const struct x86_pmu *xpmu, unsigned int id)
{
	u64 config = x86_generic_select(xpmu, id);

	if (!(xpmu->model->flags & X86_MODEL_NETBURST))
		return x86_sysfs_emit_select(page, config);
	return sysfs_emit(page, "cccr=0x%08x,escr=0x%08x\n", lower_32_bits(config),
			  upper_32_bits(config));
}

/**
 * events_sysfs_show - show an event's text, or the selection of a generic event
 * @dev: device of the PMU
 * @attr: attribute in a struct perf_pmu_events_attr
 * @page: output buffer
 *
 * Context: process, may sleep.
 * Return: length of the output in bytes
 */
ssize_t events_sysfs_show(struct device *dev, struct device_attribute *attr, char *page)
{
	struct perf_pmu_events_attr *e = container_of(attr, struct perf_pmu_events_attr, attr);

	if (e->event_str)
		return sysfs_emit(page, "%s\n", e->event_str);
	return x86_sysfs_emit_event(page, x86_sysfs_pmu(dev), e->id);
}
EXPORT_SYMBOL_GPL(events_sysfs_show);

/**
 * events_hybrid_sysfs_show - show the text of an event of a hybrid part
 * @dev: device of the PMU
 * @attr: attribute in a struct perf_pmu_events_hybrid_attr
 * @page: output buffer
 *
 * Context: process, may sleep.
 * Return: length of the output in bytes
 */
ssize_t events_hybrid_sysfs_show(struct device *dev, struct device_attribute *attr, char *page)
{
	struct perf_pmu_events_hybrid_attr *e =
		container_of(attr, struct perf_pmu_events_hybrid_attr, attr);

	return sysfs_emit(page, "%s\n", e->event_str);
}
EXPORT_SYMBOL_GPL(events_hybrid_sysfs_show);

static struct perf_pmu_events_attr generic_events[] = {
#define EVENT(_name, _id)						\
	{								\
		.attr	= X86_SYSFS_ATTR(_name, events_sysfs_show),	\
		.id	= PERF_COUNT_HW_##_id,				\
	}
	EVENT("cpu-cycles", CPU_CYCLES),
	EVENT("instructions", INSTRUCTIONS),
	EVENT("cache-references", CACHE_REFERENCES),
	EVENT("cache-misses", CACHE_MISSES),
	EVENT("branch-instructions", BRANCH_INSTRUCTIONS),
	EVENT("branch-misses", BRANCH_MISSES),
	EVENT("bus-cycles", BUS_CYCLES),
	EVENT("stalled-cycles-frontend", STALLED_CYCLES_FRONTEND),
	EVENT("stalled-cycles-backend", STALLED_CYCLES_BACKEND),
	EVENT("ref-cycles", REF_CPU_CYCLES),
#undef EVENT
};

static struct attribute *generic_attrs[ARRAY_SIZE(generic_events) + 1];

static umode_t x86_generic_event_visible(struct kobject *kobj, struct attribute *attr, int i)
{
	struct perf_pmu_events_attr *e = container_of(attr, struct perf_pmu_events_attr, attr.attr);

	return x86_generic_select(x86_sysfs_kobj_pmu(kobj), e->id) ? attr->mode : 0;
}

static const struct attribute_group generic_group = {
	.name		= "events",
	.attrs		= generic_attrs,
	.is_visible	= x86_generic_event_visible,
};

/* Events of the model: one list for each PMU, filled by x86_sysfs_setup(). */
static struct attribute *model_event_attrs[ARRAY_SIZE(x86_pmus)][32];

/* Called when CPUs are online: the counters of each kind of core are known. */
static umode_t x86_model_event_mode(const struct x86_pmu *xpmu, int i)
{
	const struct x86_sysfs_event *e = &xpmu->model->sysfs_events[i];

	/* With SMT these events count both threads, which needs the any bit. */
	if (e->smt_text && cpu_smt_possible() && !(xpmu->select_mask & ARCH_PERFMON_EVENTSEL_ANY))
		return 0;
	if ((e->branches && !xpmu->branches) || (e->precise && !xpmu->max_precise) ||
	    (e->metrics && !xpmu->metrics))
		return 0;
	return !(e->needs & ~xpmu->select_mask) && x86_rule_counters(xpmu, e->config) ? 0444 : 0;
}

static ssize_t x86_model_event_show(struct device *dev, struct device_attribute *attr, char *page)
{
	struct perf_pmu_events_ht_attr *e =
		container_of(attr, struct perf_pmu_events_ht_attr, attr);

	return sysfs_emit(page, "%s\n", sched_smt_active() ? e->event_str_ht : e->event_str_noht);
}

static umode_t x86_model_event_visible_0(struct kobject *kobj, struct attribute *attr, int i)
{
	return x86_sysfs_kobj_pmu(kobj) == &x86_pmus[0] ? x86_model_event_mode(&x86_pmus[0], i) : 0;
}

static umode_t x86_model_event_visible_1(struct kobject *kobj, struct attribute *attr, int i)
{
	return x86_sysfs_kobj_pmu(kobj) == &x86_pmus[1] ? x86_model_event_mode(&x86_pmus[1], i) : 0;
}

static const struct attribute_group model_event_groups[ARRAY_SIZE(x86_pmus)] = {
	{
		.name		= "events",
		.attrs		= model_event_attrs[0],
		.is_visible	= x86_model_event_visible_0,
	},
	{
		.name		= "events",
		.attrs		= model_event_attrs[1],
		.is_visible	= x86_model_event_visible_1,
	},
};

static int x86_sysfs_add_model_events(struct x86_pmu *xpmu)
{
	const struct x86_sysfs_event *e = xpmu->model->sysfs_events;
	struct attribute **list = model_event_attrs[xpmu - x86_pmus];
	struct perf_pmu_events_ht_attr *a;

	for (; e && e->name; e++) {
		if (WARN_ON_ONCE(list == &model_event_attrs[xpmu - x86_pmus][31]))
			break;
		a = kzalloc(sizeof(*a), GFP_KERNEL);
		if (!a)
			return -ENOMEM;
		sysfs_attr_init(&a->attr.attr);
		a->attr.attr.name = e->name;
		a->attr.attr.mode = 0444;
		a->attr.show = x86_model_event_show;
		a->event_str_noht = e->text;
		a->event_str_ht = e->smt_text ?: e->text;
		*list++ = &a->attr.attr;
	}
	return 0;
}

/* ----------------------------------------------------------------- caps, rdpmc */

static ssize_t pmu_name_show(struct device *dev, struct device_attribute *attr, char *page)
{
	const struct x86_pmu *xpmu = x86_sysfs_pmu(dev);

	return sysfs_emit(page, "%s\n", xpmu->part ?: xpmu->model->name);
}
static DEVICE_ATTR_RO(pmu_name);

/* The highest precise_ip. */
static ssize_t max_precise_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "%u\n", x86_sysfs_pmu(dev)->max_precise);
}
static DEVICE_ATTR_RO(max_precise);

/* Number of entries in a branch record. */
static ssize_t branches_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "%u\n", x86_sysfs_pmu(dev)->branches->depth);
}
static DEVICE_ATTR_RO(branches);

/* Number of events with a count in a branch record, and bits of a count. */
static ssize_t branch_counter_nr_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "%u\n", hweight8(x86_sysfs_pmu(dev)->branches->counters));
}
static DEVICE_ATTR_RO(branch_counter_nr);

static ssize_t branch_counter_width_show(struct device *dev, struct device_attribute *attr,
					 char *page)
{
	return sysfs_emit(page, "%u\n", LBR_INFO_BR_CNTR_BITS);
}
static DEVICE_ATTR_RO(branch_counter_width);

static struct attribute *caps_attrs[] = {
	&dev_attr_pmu_name.attr,
	&dev_attr_max_precise.attr,
	&dev_attr_branches.attr,
	&dev_attr_branch_counter_nr.attr,
	&dev_attr_branch_counter_width.attr,
	NULL,
};

static umode_t x86_caps_visible(struct kobject *kobj, struct attribute *attr, int i)
{
	const struct x86_branches *b = x86_sysfs_kobj_pmu(kobj)->branches;

	if (attr == &dev_attr_branches.attr)
		return b ? attr->mode : 0;
	if (attr == &dev_attr_branch_counter_nr.attr ||
	    attr == &dev_attr_branch_counter_width.attr)
		return b && b->counters ? attr->mode : 0;
	return attr->mode;
}

static const struct attribute_group caps_group = {
	.name		= "caps",
	.attrs		= caps_attrs,
	.is_visible	= x86_caps_visible,
};

static ssize_t rdpmc_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "%u\n", x86_rdpmc_mode);
}

static ssize_t rdpmc_store(struct device *dev, struct device_attribute *attr,
			   const char *text, size_t count)
{
	unsigned long mode;
	int ret = kstrtoul(text, 0, &mode);

	if (!ret)
		ret = x86_set_rdpmc_mode(mode);
	return ret ?: count;
}
static DEVICE_ATTR_RW(rdpmc);

static ssize_t cpus_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return cpumap_print_to_pagebuf(true, page, &x86_sysfs_pmu(dev)->cpus);
}
static DEVICE_ATTR_RO(cpus);

static struct attribute *top_attrs[] = {
	&dev_attr_rdpmc.attr,
	&dev_attr_cpus.attr,
	NULL,
};

/* Only PMUs that some CPUs do not have show their CPUs. */
static umode_t x86_top_visible(struct kobject *kobj, struct attribute *attr, int i)
{
	if (attr == &dev_attr_cpus.attr && x86_nr_pmus == 1)
		return 0;
	return attr == &dev_attr_rdpmc.attr ? 0600 : attr->mode;
}

static const struct attribute_group top_group = {
	.attrs		= top_attrs,
	.is_visible	= x86_top_visible,
};

const struct attribute_group *x86_attr_groups[] = {
	&top_group,
	&format_group,
	&generic_group,
	&caps_group,
	NULL,
};

const struct attribute_group *x86_attr_update[] = {
	&model_event_groups[0],
	&model_event_groups[1],
#ifdef CONFIG_CPU_SUP_INTEL
	&intel_smi_group,
	&intel_tfa_group,
#endif
	NULL,
};

/**
 * x86_sysfs_setup - set the attribute groups of a PMU
 * @xpmu: PMU that is not registered yet
 *
 * Context: process, may sleep.
 * Return: 0, -ENOMEM
 */
int x86_sysfs_setup(struct x86_pmu *xpmu)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(generic_events); i++)
		generic_attrs[i] = &generic_events[i].attr.attr;
	xpmu->pmu.attr_groups = x86_attr_groups;
	xpmu->pmu.attr_update = x86_attr_update;
	return x86_sysfs_add_model_events(xpmu);
}
