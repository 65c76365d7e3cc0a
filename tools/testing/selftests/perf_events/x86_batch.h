/* SPDX-License-Identifier: GPL-2.0 */
/* Precise samples, of which many share an interrupt. */
#ifndef X86_BATCH_H
#define X86_BATCH_H

#include "x86_precise.h"

#define BATCH_PERIOD	101

/* The highest precision with records that need no branches to find the instruction. */
static unsigned int batch_precision(void)
{
	need_precise();
	/* Formats 0 and 1 have no address of the instruction itself. */
	if (max_precise > 2 || records_have_time())
		return max_precise;
	return 1;
}

static struct perf_event_attr batch_attr(void)
{
	struct perf_event_attr attr = precise_attr(PERF_COUNT_HW_INSTRUCTIONS, batch_precision());

	attr.sample_period = BATCH_PERIOD;
	return attr;
}

#endif /* X86_BATCH_H */
