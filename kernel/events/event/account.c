// SPDX-License-Identifier: GPL-2.0
/*
 * Number of events of each kind. A hook site tests the number, or a static key, and costs next to
 * nothing while it is 0.
 *
 * The scheduler's hooks are behind a static key. Enabling the key waits until every CPU has seen
 * the change, so an event that is installed afterwards misses no switch. Disabling is delayed by a
 * second, because programs open and close events in bursts.
 *
 * Locks: perf_sched_mutex and account_freq_mutex for the first event and the last; everything else
 * is atomic.
 */
#include <linux/tick.h>
#include <linux/workqueue.h>

#include "event.h"

DEFINE_STATIC_KEY_FALSE(perf_sched_events);
#ifdef CONFIG_CGROUP_PERF
DEFINE_STATIC_KEY_FALSE(perf_cgroup_key);
#endif

atomic_t perf_nr_comm_events, perf_nr_mmap_events, perf_nr_task_events,
	 perf_nr_namespaces_events, perf_nr_switch_events, perf_nr_ksymbol_events,
	 perf_nr_bpf_events, perf_nr_cgroup_events, perf_nr_text_poke_events,
	 perf_nr_build_id_events;

static atomic_t perf_sched_users;
static DEFINE_MUTEX(perf_sched_mutex);

void perf_sched_key_get(void)
{
	if (atomic_inc_not_zero(&perf_sched_users))
		return;

	guard(mutex)(&perf_sched_mutex);
	if (!atomic_read(&perf_sched_users))
		static_branch_enable(&perf_sched_events);
	/* Incremented last: other callers skip the mutex when the count is not 0. */
	atomic_inc(&perf_sched_users);
}

static void sched_key_drop(struct work_struct *work)
{
	guard(mutex)(&perf_sched_mutex);
	if (atomic_dec_and_test(&perf_sched_users))
		static_branch_disable(&perf_sched_events);
}

static DECLARE_DELAYED_WORK(sched_key_work, sched_key_drop);

void perf_sched_key_put(void)
{
	if (atomic_add_unless(&perf_sched_users, -1, 1))
		return;
	/* The work drops the last user's reference. If it is pending already, drop this one. */
	if (!schedule_delayed_work(&sched_key_work, HZ))
		atomic_dec(&perf_sched_users);
}

/* A kind of side-band record: the number of events that request it, and the test for one. */
struct account_kind {
	atomic_t	*nr;
	bool		(*is)(const struct perf_event_attr *attr);
};

#define KIND(field, expr)							\
	static bool kind_##field(const struct perf_event_attr *a) { return (expr); }
KIND(comm, a->comm)
KIND(mmap, a->mmap || a->mmap_data)
KIND(build_id, a->build_id)
KIND(task, a->task)
KIND(namespaces, a->namespaces)
KIND(context_switch, a->context_switch)
KIND(ksymbol, a->ksymbol)
KIND(bpf_event, a->bpf_event)
KIND(cgroup, a->cgroup)
KIND(text_poke, a->text_poke)

static const struct account_kind kinds[] = {
	{ &perf_nr_comm_events,		kind_comm },
	{ &perf_nr_mmap_events,		kind_mmap },
	{ &perf_nr_build_id_events,	kind_build_id },
	{ &perf_nr_task_events,		kind_task },
	{ &perf_nr_namespaces_events,	kind_namespaces },
	{ &perf_nr_switch_events,	kind_context_switch },
	{ &perf_nr_ksymbol_events,	kind_ksymbol },
	{ &perf_nr_bpf_events,		kind_bpf_event },
	{ &perf_nr_cgroup_events,	kind_cgroup },
	{ &perf_nr_text_poke_events,	kind_text_poke },
};

/* perf_event::account_flags: a bit for each entry of kinds[], and the bits below. */
#define ACCOUNT_KINDS	GENMASK(ARRAY_SIZE(kinds) - 1, 0)
#define ACCOUNT_SCHED	BIT(16)
#define ACCOUNT_CGROUP	BIT(17)
#define ACCOUNT_FREQ	BIT(18)

/* Does @event depend on the scheduler's hooks? */
static bool account_needs_sched(const struct perf_event *event)
{
	return (event->attach_state & (PERF_ATTACH_TASK | PERF_ATTACH_SCHED_CB)) ||
	       event->cgrp || event->attr.context_switch;
}

#ifdef CONFIG_NO_HZ_FULL
static atomic_t account_freq_events;
static DEFINE_MUTEX(account_freq_mutex);

/*
 * Frequency control runs in the tick, which nohz_full CPUs must not stop meanwhile. The mutex keeps
 * number and dependency in step when the last event is closed while another one is opened.
 */
static void account_freq_get(void)
{
	if (atomic_inc_not_zero(&account_freq_events))
		return;

	guard(mutex)(&account_freq_mutex);
	if (!atomic_fetch_inc(&account_freq_events))
		tick_nohz_dep_set(TICK_DEP_BIT_PERF_EVENTS);
}

static void account_freq_put(void)
{
	if (!atomic_dec_and_mutex_lock(&account_freq_events, &account_freq_mutex))
		return;

	tick_nohz_dep_clear(TICK_DEP_BIT_PERF_EVENTS);
	mutex_unlock(&account_freq_mutex);
}
#else
static void account_freq_get(void) { }
static void account_freq_put(void) { }
#endif

static void account_kinds(struct perf_event *event)
{
	for (int i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (kinds[i].is(&event->attr)) {
			atomic_inc(kinds[i].nr);
			event->account_flags |= BIT(i);
		}
	}
}

/**
 * perf_account - count a new event in all the kinds that apply
 * @event: new event. An inherited event is not counted: it exists only while its parent does.
 *
 * Context: may sleep
 */
void perf_account(struct perf_event *event)
{
	if (event->parent)
		return;

	if (perf_event_is_sideband(event))
		account_kinds(event);
	if (event->attr.freq && is_sampling_event(event)) {
		account_freq_get();
		event->account_flags |= ACCOUNT_FREQ;
	}
#ifdef CONFIG_CGROUP_PERF
	if (event->cgrp) {
		static_branch_inc(&perf_cgroup_key);
		event->account_flags |= ACCOUNT_CGROUP;
	}
#endif
	if (account_needs_sched(event)) {
		perf_sched_key_get();
		event->account_flags |= ACCOUNT_SCHED;
	}
}

/**
 * perf_unaccount - undo perf_account()
 * @event: event that is being freed, counted or not
 *
 * Context: may sleep
 */
void perf_unaccount(struct perf_event *event)
{
	unsigned int flags = event->account_flags & ~EVENT_TRAITS;

	if (!flags)
		return;
	event->account_flags = 0;
	for (int i = 0; flags & ACCOUNT_KINDS && i < ARRAY_SIZE(kinds); i++) {
		if (flags & BIT(i))
			atomic_dec(kinds[i].nr);
	}
	if (flags & ACCOUNT_FREQ)
		account_freq_put();
#ifdef CONFIG_CGROUP_PERF
	if (flags & ACCOUNT_CGROUP)
		static_branch_dec(&perf_cgroup_key);
#endif
	if (flags & ACCOUNT_SCHED)
		perf_sched_key_put();
}
