// SPDX-License-Identifier: GPL-2.0
/*
 * usage: flame_file PATH - a file with samples of known functions
 *
 * The functions are symbols of the kernel that a KSYMBOL record names, so that they do not depend
 * on the machine: busy_outer has 750 of 1000, 500 of which are in busy_inner; idle has 250. Without
 * an argument the program is no test: it prints that it was skipped.
 */
#include "made.h"

#define TEXT	0xffffffffff000000ULL

static struct made made;

static void file_ksymbol(u64 at, const char *name)
{
	struct tally_buf *buf = &made.records;
	size_t start = made_start(buf, PERF_RECORD_KSYMBOL, 0);

	tally_buf_put_u64(buf, at);
	made_pair(buf, 256, 1);
	made_text(buf, name);
	made_finish(buf, start);
}

static void file_comm(void)
{
	struct tally_buf *buf = &made.records;
	size_t start = made_start(buf, PERF_RECORD_COMM, 0);

	made_pair(buf, 100, 100);
	made_text(buf, "program");
	made_finish(buf, start);
}

/* A sample with a chain of up to two addresses, and the same way as branches. */
static void file_sample(u64 inner, u64 outer, u64 period)
{
	struct tally_buf *buf = &made.records;
	size_t start = made_start(buf, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);
	struct perf_branch_entry branch = { .from = outer ?: inner, .to = inner };

	tally_buf_put_u64(buf, inner);
	made_pair(buf, 100, 100);
	tally_buf_put_u64(buf, period);
	tally_buf_put_u64(buf, outer ? 3 : 2);
	tally_buf_put_u64(buf, PERF_CONTEXT_KERNEL);
	tally_buf_put_u64(buf, inner);
	if (outer)
		tally_buf_put_u64(buf, outer);
	tally_buf_put_u64(buf, 1);
	tally_buf_put(buf, &branch, sizeof(branch));
	made_finish(buf, start);
}

static int file_write(const char *path)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .sample_period = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_PERIOD |
			       PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK,
	};
	struct tally_writer *writer;
	struct tally_error err;

	if (tally_writer_open(&writer, path, 0, 0, &err))
		return -1;
	tally_writer_add_attr(writer, &attr, "cpu-clock", NULL, 0, &err);
	tally_stream_write(tally_writer_stream(writer, 0, &err), made.records.data,
			   made.records.size);
	return tally_writer_finish(writer, &err);
}

int main(int argc, char **argv)
{
	int ret;

	if (argc != 2) {
		ktap_start();
		ktap_skip("flame_file", "a tool of other tests");
		return ktap_finish();
	}
	file_comm();
	file_ksymbol(TEXT, "busy_outer");
	file_ksymbol(TEXT + 0x1000, "busy_inner");
	file_ksymbol(TEXT + 0x2000, "idle");
	file_sample(TEXT + 0x10, 0, 250);
	file_sample(TEXT + 0x1010, TEXT + 0x20, 500);
	file_sample(TEXT + 0x2010, 0, 250);
	ret = file_write(argv[1]);
	made_free(&made);
	return !!ret;
}
