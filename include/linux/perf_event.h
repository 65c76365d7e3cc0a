/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Performance events: what the rest of the kernel uses.
 *
 *   perf/pmu.h		a PMU driver implements struct pmu
 *   perf/event.h	struct perf_event, kernel counters, permissions
 *   perf/sample.h	samples and records, call chains
 *   perf/hooks.h	hook sites, hypervisors, interrupted registers
 *   perf/task.h	data of tasks and switch callbacks, for PMU drivers
 *
 * Everything else belongs to kernel/events/. Its private headers begin with
 * kernel/events/core/core.h. Documentation/core-api/perf/ explains the design.
 */
#ifndef _LINUX_PERF_EVENT_H
#define _LINUX_PERF_EVENT_H

#include <uapi/linux/perf_event.h>
#include <uapi/linux/bpf_perf_event.h>

#ifdef CONFIG_PERF_EVENTS
# include <asm/perf_event.h>
# include <asm/local64.h>
#endif

#ifdef CONFIG_HAVE_HW_BREAKPOINT
# include <asm/hw_breakpoint.h>
#endif

#include <linux/args.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/hrtimer.h>
#include <linux/fs.h>
#include <linux/pid_namespace.h>
#include <linux/workqueue.h>
#include <linux/ftrace.h>
#include <linux/cpu.h>
#include <linux/irq_work.h>
#include <linux/static_key.h>
#include <linux/jump_label_ratelimit.h>
#include <linux/atomic.h>
#include <linux/sysfs.h>
#include <linux/perf_regs.h>
#include <linux/cgroup.h>
#include <linux/refcount.h>
#include <linux/security.h>
#include <linux/static_call.h>
#include <linux/lockdep.h>
#include <asm/local.h>

struct perf_event;
struct perf_event_context;
struct perf_event_pmu_context;
struct perf_cpu_pmu_context;
struct perf_buffer;
struct perf_cgroup;
struct perf_output_handle;
struct perf_sample_data;

#include <linux/perf/pmu.h>
#include <linux/perf/event.h>
#include <linux/perf/sample.h>
#include <linux/perf/hooks.h>
#include <linux/perf/task.h>

#endif /* _LINUX_PERF_EVENT_H */
