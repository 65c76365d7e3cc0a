/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Comparisons. All take what is compared first, then the value found, then what it should be. Each
 * prints what it found if that is wrong, and returns whether it is right; "good &= expect_eq(...)"
 * continues after a failure, "expect_eq(...) && ..." does not.
 */
#ifndef PERF_TEST_EXPECT_H
#define PERF_TEST_EXPECT_H

#include "files.h"
#include "harness.h"

/* True for a comparison that has to be printed: one that failed, or any with -v. */
static inline bool expect_prints(bool good)
{
	return !good || test_verbose;
}

/* A condition that has to hold; the text describes it. */
static inline __printf(2, 3) bool expect(bool good, const char *fmt, ...)
{
	va_list ap;

	if (!expect_prints(good))
		return good;
	printf(good ? "# holds: " : "# does not hold: ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	return good;
}

static inline bool expect_eq(const char *what, uint64_t have, uint64_t want)
{
	bool good = have == want;

	if (expect_prints(good))
		ktap_note("%s: %lld, expected %lld", what, (long long)have, (long long)want);
	return good;
}

/* At least @least and at most @most. */
static inline bool expect_between(const char *what, uint64_t have, uint64_t least, uint64_t most)
{
	bool good = have >= least && have <= most;

	if (expect_prints(good))
		ktap_note("%s: %lld, expected %lld to %lld", what, (long long)have,
			  (long long)least, (long long)most);
	return good;
}

/* At most @slack apart. */
static inline bool expect_near(const char *what, uint64_t have, uint64_t want, uint64_t slack)
{
	bool good = (have > want ? have - want : want - have) <= slack;

	if (expect_prints(good))
		ktap_note("%s: %lld, expected %lld +- %lld (off by %lld, %.3f %%)", what,
			  (long long)have, (long long)want, (long long)slack,
			  (long long)(have - want), 100.0 * ((double)have - want) / (want ?: 1));
	return good;
}

/* At most @permille thousandths of @want apart. */
static inline bool expect_near_permille(const char *what, uint64_t have, uint64_t want,
					unsigned int permille)
{
	return expect_near(what, have, want, want / 1000 * permille);
}

/* @ret and errno are those of a system call, which has to fail with @want; 0: to succeed. */
static inline bool expect_errno(const char *what, long ret, int want)
{
	int error = ret < 0 ? errno : 0;
	bool good = error == want;

	if (expect_prints(good))
		ktap_note("%s: %s, expected %s", what, error ? strerrorname_np(error) : "success",
			  want ? strerrorname_np(want) : "success");
	return good;
}

/*
 * As expect_errno(); on kernels that give reasons, that for the last refusal of this thread has to
 * contain @reason. NULL: any reason.
 */
static inline bool expect_refused(const char *what, long ret, int want, const char *reason)
{
	char line[160];

	if (!expect_errno(what, ret, want))
		return false;
	if (!reason || perf_reason(line, sizeof(line)) < 0)
		return true;
	return expect(strcasestr(line, reason), "%s: the reason \"%s\" contains \"%s\"", what, line,
		      reason);
}

#endif /* PERF_TEST_EXPECT_H */
