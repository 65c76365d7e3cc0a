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

/* Enables the scheduler's hooks for one more user. May sleep. */
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

static void account_sched_key_drop(struct work_struct *work)
{
	guard(mutex)(&perf_sched_mutex);
	if (atomic_dec_and_test(&perf_sched_users))
		static_branch_disable(&perf_sched_events);
}

static DECLARE_DELAYED_WORK(sched_key_work, account_sched_key_drop);

/* Undoes perf_sched_key_get(). The hooks are disabled a second after the last user. */
void perf_sched_key_put(void)
{
	if (atomic_add_unless(&perf_sched_users, -1, 1))
		return;
	/* The work drops the last user's reference. If it is pending already, drop this one. */
	if (!schedule_delayed_work(&sched_key_work, HZ))
		atomic_dec(&perf_sched_users);
}

/* Kinds of side-band records. */
enum {
	KIND_COMM,
	KIND_MMAP,
	KIND_BUILD_ID,
	KIND_TASK,
	KIND_NAMESPACES,
	KIND_SWITCH,
	KIND_KSYMBOL,
	KIND_BPF,
	KIND_CGROUP,
	KIND_TEXT_POKE,
	NR_KINDS,
};

/* Number of events that request each kind. */
static atomic_t *const kind_nr[NR_KINDS] = {
	[KIND_COMM]		= &perf_nr_comm_events,
	[KIND_MMAP]		= &perf_nr_mmap_events,
	[KIND_BUILD_ID]		= &perf_nr_build_id_events,
	[KIND_TASK]		= &perf_nr_task_events,
	[KIND_NAMESPACES]	= &perf_nr_namespaces_events,
	[KIND_SWITCH]		= &perf_nr_switch_events,
	[KIND_KSYMBOL]		= &perf_nr_ksymbol_events,
	[KIND_BPF]		= &perf_nr_bpf_events,
	[KIND_CGROUP]		= &perf_nr_cgroup_events,
	[KIND_TEXT_POKE]	= &perf_nr_text_poke_events,
};

/* The kinds that @attr requests, a bit for each. */
static unsigned int account_kinds_of(const struct perf_event_attr *attr)
{
	return attr->comm << KIND_COMM |
	       (attr->mmap | attr->mmap_data) << KIND_MMAP |
	       attr->build_id << KIND_BUILD_ID |
	       attr->task << KIND_TASK |
	       attr->namespaces << KIND_NAMESPACES |
	       attr->context_switch << KIND_SWITCH |
	       attr->ksymbol << KIND_KSYMBOL |
	       attr->bpf_event << KIND_BPF |
	       attr->cgroup << KIND_CGROUP |
	       attr->text_poke << KIND_TEXT_POKE;
}

/* perf_event::account_flags: a bit for each kind, and the bits below. */
#define ACCOUNT_KINDS	GENMASK(NR_KINDS - 1, 0)
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

static void account_kinds(unsigned int kinds, int by)
{
	for (int i = 0; i < NR_KINDS; i++) {
		if (kinds & BIT(i))
			atomic_add(by, kind_nr[i]);
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

	if (perf_event_is_sideband(event)) {
		event->account_flags |= account_kinds_of(&event->attr);
		account_kinds(event->account_flags, 1);
	}
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
	if (flags & ACCOUNT_KINDS)
		account_kinds(flags, -1);
	if (flags & ACCOUNT_FREQ)
		account_freq_put();
#ifdef CONFIG_CGROUP_PERF
	if (flags & ACCOUNT_CGROUP)
		static_branch_dec(&perf_cgroup_key);
#endif
	if (flags & ACCOUNT_SCHED)
		perf_sched_key_put();
}
