// SPDX-License-Identifier: GPL-2.0
/*
 * Numbers in the attributes that become an index in the kernel: an event number with a high bit
 * set, or negative as a signed number, is refused, and events with valid numbers count as before.
 */
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "workloads.h"

/* The first type number that no PMU of a test machine has. */
#define NO_TYPE_BIT	40

/* True if the open fails as it does for an unknown event. */
static bool unknown(uint32_t type, uint64_t config)
{
	struct perf_event_attr attr = perf_attr(type, config);
	int fd = perf_open(&attr, 0, -1, -1, 0);
	int error = fd < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	if (error == ENOENT || error == EINVAL)
		return true;
	ktap_note("type %u, config %#llx: %s", type, (unsigned long long)config,
		  error ? strerrorname_np(error) : "success");
	return false;
}

/* @id with each of the bits from @from to @to, one at a time and with all bits above it. */
static bool unknown_with_bits(uint32_t type, uint64_t id, unsigned int from, unsigned int to)
{
	bool good = true;

	for (unsigned int bit = from; bit <= to; bit++) {
		good &= unknown(type, id | 1ull << bit);
		good &= unknown(type, id | ~0ull << bit);
	}
	return good;
}

/* Page faults are counted exactly. */
static bool faults_count(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);
	int fd;

	attr.disabled = 1;
	attr.exclude_kernel = 1;
	fault_pages(10);
	fd = open_self(&attr, -1);
	event_enable(fd);
	fault_pages(10);
	event_disable(fd);
	return expect_between("faults", perf_count(fd), 10, 12);
}

static bool software_numbers(void)
{
	bool good = true;

	for (uint64_t id = 0; id < PERF_COUNT_SW_MAX; id++)
		good &= unknown_with_bits(PERF_TYPE_SOFTWARE, id, 4, 63);
	return good & faults_count();
}

/* Bits 32 to 63 of these two types are another PMU's type. */
static bool hardware_numbers(void)
{
	bool good = true;

	for (uint64_t id = 0; id < PERF_COUNT_HW_MAX; id++) {
		good &= unknown_with_bits(PERF_TYPE_HARDWARE, id, NO_TYPE_BIT, 63);
		for (unsigned int bit = 4; bit < 32; bit++)
			good &= unknown(PERF_TYPE_HARDWARE, id | 1ull << bit);
	}
	return good & faults_count();
}

static bool cache_numbers(void)
{
	bool good = unknown_with_bits(PERF_TYPE_HW_CACHE, 0, NO_TYPE_BIT, 63);

	for (unsigned int bit = 24; bit < 32; bit++)
		good &= unknown(PERF_TYPE_HW_CACHE, 1ull << bit);
	for (unsigned int byte = 0; byte < 3; byte++)
		good &= unknown(PERF_TYPE_HW_CACHE, 0x80ull << 8 * byte);
	return good & faults_count();
}

static bool tracepoint_numbers(void)
{
	int id = tracepoint_id("sched/sched_switch");

	if (id < 0)
		skip_case("no tracepoint");
	return unknown_with_bits(PERF_TYPE_TRACEPOINT, id, 16, 63) & faults_count();
}

static const struct test tests[] = {
	{ "software events with high bits in their number", software_numbers },
	{ "hardware events with high bits in their number", hardware_numbers },
	{ "cache events with high bits in their number", cache_numbers },
	{ "tracepoints with high bits in their number", tracepoint_numbers },
};

TESTS_MAIN(tests)
