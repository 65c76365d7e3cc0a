// SPDX-License-Identifier: GPL-2.0
/*
 * AUX areas: the hardware writes its trace to them without records.
 *
 * The area is mapped with the event that fills it, behind the buffer that gets its records; the
 * place and the size are first written to the buffer's first page. aux_head is read with acquire
 * semantics before the bytes, aux_tail is written with release semantics after: perf_event_open(2).
 */
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "names.h"

/* Bytes of an area without an option; what is beyond the second needs a right to lock memory. */
#define AUX_BYTES	(4 << 20)
#define AUX_BYTES_USER	(128 << 10)

unsigned int tally_aux_pages(unsigned int pages)
{
	if (pages)
		return pages;
	return (geteuid() ? AUX_BYTES_USER : AUX_BYTES) / sysconf(_SC_PAGESIZE);
}

void tally_aux_watermark(struct tally_events *events, unsigned int pages)
{
	size_t size = tally_aux_pages(pages) * sysconf(_SC_PAGESIZE);

	for (int i = 0; i < events->n; i++) {
		if (events->event[i].aux)
			events->event[i].attr.aux_watermark = size / TALLY_WATERMARK_PART;
	}
}

static int aux_map(struct tally_ring *ring, int fd, size_t size)
{
	size_t offset = ring->size + sysconf(_SC_PAGESIZE);
	void *area;

	ring->page->aux_offset = offset;
	ring->page->aux_size = size;
	area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
	if (area == MAP_FAILED)
		return -errno;
	ring->aux = area;
	ring->aux_size = size;
	ring->aux_fd = fd;
	return 0;
}

int tally_aux_map(struct tally_rings *rings, const struct tally_opened *session,
		  unsigned int pages, struct tally_error *err)
{
	size_t size = tally_aux_pages(pages) * sysconf(_SC_PAGESIZE);

	if (pages & (pages - 1))
		return tally_fail(err, EINVAL, "%u pages: a power of two is needed", pages);
	for (int event = 0; event < session->events->n; event++) {
		const struct tally_counter *one = &session->events->event[event];

		for (int place = 0; one->aux && place < session->nr_places; place++) {
			int fd = session->fds[(size_t)event * session->nr_places + place], ret;
			struct tally_ring *ring = tally_ring_of(rings, session, place, false);

			if (fd < 0 || !ring || ring->aux)
				continue;
			ret = aux_map(ring, fd, size);
			if (ret)
				return tally_explain_mmap(err, -ret, one->name);
		}
	}
	return 0;
}

void tally_aux_unmap(struct tally_ring *ring)
{
	if (ring->aux)
		munmap(ring->aux, ring->aux_size);
	ring->aux = NULL;
}

/*
 * Takes what the area has. The kernel disables an event when its area is full; the event is
 * enabled again when there is room.
 */
uint64_t tally_aux_take(struct tally_pump *pump, const struct tally_ring *ring)
{
	uint64_t head = __atomic_load_n(&ring->page->aux_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->aux_tail, size = head - tail;
	size_t at = tail & (ring->aux_size - 1);
	struct tally_piece piece = { .head = ring->aux + at, .tail = ring->aux };

	if (!size)
		return 0;
	piece.head_size = ring->aux_size - at < size ? ring->aux_size - at : size;
	piece.tail_size = size - piece.head_size;
	pump->take_aux(pump->arg, ring, &piece, tail);
	__atomic_store_n(&ring->page->aux_tail, head, __ATOMIC_RELEASE);
	if (pump->enable_aux)
		ioctl(ring->aux_fd, PERF_EVENT_IOC_ENABLE, 0);
	return size;
}
