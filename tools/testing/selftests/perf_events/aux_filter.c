// SPDX-License-Identifier: GPL-2.0
/* Address filters: the trace of the PMU is the start and size of each range it was given. */
#include "aux.h"
#include "require.h"

#include <sys/mount.h>
#include <sys/stat.h>

static struct area open_filtered(void)
{
	struct perf_event_attr attr = aux_attr(RANGE_BYTES);
	struct area area;

	attr.config1 = WORDS_RANGES;
	area = open_data(attr);
	if (map_aux(&area, AUX_PAGES, PROT_READ | PROT_WRITE))
		fail_case("mmap of the AUX area");
	return area;
}

static int filter_errno(const struct area *area, const char *text)
{
	return ioctl(area->fd, PERF_EVENT_IOC_SET_FILTER, text) ? errno : 0;
}

/* True if the next burst contains these ranges and no others. */
static bool next_ranges(struct area *area, const uint64_t *want, unsigned int words)
{
	struct aux_record record;
	bool good = true;

	if (!next_aux_record(area, &record) || record.size != RANGE_BYTES)
		return false;
	for (unsigned int i = 0; i < RANGE_BYTES / 8; i++) {
		uint64_t at = (record.offset + 8 * i) & (area->aux_bytes - 1);
		uint64_t word = *(uint64_t *)(area->aux + at);

		if (word != (i < words ? want[i] : 0)) {
			ktap_note("word %u is %#llx", i, (unsigned long long)word);
			good = false;
		}
	}
	return good;
}

static bool kernel_ranges(void)
{
	static const uint64_t three[] = { 0x1000, 0x800, 0x2000, 0, 0x3000, 0 };
	static const uint64_t one[] = { 0x5000, 0x10 };
	struct area area = open_filtered();
	bool good;
	bool ok = true;

	good = !filter_errno(&area, "filter 0x1000/0x800,start 0x2000\nstop 0x3000");
	write_burst(&area);
	ok &= expect(good && next_ranges(&area, three, 6), "filters of kernel addresses");

	ioctl(area.fd, PERF_EVENT_IOC_ENABLE, 0);
	good = !filter_errno(&area, "filter 0x5000/0x10");
	ioctl(area.fd, PERF_EVENT_IOC_DISABLE, 0);
	good = next_ranges(&area, three, 6) && good;
	ok &= expect(next_ranges(&area, one, 2) && good, "new filters while it traces");

	good = filter_errno(&area, "filter 0x7000/0x10,jump 0x1000") == EINVAL;
	write_burst(&area);
	ok &= expect(next_ranges(&area, one, 2) && good,
		     "a list that is refused leaves the old one");
	close_area(&area);
	return ok;
}

/* Offsets in a file become addresses where the task maps the file executable. */
static bool file_ranges(void)
{
	static const char *name = "/tmp/aux.filter";
	struct area area = open_filtered();
	int file = open(name, O_RDWR | O_CREAT, 0700);
	uint64_t want[4] = { 0, 0, 0, 0 };
	char text[128], *map;
	bool good;
	bool ok = true;

	if (file < 0 || ftruncate(file, 4 * page))
		fail_case(name);
	snprintf(text, sizeof(text), "filter %#lx/0x200@%s filter %#lx/0x400@%s", page + 0x100,
		 name, 2 * page - 0x200, name);
	good = !filter_errno(&area, text);
	write_burst(&area);
	ok &= expect(next_ranges(&area, want, 4) && good, "filters of a file that is not mapped");

	ioctl(area.fd, PERF_EVENT_IOC_ENABLE, 0);
	map = mmap(NULL, page, PROT_READ, MAP_PRIVATE, file, page);
	munmap(map, page);
	map = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, page);
	ioctl(area.fd, PERF_EVENT_IOC_DISABLE, 0);
	good = next_ranges(&area, want, 4);
	want[0] = (uintptr_t)map + 0x100;
	want[1] = 0x200;
	want[2] = (uintptr_t)map + page - 0x200;
	want[3] = 0x200;	/* the rest is in the next page */
	ok &= expect(next_ranges(&area, want, 4) && good,
		     "and when it is mapped to execute, the part of it that is there");

	/* The filter is set when the file is already mapped. */
	snprintf(text, sizeof(text), "filter %#lx/0x20@%s", page + 0x40, name);
	good = !filter_errno(&area, text);
	write_burst(&area);
	want[0] = (uintptr_t)map + 0x40;
	want[1] = 0x20;
	ok &= expect(next_ranges(&area, want, 2) && good, "filters of a file that is mapped");
	munmap(map, page);
	close(file);
	unlink(name);
	close_area(&area);
	return ok;
}

/*
 * In an overlay the file that is mapped is that of the lower layer, the named one that of the
 * upper.
 */
static bool overlay_ranges(void)
{
	static const char *const dirs[] = { "/tmp/aux", "/tmp/aux/a", "/tmp/aux/b", "/tmp/aux/m" };
	static const char *name = "/tmp/aux/m/file";
	const char *what = "filters of a file in an overlay";
	uint64_t want[2] = { 0, 0x20 };
	struct area area;
	char text[64], *map;
	bool good;
	int file;
	bool ok;

	for (unsigned int i = 0; i < 4; i++)
		mkdir(dirs[i], 0755);
	file = open("/tmp/aux/a/file", O_RDWR | O_CREAT, 0700);
	if (file < 0 || ftruncate(file, page))
		fail_case(name);
	close(file);
	if (mount("overlay", dirs[3], "overlay", 0, "lowerdir=/tmp/aux/a:/tmp/aux/b"))
		skip_case("no overlay file system");
	file = open(name, O_RDONLY);
	map = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
	area = open_filtered();
	snprintf(text, sizeof(text), "filter 0x40/0x20@%s", name);
	good = map != MAP_FAILED && !filter_errno(&area, text);
	write_burst(&area);
	want[0] = (uintptr_t)map + 0x40;
	good &= next_ranges(&area, want, 2);
	munmap(map, page);
	/* The file is mapped again while the filter is set. */
	ioctl(area.fd, PERF_EVENT_IOC_ENABLE, 0);
	map = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED_NOREPLACE, file, 0);
	ioctl(area.fd, PERF_EVENT_IOC_DISABLE, 0);
	next_ranges(&area, want, 2);
	want[0] = (uintptr_t)map + 0x40;
	ok = expect(next_ranges(&area, want, 2) && good, "%s", what);
	close_area(&area);
	munmap(map, page);
	close(file);
	umount(dirs[3]);
	return ok;
}

#define MAPPED_BY_FIRST		((char *)0x510000000)
#define MAPPED_BY_SECOND	((char *)0x520000000)

static void map_to_execute(char *at, int file)
{
	if (mmap(at, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file, 0) != at)
		_exit(1);
}

/* Maps the file at another address and forks the third task, which has it there; stores its PID. */
static void second_task(int file, volatile pid_t *third)
{
	pid_t pid;

	munmap(MAPPED_BY_FIRST, page);
	map_to_execute(MAPPED_BY_SECOND, file);
	pid = fork();
	if (!pid)
		_exit(0);
	*third = pid;
	wait(NULL);
	_exit(0);
}

/*
 * The number of bursts of one task, each of the range where its parent maps the file; 0 if one is
 * not.
 */
static unsigned int bursts_of(struct area *area, pid_t task)
{
	const uint64_t want[] = { (uintptr_t)MAPPED_BY_SECOND + 0x40, 0x20 };
	unsigned int nr = 0;
	struct area record;

	for (;;) {
		record = *area;
		if (!next_aux_record(area, &(struct aux_record){}))
			return nr;
		if ((pid_t)area_word(area, area->tail - 8) != task)
			continue;
		if (!next_ranges(&record, want, 2))
			return 0;
		nr++;
	}
}

/* A task that is two forks away from the first has the file where its parent has it. */
static bool inherited_ranges(void)
{
	static const char *name = "/tmp/aux.filter";
	pid_t *third = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct perf_event_attr attr = aux_attr(RANGE_BYTES);
	int file = open(name, O_RDWR | O_CREAT, 0700);
	struct area area;
	char text[128];
	bool good;
	bool ok;

	pin_to_cpu(0);
	attr.config1 = WORDS_RANGES;
	attr.inherit = 1;
	attr.sample_id_all = 1;
	attr.sample_type = PERF_SAMPLE_TID;
	area = open_data(attr);
	if (map_aux(&area, AUX_PAGES, PROT_READ | PROT_WRITE) || file < 0 || ftruncate(file, page))
		fail_case("an inherited event with a filter");
	snprintf(text, sizeof(text), "filter 0x40/0x20@%s", name);
	map_to_execute(MAPPED_BY_FIRST, file);
	good = !filter_errno(&area, text);
	ioctl(area.fd, PERF_EVENT_IOC_ENABLE, 0);
	if (!fork())
		second_task(file, third);
	wait(NULL);
	ioctl(area.fd, PERF_EVENT_IOC_DISABLE, 0);
	ok = expect(good && *third && bursts_of(&area, *third),
		    "filters of a file that is mapped by a task's creator");
	munmap(MAPPED_BY_FIRST, page);
	munmap(third, page);
	close(file);
	unlink(name);
	close_area(&area);
	return ok;
}

/* Sleeps until the gate is open, or runs until *@stop is set. */
static pid_t fork_inheritor(struct gate *gate, bool runs, volatile bool *stop)
{
	pid_t pid = fork_child();

	if (pid)
		return pid;
	MUST(pin_to_cpu(0));
	while (runs && !*stop)
		run_loop(1000);
	if (!runs)
		gate_wait(gate);
	_exit(0);
}

/* Sets a filter of a mapped file when a child has the event: its next bursts have the range. */
static bool later_filter(struct area *area, const char *text, bool runs)
{
	bool *stop = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct gate gate = gate_new();
	bool good;
	pid_t pid;

	pid = fork_inheritor(&gate, runs, stop);
	if (runs)
		sleep_ms(100);
	else
		wait_until_asleep(pid);
	good = expect_eq("errno of the filter", filter_errno(area, text), 0);
	while (next_aux_record(area, &(struct aux_record){}))
		;
	*stop = true;
	gate_open(&gate);
	good &= child_succeeded(pid);
	munmap(stop, page);
	return good & expect(bursts_of(area, pid), "filters set while a child %s",
			     runs ? "runs" : "sleeps");
}

static bool filter_reaches_children(void)
{
	static const char *name = "/tmp/aux.filter";
	struct perf_event_attr attr = aux_attr(RANGE_BYTES);
	int file = open(name, O_RDWR | O_CREAT, 0700);
	char text[128];
	bool good = true;

	require_cpus(2);
	MUST(pin_to_cpu(1));
	if (file < 0 || ftruncate(file, page))
		fail_case(name);
	map_to_execute(MAPPED_BY_SECOND, file);
	snprintf(text, sizeof(text), "filter 0x40/0x20@%s", name);
	attr.config1 = WORDS_RANGES;
	attr.inherit = 1;
	attr.sample_id_all = 1;
	attr.sample_type = PERF_SAMPLE_TID;
	for (int runs = 0; runs < 2; runs++) {
		struct area area = open_data(attr);

		if (map_aux(&area, AUX_PAGES, PROT_READ | PROT_WRITE))
			fail_case("mmap of the AUX area");
		event_enable(area.fd);
		good &= later_filter(&area, text, runs);
		close_area(&area);
	}
	munmap(MAPPED_BY_SECOND, page);
	close(file);
	unlink(name);
	return good;
}

static bool refused_filters(void)
{
	static const struct {
		const char	*text;
		int		error;
	} row[] = {
		{ "filter", EINVAL },
		{ "filter 0x1000", EINVAL },
		{ "filter 0x1000/", EINVAL },
		{ "filter xyz/8", EINVAL },
		{ "jump 0x1000/8", EINVAL },
		{ "filter 0xfffffffffffffff0/0x20", EINVAL },
		{ "filter 0x1000/8@", EINVAL },
		{ "filter 0x1000/8@/", EINVAL },
		{ "filter 0x1000/8@/no/such/file", ENOENT },
		{ "start 1,start 2,start 3,start 4,start 5", EOPNOTSUPP },
	};
	struct perf_event_attr attr = aux_attr(8);
	struct area area = open_filtered();
	bool good = true;
	int fd, error;
	bool ok = true;

	for (unsigned int i = 0; i < ARRAY_SIZE(row); i++) {
		error = filter_errno(&area, row[i].text);
		if (error != row[i].error)
			ktap_note("\"%s\": %s", row[i].text, strerror(error));
		good &= error == row[i].error;
	}
	ok &= expect(good, "filters that are refused");
	close_area(&area);

	attr.exclude_kernel = 1;
	fd = perf_open(&attr, 0, -1, -1, 0);
	error = ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "filter 0x1000/8") ? errno : 0;
	ok &= expect(error == EINVAL, "a kernel address with exclude_kernel: %s", strerror(error));
	close(fd);

	attr.exclude_kernel = 0;
	fd = perf_open(&attr, -1, 0, -1, 0);
	error = ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "filter 0/8@/proc/self/exe") ? errno : 0;
	ok &= expect(error == EOPNOTSUPP, "a file with a CPU's event: %s", strerror(error));
	close(fd);
	return ok;
}

static const struct test tests[] = {
	{ "filters of kernel addresses", kernel_ranges },
	{ "filters of a file follow its mappings", file_ranges },
	{ "filters of a file of an overlay", overlay_ranges },
	{ "a child two forks away has its parent's mappings", inherited_ranges },
	{ "a filter reaches children that have the event already", filter_reaches_children },
	{ "filters that are refused", refused_filters },
};

TESTS_MAIN_SETUP(tests, aux_setup)
