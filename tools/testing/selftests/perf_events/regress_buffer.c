// SPDX-License-Identifier: GPL-2.0
/*
 * Two events that share one buffer by IOC_SET_OUTPUT, while threads map and unmap either of them,
 * fail to, move mappings, and pass them to other processes: every page that was charged is given
 * back. Run as root.
 */
#include "events.h"
#include "expect.h"
#include "harness.h"
#include "memlock.h"
#include "workloads.h"

#include <pthread.h>

#define RACERS		7
#define SECONDS		4
#define DATA_PAGES	1

static long page;

static struct {
	int		fd[2];		/* replaced while they are used */
	volatile bool	stop;
	unsigned long	done[RACERS];	/* what has worked */
	unsigned long	refused;	/* mappings that failed as they have to */
	unsigned long	wrong;
} race;

static int open_sampling(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);

	attr.sample_period = 1;
	attr.exclude_kernel = 1;
	return MUST(perf_open(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

static void *map_pages(int fd, size_t pages, off_t offset)
{
	return mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
		    offset);
}

/* Its data can be read for as long as it is mapped. */
static void use_and_unmap(char *map)
{
	(void)*(volatile char *)(map + page);
	munmap(map, (1 + DATA_PAGES) * page);
}

static void *map_either(void *arg)
{
	unsigned long n = (unsigned long)arg;

	for (unsigned int turn = n; !race.stop; turn++) {
		void *map = map_pages(race.fd[turn & 1], 1 + DATA_PAGES, 0);

		if (map == MAP_FAILED)
			continue;
		race.done[n]++;
		use_and_unmap(map);
	}
	return NULL;
}

static void *redirect_either(void *arg)
{
	unsigned long n = (unsigned long)arg;

	for (unsigned int turn = 0; !race.stop; turn++) {
		int from = race.fd[turn & 1], to = race.fd[~turn & 1];

		race.done[n] += !ioctl(from, PERF_EVENT_IOC_SET_OUTPUT, turn % 5 ? to : -1);
	}
	return NULL;
}

/*
 * More pages than there is memory for: charged first, then given back. Another number of pages than
 * the buffer has. An offset without an AUX area.
 */
static void *fail_to_map(void *arg)
{
	(void)arg;
	for (unsigned int turn = 0; !race.stop; turn++) {
		int fd = race.fd[turn / 3 & 1];
		void *map;

		switch (turn % 3) {
		case 0:
			map = map_pages(fd, 1 + (1ul << 30), 0);
			break;
		case 1:
			map = map_pages(fd, 1 + 3 * DATA_PAGES, 0);
			break;
		default:
			map = map_pages(fd, 1, 64 * page);
			break;
		}
		if (map == MAP_FAILED)
			__atomic_fetch_add(&race.refused, 1, __ATOMIC_RELAXED);
		else
			race.wrong++;
	}
	return NULL;
}

/* A mapping that is moved is opened at its new place before it is closed at the old one. */
static void *move_mappings(void *arg)
{
	size_t size = (1 + DATA_PAGES) * page;
	unsigned long n = (unsigned long)arg;

	for (unsigned int turn = 0; !race.stop; turn++) {
		void *map = map_pages(race.fd[turn & 1], 1 + DATA_PAGES, 0), *room, *moved;

		if (map == MAP_FAILED)
			continue;
		room = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		moved = mremap(map, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, room);
		race.done[n] += moved == room;
		use_and_unmap(moved == MAP_FAILED ? map : moved);
	}
	return NULL;
}

/* MADV_DOFORK gives a child the mapping, which it may be the last to have. */
static void *pass_to_child(void *arg)
{
	size_t size = (1 + DATA_PAGES) * page;
	unsigned long n = (unsigned long)arg;

	for (unsigned int turn = 0; !race.stop; turn++) {
		void *map = map_pages(race.fd[turn & 1], 1 + DATA_PAGES, 0);
		pid_t pid;

		if (map == MAP_FAILED)
			continue;
		madvise(map, size, MADV_DOFORK);
		pid = fork();
		if (!pid)
			_exit(0);
		munmap(map, size);
		race.done[n] += pid > 0 && waitpid(pid, NULL, 0) == pid;
	}
	return NULL;
}

static void *reopen_either(void *arg)
{
	unsigned long n = (unsigned long)arg;

	for (; !race.stop; race.done[n]++) {
		int fd = open_sampling();

		dup3(fd, race.fd[race.done[n] & 1], O_CLOEXEC);
		close(fd);
		fault_pages(3);
		usleep(200);
	}
	return NULL;
}

/* Pages that the address space has pinned. */
static long pinned_pages(void)
{
	char line[128];
	long kb = 0;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "VmPin: %ld", &kb) == 1)
			break;
	}
	if (f)
		fclose(f);
	return kb * 1024 / page;
}

/* A child that was killed, or RCU, may be late. */
static bool all_is_given_back(void)
{
	bool good = expect_eq("pages left pinned", pinned_pages(), 0);

	for (int i = 0; i < 10; i++) {
		if (memlock_is_whole())
			return good;
		sleep_ms(200);
	}
	return expect_eq("allowance is whole", false, true);
}

static bool shared_buffer_races(void)
{
	static void *(*const run[RACERS])(void *) = {
		map_either, map_either, redirect_either, fail_to_map, move_mappings, pass_to_child,
		reopen_either,
	};
	pthread_t thread[RACERS];
	bool good = true;

	page = getpagesize();
	MUST(sysctl_set("perf_event_paranoid", 2));
	race.fd[0] = open_sampling();
	race.fd[1] = open_sampling();
	for (unsigned long i = 0; i < RACERS; i++) {
		if (pthread_create(&thread[i], NULL, run[i], (void *)i))
			fail_case("pthread_create");
	}
	sleep_ms(SECONDS * 1000);
	race.stop = true;
	for (unsigned int i = 0; i < RACERS; i++)
		pthread_join(thread[i], NULL);
	close(race.fd[0]);
	close(race.fd[1]);
	for (unsigned int i = 0; i < RACERS; i++)
		good &= run[i] == fail_to_map ||
			expect_between("turns of a thread", race.done[i], 1, UINT64_MAX);
	good &= expect_between("mappings refused", race.refused, 5, UINT64_MAX);
	good &= expect_eq("mappings that had to be refused and were not", race.wrong, 0);
	return good & all_is_given_back();
}

/* The first event's mapping ends, the second event's mapping of the same buffer remains. */
static bool redirect_to_unmapped(void)
{
	struct perf_event_mmap_page *user;
	int fd[2];

	page = getpagesize();
	for (int i = 0; i < 2; i++)
		fd[i] = open_sampling();
	for (int round = 0; round < 50; round++) {
		void *map = map_pages(fd[0], 1 + DATA_PAGES, 0);
		uint64_t head;

		MUST(ioctl(fd[1], PERF_EVENT_IOC_SET_OUTPUT, fd[0]));
		user = map_pages(fd[1], 1 + DATA_PAGES, 0);
		if (map == MAP_FAILED || user == MAP_FAILED)
			fail_case("mmap");
		munmap(map, (1 + DATA_PAGES) * page);
		head = user->data_head;
		fault_pages(4);
		if (!expect_between("bytes written afterwards", user->data_head - head, 4 * 8,
				    2 * page))
			return false;
		munmap(user, (1 + DATA_PAGES) * page);
		if (ioctl(fd[1], PERF_EVENT_IOC_SET_OUTPUT, fd[0]) != -1)
			return expect_eq("redirected to an event without a buffer", true, false);
	}
	for (int i = 0; i < 2; i++)
		close(fd[i]);
	return all_is_given_back();
}

/*
 * An event is closed while another event's buffer receives its records. One of many new events
 * reuses its memory; a buffer that refers to it still does not survive a record or its unmapping.
 */
static bool redirected_is_closed(void)
{
	int fd[2], reuse[100];
	bool good = true;

	page = getpagesize();
	for (int round = 0; round < 10; round++) {
		struct perf_event_mmap_page *user;
		uint64_t head;

		for (int i = 0; i < 2; i++)
			fd[i] = open_sampling();
		user = map_pages(fd[0], 1 + DATA_PAGES, 0);
		if (user == MAP_FAILED)
			fail_case("mmap");
		MUST(ioctl(fd[1], PERF_EVENT_IOC_SET_OUTPUT, fd[0]));
		close(fd[1]);
		sleep_ms(30);
		for (unsigned int i = 0; i < ARRAY_SIZE(reuse); i++)
			reuse[i] = open_sampling();
		head = user->data_head;
		fault_pages(4);
		good &= expect_between("bytes written afterwards", user->data_head - head, 4 * 8,
				       2 * page);
		munmap(user, (1 + DATA_PAGES) * page);
		close(fd[0]);
		for (unsigned int i = 0; i < ARRAY_SIZE(reuse); i++)
			close(reuse[i]);
	}
	return good & all_is_given_back();
}

static const struct test tests[] = {
	{ "threads map, move and fail to map a buffer of two events", shared_buffer_races },
	{ "a shared buffer outlives its first mapping", redirect_to_unmapped },
	{ "an event is closed that writes to the buffer of another", redirected_is_closed },
};

TESTS_MAIN(tests)
