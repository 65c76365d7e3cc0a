// SPDX-License-Identifier: GPL-2.0
/*
 * Counting events by kind, so that hook sites cost nothing while nobody listens.
 *
 * The scheduler's hooks hang on a static key. Turning it on waits until every CPU sees it, so an
 * event that is installed afterwards cannot miss a switch; turning it off is put off for a second,
 * because programs open and close events in bursts.
 *
 * Locks: perf_sched_mutex for the first event; the rest is atomic.
 */
#include <linux/tick.h>
#include <linux/workqueue.h>

#include "engine.h"

DEFINE_STATIC_KEY_FALSE(perf_sched_events);

atomic_t perf_nr_comm_events, perf_nr_mmap_events, perf_nr_task_events,
	 perf_nr_namespaces_events, perf_nr_switch_events, perf_nr_ksymbol_events,
	 perf_nr_bpf_events, perf_nr_cgroup_events, perf_nr_text_poke_events,
	 perf_nr_build_id_events;

static atomic_t __maybe_unused perf_nr_freq_events;
static atomic_t perf_sched_users;
static DEFINE_MUTEX(perf_sched_mutex);

void perf_sched_key_get(void)
{
	if (atomic_inc_not_zero(&perf_sched_users))
		return;

	guard(mutex)(&perf_sched_mutex);
	if (!atomic_read(&perf_sched_users))
		static_branch_enable(&perf_sched_events);
	/* Others may skip the mutex only once the key is on. */
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
	/* The last user's part stays until the work runs; at most one is pending. */
	if (!schedule_delayed_work(&sched_key_work, HZ))
		atomic_dec(&perf_sched_users);
}

/* Kinds of event that something outside waits for. */
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

/* perf_event::account_flags: bits for kinds[], and these. */
#define ACCOUNT_KINDS	GENMASK(ARRAY_SIZE(kinds) - 1, 0)
#define ACCOUNT_SCHED	BIT(16)
#define ACCOUNT_CGROUP	BIT(17)
#define ACCOUNT_FREQ	BIT(18)

/* Does it need the scheduler's hooks? */
static bool needs_sched(const struct perf_event *event)
{
	return (event->attach_state & (PERF_ATTACH_TASK | PERF_ATTACH_SCHED_CB)) ||
	       event->cgrp || event->attr.context_switch;
}

/* While somebody samples by frequency the tick has to come, even on CPUs that would do without. */
static void account_freq(int by)
{
#ifdef CONFIG_NO_HZ_FULL
	if (by > 0 && atomic_inc_return(&perf_nr_freq_events) == 1)
		tick_nohz_dep_set(TICK_DEP_BIT_PERF_EVENTS);
	if (by < 0 && atomic_dec_and_test(&perf_nr_freq_events))
		tick_nohz_dep_clear(TICK_DEP_BIT_PERF_EVENTS);
#endif
}

/* Each kind is a kind of side-band record. */
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
 * perf_account - enter a new event into all the counts
 * @event: not a child: it lives only while its parent does
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
		account_freq(1);
		event->account_flags |= ACCOUNT_FREQ;
	}
#ifdef CONFIG_CGROUP_PERF
	if (event->cgrp) {
		static_branch_inc(&perf_cgroup_key);
		event->account_flags |= ACCOUNT_CGROUP;
	}
#endif
	if (needs_sched(event)) {
		perf_sched_key_get();
		event->account_flags |= ACCOUNT_SCHED;
	}
}

/* Takes an event out of what perf_account() entered it into. */
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
		account_freq(-1);
#ifdef CONFIG_CGROUP_PERF
	if (flags & ACCOUNT_CGROUP)
		static_branch_dec(&perf_cgroup_key);
#endif
	if (flags & ACCOUNT_SCHED)
		perf_sched_key_put();
}
