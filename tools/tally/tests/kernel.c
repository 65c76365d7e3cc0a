// SPDX-License-Identifier: GPL-2.0
/* Functions of the kernel: kallsyms, and the records that describe what changes while it runs. */
#include "made.h"
#include "session.h"

#include <sys/stat.h>
#include <time.h>

#define TEXT		0xffffffff81000000ULL
#define FAR		0xffffffffc1000000ULL
#define USER		0x400000ULL
/* How much higher kernel and modules are in the kallsyms of another boot. */
#define TEXT_MOVED	0x3000000ULL
#define FAR_MOVED	0x70000ULL
/* Symbols and records of the case that measures them. */
#define MANY		50000
#define MANY_SECONDS	10
/* Records in an order that is the worst for a table in the order of addresses. */
#define MANY_FALLING	400000

static struct tally_buf records;
static char folder[64], data_path[80], symbols_path[80], modules_path[80];

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

static void put_map(u16 mode, u64 start, u64 length, u64 offset, const char *name)
{
	size_t at = made_start(&records, PERF_RECORD_MMAP, mode);
	u32 pid = mode == PERF_RECORD_MISC_KERNEL ? -1 : 100;

	made_pair(&records, pid, pid);
	tally_buf_put_u64(&records, start);
	tally_buf_put_u64(&records, length);
	tally_buf_put_u64(&records, offset);
	made_text(&records, name);
	made_finish(&records, at);
}

static void put_chain(u16 mode, u64 address, u64 nr, const u64 *chain)
{
	size_t start = made_start(&records, PERF_RECORD_SAMPLE, mode);

	tally_buf_put_u64(&records, address);
	made_pair(&records, 100, 100);
	tally_buf_put_u64(&records, nr);
	tally_buf_put(&records, chain, nr * sizeof(*chain));
	made_finish(&records, start);
}

static void put_sample(u16 mode, u64 address)
{
	put_chain(mode, address, 0, NULL);
}

static bool write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	bool good = file && fputs(text, file) >= 0;

	return file && !fclose(file) && good;
}

static bool write_files(const char *symbols)
{
	return write_text(symbols_path, symbols) &&
	       made_write_one(data_path, PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN,
			      &records, NULL);
}

static void add_frame(char *text, size_t size, const struct tally_frame *frame)
{
	size_t used = strlen(text);

	if (frame->symbol)
		snprintf(text + used, size - used, "%s%s+%#llx", used ? " " : "", frame->symbol,
			 frame->symbol_offset);
	else
		snprintf(text + used, size - used, "%s%c%s", used ? " " : "",
			 tally_mode_letter(frame->mode),
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

/* The kernel and two modules, as they were mapped while they were recorded. */
static void put_maps(void)
{
	put_map(PERF_RECORD_MISC_KERNEL, TEXT, ~0ULL - TEXT, TEXT, "[kernel.kallsyms]_text");
	put_map(PERF_RECORD_MISC_KERNEL, FAR, 0x8000, 0, "/lib/modules/1/far-away.ko.xz");
	put_map(PERF_RECORD_MISC_KERNEL, FAR + 0x8000, 0x8000, 0, "[second]");
	put_sample(PERF_RECORD_MISC_KERNEL, TEXT + 0x1010);
	put_sample(PERF_RECORD_MISC_KERNEL, FAR + 0x110);
	put_sample(PERF_RECORD_MISC_KERNEL, FAR + 0x8220);
}

static const char boot_symbols[] =
	"0000000000000000 A absolute\n"
	"ffffffff81000000 T _text\n"
	"ffffffff81001000 T function\n"
	"ffffffffc1000100 t one\t[far_away]\n"
	"ffffffffc1008200 t two\t[second]\n";

/* TEXT_MOVED and FAR_MOVED above boot_symbols; "second" is in the place of "far". */
static const char other_symbols[] =
	"0000000000000000 A absolute\n"
	"ffffffff84000000 T _text\n"
	"ffffffff84001000 T function\n"
	"ffffffffc1000200 t two\t[second]\n"
	"ffffffffc1070100 t one\t[far_away]\n"
	"ffffffffc2000000 t bpf_prog\t[bpf]\n";

static const char other_modules[] =
	"second 32768 0 - Live 0xffffffffc1000000\n"
	"far_away 32768 1 second, Live 0xffffffffc1070000\n";

/* The kernel has not moved, but "third" is in the place of "far". */
static const char unmoved_symbols[] =
	"ffffffff81000000 T _text\n"
	"ffffffff81001000 T function\n"
	"ffffffffc1000100 t three\t[third]\n"
	"ffffffffc1005000 t bpf_prog\t[bpf]\n"
	"ffffffffc1020000 t four\t[fourth]\n";

static const char unmoved_modules[] =
	"third 32768 0 - Live 0xffffffffc1000000\n"
	"fourth 32768 0 - Live 0xffffffffc1020000\n";

static void boots_without_shift(void)
{
	put_maps();
	put_sample(PERF_RECORD_MISC_KERNEL, FAR + 0x5010);
	put_sample(PERF_RECORD_MISC_KERNEL, FAR + 0x20010);
	write_text(modules_path, unmoved_modules);
	has_frames("another module where one was recorded, below a kernel that has not moved",
		   unmoved_symbols,
		   "function+0x10 kfar-away.ko.xz k[second] bpf_prog+0x10 four+0x10");
	unlink(modules_path);
}

/* The buffer for lines still has the one before. */
static void torn_symbols(void)
{
	put_sample(PERF_RECORD_MISC_KERNEL, TEXT + 0x2010);
	has_frames("a line that ends behind its address",
		   "ffffffff81000000 T _text\n"
		   "ffffffff81001000 T function\n"
		   "ffffffff81002000 ", "k[kernel.kallsyms]");
}

static void other_boots(void)
{
	put_maps();
	has_frames("kallsyms of the same boot", boot_symbols, "function+0x10 one+0x10 two+0x20");
	put_maps();
	write_text(modules_path, other_modules);
	has_frames("kallsyms and modules of another boot", other_symbols,
		   "function+0x10 one+0x10 two+0x20");
	put_maps();
	put_sample(PERF_RECORD_MISC_KERNEL, TEXT + TEXT_MOVED + 0x1010);
	write_text(modules_path, "second 32768 0 - Live 0xffffffffc1000000\n");
	has_frames("a module that is not loaded in the other boot", other_symbols,
		   "function+0x10 kfar-away.ko.xz two+0x20 function+0x3000010");
	put_maps();
	unlink(modules_path);
	has_frames("kallsyms of another boot without its modules", other_symbols,
		   "function+0x10 kfar-away.ko.xz k[second]");
	put_maps();
	put_ksymbol(FAR + FAR_MOVED, 0x100, false, "program");
	put_sample(PERF_RECORD_MISC_KERNEL, FAR + FAR_MOVED + 0x10);
	has_frames("a symbol of a record is where it was recorded", other_symbols,
		   "function+0x10 kfar-away.ko.xz k[second] program+0x10");
}

/* A guest has the addresses of the host and of the process that runs it for other things. */
static void guests(void)
{
	static const u64 chain[] = {
		PERF_CONTEXT_GUEST_KERNEL, TEXT + 0x1010, TEXT + 0x1020,
		PERF_CONTEXT_GUEST_USER, USER + 0x10,
		PERF_CONTEXT_KERNEL, TEXT + 0x1030, PERF_CONTEXT_USER, USER + 0x40,
	};
	static const u64 mark = PERF_CONTEXT_GUEST_KERNEL;

	put_map(PERF_RECORD_MISC_KERNEL, TEXT, ~0ULL - TEXT, TEXT, "[kernel.kallsyms]_text");
	put_map(PERF_RECORD_MISC_USER, USER, 0x1000, 0, "/nonexistent/program");
	put_sample(PERF_RECORD_MISC_GUEST_KERNEL, TEXT + 0x1010);
	put_chain(PERF_RECORD_MISC_GUEST_KERNEL, TEXT + 0x1010, 1, &mark);
	put_sample(PERF_RECORD_MISC_GUEST_USER, USER + 0x10);
	put_sample(PERF_RECORD_MISC_KERNEL, TEXT + 0x1010);
	put_sample(PERF_RECORD_MISC_USER, USER + 0x10);
	has_frames("samples of a guest have no names of the host", boot_symbols,
		   "g[guest.kernel] g[guest.kernel] u[guest.user] function+0x10 .program");
	put_map(PERF_RECORD_MISC_KERNEL, TEXT, ~0ULL - TEXT, TEXT, "[kernel.kallsyms]_text");
	put_map(PERF_RECORD_MISC_USER, USER, 0x1000, 0, "/nonexistent/program");
	put_chain(PERF_RECORD_MISC_GUEST_KERNEL, TEXT + 0x1010, ARRAY_SIZE(chain), chain);
	has_frames("a chain from a guest to the host", boot_symbols,
		   "g[guest.kernel] g[guest.kernel] u[guest.user] function+0x30 .program");
	put_map(PERF_RECORD_MISC_GUEST_KERNEL, TEXT, ~0ULL - TEXT, TEXT + TEXT_MOVED,
		"[guest.kernel.kallsyms]_text");
	put_map(PERF_RECORD_MISC_USER, USER, 0x1000, 0, "/nonexistent/program");
	put_map(PERF_RECORD_MISC_GUEST_USER, USER, 0x1000, 0, "/nonexistent/other");
	put_map(PERF_RECORD_MISC_GUEST_KERNEL, USER, 0x1000, 0, "[guest.kernel.kallsyms]");
	put_sample(PERF_RECORD_MISC_KERNEL, TEXT + 0x1010);
	put_sample(PERF_RECORD_MISC_USER, USER + 0x10);
	has_frames("mappings of a guest are none of the host", boot_symbols,
		   "function+0x10 .program");
}

/* The record of the kernel's mapping with a build id; the reason for missing functions, or NULL. */
static const char *problem_of_kernel(const u8 *build_id, u32 size)
{
	struct tally_space *space = NULL;
	struct tally_dsos *dsos;
	const char *problem = "no memory";
	size_t at = made_start(&records, PERF_RECORD_MMAP2,
			       PERF_RECORD_MISC_KERNEL | PERF_RECORD_MISC_MMAP_BUILD_ID);
	u8 id[24] = { size };
	struct tally_record record = {};

	memcpy(id + 4, build_id, size);
	made_pair(&records, -1, -1);
	tally_buf_put_u64(&records, TEXT);
	tally_buf_put_u64(&records, ~0ULL - TEXT);
	tally_buf_put_u64(&records, TEXT);
	tally_buf_put(&records, id, sizeof(id));
	made_pair(&records, 5, 2);
	made_text(&records, "[kernel.kallsyms]_text");
	made_finish(&records, at);
	record.header = (const void *)records.data;
	if (!tally_space_new(&space, NULL, NULL) && !tally_space_learn(space, &record)) {
		dsos = tally_space_dsos(space);
		tally_dso_find(dsos, dsos->kernel, TEXT);
		problem = dsos->kernel->problem;
	}
	tally_space_free(space);
	tally_buf_free(&records);
	return problem;
}

static void build_id_of_mapping(void)
{
	static const char name[] = "a build id in the record of the kernel's mapping";
	u8 id[TALLY_BUILD_ID_SIZE] = {};
	const char *same, *other;
	int size = tally_kernel_build_id(id);

	if (size <= 0) {
		ktap_skip(name, "the kernel has none");
		return;
	}
	same = problem_of_kernel(id, size);
	id[0] ^= 0xff;
	other = problem_of_kernel(id, size);
	ktap_note("its own: %s, another: %s", same ?: "-", other ?: "-");
	ktap_result((!same || !strstr(same, "another kernel")) && other &&
		    strstr(other, "another kernel"), name);
}

static double cpu_seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

/* Follows all records; the case is good if that does not take too long. */
static void takes_seconds(const char *name, const char *kallsyms)
{
	const struct perf_event_header *header;
	struct tally_space *space = NULL;
	double start = cpu_seconds();
	bool good = !tally_space_new(&space, NULL, kallsyms);
	size_t at = 0;

	for (; good && at < records.size; at += header->size) {
		struct tally_record record = { .header = (const void *)(records.data + at) };

		header = record.header;
		good = !tally_space_learn(space, &record) && cpu_seconds() - start < MANY_SECONDS;
	}
	ktap_note("%zu of %zu bytes of records in %.2f s", at, records.size,
		  cpu_seconds() - start);
	ktap_result(good, name);
	tally_space_free(space);
	tally_buf_free(&records);
}

/* Many records beside a kallsyms with many symbols: none takes time for all of these. */
static void many_symbols(void)
{
	FILE *file = fopen(symbols_path, "w");
	char name[32];

	for (u64 i = 0; file && i < MANY; i++) {
		fprintf(file, "%llx t symbol_%llu\n", TEXT + i * 256, i);
		put_ksymbol(FAR + (i * 7919 % MANY) * 256, 256, false, "program");
	}
	if (file)
		fclose(file);
	takes_seconds("a record does not take time for all symbols", symbols_path);
	for (u64 i = 0; i < MANY_FALLING; i++) {
		snprintf(name, sizeof(name), "program_%llu", i);
		put_ksymbol(FAR + (MANY_FALLING - i) * 64, 64, false, name);
	}
	takes_seconds("nor for all records before it, each at a lower address", symbols_path);
}

int main(void)
{
	ktap_start();
	snprintf(folder, sizeof(folder), "/tmp/tally-kernel-%d", getpid());
	snprintf(data_path, sizeof(data_path), "%s/data", folder);
	snprintf(symbols_path, sizeof(symbols_path), "%s/kallsyms", folder);
	snprintf(modules_path, sizeof(modules_path), "%s/modules", folder);
	mkdir(folder, 0700);
	register_symbols();
	unregister_symbols();
	other_boots();
	boots_without_shift();
	torn_symbols();
	guests();
	build_id_of_mapping();
	many_symbols();
	unlink(data_path);
	unlink(symbols_path);
	rmdir(folder);
	return ktap_finish();
}
