// SPDX-License-Identifier: GPL-2.0
/* Feature sections that describe this machine, for the writer. */
#include "feature.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "data_write.h"

#define SYS_CPU		"/sys/devices/system/cpu"
#define SYS_NODE	"/sys/devices/system/node"
#define SYS_MEMORY	"/sys/devices/system/memory"
#define SYS_PMU		"/sys/bus/event_source/devices"
/* Nodes, caches and PMUs that are looked at. */
#define COLLECT_MAX	4096

static bool TALLY_PRINTF(3, 4) collect_line(char *line, size_t size, const char *fmt, ...)
{
	char path[512];
	va_list ap;
	FILE *file;
	bool good;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	file = fopen(path, "re");
	if (!file)
		return false;
	good = fgets(line, size, file);
	fclose(file);
	if (good)
		line[strcspn(line, "\n")] = 0;
	return good;
}

/* Strings in the order in which they were found, each once. */
struct collect_strings {
	char *strings[COLLECT_MAX];
	u32 nr;
};

static void strings_add(struct collect_strings *list, const char *string)
{
	for (u32 i = 0; i < list->nr; i++)
		if (!strcmp(list->strings[i], string))
			return;
	if (list->nr < COLLECT_MAX)
		list->strings[list->nr++] = strdup(string);
}

static void strings_put(struct tally_buf *buf, struct collect_strings *list)
{
	tally_buf_put_u32(buf, list->nr);
	for (u32 i = 0; i < list->nr; i++) {
		tally_buf_put_string(buf, list->strings[i]);
		free(list->strings[i]);
	}
	list->nr = 0;
}

/* A line "key : value" of a file in proc. */
static bool collect_proc(const char *path, const char *key, char *value, size_t size)
{
	FILE *file = fopen(path, "re");
	char line[512];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file)) {
		char *colon = strchr(line, ':');

		if (strncmp(line, key, strlen(key)) || !colon)
			continue;
		colon += strspn(colon, ": \t");
		colon[strcspn(colon, "\n")] = 0;
		snprintf(value, size, "%s", colon);
		found = true;
	}
	if (file)
		fclose(file);
	return found;
}

static bool collect_hostname(struct tally_buf *buf)
{
	struct utsname name;

	if (uname(&name))
		return false;
	tally_buf_put_string(buf, name.nodename);
	return true;
}

static bool collect_osrelease(struct tally_buf *buf)
{
	struct utsname name;

	if (uname(&name))
		return false;
	tally_buf_put_string(buf, name.release);
	return true;
}

static bool collect_version(struct tally_buf *buf)
{
	tally_buf_put_string(buf, "tally " TALLY_VERSION);
	return true;
}

static bool collect_arch(struct tally_buf *buf)
{
	struct utsname name;

	if (uname(&name))
		return false;
	tally_buf_put_string(buf, name.machine);
	return true;
}

static bool collect_nrcpus(struct tally_buf *buf)
{
	tally_buf_put_u32(buf, sysconf(_SC_NPROCESSORS_CONF));
	tally_buf_put_u32(buf, sysconf(_SC_NPROCESSORS_ONLN));
	return true;
}

static bool collect_cpudesc(struct tally_buf *buf)
{
	char value[256];

	if (!collect_proc("/proc/cpuinfo", "model name", value, sizeof(value)) &&
	    !collect_proc("/proc/cpuinfo", "Processor", value, sizeof(value)))
		return false;
	tally_buf_put_string(buf, value);
	return true;
}

static bool collect_cpuid(struct tally_buf *buf)
{
	char vendor[64], family[32], model[32], stepping[32], text[256];
	static const char path[] = "/proc/cpuinfo";

	if (collect_line(text, sizeof(text), SYS_CPU "/cpu0/regs/identification/midr_el1")) {
		tally_buf_put_string(buf, text);
		return true;
	}
	if (!collect_proc(path, "vendor_id", vendor, sizeof(vendor)) ||
	    !collect_proc(path, "cpu family", family, sizeof(family)) ||
	    !collect_proc(path, "model\t", model, sizeof(model)) ||
	    !collect_proc(path, "stepping", stepping, sizeof(stepping)))
		return false;
	snprintf(text, sizeof(text), "%s,%s,%s,%s", vendor, family, model, stepping);
	tally_buf_put_string(buf, text);
	return true;
}

static bool collect_total_mem(struct tally_buf *buf)
{
	char value[64];

	if (!collect_proc("/proc/meminfo", "MemTotal", value, sizeof(value)))
		return false;
	tally_buf_put_u64(buf, strtoull(value, NULL, 10));
	return true;
}

static void collect_siblings(struct collect_strings *list, long cpus, const char *file,
			     const char *older)
{
	char line[256];

	for (long i = 0; i < cpus; i++)
		if (collect_line(line, sizeof(line), SYS_CPU "/cpu%ld/topology/%s", i, file) ||
		    collect_line(line, sizeof(line), SYS_CPU "/cpu%ld/topology/%s", i, older))
			strings_add(list, line);
}

static u32 collect_topology_id(long cpu, const char *file)
{
	char line[32];

	if (!collect_line(line, sizeof(line), SYS_CPU "/cpu%ld/topology/%s", cpu, file))
		return -1;
	return strtol(line, NULL, 10);
}

static bool collect_cpu_topology(struct tally_buf *buf)
{
	static struct collect_strings list;
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	collect_siblings(&list, cpus, "package_cpus_list", "core_siblings_list");
	strings_put(buf, &list);
	collect_siblings(&list, cpus, "core_cpus_list", "thread_siblings_list");
	strings_put(buf, &list);
	for (long i = 0; i < cpus; i++) {
		tally_buf_put_u32(buf, collect_topology_id(i, "core_id"));
		tally_buf_put_u32(buf, collect_topology_id(i, "physical_package_id"));
	}
	if (collect_topology_id(0, "die_id") == (u32)-1)
		return true;
	collect_siblings(&list, cpus, "die_cpus_list", "");
	strings_put(buf, &list);
	for (long i = 0; i < cpus; i++)
		tally_buf_put_u32(buf, collect_topology_id(i, "die_id"));
	return true;
}

/* "Node 0 MemTotal:  24 kB" */
static u64 collect_node_kb(u32 node, const char *key)
{
	char path[128], prefix[64], value[64];

	snprintf(path, sizeof(path), SYS_NODE "/node%u/meminfo", node);
	snprintf(prefix, sizeof(prefix), "Node %u %s:", node, key);
	return collect_proc(path, prefix, value, sizeof(value)) ? strtoull(value, NULL, 10) : 0;
}

static bool collect_numa(struct tally_buf *buf)
{
	size_t count_at = buf->size;
	char cpus[256];
	u32 nr = 0;

	tally_buf_put_u32(buf, 0);
	for (u32 i = 0; i < COLLECT_MAX; i++) {
		if (!collect_line(cpus, sizeof(cpus), SYS_NODE "/node%u/cpulist", i))
			continue;
		tally_buf_put_u32(buf, i);
		tally_buf_put_u64(buf, collect_node_kb(i, "MemTotal"));
		tally_buf_put_u64(buf, collect_node_kb(i, "MemFree"));
		tally_buf_put_string(buf, cpus);
		nr++;
	}
	if (nr && !buf->failed)
		memcpy(buf->data + count_at, &nr, sizeof(nr));
	return nr;
}

static bool collect_pmus(struct tally_buf *buf)
{
	DIR *dir = opendir(SYS_PMU);
	struct dirent *entry;
	char type[32];
	u32 nr = 0;

	tally_buf_put_u32(buf, 0);
	while (dir && (entry = readdir(dir))) {
		if (*entry->d_name == '.' ||
		    !collect_line(type, sizeof(type), SYS_PMU "/%s/type", entry->d_name))
			continue;
		tally_buf_put_u32(buf, strtoul(type, NULL, 10));
		tally_buf_put_string(buf, entry->d_name);
		nr++;
	}
	if (dir)
		closedir(dir);
	if (nr && !buf->failed)
		memcpy(buf->data, &nr, sizeof(nr));
	return nr;
}

struct collect_cache {
	char level[16], line[16], sets[16], ways[16], type[32], size[32], map[256];
};

static bool cache_read(struct collect_cache *cache, long cpu, int index)
{
	const struct {
		const char *file;
		char *text;
		size_t size;
	} files[] = {
		{ "level", cache->level, sizeof(cache->level) },
		{ "coherency_line_size", cache->line, sizeof(cache->line) },
		{ "number_of_sets", cache->sets, sizeof(cache->sets) },
		{ "ways_of_associativity", cache->ways, sizeof(cache->ways) },
		{ "type", cache->type, sizeof(cache->type) },
		{ "size", cache->size, sizeof(cache->size) },
		{ "shared_cpu_list", cache->map, sizeof(cache->map) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (!collect_line(files[i].text, files[i].size, SYS_CPU "/cpu%ld/cache/index%d/%s",
				  cpu, index, files[i].file))
			return false;
	return true;
}

static void cache_put(struct tally_buf *buf, const struct collect_cache *cache)
{
	tally_buf_put_u32(buf, strtoul(cache->level, NULL, 10));
	tally_buf_put_u32(buf, strtoul(cache->line, NULL, 10));
	tally_buf_put_u32(buf, strtoul(cache->sets, NULL, 10));
	tally_buf_put_u32(buf, strtoul(cache->ways, NULL, 10));
	tally_buf_put_string(buf, cache->type);
	tally_buf_put_string(buf, cache->size);
	tally_buf_put_string(buf, cache->map);
}

static bool collect_caches(struct tally_buf *buf)
{
	static struct collect_strings seen;
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct collect_cache cache;
	char key[512];
	u32 nr;

	tally_buf_put_u32(buf, 1);
	tally_buf_put_u32(buf, 0);
	for (long i = 0; i < cpus; i++) {
		for (int index = 0; cache_read(&cache, i, index); index++) {
			nr = seen.nr;
			snprintf(key, sizeof(key), "%s %s %s", cache.level, cache.type, cache.map);
			strings_add(&seen, key);
			if (seen.nr > nr)
				cache_put(buf, &cache);
		}
	}
	nr = seen.nr;
	for (u32 i = 0; i < nr; i++)
		free(seen.strings[i]);
	seen.nr = 0;
	if (nr && !buf->failed)
		memcpy(buf->data + sizeof(u32), &nr, sizeof(nr));
	return nr;
}

static void collect_blocks(struct tally_buf *buf, const char *node_path, u32 node)
{
	static u64 map[COLLECT_MAX];
	DIR *dir = opendir(node_path);
	struct dirent *entry;
	u64 highest = 0;
	bool any = false;

	memset(map, 0, sizeof(map));
	while (dir && (entry = readdir(dir))) {
		u64 number;

		if (sscanf(entry->d_name, "memory%llu", &number) != 1 || number >= COLLECT_MAX * 64)
			continue;
		map[number / 64] |= 1ULL << number % 64;
		highest = number > highest ? number : highest;
		any = true;
	}
	if (dir)
		closedir(dir);
	highest += any;
	tally_buf_put_u64(buf, node);
	tally_buf_put_u64(buf, highest);
	tally_buf_put_u64(buf, highest);
	tally_buf_put(buf, map, (highest + 63) / 64 * sizeof(u64));
}

static bool collect_mem_topology(struct tally_buf *buf)
{
	char block[64], path[128];
	u64 nr = 0;

	if (!collect_line(block, sizeof(block), SYS_MEMORY "/block_size_bytes"))
		return false;
	tally_buf_put_u64(buf, 1);
	tally_buf_put_u64(buf, strtoull(block, NULL, 16));
	tally_buf_put_u64(buf, 0);
	for (u32 i = 0; i < COLLECT_MAX; i++) {
		snprintf(path, sizeof(path), SYS_NODE "/node%u", i);
		if (access(path, F_OK))
			continue;
		collect_blocks(buf, path, i);
		nr++;
	}
	if (nr && !buf->failed)
		memcpy(buf->data + 2 * sizeof(u64), &nr, sizeof(nr));
	return nr;
}

/* Capabilities of a PMU: files with a line each. Returns their number. */
static u32 collect_caps(struct tally_buf *buf, const char *pmu)
{
	size_t count_at = buf->size;
	struct dirent *entry;
	char path[300], value[256];
	u32 nr = 0;
	DIR *dir;

	snprintf(path, sizeof(path), SYS_PMU "/%.200s/caps", pmu);
	tally_buf_put_u32(buf, 0);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (*entry->d_name == '.' ||
		    !collect_line(value, sizeof(value), "%s/%s", path, entry->d_name))
			continue;
		tally_buf_put_string(buf, entry->d_name);
		tally_buf_put_string(buf, value);
		nr++;
	}
	if (dir)
		closedir(dir);
	if (nr && !buf->failed)
		memcpy(buf->data + count_at, &nr, sizeof(nr));
	return nr;
}

static bool collect_cpu_pmu_caps(struct tally_buf *buf)
{
	return collect_caps(buf, "cpu");
}

static bool collect_pmu_caps(struct tally_buf *buf)
{
	DIR *dir = opendir(SYS_PMU);
	struct dirent *entry;
	u32 nr = 0;

	tally_buf_put_u32(buf, 0);
	while (dir && (entry = readdir(dir))) {
		size_t start = buf->size;

		if (*entry->d_name == '.' || !strcmp(entry->d_name, "cpu"))
			continue;
		if (!collect_caps(buf, entry->d_name)) {
			buf->size = start;
			continue;
		}
		tally_buf_put_string(buf, entry->d_name);
		nr++;
	}
	if (dir)
		closedir(dir);
	if (nr && !buf->failed)
		memcpy(buf->data, &nr, sizeof(nr));
	return nr;
}

static bool collect_hybrid(struct tally_buf *buf)
{
	DIR *dir = opendir(SYS_PMU);
	struct dirent *entry;
	char cpus[256];
	u32 nr = 0;

	tally_buf_put_u32(buf, 0);
	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, "cpu_", 4) ||
		    !collect_line(cpus, sizeof(cpus), SYS_PMU "/%s/cpus", entry->d_name))
			continue;
		tally_buf_put_string(buf, entry->d_name);
		tally_buf_put_string(buf, cpus);
		nr++;
	}
	if (dir)
		closedir(dir);
	if (nr && !buf->failed)
		memcpy(buf->data, &nr, sizeof(nr));
	return nr;
}

static const struct {
	enum tally_feature feature;
	bool (*collect)(struct tally_buf *buf);
} collectors[] = {
	{ TALLY_FEAT_HOSTNAME,		collect_hostname },
	{ TALLY_FEAT_OSRELEASE,		collect_osrelease },
	{ TALLY_FEAT_VERSION,		collect_version },
	{ TALLY_FEAT_ARCH,		collect_arch },
	{ TALLY_FEAT_NRCPUS,		collect_nrcpus },
	{ TALLY_FEAT_CPUDESC,		collect_cpudesc },
	{ TALLY_FEAT_CPUID,		collect_cpuid },
	{ TALLY_FEAT_TOTAL_MEM,		collect_total_mem },
	{ TALLY_FEAT_CPU_TOPOLOGY,	collect_cpu_topology },
	{ TALLY_FEAT_NUMA_TOPOLOGY,	collect_numa },
	{ TALLY_FEAT_PMU_MAPPINGS,	collect_pmus },
	{ TALLY_FEAT_CACHE,		collect_caches },
	{ TALLY_FEAT_MEM_TOPOLOGY,	collect_mem_topology },
	{ TALLY_FEAT_CPU_PMU_CAPS,	collect_cpu_pmu_caps },
	{ TALLY_FEAT_HYBRID_TOPOLOGY,	collect_hybrid },
	{ TALLY_FEAT_PMU_CAPS,		collect_pmu_caps },
};

static int collect_cmdline(struct tally_writer *writer, int argc, char **argv,
			   struct tally_error *err)
{
	struct tally_buf buf = {};
	int ret;

	tally_buf_put_u32(&buf, argc);
	for (int i = 0; i < argc; i++)
		tally_buf_put_string(&buf, argv[i]);
	ret = buf.failed ? tally_fail(err, ENOMEM, "no memory") :
		tally_writer_feature(writer, TALLY_FEAT_CMDLINE, buf.data, buf.size, err);
	tally_buf_free(&buf);
	return ret;
}

/**
 * tally_features_collect - add the sections that describe this machine
 * @writer: writer that no record was written to
 * @argc: number of @argv
 * @argv: command line for section CMDLINE
 * @err: what failed
 *
 * What the machine does not have is left out. Not thread safe.
 *
 * Return: 0 or a negative errno.
 */
int tally_features_collect(struct tally_writer *writer, int argc, char **argv,
			   struct tally_error *err)
{
	int ret = collect_cmdline(writer, argc, argv, err);

	for (size_t i = 0; i < ARRAY_SIZE(collectors) && !ret; i++) {
		struct tally_buf buf = {};

		if (collectors[i].collect(&buf))
			ret = buf.failed ? tally_fail(err, ENOMEM, "no memory") :
				tally_writer_feature(writer, collectors[i].feature, buf.data,
						     buf.size, err);
		tally_buf_free(&buf);
	}
	return ret;
}
