// SPDX-License-Identifier: GPL-2.0
/*
 * The arm64 PMU: a wrap of a counter of 32 bits, as user space reads it. Apart from pmuv3, because
 * it executes 2^31 instructions.
 *
 * Instructions are the clock of the machine.
 */
#include "events.h"
#include "expect.h"
#include "harness.h"
#include "require.h"
#include "workloads.h"

#ifdef __aarch64__
#include "pmuv3.h"

/* A counter of 32 bits starts at the middle: half of its 2^32 precede the first interrupt. */
static bool user_reads_past_a_wrap(void)
{
	const unsigned long rounds = 20000000;
	volatile struct perf_event_mmap_page *page;
	uint64_t before, after;
	bool good = true;

	need_pmu();
	require_exact_instructions();
	allow_users(true);
	page = map_page(open_readable(INSTRUCTIONS, CONFIG1_RDPMC));
	read_self(page, &before);
	for (uint64_t sum = 0; good && sum >> 31 < 1; sum += LOOP_INSNS(rounds)) {
		run_loop(rounds);
		read_self(page, &after);
		good = expect_near("loop", after - before, LOOP_INSNS(rounds), 100000);
		before = after;
	}
	return good;
}

static const struct test tests[] = {
	{ "user space reads past a wrap of 32 bits", user_reads_past_a_wrap },
};

TESTS_MAIN(tests)

#else

TESTS_MAIN_SKIPPED("PMUv3", "not this architecture")

#endif
