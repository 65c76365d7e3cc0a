// SPDX-License-Identifier: GPL-2.0
/*
 * Mutated files: whatever is in a file, the reader does not crash, and what it refuses it refuses
 * with an offset. Built with the sanitizers by "make check".
 *
 * usage: mutate [NUMBER [SEED]]
 */
#include "swap.h"
#include "tree.h"
#include "verify.h"

#include <sys/mman.h>

#define FORMS	6

/* Freed memory is kept for a while, so that its use is found; not as much as by default. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "quarantine_size_mb=4:malloc_context_size=8:allocator_release_to_os_interval_ms=-1";
}

static struct tally_buf forms[FORMS];
static u32 nr_forms;
static FILE *sink;
static char kallsyms[] = "/tmp/tally-kallsyms-XXXXXX";
static u64 refused, without_offset, read_whole;

static void add_form(const char *path)
{
	struct tally_buf *buf = &forms[nr_forms++];
	int fd = open(path, O_RDONLY);
	off_t size = lseek(fd, 0, SEEK_END);

	if (fd < 0 || pread(fd, tally_buf_grow(buf, size), size, 0) != size)
		ktap_bail_out(path);
	close(fd);
}

static void make_forms(void)
{
	static char path[] = "/tmp/tally-mutate-XXXXXX";
	struct tally_error err;
	struct made made;

	close(mkstemp(path));
	made_init(&made, 3);
	made_write(&made, path, 0, 0, true, &err);
	add_form(path);
	forms[nr_forms++] = swap_file(path);
	made_write(&made, path, TALLY_WRITE_PIPE, 0, true, &err);
	add_form(path);
	made_write(&made, path, 0, 0, false, &err);
	add_form(path);
#ifdef HAVE_ZSTD
	made_write(&made, path, 0, 1, true, &err);
	add_form(path);
	made_write(&made, path, TALLY_WRITE_PIPE, 1, false, &err);
	add_form(path);
#endif
	made_free(&made);
	unlink(path);
}

static void make_kallsyms(void)
{
	static const char text[] = "ffffffff81000000 T _text\nffffffff81000800 t second\n";
	int fd = mkstemp(kallsyms);

	if (fd < 0 || write(fd, text, sizeof(text) - 1) != sizeof(text) - 1)
		ktap_bail_out("kallsyms");
	close(fd);
}

/* Half of the places are in the first 600 bytes: header, ids and attrs. */
static size_t place_in(const struct tally_buf *buf, size_t size)
{
	size_t room = buf->size > size ? buf->size - size : 1;

	return made_below(made_below(2) && room > 600 ? 600 : room);
}

static u64 interesting_number(const struct tally_buf *buf)
{
	static const u64 numbers[] = {
		0, 1, 7, 8, 0x7f, 0xff, 0x7fff, 0xffff, 0x10000, 0x7fffffff, 0x80000000,
		0xffffffff, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000,
		0xffffffffffffffff, 0xfffffffffffffff8, 64, 104, 128,
	};

	if (made_below(4))
		return numbers[made_below(ARRAY_SIZE(numbers))];
	return made_below(buf->size + 16);
}

static void mutate_number(struct tally_buf *buf)
{
	static const unsigned int sizes[] = { 1, 2, 4, 8 };
	unsigned int size = sizes[made_below(4)];
	u64 number = interesting_number(buf);
	size_t at = place_in(buf, size) & ~(size_t)(size - 1);

	if (at + size <= buf->size)
		memcpy(buf->data + at, &number, size);
}

static void mutate_once(struct tally_buf *buf)
{
	size_t at = place_in(buf, 1), size;

	if (!buf->size)
		return;
	switch (made_below(6)) {
	case 0:
		buf->data[at] ^= 1 << made_below(8);
		break;
	case 1:
		buf->data[at] = made_random();
		break;
	case 2:
		buf->size = made_below(4) ? buf->size - made_below(buf->size / 4 + 1) : at;
		break;
	case 3:
		size = made_below(64);
		if (at + size > buf->size)
			break;
		memmove(buf->data + at, buf->data + at + size, buf->size - at - size);
		buf->size -= size;
		break;
	default:
		mutate_number(buf);
	}
}

static void note_refusal(int ret, const struct tally_error *err)
{
	if (!ret) {
		read_whole++;
		return;
	}
	refused++;
	if (ret == -EBADMSG && err->offset != TALLY_NO_OFFSET)
		return;
	without_offset++;
	ktap_note("refused without an offset: %d %s", ret, err->text);
}

static int run_session(const char *path, struct tally_error *err)
{
	const struct tally_session_options options = { .path = path, .kallsyms = kallsyms };
	static struct tally_frame frames[TALLY_MAX_FRAMES];
	struct tally_session *session;
	struct tally_record record;
	struct tally_sample sample;
	int ret = tally_session_open(&session, &options, err);

	if (ret)
		return ret;
	while ((ret = tally_session_next(session, &record, &sample, err)) > 0)
		if (record.header->type == PERF_RECORD_SAMPLE)
			tally_session_chain(session, &record, &sample, frames);
	for (u32 i = 0; i < TALLY_FEAT_END; i++)
		tally_feature_print(sink, &tally_session_info(session)->features, i);
	tally_session_close(session);
	return ret;
}

static void try_one(u64 number, int fd)
{
	const struct tally_buf *form = &forms[number % nr_forms];
	struct tally_buf buf = {};
	struct tally_verdict verdict;
	struct tally_error err = {};
	char path[64];

	tally_buf_put(&buf, form->data, form->size);
	for (u64 i = 1 + made_below(4); i; i--)
		mutate_once(&buf);
	if (ftruncate(fd, 0) || pwrite(fd, buf.data, buf.size, 0) != (ssize_t)buf.size)
		ktap_bail_out("memfd");
	tally_buf_free(&buf);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	note_refusal(run_session(path, &err), &err);
	tally_verify(sink, path, 5, &verdict);
}

int main(int argc, char **argv)
{
	u64 number = argc > 1 ? strtoull(argv[1], NULL, 0) : 20000;
	int fd = memfd_create("mutated", MFD_CLOEXEC);
	char title[128];

	made_seed = argc > 2 ? strtoull(argv[2], NULL, 0) ?: 1 : 1;
	sink = fopen("/dev/null", "w");
	ktap_start();
	make_forms();
	make_kallsyms();
	for (u64 i = 0; i < number; i++)
		try_one(i, fd);
	snprintf(title, sizeof(title), "%llu mutated files are read or refused", number);
	ktap_result(read_whole + refused == number, title);
	snprintf(title, sizeof(title), "each of %llu refusals has an offset", refused);
	ktap_result(refused && !without_offset, title);
	snprintf(title, sizeof(title), "%llu of them are read all the same", read_whole);
	ktap_result(read_whole, title);
	for (u32 i = 0; i < nr_forms; i++)
		tally_buf_free(&forms[i]);
	unlink(kallsyms);
	fclose(sink);
	return ktap_finish();
}
