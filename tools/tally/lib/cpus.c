// SPDX-License-Identifier: GPL-2.0
/* CPUs and the parts of the machine that they are in. */
#include <stdlib.h>
#include <string.h>

#include "names.h"

/* Largest number of a CPU that a list may name. */
#define MAX_CPU	65535

static int append_cpus(int **cpus, int n, unsigned long first, unsigned long last)
{
	int *more = realloc(*cpus, (n + last - first + 1) * sizeof(int));

	if (!more)
		return -ENOMEM;
	*cpus = more;
	while (first <= last)
		more[n++] = first++;
	return n;
}

int tally_cpu_list(const char *text, int **cpus, struct tally_error *err)
{
	char online[4096];
	const char *at;
	int n = 0;

	*cpus = NULL;
	if (!text) {
		if (tally_file_text("/sys/devices/system/cpu/online", online, sizeof(online)) <= 0)
			return tally_fail(err, ENOENT,
					  "/sys/devices/system/cpu/online: unreadable");
		text = online;
	}
	for (at = text; *at && n >= 0;) {
		char *end;
		unsigned long first = strtoul(at, &end, 10), last = first;
		bool good = end > at;

		if (good && *end == '-') {
			at = end + 1;
			last = strtoul(at, &end, 10);
			good = end > at;
		}
		if (!good || (*end && *end != ',') || first > last || last > MAX_CPU) {
			free(*cpus);
			*cpus = NULL;
			return tally_fail(err, EINVAL, "'%s': not a list of CPUs such as 0-3,8",
					  text);
		}
		n = append_cpus(cpus, n, first, last);
		at = end + (*end == ',');
	}
	if (!n)
		return tally_fail(err, EINVAL, "an empty list of CPUs");
	return n;
}

static long topology_number(int cpu, const char *file)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/%s", cpu, file);
	if (tally_file_text(path, text, sizeof(text)) <= 0)
		return 0;
	return strtol(text, NULL, 10);
}

static int node_of_cpu(int cpu)
{
	char path[128];

	for (int node = 0; node < 1024; node++) {
		char text[8];

		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/node%d/cpulist", cpu,
			 node);
		if (tally_file_text(path, text, sizeof(text)) > 0)
			return node;
	}
	return 0;
}

uint64_t tally_part_of(int cpu, enum tally_level level, char *name, size_t size)
{
	long socket, die, core;
	int node;

	if (level == TALLY_LEVEL_CPU) {
		snprintf(name, size, "CPU%d", cpu);
		return cpu;
	}
	if (level == TALLY_LEVEL_NODE) {
		node = node_of_cpu(cpu);
		snprintf(name, size, "N%d", node);
		return node;
	}
	socket = topology_number(cpu, "physical_package_id");
	die = topology_number(cpu, "die_id");
	core = topology_number(cpu, "core_id");
	if (socket < 0)
		socket = 0;
	if (die < 0)
		die = 0;
	switch (level) {
	case TALLY_LEVEL_SOCKET:
		snprintf(name, size, "S%ld", socket);
		return socket;
	case TALLY_LEVEL_DIE:
		snprintf(name, size, "S%ld-D%ld", socket, die);
		return (uint64_t)socket << 16 | die;
	default:
		snprintf(name, size, "S%ld-D%ld-C%ld", socket, die, core);
		return (uint64_t)socket << 48 | (uint64_t)die << 32 | (uint32_t)core;
	}
}
