// SPDX-License-Identifier: GPL-2.0
/* Functions of the kernel: kallsyms, and the records that describe what changes while it runs. */
#include "made.h"
#include "session.h"

#include <time.h>

#define TEXT		0xffffffff81000000ULL
#define FAR		0xffffffffc1000000ULL
/* Symbols and records of the case that measures them. */
#define MANY		50000
#define MANY_SECONDS	20

static struct tally_buf records;
static char data_path[64], symbols_path[64];

static void put_ksymbol(u64 at, u32 length, bool gone, const char *name)
{
	size_t start = made_start(&records, PERF_RECORD_KSYMBOL, 0);
	u16 kind[2] = { PERF_RECORD_KSYMBOL_TYPE_BPF,
			gone ? PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER : 0 };

	tally_buf_put_u64(&records, at);
	tally_buf_put_u32(&records, length);
	tally_buf_put(&records, kind, sizeof(kind));
	made_text(&records, name);
	made_finish(&records, start);
}

static void put_sample(u16 mode, u64 address)
{
	size_t start = made_start(&records, PERF_RECORD_SAMPLE, mode);

	tally_buf_put_u64(&records, address);
	made_pair(&records, 100, 100);
	made_finish(&records, start);
}

static bool write_files(const char *symbols)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .sample_period = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID,
	};
	FILE *file = fopen(symbols_path, "w");
	struct tally_writer *writer;
	struct tally_error err;

	if (!file || fputs(symbols, file) < 0 || fclose(file) ||
	    tally_writer_open(&writer, data_path, 0, 0, &err))
		return false;
	tally_writer_add_attr(writer, &attr, "cpu-clock", NULL, 0, &err);
	tally_stream_write(tally_writer_stream(writer, 0, &err), records.data, records.size);
	tally_buf_free(&records);
	return !tally_writer_finish(writer, &err);
}

static void add_frame(char *text, size_t size, const struct tally_frame *frame)
{
	size_t used = strlen(text);

	if (frame->symbol)
		snprintf(text + used, size - used, "%s%s+%#llx", used ? " " : "", frame->symbol,
			 frame->symbol_offset);
	else
		snprintf(text + used, size - used, "%s%s", used ? " " : "",
			 frame->dso ? frame->dso->short_name : "-");
}

/* The frames of all samples, with the symbols of a kallsyms; the case is good if they are these. */
static void has_frames(const char *name, const char *symbols, const char *expected)
{
	static struct tally_frame frames[TALLY_MAX_FRAMES];
	const struct tally_session_options options = {
		.path = data_path, .kallsyms = symbols_path,
	};
	struct tally_session *session;
	struct tally_record record;
	struct tally_sample sample;
	struct tally_error err;
	char text[1024] = "";

	if (!write_files(symbols) || tally_session_open(&session, &options, &err)) {
		ktap_result(false, name);
		return;
	}
	while (tally_session_next(session, &record, &sample, &err) > 0) {
		unsigned int nr = 0;

		if (record.header->type == PERF_RECORD_SAMPLE)
			nr = tally_session_chain(session, &record, &sample, frames);
		for (unsigned int i = 0; i < nr; i++)
			add_frame(text, sizeof(text), &frames[i]);
	}
	tally_session_close(session);
	if (strcmp(text, expected))
		ktap_note("%s: %s, not %s", name, text, expected);
	ktap_result(!strcmp(text, expected), name);
}

static const char plain_symbols[] =
	"ffffffff81000000 T _text\n"
	"ffffffff81001000 T covering\n"
	"ffffffffc1000000 t far\n";

/* A symbol of kallsyms seems to reach to the next one. */
static void register_symbols(void)
{
	put_ksymbol(TEXT + 0x2000, 0x100, false, "program");
	put_sample(PERF_RECORD_MISC_KERNEL, TEXT + 0x1ffc);
	put_sample(PERF_RECORD_MISC_KERNEL, TEXT + 0x2010);
	put_sample(PERF_RECORD_MISC_KERNEL, TEXT + 0x2100);
	has_frames("a symbol inside what another one seems to cover", plain_symbols,
		   "covering+0xffc program+0x10 covering+0x1100");
	put_ksymbol(FAR + 0x4000, 0x100, false, "second");
	put_ksymbol(FAR + 0x2000, 0x100, false, "first");
	put_ksymbol(FAR + 0x6000, 0x100, false, "third");
	put_sample(PERF_RECORD_MISC_KERNEL, FAR + 0x2001);
	put_sample(PERF_RECORD_MISC_KERNEL, FAR + 0x4002);
	put_sample(PERF_RECORD_MISC_KERNEL, FAR + 0x6003);
	has_frames("symbols that are not in the order of their addresses", plain_symbols,
		   "first+0x1 second+0x2 third+0x3");
}

static void unregister_symbols(void)
{
	put_ksymbol(TEXT + 0x2000, 0x100, false, "program");
	put_ksymbol(TEXT + 0x3000, 0x100, false, "neighbour");
	put_sample(PERF_RECORD_MISC_KERNEL, TEXT + 0x2010);
	put_ksymbol(TEXT + 0x2000, 0x100, true, "program");
	put_sample(PERF_RECORD_MISC_KERNEL, TEXT + 0x2010);
	put_sample(PERF_RECORD_MISC_KERNEL, TEXT + 0x3010);
	put_ksymbol(TEXT + 0x2000, 0x80, false, "next");
	put_sample(PERF_RECORD_MISC_KERNEL, TEXT + 0x2010);
	has_frames("a symbol ends when it is unregistered", plain_symbols,
		   "program+0x10 covering+0x1010 neighbour+0x10 next+0x10");
	put_ksymbol(TEXT + 0x2000, 0x100, false, "program");
	put_ksymbol(TEXT + 0x2080, 0x100, false, "other");
	put_sample(PERF_RECORD_MISC_KERNEL, TEXT + 0x2010);
	put_sample(PERF_RECORD_MISC_KERNEL, TEXT + 0x2090);
	has_frames("of two symbols that overlap the later one stays", plain_symbols,
		   "covering+0x1010 other+0x10");
}

static double cpu_seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

/* Many records beside a kallsyms with many symbols: none takes time for all of these. */
static void many_symbols(void)
{
	const struct perf_event_header *header;
	struct tally_space *space = NULL;
	FILE *file = fopen(symbols_path, "w");
	double start = cpu_seconds();
	bool good = file;
	size_t at = 0;

	for (u64 i = 0; good && i < MANY; i++) {
		fprintf(file, "%llx t symbol_%llu\n", TEXT + i * 256, i);
		put_ksymbol(FAR + (i * 7919 % MANY) * 256, 256, false, "program");
	}
	if (file)
		fclose(file);
	good = good && !tally_space_new(&space, NULL, symbols_path);
	for (; good && at < records.size; at += header->size) {
		struct tally_record record = { .header = (const void *)(records.data + at) };

		header = record.header;
		good = !tally_space_learn(space, &record) && cpu_seconds() - start < MANY_SECONDS;
	}
	ktap_note("%zu of %zu bytes of records in %.2f s", at, records.size,
		  cpu_seconds() - start);
	ktap_result(good, "a record does not take time for all symbols");
	tally_space_free(space);
	tally_buf_free(&records);
}

int main(void)
{
	ktap_start();
	snprintf(data_path, sizeof(data_path), "/tmp/tally-kernel-%d", getpid());
	snprintf(symbols_path, sizeof(symbols_path), "/tmp/tally-kallsyms-%d", getpid());
	register_symbols();
	unregister_symbols();
	many_symbols();
	unlink(data_path);
	unlink(symbols_path);
	return ktap_finish();
}
