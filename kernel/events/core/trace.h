/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints of the subsystem itself. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM perf

#if !defined(_KERNEL_EVENTS_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _KERNEL_EVENTS_TRACE_H

#include <linux/tracepoint.h>

/* A request was refused: the errno that the caller gets and the rule that it broke. */
TRACE_EVENT(perf_event_refused,
	TP_PROTO(int err, const char *reason),
	TP_ARGS(err, reason),
	TP_STRUCT__entry(
		__field(int, err)
		__string(reason, reason)
	),
	TP_fast_assign(
		__entry->err = err;
		__assign_str(reason);
	),
	TP_printk("errno=%d reason=\"%s\"", -__entry->err, __get_str(reason))
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH ../../kernel/events/core
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
