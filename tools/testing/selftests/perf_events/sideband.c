// SPDX-License-Identifier: GPL-2.0
/*
 * Side-band records: each with its exact content, in the order in which things happened, to those
 * who asked for it and to nobody else. Run as root.
 */
#include "record.h"

#include <elf.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

static struct ring ring, second;
static long page;

static struct perf_event_attr listener(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);

	attr.sample_type = ID_TYPES;
	attr.sample_id_all = 1;
	return attr;
}

static int listen_to(struct ring *r, struct perf_event_attr *attr, pid_t pid, int cpu)
{
	int fd = perf_open(attr, pid, cpu, -1, 0);

	if (fd < 0 || !ring_map(r, fd, 16))
		ktap_bail_out("a listener");
	return fd;
}

static void stop_listening(struct ring *r)
{
	ring_unmap(r);
	close(r->fd);
}

static bool exactly(uint64_t got, uint64_t want, const char *what)
{
	return ktap_result(got == want, "%s: %llu, want %llu", what, (unsigned long long)got,
			   (unsigned long long)want);
}

static bool padded(size_t size, size_t fixed, const char *text)
{
	return size == fixed + (strlen(text) + 8) / 8 * 8;
}

/* ----------------------------------------------------------------------- COMM */

struct comm {
	struct perf_event_header h;
	uint32_t	pid, tid;
	char		name[];
};

static void test_comm(void)
{
	struct perf_event_attr attr = listener();
	const struct trailer *t;
	struct comm *c;
	uint64_t id;

	attr.comm = 1;
	listen_to(&ring, &attr, 0, -1);
	ioctl(ring.fd, PERF_EVENT_IOC_ID, &id);
	prctl(PR_SET_NAME, "seven77");
	prctl(PR_SET_NAME, "fifteen-letters");

	c = (void *)ring_find(&ring, PERF_RECORD_COMM);
	ktap_result(c && !strcmp(c->name, "seven77") && c->pid == (uint32_t)getpid() &&
		    c->tid == c->pid && !c->h.misc && padded(body_size(&c->h), 8, c->name),
		    "COMM: name, pid, tid, size");
	t = c ? trailer_of(&c->h) : NULL;
	ktap_result(t && t->pid == (uint32_t)getpid() && t->tid == t->pid && t->time &&
		    t->id == id && t->stream_id == id && t->identifier == id && !t->reserved,
		    "COMM: trailer");
	c = (void *)ring_find(&ring, PERF_RECORD_COMM);
	ktap_result(c && !strcmp(c->name, "fifteen-letters") && body_size(&c->h) == 24,
		    "COMM: the longest name");
	ktap_result(!ring_next(&ring), "COMM: nothing else");
	stop_listening(&ring);
}

/* ------------------------------------------------------- FORK, EXIT, exec, READ */

struct task {
	struct perf_event_header h;
	uint32_t	pid, ppid, tid, ptid;
	uint64_t	time;
};

struct mapping {
	struct perf_event_header h;
	uint32_t	pid, tid;
	uint64_t	addr, len, pgoff;
	union {
		struct {
			char		name1[1];
		};
		struct {
			uint32_t	maj, min;
			uint64_t	ino, generation;
			uint32_t	prot, flags;
			char		name2[1];
		};
		struct {
			uint8_t		id_size, r1;
			uint16_t	r2;
			uint8_t		id[20];
		};
	};
};

static void test_fork(void)
{
	struct perf_event_attr attr = listener();
	struct task *fork_record, *exit_record;
	uint64_t forked_at;
	int status;
	pid_t child;

	attr.task = 1;
	attr.inherit = 1;
	pin_to_cpu(0);
	listen_to(&ring, &attr, 0, 0);
	child = fork();
	if (!child)
		_exit(0);
	waitpid(child, &status, 0);

	fork_record = (void *)ring_next(&ring);
	ktap_result(fork_record && fork_record->h.type == PERF_RECORD_FORK &&
		    fork_record->pid == (uint32_t)child && fork_record->tid == (uint32_t)child &&
		    fork_record->ppid == (uint32_t)getpid() &&
		    fork_record->ptid == (uint32_t)getpid() && body_size(&fork_record->h) == 24 &&
		    trailer_of(&fork_record->h)->pid == (uint32_t)getpid(), "FORK");
	forked_at = fork_record ? fork_record->time : 0;
	exit_record = (void *)ring_next(&ring);
	ktap_result(exit_record && exit_record->h.type == PERF_RECORD_EXIT &&
		    exit_record->pid == (uint32_t)child && exit_record->tid == (uint32_t)child &&
		    exit_record->ppid == (uint32_t)getpid() &&
		    exit_record->ptid == (uint32_t)getpid() && exit_record->time > forked_at,
		    "EXIT");
	ktap_result(!ring_next(&ring), "FORK and EXIT: once each");
	stop_listening(&ring);
}

static void *fork_here(void *tid)
{
	pid_t child = fork();

	if (!child)
		_exit(0);
	*(pid_t *)tid = syscall(SYS_gettid);
	waitpid(child, NULL, 0);
	return NULL;
}

/* FORK names the thread that did it, EXIT the process. */
static void test_fork_by_thread(void)
{
	struct perf_event_attr attr = listener();
	struct task *record;
	bool forked = false, exited = false;
	pthread_t thread;
	pid_t tid = 0;

	attr.task = 1;
	attr.inherit = 1;
	listen_to(&ring, &attr, 0, 0);
	pthread_create(&thread, NULL, fork_here, &tid);
	pthread_join(thread, NULL);
	while ((record = (void *)ring_next(&ring))) {
		bool ours = record->ppid == (uint32_t)getpid() && record->pid != record->ppid;

		forked |= ours && record->h.type == PERF_RECORD_FORK && record->ptid == (uint32_t)tid;
		exited |= ours && record->h.type == PERF_RECORD_EXIT && record->ptid == (uint32_t)getpid();
	}
	ktap_result(forked && exited, "FORK and EXIT of a thread's child: its thread, its process");
	stop_listening(&ring);
}

/* What a child does between fork and exit, in its order. */
static void test_exec_order(void)
{
	static const uint32_t order[] = {
		PERF_RECORD_FORK, PERF_RECORD_COMM, PERF_RECORD_MMAP2, PERF_RECORD_EXIT,
	};
	struct perf_event_attr attr = listener();
	unsigned int at = 0, exec_comm = 0;
	struct perf_event_header *h;
	bool child_only = true;
	int status;
	pid_t child;

	attr.task = attr.comm = attr.comm_exec = attr.mmap = attr.mmap2 = 1;
	attr.inherit = 1;
	listen_to(&ring, &attr, 0, 0);
	child = fork();
	if (!child) {
		execl("/proc/self/exe", "sideband", "exit", NULL);
		_exit(1);
	}
	waitpid(child, &status, 0);
	while ((h = ring_next(&ring))) {
		if (h->type == PERF_RECORD_COMM && (h->misc & PERF_RECORD_MISC_COMM_EXEC))
			exec_comm++;
		if (h->type != PERF_RECORD_FORK)
			child_only &= trailer_of(h)->pid == (uint32_t)child;
		if (at < ARRAY_SIZE(order) && h->type == order[at])
			at++;
	}
	exactly(at, ARRAY_SIZE(order), "exec: FORK, COMM, MMAP2, EXIT in this order");
	exactly(exec_comm, 1, "exec: COMM with MISC_COMM_EXEC");
	ktap_result(child_only, "exec: all but FORK come from the child");
	stop_listening(&ring);
}

static void test_read_record(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	struct {
		struct perf_event_header h;
		uint32_t	pid, tid;
		uint64_t	value, enabled, running, id;
	} *r;
	uint64_t id;
	int status;
	pid_t child;

	attr.inherit = attr.inherit_stat = 1;
	attr.exclude_kernel = 1;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
			   PERF_FORMAT_ID;
	listen_to(&ring, &attr, 0, 0);
	ioctl(ring.fd, PERF_EVENT_IOC_ID, &id);
	child = fork();
	if (!child) {
		touch_pages(fresh_pages(100), 100);
		_exit(0);
	}
	waitpid(child, &status, 0);
	r = (void *)ring_find(&ring, PERF_RECORD_READ);
	ktap_result(r && r->h.size == sizeof(*r) && r->pid == (uint32_t)child &&
		    r->tid == (uint32_t)child && r->id == id, "READ: pid, tid, id");
	ktap_result(r && r->value >= 100 && r->value < 250, "READ: count %llu of 100 and some",
		    r ? (unsigned long long)r->value : 0);
	ktap_result(r && r->enabled && r->enabled == r->running, "READ: times");
	stop_listening(&ring);
}

/* Each member of a group tells of the whole group, and none is gone when the others tell. */
static void test_read_group_record(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	struct {
		struct perf_event_header h;
		uint32_t	pid, tid;
		uint64_t	nr;
		struct {
			uint64_t	value, id;
		} member[3];
	} *r;
	unsigned int n = 0, good_ids = 0, good_values = 0;
	int status, fd[3];
	uint64_t id[3];
	pid_t child;

	attr.inherit = attr.inherit_stat = 1;
	attr.exclude_kernel = 1;
	attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	for (int i = 0; i < 3; i++) {
		fd[i] = i ? perf_open(&attr, 0, 0, fd[0], 0) : listen_to(&ring, &attr, 0, 0);
		ioctl(fd[i], PERF_EVENT_IOC_ID, &id[i]);
		if (i && ioctl(fd[i], PERF_EVENT_IOC_SET_OUTPUT, fd[0]))
			ktap_bail_out("SET_OUTPUT");
	}
	child = fork();
	if (!child) {
		touch_pages(fresh_pages(100), 100);
		_exit(0);
	}
	waitpid(child, &status, 0);
	while ((r = (void *)ring_find(&ring, PERF_RECORD_READ))) {
		n++;
		if (r->h.size != sizeof(*r) || r->pid != (uint32_t)child || r->nr != 3)
			continue;
		good_ids += r->member[0].id == id[0] && r->member[1].id == id[1] &&
			    r->member[2].id == id[2];
		good_values += r->member[0].value >= 100 && r->member[0].value < 250 &&
			       r->member[1].value == r->member[0].value &&
			       r->member[2].value == r->member[0].value;
	}
	exactly(n, 3, "READ of a group: records");
	exactly(good_ids, 3, "READ of a group: with the ids of all members");
	exactly(good_values, 3, "READ of a group: with the values of all members");
	close(fd[1]);
	close(fd[2]);
	stop_listening(&ring);
}

#define TELLERS		4
#define CHILDREN	200

/* Records in the ring are complete and of the kinds that are written; LOST count for what they say. */
static bool add_records(uint64_t *records)
{
	struct {
		struct perf_event_header h;
		uint64_t	id, lost;
	} *r;

	while ((r = (void *)ring_next(&ring))) {
		bool sample = r->h.type == PERF_RECORD_SAMPLE && r->h.size == 16;
		bool other = (r->h.type == PERF_RECORD_READ || r->h.type == PERF_RECORD_LOST) &&
			     r->h.size == 24;

		if (!sample && !other)
			return ktap_result(false, "READ from another CPU: type %u of %u bytes",
					   r->h.type, r->h.size);
		*records += r->h.type == PERF_RECORD_LOST ? r->lost : 1;
	}
	return true;
}

/* Children exit on another CPU than the one that fills the buffer: nothing gets mixed up. */
static void test_read_from_elsewhere(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	uint64_t records = 0;
	int status, fd[TELLERS], sampler;
	pid_t child;

	if (pin_to_cpu(1)) {
		ktap_skip("READ from another CPU", "there is none");
		return;
	}
	pin_to_cpu(0);
	attr.exclude_kernel = 1;
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_TID;
	sampler = listen_to(&ring, &attr, 0, 0);
	attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	attr.inherit = attr.inherit_stat = 1;
	for (int i = 0; i < TELLERS; i++) {
		fd[i] = perf_open(&attr, 0, 0, -1, 0);
		if (fd[i] < 0 || ioctl(fd[i], PERF_EVENT_IOC_SET_OUTPUT, sampler))
			ktap_bail_out("SET_OUTPUT");
	}
	child = fork();
	if (!child) {
		pin_to_cpu(1);
		for (int i = 0; i < CHILDREN; i++) {
			if (!fork())
				_exit(0);
			wait(&status);
		}
		_exit(0);
	}
	while (waitpid(child, &status, WNOHANG) != child) {
		char *p = fresh_pages(16);

		touch_pages(p, 16);
		munmap(p, 16 * page);
		if (!add_records(&records))
			return;
	}
	/* Losses are told of before the next record. */
	touch_pages(fresh_pages(1), 1);
	ioctl(sampler, PERF_EVENT_IOC_DISABLE, 0);
	if (add_records(&records))
		exactly(records, perf_count(sampler) + TELLERS * (CHILDREN + 1),
			"READ from another CPU: records, written or lost");
	for (int i = 0; i < TELLERS; i++)
		close(fd[i]);
	stop_listening(&ring);
}

/* ----------------------------------------------------------------------- MMAP */

static int own_file(struct stat *st)
{
	int fd = open("/proc/self/exe", O_RDONLY);

	if (fd < 0 || fstat(fd, st))
		ktap_bail_out("/proc/self/exe");
	return fd;
}

static void test_mmap(void)
{
	struct perf_event_attr attr = listener();
	char path[256] = "";
	struct mapping *m;
	struct stat st;
	int file = own_file(&st);
	void *p;

	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		ktap_bail_out("readlink");
	attr.mmap = 1;
	listen_to(&ring, &attr, 0, -1);
	attr.mmap2 = 1;
	listen_to(&second, &attr, 0, -1);
	mmap(NULL, 3 * page, PROT_READ, MAP_PRIVATE, file, 0);		/* not executable */
	p = mmap(NULL, 2 * page, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, page);

	m = (void *)ring_next(&ring);
	ktap_result(m && m->h.type == PERF_RECORD_MMAP && m->h.misc == PERF_RECORD_MISC_USER &&
		    m->pid == (uint32_t)getpid() && m->tid == m->pid, "MMAP: pid, tid");
	ktap_result(m && m->addr == (uintptr_t)p && m->len == 2ULL * page &&
		    m->pgoff == (uint64_t)page, "MMAP: addr, len, pgoff");
	ktap_result(m && !strcmp(m->name1, path) && padded(body_size(&m->h), 32, path),
		    "MMAP: file name");
	ktap_result(!ring_next(&ring), "MMAP: nothing else");

	m = (void *)ring_next(&second);
	ktap_result(m && m->h.type == PERF_RECORD_MMAP2 && m->addr == (uintptr_t)p &&
		    m->ino == st.st_ino && m->maj == major(st.st_dev) && m->min == minor(st.st_dev),
		    "MMAP2: device and inode");
	ktap_result(m && m->prot == (PROT_READ | PROT_EXEC) && m->flags == MAP_PRIVATE &&
		    !strcmp(m->name2, path), "MMAP2: prot, flags, file name");
	ktap_result(!ring_next(&second), "MMAP2: nothing else");
	stop_listening(&ring);
	stop_listening(&second);
	close(file);
}

static void test_mmap_data(void)
{
	struct perf_event_attr attr = listener();
	struct mapping *m;
	void *p;

	attr.mmap_data = attr.mmap2 = 1;
	listen_to(&ring, &attr, 0, -1);
	/* The first to be told is the mapping of the buffer itself. */
	m = (void *)ring_next(&ring);
	ktap_result(m && m->addr == (uintptr_t)ring.page && m->len == ring.size + page &&
		    strstr(m->name2, "[perf_event]"), "mmap_data: the buffer");
	p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	m = (void *)ring_next(&ring);
	ktap_result(m && m->h.type == PERF_RECORD_MMAP2 && m->addr == (uintptr_t)p &&
		    m->h.misc == (PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_DATA) &&
		    m->prot == (PROT_READ | PROT_WRITE) && m->flags == MAP_SHARED,
		    "mmap_data: shared memory");
	p = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	m = (void *)ring_next(&ring);
	ktap_result(m && m->addr == (uintptr_t)p && !strcmp(m->name2, "//anon") && !m->ino,
		    "mmap_data: anonymous memory");
	mprotect(p, page, PROT_READ | PROT_EXEC);
	m = (void *)ring_find(&ring, PERF_RECORD_MMAP2);
	ktap_result(m && m->addr == (uintptr_t)p && !(m->h.misc & PERF_RECORD_MISC_MMAP_DATA) &&
		    m->prot == (PROT_READ | PROT_EXEC), "mprotect: it becomes executable");
	stop_listening(&ring);
}

/* The note with the build ID in our own file. */
static int own_build_id(uint8_t *id)
{
	static char buf[4096] __attribute__((aligned(8)));
	Elf64_Ehdr *elf = (void *)buf;
	Elf64_Phdr *segment = (void *)(buf + sizeof(*elf));
	int fd = open("/proc/self/exe", O_RDONLY);
	ssize_t n = read(fd, buf, sizeof(buf));

	close(fd);
	for (int i = 0; i < elf->e_phnum; i++) {
		Elf64_Off at = segment[i].p_offset, end = at + segment[i].p_filesz;

		if (segment[i].p_type != PT_NOTE || (ssize_t)end > n)
			continue;
		while (at + sizeof(Elf64_Nhdr) <= end) {
			Elf64_Nhdr *note = (void *)(buf + at);
			char *name = (char *)(note + 1);

			if (note->n_type == NT_GNU_BUILD_ID && !memcmp(name, "GNU", 4)) {
				memcpy(id, name + 4, note->n_descsz);
				return note->n_descsz;
			}
			at += sizeof(*note) + (note->n_namesz + 3) / 4 * 4 +
			      (note->n_descsz + 3) / 4 * 4;
		}
	}
	return 0;
}

static void test_build_id(void)
{
	struct perf_event_attr attr = listener();
	uint8_t id[64];
	int size = own_build_id(id), file;
	struct mapping *m;
	struct stat st;

	if (!size) {
		ktap_skip("build ID", "the program has none");
		return;
	}
	attr.mmap = attr.mmap2 = attr.build_id = 1;
	listen_to(&ring, &attr, 0, -1);
	file = own_file(&st);
	mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
	m = (void *)ring_next(&ring);
	ktap_result(m && m->h.misc == (PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID) &&
		    m->id_size == size && !memcmp(m->id, id, size) &&
		    m->prot == (PROT_READ | PROT_EXEC), "MMAP2: build ID of %d bytes", size);
	close(file);
	stop_listening(&ring);
}

/* --------------------------------------------------------------------- SWITCH */

static void nap(void)
{
	struct timespec t = { .tv_nsec = 2000000 };

	nanosleep(&t, NULL);
}

/* Switches of this thread so far. */
static unsigned int switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

static void test_switch(void)
{
	struct perf_event_attr attr = listener();
	struct perf_event_header *h;
	unsigned int in = 0, out = 0, order = 0, before, count;
	int fd;

	attr.context_switch = 1;
	attr.disabled = 1;
	fd = listen_to(&ring, &attr, 0, -1);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	before = switches();
	for (int i = 0; i < 10; i++)
		nap();
	count = switches() - before;
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	while ((h = ring_next(&ring))) {
		bool is_out = h->misc & PERF_RECORD_MISC_SWITCH_OUT;

		if (h->type != PERF_RECORD_SWITCH || body_size(h))
			continue;
		order += is_out == (in == out);
		in += !is_out;
		out += is_out;
	}
	ktap_result(count >= 5 && out >= count && out <= count + 3 && in == out,
		    "SWITCH: %u out and %u in, the scheduler says %u", out, in, count);
	exactly(order, in + out, "SWITCH: they alternate");
	stop_listening(&ring);
}

static void test_switch_cpu(void)
{
	struct perf_event_attr attr = listener();
	unsigned int away = 0, back = 0, wrong = 0;
	struct {
		struct perf_event_header h;
		uint32_t	pid, tid;
	} *r;
	int fd;

	attr.context_switch = 1;
	attr.disabled = 1;
	fd = listen_to(&ring, &attr, -1, 0);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 10; i++)
		nap();
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	while ((r = (void *)ring_find(&ring, PERF_RECORD_SWITCH_CPU_WIDE))) {
		const struct trailer *t = trailer_of(&r->h);

		wrong += body_size(&r->h) != 8;
		if (t->pid != (uint32_t)getpid())
			continue;
		if (r->h.misc & PERF_RECORD_MISC_SWITCH_OUT)
			away += r->pid != t->pid && !(r->h.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
		else
			back += r->pid != t->pid;
	}
	ktap_result(away >= 5 && back >= 5 && !wrong,
		    "SWITCH_CPU_WIDE: us away %u, back %u times of 10 naps", away, back);
	stop_listening(&ring);
}

/* ----------------------------------------------------------------- NAMESPACES */

static void test_namespaces(void)
{
	struct perf_event_attr attr = listener();
	struct {
		struct perf_event_header h;
		uint32_t	pid, tid;
		uint64_t	nr;
		struct {
			uint64_t	dev, ino;
		} link[NR_NAMESPACES];
	} *r;
	struct stat uts, mnt;

	attr.namespaces = 1;
	attr.comm = 1;
	listen_to(&ring, &attr, 0, -1);
	if (unshare(CLONE_NEWUTS)) {
		ktap_skip("NAMESPACES", "unshare failed");
		stop_listening(&ring);
		return;
	}
	stat("/proc/self/ns/uts", &uts);
	stat("/proc/self/ns/mnt", &mnt);
	r = (void *)ring_find(&ring, PERF_RECORD_NAMESPACES);
	ktap_result(r && body_size(&r->h) == 16 + NR_NAMESPACES * 16 && r->nr == NR_NAMESPACES &&
		    r->pid == (uint32_t)getpid(), "NAMESPACES: pid, number");
	ktap_result(r && r->link[UTS_NS_INDEX].ino == uts.st_ino &&
		    r->link[UTS_NS_INDEX].dev == uts.st_dev &&
		    r->link[MNT_NS_INDEX].ino == mnt.st_ino, "NAMESPACES: what /proc/self/ns says");
	stop_listening(&ring);
}

struct namespaces {
	struct perf_event_header h;
	uint32_t	pid, tid;
	uint64_t	nr;
	struct {
		uint64_t	dev, ino;
	} link[NR_NAMESPACES];
};

/* The next record is of a task in all namespaces that /proc says @pid is in, told by @teller. */
static bool next_namespaces(pid_t pid, pid_t teller)
{
	static const struct {
		const char	*name;
		unsigned int	index;
	} ns[] = {
		{ "mnt", MNT_NS_INDEX }, { "uts", UTS_NS_INDEX }, { "ipc", IPC_NS_INDEX },
		{ "pid", PID_NS_INDEX }, { "net", NET_NS_INDEX }, { "user", USER_NS_INDEX },
		{ "cgroup", CGROUP_NS_INDEX },
	};
	const struct namespaces *r = (void *)ring_find(&ring, PERF_RECORD_NAMESPACES);
	bool good = r && !r->h.misc && body_size(&r->h) == sizeof(*r) - sizeof(r->h) &&
		    r->nr == NR_NAMESPACES && r->pid == (uint32_t)pid && r->tid == r->pid &&
		    trailer_of(&r->h)->pid == (uint32_t)teller;

	for (unsigned int i = 0; r && i < ARRAY_SIZE(ns); i++) {
		uint64_t dev = r->link[ns[i].index].dev, ino = r->link[ns[i].index].ino;
		char path[64];
		struct stat st;

		snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, ns[i].name);
		if (stat(path, &st))
			memset(&st, 0, sizeof(st));
		if (dev == st.st_dev && ino == st.st_ino)
			continue;
		ktap_note("%s: %llu, expected %llu", ns[i].name, (unsigned long long)ino,
			  (unsigned long long)st.st_ino);
		good = false;
	}
	return good;
}

#define OTHER_NAMESPACES	(CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWNS)

/* A child is told of with the namespaces that it begins in, whether they are new or not. */
static void test_namespaces_of_a_child(void)
{
	static const unsigned long flags[] = { 0, OTHER_NAMESPACES, CLONE_NEWUSER };
	struct perf_event_attr attr = listener();

	attr.namespaces = 1;
	attr.inherit = 1;
	pin_to_cpu(0);
	for (unsigned int i = 0; i < ARRAY_SIZE(flags); i++) {
		pid_t child;

		listen_to(&ring, &attr, 0, 0);
		child = syscall(__NR_clone, flags[i] | SIGCHLD, NULL, NULL, NULL, NULL);
		if (!child)
			for (;;)
				pause();
		if (child < 0)
			ktap_skip("NAMESPACES: of a child", strerror(errno));
		else
			ktap_result(next_namespaces(child, getpid()) &&
				    !ring_find(&ring, PERF_RECORD_NAMESPACES),
				    "NAMESPACES: of a child, clone flags %#lx", flags[i]);
		if (child > 0) {
			kill(child, SIGKILL);
			waitpid(child, NULL, 0);
		}
		stop_listening(&ring);
	}
}

/* What the opener's /proc calls us. */
static pid_t outer_pid(void)
{
	char number[16] = "";

	return readlink("/proc/self", number, sizeof(number) - 1) > 0 ? atoi(number) : -1;
}

/* The first task of a namespace has a child, both with the same inherited event. */
static void inside(volatile pid_t *child)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_NAME, "inside");
		touch_pages(fresh_pages(20), 20);
		*child = outer_pid();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	_exit(0);
}

/* However deep it was inherited, an event gives the numbers that its opener knows. */
static void test_inherited_into_namespace(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	volatile pid_t *child = mmap(NULL, page, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned int samples = 0, comms = 0, exits = 0;
	const struct perf_event_header *h;
	struct sample s;
	pid_t pid;

	pin_to_cpu(0);
	attr.sample_type = ID_TYPES;
	attr.sample_id_all = 1;
	attr.sample_period = 1;
	attr.exclude_kernel = 1;
	attr.inherit = attr.comm = attr.task = 1;
	listen_to(&ring, &attr, 0, 0);
	pid = fork();
	if (!pid) {
		if (unshare(CLONE_NEWPID))
			_exit(1);
		if (!fork())
			inside(child);
		wait(NULL);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	while ((h = ring_next(&ring))) {
		if (h->type == PERF_RECORD_SAMPLE && sample_parse(&s, h, &attr))
			samples += s.pid == (uint32_t)*child && s.tid == s.pid;
		if (h->type == PERF_RECORD_COMM)
			comms += ((struct comm *)h)->pid == (uint32_t)*child;
		if (h->type == PERF_RECORD_EXIT)
			exits += ((struct task *)h)->pid == (uint32_t)*child;
	}
	if (*child)
		ktap_result(*child > 2 && samples >= 20 && comms == 1 && exits == 1,
			    "inherited into a PID namespace: %u samples, %u COMM, %u EXIT of %d",
			    samples, comms, exits, (int)*child);
	else
		ktap_skip("inherited into a PID namespace", "no namespaces");
	stop_listening(&ring);
	munmap((void *)child, page);
}

/* There and back. */
static void test_setns(void)
{
	struct perf_event_attr attr = listener();
	int home = open("/proc/self/ns/uts", O_RDONLY);
	bool good;

	attr.namespaces = 1;
	listen_to(&ring, &attr, 0, -1);
	if (home < 0 || unshare(CLONE_NEWUTS | CLONE_NEWIPC)) {
		ktap_skip("NAMESPACES: setns", "no namespaces");
	} else {
		good = next_namespaces(getpid(), getpid());
		ktap_result(!setns(home, CLONE_NEWUTS) && good &&
			    next_namespaces(getpid(), getpid()) &&
			    !ring_find(&ring, PERF_RECORD_NAMESPACES),
			    "NAMESPACES: unshare and setns");
	}
	close(home);
	stop_listening(&ring);
}

/* --------------------------------------------------------------- BPF, KSYMBOL */

static int load_program(const char *name)
{
	struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type	= BPF_PROG_TYPE_SOCKET_FILTER,
		.insns		= (uintptr_t)code,
		.insn_cnt	= ARRAY_SIZE(code),
		.license	= (uintptr_t)"GPL",
	};

	strcpy(attr.prog_name, name);
	return syscall(__NR_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

static void program_info(int fd, struct bpf_prog_info *info)
{
	union bpf_attr attr = {
		.info = { .bpf_fd = fd, .info_len = sizeof(*info), .info = (uintptr_t)info },
	};

	memset(info, 0, sizeof(*info));
	syscall(__NR_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr));
}

struct ksymbol {
	struct perf_event_header h;
	uint64_t	addr;
	uint32_t	len;
	uint16_t	type, flags;
	char		name[];
};

struct bpf_record {
	struct perf_event_header h;
	uint16_t	type, flags;
	uint32_t	id;
	uint8_t		tag[8];
};

static void test_bpf(void)
{
	struct perf_event_attr attr = listener();
	struct bpf_prog_info info;
	struct bpf_record *b;
	struct ksymbol *k;
	char name[64];
	uint64_t addr;
	int fd;

	attr.ksymbol = attr.bpf_event = 1;
	listen_to(&ring, &attr, 0, -1);
	fd = load_program("sidebandtest");
	if (fd < 0) {
		ktap_skip("BPF_EVENT", "the program cannot be loaded");
		stop_listening(&ring);
		return;
	}
	program_info(fd, &info);
	snprintf(name, sizeof(name), "bpf_prog_%02x%02x%02x%02x%02x%02x%02x%02x_sidebandtest",
		 info.tag[0], info.tag[1], info.tag[2], info.tag[3], info.tag[4], info.tag[5],
		 info.tag[6], info.tag[7]);
	k = (void *)ring_next(&ring);
	ktap_result(k && k->h.type == PERF_RECORD_KSYMBOL && k->addr &&
		    k->len == info.jited_prog_len && k->type == PERF_RECORD_KSYMBOL_TYPE_BPF &&
		    !k->flags, "KSYMBOL: address, length, type");
	ktap_result(k && !strcmp(k->name, name) && padded(body_size(&k->h), 16, name),
		    "KSYMBOL: name %s", k ? k->name : "");
	addr = k ? k->addr : 0;
	b = (void *)ring_next(&ring);
	ktap_result(b && b->h.type == PERF_RECORD_BPF_EVENT && body_size(&b->h) == 16 &&
		    b->type == PERF_BPF_EVENT_PROG_LOAD && !b->flags && b->id == info.id &&
		    !memcmp(b->tag, info.tag, 8), "BPF_EVENT: load");
	ktap_result(!ring_next(&ring), "BPF_EVENT: nothing else");
	stop_listening(&ring);

	/* Unloading may be done by a worker of this CPU. */
	listen_to(&ring, &attr, -1, 0);
	close(fd);
	for (int i = 0; i < 100; i++)
		nap();
	k = (void *)ring_find(&ring, PERF_RECORD_KSYMBOL);
	if (!k) {
		ktap_skip("KSYMBOL: unload", "it was done on another CPU");
	} else {
		ktap_result(k->addr == addr && k->flags == PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER,
			    "KSYMBOL: unload");
		b = (void *)ring_next(&ring);
		ktap_result(b && b->h.type == PERF_RECORD_BPF_EVENT &&
			    b->type == PERF_BPF_EVENT_PROG_UNLOAD, "BPF_EVENT: unload");
	}
	stop_listening(&ring);
}

/* -------------------------------------------------------------------- CGROUP */

static void test_cgroup(void)
{
	static const char root[] = "/tmp/sideband-cgroup";
	struct perf_event_attr attr = listener();
	struct {
		struct perf_event_header h;
		uint64_t	id;
		char		path[];
	} *r;
	char path[64];
	struct stat st;

	mkdir("/tmp", 0755);
	mkdir(root, 0755);
	if (mount("none", root, "cgroup2", 0, NULL)) {
		ktap_skip("CGROUP", "no cgroup2");
		return;
	}
	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", root);
	write_line(path, "+pids");
	attr.cgroup = attr.comm = 1;
	listen_to(&ring, &attr, 0, -1);
	snprintf(path, sizeof(path), "%s/sideband", root);
	if (mkdir(path, 0755) || stat(path, &st))
		ktap_bail_out("mkdir %s", path);
	r = (void *)ring_find(&ring, PERF_RECORD_CGROUP);
	ktap_result(r && r->id == st.st_ino && !strcmp(r->path, "/sideband") &&
		    body_size(&r->h) == 8 + 16, "CGROUP: id and path");
	rmdir(path);
	stop_listening(&ring);
	umount(root);
	rmdir(root);
}

/* ------------------------------------------------- TEXT_POKE, KSYMBOL of other text */

#ifdef __x86_64__
struct text_poke {
	struct perf_event_header h;
	uint64_t	addr;
	uint16_t	old_len, new_len;
	uint8_t		bytes[];
};

static uint64_t kernel_symbol(const char *name)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	uint64_t addr, found = 0;
	char line[256], symbol[128];

	while (file && !found && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx %*c %127s", &addr, symbol) == 2 && !strcmp(symbol, name))
			found = addr;
	}
	if (file)
		fclose(file);
	return found;
}

/* One instruction that changes: what a record leaves there is what the next one finds. */
struct poked {
	unsigned int	records;
	uint64_t	addr;
	uint16_t	len;
	uint8_t		first[16], last[16];
};

static bool follow_poke(struct poked *p, const struct text_poke *r)
{
	const uint8_t *old = r->bytes, *new = r->bytes + r->old_len;
	bool good = r->old_len == r->new_len && r->old_len && r->old_len <= sizeof(p->last) &&
		    memcmp(old, new, r->old_len);

	if (!good)
		return false;
	if (!p->records++) {
		p->addr = r->addr;
		p->len = r->old_len;
		memcpy(p->first, old, p->len);
	} else {
		good = r->addr == p->addr && r->old_len == p->len && !memcmp(p->last, old, p->len);
	}
	memcpy(p->last, new, p->len);
	return good;
}

static void test_text_poke(void)
{
	static const char function[] = "__x64_sys_getppid";
	struct perf_event_attr attr = listener();
	struct perf_event_attr probe = perf_attr(perf_pmu_type("kprobe"), 0);
	uint64_t addr = kernel_symbol(function);
	struct poked poked = { 0 };
	unsigned int n = 0, good = 0, follow = 0;
	struct text_poke *r;
	int fd;

	attr.text_poke = 1;
	listen_to(&ring, &attr, -1, 0);
	probe.config1 = (uintptr_t)function;
	for (int i = 0; i < 2; i++) {
		fd = perf_open(&probe, 0, -1, -1, 0);
		if (fd < 0) {
			ktap_skip("TEXT_POKE", "no kprobe");
			stop_listening(&ring);
			return;
		}
		close(fd);
	}
	while ((r = (void *)ring_find(&ring, PERF_RECORD_TEXT_POKE))) {
		size_t body = 12 + r->old_len + r->new_len;

		n++;
		good += r->h.misc == PERF_RECORD_MISC_KERNEL && r->addr >> 63 &&
			body_size(&r->h) == (body + 7) / 8 * 8 && r->old_len + r->new_len > 0;
		if (r->addr - addr < 16)
			follow += follow_poke(&poked, r);
	}
	ktap_result(n > 0, "TEXT_POKE: %u records of a kprobe that comes and goes", n);
	exactly(good, n, "TEXT_POKE: address, sizes");
	ktap_result(poked.records >= 4 && follow == poked.records &&
		    !memcmp(poked.first, poked.last, poked.len),
		    "TEXT_POKE: the function's %u bytes, there and back twice in %u records",
		    poked.len, poked.records);
	stop_listening(&ring);
}

/* Text that is made up as the kernel runs: what a tracer of functions jumps to. */
static void test_ksymbol_ool(void)
{
	struct perf_event_attr attr = listener(), tracer;
	struct ksymbol *k;
	uint64_t addr = 0;
	uint32_t len = 0;
	int id = tracepoint_id("ftrace/function"), fd;

	tracer = perf_attr(PERF_TYPE_TRACEPOINT, id);
	tracer.disabled = 1;
	attr.ksymbol = 1;
	pin_to_cpu(0);
	listen_to(&ring, &attr, -1, 0);
	fd = id < 0 ? -1 : perf_open(&tracer, 0, -1, -1, 0);
	if (fd < 0) {
		ktap_skip("KSYMBOL: OOL", "functions cannot be traced");
		stop_listening(&ring);
		return;
	}
	k = (void *)ring_find(&ring, PERF_RECORD_KSYMBOL);
	if (k) {
		addr = k->addr;
		len = k->len;
	}
	ktap_result(k && k->addr >> 63 && k->len && k->type == PERF_RECORD_KSYMBOL_TYPE_OOL &&
		    !k->flags && !strcmp(k->name, "ftrace_trampoline") &&
		    padded(body_size(&k->h), 16, k->name), "KSYMBOL: text of a function tracer");
	close(fd);
	k = (void *)ring_find(&ring, PERF_RECORD_KSYMBOL);
	ktap_result(k && k->addr == addr && k->len == len &&
		    k->type == PERF_RECORD_KSYMBOL_TYPE_OOL &&
		    k->flags == PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER &&
		    !strcmp(k->name, "ftrace_trampoline"), "KSYMBOL: it goes with the tracer");
	stop_listening(&ring);
}
#else
static void test_text_poke(void)
{
	ktap_skip("TEXT_POKE", "this architecture does not tell");
}

static void test_ksymbol_ool(void)
{
	ktap_skip("KSYMBOL: OOL", "this architecture's tracers have no text of their own");
}
#endif

/* -------------------------------------------------------- who does not listen */

static void test_deaf(void)
{
	struct perf_event_attr attr = listener();
	int status;
	pid_t child;

	/* Disabled; of another task; not asked for. */
	attr.comm = 1;
	attr.disabled = 1;
	listen_to(&ring, &attr, 0, -1);
	prctl(PR_SET_NAME, "deaf");
	ktap_result(!ring_next(&ring), "a disabled listener hears nothing");
	ioctl(ring.fd, PERF_EVENT_IOC_ENABLE, 0);
	child = fork();
	if (!child) {
		prctl(PR_SET_NAME, "other");
		_exit(0);
	}
	waitpid(child, &status, 0);
	ktap_result(!ring_find(&ring, PERF_RECORD_COMM),
		    "a listener without inherit does not hear of a child's name");
	stop_listening(&ring);

	attr.comm = 0;
	attr.ksymbol = 1;
	attr.disabled = 0;
	listen_to(&ring, &attr, 0, -1);
	prctl(PR_SET_NAME, "unwanted");
	ktap_result(!ring_next(&ring), "a listener for something else does not hear of names");
	stop_listening(&ring);
}

/* An event of a CPU hears of whoever runs there, and only there. */
static void test_cpu_listener(void)
{
	struct perf_event_attr attr = listener();
	struct comm *c;
	int status;
	pid_t child;

	attr.comm = 1;
	pin_to_cpu(0);
	listen_to(&ring, &attr, -1, 0);
	child = fork();
	if (!child) {
		prctl(PR_SET_NAME, "on-cpu-0");
		if (!pin_to_cpu(1))
			prctl(PR_SET_NAME, "on-cpu-1");
		_exit(0);
	}
	waitpid(child, &status, 0);
	while ((c = (void *)ring_find(&ring, PERF_RECORD_COMM)) && c->pid != (uint32_t)child)
		;
	ktap_result(c && !strcmp(c->name, "on-cpu-0") && trailer_of(&c->h)->cpu == 0,
		    "a listener of a CPU hears of another task there");
	while ((c = (void *)ring_find(&ring, PERF_RECORD_COMM)) && c->pid != (uint32_t)child)
		;
	ktap_result(!c, "a listener of a CPU does not hear of other CPUs");
	stop_listening(&ring);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "exit"))
		return 0;

	page = sysconf(_SC_PAGESIZE);
	ktap_start(0);
	test_comm();
	test_fork();
	test_fork_by_thread();
	test_exec_order();
	test_read_record();
	test_read_group_record();
	test_read_from_elsewhere();
	test_mmap();
	test_mmap_data();
	test_build_id();
	test_switch();
	test_switch_cpu();
	test_namespaces();
	test_namespaces_of_a_child();
	test_inherited_into_namespace();
	test_setns();
	test_bpf();
	test_cgroup();
	test_text_poke();
	test_ksymbol_ool();
	test_deaf();
	test_cpu_listener();
	return ktap_finish();
}
