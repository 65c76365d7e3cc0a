/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For tests of the ring buffer: page faults fill it, one record each. A program touches a known
 * number of fresh pages, so that the number of records and the address in each are known.
 */
#ifndef PERF_TEST_FAULT_RING_H
#define PERF_TEST_FAULT_RING_H

#include "expect.h"
#include "workloads.h"

#include <poll.h>

#define PAGES_MAX	4096	/* fresh pages at a time */

static long page;
static char *fresh;

/* Accesses @n pages that are not mapped, one page fault each. */
static void touch_fresh(unsigned int n)
{
	madvise(fresh, PAGES_MAX * page, MADV_DONTNEED);
	for (unsigned int i = 0; i < n; i++)
		*(volatile char *)(fresh + i * page) = 1;
}

/**
 * struct fault_ring - a mapped event
 * @fd: the event
 * @user: user page
 * @data: first byte of the data
 * @size: size of @data in bytes
 * @lost_size: size of a LOST record in bytes
 * @samples: number of samples read
 * @others: number of records read that are neither samples nor LOST
 * @lost: sum of the LOST records
 * @next: expected address of the next sample; 0 if samples have no address
 * @gaps: number of addresses that are missing
 * @wrong: number of records that are not as expected
 */
struct fault_ring {
	int				fd;
	struct perf_event_mmap_page	*user;
	char				*data;
	uint64_t			size;
	unsigned int			lost_size;
	uint64_t			samples, others, lost;
	uintptr_t			next;
	uint64_t			gaps;
	unsigned int			wrong;
};

static struct perf_event_attr fault_attr(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);

	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_ADDR;	/* 16 bytes with the header */
	attr.read_format = PERF_FORMAT_LOST;
	attr.exclude_kernel = 1;
	attr.disabled = 1;
	return attr;
}

static struct fault_ring fault_ring_of(int fd, unsigned int pages, int prot)
{
	struct fault_ring ring = { .fd = fd, .size = pages * page, .lost_size = 24 };

	if (fd < 0)
		fail_case("perf_event_open");
	ring.user = mmap(NULL, (1 + pages) * page, prot, MAP_SHARED, fd, 0);
	if (ring.user == MAP_FAILED)
		fail_case("mmap of a ring buffer");
	ring.data = (char *)ring.user + page;
	/* Maps the pages, so that a later access is no page fault among those counted. */
	for (unsigned int i = 0; i <= pages; i++)
		*(volatile char *)((char *)ring.user + i * page);
	if (prot & PROT_WRITE)
		ring.user->data_tail = 0;
	return ring;
}

static struct fault_ring fault_ring_open(struct perf_event_attr attr, unsigned int pages, int prot)
{
	return fault_ring_of(perf_open(&attr, 0, -1, -1, 0), pages, prot);
}

static void fault_ring_close(struct fault_ring *ring)
{
	munmap(ring->user, page + ring->size);
	close(ring->fd);
}

static void fault_ring_enable(const struct fault_ring *ring)
{
	ioctl(ring->fd, PERF_EVENT_IOC_ENABLE, 0);
}

static void fault_ring_disable(const struct fault_ring *ring)
{
	ioctl(ring->fd, PERF_EVENT_IOC_DISABLE, 0);
}

static uint64_t ring_word(const struct fault_ring *ring, uint64_t pos)
{
	return *(volatile uint64_t *)(ring->data + (pos & (ring->size - 1)));
}

/* Counts the record at @pos. Returns its size, 0 if there is none. */
static unsigned int take_record(struct fault_ring *ring, uint64_t pos)
{
	union { uint64_t word; struct perf_event_header header; } u = { ring_word(ring, pos) };

	switch (u.header.type) {
	case PERF_RECORD_SAMPLE:
		ring->samples++;
		if (ring->next) {
			uintptr_t addr = ring_word(ring, pos + 8) & -page;

			ring->wrong += addr < ring->next;
			ring->gaps += (addr - ring->next) / page;
			ring->next = addr + page;
		}
		break;
	case PERF_RECORD_LOST:
		ring->wrong += u.header.size != ring->lost_size;
		ring->lost += ring_word(ring, pos + 16);
		break;
	default:
		ring->others++;
	}
	ring->wrong += u.header.size < 8 || u.header.size % 8;
	return u.header.size;
}

/* Reads all records. Returns the number of samples among them. */
static uint64_t drain_ring(struct fault_ring *ring)
{
	uint64_t head = __atomic_load_n(&ring->user->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->user->data_tail, before = ring->samples;

	ring->wrong += head - tail > ring->size;
	while (tail != head && !ring->wrong)
		tail += take_record(ring, tail);
	__atomic_store_n(&ring->user->data_tail, head, __ATOMIC_RELEASE);
	return ring->samples - before;
}

/* The count, and the losses that the event itself has counted. */
static void read_totals(const struct fault_ring *ring, uint64_t *count, uint64_t *lost)
{
	uint64_t value[2] = { UINT64_MAX, UINT64_MAX };

	if (read(ring->fd, value, sizeof(value)) != sizeof(value))
		ktap_note("read: %s", strerror(errno));
	*count = value[0];
	*lost = value[1];
}

static int poll_events(int fd, int timeout)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, timeout) == 1 ? p.revents : 0;
}

/* Fresh pages of its own for each case. */
static void fault_ring_setup(void)
{
	page = sysconf(_SC_PAGESIZE);
	fresh = fresh_pages(PAGES_MAX);
}

#endif /* PERF_TEST_FAULT_RING_H */
