/* SPDX-License-Identifier: GPL-2.0 */
/* Files of one line: sysctls, sysfs attributes, the reason of a refusal. */
#ifndef PERF_TEST_FILES_H
#define PERF_TEST_FILES_H

#include "harness.h"

#include <fcntl.h>
#include <sys/mount.h>

/* Reads @path into @line without its newline. Returns the length, or -1 and errno. */
static inline int read_line(const char *path, char *line, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = read(fd, line, size - 1);
	close(fd);
	if (n < 0)
		return -1;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return strlen(line);
}

/* Returns 0, or -1 and errno. */
static inline int write_line(const char *path, const char *line)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = write(fd, line, strlen(line));
	close(fd);
	return n < 0 ? -1 : 0;
}

/* The number that the sysctl kernel.@name holds; @missing if it does not exist. */
static inline long sysctl_get(const char *name, long missing)
{
	char path[96], line[32];

	snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
	return read_line(path, line, sizeof(line)) > 0 ? strtol(line, NULL, 10) : missing;
}

/* Returns 0, or -1 and errno. */
static inline int sysctl_set(const char *name, long value)
{
	char path[96], line[32];

	snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
	snprintf(line, sizeof(line), "%ld\n", value);
	return write_line(path, line);
}

#define REASON_FILE	"/proc/sys/kernel/perf_event_error"

/* The reason of the last refusal of this thread. Returns its length; -1: the kernel gives none. */
static inline int perf_reason(char *line, size_t size)
{
	return read_line(REASON_FILE, line, size);
}

/* True on a kernel that gives reasons; some features are only in such kernels. */
static inline bool kernel_gives_reasons(void)
{
	return !access(REASON_FILE, F_OK);
}

/* The id of the trace event "system/name"; mounts tracefs if necessary. -1: no such event. */
static inline int tracepoint_id(const char *name)
{
	char path[160], line[32];

	if (access("/sys/kernel/tracing/events", F_OK))
		mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL);
	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/id", name);
	return read_line(path, line, sizeof(line)) > 0 ? atoi(line) : -1;
}

/* The address of a function; 0 if the kernel hides its addresses. */
static inline uint64_t kernel_function(const char *function)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	uint64_t at, found = 0;
	char line[256], symbol[128];

	while (file && !found && fgets(line, sizeof(line), file))
		if (sscanf(line, "%lx %*c %127s", &at, symbol) == 2 && !strcmp(symbol, function))
			found = at;
	if (file)
		fclose(file);
	return found;
}

#endif /* PERF_TEST_FILES_H */
