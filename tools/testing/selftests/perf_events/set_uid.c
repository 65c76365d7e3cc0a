// SPDX-License-Identifier: GPL-2.0
/*
 * exec of programs that not everybody may look into: set-uid ones, and ones that cannot be read.
 * Whoever watched the task until then sees no more of it, and an open that runs beside the exec
 * counts nothing of the new program or is refused.
 *
 * The program is this one, copied to where its mode can be changed; a word says what it does.
 */
#include "workload.h"
#include "record.h"

#include <poll.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#define NOBODY	65534
#define BEFORE	40	/* page faults before exec */
#define SOME	60	/* at most that many more: exec's, the C library's, the stack's */
#define AFTER	1000	/* by the new program */

static const char set_uid[] = "/tmp/perf-set-uid", set_gid[] = "/tmp/perf-set-gid",
		  unreadable[] = "/tmp/perf-unreadable", ordinary[] = "/tmp/perf-ordinary";

/* The program's ends of two pipes, which stay open over exec. */
#define TELL_FD	100
#define WAIT_FD	101

struct program {
	struct gate	go, told, again;
	pid_t		pid;
};

/* From here on an ordinary user, whom others of his kind may watch. */
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

/* A child that waits at p->go, faults, and becomes the program. */
static struct program new_program(const char *path, const char *word)
{
	struct program p = { gate_new(), gate_new(), gate_new() };

	p.pid = fork_child();
	if (p.pid)
		return p;
	MUST(dup2(p.told.fd[1], TELL_FD));
	MUST(dup2(p.again.fd[0], WAIT_FD));
	fault(2);
	gate_wait(&p.go);
	fault(BEFORE);
	exec_word(path, word);
	return p;
}

/* Lets it exec and do its work, AFTER faults; it waits then. */
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

/* The event has ended with the old program, and nothing makes it go on. */
static bool has_ended(int fd, struct program *p, uint64_t least)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	bool good = true;
	uint64_t count;

	count = perf_count(fd);
	good &= between("until exec", count, least, least + SOME);
	good &= same("poll", poll(&poll_fd, 1, 1000), 1);
	good &= same("POLLHUP", poll_fd.revents & POLLHUP, POLLHUP);
	enable(fd);
	run_again(p);
	good &= same("enabled again", perf_count(fd), count);
	MUST(ioctl(fd, PERF_EVENT_IOC_RESET, 0));
	run_again(p);
	return good & same("reset", perf_count(fd), 0);
}

/* What an ordinary user opened on his own task ends when it becomes this program. */
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
	end_child(p.pid);
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

/* The same with a program that anybody may read: what the others differ from. */
static bool goes_on_at_ordinary(void)
{
	struct perf_event_attr attr = fault_attr();
	struct program p;
	bool good;
	int fd;

	become_nobody();
	p = new_program(ordinary, "faults");
	fd = MUST(perf_open(&attr, p.pid, -1, -1, 0));
	run_program(&p);
	good = between("old and new program", perf_count(fd), BEFORE + AFTER,
		       BEFORE + AFTER + 2 * SOME);
	end_child(p.pid);
	return good;
}

/* The child's event ends; the parent's, which is its own task's, does not. */
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
	enable(fd);
	run_program(&p);
	count = perf_count(fd);
	good = between("the child's, until exec", count, BEFORE, BEFORE + 3 * SOME);
	run_again(&p);
	good &= between("the parent alone", perf_count(fd) - count, 0, SOME);
	fault(BEFORE);
	good &= between("the parent goes on", perf_count(fd) - count, BEFORE, BEFORE + SOME);
	end_child(p.pid);
	return good;
}

/* All of a group, whatever its members would have done at exec. */
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
	if (!read_format(leader, attr.read_format, &r))
		return false;
	good = between("leader", r.member[0].value, BEFORE, BEFORE + SOME);
	MUST(ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP));
	run_again(&p);
	if (!read_format(leader, attr.read_format, &later))
		return false;
	good &= same("members", later.nr, r.nr);
	good &= same("time", later.enabled, r.enabled);
	for (unsigned int i = 0; i < r.nr; i++) {
		good &= between("member", r.member[i].value, 0, BEFORE + SOME);
		good &= same("later", later.member[i].value, r.member[i].value);
	}
	end_child(p.pid);
	return good;
}

/* An event that the task opened on itself, whose file the new program has. */
static bool own_event_ends(void)
{
	struct perf_event_attr attr = fault_attr();
	pid_t pid;

	become_nobody();
	pid = fork_child();
	if (!pid) {
		MUST(dup2(MUST(perf_open(&attr, 0, -1, -1, 0)), TELL_FD));
		fault(BEFORE);
		exec_word(set_uid, "read");
	}
	return child_was_good(pid);
}

/* The user may not open what he could not have kept; root may. */
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
	/* Of root's own child nothing has changed: it was root's and is. */
	good &= between("root's, for root", perf_count(fd), BEFORE + AFTER, BEFORE + AFTER + 2 * SOME);
	end_child(p.pid);

	user = fork_child();
	if (!user) {
		become_nobody();
		p = new_program(set_uid, "faults");
		run_program(&p);
		for (int i = 0; i < 4; i++) {
			attr.inherit = i & 1;
			attr.enable_on_exec = attr.disabled = i >> 1;
			good &= refused("by the user", perf_open(&attr, p.pid, -1, -1, 0), EACCES,
					"ptrace");
		}
		MUST(write(opened.fd[1], &p, sizeof(p)));
		pause();
	}
	MUST(read(opened.fd[0], &p, sizeof(p)));
	as_root = MUST(perf_open(&attr, p.pid, -1, -1, 0));
	close(as_root);
	end_child(user);
	kill(p.pid, SIGKILL);
	return good;
}

/* Root's event on a user's task ends as well: who may look is not asked again. */
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
	good &= between("until exec", count, BEFORE, BEFORE + SOME);
	after = MUST(perf_open(&attr, p.pid, -1, -1, 0));
	MUST(kill(user, SIGCONT));
	MUST(waitpid(user, NULL, WUNTRACED));
	good &= same("the old one", perf_count(before), count);
	good &= between("a new one", perf_count(after), AFTER, AFTER + SOME);
	kill(p.pid, SIGKILL);
	end_child(user);
	return good;
}

/* Records say that the task execs, but not where the new program and its libraries are. */
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
	end_child(p.pid);
	return same("COMM of exec", execs, 1) & between("MMAP2 after it", maps, least, most);
}

static bool records_end(void)
{
	become_nobody();
	return no_records_of_it(ordinary, 1, 1000) & no_records_of_it(set_uid, 0, 0);
}

/*
 * CVE-2019-3901. One opens while the other execs: an event that was let in before exec ends with
 * it, one that asks afterwards is refused. What counts as much as the new program alone does came
 * in with the old one's rights.
 */

#define ROUNDS	200
#define TRIES	5000
#define KEPT	64	/* the newest, until the program has ended */

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
	/* Not all at once: exec is somewhere in the middle of what comes after this. */
	usleep(round % 20 * 50);
	while (nr < TRIES && late < 20) {
		int new;

		attr.inherit = nr & 1;
		attr.disabled = attr.enable_on_exec = nr >> 1 & 1;
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

	need_cpus(2);
	become_nobody();
	for (unsigned int i = 0; i < ROUNDS; i++)
		open_beside_exec(&r, i);
	ktap_note("%u opened, %u refused with EACCES, %u with ESRCH", r.opened, r.denied, r.ended);
	return same("events that counted the set-uid program", r.leaked, 0) &
	       same("other errors", r.other, 0) &
	       between("opened", r.opened, ROUNDS, UINT64_MAX) &
	       between("EACCES", r.denied, ROUNDS, UINT64_MAX);
}

static const struct test tests[] = {
	{ "an event ends at exec of a set-uid program", plain_event_ends },
	{ "at exec of a set-gid program", ends_at_set_gid },
	{ "at exec of a program that cannot be read", ends_at_unreadable },
	{ "it goes on at exec of an ordinary one", goes_on_at_ordinary },
	{ "enable_on_exec", enable_on_exec_ends },
	{ "remove_on_exec", remove_on_exec_ends },
	{ "inherit", inherit_ends },
	{ "inherited: the child's ends, the parent's goes on", inherited_event_ends },
	{ "a group", group_ends },
	{ "an event of the task's own", own_event_ends },
	{ "root's", roots_event_ends },
	{ "records", records_end },
	{ "opened afterwards: EACCES", opened_afterwards },
	{ "opened meanwhile: nothing of the new program is counted", open_races_with_exec },
};

/*
 * The program
 */

static void tell(void)
{
	if (write(TELL_FD, "", 1) != 1)
		_exit(1);
}

static void faults(void)
{
	char byte;

	do {
		fault(AFTER);
		tell();
	} while (read(WAIT_FD, &byte, 1) == 1);
}

static void fork_faults(void)
{
	pid_t pid = fork();

	if (!pid) {
		faults();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void faults_exit(void)
{
	fault(AFTER);
}

/* The event at TELL_FD is of the task before exec: it stands. */
static void read_own(void)
{
	uint64_t before = perf_count(TELL_FD);
	bool good = between("until exec", before, BEFORE, BEFORE + SOME);

	ioctl(TELL_FD, PERF_EVENT_IOC_ENABLE, 0);
	fault(AFTER);
	exit(!(good & same("after", perf_count(TELL_FD), before)));
}

static const struct {
	const char	*word;
	void		(*work)(void);
} words[] = {
	{ "faults", faults },
	{ "fork-faults", fork_faults },
	{ "faults-exit", faults_exit },
	{ "read", read_own },
};

static void install_program(const char *path, gid_t gid, mode_t mode)
{
	int from = open("/proc/self/exe", O_RDONLY);
	int to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0700);
	struct stat st;

	if (from < 0 || to < 0 || fstat(from, &st) ||
	    sendfile(to, from, NULL, st.st_size) != st.st_size || fchown(to, 0, gid) ||
	    fchmod(to, mode))
		ktap_bail_out("%s", path);
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
