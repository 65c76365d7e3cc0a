// SPDX-License-Identifier: GPL-2.0
/*
 * Events of kernel users: the hardlockup detector, KVM, breakpoints, resctrl, BPF.
 */
#include <linux/cpu.h>
#include <linux/file.h>

#include "uapi.h"

static int api_install(struct perf_event *event, struct perf_event_context *ctx)
{
	struct perf_event_pmu_context *epc;
	int ret;

	guard(mutex)(&ctx->mutex);
	if (ctx->task == TASK_TOMBSTONE)
		return perf_refuse(-ESRCH, "pid: the task is exiting");
	if (!event->hw.target && !per_cpu(perf_cpu_context, event->cpu).online)
		return perf_refuse(-ENODEV, "cpu: %lld is offline", event->cpu);
	ret = perf_exclusive_check(event, ctx) ?: perf_sched_group_fits(event, event) ?:
	      perf_install_prepare(ctx, event, &epc);
	if (!ret)
		perf_install(ctx, event, epc);
	return ret;
}

struct perf_event *perf_event_create_kernel_counter(struct perf_event_attr *attr, int cpu,
						    struct task_struct *task,
						    perf_overflow_handler_t callback,
						    void *context)
{
	struct perf_event_spec spec = {
		.attr		= attr,
		.cpu		= cpu,
		.task		= task,
		.handler	= callback,
		.handler_context = context,
		.cgroup_fd	= -1,
	};
	struct perf_event_context *ctx;
	struct perf_event *event;
	int ret;

	/* AUX output needs a group, which kernel users cannot have. */
	if (attr->aux_output || attr->aux_action)
		return ERR_PTR(-EINVAL);

	event = perf_event_alloc(&spec);
	if (IS_ERR(event))
		return event;
	ctx = perf_event_find_context(event);
	if (IS_ERR(ctx)) {
		perf_event_free(event);
		return ERR_CAST(ctx);
	}
	event->ctx = ctx;
	ret = api_install(event, ctx);
	if (ret) {
		perf_event_free(event);
		return ERR_PTR(ret);
	}
	return event;
}
EXPORT_SYMBOL_GPL(perf_event_create_kernel_counter);

struct file *perf_event_get(unsigned int fd)
{
	struct file *file = fget(fd);

	if (!file)
		return ERR_PTR(-EBADF);
	if (!perf_file_is_event(file)) {
		fput(file);
		return ERR_PTR(-EBADF);
	}
	return file;
}

const struct perf_event *perf_get_event(struct file *file)
{
	if (!perf_file_is_event(file))
		return ERR_PTR(-EINVAL);
	return file->private_data;
}

const struct perf_event_attr *perf_event_attrs(struct perf_event *event)
{
	return event ? &event->attr : ERR_PTR(-EINVAL);
}

static void api_invalidate(struct perf_cpu_pmu_context *cpc)
{
	cpc->cpu_side_seq++;
	cpc->alone_seq = (cpc->alone_seq + 1) | BIT_ULL(63);
}

static int api_resched_local(struct perf_event_context *ctx, void *pmu)
{
	api_invalidate(perf_this_cpc(pmu));
	perf_sched_reload(pmu);
	return 0;
}

void perf_pmu_resched(struct pmu *pmu)
{
	int cpu;

	if (!perf_pmu_has_counters(pmu))
		return;
	guard(cpus_read_lock)();
	for_each_possible_cpu(cpu) {
		if (cpu_online(cpu))
			perf_ctx_call(&per_cpu(perf_cpu_context, cpu).ctx, api_resched_local, pmu);
		else
			api_invalidate(per_cpu_ptr(pmu->cpu_pmu_context, cpu));
	}
}

bool perf_pmu_ctx_is_active(struct perf_event_pmu_context *pmu_ctx)
{
	return pmu_ctx->ctx->active_cpu == smp_processor_id();
}
