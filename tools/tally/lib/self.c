// SPDX-License-Identifier: GPL-2.0
/*
 * Programs that measure themselves: a counter's register is read without a system call, by the
 * protocol of struct perf_event_mmap_page (include/uapi/linux/perf_event.h). The page's lock
 * changes whenever the kernel has moved the event or has updated its times; the thread then reads
 * again.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "names.h"

#if defined(__x86_64__)
static bool can_read_register(uint32_t counter)
{
	(void)counter;
	return true;
}

static uint64_t read_register(uint32_t counter)
{
	uint32_t low, high;

	asm volatile("rdpmc" : "=a" (low), "=d" (high) : "c" (counter));
	return (uint64_t)high << 32 | low;
}

static uint64_t read_cycles(void)
{
	uint32_t low, high;

	asm volatile("rdtsc" : "=a" (low), "=d" (high));
	return (uint64_t)high << 32 | low;
}
#elif defined(__aarch64__)
/* Number of the cycle counter, PMCCNTR_EL0, in PMCNTENSET_EL0 and in the page (Arm ARM, D19.5). */
#define CYCLE_COUNTER	31

#define EVENT_COUNTER(n)							\
	static uint64_t read_counter_##n(void)					\
	{									\
		uint64_t value;							\
										\
		asm volatile("mrs %0, pmevcntr" #n "_el0" : "=r" (value));	\
		return value;							\
	}

EVENT_COUNTER(0)
EVENT_COUNTER(1)
EVENT_COUNTER(2)
EVENT_COUNTER(3)
EVENT_COUNTER(4)
EVENT_COUNTER(5)
EVENT_COUNTER(6)
EVENT_COUNTER(7)
EVENT_COUNTER(8)
EVENT_COUNTER(9)
EVENT_COUNTER(10)
EVENT_COUNTER(11)
EVENT_COUNTER(12)
EVENT_COUNTER(13)
EVENT_COUNTER(14)
EVENT_COUNTER(15)
EVENT_COUNTER(16)
EVENT_COUNTER(17)
EVENT_COUNTER(18)
EVENT_COUNTER(19)
EVENT_COUNTER(20)
EVENT_COUNTER(21)
EVENT_COUNTER(22)
EVENT_COUNTER(23)
EVENT_COUNTER(24)
EVENT_COUNTER(25)
EVENT_COUNTER(26)
EVENT_COUNTER(27)
EVENT_COUNTER(28)
EVENT_COUNTER(29)
EVENT_COUNTER(30)

static uint64_t read_cycle_counter(void)
{
	uint64_t value;

	asm volatile("mrs %0, pmccntr_el0" : "=r" (value));
	return value;
}

static uint64_t (* const counter_registers[])(void) = {
	read_counter_0, read_counter_1, read_counter_2, read_counter_3,
	read_counter_4, read_counter_5, read_counter_6, read_counter_7,
	read_counter_8, read_counter_9, read_counter_10, read_counter_11,
	read_counter_12, read_counter_13, read_counter_14, read_counter_15,
	read_counter_16, read_counter_17, read_counter_18, read_counter_19,
	read_counter_20, read_counter_21, read_counter_22, read_counter_23,
	read_counter_24, read_counter_25, read_counter_26, read_counter_27,
	read_counter_28, read_counter_29, read_counter_30,
	[CYCLE_COUNTER] = read_cycle_counter,
};

static bool can_read_register(uint32_t counter)
{
	return counter < ARRAY_SIZE(counter_registers);
}

static uint64_t read_register(uint32_t counter)
{
	asm volatile("isb" : : : "memory");
	return counter_registers[counter]();
}

static uint64_t read_cycles(void)
{
	uint64_t value;

	asm volatile("isb; mrs %0, cntvct_el0" : "=r" (value) : : "memory");
	return value;
}
#else
static bool can_read_register(uint32_t counter)
{
	(void)counter;
	return false;
}

static uint64_t read_register(uint32_t counter)
{
	(void)counter;
	return 0;
}

static uint64_t read_cycles(void)
{
	return 0;
}
#endif

/* Nanoseconds from the last update of the page's times to @cycles. */
static uint64_t time_since_update(const struct perf_event_mmap_page *page, uint64_t cycles)
{
	uint64_t whole, rest;

	if (page->cap_user_time_short)
		cycles = page->time_cycles + ((cycles - page->time_cycles) & page->time_mask);
	whole = cycles >> page->time_shift;
	rest = cycles & ((1ull << page->time_shift) - 1);
	return page->time_offset + whole * page->time_mult +
		((rest * page->time_mult) >> page->time_shift);
}

/* The register's value, of pmc_width bits, continues the page's offset with its sign. */
static uint64_t extend_sign(uint64_t value, uint16_t width)
{
	unsigned int shift = 64 - width;

	return (uint64_t)((int64_t)(value << shift) >> shift);
}

/*
 * One try by the page; false if it does not allow it. An event that is on no counter, and one that
 * user space may not read, has the index 0.
 */
static bool read_page(const struct perf_event_mmap_page *page, bool times,
		      struct tally_count *count)
{
	uint32_t sequence, index;

	do {
		sequence = __atomic_load_n(&page->lock, __ATOMIC_ACQUIRE);
		index = page->index;
		if (!page->cap_user_rdpmc || !index || !can_read_register(index - 1) ||
		    (times && !page->cap_user_time))
			return false;
		count->value = page->offset +
			extend_sign(read_register(index - 1), page->pmc_width);
		count->enabled = page->time_enabled;
		count->running = page->time_running;
		if (times) {
			uint64_t passed = time_since_update(page, read_cycles());

			count->enabled += passed;
			count->running += passed;
		}
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (__atomic_load_n(&page->lock, __ATOMIC_RELAXED) != sequence);
	return true;
}

static int read_count(const struct tally_self *self, bool times, struct tally_count *count)
{
	uint64_t words[3];
	ssize_t n;

	if (self->page && read_page(self->page, times, count))
		return 1;
	n = read(self->fd, words, sizeof(words));
	if (n != sizeof(words))
		return n < 0 ? -errno : -ENODATA;
	*count = (struct tally_count) { words[0], words[1], words[2] };
	return 0;
}

int tally_read(const struct tally_self *self, uint64_t *value)
{
	struct tally_count count;
	int ret = read_count(self, false, &count);

	if (ret >= 0)
		*value = count.value;
	return ret;
}

int tally_read_times(const struct tally_self *self, struct tally_count *count)
{
	return read_count(self, true, count);
}

/* arm64 lets user space read counters of events that request it: format/rdpmc of the PMU. */
static bool ask_for_register(struct perf_event_attr *attr)
{
	struct tally_pmu_field field;
	struct tally_pmu *pmus;
	bool asked = false;

	if (attr->type == PERF_TYPE_SOFTWARE || tally_pmu_cores(&pmus) <= 0)
		return false;
	if (!tally_pmu_field(&pmus[0], "rdpmc", &field))
		asked = !tally_field_put(&field, attr, 1);
	free(pmus);
	return asked;
}

static int open_self_event(struct perf_event_attr *attr)
{
	struct perf_event_attr plain = *attr;
	int fd = -1;

	if (ask_for_register(attr))
		fd = syscall(SYS_perf_event_open, attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0) {
		*attr = plain;
		fd = syscall(SYS_perf_event_open, attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	}
	return fd < 0 ? -errno : fd;
}

int tally_self_open(struct tally_self *self, const char *name, struct tally_error *err)
{
	struct tally_events events = { 0 };
	struct tally_opened session = { 0 };
	struct tally_fallback fallback;
	int ret = tally_parse_events(&events, name, err);

	if (ret < 0)
		return ret;
	events.event[0].attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
		PERF_FORMAT_TOTAL_TIME_RUNNING;
	tally_fallback_begin(&session, &events.event[0], &fallback);
	do {
		self->fd = open_self_event(&events.event[0].attr);
	} while (self->fd < 0 &&
		 tally_fallback_next(&session, &events.event[0], -self->fd, &fallback));
	ret = self->fd < 0 ? tally_explain(err, -self->fd, name) : 0;
	tally_free_events(&events);
	if (ret)
		return ret;
	self->page_size = sysconf(_SC_PAGESIZE);
	self->page = mmap(NULL, self->page_size, PROT_READ, MAP_SHARED, self->fd, 0);
	if (self->page == MAP_FAILED)
		self->page = NULL;
	return 0;
}

void tally_self_close(struct tally_self *self)
{
	if (self->page)
		munmap(self->page, self->page_size);
	close(self->fd);
	self->page = NULL;
	self->fd = -1;
}
