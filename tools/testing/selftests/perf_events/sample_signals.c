// SPDX-License-Identifier: GPL-2.0
/* Signals of overflows: IOC_REFRESH with POLL_IN and POLL_HUP, sigtrap. Run as root. */
#include "sampling.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <linux/sched.h>

#ifndef TRAP_PERF
# define TRAP_PERF 6
#endif
#ifndef TRAP_PERF_FLAG_ASYNC
# define TRAP_PERF_FLAG_ASYNC 1
#endif

static volatile sig_atomic_t got_in, got_hup, got_other;

static void on_io(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	if (info->si_code == POLL_IN)
		got_in++;
	else if (info->si_code == POLL_HUP)
		got_hup++;
	else
		got_other++;
}

static void signals_to(int fd)
{
	struct sigaction action = { .sa_sigaction = on_io, .sa_flags = SA_SIGINFO };

	sigaction(SIGRTMIN + 3, &action, NULL);
	fcntl(fd, F_SETOWN, getpid());
	fcntl(fd, F_SETSIG, SIGRTMIN + 3);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC);
	got_in = 0;
	got_hup = 0;
	got_other = 0;
}

static bool ioc_refresh(void)
{
	struct perf_event_attr attr = fault_attr(2, PERF_SAMPLE_ADDR);
	int fd = open_mapped(&attr, 4);
	char *p = fresh_pages(100);
	bool ok = true;

	signals_to(fd);
	ioctl(fd, PERF_EVENT_IOC_REFRESH, 5);
	touch_pages(p, 100);
	ok &= expect_eq("IOC_REFRESH 5: samples", ring_count(&ring, PERF_RECORD_SAMPLE), 5);
	ok &= expect_eq("IOC_REFRESH 5: it stopped counting", perf_count(fd), 10);
	ok &= expect_eq("IOC_REFRESH 5: POLL_IN", got_in, 4);
	ok &= expect_eq("IOC_REFRESH 5: POLL_HUP", got_hup, 1);

	p = fresh_pages(100);
	ioctl(fd, PERF_EVENT_IOC_REFRESH, 1);
	touch_pages(p, 100);
	ok &= expect_eq("IOC_REFRESH 1: samples", ring_count(&ring, PERF_RECORD_SAMPLE), 1);
	ok &= expect_eq("IOC_REFRESH 1: POLL_HUP", got_hup, 2);
	ok &= expect_eq("IOC_REFRESH 1: nothing else", got_in + got_other, 4);
	close_mapped(fd);
	return ok;
}

/* A timer that stops itself in its own handler. */
static bool clock_refresh(void)
{
	bool ok = true;

	for (uint64_t id = PERF_COUNT_SW_CPU_CLOCK; id <= PERF_COUNT_SW_TASK_CLOCK; id++) {
		struct perf_event_attr attr = clock_attr(id, 1000000);
		int fd = open_mapped(&attr, 4);

		signals_to(fd);
		for (int i = 1; i <= 3; i++) {
			ioctl(fd, PERF_EVENT_IOC_REFRESH, 2);
			spin_ns(30000000);
		}
		ok &= expect_eq(id ? "task-clock with IOC_REFRESH: samples" :
				     "cpu-clock with IOC_REFRESH: samples",
				ring_count(&ring, PERF_RECORD_SAMPLE), 6);
		ok &= expect_eq("POLL_HUP", got_hup, 3);
		close_mapped(fd);
	}
	return ok;
}

/* One signal for each fault, at the instruction that faults. */
static volatile sig_atomic_t traps, good_traps, trap_flags;
static char *trap_page;

static void on_trap(int sig, siginfo_t *info, void *context)
{
	/* si_perf_data and si_perf_type follow si_addr. */
	struct perf_info {
		void		*addr;
		unsigned long	data;
		uint32_t	type, flags;
	} *perf = (void *)&info->si_addr;

	(void)sig;
	(void)context;
	good_traps += info->si_code == TRAP_PERF && perf->addr == trap_page + traps * page &&
		      perf->data == 0xfeedface12345678UL && perf->type == PERF_TYPE_SOFTWARE &&
		      perf->flags == 0;
	trap_flags = perf->flags;
	traps++;
}

static struct perf_event_attr trap_attr(void)
{
	struct perf_event_attr attr = fault_attr(1, PERF_SAMPLE_ADDR);

	attr.sigtrap = 1;
	attr.remove_on_exec = 1;
	attr.sig_data = 0xfeedface12345678ULL;
	return attr;
}

static bool sigtrap_per_fault(void)
{
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	struct perf_event_attr attr = trap_attr();
	int fd = perf_open(&attr, 0, -1, -1, 0);
	bool ok = true;

	if (fd < 0)
		return expect_errno("an event with sigtrap", fd, 0);
	sigaction(SIGTRAP, &action, NULL);
	trap_page = fresh_pages(50);
	count_faults(fd, trap_page, 50);
	ok &= expect_eq("sigtrap: signals of 50 faults", traps, 50);
	ok &= expect_eq("sigtrap: code, address, data, type", good_traps, 50);
	close(fd);
	return ok;
}

static volatile sig_atomic_t trap_types;

static void on_clock_trap(int sig, siginfo_t *info, void *context)
{
	/* si_perf_type follows si_addr and si_perf_data. */
	const uint32_t *type = (void *)((char *)&info->si_addr + 2 * sizeof(long));

	(void)sig;
	(void)context;
	trap_types |= 1 << *type;
	traps++;
}

static void *spin_in_thread(void *unused)
{
	spin_ns(20000000);
	return unused;
}

/* A clock has a PMU of its own, but the user opened a software event. */
static bool sigtrap_inherited(void)
{
	struct sigaction action = { .sa_sigaction = on_clock_trap, .sa_flags = SA_SIGINFO };
	struct perf_event_attr attr = clock_attr(PERF_COUNT_SW_TASK_CLOCK, 1000000);
	struct sigaction before;
	pthread_t thread;
	int fd;
	bool ok = true;

	attr.sigtrap = 1;
	attr.remove_on_exec = 1;
	attr.inherit = 1;
	attr.inherit_thread = 1;
	sigaction(SIGTRAP, &action, &before);
	fd = perf_open(&attr, 0, -1, -1, 0);
	traps = 0;
	trap_types = 0;
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	if (fd < 0 || pthread_create(&thread, NULL, spin_in_thread, NULL))
		fail_case("a thread with an inherited event");
	pthread_join(thread, NULL);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	ok &= expect_between("sigtrap: signals of an inherited clock", traps, 10, 10000);
	ok &= expect_eq("the types in their siginfo", trap_types, 1 << PERF_TYPE_SOFTWARE);
	close(fd);
	sigaction(SIGTRAP, &before, NULL);
	return ok;
}

/* The status of a child that clone3() makes with these flags, and that touches @p. */
static int status_of_clone(uint64_t flags, char *p, unsigned int nr)
{
	struct clone_args args = { .flags = flags, .exit_signal = SIGCHLD };
	int status = -1;
	pid_t child = MUST(syscall(__NR_clone3, &args, sizeof(args)));

	if (!child) {
		touch_pages(p, nr);
		_exit(0);
	}
	waitpid(child, &status, 0);
	return status;
}

/* CLONE_CLEAR_SIGHAND leaves no handler: a signal of an inherited event would end the child. */
static bool sigtrap_cleared(void)
{
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	struct perf_event_attr attr = trap_attr();
	char *p = fresh_pages(100);
	uint64_t first;
	bool good;
	int fd;

	attr.inherit = 1;
	sigaction(SIGTRAP, &action, NULL);
	fd = MUST(perf_open(&attr, 0, -1, -1, 0));
	event_enable(fd);
	good = expect_eq("without handlers: status",
			 status_of_clone(CLONE_CLEAR_SIGHAND, p, 100), 0);
	first = perf_count(fd);
	good &= expect_eq("with a handler: status", status_of_clone(0, p, 100), 0);
	event_disable(fd);
	/* The parent has some after each fork. */
	good &= expect_between("without handlers: faults", first, 0, 50);
	good &= expect_between("with a handler: faults", perf_count(fd) - first, 100, 150);
	close(fd);
	return good;
}

/* The event is closed, or the task exits, while the signal is pending. */
static bool sigtrap_blocked(void)
{
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	struct perf_event_attr attr = trap_attr();
	int fd = perf_open(&attr, 0, -1, -1, 0), status;
	sigset_t set;
	pid_t child;
	bool ok = true;

	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigaction(SIGTRAP, &action, NULL);
	count_faults(fd, fresh_pages(5), 5);
	close(fd);
	ok &= expect_eq("sigtrap: none while it is blocked", traps, 0);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	ok &= expect_eq("sigtrap: one afterwards", traps, 1);
	ok &= expect_eq("sigtrap: marked asynchronous", trap_flags, TRAP_PERF_FLAG_ASYNC);

	child = fork();
	if (!child) {
		signal(SIGTRAP, SIG_DFL);
		fd = perf_open(&attr, 0, -1, -1, 0);
		sigprocmask(SIG_BLOCK, &set, NULL);
		count_faults(fd, fresh_pages(5), 5);
		_exit(7);
	}
	waitpid(child, &status, 0);
	ok &= expect(WIFEXITED(status) && WEXITSTATUS(status) == 7,
		     "sigtrap: a task exits with the signal pending");
	return ok;
}

static const struct test tests[] = {
	{ "IOC_REFRESH takes that many samples and hangs up", ioc_refresh },
	{ "a clock stops in its own handler after IOC_REFRESH", clock_refresh },
	{ "sigtrap: one synchronous signal for each fault", sigtrap_per_fault },
	{ "sigtrap: an inherited clock sends the type of a software event", sigtrap_inherited },
	{ "sigtrap: CLONE_CLEAR_SIGHAND inherits no event", sigtrap_cleared },
	{ "sigtrap: a blocked signal stays pending, over close and exit", sigtrap_blocked },
};

TESTS_MAIN_SETUP(tests, sampling_setup)
