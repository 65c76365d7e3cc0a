/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the files that turn names into events: names.c, terms.c, pmu.c, symbols of tables. */
#ifndef TALLY_NAMES_H
#define TALLY_NAMES_H

#include "tally_open.h"

/**
 * struct tally_pmu - a PMU of sysfs
 * @name: name of its directory
 * @type: value of perf_event_attr.type
 * @core: counts for the CPU that runs a task, so that a task's event may use it
 * @cpus: CPUs it counts for, in the form of sysfs, or an empty string for all
 */
struct tally_pmu {
	char name[128];
	uint32_t type;
	bool core;
	char cpus[256];
};

/**
 * struct tally_pmu_field - where the bits of a term are
 * @word: 0 for config, 1 to 3 for config1 to config3
 * @mask: bits of the word, the lowest takes bit 0 of the value
 */
struct tally_pmu_field {
	int word;
	uint64_t mask;
};

/**
 * struct tally_term - key or key=value of an event's terms
 * @key: name of the term
 * @value: text behind the equals sign without quotes, or NULL
 */
struct tally_term {
	char key[128];
	char *value;
};

int tally_pmu_find(const char *name, struct tally_pmu *pmu);
int tally_pmu_match(const char *pattern, struct tally_pmu **pmus);
int tally_pmu_cores(struct tally_pmu **pmus);
int tally_pmu_file(const struct tally_pmu *pmu, const char *dir, const char *file, char *text,
		   size_t size);
int tally_pmu_field(const struct tally_pmu *pmu, const char *term, struct tally_pmu_field *field);
int tally_pmu_list(const struct tally_pmu *pmu, const char *dir, char *text, size_t size);
uint64_t *tally_attr_word(struct perf_event_attr *attr, int word);
int tally_field_put(const struct tally_pmu_field *field, struct perf_event_attr *attr,
		    uint64_t value);

int tally_generic_event(const char *name, struct perf_event_attr *attr);
int tally_cache_event(const char *name, struct perf_event_attr *attr);

int tally_terms_apply(struct tally_counter *event, const struct tally_pmu *pmu, const char *text,
		      struct tally_error *err);
int tally_alias_apply(struct tally_counter *event, const struct tally_pmu *pmu, const char *name,
		      struct tally_error *err);

int tally_tracepoint_ids(const char *system, const char *name,
			 int (*add)(void *arg, const char *full, uint64_t id), void *arg,
			 struct tally_error *err);

/**
 * struct tally_fallback - what an event is opened without
 * @lacks: features that the kernel lacks, bits of rows
 * @fell_back: TALLY_FELL_*
 * @original: attr before the first change
 */
struct tally_fallback {
	unsigned int lacks;
	unsigned int fell_back;
	struct perf_event_attr original;
};

void tally_fallback_begin(const struct tally_opened *session, struct tally_counter *event,
			  struct tally_fallback *fallback);
bool tally_fallback_next(const struct tally_opened *session, struct tally_counter *event,
			 int error, struct tally_fallback *fallback);
int tally_fallback_done(struct tally_opened *session, struct tally_counter *event,
			const struct tally_fallback *fallback);
const char *tally_tracefs(void);
int tally_explain_mmap(struct tally_error *err, int error, const char *what);
int tally_file_text(const char *path, char *text, size_t size);

#endif
