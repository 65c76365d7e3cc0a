/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Records of a mapped ring buffer, and samples field by field. For tests that map one buffer for
 * each event and read it when the event has stopped.
 */
#ifndef PERF_TEST_RECORDS_H
#define PERF_TEST_RECORDS_H

#include "events.h"
#include "harness.h"

#include <stddef.h>

/* A mapped ring buffer and a copy of its next record. */
struct ring {
	int				fd;
	size_t				size;	/* of the data */
	struct perf_event_mmap_page	*page;
	char				*data;
	uint64_t			tail;
	char				record[65536] __aligned(8);
};

/* Maps @nr_pages pages of data, a power of two. False and errno on failure. */
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

/* The next record, which is valid until the next call; NULL if there is none. */
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

/* The next record of a type; records of other types are dropped. */
static inline struct perf_event_header *ring_find(struct ring *ring, uint32_t type)
{
	struct perf_event_header *h;

	do
		h = ring_next(ring);
	while (h && h->type != type);
	return h;
}

/* Drops all records; returns the number of those of this type. */
static inline unsigned int ring_count(struct ring *ring, uint32_t type)
{
	unsigned int n = 0;

	while (ring_find(ring, type))
		n++;
	return n;
}

/* With sample_id_all these fields follow those of a record that is not a sample. */
#define ID_TYPES	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |		\
			 PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

struct record_trailer {
	uint32_t	pid, tid;
	uint64_t	time, id, stream_id;
	uint32_t	cpu, reserved;
	uint64_t	identifier;
};

static inline const struct record_trailer *record_trailer(const struct perf_event_header *h)
{
	return (void *)((char *)h + h->size - sizeof(struct record_trailer));
}

/* Bytes of a record between its header and its trailer. */
static inline size_t record_body_size(const struct perf_event_header *h)
{
	return h->size - sizeof(*h) - sizeof(struct record_trailer);
}

/* The fields of a sample; pointers point into the record. */
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

/* The fields of one or two numbers; the macros need @s, @p and @type. */
#define SAMPLE_WORD(bit, field)							\
	do {									\
		if (type & PERF_SAMPLE_##bit)					\
			s->field = *p++;					\
	} while (0)
#define SAMPLE_PAIR(bit, one, two)						\
	do {									\
		if (type & PERF_SAMPLE_##bit) {					\
			s->one = ((uint32_t *)p)[0];				\
			s->two = ((uint32_t *)p)[1];				\
			p++;							\
		}								\
	} while (0)

/* The functions below take the position of their fields and return the position behind them. */
static inline uint64_t *sample_parse_head(struct sample *s, uint64_t *p, uint64_t type)
{
	SAMPLE_WORD(IDENTIFIER, identifier);
	SAMPLE_WORD(IP, ip);
	SAMPLE_PAIR(TID, pid, tid);
	SAMPLE_WORD(TIME, time);
	SAMPLE_WORD(ADDR, addr);
	SAMPLE_WORD(ID, id);
	SAMPLE_WORD(STREAM_ID, stream_id);
	SAMPLE_PAIR(CPU, cpu, reserved);
	SAMPLE_WORD(PERIOD, period);
	return p;
}

/* What has a number of elements: READ to BRANCH_STACK. */
static inline uint64_t *sample_parse_arrays(struct sample *s, uint64_t *p,
					    const struct perf_event_attr *attr)
{
	uint64_t type = attr->sample_type;

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
		/* Their number, where the newest is if that is requested, and the entries. */
		p += 1 + !!(attr->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX) + *p * 3;
	}
	return p;
}

/* User space's registers and stack. */
static inline uint64_t *sample_parse_user(struct sample *s, uint64_t *p,
					  const struct perf_event_attr *attr)
{
	uint64_t type = attr->sample_type;

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
	return p;
}

static inline uint64_t *sample_parse_tail(struct sample *s, uint64_t *p,
					  const struct perf_event_attr *attr)
{
	uint64_t type = attr->sample_type;

	if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
		s->weight = *p++;
	SAMPLE_WORD(DATA_SRC, data_src);
	SAMPLE_WORD(TRANSACTION, transaction);
	if (type & PERF_SAMPLE_REGS_INTR) {
		s->intr_abi = *p++;
		s->intr_regs = p;
		if (s->intr_abi)
			p += __builtin_popcountll(attr->sample_regs_intr);
	}
	SAMPLE_WORD(PHYS_ADDR, phys_addr);
	SAMPLE_WORD(CGROUP, cgroup);
	SAMPLE_WORD(DATA_PAGE_SIZE, data_page_size);
	SAMPLE_WORD(CODE_PAGE_SIZE, code_page_size);
	return p;
}

#undef SAMPLE_WORD
#undef SAMPLE_PAIR

/* Parses @h, a sample of an event with @attr. True if the fields end where the record ends. */
static inline bool sample_parse(struct sample *s, const struct perf_event_header *h,
				const struct perf_event_attr *attr)
{
	uint64_t *p = (uint64_t *)(h + 1);
	uint64_t *end = (uint64_t *)((char *)h + h->size);

	memset(s, 0, sizeof(*s));
	p = sample_parse_head(s, p, attr->sample_type);
	p = sample_parse_arrays(s, p, attr);
	p = sample_parse_user(s, p, attr);
	p = sample_parse_tail(s, p, attr);
	return p == end;
}

#endif /* PERF_TEST_RECORDS_H */
