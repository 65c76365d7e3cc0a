// SPDX-License-Identifier: GPL-2.0
/*
 * exec of programs that not every user may inspect: set-uid ones, and ones that cannot be read. An
 * event that was opened on the task before counts nothing of the new program; an open during exec
 * counts nothing of it or is refused.
 *
 * The program is this one, copied to files so that their mode can be changed; a word on the command
 * line selects what it does.
 */
#include "events.h"
#include "expect.h"
#include "harness.h"
#include "processes.h"
#include "readings.h"
#include "records.h"
#include "require.h"
#include "workloads.h"

#include <poll.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#define NOBODY	65534
#define BEFORE	40	/* page faults before exec */
#define SOME	60	/* at most that many more: of exec, the C library, the stack */
#define AFTER	1000	/* by the new program */

static const char set_uid[] = "/tmp/perf-set-uid", set_gid[] = "/tmp/perf-set-gid",
		  unreadable[] = "/tmp/perf-unreadable", ordinary[] = "/tmp/perf-ordinary";

/* The program's ends of two pipes, which stay open across exec. */
#define TELL_FD	100
#define WAIT_FD	101

struct program {
	struct gate	go, told, again;
	pid_t		pid;
};

/* Becomes an ordinary user. Its processes can be inspected by the same user. */
static void become_nobody(void)
{
	MUST(setresgid(NOBODY, NOBODY, NOBODY));
	MUST(setresuid(NOBODY, NOBODY, NOBODY));
	MUST(prctl(PR_SET_DUMPABLE, 1));
}

static void exec_word(const char *path, const char *word)
{
	execl(path, path, word, NULL);
	_exit(99);
}

/* A child that waits at p->go, takes page faults, and execs the program. */
static struct program new_program(const char *path, const char *word)
{
	struct program p = { gate_new(), gate_new(), gate_new() };

	p.pid = fork_child();
	if (p.pid)
		return p;
	MUST(dup2(p.told.fd[1], TELL_FD));
	MUST(dup2(p.again.fd[0], WAIT_FD));
	fault_pages(2);
	gate_wait(&p.go);
	fault_pages(BEFORE);
	exec_word(path, word);
	return p;
}

/* Lets the child exec and take AFTER faults; then it waits. */
static void run_program(struct program *p)
{
	gate_open(&p->go);
	gate_wait(&p->told);
}

/* Another AFTER faults. */
static void run_again(struct program *p)
{
	gate_open(&p->again);
	gate_wait(&p->told);
}

static struct perf_event_attr fault_attr(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);

	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	return attr;
}

/* True if the event has ended at exec, and no operation starts it again. */
static bool has_ended(int fd, struct program *p, uint64_t least)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	bool good = true;
	uint64_t count;

	count = perf_count(fd);
	good &= expect_between("until exec", count, least, least + SOME);
	good &= expect_eq("poll", poll(&poll_fd, 1, 1000), 1);
	good &= expect_eq("POLLHUP", poll_fd.revents & POLLHUP, POLLHUP);
	event_enable(fd);
	run_again(p);
	good &= expect_eq("enabled again", perf_count(fd), count);
	MUST(ioctl(fd, PERF_EVENT_IOC_RESET, 0));
	run_again(p);
	return good & expect_eq("reset", perf_count(fd), 0);
}

/* An event of an ordinary user on its own task ends when the task execs this program. */
static bool ends_at(const char *path, const struct perf_event_attr *wanted, uint64_t least)
{
	struct perf_event_attr attr = *wanted;
	struct program p;
	bool good;
	int fd;

	become_nobody();
	p = new_program(path, "faults");
	fd = MUST(perf_open(&attr, p.pid, -1, -1, 0));
	run_program(&p);
	good = has_ended(fd, &p, least);
	kill_child(p.pid);
	return good;
}

static bool plain_event_ends(void)
{
	struct perf_event_attr attr = fault_attr();

	return ends_at(set_uid, &attr, BEFORE);
}

static bool ends_at_set_gid(void)
{
	struct perf_event_attr attr = fault_attr();

	return ends_at(set_gid, &attr, BEFORE);
}

static bool ends_at_unreadable(void)
{
	struct perf_event_attr attr = fault_attr();

	return ends_at(unreadable, &attr, BEFORE);
}

static bool enable_on_exec_ends(void)
{
	struct perf_event_attr attr = fault_attr();

	attr.disabled = 1;
	attr.enable_on_exec = 1;
	return ends_at(set_uid, &attr, 0);
}

static bool remove_on_exec_ends(void)
{
	struct perf_event_attr attr = fault_attr();

	attr.remove_on_exec = 1;
	return ends_at(set_uid, &attr, BEFORE);
}

static bool inherit_ends(void)
{
	struct perf_event_attr attr = fault_attr();

	attr.inherit = 1;
	return ends_at(set_uid, &attr, BEFORE);
}

/* The same with a program that any user may read: the event continues. */
static bool ordinary_exec_keeps_event(void)
{
	struct perf_event_attr attr = fault_attr();
	struct program p;
	bool good;
	int fd;

	become_nobody();
	p = new_program(ordinary, "faults");
	fd = MUST(perf_open(&attr, p.pid, -1, -1, 0));
	run_program(&p);
	good = expect_between("old and new program", perf_count(fd), BEFORE + AFTER,
			      BEFORE + AFTER + 2 * SOME);
	kill_child(p.pid);
	return good;
}

/* The event of the child ends; that of the parent, on its own task, does not. */
static bool inherited_event_ends(void)
{
	struct perf_event_attr attr = fault_attr();
	struct program p;
	uint64_t count;
	bool good;
	int fd;

	become_nobody();
	attr.inherit = 1;
	attr.disabled = 1;
	fd = open_self(&attr, -1);
	p = new_program(set_uid, "fork-faults");
	event_enable(fd);
	run_program(&p);
	count = perf_count(fd);
	good = expect_between("the child's, until exec", count, BEFORE, BEFORE + 3 * SOME);
	run_again(&p);
	good &= expect_between("the parent alone", perf_count(fd) - count, 0, SOME);
	fault_pages(BEFORE);
	good &= expect_between("the parent goes on", perf_count(fd) - count, BEFORE, BEFORE + SOME);
	kill_child(p.pid);
	return good;
}

/* All of a group ends, whatever its members do at exec. */
static bool group_ends(void)
{
	struct perf_event_attr attr = fault_attr(), member = fault_attr();
	struct reading r, later;
	struct program p;
	bool good;
	int leader;

	become_nobody();
	attr.read_format = PERF_FORMAT_GROUP | FORMAT_TIMES;
	p = new_program(set_uid, "faults");
	leader = MUST(perf_open(&attr, p.pid, -1, -1, 0));
	member.remove_on_exec = 1;
	MUST(perf_open(&member, p.pid, -1, leader, 0));
	member.remove_on_exec = 0;
	member.enable_on_exec = 1;
	member.disabled = 1;
	MUST(perf_open(&member, p.pid, -1, leader, 0));
	run_program(&p);
	if (!read_in_format(leader, attr.read_format, &r))
		return false;
	good = expect_between("leader", r.member[0].value, BEFORE, BEFORE + SOME);
	MUST(ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP));
	run_again(&p);
	if (!read_in_format(leader, attr.read_format, &later))
		return false;
	good &= expect_eq("members", later.nr, r.nr);
	good &= expect_eq("time", later.enabled, r.enabled);
	for (unsigned int i = 0; i < r.nr; i++) {
		good &= expect_between("member", r.member[i].value, 0, BEFORE + SOME);
		good &= expect_eq("later", later.member[i].value, r.member[i].value);
	}
	kill_child(p.pid);
	return good;
}

/* An event that the task opened on itself; the new program has its file. */
static bool own_event_ends(void)
{
	struct perf_event_attr attr = fault_attr();
	pid_t pid;

	become_nobody();
	pid = fork_child();
	if (!pid) {
		MUST(dup2(MUST(perf_open(&attr, 0, -1, -1, 0)), TELL_FD));
		fault_pages(BEFORE);
		exec_word(set_uid, "read");
	}
	return child_succeeded(pid);
}

/* The user may not open what would have ended; root may. */
static bool opened_afterwards(void)
{
	struct perf_event_attr attr = fault_attr();
	struct gate opened = gate_new();
	bool good = true;
	struct program p;
	int fd, as_root;
	pid_t user;

	p = new_program(set_uid, "faults");
	fd = MUST(perf_open(&attr, p.pid, -1, -1, 0));
	run_program(&p);
	/* For root's own child nothing has changed. */
	good &= expect_between("root's, for root", perf_count(fd), BEFORE + AFTER,
			       BEFORE + AFTER + 2 * SOME);
	kill_child(p.pid);

	user = fork_child();
	if (!user) {
		become_nobody();
		p = new_program(set_uid, "faults");
		run_program(&p);
		for (int i = 0; i < 4; i++) {
			attr.inherit = i & 1;
			attr.enable_on_exec = i >> 1;
			attr.disabled = i >> 1;
			good &= expect_refused("by the user", perf_open(&attr, p.pid, -1, -1, 0),
					       EACCES, "ptrace");
		}
		MUST(write(opened.fd[1], &p, sizeof(p)));
		pause();
	}
	MUST(read(opened.fd[0], &p, sizeof(p)));
	as_root = MUST(perf_open(&attr, p.pid, -1, -1, 0));
	close(as_root);
	kill_child(user);
	kill(p.pid, SIGKILL);
	return good;
}

/* Root's event on a user's task ends as well: permissions are not checked again. */
static bool roots_event_ends(void)
{
	struct perf_event_attr attr = fault_attr();
	struct gate made = gate_new(), opened = gate_new();
	bool good = true;
	struct program p;
	int before, after;
	uint64_t count;
	pid_t user;

	user = fork_child();
	if (!user) {
		become_nobody();
		p = new_program(set_uid, "faults");
		MUST(write(made.fd[1], &p.pid, sizeof(p.pid)));
		gate_wait(&opened);
		run_program(&p);
		MUST(kill(getpid(), SIGSTOP));
		run_again(&p);
		MUST(kill(getpid(), SIGSTOP));
		_exit(0);
	}
	MUST(read(made.fd[0], &p.pid, sizeof(p.pid)));
	before = MUST(perf_open(&attr, p.pid, -1, -1, 0));
	gate_open(&opened);
	MUST(waitpid(user, NULL, WUNTRACED));
	count = perf_count(before);
	good &= expect_between("until exec", count, BEFORE, BEFORE + SOME);
	after = MUST(perf_open(&attr, p.pid, -1, -1, 0));
	MUST(kill(user, SIGCONT));
	MUST(waitpid(user, NULL, WUNTRACED));
	good &= expect_eq("the old one", perf_count(before), count);
	good &= expect_between("a new one", perf_count(after), AFTER, AFTER + SOME);
	kill(p.pid, SIGKILL);
	kill_child(user);
	return good;
}

/* Records show that the task execs, but not where the new program and its libraries are. */
static bool no_records_of_it(const char *path, unsigned int least, unsigned int most)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_DUMMY);
	unsigned int maps = 0, execs = 0;
	struct perf_event_header *h;
	static struct ring ring;
	struct program p;
	int fd;

	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	attr.mmap = 1;
	attr.mmap2 = 1;
	attr.mmap_data = 1;
	attr.comm = 1;
	attr.comm_exec = 1;
	p = new_program(path, "faults");
	fd = MUST(perf_open(&attr, p.pid, -1, -1, 0));
	if (!ring_map(&ring, fd, 8))
		fail_case("mmap");
	run_program(&p);
	while ((h = ring_next(&ring))) {
		execs += h->type == PERF_RECORD_COMM && (h->misc & PERF_RECORD_MISC_COMM_EXEC);
		maps += execs && h->type == PERF_RECORD_MMAP2;
	}
	kill_child(p.pid);
	return expect_eq("COMM of exec", execs, 1) &
	       expect_between("MMAP2 after it", maps, least, most);
}

static bool records_end(void)
{
	become_nobody();
	return no_records_of_it(ordinary, 1, 1000) & no_records_of_it(set_uid, 0, 0);
}

/*
 * CVE-2019-3901. One task opens while the other execs: an event that was opened before exec ends
 * with it, a later open is refused. An event with as many faults as the new program takes alone was
 * opened with the rights on the old one.
 */

#define ROUNDS	200
#define TRIES	5000
#define KEPT	64	/* the newest events, until the program has ended */

struct race {
	unsigned int	opened, denied, ended, other, leaked;
};

static void open_beside_exec(struct race *r, unsigned int round)
{
	struct perf_event_attr attr = fault_attr();
	struct program p = new_program(set_uid, "faults-exit");
	unsigned int nr = 0, late = 0;
	int fd[KEPT];

	gate_open(&p.go);
	/* At different times: exec happens somewhere in what follows. */
	usleep(round % 20 * 50);
	while (nr < TRIES && late < 20) {
		int new;

		attr.inherit = nr & 1;
		attr.disabled = nr >> 1 & 1;
		attr.enable_on_exec = attr.disabled;
		new = perf_open(&attr, p.pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
		if (new >= 0) {
			if (nr >= KEPT)
				close(fd[nr % KEPT]);
			fd[nr++ % KEPT] = new;
			r->opened++;
		} else {
			late++;
			r->denied += errno == EACCES;
			r->ended += errno == ESRCH;
			r->other += errno != EACCES && errno != ESRCH;
		}
	}
	waitpid(p.pid, NULL, 0);
	for (unsigned int i = 0; i < nr && i < KEPT; i++) {
		r->leaked += perf_count(fd[i]) >= AFTER;
		close(fd[i]);
	}
	for (int i = 0; i < 2; i++) {
		close(p.go.fd[i]);
		close(p.told.fd[i]);
		close(p.again.fd[i]);
	}
}

static bool open_races_with_exec(void)
{
	struct race r = { 0 };

	require_cpus(2);
	become_nobody();
	for (unsigned int i = 0; i < ROUNDS; i++)
		open_beside_exec(&r, i);
	ktap_note("%u opened, %u refused with EACCES, %u with ESRCH", r.opened, r.denied, r.ended);
	return expect_eq("events that counted the set-uid program", r.leaked, 0) &
	       expect_eq("other errors", r.other, 0) &
	       expect_between("opened", r.opened, ROUNDS, UINT64_MAX) &
	       expect_between("EACCES", r.denied, ROUNDS, UINT64_MAX);
}

/* The result of the new program: 0 if the event that it inherited counts on. */
static int status_after_prctl(const char *path)
{
	struct perf_event_attr attr = fault_attr();
	pid_t parent = getpid(), pid = fork_child();
	int status;

	if (!pid) {
		attr.disabled = 0;
		MUST(dup2(MUST(perf_open(&attr, parent, -1, -1, 0)), TELL_FD));
		exec_word(path, "prctl");
	}
	while (!waitpid(pid, &status, WNOHANG))
		fault_pages(2);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* PR_TASK_PERF_EVENTS_DISABLE is for the events of the program, not of the one before it. */
static bool prctl_of_new_program(void)
{
	become_nobody();
	return expect_eq("ordinary, stopped", status_after_prctl(ordinary), 1) &
	       expect_eq("unreadable, counts on", status_after_prctl(unreadable), 0);
}

static const struct test tests[] = {
	{ "exec of a set-uid program ends an event", plain_event_ends },
	{ "exec of a set-gid program ends an event", ends_at_set_gid },
	{ "exec of an unreadable program ends an event", ends_at_unreadable },
	{ "exec of an ordinary program does not end an event", ordinary_exec_keeps_event },
	{ "exec ends an event with enable_on_exec", enable_on_exec_ends },
	{ "exec ends an event with remove_on_exec", remove_on_exec_ends },
	{ "exec ends an event with inherit", inherit_ends },
	{ "exec ends an inherited event, not that of the parent", inherited_event_ends },
	{ "exec ends a group", group_ends },
	{ "exec ends an event that the task opened on itself", own_event_ends },
	{ "exec ends an event of root", roots_event_ends },
	{ "records do not show the new program", records_end },
	{ "an open after exec is refused", opened_afterwards },
	{ "an open during exec counts nothing of the new program", open_races_with_exec },
	{ "an unreadable program does not own the events of the one before", prctl_of_new_program },
};

static void write_byte(void)
{
	if (write(TELL_FD, "", 1) != 1)
		_exit(1);
}

static void take_faults(void)
{
	char byte;

	do {
		fault_pages(AFTER);
		write_byte();
	} while (read(WAIT_FD, &byte, 1) == 1);
}

static void fork_faults(void)
{
	pid_t pid = fork();

	if (!pid) {
		take_faults();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void faults_exit(void)
{
	fault_pages(AFTER);
}

/* The event at TELL_FD is of the task before exec: it stands still. */
static void read_own(void)
{
	uint64_t before = perf_count(TELL_FD);
	bool good = expect_between("until exec", before, BEFORE, BEFORE + SOME);

	ioctl(TELL_FD, PERF_EVENT_IOC_ENABLE, 0);
	fault_pages(AFTER);
	exit(!(good & expect_eq("after", perf_count(TELL_FD), before)));
}

static void disable_events(void)
{
	uint64_t before;

	MUST(prctl(PR_TASK_PERF_EVENTS_DISABLE));
	before = perf_count(TELL_FD);
	sleep_ms(50);
	exit(perf_count(TELL_FD) == before);
}

static const struct {
	const char	*word;
	void		(*work)(void);
} words[] = {
	{ "faults", take_faults },
	{ "fork-faults", fork_faults },
	{ "faults-exit", faults_exit },
	{ "read", read_own },
	{ "prctl", disable_events },
};

static void install_program(const char *path, gid_t gid, mode_t mode)
{
	int from = open("/proc/self/exe", O_RDONLY);
	int to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0700);
	struct stat st;

	if (from < 0 || to < 0 || fstat(from, &st) ||
	    sendfile(to, from, NULL, st.st_size) != st.st_size || fchown(to, 0, gid) ||
	    fchmod(to, mode))
		ktap_bail_out(path);
	close(from);
	close(to);
}

int main(int argc, char **argv)
{
	int ret;

	for (unsigned int i = 0; argc > 1 && i < ARRAY_SIZE(words); i++) {
		if (!strcmp(argv[1], words[i].word)) {
			words[i].work();
			return 0;
		}
	}
	install_program(set_uid, 0, 04755);
	install_program(set_gid, 0, 02755);
	install_program(unreadable, 0, 0711);
	install_program(ordinary, 0, 0755);
	ret = run_tests(tests, ARRAY_SIZE(tests), argc, argv);
	unlink(set_uid);
	unlink(set_gid);
	unlink(unreadable);
	unlink(ordinary);
	return ret;
}
