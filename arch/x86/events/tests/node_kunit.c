// SPDX-License-Identifier: GPL-2.0
/*
 * Claims of a node's CPUs on counters for events of the northbridge.
 */
#include "../amd/node.h"
#include "helpers.h"

/* Counters are given out as long as there are vacant ones; then a CPU has to do with its own. */
static void node_gives_counters_to_cpus(struct kunit *test)
{
	struct amd_node node = { };

	KUNIT_EXPECT_TRUE(test, amd_node_is_idle(&node));
	KUNIT_EXPECT_EQ(test, amd_node_take(&node, 0), 0);
	KUNIT_EXPECT_EQ(test, amd_node_take(&node, 1), 1);
	KUNIT_EXPECT_EQ(test, amd_node_take(&node, 0), 2);
	KUNIT_EXPECT_EQ(test, amd_node_take(&node, 0), 3);
	KUNIT_EXPECT_EQ(test, amd_node_take(&node, 2), -1);
	KUNIT_EXPECT_EQ(test, amd_node_take(&node, 1), 1);
	KUNIT_EXPECT_EQ(test, amd_node_take(&node, 0), 0);
	KUNIT_EXPECT_EQ(test, amd_node_take(&node, 0), 2);
	KUNIT_EXPECT_FALSE(test, amd_node_is_idle(&node));
}

/* A counter is vacant only when the last of its events is closed. */
static void node_counter_is_vacant_without_claims(struct kunit *test)
{
	struct amd_node node = { };
	unsigned int i;

	for (i = 0; i < AMD64_NUM_COUNTERS + 1; i++)
		KUNIT_EXPECT_EQ(test, amd_node_take(&node, 3), i % AMD64_NUM_COUNTERS);
	KUNIT_EXPECT_FALSE(test, amd_node_put(&node, 0));
	KUNIT_EXPECT_EQ(test, amd_node_take(&node, 4), -1);
	KUNIT_EXPECT_TRUE(test, amd_node_put(&node, 2));
	KUNIT_EXPECT_EQ(test, amd_node_take(&node, 4), 2);
	KUNIT_EXPECT_TRUE(test, amd_node_put(&node, 0));
	for (i = 1; i < AMD64_NUM_COUNTERS; i++)
		KUNIT_EXPECT_TRUE(test, amd_node_put(&node, i));
	KUNIT_EXPECT_TRUE(test, amd_node_is_idle(&node));
}

static struct kunit_case x86_pmu_node_cases[] = {
	KUNIT_CASE(node_gives_counters_to_cpus),
	KUNIT_CASE(node_counter_is_vacant_without_claims),
	{ }
};

static struct kunit_suite x86_pmu_node_suite = {
	.name		= "x86_pmu_node",
	.test_cases	= x86_pmu_node_cases,
};

kunit_test_suite(x86_pmu_node_suite);

MODULE_DESCRIPTION("KUnit tests of the x86 PMU driver: northbridge events");
MODULE_LICENSE("GPL");
