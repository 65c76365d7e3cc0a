// SPDX-License-Identifier: GPL-2.0
/*
 * The PMU "test_aux", a software AUX source for tests of the AUX area without tracing hardware.
 *
 * The trace consists of 64-bit words. The value of each is its position in the AUX area. Each time
 * the event stops, when it is disabled and at each context switch, it writes a burst of
 * perf_event_attr::config bytes, a multiple of 8. For a sample with PERF_SAMPLE_AUX it writes
 * another burst, and the last bytes are copied. If config1 is 1, the words are the ranges of the
 * event's address filters instead, start and size in turn; if it is 2, they are the position of the
 * next wake-up. Pausing ends a trace, with its burst, and resuming begins one.
 *
 * Bits of config2 make the source report more. config3 is the number that it reports:
 *
 *	STARTED	when a trace begins, that it has: the event needs no other ITRACE_START
 *	HW_ID	when a trace begins, its number in the hardware
 *	LOST	before a burst, config3 lost samples
 *	SKIP	before a burst, config3 bytes are skipped; PERF_AUX_FLAG_PARTIAL if there are fewer
 *	FLAGS	with each burst, as flags of the AUX record
 *
 * The PMU is registered if the kernel parameter perf_test_aux is set. So is "test_aux_too", which
 * does the same, but cannot use an AUX area of "test_aux". Its events, not those of "test_aux", can
 * be opened with perf_event_attr::aux_output in a group with a trace of "test_aux".
 *
 * Context: pmu callbacks, interrupts off on this CPU.
 */
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/perf_event.h>
#include <linux/slab.h>

/* An AUX area: the arguments of setup_aux(). */
struct test_aux {
	void	**pages;
	u64	bytes;
	bool	overwrite;
	u64	head;		/* overwrite: end of the last burst */
};

/* perf_event_attr::config1 */
#define WORDS_RANGES	1
#define WORDS_WAKEUP	2

/* perf_event_attr::config2 */
#define REPORT_STARTED	BIT(0)
#define REPORT_HW_ID	BIT(1)
#define REPORT_LOST	BIT(2)
#define REPORT_SKIP	BIT(3)
#define REPORT_FLAGS	BIT(4)

#define NR_RANGES	4

/* Ranges programmed last; hw_perf_event::addr_filters. */
struct test_ranges {
	struct perf_addr_filter_range	range[NR_RANGES];
};

static struct pmu test_aux_pmu;

/* Each PMU has one trace on a CPU. */
static DEFINE_PER_CPU(struct perf_output_handle, test_aux_handle);
static DEFINE_PER_CPU(struct perf_output_handle, test_aux_too_handle);

static struct perf_output_handle *handle_of(const struct perf_event *event)
{
	return event->pmu == &test_aux_pmu ? this_cpu_ptr(&test_aux_handle) :
					     this_cpu_ptr(&test_aux_too_handle);
}

static u64 range_word(const struct test_ranges *ranges, u64 nr)
{
	const struct perf_addr_filter_range *range;

	if (nr >= 2 * NR_RANGES)
		return 0;
	range = &ranges->range[nr / 2];
	return nr % 2 ? range->size : range->start;
}

static void write_words(struct perf_event *event, struct test_aux *aux, u64 from, u64 len)
{
	for (u64 pos = from; pos < from + len; pos += sizeof(pos)) {
		u64 at = pos & (aux->bytes - 1), word = pos;

		if (event->attr.config1 == WORDS_RANGES)
			word = range_word(event->hw.addr_filters, (pos - from) / sizeof(pos));
		else if (event->attr.config1 == WORDS_WAKEUP)
			word = handle_of(event)->wakeup;
		*(u64 *)(aux->pages[at >> PAGE_SHIFT] + offset_in_page(at)) = word;
	}
}

/* Free space may end within a word; only whole words are written. */
static void burst_into_room(struct perf_event *event, struct perf_output_handle *handle,
			    struct test_aux *aux, u64 len)
{
	u64 n;

	if (event->attr.config2 & REPORT_SKIP && perf_aux_output_skip(handle, event->attr.config3))
		perf_aux_output_flag(handle, PERF_AUX_FLAG_PARTIAL);
	n = min_t(u64, len, round_down(handle->size, sizeof(u64)));
	write_words(event, aux, handle->head, n);
	if (n < len)
		perf_aux_output_flag(handle, PERF_AUX_FLAG_TRUNCATED);
	perf_aux_output_end(handle, n);
}

static void burst_over(struct perf_event *event, struct perf_output_handle *handle,
		       struct test_aux *aux, u64 len)
{
	write_words(event, aux, aux->head, len);
	aux->head += len;
	handle->head = aux->head;
	perf_aux_output_end(handle, len);
}

static void report_start(struct perf_event *event)
{
	if (event->attr.config2 & REPORT_STARTED)
		perf_event_itrace_started(event);
	if (event->attr.config2 & REPORT_HW_ID)
		perf_report_aux_output_id(event, event->attr.config3);
}

static void test_aux_start(struct perf_event *event, int flags)
{
	struct perf_output_handle *handle = handle_of(event);

	if (!(flags & PERF_EF_RESUME))
		perf_event_addr_filters_sync(event);
	if (event->hw.aux_paused) {
		event->hw.state = 0;
	} else if (perf_aux_output_begin(handle, event)) {
		event->hw.state = 0;
		report_start(event);
	}
}

static void test_aux_stop(struct perf_event *event, int flags)
{
	struct perf_output_handle *handle = handle_of(event);
	struct test_aux *aux = perf_get_aux(handle);

	if (event->hw.state & PERF_HES_STOPPED)
		return;
	if (!(flags & PERF_EF_PAUSE))
		event->hw.state = PERF_HES_STOPPED;
	if (!aux)	/* paused */
		return;
	if (event->attr.config2 & REPORT_FLAGS)
		perf_aux_output_flag(handle, event->attr.config3);
	if (event->attr.config2 & REPORT_LOST)
		perf_log_lost_samples(event, event->attr.config3);
	if (aux->overwrite)
		burst_over(event, handle, aux, event->attr.config);
	else
		burst_into_room(event, handle, aux, event->attr.config);
}

static int test_aux_add(struct perf_event *event, int flags)
{
	event->hw.state = PERF_HES_STOPPED;
	if (!(flags & PERF_EF_START))
		return 0;
	test_aux_start(event, PERF_EF_RELOAD);
	return event->hw.state & PERF_HES_STOPPED ? -EINVAL : 0;
}

static void test_aux_del(struct perf_event *event, int flags)
{
	test_aux_stop(event, PERF_EF_UPDATE);
}

static void test_aux_read(struct perf_event *event)
{
}

static long test_aux_snapshot(struct perf_event *event, struct perf_output_handle *sample,
			      unsigned long size)
{
	struct perf_output_handle *handle = handle_of(event);
	struct test_aux *aux = perf_get_aux(handle);
	u64 len = event->attr.config;

	if (!aux || !aux->overwrite)
		return 0;
	write_words(event, aux, aux->head, len);
	aux->head += len;
	size = min3((u64)size, aux->head, aux->bytes);
	if (!size)
		return 0;
	return perf_output_copy_aux(handle, sample, aux->head - size, aux->head);
}

static int test_aux_validate(struct list_head *filters)
{
	return 0;
}

static void test_aux_sync(struct perf_event *event)
{
	struct test_ranges *ranges = event->hw.addr_filters;
	struct perf_addr_filter *filter;
	unsigned int nr = 0;

	/* There are as many ranges as filters; those beyond are of an earlier list. */
	memset(ranges, 0, sizeof(*ranges));
	list_for_each_entry(filter, &perf_event_addr_filters(event)->list, entry) {
		ranges->range[nr] = event->addr_filter_ranges[nr];
		nr++;
	}
}

static void test_aux_destroy(struct perf_event *event)
{
	kfree(event->hw.addr_filters);
}

static int test_aux_init(struct perf_event *event)
{
	struct test_ranges *ranges;

	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	if (event->attr.config % sizeof(u64))
		return -EINVAL;
	ranges = kzalloc(sizeof(*ranges), GFP_KERNEL);
	if (!ranges)
		return -ENOMEM;
	event->hw.addr_filters = ranges;
	event->destroy = test_aux_destroy;
	return 0;
}

static void *test_aux_setup(struct perf_event *event, void **pages, int nr_pages, bool overwrite)
{
	struct test_aux *aux = kzalloc(sizeof(*aux), GFP_KERNEL);

	if (aux) {
		aux->pages = pages;
		aux->bytes = (u64)nr_pages << PAGE_SHIFT;
		aux->overwrite = overwrite;
	}
	return aux;
}

static void test_aux_free(void *aux)
{
	kfree(aux);
}

static struct pmu test_aux_pmu = {
	.task_ctx_nr	= perf_sw_context,
	.capabilities	= PERF_PMU_CAP_EXCLUSIVE | PERF_PMU_CAP_ITRACE |
			  PERF_PMU_CAP_AUX_PREFER_LARGE | PERF_PMU_CAP_AUX_PAUSE,
	.event_init	= test_aux_init,
	.add		= test_aux_add,
	.del		= test_aux_del,
	.start		= test_aux_start,
	.stop		= test_aux_stop,
	.read		= test_aux_read,
	.setup_aux	= test_aux_setup,
	.free_aux	= test_aux_free,
	.snapshot_aux	= test_aux_snapshot,

	.nr_addr_filters	= NR_RANGES,
	.addr_filters_validate	= test_aux_validate,
	.addr_filters_sync	= test_aux_sync,
};

/* Of "test_aux_too"; the argument is the leader of an event's group. */
static int test_aux_output_match(struct perf_event *aux)
{
	return aux->pmu == &test_aux_pmu;
}

static bool wanted;
core_param(perf_test_aux, wanted, bool, 0);

static int __init test_aux_register(void)
{
	static struct pmu too;

	if (!wanted)
		return 0;
	too = test_aux_pmu;
	too.capabilities |= PERF_PMU_CAP_AUX_OUTPUT;
	too.aux_output_match = test_aux_output_match;
	return perf_pmu_register(&test_aux_pmu, "test_aux", -1) ?:
	       perf_pmu_register(&too, "test_aux_too", -1);
}
late_initcall(test_aux_register);
