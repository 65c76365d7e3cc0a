// SPDX-License-Identifier: GPL-2.0
/* PMUs as sysfs describes them (Documentation/ABI/testing/sysfs-bus-event_source-devices*). */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "names.h"

static const char *sysfs_root = "/sys";
static const char *tracefs_root;

void tally_set_roots(const char *sysfs, const char *tracefs)
{
	sysfs_root = sysfs ? sysfs : "/sys";
	tracefs_root = tracefs;
}

/**
 * tally_file_text() - read a small file
 * @path: name of the file
 * @text: gets the contents without the newline at the end
 * @size: bytes at @text
 *
 * Return: length of the text, or a negative errno.
 */
int tally_file_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, size - 1);
	if (n < 0)
		n = -errno;
	close(fd);
	if (n < 0)
		return n;
	while (n && isspace((unsigned char)text[n - 1]))
		n--;
	text[n] = 0;
	return n;
}

static void pmu_path(const char *pmu, const char *dir, const char *file, char *path, size_t size)
{
	snprintf(path, size, "%s/bus/event_source/devices/%s%s%s%s%s", sysfs_root, pmu,
		 *dir ? "/" : "", dir, *file ? "/" : "", file);
}

/**
 * tally_pmu_file() - read a file of a PMU
 * @pmu: PMU
 * @dir: "format", "events", "caps", or "" for the PMU's own directory
 * @file: name of the file
 * @text: gets the contents
 * @size: bytes at @text
 *
 * Return: length of the text, or a negative errno.
 */
int tally_pmu_file(const struct tally_pmu *pmu, const char *dir, const char *file, char *text,
		   size_t size)
{
	char path[512];

	if (strchr(file, '/') || *file == '.')
		return -ENOENT;
	pmu_path(pmu->name, dir, file, path, sizeof(path));
	return tally_file_text(path, text, size);
}

/**
 * tally_pmu_find() - look up a PMU
 * @name: name of its directory
 * @pmu: gets what sysfs has
 *
 * Return: 0, or -ENOENT.
 */
int tally_pmu_find(const char *name, struct tally_pmu *pmu)
{
	char text[64];

	memset(pmu, 0, sizeof(*pmu));
	if (!*name || strlen(name) >= sizeof(pmu->name))
		return -ENOENT;
	snprintf(pmu->name, sizeof(pmu->name), "%s", name);
	if (tally_pmu_file(pmu, "", "type", text, sizeof(text)) <= 0)
		return -ENOENT;
	pmu->type = strtoul(text, NULL, 10);
	if (tally_pmu_file(pmu, "", "cpus", pmu->cpus, sizeof(pmu->cpus)) > 0)
		pmu->core = true;
	else if (tally_pmu_file(pmu, "", "cpumask", pmu->cpus, sizeof(pmu->cpus)) < 0)
		*pmu->cpus = 0;
	if (!strcmp(name, "cpu"))
		pmu->core = true;
	return 0;
}

/* "imc" and "uncore_imc" stand for uncore_imc_0, uncore_imc_1 and so on. */
static bool pmu_name_matches(const char *pattern, const char *name)
{
	size_t length = strlen(pattern);

	if (!fnmatch(pattern, name, 0))
		return true;
	if (!strncmp(name, "uncore_", 7) && strncmp(pattern, "uncore_", 7))
		name += 7;
	if (!fnmatch(pattern, name, 0))
		return true;
	if (strncmp(name, pattern, length) || name[length] != '_')
		return false;
	name += length + 1;
	return *name && strspn(name, "0123456789") == strlen(name);
}

static int by_pmu_name(const void *a, const void *b)
{
	return strverscmp(((const struct tally_pmu *)a)->name, ((const struct tally_pmu *)b)->name);
}

static int pmu_list(bool (*wanted)(const struct tally_pmu *pmu, const char *pattern),
		    const char *pattern, struct tally_pmu **pmus)
{
	char path[512];
	struct dirent *entry;
	struct tally_pmu pmu;
	int n = 0;
	DIR *dir;

	*pmus = NULL;
	pmu_path("", "", "", path, sizeof(path));
	dir = opendir(path);
	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		struct tally_pmu *more;

		if (*entry->d_name == '.' || tally_pmu_find(entry->d_name, &pmu) ||
		    !wanted(&pmu, pattern))
			continue;
		more = realloc(*pmus, (n + 1) * sizeof(pmu));
		if (!more) {
			n = -ENOMEM;
			break;
		}
		*pmus = more;
		more[n++] = pmu;
	}
	closedir(dir);
	if (n > 0)
		qsort(*pmus, n, sizeof(pmu), by_pmu_name);
	return n;
}

static bool pmu_wanted_by_name(const struct tally_pmu *pmu, const char *pattern)
{
	return pmu_name_matches(pattern, pmu->name);
}

static bool pmu_wanted_core(const struct tally_pmu *pmu, const char *pattern)
{
	(void)pattern;
	return pmu->core;
}

/**
 * tally_pmu_match() - PMUs with names that match
 * @pattern: name, glob, or the name without "uncore_" or "_NUMBER"; an exact name matches alone
 * @pmus: gets an array that the caller frees
 *
 * Return: number of PMUs, or a negative errno.
 */
int tally_pmu_match(const char *pattern, struct tally_pmu **pmus)
{
	struct tally_pmu pmu;

	if (tally_pmu_find(pattern, &pmu))
		return pmu_list(pmu_wanted_by_name, pattern, pmus);
	*pmus = malloc(sizeof(pmu));
	if (!*pmus)
		return -ENOMEM;
	**pmus = pmu;
	return 1;
}

/**
 * tally_pmu_cores() - PMUs of the CPUs' cores, more than one on a hybrid machine
 * @pmus: gets an array that the caller frees
 *
 * Return: number of PMUs, or a negative errno.
 */
int tally_pmu_cores(struct tally_pmu **pmus)
{
	return pmu_list(pmu_wanted_core, NULL, pmus);
}

/* Ranges of bits, "0-7,32-35". */
static int parse_bits(const char *at, uint64_t *mask)
{
	*mask = 0;
	do {
		char *end;
		unsigned long first = strtoul(at, &end, 10), last = first;

		if (end == at)
			return -EINVAL;
		if (*end == '-') {
			at = end + 1;
			last = strtoul(at, &end, 10);
			if (end == at)
				return -EINVAL;
		}
		if (last > 63 || first > last)
			return -EINVAL;
		*mask |= (~0ull >> (63 - (last - first))) << first;
		at = *end ? end + 1 : end;
	} while (*at);
	return 0;
}

/**
 * tally_pmu_field() - the bits of a PMU's term
 * @pmu: PMU
 * @term: file in its format directory
 * @field: gets the bits
 *
 * Return: 0, -ENOENT without such a term, -EINVAL if its file has another form.
 */
int tally_pmu_field(const struct tally_pmu *pmu, const char *term, struct tally_pmu_field *field)
{
	char text[256], *bits;

	if (tally_pmu_file(pmu, "format", term, text, sizeof(text)) <= 0)
		return -ENOENT;
	bits = strchr(text, ':');
	if (strncmp(text, "config", 6) || !bits || bits - text > 7)
		return -EINVAL;
	field->word = bits - text == 7 ? text[6] - '0' : 0;
	if (field->word < 0 || field->word > 3)
		return -EINVAL;
	return parse_bits(bits + 1, &field->mask);
}

/**
 * tally_pmu_list() - names of the files in a directory of a PMU
 * @pmu: PMU
 * @dir: "format" or "events"
 * @text: gets the names, sorted, with commas between them
 * @size: bytes at @text; names that do not fit are left out
 *
 * Return: number of names.
 */
int tally_pmu_list(const struct tally_pmu *pmu, const char *dir, char *text, size_t size)
{
	struct dirent **entries;
	char path[512];
	size_t used = 0;
	int n, names = 0;

	*text = 0;
	pmu_path(pmu->name, dir, "", path, sizeof(path));
	n = scandir(path, &entries, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		const char *name = entries[i]->d_name;

		if (*name != '.' && !strchr(name, '.') && used + strlen(name) + 3 < size) {
			used += snprintf(text + used, size - used, "%s%s", names ? ", " : "", name);
			names++;
		}
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	return names;
}

/**
 * tally_attr_word() - config or config1 to config3 of an attr
 * @attr: attr
 * @word: 0 to 3
 *
 * Return: pointer to the word.
 */
uint64_t *tally_attr_word(struct perf_event_attr *attr, int word)
{
	switch (word) {
	case 0:
		return (uint64_t *)&attr->config;
	case 1:
		return (uint64_t *)&attr->config1;
	case 2:
		return (uint64_t *)&attr->config2;
	default:
		return (uint64_t *)&attr->config3;
	}
}

/**
 * tally_field_put() - store a value in its bits
 * @field: bits
 * @attr: attr to change
 * @value: value, as wide as the bits at most
 *
 * Return: 0, or -ERANGE if the value has more bits; @attr is unchanged then.
 */
int tally_field_put(const struct tally_pmu_field *field, struct perf_event_attr *attr,
		    uint64_t value)
{
	int width = __builtin_popcountll(field->mask);
	uint64_t *word = tally_attr_word(attr, field->word), bits = *word & ~field->mask;

	if (width < 64 && value >> width)
		return -ERANGE;
	for (int bit = 0; bit < 64; bit++) {
		if (!(field->mask >> bit & 1))
			continue;
		bits |= (value & 1) << bit;
		value >>= 1;
	}
	*word = bits;
	return 0;
}

/**
 * tally_tracefs() - where tracefs is mounted
 *
 * Return: directory that has events/.
 */
const char *tally_tracefs(void)
{
	static const char * const places[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

	if (tracefs_root)
		return tracefs_root;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		char events[64];

		snprintf(events, sizeof(events), "%s/events", places[i]);
		if (!access(events, R_OK))
			return places[i];
	}
	return places[0];
}

static int add_tracepoint(const char *root, const char *system, const char *name,
			  int (*add)(void *arg, const char *full, uint64_t id), void *arg)
{
	char path[1024], text[32], full[520];

	snprintf(path, sizeof(path), "%s/events/%s/%s/id", root, system, name);
	if (tally_file_text(path, text, sizeof(text)) <= 0)
		return 0;
	snprintf(full, sizeof(full), "%s:%s", system, name);
	return add(arg, full, strtoull(text, NULL, 10)) ?: 1;
}

static int add_tracepoints(const char *root, const char *system, const char *pattern,
			   int (*add)(void *arg, const char *full, uint64_t id), void *arg)
{
	struct dirent **names;
	char path[512];
	int found = 0, n;

	snprintf(path, sizeof(path), "%s/events/%s", root, system);
	n = scandir(path, &names, NULL, alphasort);
	if (n < 0)
		return 0;
	for (int i = 0; i < n; i++) {
		const char *name = names[i]->d_name;

		if (found >= 0 && *name != '.' && !fnmatch(pattern, name, 0)) {
			int ret = add_tracepoint(root, system, name, add, arg);

			found = ret < 0 ? ret : found + ret;
		}
		free(names[i]);
	}
	free(names);
	return found;
}

/**
 * tally_tracepoint_ids() - tracepoints that match
 * @system: glob of the subsystem
 * @name: glob of the tracepoint
 * @add: called with "system:name" and the id of each, in the order of the names; negative ends it
 * @arg: first argument of @add
 * @err: gets the reason
 *
 * Return: number of tracepoints, -ENOENT if none matches, -EACCES if tracefs may not be read.
 */
int tally_tracepoint_ids(const char *system, const char *name,
			 int (*add)(void *arg, const char *full, uint64_t id), void *arg,
			 struct tally_error *err)
{
	const char *root = tally_tracefs();
	struct dirent **systems;
	char path[512];
	int found = 0, n;

	snprintf(path, sizeof(path), "%s/events", root);
	n = scandir(path, &systems, NULL, alphasort);
	if (n < 0)
		return tally_fail(err, errno == ENOENT ? ENOENT : EACCES,
				  "%s:%s: cannot read %s: %s; mount tracefs, let this user read it",
				  system, name, path, strerror(errno));
	for (int i = 0; i < n; i++) {
		const char *entry = systems[i]->d_name;

		if (found >= 0 && *entry != '.' && !fnmatch(system, entry, 0)) {
			int ret = add_tracepoints(root, entry, name, add, arg);

			found = ret < 0 ? ret : found + ret;
		}
		free(systems[i]);
	}
	free(systems);
	if (!found)
		return tally_fail(err, ENOENT, "%s:%s: no such tracepoint in %s", system, name,
				  path);
	return found;
}
