/* SPDX-License-Identifier: GPL-2.0 */
/* What tests of several subjects need. */
#ifndef _KERNEL_EVENTS_TESTS_HELPERS_H
#define _KERNEL_EVENTS_TESTS_HELPERS_H

#include <kunit/test.h>
#include <linux/cpumask.h>
#include <linux/mman.h>
#include <linux/perf_event.h>

/* Two pages of user memory, for a test that calls what copies from or to user space. */
static inline void __user *user_page(struct kunit *test)
{
	unsigned long addr = kunit_vm_mmap(test, NULL, 0, 2 * PAGE_SIZE, PROT_READ | PROT_WRITE,
					   MAP_ANONYMOUS | MAP_PRIVATE, 0);

	KUNIT_ASSERT_NE_MSG(test, addr, 0, "no user memory");
	return (void __user *)addr;
}

static inline u64 value_of(struct perf_event *event)
{
	u64 enabled, running;

	return perf_event_read_value(event, &enabled, &running);
}

static inline void need_two_cpus(struct kunit *test)
{
	if (!cpu_online(1))
		kunit_skip(test, "needs CPUs 0 and 1");
}

/* A kernel user may not create this event. */
static inline void expect_refused(struct kunit *test, struct perf_event_attr *attr, int cpu,
				  int err)
{
	struct perf_event *event = perf_event_create_kernel_counter(attr, cpu, NULL, NULL, NULL);

	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(event), err);
	if (!IS_ERR(event))
		perf_event_release_kernel(event);
}

#endif /* _KERNEL_EVENTS_TESTS_HELPERS_H */
