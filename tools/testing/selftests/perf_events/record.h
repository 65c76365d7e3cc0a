/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reading records from a mapped buffer, and taking samples apart. Header only, for tests that map
 * one buffer for each event they look at and read when the event has stopped.
 */
#ifndef PERF_RECORD_H
#define PERF_RECORD_H

#include "perf_test.h"

#include <stddef.h>
#include <sys/mount.h>

/* A mapped buffer and a copy of its next record. */
struct ring {
	int				fd;
	size_t				size;	/* of the data */
	struct perf_event_mmap_page	*page;
	char				*data;
	uint64_t			tail;
	_Alignas(8) char		record[65536];
};

/* Maps 2^n pages of data. False and errno on failure. */
static inline bool ring_map(struct ring *ring, int fd, int nr_pages)
{
	long page = sysconf(_SC_PAGESIZE);

	memset(ring, 0, offsetof(struct ring, record));
	ring->fd = fd;
	ring->size = nr_pages * page;
	ring->page = mmap(NULL, page + ring->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring->page == MAP_FAILED)
		return false;
	ring->data = (char *)ring->page + page;
	return true;
}

static inline void ring_unmap(struct ring *ring)
{
	munmap(ring->page, ring->size + sysconf(_SC_PAGESIZE));
}

/* The next record, which stays until the next call; NULL if there is none. */
static inline struct perf_event_header *ring_next(struct ring *ring)
{
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	struct perf_event_header *h = (struct perf_event_header *)ring->record;
	size_t at, first;

	if (ring->tail == head)
		return NULL;
	at = ring->tail & (ring->size - 1);
	memcpy(h, ring->data + at, sizeof(*h));
	first = ring->size - at < h->size ? ring->size - at : h->size;
	memcpy(ring->record, ring->data + at, first);
	memcpy(ring->record + first, ring->data, h->size - first);
	ring->tail += h->size;
	__atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
	return h;
}

/* The next record of a type; others are dropped. */
static inline struct perf_event_header *ring_find(struct ring *ring, uint32_t type)
{
	struct perf_event_header *h;

	do
		h = ring_next(ring);
	while (h && h->type != type);
	return h;
}

/* Drops all that is there; how many records were of this type. */
static inline unsigned int ring_count(struct ring *ring, uint32_t type)
{
	unsigned int n = 0;

	while (ring_find(ring, type))
		n++;
	return n;
}

/* What stands behind the fields of a record that is no sample, with sample_id_all. */
#define ID_TYPES	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |		\
			 PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

struct trailer {
	uint32_t	pid, tid;
	uint64_t	time, id, stream_id;
	uint32_t	cpu, reserved;
	uint64_t	identifier;
};

static inline const struct trailer *trailer_of(const struct perf_event_header *h)
{
	return (void *)((char *)h + h->size - sizeof(struct trailer));
}

/* Bytes of the record without header and trailer. */
static inline size_t body_size(const struct perf_event_header *h)
{
	return h->size - sizeof(*h) - sizeof(struct trailer);
}

/* A sample taken apart; pointers go into the record. */
struct sample {
	uint64_t	identifier, ip, time, addr, id, stream_id, period;
	uint32_t	pid, tid, cpu, reserved;
	uint64_t	*read, *callchain, *branches;
	uint32_t	raw_size;
	char		*raw;
	uint64_t	user_abi, *user_regs, stack_size, stack_got;
	char		*stack;
	uint64_t	weight, data_src, transaction;
	uint64_t	intr_abi, *intr_regs, phys_addr, cgroup, data_page_size, code_page_size;
};

static inline uint64_t *sample_read_end(uint64_t *p, uint64_t format)
{
	int head = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
		   !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	int each = 1 + !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST);

	return p + head + (format & PERF_FORMAT_GROUP ? 1 + *p * each : (uint64_t)each);
}

/* Takes @h apart as @attr says. True if the fields end where the record does. */
static inline bool sample_parse(struct sample *s, const struct perf_event_header *h,
				const struct perf_event_attr *attr)
{
	uint64_t type = attr->sample_type, *p = (uint64_t *)(h + 1);
	uint64_t *end = (uint64_t *)((char *)h + h->size);

	memset(s, 0, sizeof(*s));
#define WORD(bit, field)	do { if (type & PERF_SAMPLE_##bit) s->field = *p++; } while (0)
#define PAIR(bit, one, two)							\
	do {									\
		if (type & PERF_SAMPLE_##bit) {					\
			s->one = ((uint32_t *)p)[0];				\
			s->two = ((uint32_t *)p)[1];				\
			p++;							\
		}								\
	} while (0)
	WORD(IDENTIFIER, identifier);
	WORD(IP, ip);
	PAIR(TID, pid, tid);
	WORD(TIME, time);
	WORD(ADDR, addr);
	WORD(ID, id);
	WORD(STREAM_ID, stream_id);
	PAIR(CPU, cpu, reserved);
	WORD(PERIOD, period);
	if (type & PERF_SAMPLE_READ) {
		s->read = p;
		p = sample_read_end(p, attr->read_format);
	}
	if (type & PERF_SAMPLE_CALLCHAIN) {
		s->callchain = p;
		p += 1 + *p;
	}
	if (type & PERF_SAMPLE_RAW) {
		s->raw_size = *(uint32_t *)p;
		s->raw = (char *)p + 4;
		p = (uint64_t *)(s->raw + s->raw_size);
	}
	if (type & PERF_SAMPLE_BRANCH_STACK) {
		s->branches = p;
		p += 1 + *p * 3;
	}
	if (type & PERF_SAMPLE_REGS_USER) {
		s->user_abi = *p++;
		s->user_regs = p;
		if (s->user_abi)
			p += __builtin_popcountll(attr->sample_regs_user);
	}
	if (type & PERF_SAMPLE_STACK_USER) {
		s->stack_size = *p++;
		s->stack = (char *)p;
		p += s->stack_size / 8;
		if (s->stack_size)
			s->stack_got = *p++;
	}
	if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
		s->weight = *p++;
	WORD(DATA_SRC, data_src);
	WORD(TRANSACTION, transaction);
	if (type & PERF_SAMPLE_REGS_INTR) {
		s->intr_abi = *p++;
		s->intr_regs = p;
		if (s->intr_abi)
			p += __builtin_popcountll(attr->sample_regs_intr);
	}
	WORD(PHYS_ADDR, phys_addr);
	WORD(CGROUP, cgroup);
	WORD(DATA_PAGE_SIZE, data_page_size);
	WORD(CODE_PAGE_SIZE, code_page_size);
#undef WORD
#undef PAIR
	return p == end;
}

/* Fresh memory: each page's first touch is one fault. */
static inline char *fresh_pages(unsigned int nr)
{
	long page = sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, nr * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		ktap_bail_out("mmap of %u pages", nr);
	madvise(p, nr * page, MADV_NOHUGEPAGE);
	return p;
}

/* Touches each of the pages: @nr faults in user mode, at p, p + page, ... */
__attribute__((noinline, unused))
static void touch_pages(char *p, unsigned int nr)
{
	long page = sysconf(_SC_PAGESIZE);

	for (unsigned int i = 0; i < nr; i++)
		*(volatile char *)(p + i * page) = 1;
}

/* Is this address in the code of touch_pages()? Its size is known to be less than that. */
static inline bool in_touch_pages(uint64_t ip)
{
	return ip >= (uintptr_t)touch_pages && ip < (uintptr_t)touch_pages + 256;
}

/* The number of a trace event; mounts tracefs if need be. -1: it is not there. */
static inline int tracepoint_id(const char *name)
{
	char path[160], line[32];

	if (access("/sys/kernel/tracing/events", F_OK))
		mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL);
	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/id", name);
	return read_line(path, line, sizeof(line)) > 0 ? atoi(line) : -1;
}

#endif /* PERF_RECORD_H */
