// SPDX-License-Identifier: GPL-2.0
/*
 * PMUs: registration, and which PMU an event belongs to.
 *
 * Locks: perf_pmus_lock (mutex) for changes of the list and of devices; readers of the list use
 * perf_pmus_srcu, because pmu::event_init may sleep.
 */
#include <linux/idr.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "core.h"

LIST_HEAD(perf_pmus);
DEFINE_MUTEX(perf_pmus_lock);	/* perf_pmus and the PMUs' devices */
DEFINE_SRCU(perf_pmus_srcu);

/* The scheduling layer, which owns the multiplexing timer, sets these before the first PMU. */
void (*perf_pmu_timer_setup)(struct perf_cpu_pmu_context *cpc, struct pmu *pmu);
void (*perf_pmu_interval_changed)(struct pmu *pmu);

static DEFINE_IDR(pmu_types);

static void pmu_nop(struct pmu *pmu) { }
static int pmu_nop_int(struct pmu *pmu) { return 0; }
static void pmu_nop_txn(struct pmu *pmu, unsigned int flags) { }
static int pmu_event_idx_none(struct perf_event *event) { return 0; }
static int pmu_check_period_any(struct perf_event *event, u64 value) { return 0; }

/* Optional callbacks get a default, so that callers need no test. */
static void pmu_fill_ops(struct pmu *pmu)
{
	pmu->pmu_enable = pmu->pmu_enable ?: pmu_nop;
	pmu->pmu_disable = pmu->pmu_disable ?: pmu_nop;
	pmu->start_txn = pmu->start_txn ?: pmu_nop_txn;
	pmu->commit_txn = pmu->commit_txn ?: pmu_nop_int;
	pmu->cancel_txn = pmu->cancel_txn ?: pmu_nop;
	pmu->event_idx = pmu->event_idx ?: pmu_event_idx_none;
	pmu->check_period = pmu->check_period ?: pmu_check_period_any;
}

static int pmu_alloc_type(int type)
{
	int start = type >= 0 ? type : PERF_TYPE_MAX;
	int end = type >= 0 ? type + 1 : 0;

	lockdep_assert_held(&perf_pmus_lock);
	return idr_alloc(&pmu_types, NULL, start, end, GFP_KERNEL);
}

/**
 * perf_pmu_cpc_init - initialise a PMU's per-CPU data and add it to the CPU's own context
 * @pmu: the PMU
 * @cpc: zeroed per-CPU data of @pmu for @cpu; contains the PMU context of the CPU's own context
 * @cpu: the CPU
 *
 * Context: process context; takes ctx->lock
 */
void perf_pmu_cpc_init(struct pmu *pmu, struct perf_cpu_pmu_context *cpc, int cpu)
{
	struct perf_event_context *ctx = &per_cpu(perf_cpu_context, cpu).ctx;
	struct perf_event_pmu_context *epc = &cpc->epc;

	perf_epc_init(epc, pmu);
	/* Never a value of alone_seq: that of no CPU side. The ranges of CPUs do not overlap. */
	cpc->cpu_side_seq = ((u64)cpu << 40) + 1;
	cpc->cpu_supported = true;
	perf_pmu_timer_setup(cpc, pmu);

	guard(perf_irqsave)(&ctx->lock);
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
				guard(perf_irqsave)(&ctx->lock);
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

	for_each_possible_cpu(cpu) {
		cpc = per_cpu_ptr(pmu->cpu_pmu_context, cpu);
		if (perf_pmu_has_counters(pmu)) {
			cpc->epc.sched = kzalloc(sizeof(*cpc->epc.sched), GFP_KERNEL);
			if (!cpc->epc.sched)
				return -ENOMEM;
		}
		perf_pmu_cpc_init(pmu, cpc, cpu);
	}
	return 0;
}

int __cold perf_pmu_register(struct pmu *pmu, const char *name, int type)
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
	/* From here on events can be opened; nothing can fail any more. */
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

void __cold perf_pmu_unregister(struct pmu *pmu)
{
	scoped_guard(mutex, &perf_pmus_lock) {
		list_del_rcu(&pmu->entry);
		idr_remove(&pmu_types, pmu->type);
	}
	/* The list is walked under SRCU; pmu_find_type() looks up numbers under RCU. */
	synchronize_srcu(&perf_pmus_srcu);
	synchronize_rcu();

	scoped_guard(mutex, &perf_pmus_lock) {
		if (perf_pmu_bus_running && pmu->dev && pmu->dev != PMU_NULL_DEV)
			perf_pmu_dev_free(pmu);
		pmu_free_cpu_state(pmu);
	}
}
EXPORT_SYMBOL_GPL(perf_pmu_unregister);

void perf_pmu_disable(struct pmu *pmu)
{
	if (!(*this_cpu_ptr(pmu->pmu_disable_count))++)
		pmu->pmu_disable(pmu);
}

void perf_pmu_enable(struct pmu *pmu)
{
	if (!--(*this_cpu_ptr(pmu->pmu_disable_count)))
		pmu->pmu_enable(pmu);
}

/**
 * perf_event_restart_begin - stop an event in order to change it
 * @event: event that is ACTIVE on this CPU
 *
 * The event's count is up to date. A PMU without a schedule is disabled until
 * perf_event_restart_end().
 *
 * Context: interrupts off, ctx->lock, on the CPU where @event is loaded
 */
void perf_event_restart_begin(struct perf_event *event)
{
	lockdep_assert_held(&event->ctx->lock);
	if (!perf_pmu_has_counters(event->pmu))
		perf_pmu_disable(event->pmu);
	event->pmu->stop(event, PERF_EF_UPDATE);
}

/**
 * perf_event_restart_end - start an event that perf_event_restart_begin() stopped
 * @event: the event
 * @start: false to leave the event stopped
 *
 * The driver programs the counter from hw.period_left and from what else has changed.
 *
 * Context: as perf_event_restart_begin()
 */
void perf_event_restart_end(struct perf_event *event, bool start)
{
	lockdep_assert_held(&event->ctx->lock);
	if (start)
		event->pmu->start(event, PERF_EF_RELOAD);
	if (!perf_pmu_has_counters(event->pmu))
		perf_pmu_enable(event->pmu);
}

/**
 * perf_pmu_supports_cpu - can a PMU count on a CPU?
 * @pmu: the PMU
 * @cpu: the CPU
 *
 * Context: any
 * Return: false for the other kinds of core of a heterogeneous system
 */
bool perf_pmu_supports_cpu(struct pmu *pmu, int cpu)
{
	bool refused = false;

	if (pmu->filter)
		pmu->filter(pmu, cpu, &refused);
	return !refused;
}

/**
 * perf_pmu_is_partial - is there a CPU on which a PMU cannot count?
 * @pmu: the PMU
 *
 * Context: any
 * Return: true if pmu::filter rejects a possible CPU
 */
bool perf_pmu_is_partial(struct pmu *pmu)
{
	int cpu;

	if (!pmu->filter)
		return false;
	for_each_possible_cpu(cpu) {
		if (!perf_pmu_supports_cpu(pmu, cpu))
			return true;
	}
	return false;
}

static int exclusive_refuse(void)
{
	return perf_refuse(-EBUSY, "type: the exclusive PMU has an event here already");
}

/*
 * Replaces the only event of @event's PMU on a CPU; fails if that is not @from. A CPU that is not
 * possible has no data to be looked at; installing an event there fails with ENODEV.
 */
static bool exclusive_replace(struct perf_event *event, int cpu, struct perf_event *from,
			      struct perf_event *to)
{
	return !cpu_possible(cpu) ||
	       cmpxchg(&per_cpu_ptr(event->pmu->cpu_pmu_context, cpu)->exclusive, from, to) == from;
}

/**
 * perf_exclusive_get - claim an exclusive PMU for a new event
 * @event: new event of any PMU
 *
 * An exclusive PMU is used by task events or by CPU events, not by both at a time. CPU events
 * increment pmu::exclusive_cnt, task events decrement it. A CPU has one event, which is its own or
 * that of one of the cgroups: they are in different contexts but count at the same time. Of tasks,
 * perf_exclusive_check() admits one event for each context.
 *
 * Context: any
 * Return: 0, or -EBUSY if the PMU is in use by events of the other kind, or on @event's CPU
 */
int perf_exclusive_get(struct perf_event *event)
{
	struct pmu *pmu = event->pmu;
	bool claimed;

	if (!is_exclusive_pmu(pmu))
		return 0;
	if (event->attach_state & PERF_ATTACH_TASK)
		claimed = atomic_dec_unless_positive(&pmu->exclusive_cnt);
	else
		claimed = atomic_inc_unless_negative(&pmu->exclusive_cnt);
	if (!claimed)
		return perf_refuse(-EBUSY,
				   "type: the exclusive PMU is used for tasks, or for CPUs");
	event->attach_state |= PERF_ATTACH_EXCLUSIVE;
	if (!(event->attach_state & PERF_ATTACH_TASK) &&
	    !exclusive_replace(event, event->cpu, NULL, event))
		return exclusive_refuse();
	return 0;
}

/**
 * perf_exclusive_put - undo perf_exclusive_get()
 * @event: event that is being freed, with PERF_ATTACH_EXCLUSIVE
 *
 * Context: any
 */
void perf_exclusive_put(struct perf_event *event)
{
	bool of_task = event->attach_state & PERF_ATTACH_TASK;

	event->attach_state &= ~PERF_ATTACH_EXCLUSIVE;
	if (!of_task)
		exclusive_replace(event, event->cpu, event, NULL);
	atomic_add(of_task ? 1 : -1, &event->pmu->exclusive_cnt);
}

/**
 * perf_exclusive_migrate - move the claim of a CPU's event to another CPU
 * @event: CPU event of any PMU; event->cpu is still the old CPU
 * @to: the new CPU; an event of the same PMU that is there stays the one with the claim
 *
 * Context: any
 */
void perf_exclusive_migrate(struct perf_event *event, int to)
{
	if (exclusive_replace(event, event->cpu, event, NULL))
		exclusive_replace(event, to, NULL, event);
}

/**
 * perf_exclusive_check - may an event be added to a context?
 * @event: event that is in no context
 * @ctx: the context; ctx->mutex is held
 *
 * Context: process context
 * Return: 0, or -EBUSY if @ctx has an event of the same exclusive PMU for the same CPU
 */
int perf_exclusive_check(struct perf_event *event, struct perf_event_context *ctx)
{
	struct perf_event *other;

	lockdep_assert_held(&ctx->mutex);
	if (!is_exclusive_pmu(event->pmu))
		return 0;
	list_for_each_entry(other, &ctx->event_list, event_entry) {
		if (other->pmu == event->pmu &&
		    (other->cpu == -1 || event->cpu == -1 || other->cpu == event->cpu))
			return exclusive_refuse();
	}
	return 0;
}

static int pmu_check_event(struct perf_event *event)
{
	struct pmu *pmu = event->pmu;
	u64 regs = event->attr.sample_regs_user | event->attr.sample_regs_intr;

	if (!(pmu->capabilities & PERF_PMU_CAP_EXTENDED_REGS) && (regs & PERF_REG_EXTENDED_MASK))
		return perf_refuse(-EOPNOTSUPP, "sample_regs: the PMU has no extended registers");
	if ((pmu->capabilities & PERF_PMU_CAP_NO_EXCLUDE) && event_has_any_exclude_flag(event))
		return perf_refuse(-EINVAL,
				   "exclude_*: the PMU cannot tell privilege levels apart");
	if (pmu->scope != PERF_PMU_SCOPE_NONE && event->cpu >= 0)
		return perf_scope_place(event);
	return 0;
}

/*
 * Drivers read the siblings in event_init: the leader's ctx->mutex keeps the group constant. An
 * inherited event's group is not published yet.
 */
static int pmu_init_in_group(struct perf_event *event)
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

/* The driver left no reason: name the fields that it most likely looked at. */
static void pmu_refused_by_driver(struct perf_event *event, int err)
{
	if (is_sampling_event(event))
		perf_refuse(err,
			    "config, sample_period: PMU %llu refuses config %#llx, period %llu",
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
	ret = pmu_init_in_group(event);
	if (ret && ret != -ENOENT && !perf_refused_since(reasons))
		pmu_refused_by_driver(event, ret);
	if (!ret) {
		ret = pmu_check_event(event);
		if (!ret)
			return 0;
		if (event->destroy)
			event->destroy(event);
	}
	/* A driver that fails may have set it, and undoes its own work. */
	event->destroy = NULL;
	event->pmu = NULL;
	module_put(pmu->module);
	return ret;
}

static struct pmu *pmu_find_type(u32 type)
{
	guard(rcu)();
	return idr_find(&pmu_types, type);
}

/*
 * The type of the first PMU to try. HARDWARE and HW_CACHE events have it in the upper half of
 * config; 0 means any PMU, and that of raw events is tried first.
 */
static u32 pmu_event_type(struct perf_event *event, bool *extended)
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

static int pmu_try_all(struct perf_event *event)
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

static int pmu_refuse_type(const struct perf_event_attr *attr)
{
	return perf_refuse(-ENOENT, "type, config: no PMU has the event type %llu config %#llx",
			   attr->type, attr->config);
}

/**
 * perf_pmu_check_type - can a PMU have an event of these attributes?
 * @attr: the attributes
 *
 * Types below PERF_TYPE_MAX are offered to all PMUs. Only the PMU of a dynamic type has its events.
 *
 * Context: any
 * Return: 0 if that is to be tried, else -ENOENT
 */
int perf_pmu_check_type(const struct perf_event_attr *attr)
{
	if (attr->type < PERF_TYPE_MAX || pmu_find_type(attr->type))
		return 0;
	return pmu_refuse_type(attr);
}

static int pmu_try_type(struct perf_event *event)
{
	bool extended;
	u32 type = pmu_event_type(event, &extended);
	struct pmu *pmu = pmu_find_type(type);
	unsigned int reasons = perf_refusals();
	int ret = -ENOENT;

	/* The PMU of raw events has generic events even without the capability. */
	if (pmu && extended && type != PERF_TYPE_RAW &&
	    !(pmu->capabilities & PERF_PMU_CAP_EXTENDED_HW_TYPE))
		return perf_refuse(-ENOENT, "config: PMU %llu has no generic events", type);
	while (pmu) {
		ret = pmu_try_event(pmu, event);
		/* A PMU forwards the event to another PMU by changing its type. */
		if (ret != -ENOENT || event->attr.type == type || extended)
			break;
		type = event->attr.type;
		if (type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE)
			break;
		pmu = pmu_find_type(type);
	}
	if (ret == -ENOENT && !extended && event->attr.type < PERF_TYPE_MAX)
		ret = pmu_try_all(event);
	if (ret == -ENOENT && !perf_refused_since(reasons))
		pmu_refuse_type(&event->attr);
	return ret;
}

/**
 * perf_pmu_init_event - find the PMU of an event and initialise the event for it
 * @event: new event with attr, cpu, parent, hw.target and group_leader set
 *
 * On success event->pmu is set, and its module is held until perf_event_free().
 *
 * Context: may sleep; takes ctx->mutex of a leader's context
 * Return: the PMU, or an ERR_PTR: -ENOENT if no PMU has such events, or the error of the PMU that
 *	refused the event
 */
struct pmu *perf_pmu_init_event(struct perf_event *event)
{
	int idx = srcu_read_lock(&perf_pmus_srcu);
	int ret;

	/* An inherited event has its parent's PMU, whatever type and config are. */
	if (event->parent && event->parent->pmu) {
		ret = pmu_try_event(event->parent->pmu, event);
		if (ret != -ENOENT)
			goto out;
	}
	ret = pmu_try_type(event);
out:
	srcu_read_unlock(&perf_pmus_srcu, idx);
	return ret ? ERR_PTR(ret) : event->pmu;
}

void __init perf_pmu_init(void)
{
	idr_init(&pmu_types);
}
