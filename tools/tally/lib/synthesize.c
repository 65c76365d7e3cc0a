// SPDX-License-Identifier: GPL-2.0
/* Records of what runs before the first event is enabled, from /proc. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "names.h"

/* Longest name of a mapping, with its NUL and padding, that a record takes here. */
#define MAX_NAME	4096

/* Appends a record: header, @fixed, the name padded to 8 bytes, and room for the sample id. */
static void put_named_record(struct tally_buf *buf, u32 type, u16 misc, const void *fixed,
			     size_t fixed_size, const char *name, unsigned int id_size)
{
	size_t length = strnlen(name, MAX_NAME - 8), room = (length + 8) & ~7ul;
	struct perf_event_header header = {
		.type = type,
		.misc = misc,
		.size = sizeof(header) + fixed_size + room + id_size,
	};
	u8 *at = tally_buf_grow(buf, header.size);

	if (!at)
		return;
	memset(at, 0, header.size);
	memcpy(at, &header, sizeof(header));
	memcpy(at + sizeof(header), fixed, fixed_size);
	memcpy(at + sizeof(header) + fixed_size, name, length);
}

static void put_kernel_mapping(struct tally_buf *buf, u64 start, u64 length, u64 offset,
			       const char *name, unsigned int id_size)
{
	const struct {
		u32 pid, tid;
		u64 addr, len, pgoff;
	} fixed = { -1, 0, start, length, offset };

	put_named_record(buf, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL, &fixed, sizeof(fixed),
			 name, id_size);
}

/* Addresses of _text or _stext, and of the first module; 0 where these are hidden. */
static u64 kernel_start(const char **symbol)
{
	static const char * const symbols[] = { "_text", "_stext" };
	FILE *file = fopen("/proc/kallsyms", "r");
	u64 found[2] = { 0, 0 };
	char line[512];

	while (file && fgets(line, sizeof(line), file) && !found[0]) {
		unsigned long long address;
		char name[256], type;

		if (sscanf(line, "%llx %c %255s", &address, &type, name) != 3)
			continue;
		for (int i = 0; i < 2; i++) {
			if (!strcmp(name, symbols[i]))
				found[i] = address;
		}
	}
	if (file)
		fclose(file);
	*symbol = symbols[found[0] ? 0 : 1];
	return found[0] ? found[0] : found[1];
}

/* Path of a module's file below /lib/modules, by modules.dep; [name] if it is not there. */
static void module_path(const char *module, char *path, size_t size)
{
	char dep[256], line[1024];
	struct utsname uts;
	FILE *file;

	snprintf(path, size, "[%s]", module);
	uname(&uts);
	snprintf(dep, sizeof(dep), "/lib/modules/%s/modules.dep", uts.release);
	file = fopen(dep, "r");
	while (file && fgets(line, sizeof(line), file)) {
		char *colon = strchr(line, ':'), *base, *end;

		if (!colon)
			continue;
		*colon = 0;
		base = strrchr(line, '/') ? strrchr(line, '/') + 1 : line;
		end = strstr(base, ".ko");
		if (!end || (size_t)(end - base) != strlen(module))
			continue;
		for (char *c = base; c < end; c++)
			*c = *c == '-' ? '_' : *c;
		if (strncmp(base, module, end - base))
			continue;
		snprintf(path, size, "/lib/modules/%.64s/%.300s", uts.release, line);
		break;
	}
	if (file)
		fclose(file);
}

void tally_synthesize_kernel(struct tally_buf *buf, unsigned int id_size)
{
	const char *symbol;
	u64 start = kernel_start(&symbol);
	char name[64], line[512];
	FILE *modules;

	if (!start)
		return;
	snprintf(name, sizeof(name), "[kernel.kallsyms]%s", symbol);
	put_kernel_mapping(buf, start, ~0ull - start, start, name, id_size);
	modules = fopen("/proc/modules", "r");
	while (modules && fgets(line, sizeof(line), modules)) {
		unsigned long long address, size;
		char module[128], path[512];

		if (sscanf(line, "%127s %llu %*s %*s %*s %llx", module, &size, &address) != 3 ||
		    !address)
			continue;
		module_path(module, path, sizeof(path));
		put_kernel_mapping(buf, address, size, 0, path, id_size);
	}
	if (modules)
		fclose(modules);
}

struct mapping {
	u32 pid, tid;
	u64 addr, len, pgoff;
	u32 maj, min;
	u64 ino, ino_generation;
	u32 prot, flags;
};

static u32 mapping_prot(const char *letters)
{
	return (letters[0] == 'r' ? PROT_READ : 0) | (letters[1] == 'w' ? PROT_WRITE : 0) |
		(letters[2] == 'x' ? PROT_EXEC : 0);
}

static void put_process_mappings(struct tally_buf *buf, pid_t pid, unsigned int id_size)
{
	char path[64], line[MAX_NAME + 128];
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "r");
	while (maps && fgets(line, sizeof(line), maps)) {
		unsigned long long start, end, offset, inode;
		unsigned int major, minor;
		struct mapping fixed;
		char letters[8];
		int name = 0;

		line[strcspn(line, "\n")] = 0;
		if (sscanf(line, "%llx-%llx %7s %llx %x:%x %llu %n", &start, &end, letters, &offset,
			   &major, &minor, &inode, &name) < 7 || letters[2] != 'x')
			continue;
		memset(&fixed, 0, sizeof(fixed));
		fixed.pid = pid;
		fixed.tid = pid;
		fixed.addr = start;
		fixed.len = end - start;
		fixed.pgoff = offset;
		fixed.maj = major;
		fixed.min = minor;
		fixed.ino = inode;
		fixed.prot = mapping_prot(letters);
		fixed.flags = letters[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
		put_named_record(buf, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, &fixed,
				 sizeof(fixed), line[name] ? line + name : "//anon", id_size);
	}
	if (maps)
		fclose(maps);
}

/* Parent of a process, 0 if it has ended. */
static pid_t parent_of(pid_t pid)
{
	char path[64], text[512], *end;
	int parent = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (tally_file_text(path, text, sizeof(text)) <= 0)
		return 0;
	end = strrchr(text, ')');
	if (end)
		sscanf(end + 1, " %*c %d", &parent);
	return parent;
}

static void put_fork(struct tally_buf *buf, pid_t pid, pid_t tid, unsigned int id_size)
{
	const u32 parent = pid == tid ? parent_of(pid) : pid;
	const struct {
		struct perf_event_header header;
		u32 pid, ppid, tid, ptid;
		u64 time;
	} fork = {
		.header = { PERF_RECORD_FORK, PERF_RECORD_MISC_FORK_EXEC, sizeof(fork) + id_size },
		.pid = pid,
		.ppid = parent,
		.tid = tid,
		.ptid = parent,
	};
	u8 *at = tally_buf_grow(buf, sizeof(fork) + id_size);

	if (!at)
		return;
	memset(at, 0, sizeof(fork) + id_size);
	memcpy(at, &fork, sizeof(fork));
}

static void put_thread(struct tally_buf *buf, pid_t pid, pid_t tid, unsigned int id_size)
{
	const u32 fixed[2] = { pid, tid };
	char path[64], comm[32];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
	if (tally_file_text(path, comm, sizeof(comm)) < 0)
		return;
	put_fork(buf, pid, tid, id_size);
	put_named_record(buf, PERF_RECORD_COMM, 0, fixed, sizeof(fixed), comm, id_size);
}

void tally_synthesize_process(struct tally_buf *buf, pid_t pid, unsigned int id_size)
{
	struct dirent *task;
	char path[64];
	DIR *tasks;

	put_thread(buf, pid, pid, id_size);
	put_process_mappings(buf, pid, id_size);
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	while (tasks && (task = readdir(tasks))) {
		pid_t tid = atoi(task->d_name);

		if (tid > 0 && tid != pid)
			put_thread(buf, pid, tid, id_size);
	}
	if (tasks)
		closedir(tasks);
}

void tally_synthesize_all(struct tally_buf *buf, unsigned int id_size)
{
	DIR *processes = opendir("/proc");
	struct dirent *process;

	while (processes && (process = readdir(processes))) {
		pid_t pid = atoi(process->d_name);

		if (pid > 0)
			tally_synthesize_process(buf, pid, id_size);
	}
	if (processes)
		closedir(processes);
}
