// SPDX-License-Identifier: GPL-2.0
/* struct perf_event_attr in files: byte order, old sizes, names. */
#include "feature.h"

#include <byteswap.h>
#include <string.h>

/* Where the bits are, behind read_format. */
#define ATTR_FLAGS_OFFSET	(offsetof(struct perf_event_attr, read_format) + sizeof(u64))

static u8 attr_reverse_bits(u8 byte)
{
	byte = (byte & 0xf0) >> 4 | (byte & 0x0f) << 4;
	byte = (byte & 0xcc) >> 2 | (byte & 0x33) << 2;
	return (byte & 0xaa) >> 1 | (byte & 0x55) << 1;
}

/*
 * Bit-fields fill a word from its other end in the other byte order: in memory the bytes stay and
 * the bits of each are reversed. A field of two bits has its own reversed by this, too.
 */
static void attr_swap_flags(struct perf_event_attr *attr)
{
	u8 *flags = (u8 *)attr + ATTR_FLAGS_OFFSET;

	for (unsigned int i = 0; i < sizeof(u64); i++)
		flags[i] = attr_reverse_bits(flags[i]);
}

static void attr_reverse_precise(struct perf_event_attr *attr)
{
	u8 precise = attr->precise_ip;

	attr->precise_ip = precise >> 1 | (precise & 1) << 1;
}

/* The first byte of aux_action has three bits in use. */
static void attr_swap_action(struct perf_event_attr *attr)
{
	u8 *bytes = (u8 *)&attr->aux_action;

	for (unsigned int i = 0; i < sizeof(attr->aux_action); i++)
		bytes[i] = attr_reverse_bits(bytes[i]);
}

/**
 * tally_attr_swap - convert an attr between byte orders
 * @attr: attr
 * @to_host: true: from the other byte order, false: to it
 */
void tally_attr_swap(struct perf_event_attr *attr, bool to_host)
{
	u64 *words[] = {
		(u64 *)&attr->config, (u64 *)&attr->sample_period, (u64 *)&attr->sample_type,
		(u64 *)&attr->read_format, (u64 *)&attr->config1, (u64 *)&attr->config2,
		(u64 *)&attr->branch_sample_type, (u64 *)&attr->sample_regs_user,
		(u64 *)&attr->sample_regs_intr, (u64 *)&attr->sig_data, (u64 *)&attr->config3,
	};
	u32 *halves[] = {
		&attr->type, &attr->size, &attr->wakeup_events, &attr->bp_type,
		&attr->sample_stack_user, (u32 *)&attr->clockid, &attr->aux_watermark,
		&attr->aux_sample_size,
	};

	if (!to_host)
		attr_reverse_precise(attr);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		*words[i] = bswap_64(*words[i]);
	for (size_t i = 0; i < ARRAY_SIZE(halves); i++)
		*halves[i] = bswap_32(*halves[i]);
	attr->sample_max_stack = bswap_16(attr->sample_max_stack);
	attr_swap_flags(attr);
	attr_swap_action(attr);
	if (to_host)
		attr_reverse_precise(attr);
}

/**
 * tally_attr_read - take an attr of any size from a file
 * @attr: set to the attr in host order, zero where the file's is shorter
 * @data: attr in the file
 * @size: bytes that the file has for it
 * @swap: of the other byte order
 *
 * Return: 0, or -E2BIG if the file has a field that is not known here.
 */
int tally_attr_read(struct perf_event_attr *attr, const void *data, size_t size, bool swap)
{
	size_t known = size < sizeof(*attr) ? size : sizeof(*attr);

	*attr = (struct perf_event_attr){};
	memcpy(attr, data, known);
	if (swap)
		tally_attr_swap(attr, true);
	for (size_t i = known; i < size; i++)
		if (((const u8 *)data)[i])
			return -E2BIG;
	return 0;
}

static const char * const hardware_names[] = {
	"cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses",
	"bus-cycles", "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles",
};

static const char * const software_names[] = {
	"cpu-clock", "task-clock", "page-faults", "context-switches", "cpu-migrations",
	"minor-faults", "major-faults", "alignment-faults", "emulation-faults", "dummy",
	"bpf-output", "cgroup-switches",
};

/**
 * tally_attr_name - name an event that the file has no name for
 * @attr: attr
 * @name: room for the name
 * @size: bytes of it
 *
 * Return: @name.
 */
const char *tally_attr_name(const struct perf_event_attr *attr, char *name, size_t size)
{
	if (attr->type == PERF_TYPE_HARDWARE && attr->config < ARRAY_SIZE(hardware_names))
		snprintf(name, size, "%s", hardware_names[attr->config]);
	else if (attr->type == PERF_TYPE_SOFTWARE && attr->config < ARRAY_SIZE(software_names))
		snprintf(name, size, "%s", software_names[attr->config]);
	else if (attr->type == PERF_TYPE_RAW)
		snprintf(name, size, "r%llx", attr->config);
	else if (attr->type == PERF_TYPE_BREAKPOINT)
		snprintf(name, size, "mem:%#llx", attr->bp_addr);
	else
		snprintf(name, size, "type-%u/config=%#llx/", attr->type, attr->config);
	return name;
}
