// SPDX-License-Identifier: GPL-2.0
/*
 * Accesses to the registers of the PMU, where the emulator counts them: QEMU with the x86 PMU model
 * and x-pmu-stats=on answers a private CPUID leaf. PMU_STATS in the environment (a kernel
 * parameter) names such a machine, since others use the leaf for other data.
 */
#include <stdlib.h>
#include "bench.h"

#if defined(__x86_64__)
#include <cpuid.h>

#define LEAF_STATS	0x4f504d55
#define KIND_RDPMC	8	/* the kinds before it are groups of MSRs */
#define KIND_BRANCH	12	/* so are those from here on */
#define KIND_PEBS	13
#define KIND_IBS	14

static void read_kind(unsigned int kind, uint64_t *reads, uint64_t *writes)
{
	unsigned int eax, ebx, ecx, edx;

	__cpuid_count(LEAF_STATS, kind, eax, ebx, ecx, edx);
	*reads = (uint64_t)ebx << 32 | eax;
	*writes = (uint64_t)edx << 32 | ecx;
}

static bool kind_is_of_msrs(unsigned int kind)
{
	return kind < KIND_RDPMC || (kind >= KIND_BRANCH && kind <= KIND_IBS);
}

bool access_counts(struct access *access)
{
	uint64_t reads, writes;
	unsigned int kind;

	*access = (struct access) { 0 };
	if (!getenv("PMU_STATS"))
		return false;
	for (kind = 0; kind <= KIND_IBS; kind++) {
		if (!kind_is_of_msrs(kind))
			continue;
		read_kind(kind, &reads, &writes);
		access->reads += reads;
		access->writes += writes;
	}
	read_kind(KIND_RDPMC, &access->rdpmc, &writes);
	return true;
}
#else
bool access_counts(struct access *access)
{
	*access = (struct access) { 0 };
	return false;
}
#endif
