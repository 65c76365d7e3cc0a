// SPDX-License-Identifier: GPL-2.0
/*
 * Callbacks by which a hypervisor describes the guest that was interrupted.
 *
 * One hypervisor at a time is registered. Its functions are called by static calls, which return 0
 * while none is registered.
 *
 * Locks: guest_cbs_mutex. Callers of the static calls may be in NMI; unregistering waits until none
 * is left inside.
 */
#include <linux/mutex.h>
#include <linux/static_call.h>

#include "output.h"

#ifdef CONFIG_GUEST_PERF_EVENTS

struct perf_guest_info_callbacks __rcu *perf_guest_cbs;
static DEFINE_MUTEX(guest_cbs_mutex);

DEFINE_STATIC_CALL_RET0(__perf_guest_state, *perf_guest_cbs->state);
DEFINE_STATIC_CALL_RET0(__perf_guest_get_ip, *perf_guest_cbs->get_ip);
DEFINE_STATIC_CALL_RET0(__perf_guest_handle_intel_pt_intr, *perf_guest_cbs->handle_intel_pt_intr);

static const struct perf_guest_info_callbacks guest_none = {
	.state			= (void *)__static_call_return0,
	.get_ip			= (void *)__static_call_return0,
	.handle_intel_pt_intr	= (void *)__static_call_return0,
};

static void guest_set_calls(const struct perf_guest_info_callbacks *cbs)
{
	unsigned int (*pt_intr)(void) = cbs->handle_intel_pt_intr;

	static_call_update(__perf_guest_handle_intel_pt_intr,
			   pt_intr ?: guest_none.handle_intel_pt_intr);
	static_call_update(__perf_guest_get_ip, cbs->get_ip);
	static_call_update(__perf_guest_state, cbs->state);
}

void perf_register_guest_info_callbacks(struct perf_guest_info_callbacks *cbs)
{
	guard(mutex)(&guest_cbs_mutex);
	if (WARN_ON_ONCE(rcu_access_pointer(perf_guest_cbs)))
		return;
	rcu_assign_pointer(perf_guest_cbs, cbs);
	guest_set_calls(cbs);
}
EXPORT_SYMBOL_GPL(perf_register_guest_info_callbacks);

void perf_unregister_guest_info_callbacks(struct perf_guest_info_callbacks *cbs)
{
	guard(mutex)(&guest_cbs_mutex);
	if (WARN_ON_ONCE(rcu_access_pointer(perf_guest_cbs) != cbs))
		return;
	guest_set_calls(&guest_none);
	RCU_INIT_POINTER(perf_guest_cbs, NULL);
	synchronize_rcu();	/* NMI handlers are RCU read-side sections */
}
EXPORT_SYMBOL_GPL(perf_unregister_guest_info_callbacks);

#endif
