// SPDX-License-Identifier: GPL-2.0
/* Refusals of the kernel in words, with what to do about these. */
#include <string.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "names.h"

/* Limits that a message names. */
static long sysctl_number(const char *path, long otherwise)
{
	char text[32];

	return tally_file_text(path, text, sizeof(text)) > 0 ? strtol(text, NULL, 10) : otherwise;
}

static void advise_paranoid(char *text, size_t size)
{
	long level = sysctl_number("/proc/sys/kernel/perf_event_paranoid", 2);

	if (!geteuid())
		snprintf(text, size, "root is refused too: a container, or a kernel locked down?");
	else
		snprintf(text, size,
			 "kernel.perf_event_paranoid is %ld; lower it, give CAP_PERFMON, or add :u",
			 level);
}

static void advise_files(char *text, size_t size)
{
	struct rlimit limit = { 0, 0 };

	getrlimit(RLIMIT_NOFILE, &limit);
	snprintf(text, size, "%llu files are allowed, ulimit -n; one a CPU, thread and event",
		 (unsigned long long)limit.rlim_cur);
}

static void advise_mlock(char *text, size_t size)
{
	snprintf(text, size, "kernel.perf_event_mlock_kb is %ld; take smaller buffers (-m)",
		 sysctl_number("/proc/sys/kernel/perf_event_mlock_kb", 516));
}

static void advise_machine(char *text, size_t size)
{
	snprintf(text, size, "this machine lacks it; cpu-clock is always there");
}

static void advise_busy(char *text, size_t size)
{
	snprintf(text, size, "another user has the resource for itself; see kernel.nmi_watchdog");
}

/* @own: the reason is known without the kernel's text, which may be of an earlier request. */
static const struct {
	int error;
	bool own;
	void (*advise)(char *text, size_t size);
} explain_rows[] = {
	{ EACCES, false, advise_paranoid },
	{ EPERM, false, advise_paranoid },
	{ EMFILE, true, advise_files },
	{ ENFILE, true, advise_files },
	{ ENOMEM, true, NULL },
	{ ESRCH, true, NULL },
	{ EBUSY, false, advise_busy },
	{ ENOENT, false, advise_machine },
	{ ENODEV, false, advise_machine },
	{ EOPNOTSUPP, false, advise_machine },
};

size_t tally_kernel_reason(char *text, size_t size)
{
	int length = tally_file_text("/proc/sys/kernel/perf_event_error", text, size);

	if (length <= 0) {
		*text = 0;
		return 0;
	}
	return length;
}

/* What failed, the reason, the advice, as far as there is one of these. */
static int explain_with(struct tally_error *err, int error, const char *what, bool own,
			void (*advise)(char *text, size_t size))
{
	char reason[128] = "", advice[160] = "";

	if (!own)
		tally_kernel_reason(reason, sizeof(reason));
	/* The kernel's reason is more detailed than this one. */
	if (advise && (advise != advise_machine || !*reason))
		advise(advice, sizeof(advice));
	return tally_fail(err, error, "%s: %s%s%s%s", what, *reason ? reason : strerror(error),
			  *advice ? " (" : "", advice, *advice ? ")" : "");
}

int tally_explain(struct tally_error *err, int error, const char *what)
{
	for (size_t i = 0; i < ARRAY_SIZE(explain_rows); i++) {
		if (explain_rows[i].error == error)
			return explain_with(err, error, what, explain_rows[i].own,
					    explain_rows[i].advise);
	}
	return explain_with(err, error, what, false, NULL);
}

/**
 * tally_explain_mmap() - describe a buffer that the kernel has refused
 * @err: gets the reason
 * @error: errno, positive
 * @what: the event
 *
 * Return: -@error.
 */
int tally_explain_mmap(struct tally_error *err, int error, const char *what)
{
	return explain_with(err, error, what, error == ENOMEM,
			    error == EPERM || error == ENOMEM ? advise_mlock : NULL);
}
