// SPDX-License-Identifier: GPL-2.0
/*
 * What has broken implementations of this ABI before, where it concerns fork, exec and exit: they
 * race reads, opens and closes of the events of the task. The kernel survives, has nothing in its
 * log, and counts correctly afterwards.
 */
#include "processes.h"
#include "races.h"

/* ECHILD: the group of the child differs from that of its parent. */
static bool grown_or_not(const char *what, ssize_t n, ssize_t want)
{
	return (n < 0 && errno == ECHILD) || expect_eq(what, n, want);
}

/* CVE-2023-5717, 2023-6931: the group of a parent changes between fork and read. */
static bool group_changes_after_fork(void)
{
	struct perf_event_attr attr = hw_or_sw(false);
	uint64_t room[64];
	bool good = true;

	attr.inherit = 1;
	attr.read_format = PERF_FORMAT_GROUP | FORMAT_TIMES;
	for (int round = 0; round < 50; round++) {
		int leader = open_self(&attr, -1), fd[6];
		struct gate ready = gate_new();
		pid_t pid;
		ssize_t n;

		for (int i = 0; i < 3; i++)
			fd[i] = open_self(&attr, leader);
		pid = fork_child();
		if (!pid) {
			/* its copies would keep the events */
			for (int i = 0; i < 3; i++)
				close(fd[i]);
			gate_open(&ready);
			for (;;)
				pause();
		}
		gate_wait(&ready);
		close(fd[round % 3]);
		n = read(leader, room, sizeof(room));
		good &= grown_or_not("bytes after a close", n, 6 * 8);
		for (int i = 3; i < 6; i++)
			fd[i] = open_self(&attr, leader);
		n = read(leader, room, sizeof(room));
		good &= grown_or_not("bytes after opens", n, 9 * 8);
		kill_child(pid);
		n = read(leader, room, sizeof(room));
		good &= expect_eq("bytes after its end", n, 9 * 8);
		for (int i = 0; i < 6; i++) {
			if (i != round % 3)
				close(fd[i]);
		}
		close(leader);
		close(ready.fd[0]);
		close(ready.fd[1]);
	}
	return good & still_counts();
}

/*
 * CVE-2026-31528: an inherited group of a software leader and a hardware sibling that cannot always
 * run.
 */
static bool inherited_group_without_room(void)
{
	struct perf_event_attr sw = hw_or_sw(false), hw = hw_or_sw(true);
	bool good = true;
	int leader[12];

	if (!event_available(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES))
		skip_case("no cycle counter");
	sw.inherit = 1;
	hw.inherit = 1;
	for (int i = 0; i < 12; i++) {
		leader[i] = open_self(&sw, -1);
		open_self(&hw, leader[i]);
		open_self(&hw, leader[i]);
	}
	for (int round = 0; round < 20; round++) {
		pid_t pid = fork_child();

		if (!pid) {
			spin_ms(15);
			_exit(0);
		}
		good &= child_succeeded(pid);
		close(leader[round % 12]);
		leader[round % 12] = open_self(&sw, -1);
	}
	return good & still_counts();
}

/* CVE-2025-21895: a task with events on two PMUs forks while another opens events on it. */
static void *attach_to(void *arg)
{
	bool hw = event_available(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	pid_t pid = *(pid_t *)arg;
	int fd[64];

	memset(fd, -1, sizeof(fd));
	for (unsigned int turn = 0; race_runs(); turn++) {
		struct perf_event_attr attr = hw_or_sw(hw && turn & 1);
		int *each = &fd[turn % ARRAY_SIZE(fd)];

		attr.inherit = 1;
		close(*each);
		*each = perf_open(&attr, pid, -1, -1, 0);
		if (*each >= 0)
			perf_count(*each);
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(fd); i++)
		close(fd[i]);
	return NULL;
}

static bool attached_to_while_forking(void)
{
	pid_t pid = fork_child();

	begin_race(RACE_MS);
	if (!pid) {
		struct perf_event_attr sw = hw_or_sw(false), hw = hw_or_sw(true);

		sw.inherit = 1;
		hw.inherit = 1;
		perf_open(&sw, 0, -1, -1, 0);
		perf_open(&hw, 0, -1, -1, 0);
		while (race_runs()) {
			pid_t child = fork();

			if (child <= 0)
				_exit(child < 0);
			waitpid(child, NULL, 0);
		}
		_exit(0);
	}
	in_threads(3, attach_to, &pid);
	return child_succeeded(pid) & still_counts();
}

/* Opens events on a task that exits, execs, or is killed. */
static bool attached_to_while_dying(void)
{
	struct perf_event_attr attr = hw_or_sw(false);
	unsigned int opened = 0;

	attr.inherit = 1;
	begin_race(RACE_MS);
	while (race_runs()) {
		pid_t pid = fork_child();
		int fd[20];

		if (!pid) {
			usleep(opened % 7 * 50);
			if (opened % 3)
				_exit(0);
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
		for (int i = 0; i < 20; i++) {
			fd[i] = perf_open(&attr, pid, -1, i % 4 && fd[i - 1] >= 0 ? fd[i - i % 4] :
					  -1, 0);
			opened += fd[i] >= 0;
		}
		if (opened % 2)
			kill(pid, SIGKILL);
		for (int i = 0; i < 20; i++)
			close(fd[(i * 7) % 20]);
		waitpid(pid, NULL, 0);
	}
	return expect_between("opened", opened, 20, UINT64_MAX) & still_counts();
}

/* Many forks and exits of tasks with inherited groups, which are read meanwhile. */
static bool fork_storm(void)
{
	struct perf_event_attr attr = hw_or_sw(false);
	uint64_t room[16];
	int leader;

	attr.inherit = 1;
	attr.read_format = PERF_FORMAT_GROUP | FORMAT_TIMES;
	leader = open_self(&attr, -1);
	open_self(&attr, leader);
	begin_race(RACE_MS);
	for (int i = 0; i < 4; i++) {
		pid_t pid = fork_child();

		if (!pid) {
			while (race_runs()) {
				pid_t child = fork();

				if (!child) {
					if (fork() == 0)
						_exit(0);
					_exit(0);
				}
				waitpid(child, NULL, 0);
			}
			_exit(0);
		}
	}
	while (race_runs()) {
		read(leader, room, sizeof(room));
		ioctl(leader, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
		ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
	}
	close(leader);
	while (waitpid(-1, NULL, 0) > 0)
		;
	return still_counts();
}

/* The owner closes the events while a child passes them on. */
static bool closed_while_forking(void)
{
	struct perf_event_attr attr = hw_or_sw(false);

	attr.inherit = 1;
	begin_race(RACE_MS);
	for (unsigned int turn = 0; race_runs(); turn++) {
		int fd[4];
		pid_t pid;

		for (int i = 0; i < 4; i++)
			fd[i] = open_self(&attr, i % 2 ? fd[i - 1] : -1);
		pid = fork_child();
		while (!pid) {
			if (!fork())
				_exit(0);
			waitpid(-1, NULL, 0);
		}
		usleep(turn % 20 * 100);
		for (int i = 0; i < 4; i++)
			close(fd[(turn + i) % 4]);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	return still_counts();
}

/* A child that is forked while the events are disabled does not count. */
static bool disabled_while_forking(void)
{
	struct perf_event_attr attr = hw_or_sw(false);
	unsigned int counted_on = 0;

	attr.inherit = 1;
	begin_race(RACE_MS);
	for (unsigned int turn = 0; race_runs(); turn++) {
		int fd = open_self(&attr, -1);
		struct gate started = gate_new();
		pid_t pid = fork_child();
		uint64_t before;

		if (!pid) {
			setpgid(0, 0);
			for (int i = 0; i < 3 && fork(); i++)
				;
			gate_open(&started);
			for (;;)
				;
		}
		usleep(turn % 30 * 20);
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		for (int i = 0; i < 4; i++)
			gate_wait(&started);
		before = perf_count(fd);
		usleep(3000);
		counted_on += perf_count(fd) != before;
		kill(-pid, SIGKILL);
		waitpid(pid, NULL, 0);
		close(fd);
		close(started.fd[0]);
		close(started.fd[1]);
	}
	return expect_eq("rounds in which a child counted after DISABLE", counted_on, 0) &
	       still_counts();
}

/* CVE-2023-2235, 2026-64556: exec removes some members of a group while other tasks use it. */
static bool exec_races_with_close(void)
{
	struct perf_event_attr attr = hw_or_sw(false);

	begin_race(RACE_MS);
	for (unsigned int turn = 0; race_runs(); turn++) {
		struct gate go = gate_new();
		pid_t pid = fork_child();
		int leader, fd[3];

		if (!pid) {
			gate_wait(&go);
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
		attr.remove_on_exec = turn & 1;
		leader = perf_open(&attr, pid, -1, -1, 0);
		for (int i = 0; i < 3; i++) {
			attr.remove_on_exec = turn >> (i + 1) & 1;
			fd[i] = perf_open(&attr, pid, -1, leader, 0);
		}
		gate_open(&go);
		usleep(turn % 10 * 100);
		close(turn & 16 ? leader : fd[0]);
		close(fd[1]);
		close(fd[2]);
		close(turn & 16 ? fd[0] : leader);
		close(go.fd[0]);
		close(go.fd[1]);
		waitpid(pid, NULL, 0);
	}
	return still_counts();
}

static const struct test tests[] = {
	{ "a group changes after fork", group_changes_after_fork },
	{ "inherited groups that do not fit", inherited_group_without_room },
	{ "opened on a task that forks", attached_to_while_forking },
	{ "opened on a task that exits, execs or is killed", attached_to_while_dying },
	{ "a storm of forks", fork_storm },
	{ "closed while a child forks", closed_while_forking },
	{ "disabled while a child forks", disabled_while_forking },
	{ "exec and close of remove_on_exec groups", exec_races_with_close },
};

TESTS_MAIN(tests)
