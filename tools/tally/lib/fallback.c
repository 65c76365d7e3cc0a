// SPDX-License-Identifier: GPL-2.0
/*
 * What an event may be opened without. All concessions to older kernels, to machines with less and
 * to users with fewer rights are in this file.
 *
 * Steps are tried in the order of the table, each as often as it changes the attr. If no attr
 * opens, the first one is restored, so that its error is the one that is shown.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "names.h"

/*
 * Features by the bits that request these, the newest first: a kernel that lacks a row lacks all
 * rows before it.
 */
static const struct perf_event_attr feature_rows[] = {
	{ .branch_sample_type = PERF_SAMPLE_BRANCH_COUNTERS },
	{ .branch_sample_type = PERF_SAMPLE_BRANCH_PRIV_SAVE },
	{ .read_format = PERF_FORMAT_LOST },
	{ .build_id = 1 },
	{ .sample_type = PERF_SAMPLE_WEIGHT_STRUCT },
	{ .sample_type = PERF_SAMPLE_CODE_PAGE_SIZE | PERF_SAMPLE_DATA_PAGE_SIZE },
	{ .text_poke = 1 },
	{ .sample_type = PERF_SAMPLE_CGROUP, .cgroup = 1 },
	{ .branch_sample_type = PERF_SAMPLE_BRANCH_HW_INDEX },
	{ .aux_output = 1 },
	{ .bpf_event = 1 },
	{ .ksymbol = 1 },
	{ .sample_type = PERF_SAMPLE_PHYS_ADDR },
	{ .branch_sample_type = PERF_SAMPLE_BRANCH_TYPE_SAVE },
	{ .namespaces = 1 },
	{ .context_switch = 1 },
	{ .use_clockid = 1, .clockid = -1 },
	{ .comm_exec = 1 },
	{ .mmap2 = 1 },
};

/* Removes a feature from the attr; false if the attr does not use it. */
static bool drop_feature(struct perf_event_attr *attr, const struct perf_event_attr *feature)
{
	const uint8_t *mask = (const uint8_t *)feature;
	uint8_t *bytes = (uint8_t *)attr, used = 0;

	if (attr->sample_type & feature->sample_type & PERF_SAMPLE_WEIGHT_STRUCT)
		attr->sample_type |= PERF_SAMPLE_WEIGHT;
	for (size_t i = 0; i < sizeof(*attr); i++) {
		used |= bytes[i] & mask[i];
		bytes[i] &= ~mask[i];
	}
	return used;
}

static bool without_feature(const struct tally_opened *session, struct tally_counter *event,
			    struct tally_fallback *fallback)
{
	(void)session;
	for (size_t i = 0; i < ARRAY_SIZE(feature_rows); i++) {
		if (fallback->lacks >> i & 1)
			continue;
		fallback->lacks |= 1u << i;
		if (drop_feature(&event->attr, &feature_rows[i])) {
			fallback->fell_back |= TALLY_FELL_FEATURES;
			return true;
		}
	}
	return false;
}

static bool without_kernel(const struct tally_opened *session, struct tally_counter *event,
			   struct tally_fallback *fallback)
{
	(void)session;
	if (event->attr.exclude_kernel || event->set & TALLY_SET_LEVEL || event->attr.exclude_user)
		return false;
	event->attr.exclude_kernel = 1;
	event->attr.exclude_hv = 1;
	fallback->fell_back |= TALLY_FELL_USER;
	return true;
}

static bool less_precise(const struct tally_opened *session, struct tally_counter *event,
			 struct tally_fallback *fallback)
{
	(void)session;
	if (!event->precise_max || !event->attr.precise_ip)
		return false;
	event->attr.precise_ip--;
	fallback->fell_back |= TALLY_FELL_PRECISE;
	return true;
}

static bool host_alone(const struct tally_opened *session, struct tally_counter *event,
		       struct tally_fallback *fallback)
{
	(void)session;
	(void)fallback;
	if (event->attr.exclude_guest || !event->attr.precise_ip || event->set & TALLY_SET_GUEST)
		return false;
	event->attr.exclude_guest = 1;
	return true;
}

static bool clock_for_cycles(const struct tally_opened *session, struct tally_counter *event,
			     struct tally_fallback *fallback)
{
	struct perf_event_attr *attr = &event->attr;

	if (!session->clock_for_cycles || attr->type != PERF_TYPE_HARDWARE ||
	    (attr->config & PERF_HW_EVENT_MASK) != PERF_COUNT_HW_CPU_CYCLES)
		return false;
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_CPU_CLOCK;
	attr->precise_ip = 0;
	fallback->fell_back |= TALLY_FELL_CLOCK;
	return true;
}

/* The soft limit of open files up to the hard one. */
static bool more_files(const struct tally_opened *session, struct tally_counter *event,
		       struct tally_fallback *fallback)
{
	struct rlimit limit;

	(void)session;
	(void)event;
	(void)fallback;
	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= limit.rlim_max)
		return false;
	limit.rlim_cur = limit.rlim_max;
	return !setrlimit(RLIMIT_NOFILE, &limit);
}

static const struct {
	int errors[4];
	bool (*step)(const struct tally_opened *session, struct tally_counter *event,
		     struct tally_fallback *fallback);
} fallback_steps[] = {
	{ { EMFILE }, more_files },
	{ { EACCES, EPERM }, without_kernel },
	{ { EOPNOTSUPP, EINVAL }, less_precise },
	{ { EOPNOTSUPP, EINVAL }, host_alone },
	{ { EINVAL, E2BIG, EOPNOTSUPP }, without_feature },
	{ { ENOENT, ENODEV, EOPNOTSUPP }, clock_for_cycles },
};

static bool step_is_for(size_t step, int error)
{
	for (size_t i = 0; i < ARRAY_SIZE(fallback_steps[step].errors); i++) {
		if (fallback_steps[step].errors[i] == error)
			return true;
	}
	return false;
}

/* Kernels before 6.0 refuse the format of each event: found out once, by one that is everywhere. */
static bool lacks_format_lost(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .size = sizeof(attr),
		.read_format = PERF_FORMAT_LOST, .exclude_kernel = 1, .exclude_hv = 1,
	};
	static int lacks = -1;

	if (lacks < 0) {
		int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

		lacks = fd < 0 && errno == EINVAL;
		if (fd >= 0)
			close(fd);
	}
	return lacks;
}

/**
 * tally_fallback_begin() - prepare an attr for its first open
 * @session: what earlier events have shown about the kernel
 * @event: event; its attr loses what the kernel is known to lack
 * @fallback: gets the attr as it was
 */
void tally_fallback_begin(const struct tally_opened *session, struct tally_counter *event,
			  struct tally_fallback *fallback)
{
	memset(fallback, 0, sizeof(*fallback));
	/* Not left to the steps: those before it in their table answer the same errors. */
	if (event->attr.read_format & PERF_FORMAT_LOST && lacks_format_lost())
		event->attr.read_format &= ~(uint64_t)PERF_FORMAT_LOST;
	fallback->original = event->attr;
	fallback->lacks = session->lacks;
	for (size_t i = 0; i < ARRAY_SIZE(feature_rows); i++) {
		if (fallback->lacks >> i & 1)
			drop_feature(&event->attr, &feature_rows[i]);
	}
	if (event->precise_max && !event->attr.precise_ip)
		event->attr.precise_ip = 3;
}

/**
 * tally_fallback_next() - change an attr that was refused
 * @session: session
 * @event: event; its attr is changed, or restored if there is nothing left to try
 * @error: errno of the refusal, positive
 * @fallback: what has been tried
 *
 * Return: true if it is worth another open.
 */
bool tally_fallback_next(const struct tally_opened *session, struct tally_counter *event,
			 int error, struct tally_fallback *fallback)
{
	for (size_t i = 0; i < ARRAY_SIZE(fallback_steps); i++) {
		if (step_is_for(i, error) && fallback_steps[i].step(session, event, fallback))
			return true;
	}
	event->attr = fallback->original;
	return false;
}

/**
 * tally_fallback_done() - remember what made an open succeed
 * @session: session
 * @event: event; its name changes if it now counts another thing
 * @fallback: what has been tried
 *
 * Return: 0, or -ENOMEM.
 */
int tally_fallback_done(struct tally_opened *session, struct tally_counter *event,
			const struct tally_fallback *fallback)
{
	const char *name = fallback->fell_back & TALLY_FELL_CLOCK ? "cpu-clock" : event->name;
	bool user = fallback->fell_back & TALLY_FELL_USER;
	const char *suffix;
	char *full;

	session->fell_back |= fallback->fell_back;
	/* The other places take what this one has shown. */
	event->precise_max = false;
	if (fallback->fell_back & TALLY_FELL_FEATURES)
		session->lacks |= fallback->lacks;
	if (!(fallback->fell_back & (TALLY_FELL_CLOCK | TALLY_FELL_USER)))
		return 0;
	suffix = name[strlen(name) - 1] == '/' ? "u" : ":u";
	if (asprintf(&full, "%s%s", name, user ? suffix : "") < 0)
		return -ENOMEM;
	free(event->name);
	event->name = full;
	return 0;
}
