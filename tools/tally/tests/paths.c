// SPDX-License-Identifier: GPL-2.0
/* Files that have had the same path: each has functions by its own build id, or none. */
#include "dso.h"
#include "made.h"
#include "session.h"
#include "tally_open.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>

#define BASE		0x400000ULL
#define ID_SIZE		TALLY_BUILD_ID_SIZE
/* Inodes of files that have had the path of the program. */
#define OLD		10
#define NEW		11

/* Records of the cases that measure them. */
#define MANY		40000
#define MANY_SECONDS	3

static struct tally_buf records, rows;
static char data_path[64], program[4096];
/* The build id of this program, and that of a file which had its path before. */
static u8 own_id[ID_SIZE], other_id[ID_SIZE], no_id[ID_SIZE];

/* The function that all samples are in. */
static noinline void sampled(void)
{
	asm volatile("");
}

/* An MMAP2 record of the program; with @id it has that, otherwise @inode. */
static void put_mmap(u32 pid, u64 inode, const u8 *id)
{
	size_t at = made_start(&records, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER |
			       (id ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0));

	made_pair(&records, pid, pid);
	tally_buf_put_u64(&records, BASE);
	tally_buf_put_u64(&records, etext - __executable_start);
	tally_buf_put_u64(&records, 0);
	if (id) {
		tally_buf_put_u32(&records, ID_SIZE);
		tally_buf_put(&records, id, ID_SIZE);
	} else {
		made_pair(&records, 8, 1);
		tally_buf_put_u64(&records, inode);
		tally_buf_put_u64(&records, 0);
	}
	made_pair(&records, 5, 2);
	made_text(&records, program);
	made_finish(&records, at);
}

static void put_sample(u32 pid)
{
	size_t start = made_start(&records, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);

	tally_buf_put_u64(&records, BASE + ((u64)sampled - (u64)__executable_start));
	made_pair(&records, pid, pid);
	made_finish(&records, start);
}

/* A row of section BUILD_ID. */
static void put_row(u32 pid, const u8 *id)
{
	size_t at = made_start(&rows, TALLY_RECORD_BUILD_ID, PERF_RECORD_MISC_USER | 1 << 15);
	u8 bytes[24] = {};

	memcpy(bytes, id, ID_SIZE);
	bytes[ID_SIZE] = memcmp(id, no_id, ID_SIZE) ? ID_SIZE : 0;
	tally_buf_put_u32(&rows, pid);
	tally_buf_put(&rows, bytes, sizeof(bytes));
	tally_buf_put_string(&rows, program);
	/* The section has strings without their length in front. */
	memmove(rows.data + at + 36, rows.data + at + 40, rows.size - at - 40);
	rows.size -= 4;
	made_finish(&rows, at);
}

static bool write_file(void)
{
	return made_write_one(data_path, PERF_SAMPLE_IP | PERF_SAMPLE_TID, &records, &rows);
}

/* Which samples have the function's name, as pids; the case is good if they are these. */
static void has_names(const char *name, const char *expected)
{
	static struct tally_frame frames[TALLY_MAX_FRAMES];
	const struct tally_session_options options = { .path = data_path };
	struct tally_session *session;
	struct tally_record record;
	struct tally_sample sample;
	struct tally_error err;
	char text[256] = "";

	if (!write_file() || tally_session_open(&session, &options, &err)) {
		ktap_result(false, name);
		return;
	}
	while (tally_session_next(session, &record, &sample, &err) > 0) {
		size_t used = strlen(text);

		if (record.header->type != PERF_RECORD_SAMPLE)
			continue;
		tally_session_chain(session, &record, &sample, frames);
		if (frames[0].symbol && !strcmp(frames[0].symbol, "sampled"))
			snprintf(text + used, sizeof(text) - used, "%u ", sample.pid);
	}
	tally_session_close(session);
	if (strcmp(text, expected))
		ktap_note("%s: named in %s, not %s", name, text, expected);
	ktap_result(!strcmp(text, expected), name);
}

static void put_samples(u32 pids)
{
	for (u32 pid = 1; pid <= pids; pid++)
		put_sample(pid);
}

static void ids_of_records(void)
{
	put_mmap(1, 0, other_id);
	put_mmap(2, 0, own_id);
	put_mmap(3, 0, other_id);
	put_mmap(4, 0, own_id);
	put_samples(4);
	has_names("two build ids in the records of mappings", "2 4 ");
	put_mmap(1, 0, own_id);
	put_sample(1);
	put_mmap(2, 0, other_id);
	put_samples(2);
	has_names("the second one after samples of the first", "1 1 ");
}

static void ids_of_rows(void)
{
	put_row(1, other_id);
	put_row(2, own_id);
	put_mmap(1, OLD, NULL);
	put_mmap(2, NEW, NULL);
	put_mmap(3, OLD, NULL);
	put_mmap(4, NEW, NULL);
	put_samples(4);
	has_names("two build ids in the section, by the processes of its rows", "2 4 ");
	put_row(1, own_id);
	put_row(1, other_id);
	put_mmap(1, OLD, NULL);
	put_sample(1);
	put_mmap(1, NEW, NULL);
	put_mmap(2, OLD, NULL);
	put_samples(2);
	has_names("a process that maps one after the other", "1 2 ");
	put_row(1, no_id);
	put_row(2, own_id);
	put_mmap(1, OLD, NULL);
	put_mmap(2, NEW, NULL);
	put_samples(2);
	has_names("a file without a known build id beside one that has it", "2 ");
	put_row(-1, own_id);
	put_row(-1, other_id);
	put_mmap(1, OLD, NULL);
	put_mmap(2, NEW, NULL);
	put_samples(2);
	has_names("rows that are not known to be of one file or the other", "");
	put_row(1, own_id);
	put_mmap(1, OLD, NULL);
	put_mmap(2, NEW, NULL);
	put_samples(2);
	has_names("one build id, and inodes that differ", "1 2 ");
	put_mmap(1, OLD, NULL);
	put_mmap(2, NEW, NULL);
	put_samples(2);
	has_names("no build id", "1 2 ");
}

static double cpu_seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

/* Follows the records of rows and those of mappings; the case is good if that is fast. */
static void takes_seconds(const char *name)
{
	const struct perf_event_header *header;
	struct tally_space *space = NULL;
	double start = cpu_seconds();
	bool good = !tally_space_new(&space, NULL, NULL);
	size_t at = 0;

	/* Rows, which are the records of a pipe, first. */
	tally_buf_put(&rows, records.data, records.size);
	for (; good && at < rows.size; at += header->size) {
		struct tally_record record = { .header = (const void *)(rows.data + at) };

		header = record.header;
		good = !tally_space_learn(space, &record) && cpu_seconds() - start < MANY_SECONDS;
	}
	ktap_note("%zu of %zu bytes of records in %.2f s", at, rows.size, cpu_seconds() - start);
	ktap_result(good, name);
	tally_space_free(space);
	tally_buf_free(&records);
	tally_buf_free(&rows);
}

static const u8 *many_id(u32 number)
{
	static u8 id[ID_SIZE];

	memset(id, 0x55, sizeof(id));
	memcpy(id + 8, &number, sizeof(number));
	return id;
}

static void many_of_one_path(void)
{
	for (u32 i = 0; i < MANY; i++)
		put_row(1, many_id(i));
	takes_seconds("many rows of a path");
	for (u32 i = 0; i < MANY; i++)
		put_mmap(1, 0, many_id(i));
	takes_seconds("many build ids of a path in records of mappings");
	for (u32 i = 0; i < MANY; i++) {
		put_row(i, own_id);
		put_mmap(1, 100 + i, NULL);
	}
	takes_seconds("many processes with one build id");
	for (u32 i = 0; i < MANY; i++) {
		put_row(1, many_id(i));
		put_mmap(1, 100 + i, NULL);
	}
	takes_seconds("many files of a process");
}

/* Rows without a turn: their files have build ids by records, or may be several. */
static void turns_of_rows(void)
{
	put_row(1, own_id);
	put_row(1, other_id);
	put_mmap(1, 0, own_id);
	put_sample(1);
	put_mmap(1, OLD, NULL);
	put_sample(1);
	put_mmap(2, 0, own_id);
	put_sample(2);
	has_names("a row of a file that has its build id by the record", "1 2 ");
	put_row(1, other_id);
	put_row(1, other_id);
	put_row(1, own_id);
	put_mmap(1, OLD, NULL);
	put_mmap(1, NEW, NULL);
	put_sample(1);
	put_mmap(2, NEW + 1, NULL);
	put_sample(2);
	has_names("equal rows may be of several files", "");
	put_row(1, no_id);
	put_row(1, no_id);
	put_row(1, own_id);
	put_mmap(1, OLD, NULL);
	put_mmap(1, NEW, NULL);
	put_sample(1);
	put_mmap(1, NEW + 1, NULL);
	put_sample(1);
	has_names("two files without a known build id before one that has it", "1 ");
}

/* What the section has: o for own_id, - for one that is not known, x for another. */
static void has_ids(const char *name, struct tally_objects *objects, const char *expected)
{
	const struct perf_event_header *header;
	struct tally_buf section = {};
	char text[16] = "";

	tally_objects_build_ids(objects, &section);
	for (size_t at = 0; at < section.size && strlen(text) < 8; at += header->size) {
		const u8 *id = section.data + at + 12;

		header = (const void *)(section.data + at);
		strcat(text, !memcmp(id, own_id, ID_SIZE) ? "o" :
		       memcmp(id, no_id, ID_SIZE) ? "x" : "-");
	}
	tally_buf_free(&section);
	tally_objects_free(objects);
	if (strcmp(text, expected))
		ktap_note("%s: %s, not %s", name, text, expected);
	ktap_result(!strcmp(text, expected), name);
}

/* A copy of this program; the times of files have a resolution of some milliseconds. */
static bool copy_program(const char *path, struct tally_file_id *id)
{
	int from = open(program, O_RDONLY), to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0700);
	struct stat status;
	bool good = from >= 0 && to >= 0 && !fstat(from, &status) &&
		sendfile(to, from, NULL, status.st_size) == status.st_size && !fstat(to, &status);

	close(from);
	close(to);
	*id = (struct tally_file_id){
		.major = major(status.st_dev), .minor = minor(status.st_dev),
		.inode = status.st_ino,
	};
	usleep(20000);
	return good;
}

static void ids_of_objects(void)
{
	struct tally_file_id id, gone, by_record = { .size = ID_SIZE, .has_build_id = true };
	struct tally_objects objects = {};
	char path[80];

	snprintf(path, sizeof(path), "%s-program", data_path);
	if (!copy_program(path, &id)) {
		ktap_result(false, "a copy of the program");
		return;
	}
	gone = id;
	gone.inode++;
	tally_objects_add(&objects, path, getpid(), &id, 0);
	tally_objects_add(&objects, path, 1, &id, 0);
	has_ids("the file at its path", &objects, "o");
	tally_objects_add(&objects, path, getpid(), &gone, 0);
	has_ids("another inode of a file that has not changed", &objects, "o");
	tally_objects_add(&objects, path, getpid(), &gone, 0);
	usleep(20000);
	chmod(path, 0755);
	has_ids("another inode of a file that has changed", &objects, "");
	tally_objects_add(&objects, path, getpid(), &gone, 0);
	tally_objects_add(&objects, path, getpid(), &id, 0);
	usleep(20000);
	chmod(path, 0700);
	has_ids("a file that was replaced", &objects, "-o");
	memcpy(by_record.build_id, other_id, ID_SIZE);
	tally_objects_add(&objects, path, getpid(), &by_record, 0);
	tally_objects_add(&objects, path, getpid(), &id, 0);
	has_ids("a file that was replaced, with a build id in the record", &objects, "xo");
	tally_objects_add(&objects, program, getpid(), &(struct tally_file_id){}, 0);
	tally_objects_add(&objects, "/nonexistent", getpid(), &id, 0);
	has_ids("a record without an inode, and a file that is gone", &objects, "o");
	unlink(path);
}

/* Buffers of several CPUs are emptied one after another, the newest record may be in the first. */
static void order_of_objects(void)
{
	struct tally_file_id id, gone;
	struct tally_objects objects = {};
	struct tally_buf section = {};
	char path[80], text[64] = "";
	u32 size, pid;

	snprintf(path, sizeof(path), "%s-program", data_path);
	if (!copy_program(path, &id)) {
		ktap_result(false, "a copy of the program");
		return;
	}
	gone = id;
	gone.inode++;
	tally_objects_add(&objects, path, 3, &gone, 300);
	tally_objects_add(&objects, path, 4, &id, 400);
	tally_objects_add(&objects, path, 2, &id, 200);
	tally_objects_add(&objects, path, 5, &id, 500);
	gone.inode++;
	tally_objects_add(&objects, path, 1, &gone, 0);
	tally_objects_build_ids(&objects, &section);
	for (size_t at = 0; at < section.size && strlen(text) < 32; at += size) {
		size = ((const struct perf_event_header *)(section.data + at))->size;
		memcpy(&pid, section.data + at + 8, sizeof(pid));
		snprintf(text + strlen(text), 16, "%u ", pid);
	}
	ktap_note("processes of the rows: %s", text);
	ktap_result(!strcmp(text, "1 2 3 "), "rows are in the order of the times of mappings");
	tally_buf_free(&section);
	tally_objects_free(&objects);
	unlink(path);
}

/* Flips the build id of a copy of this program. */
static bool change_build_id(const char *path)
{
	int fd = open(path, O_RDWR);
	struct stat status;
	u8 *bytes, *id;
	bool good;

	if (fd < 0 || fstat(fd, &status))
		return false;
	bytes = malloc(status.st_size);
	good = bytes && pread(fd, bytes, status.st_size, 0) == status.st_size;
	id = good ? memmem(bytes, status.st_size, own_id, ID_SIZE) : NULL;
	good = id && pwrite(fd, other_id, ID_SIZE, id - bytes) == ID_SIZE;
	free(bytes);
	close(fd);
	usleep(20000);
	return good;
}

static void end_child(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* A process that has another root folder, after it is there; 0 if that is not allowed. */
static pid_t start_in_root(const char *root)
{
	char byte = 0;
	int pipes[2];
	pid_t child;

	if (pipe(pipes))
		return 0;
	child = fork();
	if (!child) {
		bool good = !chroot(root) || (!unshare(CLONE_NEWUSER) && !chroot(root));

		if (write(pipes[1], good ? "1" : "0", 1) == 1)
			pause();
		_exit(1);
	}
	if (read(pipes[0], &byte, 1) != 1 || byte != '1') {
		end_child(child);
		child = 0;
	}
	close(pipes[0]);
	close(pipes[1]);
	return child;
}

/* The host has another file of the path than the process. */
static void id_below_root(void)
{
	static const char name[] = "a file in a root folder, and another one at its path";
	char root[80], path[80], below[200];
	struct tally_objects objects = {};
	struct tally_file_id id, other;
	pid_t child;

	snprintf(root, sizeof(root), "%s-root", data_path);
	snprintf(path, sizeof(path), "%s-program", data_path);
	snprintf(below, sizeof(below), "%s/tmp", root);
	mkdir(root, 0755);
	mkdir(below, 0755);
	snprintf(below, sizeof(below), "%s%s", root, path);
	child = start_in_root(root);
	if (!child) {
		ktap_skip(name, "no rights");
	} else if (!copy_program(below, &id) || !copy_program(path, &other) ||
		   !change_build_id(path)) {
		ktap_result(false, name);
	} else {
		tally_objects_add(&objects, path, child, &id, 0);
		has_ids(name, &objects, "o");
	}
	if (child)
		end_child(child);
	unlink(path);
	unlink(below);
	snprintf(below, sizeof(below), "%s/tmp", root);
	rmdir(below);
	rmdir(root);
}

/* Mounts an overlay in a namespace of this process. */
static bool mount_overlay(const char *folder, char *merged, size_t size)
{
	static const char * const names[] = { "lower", "upper", "work", "merged" };
	char options[512];

	if (unshare(CLONE_NEWNS) && unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return false;
	mkdir(folder, 0755);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", folder, "tmpfs", 0, NULL))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(merged, size, "%s/%s", folder, names[i]);
		mkdir(merged, 0755);
	}
	snprintf(options, sizeof(options), "lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work",
		 folder, folder, folder);
	return !mount("none", merged, "overlay", 0, options);
}

/* Copies this program and runs it; the process waits. 0 after a failure. */
static pid_t run_copy(const char *path)
{
	struct tally_file_id id;
	int pipes[2];
	pid_t child;
	char byte;

	if (!copy_program(path, &id) || pipe2(pipes, O_CLOEXEC))
		return 0;
	child = fork();
	if (!child) {
		execl(path, path, "wait", NULL);
		_exit(1);
	}
	close(pipes[1]);
	/* Its end is the exec. */
	if (read(pipes[0], &byte, 1))
		child = 0;
	close(pipes[0]);
	return child;
}

/* Inodes of an overlay are not those of mappings; what a process executes is one file of many. */
static void ids_on_overlay(void)
{
	static const char name[] = "the program of an overlay, and a mapped file that is not there";
	const struct tally_file_id id = { .major = 8, .minor = 1, .inode = OLD };
	char folder[80], merged[160], path[200];
	struct tally_objects objects = {};
	bool mounted;
	pid_t child;

	snprintf(folder, sizeof(folder), "%s-overlay", data_path);
	mounted = mount_overlay(folder, merged, sizeof(merged));
	snprintf(path, sizeof(path), "%s/program", merged);
	child = mounted ? run_copy(path) : 0;
	if (!mounted) {
		ktap_skip(name, "no overlay");
	} else if (!child) {
		ktap_result(false, name);
	} else {
		tally_objects_add(&objects, "/nonexistent/library", child, &id, 0);
		tally_objects_add(&objects, path, child, &id, 0);
		has_ids(name, &objects, "o");
		end_child(child);
	}
	umount2(merged, MNT_DETACH);
	umount2(folder, MNT_DETACH);
	rmdir(folder);
}

int main(int argc, char **argv)
{
	ssize_t size = readlink("/proc/self/exe", program, sizeof(program) - 1);

	if (argc > 1 && !strcmp(argv[1], "wait"))
		pause();
	ktap_start();
	sampled();
	if (size < 0 || tally_elf_build_id(program, own_id) != ID_SIZE) {
		ktap_skip("paths", "this program has no build id, or elfutils are missing");
		return ktap_finish();
	}
	memcpy(other_id, own_id, ID_SIZE);
	other_id[0] ^= 0xff;
	snprintf(data_path, sizeof(data_path), "/tmp/tally-paths-%d", getpid());
	ids_of_records();
	ids_of_rows();
	turns_of_rows();
	many_of_one_path();
	ids_of_objects();
	order_of_objects();
	id_below_root();
	ids_on_overlay();
	unlink(data_path);
	return ktap_finish();
}
