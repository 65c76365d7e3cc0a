// SPDX-License-Identifier: GPL-2.0
/* Attrs of events that are sampled. */
#include "record_setup.h"

#include <stdlib.h>

#include "names.h"

#define DEFAULT_FREQUENCY	4000
#define DEFAULT_STACK		8192

/**
 * record_user_registers() - registers that an unwinder needs
 *
 * Return: mask for sample_regs_user: all general registers that the architecture's
 * asm/perf_regs.h numbers, without those that a 64-bit program does not have.
 */
uint64_t record_user_registers(void)
{
#if defined(__x86_64__)
	/* AX to GS but for the segments DS, ES, FS and GS, and R8 to R15. */
	return 0xff0fff;
#elif defined(__aarch64__)
	/* X0 to X29, LR, SP and PC. */
	return 0x1ffffffff;
#else
	return 0;
#endif
}

/* The default frequency, or the highest that the kernel allows. */
static uint64_t usual_frequency(void)
{
	uint64_t most;
	char text[32];

	if (tally_file_text("/proc/sys/kernel/perf_event_max_sample_rate", text, sizeof(text)) <= 0)
		return DEFAULT_FREQUENCY;
	most = strtoull(text, NULL, 10);
	return most && most < DEFAULT_FREQUENCY ? most : DEFAULT_FREQUENCY;
}

/* What a driver of an AUX area takes for a period: the shortest interval of its samples, or 1. */
static uint64_t aux_interval(const struct tally_counter *event)
{
	struct tally_pmu pmu;
	uint64_t least = 0;
	char text[32];

	if (!tally_pmu_find(event->pmu, &pmu) &&
	    tally_pmu_file(&pmu, "caps", "min_interval", text, sizeof(text)) > 0)
		least = strtoull(text, NULL, 0);
	return least ? least : 1;
}

static void set_rate(struct tally_counter *event, const struct record_setup *setup)
{
	struct perf_event_attr *attr = &event->attr;

	if (event->set & TALLY_SET_PERIOD)
		return;
	if (event->aux) {
		attr->sample_period = aux_interval(event);
	} else if (setup->period) {
		attr->sample_period = setup->period;
	} else if (attr->type == PERF_TYPE_TRACEPOINT) {
		attr->sample_period = 1;
	} else {
		attr->freq = 1;
		attr->sample_freq = setup->frequency ? setup->frequency : usual_frequency();
	}
}

static void set_callchain(struct tally_counter *event, const struct record_setup *setup)
{
	bool own = event->set & TALLY_SET_CALLGRAPH;
	enum tally_callgraph mode = own ? event->callgraph : setup->callgraph;
	unsigned int stack = own ? event->stack_size : setup->stack_size;
	struct perf_event_attr *attr = &event->attr;

	if (mode == TALLY_CALLGRAPH_NONE)
		return;
	attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (mode == TALLY_CALLGRAPH_DWARF) {
		attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		attr->exclude_callchain_user = 1;
		attr->sample_regs_user = record_user_registers();
		attr->sample_stack_user = stack ? stack : DEFAULT_STACK;
	}
	if (mode == TALLY_CALLGRAPH_LBR) {
		attr->sample_type |= PERF_SAMPLE_BRANCH_STACK;
		attr->exclude_callchain_user = 1;
		attr->branch_sample_type = PERF_SAMPLE_BRANCH_USER |
			PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_NO_FLAGS |
			PERF_SAMPLE_BRANCH_NO_CYCLES;
	}
}

static void set_branches(struct tally_counter *event, const struct record_setup *setup)
{
	struct perf_event_attr *attr = &event->attr;

	if (!(event->set & TALLY_SET_BRANCH) && setup->branches)
		attr->branch_sample_type = setup->branches;
	if (attr->branch_sample_type)
		attr->sample_type |= PERF_SAMPLE_BRANCH_STACK;
}

/* The records of what runs. */
static void set_side_band(struct perf_event_attr *attr, const struct record_setup *setup)
{
	attr->mmap = 1;
	attr->mmap2 = 1;
	attr->comm = 1;
	attr->comm_exec = 1;
	attr->task = 1;
	attr->ksymbol = 1;
	attr->bpf_event = 1;
	attr->mmap_data = !!(setup->extra & PERF_SAMPLE_ADDR);
	attr->namespaces = setup->namespaces;
	attr->build_id = setup->build_ids;
}

/*
 * The first event that keeps all its records: its buffer is not overwritten, and it is not disabled
 * while an AUX area is full. @side_band: the one that is there for nothing else.
 */
static struct tally_counter *complete_event(const struct tally_events *events, bool side_band)
{
	for (int i = 0; i < events->n; i++) {
		struct tally_counter *event = &events->event[i];

		if (!event->attr.write_backward && !event->aux && event->side_band == side_band)
			return event;
	}
	return NULL;
}

static void prepare_event(struct tally_counter *event, const struct record_setup *setup,
			  bool several, bool on_exec)
{
	bool first = event->leader || event->group < 0;
	struct perf_event_attr *attr = &event->attr;

	set_rate(event, setup);
	attr->sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_TID | setup->extra;
	if (!(event->set & TALLY_SET_TIME))
		attr->sample_type |= PERF_SAMPLE_TIME;
	if (attr->freq)
		attr->sample_type |= PERF_SAMPLE_PERIOD;
	if (setup->cpu)
		attr->sample_type |= PERF_SAMPLE_CPU;
	if (attr->type == PERF_TYPE_TRACEPOINT)
		attr->sample_type |= PERF_SAMPLE_RAW | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
	if (several) {
		attr->sample_type |= PERF_SAMPLE_IDENTIFIER;
		attr->read_format |= PERF_FORMAT_ID;
	}
	if (!event->aux && !event->side_band) {
		set_callchain(event, setup);
		set_branches(event, setup);
	}
	attr->read_format |= PERF_FORMAT_LOST;
	attr->sample_id_all = 1;
	attr->disabled = first && !(setup->delayed && event->side_band);
	attr->enable_on_exec = first && on_exec;
	if (!(event->set & TALLY_SET_INHERIT))
		attr->inherit = setup->inherit;
	if (setup->clockid >= 0) {
		attr->use_clockid = 1;
		attr->clockid = setup->clockid;
	}
	if (event->sample_read) {
		attr->read_format |= PERF_FORMAT_GROUP | PERF_FORMAT_ID;
		attr->sample_type |= PERF_SAMPLE_READ | PERF_SAMPLE_IDENTIFIER;
		attr->inherit = 0;
		if (!first) {
			attr->sample_period = 0;
			attr->freq = 0;
		}
	}
}

/**
 * record_prepare_attrs() - complete attrs for sampling
 * @events: events as parsed from their names
 * @setup: how samples are taken
 * @on_exec: exec of the command enables the events
 */
void record_prepare_attrs(struct tally_events *events, const struct record_setup *setup,
			  bool on_exec)
{
	struct tally_counter *sampled = complete_event(events, false);
	struct tally_counter *side_band = complete_event(events, true) ?: sampled;

	for (int i = 0; i < events->n; i++)
		prepare_event(&events->event[i], setup, events->n > 1, on_exec);
	if (!side_band)
		return;
	set_side_band(&side_band->attr, setup);
	/* Switches are counted, as samples are: there are none before the events are enabled. */
	(sampled ?: side_band)->attr.context_switch = setup->switches;
}

/* Adds an event without samples, which needs no right to measure the kernel. */
static int add_side_band(struct tally_events *events, struct tally_error *err)
{
	int ret = tally_parse_events(events, "dummy/period=1/", err);
	struct tally_counter *event;

	if (ret < 0)
		return ret;
	event = &events->event[events->n - 1];
	event->side_band = true;
	event->attr.exclude_kernel = 1;
	event->attr.exclude_hv = 1;
	return 0;
}

/* The same if no other event has side-band records. */
static int need_side_band(struct tally_events *events, struct tally_error *err)
{
	if (complete_event(events, false) || complete_event(events, true))
		return 0;
	return add_side_band(events, err);
}

/**
 * record_aux() - find the event that fills AUX areas
 * @events: events; gets a member "aux", and an event for the records of what runs if it needs one
 * @any: the event of any PMU of its own does, not only of those that are known
 * @err: gets the reason
 *
 * Return: 1 if there is such an event, 0 if not, or a negative errno.
 */
int record_aux(struct tally_events *events, bool any, struct tally_error *err)
{
	int found = 0, ret;

	for (int i = 0; i < events->n; i++) {
		struct tally_counter *event = &events->event[i];

		event->aux = tally_aux_is_known(event) ||
			(any && event->pmu && event->attr.type >= PERF_TYPE_MAX);
		if (!event->aux)
			continue;
		if (tally_aux_is_known(event) && !tally_aux_is_described(event))
			return tally_fail(err, EOPNOTSUPP,
					  "%s: registers for its decoder are not recorded",
					  event->name);
		if (event->attr.write_backward)
			return tally_fail(err, EOPNOTSUPP, "%s: AUX areas are not overwritten",
					  event->name);
		if (found++)
			return tally_fail(err, EINVAL, "%s: one event may fill AUX areas",
					  event->name);
	}
	ret = found ? need_side_band(events, err) : 0;
	return ret ? ret : found;
}

/**
 * record_overwrite() - let the newest records replace the oldest
 * @events: events; one that has no samples is added if no other keeps the records of what runs
 * @all: all events without the term "no-overwrite"; otherwise those with the term "overwrite"
 * @err: gets the reason
 *
 * Return: 1 if there are such events, 0 if not, or a negative errno.
 */
int record_overwrite(struct tally_events *events, bool all, struct tally_error *err)
{
	int found = 0, ret;

	for (int i = 0; i < events->n; i++) {
		if (all && !(events->event[i].set & TALLY_SET_OVERWRITE) && !events->event[i].aux)
			events->event[i].attr.write_backward = 1;
		found += events->event[i].attr.write_backward;
	}
	ret = found ? need_side_band(events, err) : 0;
	return ret ? ret : !!found;
}

/**
 * record_delay() - let events begin later than the records of what runs
 * @events: events; one that has no samples is added for these records, unless there is one
 * @err: gets the reason
 *
 * Return: 0, or a negative errno.
 */
int record_delay(struct tally_events *events, struct tally_error *err)
{
	return complete_event(events, true) ? 0 : add_side_band(events, err);
}

/**
 * record_check_terms() - refuse terms that sampling here has no use for
 * @events: events
 * @overwrite: events may overwrite their records
 * @err: names the event
 *
 * Return: 0, or -EOPNOTSUPP.
 */
int record_check_terms(const struct tally_events *events, bool overwrite, struct tally_error *err)
{
	for (int i = 0; i < events->n; i++) {
		const struct tally_counter *event = &events->event[i];

		if (event->attr.aux_output || event->max_events || event->attr.aux_sample_size)
			return tally_fail(err, EOPNOTSUPP,
					  "%s: nr and aux terms are not supported", event->name);
		if (event->attr.write_backward && !overwrite)
			return tally_fail(err, EOPNOTSUPP, "%s: overwrite is not supported here",
					  event->name);
	}
	return 0;
}
