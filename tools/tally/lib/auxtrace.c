// SPDX-License-Identifier: GPL-2.0
/*
 * Records that a decoder of AUX areas reads first: AUXTRACE_INFO has the kind of what fills the
 * areas, and words in an order that depends on the kind; ID_INDEX has the CPU and the task of each
 * id.
 */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "names.h"

/* Largest number of entries in an ID_INDEX record: its size has 16 bits. */
#define INDEX_ENTRIES	2000

/**
 * enum aux_source - where a word of AUXTRACE_INFO is from
 * @AUX_END: behind the last word
 * @AUX_ZERO: 0
 * @AUX_TYPE: type of the PMU
 * @AUX_TIME_SHIFT: time_shift of the first page
 * @AUX_TIME_MULT: time_mult of the first page
 * @AUX_TIME_ZERO: time_zero of the first page
 * @AUX_TIME_VALID: whether time_zero is valid
 * @AUX_PER_CPU: buffers are those of CPUs, not of tasks
 * @AUX_TERM: bits of a term in the event's config
 * @AUX_FILE: number in a file of the PMU
 * @AUX_RATIO_TSC: numerator of the ratio of the time stamp counter to the core's crystal
 * @AUX_RATIO_CRYSTAL: its denominator
 */
enum aux_source {
	AUX_END,
	AUX_ZERO,
	AUX_TYPE,
	AUX_TIME_SHIFT,
	AUX_TIME_MULT,
	AUX_TIME_ZERO,
	AUX_TIME_VALID,
	AUX_PER_CPU,
	AUX_TERM,
	AUX_FILE,
	AUX_RATIO_TSC,
	AUX_RATIO_CRYSTAL,
};

/**
 * struct aux_word - a word of AUXTRACE_INFO
 * @source: where it is from
 * @name: term or file
 */
struct aux_word {
	enum aux_source source;
	const char *name;
};

static const struct aux_word intel_pt_words[] = {
	{ AUX_TYPE },
	{ AUX_TIME_SHIFT },
	{ AUX_TIME_MULT },
	{ AUX_TIME_ZERO },
	{ AUX_TIME_VALID },
	{ AUX_TERM, "tsc" },
	{ AUX_TERM, "noretcomp" },
	{ AUX_ZERO }, /* context switches: none are recorded for the decoder */
	{ AUX_ZERO }, /* snapshots */
	{ AUX_PER_CPU },
	{ AUX_TERM, "mtc" },
	{ AUX_TERM, "mtc_period" },
	{ AUX_RATIO_TSC },
	{ AUX_RATIO_CRYSTAL },
	{ AUX_TERM, "cyc" },
	{ AUX_FILE, "max_nonturbo_ratio" },
	{ AUX_ZERO }, /* bytes of an address filter */
	{}
};

static const struct aux_word intel_bts_words[] = {
	{ AUX_TYPE },
	{ AUX_TIME_SHIFT },
	{ AUX_TIME_MULT },
	{ AUX_TIME_ZERO },
	{ AUX_TIME_VALID },
	{ AUX_ZERO }, /* snapshots */
	{}
};

static const struct aux_word arm_spe_words[] = {
	{ AUX_TYPE },
	{ AUX_PER_CPU },
	{}
};

static const struct aux_word hisi_ptt_words[] = {
	{ AUX_TYPE },
	{}
};

/**
 * struct aux_kind - PMUs that fill an AUX area
 * @pmu: pattern of their names
 * @type: number of the kind in AUXTRACE_INFO
 * @words: words of AUXTRACE_INFO; NULL where these are registers that only a driver can read
 */
struct aux_kind {
	const char *pmu;
	u32 type;
	const struct aux_word *words;
};

static const struct aux_kind aux_kinds[] = {
	{ "intel_pt", 1, intel_pt_words },
	{ "intel_bts", 2, intel_bts_words },
	{ "cs_etm", 3, NULL },
	{ "arm_spe_*", 4, arm_spe_words },
	{ "hisi_ptt*", 6, hisi_ptt_words },
};

static const struct aux_kind *aux_kind_of(const char *pmu)
{
	for (size_t i = 0; pmu && i < ARRAY_SIZE(aux_kinds); i++) {
		if (!fnmatch(aux_kinds[i].pmu, pmu, 0))
			return &aux_kinds[i];
	}
	return NULL;
}

bool tally_aux_is_known(const struct tally_counter *event)
{
	return aux_kind_of(event->pmu);
}

bool tally_aux_is_described(const struct tally_counter *event)
{
	const struct aux_kind *kind = aux_kind_of(event->pmu);

	return kind && kind->words;
}

static u64 aux_term(const struct tally_pmu *pmu, const char *term)
{
	struct tally_pmu_field field;

	return tally_pmu_field(pmu, term, &field) || field.word ? 0 : field.mask;
}

static u64 aux_file(const struct tally_pmu *pmu, const char *file)
{
	char text[32];

	return tally_pmu_file(pmu, "", file, text, sizeof(text)) > 0 ?
		strtoull(text, NULL, 0) : 0;
}

/* CPUID leaf 0x15: EBX / EAX is the ratio. */
static u64 aux_ratio(bool tsc)
{
#if defined(__x86_64__)
	unsigned int eax = 0, ebx = 0, ecx, edx;

	if (__get_cpuid_max(0, NULL) >= 0x15)
		__cpuid_count(0x15, 0, eax, ebx, ecx, edx);
	return tsc ? ebx : eax;
#else
	(void)tsc;
	return 0;
#endif
}

static u64 aux_word(const struct aux_word *word, const struct tally_pmu *pmu,
		    const struct perf_event_mmap_page *page, bool per_cpu)
{
	switch (word->source) {
	case AUX_TYPE:
		return pmu->type;
	case AUX_TIME_SHIFT:
		return page->time_shift;
	case AUX_TIME_MULT:
		return page->time_mult;
	case AUX_TIME_ZERO:
		return page->time_zero;
	case AUX_TIME_VALID:
		return page->cap_user_time_zero;
	case AUX_PER_CPU:
		return per_cpu;
	case AUX_TERM:
		return aux_term(pmu, word->name);
	case AUX_FILE:
		return aux_file(pmu, word->name);
	case AUX_RATIO_TSC:
	case AUX_RATIO_CRYSTAL:
		return aux_ratio(word->source == AUX_RATIO_TSC);
	default:
		return 0;
	}
}

int tally_auxtrace_info(struct tally_buf *buf, const struct tally_counter *event,
			const struct perf_event_mmap_page *page, bool per_cpu)
{
	struct perf_event_header header = { .type = TALLY_RECORD_AUXTRACE_INFO };
	const struct aux_kind *kind = aux_kind_of(event->pmu);
	struct tally_pmu pmu;
	u64 words = 0;

	if (!kind || !kind->words || tally_pmu_find(event->pmu, &pmu))
		return -ENOENT;
	while (kind->words[words].source)
		words++;
	header.size = sizeof(header) + 2 * sizeof(u32) + words * sizeof(u64);
	tally_buf_put(buf, &header, sizeof(header));
	tally_buf_put_u32(buf, kind->type);
	tally_buf_put_u32(buf, 0);
	for (const struct aux_word *word = kind->words; word->source; word++)
		tally_buf_put_u64(buf, aux_word(word, &pmu, page, per_cpu));
	return 0;
}

/* The places of one event, an entry for each of its files. */
static void index_event(struct tally_buf *buf, struct tally_rings *rings,
			const struct tally_opened *session, int event)
{
	for (int place = 0; place < session->nr_places; place++) {
		size_t at = (size_t)event * session->nr_places + place;
		const struct tally_place *where = &session->places[place];
		const struct tally_ring *ring = tally_ring_of(rings, session, place, false);

		if (session->fds[at] < 0)
			continue;
		tally_buf_put_u64(buf, session->ids[at]);
		tally_buf_put_u64(buf, ring ? ring - rings->ring : 0);
		tally_buf_put_u64(buf, (s64)where->cpu);
		tally_buf_put_u64(buf, where->cgroup < 0 ? (s64)where->pid : -1LL);
	}
}

void tally_id_index(struct tally_buf *buf, struct tally_rings *rings,
		    const struct tally_opened *session)
{
	const size_t entry = 4 * sizeof(u64);
	struct tally_buf entries = {};

	for (int event = 0; event < session->events->n; event++)
		index_event(&entries, rings, session, event);
	for (size_t at = 0; at < entries.size; at += INDEX_ENTRIES * entry) {
		size_t size = entries.size - at;
		struct perf_event_header header = { .type = TALLY_RECORD_ID_INDEX };

		if (size > INDEX_ENTRIES * entry)
			size = INDEX_ENTRIES * entry;
		header.size = sizeof(header) + sizeof(u64) + size;
		tally_buf_put(buf, &header, sizeof(header));
		tally_buf_put_u64(buf, size / entry);
		tally_buf_put(buf, entries.data + at, size);
	}
	buf->failed |= entries.failed;
	tally_buf_free(&entries);
}
