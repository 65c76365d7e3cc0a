// SPDX-License-Identifier: GPL-2.0
/*
 * The latency threshold of sampled loads on x86: each CPU has its own, threads of a core included.
 * The machine's latency of a load is a rule of its address, so each sample shows its threshold.
 */
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "processes.h"
#include "records.h"
#include "require.h"
#include "workloads.h"

#ifdef __x86_64__

#define EVENTS		"/sys/bus/event_source/devices/cpu/events/"
#define DATA_PAGES	8
#define STRIDE		0x440

static char load_data[DATA_PAGES * 4096] __aligned(4096);

static void load_words(void)
{
	for (int i = 0; i < 200; i++) {
		for (size_t at = 0; at < sizeof(load_data); at += STRIDE)
			(void)*(volatile uint64_t *)(load_data + at);
	}
}

/* Loads that take more cycles than @ldlat, on @cpu. */
static struct perf_event_attr loads_attr(unsigned int ldlat)
{
	struct perf_event_attr attr = perf_attr_modes(PERF_TYPE_RAW, 0, "u");
	unsigned int event, umask;
	char line[64];

	if (read_line(EVENTS "mem-loads", line, sizeof(line)) <= 0 ||
	    sscanf(line, "event=%x,umask=%x", &event, &umask) != 2)
		skip_case("no precise samples");
	attr.config = event | umask << 8;
	attr.config1 = ldlat;
	attr.precise_ip = 2;
	attr.sample_period = 37;
	attr.sample_type = PERF_SAMPLE_ADDR | PERF_SAMPLE_WEIGHT;
	return attr;
}

/* Opens an event for @cpu with a buffer. */
static int open_loads(struct ring *ring, unsigned int ldlat, int cpu)
{
	struct perf_event_attr attr = loads_attr(ldlat);
	int fd = perf_open(&attr, -1, cpu, -1, 0);

	if (fd >= 0 && !ring_map(ring, fd, 64))
		fail_case("mmap");
	return fd;
}

/* Some samples, all of loads that take longer than @ldlat, and some of loads up to @some. */
static bool samples_are_above(struct ring *ring, const char *what, unsigned int ldlat,
			      unsigned int some)
{
	struct perf_event_attr attr = loads_attr(ldlat);
	unsigned int samples = 0, below = 0, quick = 0;
	struct perf_event_header *h;

	while ((h = ring_find(ring, PERF_RECORD_SAMPLE))) {
		struct sample s;

		sample_parse(&s, h, &attr);
		samples++;
		below += s.weight <= ldlat;
		quick += s.weight <= some;
	}
	ktap_note("%s: %u samples, %u of quick loads", what, samples, quick);
	return expect(samples > 50 && quick, "%s: samples", what) &
	       expect_eq("samples of loads below the threshold", below, 0);
}

static bool cpus_have_their_thresholds(void)
{
	struct ring ring[2];
	bool good = true;
	int fd[2];

	require_cpus(2);
	memset(load_data, 0, sizeof(load_data));
	for (int cpu = 0; cpu < 2; cpu++) {
		fd[cpu] = open_loads(&ring[cpu], cpu ? 30 : 3, cpu);
		good &= expect(fd[cpu] >= 0, "CPU %d: errno %d", cpu, errno);
	}
	if (!good)
		return false;
	for (int round = 0; round < 2; round++) {
		for (int cpu = 0; cpu < 2; cpu++) {
			pin_to_cpu(cpu);
			event_enable(fd[cpu]);
			load_words();
			event_disable(fd[cpu]);
		}
	}
	return samples_are_above(&ring[0], "3 cycles", 3, 4) &
	       samples_are_above(&ring[1], "30 cycles", 30, 32);
}

static const struct test tests[] = {
	{ "each CPU has its latency threshold", cpus_have_their_thresholds },
};

TESTS_MAIN(tests)
#else
TESTS_MAIN_SKIPPED("latency thresholds", "not an x86")
#endif
