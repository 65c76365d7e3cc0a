// SPDX-License-Identifier: GPL-2.0
/*
 * usage: large [NUMBER] - a file of so many samples (1000000) is reported by tally and by perf
 *
 * The report of tally takes at most a third of the memory and finds the same number of events. It
 * takes at most a third of the CPU time from 10^7 samples on, and half of it for fewer, where the
 * start of both programs counts. The shortest of three runs decides. TALLY is the program, PERF
 * that of perf.
 */
#include "made.h"

#include <limits.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define LARGE_BASE	0x400000ULL
#define LARGE_TASKS	16
#define LARGE_PERIOD	1000
#define LARGE_ROUND	10000
#define LARGE_RUNS	3

/**
 * struct large_cost - what a report took
 * @ms: CPU time
 * @kib: memory at its peak
 * @count: events that it found
 */
struct large_cost {
	u64 ms;
	u64 kib;
	u64 count;
};

static char large_file[] = "/tmp/tally-large-XXXXXX";
static char large_table[] = "/tmp/tally-table-XXXXXX";

/* A process that has mapped this program. */
static void large_task(struct tally_buf *buf, u32 pid)
{
	static const struct { u32 major, minor; u64 inode, generation; u32 prot, flags; } rest = {
		.prot = 5, .flags = 2,
	};
	char path[PATH_MAX] = "";
	size_t start = made_start(buf, PERF_RECORD_COMM, 0);

	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		ktap_bail_out("/proc/self/exe");
	made_pair(buf, pid, pid);
	made_text(buf, "large");
	made_finish(buf, start);
	start = made_start(buf, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
	made_pair(buf, pid, pid);
	tally_buf_put_u64(buf, LARGE_BASE);
	tally_buf_put_u64(buf, etext - __executable_start);
	tally_buf_put_u64(buf, 0);
	tally_buf_put(buf, &rest, sizeof(rest));
	made_text(buf, path);
	made_finish(buf, start);
}

/* Addresses repeat as in a profile: the closer to the end of the functions, the more often. */
static u64 large_address(void)
{
	u64 size = etext - __executable_start;

	return LARGE_BASE + size - 1 - made_below(1 + made_below(1 + made_below(size / 2)));
}

static void large_sample(struct tally_stream *stream, u64 number)
{
	const u32 pid = 100 + number % LARGE_TASKS;
	const struct {
		struct perf_event_header header;
		u64 ip;
		u32 pid, tid;
		u64 time, period;
	} sample = {
		.header = { PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, sizeof(sample) },
		.ip = large_address(),
		.pid = pid, .tid = pid, .time = 1000000 + 100 * number, .period = LARGE_PERIOD,
	};

	tally_stream_write(stream, &sample, sizeof(sample));
	if (number % LARGE_ROUND == LARGE_ROUND - 1)
		tally_stream_round(stream);
}

static void large_write(u64 number)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .freq = 1, .sample_freq = 4000,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_PERIOD,
		.mmap = 1, .mmap2 = 1, .comm = 1, .exclude_kernel = 1,
	};
	struct tally_stream *stream;
	struct tally_writer *writer;
	struct tally_buf tasks = {};
	struct tally_error err;

	for (u32 i = 0; i < LARGE_TASKS; i++)
		large_task(&tasks, 100 + i);
	if (tally_writer_open(&writer, large_file, 0, 0, &err))
		ktap_bail_out(err.text);
	tally_writer_add_attr(writer, &attr, "cpu-clock:u", NULL, 0, &err);
	stream = tally_writer_stream(writer, 0, &err);
	tally_stream_write(stream, tasks.data, tasks.size);
	for (u64 i = 0; i < number; i++)
		large_sample(stream, i);
	if (tally_writer_finish(writer, &err))
		ktap_bail_out(err.text);
	tally_buf_free(&tasks);
}

/* The number of events that a report prints above its table. */
static u64 large_count(void)
{
	unsigned long long count = 0;
	FILE *file = fopen(large_table, "r");
	char line[4096];

	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "# Event count (approx.): %llu", &count);
	if (file)
		fclose(file);
	return count;
}

/* Runs a report once. Returns its exit status, 127 if there is no such program. */
static int large_report_once(char *const *argv, struct large_cost *cost)
{
	struct rusage usage;
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (!freopen(large_table, "w", stdout) || !freopen("/dev/null", "w", stderr))
			_exit(126);
		execvp(*argv, argv);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
		ktap_bail_out("fork");
	cost->ms = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
		   (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
	cost->kib = usage.ru_maxrss;
	cost->count = large_count();
	return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}

/* Runs a report some times. Returns the exit status of the last run; the time is the shortest. */
static int large_report(char *const *argv, struct large_cost *cost)
{
	u64 ms = UINT64_MAX;
	int status = 0;

	for (int i = 0; i < LARGE_RUNS && !status; i++) {
		status = large_report_once(argv, cost);
		if (cost->ms < ms)
			ms = cost->ms;
	}
	cost->ms = ms;
	return status;
}

static void large_compare(u64 number)
{
	bool many = number >= 10000000;
	char *tally = getenv("TALLY") ?: "tally";
	char *ours[] = { tally, "report", large_file, NULL };
	char *theirs[] = { getenv("PERF") ?: "perf", "report", "--stdio", "-i", large_file, NULL };
	struct large_cost our, their;
	int status = large_report(ours, &our);

	ktap_note("tally report: %llu ms, %llu KiB", our.ms, our.kib);
	ktap_result(!status && our.count == number * LARGE_PERIOD, "tally report");
	status = large_report(theirs, &their);
	if (status == 127) {
		ktap_skip("perf report", "no perf");
		return;
	}
	ktap_note("perf report: %llu ms, %llu KiB", their.ms, their.kib);
	ktap_result(!status && their.count == our.count, "perf report finds as many events");
	if (many)
		ktap_result(3 * our.ms <= their.ms,
			    "at most a third of the CPU time of perf report");
	else
		ktap_result(2 * our.ms <= their.ms, "at most half of the CPU time of perf report");
	ktap_result(3 * our.kib <= their.kib, "at most a third of the memory of perf report");
}

int main(int argc, char **argv)
{
	u64 number = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000000;

	ktap_start();
	close(mkstemp(large_file));
	close(mkstemp(large_table));
	setenv("HOME", "/nonexistent", 1);
	large_write(number);
	large_compare(number);
	unlink(large_file);
	unlink(large_table);
	return ktap_finish();
}
