// SPDX-License-Identifier: GPL-2.0
/*
 * The PMUs: registering them and finding the one for an event.
 *
 * Locks: perf_pmus_lock (mutex) for changes of the list and of sysfs; readers of the list use
 * perf_pmus_srcu, because pmu::event_init may sleep.
 */
#include <linux/idr.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "context.h"

LIST_HEAD(perf_pmus);
DEFINE_MUTEX(perf_pmus_lock);
DEFINE_SRCU(perf_pmus_srcu);

/* Set by the engine before the first PMU comes; it owns the multiplexing timer. */
void (*perf_pmu_timer_setup)(struct perf_cpu_pmu_context *cpc, struct pmu *pmu);
void (*perf_pmu_interval_changed)(struct pmu *pmu);

static DEFINE_IDR(pmu_types);

static void pmu_nop(struct pmu *pmu) { }
static int pmu_nop_int(struct pmu *pmu) { return 0; }
static void pmu_nop_txn(struct pmu *pmu, unsigned int flags) { }
static int event_idx_none(struct perf_event *event) { return 0; }
static int check_period_any(struct perf_event *event, u64 value) { return 0; }

/* Callers need not ask whether a callback exists. */
static void pmu_fill_ops(struct pmu *pmu)
{
	pmu->pmu_enable = pmu->pmu_enable ?: pmu_nop;
	pmu->pmu_disable = pmu->pmu_disable ?: pmu_nop;
	pmu->start_txn = pmu->start_txn ?: pmu_nop_txn;
	pmu->commit_txn = pmu->commit_txn ?: pmu_nop_int;
	pmu->cancel_txn = pmu->cancel_txn ?: pmu_nop;
	pmu->event_idx = pmu->event_idx ?: event_idx_none;
	pmu->check_period = pmu->check_period ?: check_period_any;
}

static int pmu_alloc_type(int type)
{
	int start = type >= 0 ? type : PERF_TYPE_MAX;
	int end = type >= 0 ? type + 1 : 0;

	lockdep_assert_held(&perf_pmus_lock);
	return idr_alloc(&pmu_types, NULL, start, end, GFP_KERNEL);
}

/* The PMU context of a CPU's own context lives in the PMU's per-CPU data. */
void perf_pmu_cpc_init(struct pmu *pmu, struct perf_cpu_pmu_context *cpc, int cpu)
{
	struct perf_event_context *ctx = &per_cpu(perf_cpu_context, cpu).ctx;
	struct perf_event_pmu_context *epc = &cpc->epc;

	epc->pmu = pmu;
	epc->seq = 1;
	epc->sched_cpu = -1;
	INIT_LIST_HEAD(&epc->flexible);
	INIT_LIST_HEAD(&epc->pinned);
	INIT_LIST_HEAD(&epc->counter_entry);
	/* Never 0, which stands for "no CPU side"; different on every CPU. */
	cpc->side_seq = ((u64)cpu << 40) + 1;
	cpc->serves = true;
	perf_pmu_timer_setup(cpc, pmu);

	guard(raw_spinlock_irqsave)(&ctx->lock);
	perf_epc_attach(ctx, epc);
}

static void pmu_free_cpu_state(struct pmu *pmu)
{
	int cpu;

	if (pmu->cpu_pmu_context) {
		for_each_possible_cpu(cpu) {
			struct perf_cpu_pmu_context *cpc = per_cpu_ptr(pmu->cpu_pmu_context, cpu);
			struct perf_event_context *ctx = &per_cpu(perf_cpu_context, cpu).ctx;

			if (cpc->epc.pmu) {
				hrtimer_cancel(&cpc->timer);
				guard(raw_spinlock_irqsave)(&ctx->lock);
				list_del(&cpc->epc.entry);
			}
			kfree(cpc->epc.sched);
		}
	}
	free_percpu(pmu->cpu_pmu_context);
	free_percpu(pmu->pmu_disable_count);
	pmu->cpu_pmu_context = NULL;
	pmu->pmu_disable_count = NULL;
}

static int pmu_alloc_cpu_state(struct pmu *pmu)
{
	struct perf_cpu_pmu_context *cpc;
	int cpu;

	pmu->pmu_disable_count = alloc_percpu(int);
	pmu->cpu_pmu_context = alloc_percpu(struct perf_cpu_pmu_context);
	if (!pmu->pmu_disable_count || !pmu->cpu_pmu_context)
		return -ENOMEM;

	if (perf_pmu_has_counters(pmu)) {
		for_each_possible_cpu(cpu) {
			cpc = per_cpu_ptr(pmu->cpu_pmu_context, cpu);
			cpc->epc.sched = kzalloc(sizeof(*cpc->epc.sched), GFP_KERNEL);
			if (!cpc->epc.sched)
				return -ENOMEM;
		}
	}
	for_each_possible_cpu(cpu)
		perf_pmu_cpc_init(pmu, per_cpu_ptr(pmu->cpu_pmu_context, cpu), cpu);
	return 0;
}

/**
 * perf_pmu_register - add a PMU
 * @pmu: it; stays the caller's memory
 * @name: name in sysfs; may be NULL for a nameless one
 * @type: PERF_TYPE_* it serves, or -1 to be given a number
 *
 * Context: process context
 * Return: 0; -ENOMEM, -EINVAL without a name but with a dynamic type or scope out of range,
 *	-ENOSPC if the type is taken
 */
int perf_pmu_register(struct pmu *pmu, const char *name, int type)
{
	int ret;

	if (WARN_ONCE(!name && !pmu->name, "perf: a PMU needs a name\n") ||
	    WARN_ONCE(pmu->scope >= PERF_PMU_MAX_SCOPE, "perf: PMU scope %u\n", pmu->scope))
		return -EINVAL;

	guard(mutex)(&perf_pmus_lock);

	if (name)
		pmu->name = name;
	pmu_fill_ops(pmu);
	atomic_set(&pmu->exclusive_cnt, 0);

	ret = pmu_alloc_cpu_state(pmu);
	if (ret)
		goto err_state;
	ret = pmu_alloc_type(type);
	if (ret < 0)
		goto err_state;
	pmu->type = ret;

	if (perf_pmu_bus_running && !pmu->dev) {
		ret = perf_pmu_dev_alloc(pmu);
		if (ret)
			goto err_type;
	}
	/* From here on it is found, and nothing can fail. */
	idr_replace(&pmu_types, pmu, pmu->type);
	list_add_rcu(&pmu->entry, &perf_pmus);
	return 0;

err_type:
	idr_remove(&pmu_types, pmu->type);
err_state:
	pmu_free_cpu_state(pmu);
	return ret;
}
EXPORT_SYMBOL_GPL(perf_pmu_register);

/* Removes a PMU that has no events any more. Process context. */
void perf_pmu_unregister(struct pmu *pmu)
{
	scoped_guard(mutex, &perf_pmus_lock) {
		list_del_rcu(&pmu->entry);
		idr_remove(&pmu_types, pmu->type);
	}
	/* Opens look through the list under SRCU, the NMI paths under RCU. */
	synchronize_srcu(&perf_pmus_srcu);
	synchronize_rcu();

	scoped_guard(mutex, &perf_pmus_lock) {
		if (perf_pmu_bus_running && pmu->dev && pmu->dev != PMU_NULL_DEV)
			perf_pmu_dev_free(pmu);
		pmu_free_cpu_state(pmu);
	}
}
EXPORT_SYMBOL_GPL(perf_pmu_unregister);

/**
 * perf_pmu_disable - halt a PMU on this CPU while it is being changed; nests
 * @pmu: it
 */
void perf_pmu_disable(struct pmu *pmu)
{
	if (!(*this_cpu_ptr(pmu->pmu_disable_count))++)
		pmu->pmu_disable(pmu);
}

/* Undoes perf_pmu_disable(). */
void perf_pmu_enable(struct pmu *pmu)
{
	if (!--(*this_cpu_ptr(pmu->pmu_disable_count)))
		pmu->pmu_enable(pmu);
}

/* Can this PMU count on @cpu? False for the other kinds of core of a heterogeneous machine. */
bool perf_pmu_serves_cpu(struct pmu *pmu, int cpu)
{
	bool refused = false;

	if (pmu->filter)
		pmu->filter(pmu, cpu, &refused);
	return !refused;
}

/* Is there a CPU that it cannot count on? */
bool perf_pmu_is_partial(struct pmu *pmu)
{
	int cpu;

	if (!pmu->filter)
		return false;
	for_each_possible_cpu(cpu) {
		if (!perf_pmu_serves_cpu(pmu, cpu))
			return true;
	}
	return false;
}

/*
 * A PMU that can be had by one user at a time is used by tasks or by CPUs, not by both:
 * exclusive_cnt counts CPU events upwards and task events downwards.
 */
int perf_exclusive_get(struct perf_event *event)
{
	struct pmu *pmu = event->pmu;

	if (!is_exclusive_pmu(pmu))
		return 0;
	if (event->attach_state & PERF_ATTACH_TASK ? !atomic_dec_unless_positive(&pmu->exclusive_cnt)
						   : !atomic_inc_unless_negative(&pmu->exclusive_cnt))
		return perf_refuse(-EBUSY, "type: the exclusive PMU is in use the other way (tasks or CPUs)");
	event->attach_state |= PERF_ATTACH_EXCLUSIVE;
	return 0;
}

void perf_exclusive_put(struct perf_event *event)
{
	if (!(event->attach_state & PERF_ATTACH_EXCLUSIVE))
		return;
	event->attach_state &= ~PERF_ATTACH_EXCLUSIVE;
	if (event->attach_state & PERF_ATTACH_TASK)
		atomic_inc(&event->pmu->exclusive_cnt);
	else
		atomic_dec(&event->pmu->exclusive_cnt);
}

/* May @event join @ctx? Not if it has an event of the same exclusive PMU. ctx->mutex. */
bool perf_exclusive_installable(struct perf_event *event, struct perf_event_context *ctx)
{
	struct perf_event *other;

	lockdep_assert_held(&ctx->mutex);
	if (!is_exclusive_pmu(event->pmu))
		return true;
	list_for_each_entry(other, &ctx->event_list, event_entry) {
		if (other->pmu == event->pmu &&
		    (other->cpu == -1 || event->cpu == -1 || other->cpu == event->cpu))
			return false;
	}
	return true;
}

static int event_check_pmu(struct perf_event *event)
{
	struct pmu *pmu = event->pmu;
	u64 regs = event->attr.sample_regs_user | event->attr.sample_regs_intr;

	if (!(pmu->capabilities & PERF_PMU_CAP_EXTENDED_REGS) && (regs & PERF_REG_EXTENDED_MASK))
		return perf_refuse(-EOPNOTSUPP, "sample_regs: the PMU has no extended registers");
	if ((pmu->capabilities & PERF_PMU_CAP_NO_EXCLUDE) && event_has_any_exclude_flag(event))
		return perf_refuse(-EINVAL, "exclude_*: the PMU cannot tell privilege levels apart");
	if (pmu->scope != PERF_PMU_SCOPE_NONE && event->cpu >= 0)
		return perf_scope_place(event);
	return 0;
}

/* Drivers look at the siblings in event_init: keep the group still. A child's is nobody else's yet. */
static int event_init_in_group(struct perf_event *event)
{
	struct perf_event_context *ctx = NULL;
	int ret;

	if (event->group_leader != event && !event->parent &&
	    event->pmu->task_ctx_nr != perf_sw_context)
		ctx = perf_event_ctx_lock(event->group_leader);
	ret = event->pmu->event_init(event);
	if (ctx)
		perf_event_ctx_unlock(ctx);
	return ret;
}

/* A driver that does not say why: what it most likely looked at. */
static void refused_by_driver(struct perf_event *event, int err)
{
	if (is_sampling_event(event))
		perf_refuse(err, "type, config, sample_period: PMU %llu refuses config %#llx with period %llu",
			    event->pmu->type, event->attr.config, event->attr.sample_period);
	else
		perf_refuse(err, "type, config: the PMU of type %llu refuses config %#llx",
			    event->pmu->type, event->attr.config);
}

static int pmu_try_event(struct pmu *pmu, struct perf_event *event)
{
	unsigned int reasons;
	int ret;

	if (!try_module_get(pmu->module))
		return perf_refuse(-ENODEV, "type: the PMU's module is going away");

	event->pmu = pmu;
	reasons = perf_refusals();
	ret = event_init_in_group(event);
	if (ret && ret != -ENOENT && !perf_refused_since(reasons))
		refused_by_driver(event, ret);
	if (!ret) {
		ret = event_check_pmu(event);
		if (!ret)
			return 0;
		if (event->destroy)
			event->destroy(event);
	}
	/* A driver that failed may have set it, but has undone what it did. */
	event->destroy = NULL;
	event->pmu = NULL;
	module_put(pmu->module);
	return ret;
}

static struct pmu *pmu_of_type(u32 type)
{
	guard(rcu)();
	return idr_find(&pmu_types, type);
}

/*
 * HARDWARE and HW_CACHE events name the PMU they mean in the upper half of config; 0 means any,
 * and the PMU of raw events is asked first.
 */
static u32 event_wanted_type(struct perf_event *event, bool *extended)
{
	u32 type = event->attr.type;

	*extended = false;
	if (type != PERF_TYPE_HARDWARE && type != PERF_TYPE_HW_CACHE)
		return type;
	type = event->attr.config >> PERF_PMU_TYPE_SHIFT;
	if (!type)
		return PERF_TYPE_RAW;
	*extended = true;
	event->attr.config &= PERF_HW_EVENT_MASK;
	return type;
}

static int pmu_ask_all(struct perf_event *event)
{
	struct pmu *pmu;
	int ret;

	list_for_each_entry_rcu(pmu, &perf_pmus, entry, srcu_read_lock_held(&perf_pmus_srcu)) {
		ret = pmu_try_event(pmu, event);
		if (ret != -ENOENT)
			return ret;
	}
	return -ENOENT;
}

static int pmu_ask(struct perf_event *event)
{
	bool extended;
	u32 type = event_wanted_type(event, &extended);
	struct pmu *pmu = pmu_of_type(type);
	unsigned int reasons = perf_refusals();
	int ret = -ENOENT;

	/* The PMU of raw events serves them unasked. */
	if (pmu && extended && type != PERF_TYPE_RAW && !(pmu->capabilities & PERF_PMU_CAP_EXTENDED_HW_TYPE))
		return perf_refuse(-ENOENT, "config: PMU %llu does not serve generic events", type);
	while (pmu) {
		ret = pmu_try_event(pmu, event);
		/* A PMU may hand the event on by changing its type. */
		if (ret != -ENOENT || event->attr.type == type || extended)
			break;
		type = event->attr.type;
		if (type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE)
			break;
		pmu = pmu_of_type(type);
	}
	if (ret == -ENOENT && !extended && event->attr.type < PERF_TYPE_MAX)
		ret = pmu_ask_all(event);
	if (ret == -ENOENT && !perf_refused_since(reasons))
		perf_refuse(ret, "type, config: no PMU has the event type %llu config %#llx",
			    event->attr.type, event->attr.config);
	return ret;
}

/**
 * perf_pmu_init_event - find the PMU of an event and let it take the event on
 * @event: attr, cpu, parent, hw.target and group_leader are set
 *
 * On success event->pmu and its module are held until perf_event_free().
 * Context: may sleep
 * Return: the PMU, -ENOENT if none wants it, or the error of the one that refused it
 */
struct pmu *perf_pmu_init_event(struct perf_event *event)
{
	int idx = srcu_read_lock(&perf_pmus_srcu);
	int ret;

	/* A child's event is of its parent's kind, whatever the numbers say. */
	if (event->parent && event->parent->pmu) {
		ret = pmu_try_event(event->parent->pmu, event);
		if (ret != -ENOENT)
			goto out;
	}
	ret = pmu_ask(event);
out:
	srcu_read_unlock(&perf_pmus_srcu, idx);
	return ret ? ERR_PTR(ret) : event->pmu;
}

int __init perf_pmu_init(void)
{
	idr_init(&pmu_types);
	return 0;
}
