// SPDX-License-Identifier: GPL-2.0
/* Tests of attributes: what perf_copy_attr() and perf_attr_permitted() accept. */
#include <kunit/test.h>
#include <linux/uaccess.h>

#include "../ops/ops.h"
#include "helpers.h"

/**
 * struct attr_request - attributes, and the answer to them
 * @name: description for the log
 * @attr: the attributes; the test sets perf_event_attr::size
 * @err: what perf_copy_attr() or perf_attr_permitted() returns to root: 0 or a negative errno
 */
struct attr_request {
	const char			*name;
	struct perf_event_attr		attr;
	int				err;
};

static const struct attr_request attr_requests[] = {
	{ "nothing", { } },
	{ "every read format", { .read_format = PERF_FORMAT_MAX - 1 } },
	{ "unknown read format", { .read_format = PERF_FORMAT_MAX }, -EINVAL },
	{ "unknown sample type", { .sample_type = PERF_SAMPLE_MAX }, -EINVAL },
	{ "reserved bits", { .__reserved_1 = 1 }, -EINVAL },
	{ "inherit_thread", { .inherit_thread = 1 }, -EINVAL },
	{ "inherit_thread and inherit", { .inherit_thread = 1, .inherit = 1 } },
	{ "exec both ways", { .remove_on_exec = 1, .enable_on_exec = 1 }, -EINVAL },
	{ "sigtrap", { .sigtrap = 1 }, -EINVAL },
	{ "sigtrap and remove_on_exec", { .sigtrap = 1, .remove_on_exec = 1 } },
	{ "two weights", { .sample_type = PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT },
	  -EINVAL },
	{ "stack of 65528", { .sample_type = PERF_SAMPLE_STACK_USER, .sample_stack_user = 65528 } },
	{ "stack of 65536", { .sample_type = PERF_SAMPLE_STACK_USER, .sample_stack_user = 65536 },
	  -EINVAL },
	{ "unaligned stack", { .sample_type = PERF_SAMPLE_STACK_USER, .sample_stack_user = 100 },
	  -EINVAL },
	{ "no register", { .sample_type = PERF_SAMPLE_REGS_USER }, -EINVAL },
	{ "no kind of branch", { .sample_type = PERF_SAMPLE_BRANCH_STACK }, -EINVAL },
	{ "unknown branch", { .sample_type = PERF_SAMPLE_BRANCH_STACK,
			      .branch_sample_type = PERF_SAMPLE_BRANCH_MAX }, -EINVAL },
	{ "any branch", { .sample_type = PERF_SAMPLE_BRANCH_STACK,
			  .branch_sample_type = PERF_SAMPLE_BRANCH_ANY } },
	{ "period", { .sample_period = BIT_ULL(62) } },
	{ "period with bit 63", { .sample_period = BIT_ULL(63) }, -EINVAL },
	{ "frequency", { .freq = 1, .sample_freq = 1 } },
	{ "frequency over all limits", { .freq = 1, .sample_freq = BIT_ULL(40) }, -EINVAL },
};

static int attr_ask(struct kunit *test, struct perf_event_attr __user *user,
		    const struct perf_event_attr *from, struct perf_event_attr *attr)
{
	int ret;

	KUNIT_ASSERT_EQ(test, copy_to_user(user, from, sizeof(*from)), 0);
	ret = perf_copy_attr(user, attr);
	return ret ?: perf_attr_permitted(attr);
}

static void test_attr_rules(struct kunit *test)
{
	struct perf_event_attr __user *user = user_page(test);
	struct perf_event_attr from, attr;

	for (int i = 0; i < ARRAY_SIZE(attr_requests); i++) {
		from = attr_requests[i].attr;
		from.size = sizeof(from);
		KUNIT_EXPECT_EQ_MSG(test, attr_ask(test, user, &from, &attr), attr_requests[i].err,
				    "%s", attr_requests[i].name);
	}
}

/* Attributes smaller and larger than those of this kernel. */
static void test_attr_size(struct kunit *test)
{
	void __user *user = user_page(test);
	struct perf_event_attr from = { .config = 7 }, attr;
	u32 size;

	KUNIT_EXPECT_EQ(test, attr_ask(test, user, &from, &attr), 0);
	KUNIT_EXPECT_EQ(test, attr.size, (u32)PERF_ATTR_SIZE_VER0);
	KUNIT_EXPECT_EQ(test, attr.config, 7ull);

	/* Fields beyond the size that the program passes are not read. */
	from.size = PERF_ATTR_SIZE_VER0;
	from.config3 = 99;
	KUNIT_EXPECT_EQ(test, attr_ask(test, user, &from, &attr), 0);
	KUNIT_EXPECT_EQ(test, attr.config3, 0ull);

	from.size = PERF_ATTR_SIZE_VER0 - 1;
	KUNIT_EXPECT_EQ(test, attr_ask(test, user, &from, &attr), -E2BIG);
	KUNIT_ASSERT_EQ(test, get_user(size, (u32 __user *)(user + 4)), 0);
	KUNIT_EXPECT_EQ(test, size, (u32)sizeof(attr));

	/* Fields beyond those of this kernel have to be 0. */
	from.size = sizeof(from) + 64;
	KUNIT_EXPECT_EQ(test, attr_ask(test, user, &from, &attr), 0);
	KUNIT_ASSERT_EQ(test, put_user(1, (u8 __user *)(user + sizeof(from) + 40)), 0);
	KUNIT_EXPECT_EQ(test, attr_ask(test, user, &from, &attr), -E2BIG);

	from.size = PAGE_SIZE + 8;
	KUNIT_EXPECT_EQ(test, attr_ask(test, user, &from, &attr), -E2BIG);
}

static struct kunit_case attr_cases[] = {
	KUNIT_CASE(test_attr_rules),
	KUNIT_CASE(test_attr_size),
	{ }
};

static struct kunit_suite attr_suite = {
	.name		= "perf_attr",
	.test_cases	= attr_cases,
};

kunit_test_suite(attr_suite);
