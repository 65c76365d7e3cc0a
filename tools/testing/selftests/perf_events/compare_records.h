/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is seen of the events of compare.c: values that are read, and the records of their buffers,
 * without what may differ between two runs.
 */
#ifndef PERF_TEST_COMPARE_RECORDS_H
#define PERF_TEST_COMPARE_RECORDS_H

#include "compare_attr.h"

/* Records of a buffer that are shown one by one. */
#define COMPARE_RECORDS	40

/*
 * A sample may have any size up to 64 KiB, and a record may be one that this program does not know;
 * a copy with room behind it is never read past its end.
 */
static char compare_record[1 << 17] __aligned(8);

static const char *records_zero(uint64_t value)
{
	return value ? "n" : "0";
}

/* A count: exactly where it must be known, otherwise at most whether there is one. */
static void records_show_count(const struct compare_slot *slot, uint64_t value)
{
	if (!slot->own || slot->noisy)
		answer_add("?");
	else if (attr_is_exact(&slot->attr))
		answer_add("%llu", (long long)value);
	else if (attr_always_counts(&slot->attr) && !compare.multiplexed)
		answer_add("%s", records_zero(value));
	else
		answer_add("?");
}

static void records_show_id(uint64_t id)
{
	answer_add("#%d", compare_slot_of(id));
}

static const struct compare_slot *records_owner(const uint64_t *words, uint64_t format,
						const struct compare_slot *slot)
{
	int nr = format & PERF_FORMAT_ID ? compare_slot_of(words[1]) : -1;

	return nr >= 0 ? &compare.slots[nr] : slot;
}

/* Enabled and running; that two groups take turns is no difference. */
static const uint64_t *records_show_times(const uint64_t *p, uint64_t format)
{
	uint64_t enabled = 0;

	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED) {
		enabled = *p++;
		answer_add("e%s ", records_zero(enabled));
	}
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING) {
		uint64_t running = *p++;

		if (compare.multiplexed)
			answer_add("r? ");
		else if (enabled && running == enabled)
			answer_add("r= ");
		else
			answer_add("r%s ", records_zero(running));
	}
	return p;
}

/* The values of a read() or of a READ field, @n words at @p; returns where they end. */
static const uint64_t *records_show_values(const struct compare_slot *slot, const uint64_t *p,
					   size_t n)
{
	uint64_t format = slot->attr.read_format, nr = 1;
	size_t each = 1 + !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST);
	const uint64_t *end = p + n;
	bool exact = !(format & PERF_FORMAT_GROUP) || format & PERF_FORMAT_ID;

	if (format & PERF_FORMAT_GROUP) {
		nr = *p++;
		answer_add("nr%llu ", (long long)nr);
		p = records_show_times(p, format);
	} else {
		records_show_times(p + 1, format);
	}
	while (nr-- && p + each <= end) {
		const struct compare_slot *owner = records_owner(p, format, slot);
		uint64_t value = *p++;

		if (!(format & PERF_FORMAT_GROUP)) {
			p += !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
			     !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
			owner = slot;
		}
		if (exact)
			records_show_count(owner, value);
		if (format & PERF_FORMAT_ID)
			records_show_id(*p++);
		if (format & PERF_FORMAT_LOST) {
			if (owner->noisy)
				p++;
			else
				answer_add("l%s", records_zero(*p++));
		}
		answer_add(" ");
	}
	return p;
}

/* The fields of a sample in front of those of variable size. */
static const uint64_t *records_show_head(const uint64_t *p, uint64_t type)
{
	if (type & PERF_SAMPLE_IDENTIFIER)
		records_show_id(*p++);
	if (type & PERF_SAMPLE_IP)
		answer_add(" ip%s", (int64_t)*p++ < 0 ? "k" : "u");
	if (type & PERF_SAMPLE_TID)
		answer_add(" tid%s", records_zero(*p++));
	if (type & PERF_SAMPLE_TIME)
		answer_add(" t%s", records_zero(*p++));
	if (type & PERF_SAMPLE_ADDR)
		answer_add(" addr%s", records_zero(*p++));
	if (type & PERF_SAMPLE_ID)
		records_show_id(*p++);
	if (type & PERF_SAMPLE_STREAM_ID)
		records_show_id(*p++);
	if (type & PERF_SAMPLE_CPU)
		answer_add(" cpu%llu", (long long)*p++);
	if (type & PERF_SAMPLE_PERIOD)
		answer_add(" per%llu", (long long)*p++);
	return p;
}

static const uint64_t *records_show_chain(const uint64_t *p, const uint64_t *end)
{
	uint64_t nr = *p++;

	answer_add(" chain");
	for (; nr-- && p < end; p++) {
		if (*p >= PERF_CONTEXT_MAX)
			answer_add("[%lld]", (long long)*p);
	}
	return p;
}

static const uint64_t *records_show_user(const uint64_t *p, const struct perf_event_attr *attr)
{
	if (attr->sample_type & PERF_SAMPLE_REGS_USER) {
		answer_add(" abi%llu", (long long)*p);
		p += 1 + (*p ? __builtin_popcountll(attr->sample_regs_user) : 0);
	}
	if (attr->sample_type & PERF_SAMPLE_STACK_USER) {
		uint64_t size = *p++;

		answer_add(" stack%llu", (long long)size);
		p += size / 8;
		if (size)
			answer_add("/%s", records_zero(*p++));
	}
	return p;
}

static const uint64_t *records_show_tail(const uint64_t *p, const struct perf_event_attr *attr)
{
	uint64_t type = attr->sample_type;

	if (type & PERF_SAMPLE_WEIGHT_TYPE)
		answer_add(" w%llu", (long long)*p++);
	if (type & PERF_SAMPLE_DATA_SRC)
		answer_add(" src%#llx", (long long)*p++);
	if (type & PERF_SAMPLE_TRANSACTION)
		answer_add(" txn%#llx", (long long)*p++);
	if (type & PERF_SAMPLE_REGS_INTR) {
		answer_add(" iabi%llu", (long long)*p);
		p += 1 + (*p ? __builtin_popcountll(attr->sample_regs_intr) : 0);
	}
	if (type & PERF_SAMPLE_PHYS_ADDR)
		answer_add(" phys%s", records_zero(*p++));
	if (type & PERF_SAMPLE_CGROUP)
		answer_add(" cg%s", records_zero(*p++));
	if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
		answer_add(" dp%llu", (long long)*p++);
	if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
		answer_add(" cp%llu", (long long)*p++);
	return p;
}

static void records_show_sample(const struct compare_slot *slot, const struct perf_event_header *h)
{
	const struct perf_event_attr *attr = &slot->attr;
	const uint64_t *p = (const uint64_t *)(h + 1), *end = (void *)((char *)h + h->size);

	p = records_show_head(p, attr->sample_type);
	if (attr->sample_type & PERF_SAMPLE_READ) {
		answer_add(" read:");
		p = records_show_values(slot, p, end - p);
	}
	if (attr->sample_type & PERF_SAMPLE_CALLCHAIN)
		p = records_show_chain(p, end);
	if (attr->sample_type & PERF_SAMPLE_RAW) {
		uint32_t size = *(uint32_t *)p;

		answer_add(" raw%u", size);
		p = (const uint64_t *)((char *)p + 4 + size);
	}
	if (attr->sample_type & PERF_SAMPLE_BRANCH_STACK) {
		answer_add(" br");
		p += 1 + !!(attr->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX) + *p * 3;
	}
	p = records_show_user(p, attr);
	p = records_show_tail(p, attr);
	answer_add(p == end ? "" : " MISFIT");
}

/* Records at times of their own, and records of the rest of the system. */
static bool records_are_left_out(const struct compare_slot *slot, uint32_t type)
{
	switch (type) {
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
	case PERF_RECORD_KSYMBOL:
	case PERF_RECORD_BPF_EVENT:
	case PERF_RECORD_TEXT_POKE:
		return true;
	case PERF_RECORD_SAMPLE:
		return slot->noisy;
	}
	return false;
}

static void records_show_one(const struct compare_slot *slot, const struct perf_event_header *h)
{
	answer_add(" [%u m%x", h->type, h->misc);
	if (slot->shared)
		answer_add(" s?");
	else if (h->type != PERF_RECORD_SAMPLE)
		answer_add(" s%u", h->size);
	else
		records_show_sample(slot, h);
	answer_add("]");
}

static void records_copy(const struct compare_slot *slot, uint64_t at, size_t n)
{
	size_t size = slot->map_size - COMPARE_PAGE;

	for (size_t i = 0; i < n; i++)
		compare_record[i] = slot->map[COMPARE_PAGE + (at + i) % size];
}

/* Takes all records out of the buffer of an event that writes forward. */
static void records_drain(struct compare_slot *slot)
{
	struct perf_event_mmap_page *page = (void *)slot->map;
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	size_t size = slot->map_size - COMPARE_PAGE;
	struct perf_event_header *h = (void *)compare_record;
	unsigned int shown = 0;
	bool quiet = !slot->own || (slot->noisy && head - slot->tail > size / 2);

	while (slot->tail < head && !quiet) {
		records_copy(slot, slot->tail, sizeof(*h));
		if (h->size < sizeof(*h)) {
			answer_add(" BROKEN");
			break;
		}
		records_copy(slot, slot->tail, h->size);
		slot->tail += h->size;
		if (records_are_left_out(slot, h->type) || shown++ >= COMPARE_RECORDS)
			continue;
		records_show_one(slot, h);
	}
	if (shown > COMPARE_RECORDS)
		answer_add(" +%u", shown - COMPARE_RECORDS);
	slot->tail = head;
	__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
}

/* What does not depend on the time in the first page. */
static void records_show_page(const struct compare_slot *slot)
{
	const struct perf_event_mmap_page *page = (void *)slot->map;

	answer_add("v%u cap%llx size%u off%llu data%llu idx%s lock%u", page->version,
		   (long long)page->capabilities, page->size, (long long)page->data_offset,
		   (long long)page->data_size,
		   compare.multiplexed ? "?" : records_zero(page->index),
		   page->lock & 1);
	answer_add(" w%u", page->pmc_width);
}

#endif /* PERF_TEST_COMPARE_RECORDS_H */
