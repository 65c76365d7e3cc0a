// SPDX-License-Identifier: GPL-2.0
/*
 * Address filters hold a file for as long as they are in force and no longer: a file system with a
 * file that a filter holds cannot be unmounted. Needs the software source "test_aux" of the test
 * kernel (the kernel parameter perf_test_aux). Run as root.
 */
#include "events.h"
#include "expect.h"
#include "harness.h"
#include "workloads.h"

#include <sys/mount.h>
#include <sys/stat.h>

#define DIR	"/tmp/regress-filter"
#define NAME	DIR "/file"
#define ROUNDS	20

static int open_traced(void)
{
	int type = perf_pmu_type("test_aux");
	struct perf_event_attr attr = perf_attr(type, 64);

	if (type < 0)
		fail_case("no PMU test_aux");
	attr.disabled = 1;
	return open_self(&attr, -1);
}

static void mount_file(void)
{
	int fd;

	mkdir(DIR, 0755);
	MUST(mount("none", DIR, "tmpfs", 0, NULL));
	fd = MUST(open(NAME, O_RDWR | O_CREAT | O_CLOEXEC, 0700));
	MUST(ftruncate(fd, 0x4000));
	close(fd);
}

/* 0, or EBUSY after a while: what holds a file may be freed by RCU. */
static int unmount(void)
{
	for (int i = 0; i < 100; i++) {
		if (!umount(DIR))
			return 0;
		sleep_ms(10);
	}
	return errno;
}

static int set_filter(int fd, const char *text)
{
	return ioctl(fd, PERF_EVENT_IOC_SET_FILTER, text) ? errno : 0;
}

/* Each begins with filters that are in order and hold the file when the error is found. */
static bool refused_filters_hold_nothing(void)
{
	static const char * const wrong[] = {
		"filter 0/0x1000@" NAME ",nonsense",
		"filter 0/0x1000@" NAME ",jump 0x1000/8",
		"filter 0/0x1000@" NAME ",filter 0x1000/0x1000@",
		"filter 0/0x1000@" NAME ",filter 0x1000/0x1000@" DIR "/none",
		"filter 0/0x1000@" NAME ",filter 0x1000/0x1000@" DIR,
		"filter 0/0x1000@" NAME ",start 1@" NAME ",stop 0xfffffffffffffff0/0x20@" NAME,
		"start 1@" NAME ",start 2@" NAME ",start 3@" NAME ",start 4@" NAME ",start 5@" NAME,
	};
	int fd = open_traced();
	bool good = true;

	mount_file();
	for (unsigned int i = 0; i < ROUNDS * ARRAY_SIZE(wrong); i++) {
		if (!set_filter(fd, wrong[i % ARRAY_SIZE(wrong)])) {
			ktap_note("accepted: %s", wrong[i % ARRAY_SIZE(wrong)]);
			good = false;
		}
	}
	return good & expect_eq("umount", unmount(), 0);
}

static bool closed_filters_hold_nothing(void)
{
	int fd = open_traced();
	bool good = true;

	mount_file();
	good &= expect_eq("SET_FILTER", set_filter(fd, "filter 0/0x1000@" NAME ",stop 8@" NAME), 0);
	good &= expect_eq("umount with the filter in force", umount(DIR) ? errno : 0, EBUSY);
	good &= expect_eq("another filter", set_filter(fd, "filter 0x1000/0x1000"), 0);
	good &= expect_eq("umount after that", unmount(), 0);

	mount_file();
	good &= expect_eq("SET_FILTER again", set_filter(fd, "start 8@" NAME), 0);
	close(fd);
	return good & expect_eq("umount after the event is closed", unmount(), 0);
}

static const struct test tests[] = {
	{ "a filter that is refused holds no file", refused_filters_hold_nothing },
	{ "a filter that is replaced or closed holds no file", closed_filters_hold_nothing },
};

TESTS_MAIN(tests)
