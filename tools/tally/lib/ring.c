// SPDX-License-Identifier: GPL-2.0
/*
 * Buffers: mapping, and emptying by one thread for each NUMA node.
 *
 * data_head is read with acquire semantics before the records, data_tail is written with release
 * semantics after: perf_event_open(2).
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "names.h"

/* The default without a sysctl to read. */
#define RING_PAGES	128

/* What may be locked for a CPU is shared by @buffers of them. */
static unsigned int default_pages(unsigned int buffers)
{
	char text[32];
	unsigned int pages = RING_PAGES, limit;

	if (tally_file_text("/proc/sys/kernel/perf_event_mlock_kb", text, sizeof(text)) <= 0)
		return pages;
	limit = strtoul(text, NULL, 10) / (sysconf(_SC_PAGESIZE) / 1024);
	while (pages > 1 && (pages + 1) * buffers > limit)
		pages /= 2;
	return pages;
}

/* Kinds of buffers: events that overwrite have their own. */
static unsigned int count_kinds(const struct tally_events *events)
{
	bool kind[2] = { false, false };

	for (int i = 0; i < events->n; i++)
		kind[events->event[i].attr.write_backward] = true;
	return kind[0] + kind[1];
}

struct tally_ring *tally_ring_of(struct tally_rings *rings, const struct tally_opened *session,
				 int place, bool overwrite)
{
	const struct tally_place *where = &session->places[place];

	for (int i = 0; i < rings->n; i++) {
		const struct tally_place *other = &session->places[rings->ring[i].place];

		if (rings->ring[i].overwrite == overwrite && where->cpu == other->cpu &&
		    (where->cpu >= 0 || where->pid == other->pid))
			return &rings->ring[i];
	}
	return NULL;
}

/* A buffer that is mapped for reading alone is overwritten: perf_event_open(2). */
static int map_ring(struct tally_rings *rings, const struct tally_opened *session, int place,
		    int fd, bool overwrite)
{
	int prot = PROT_READ | (overwrite ? 0 : PROT_WRITE);
	struct tally_ring *ring = &rings->ring[rings->n];
	size_t page = sysconf(_SC_PAGESIZE), size = rings->pages * page;
	void *base = mmap(NULL, size + page, prot, MAP_SHARED, fd, 0);

	if (base == MAP_FAILED)
		return -errno;
	*ring = (struct tally_ring) {
		.page = base,
		.data = (uint8_t *)base + page,
		.size = size,
		.fd = fd,
		.cpu = session->places[place].cpu,
		.place = place,
		.overwrite = overwrite,
	};
	rings->n++;
	return 0;
}

static int map_place(struct tally_rings *rings, const struct tally_opened *session, int place,
		     struct tally_error *err)
{
	for (int event = 0; event < session->events->n; event++) {
		int fd = session->fds[(size_t)event * session->nr_places + place], ret;
		bool overwrite = session->events->event[event].attr.write_backward;
		struct tally_ring *ring = tally_ring_of(rings, session, place, overwrite);
		const char *name = session->events->event[event].name;

		if (fd < 0)
			continue;
		if (ring) {
			if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd))
				return tally_explain(err, errno, name);
			continue;
		}
		ret = map_ring(rings, session, place, fd, overwrite);
		if (ret)
			return tally_explain_mmap(err, -ret, name);
	}
	return 0;
}

unsigned int tally_rings_pages(const struct tally_events *events, unsigned int pages)
{
	return pages ? pages : default_pages(count_kinds(events));
}

void tally_rings_watermark(struct tally_events *events, unsigned int pages)
{
	size_t size = tally_rings_pages(events, pages) * sysconf(_SC_PAGESIZE);

	for (int i = 0; i < events->n; i++) {
		events->event[i].attr.watermark = 1;
		events->event[i].attr.wakeup_watermark = size / TALLY_WATERMARK_PART;
	}
}

int tally_rings_map(struct tally_rings *rings, const struct tally_opened *session,
		    unsigned int pages, struct tally_error *err)
{
	unsigned int kinds;
	int ret = 0;

	if (pages & (pages - 1))
		return tally_fail(err, EINVAL, "%u pages: a power of two is needed", pages);
	kinds = count_kinds(session->events);
	rings->pages = pages ? pages : default_pages(kinds);
	rings->n = 0;
	rings->ring = calloc((size_t)session->nr_places * kinds, sizeof(*rings->ring));
	if (!rings->ring)
		return tally_fail(err, ENOMEM, "out of memory");
	for (int place = 0; place < session->nr_places && !ret; place++)
		ret = map_place(rings, session, place, err);
	if (ret)
		tally_rings_unmap(rings);
	return ret;
}

void tally_rings_unmap(struct tally_rings *rings)
{
	for (int i = 0; i < rings->n; i++) {
		tally_aux_unmap(&rings->ring[i]);
		munmap(rings->ring[i].page, rings->ring[i].size + sysconf(_SC_PAGESIZE));
	}
	free(rings->ring);
	rings->ring = NULL;
	rings->n = 0;
}

void tally_piece_copy(const struct tally_piece *piece, size_t at, void *to, size_t size)
{
	size_t first = 0;

	if (at < piece->head_size) {
		first = piece->head_size - at < size ? piece->head_size - at : size;
		memcpy(to, piece->head + at, first);
		at = piece->head_size;
	}
	if (first < size)
		memcpy((uint8_t *)to + first, piece->tail + (at - piece->head_size), size - first);
}

static uint64_t empty_ring(struct tally_pump *pump, struct tally_ring *ring)
{
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail, size = head - tail;
	struct tally_piece piece = { .head = ring->data + (tail & (ring->size - 1)) };

	if (!size)
		return 0;
	piece.head_size = ring->size - (tail & (ring->size - 1));
	if (piece.head_size > size)
		piece.head_size = size;
	piece.tail = ring->data;
	piece.tail_size = size - piece.head_size;
	pump->take(pump->arg, ring, &piece);
	__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
	return size;
}

/*
 * Bytes of whole records from the newest on, with positions that fall as records are written. The
 * space behind the oldest record is zero until the buffer is full for the first time.
 */
static size_t overwritten_size(const struct tally_ring *ring, uint64_t head)
{
	const struct perf_event_header *header;
	size_t size = 0;

	while (size + sizeof(*header) <= ring->size) {
		header = (const void *)(ring->data + ((head + size) & (ring->size - 1)));
		if (header->size < sizeof(*header) || header->size > ring->size - size)
			break;
		size += header->size;
	}
	return size;
}

static uint64_t take_overwritten(struct tally_pump *pump, struct tally_ring *ring)
{
	struct tally_piece piece = { .tail = ring->data };
	uint64_t head, size;

	ioctl(ring->fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1);
	head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	size = overwritten_size(ring, head);
	if (!size)
		return 0;
	piece.head = ring->data + (head & (ring->size - 1));
	piece.head_size = ring->size - (head & (ring->size - 1));
	if (piece.head_size > size)
		piece.head_size = size;
	piece.tail_size = size - piece.head_size;
	pump->take(pump->arg, ring, &piece);
	return size;
}

static uint64_t empty_rings_of(struct tally_pump *pump, int thread)
{
	uint64_t bytes = 0;

	for (int i = 0; i < pump->rings->n; i++) {
		struct tally_ring *ring = &pump->rings->ring[i];

		if (ring->thread != thread || ring->overwrite)
			continue;
		bytes += empty_ring(pump, ring);
		if (ring->aux)
			bytes += tally_aux_take(pump, ring);
	}
	return bytes;
}

/**
 * struct tally_pump_threads - state of the threads of a pump
 * @lock: protects the members below
 * @begin: a pass begins, or the threads are to end
 * @done: the last thread has ended its part of a pass
 * @pass: number of passes that have begun
 * @busy: threads that have not ended their part
 * @bytes: bytes of this pass
 * @stop: the threads are to end
 * @worker: the threads
 */
struct tally_pump_threads {
	pthread_mutex_t lock;
	pthread_cond_t begin;
	pthread_cond_t done;
	uint64_t pass;
	int busy;
	uint64_t bytes;
	bool stop;
	struct pump_worker {
		struct tally_pump *pump;
		pthread_t thread;
		int number;
	} worker[];
};

/* Runs the thread on the CPUs of its node, so that it reads memory of the node. */
static void bind_to_node(int node)
{
	char path[64], text[4096];
	cpu_set_t set;
	int *cpus, n;

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpulist", node);
	if (tally_file_text(path, text, sizeof(text)) <= 0)
		return;
	n = tally_cpu_list(text, &cpus, NULL);
	CPU_ZERO(&set);
	for (int i = 0; i < n; i++) {
		if (cpus[i] < CPU_SETSIZE)
			CPU_SET(cpus[i], &set);
	}
	if (n > 0) {
		sched_setaffinity(0, sizeof(set), &set);
		free(cpus);
	}
}

static void *run_worker(void *arg)
{
	struct pump_worker *worker = arg;
	struct tally_pump_threads *threads = worker->pump->threads;
	uint64_t seen = 0;

	bind_to_node(worker->number);
	pthread_mutex_lock(&threads->lock);
	for (;;) {
		uint64_t bytes;

		while (threads->pass == seen && !threads->stop)
			pthread_cond_wait(&threads->begin, &threads->lock);
		if (threads->stop)
			break;
		seen = threads->pass;
		pthread_mutex_unlock(&threads->lock);
		bytes = empty_rings_of(worker->pump, worker->number);
		pthread_mutex_lock(&threads->lock);
		threads->bytes += bytes;
		if (!--threads->busy)
			pthread_cond_signal(&threads->done);
	}
	pthread_mutex_unlock(&threads->lock);
	return NULL;
}

static int count_nodes(void)
{
	char path[64];
	int node = 0;

	for (;; node++) {
		snprintf(path, sizeof(path), "/sys/devices/system/node/node%d", node);
		if (access(path, F_OK))
			return node ? node : 1;
	}
}

static void assign_rings(struct tally_pump *pump)
{
	char name[32];

	for (int i = 0; i < pump->rings->n; i++) {
		struct tally_ring *ring = &pump->rings->ring[i];

		ring->thread = ring->cpu < 0 || pump->nr_threads == 1 ? i :
			(int)tally_part_of(ring->cpu, TALLY_LEVEL_NODE, name, sizeof(name));
		ring->thread %= pump->nr_threads;
	}
}

int tally_pump_start(struct tally_pump *pump, int nr_threads, struct tally_error *err)
{
	struct tally_pump_threads *threads;
	int wanted = nr_threads ? nr_threads : count_nodes();

	pump->nr_threads = wanted;
	pump->threads = NULL;
	assign_rings(pump);
	/* Requested threads share the buffers evenly, whatever the nodes. */
	for (int i = 0; nr_threads && i < pump->rings->n; i++)
		pump->rings->ring[i].thread = i % nr_threads;
	if (wanted == 1)
		return 0;
	threads = calloc(1, sizeof(*threads) + wanted * sizeof(*threads->worker));
	if (!threads)
		return tally_fail(err, ENOMEM, "out of memory");
	pthread_mutex_init(&threads->lock, NULL);
	pthread_cond_init(&threads->begin, NULL);
	pthread_cond_init(&threads->done, NULL);
	pump->threads = threads;
	for (int i = 0; i < wanted; i++) {
		threads->worker[i].pump = pump;
		threads->worker[i].number = i;
		if (!pthread_create(&threads->worker[i].thread, NULL, run_worker,
				    &threads->worker[i]))
			continue;
		pump->nr_threads = i;
		tally_pump_stop(pump);
		return tally_fail(err, EAGAIN, "no thread for reading");
	}
	return 0;
}

uint64_t tally_pump_pass(struct tally_pump *pump)
{
	struct tally_pump_threads *threads = pump->threads;
	uint64_t bytes;

	if (!threads)
		return empty_rings_of(pump, 0);
	pthread_mutex_lock(&threads->lock);
	threads->pass++;
	threads->busy = pump->nr_threads;
	threads->bytes = 0;
	pthread_cond_broadcast(&threads->begin);
	while (threads->busy)
		pthread_cond_wait(&threads->done, &threads->lock);
	bytes = threads->bytes;
	pthread_mutex_unlock(&threads->lock);
	return bytes;
}

uint64_t tally_pump_last(struct tally_pump *pump)
{
	uint64_t bytes = 0;

	for (int i = 0; i < pump->rings->n; i++) {
		if (pump->rings->ring[i].overwrite)
			bytes += take_overwritten(pump, &pump->rings->ring[i]);
	}
	return bytes;
}

void tally_pump_stop(struct tally_pump *pump)
{
	struct tally_pump_threads *threads = pump->threads;

	if (!threads)
		return;
	pthread_mutex_lock(&threads->lock);
	threads->stop = true;
	pthread_cond_broadcast(&threads->begin);
	pthread_mutex_unlock(&threads->lock);
	for (int i = 0; i < pump->nr_threads; i++)
		pthread_join(threads->worker[i].thread, NULL);
	free(threads);
	pump->threads = NULL;
}
