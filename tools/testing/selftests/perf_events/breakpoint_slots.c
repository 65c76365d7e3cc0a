// SPDX-License-Identifier: GPL-2.0
/*
 * Debug registers, the slots of breakpoints: all of them can be used and are freed again, perf and
 * ptrace share them, and a breakpoint that is modified keeps its slot. Run as root.
 */
#include "breakpoint.h"

#include <elf.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#ifdef __aarch64__
#include <asm/ptrace.h>
#endif

static void close_all(int *fd, unsigned int nr)
{
	while (nr)
		close(fd[--nr]);
}

/*
 * Opens breakpoints until one is refused, each for another word: the emulator reports only one of
 * several watchpoints on an address. Returns the number of breakpoints.
 */
static unsigned int open_all(int *fd, pid_t pid, int cpu)
{
	unsigned int nr;

	for (nr = 0; nr <= MAX_SLOTS; nr++) {
		fd[nr] = bp_open(HW_BREAKPOINT_W, &target.word[1 + nr], 8, pid, cpu);
		if (fd[nr] < 0)
			break;
	}
	return nr;
}

#if defined(__x86_64__)
#define DR(n)		(offsetof(struct user, u_debugreg) + (n) * sizeof(long))
#define DR7_ENABLE	1ul
#define DR7_WRITE_8	(0x9ul << 16)

static unsigned int data_slots(void)
{
	return 4;
}

static int debug_set(pid_t pid, volatile void *addr, bool enable)
{
	if (ptrace(PTRACE_POKEUSER, pid, DR(0), addr))
		return -1;
	return ptrace(PTRACE_POKEUSER, pid, DR(7), DR7_WRITE_8 | (enable ? DR7_ENABLE : 0));
}

static unsigned long debug_addr(pid_t pid)
{
	return ptrace(PTRACE_PEEKUSER, pid, DR(0), NULL);
}

/* On x86 the trap follows the access. */
static int debug_step_over(pid_t pid)
{
	return pid ? 0 : -1;
}
#else
#define WCR_WRITE_8	((0xff << 5) | (2 << 3) | (2 << 1))	/* bytes, stores, EL0 */
#define WCR_ENABLE	1

static int debug_regset(int request, pid_t pid, struct user_hwdebug_state *state)
{
	struct iovec iov = {
		.iov_base = state,
		.iov_len = offsetof(struct user_hwdebug_state, dbg_regs[1]),
	};

	return ptrace(request, pid, NT_ARM_HW_WATCH, &iov);
}

static int debug_set(pid_t pid, volatile void *addr, bool enable)
{
	struct user_hwdebug_state state = { };

	state.dbg_regs[0].addr = (uintptr_t)addr;
	state.dbg_regs[0].ctrl = WCR_WRITE_8 | (enable ? WCR_ENABLE : 0);
	return debug_regset(PTRACE_SETREGSET, pid, &state);
}

static unsigned long debug_addr(pid_t pid)
{
	struct user_hwdebug_state state = { };

	return debug_regset(PTRACE_GETREGSET, pid, &state) ? -1ul : state.dbg_regs[0].addr;
}

/* On arm64 the trap precedes the access and would repeat: step with the watchpoint disabled. */
static int debug_step_over(pid_t pid)
{
	void *addr = (void *)debug_addr(pid);
	int status;

	if (debug_set(pid, addr, false) || ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) ||
	    waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return -1;
	return debug_set(pid, addr, true);
}

static unsigned int data_slots(void)
{
	struct user_hwdebug_state state = { };
	pid_t pid = fork_child();
	int err;

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	err = debug_regset(PTRACE_GETREGSET, pid, &state);
	kill_child(pid);
	if (err)
		fail_case("NT_ARM_HW_WATCH");
	return state.dbg_info & 0xff;
}
#endif

/* A stopped child that writes words 0 and 1 @times each when it continues. */
static pid_t traced_writer(unsigned int times)
{
	pid_t pid = fork_child();
	int status;

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		write_words(&target.word[0], times);
		write_words(&target.word[1], times);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		fail_case("child did not stop");
	return pid;
}

/* Lets the child run to its end. Returns the number of its traps, -1 on any other stop. */
static int count_traps(pid_t pid)
{
	int status, traps = 0;

	for (;;) {
		if (ptrace(PTRACE_CONT, pid, NULL, NULL) || waitpid(pid, &status, 0) != pid)
			return -1;
		if (WIFEXITED(status))
			return traps;
		if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP || debug_step_over(pid))
			return -1;
		traps++;
	}
}

static bool the_last_slot_and_no_more(void)
{
	unsigned int slots = data_slots();
	int fd[MAX_SLOTS + 1];
	unsigned int nr = open_all(fd, 0, -1), n;
	bool good = expect_refused("one more", watch_writes(0, -1), ENOSPC, "debug registers");

	good &= expect_eq("opened", nr, slots);
	for (n = 0; n < nr; n++)
		write_words(&target.word[1 + n], 10 + n);
	for (n = 0; n < nr; n++)
		good &= expect_eq("count", perf_count(fd[n]), 10 + n);
	close_all(fd, nr);
	nr = open_all(fd, 0, -1);
	good &= expect_eq("opened again", nr, slots);
	close_all(fd, nr);
	return good;
}

static bool closing_gives_the_slot_back(void)
{
	int fd[MAX_SLOTS + 1];
	unsigned int nr = open_all(fd, 0, -1), n;
	bool good = nr > 0;

	for (n = 0; good && n < 100; n++) {
		close(fd[n % nr]);
		fd[n % nr] = watch_writes(0, -1);
		good &= fd[n % nr] >= 0;
		good &= expect_errno("one more", watch_writes(0, -1), ENOSPC);
	}
	close_all(fd, nr);
	return good;
}

static bool tasks_have_slots_each(void)
{
	unsigned int slots = data_slots();
	int mine[MAX_SLOTS + 1], its[MAX_SLOTS + 1];
	pid_t pid = fork_waiting_child();
	unsigned int nr_mine = open_all(mine, 0, -1);
	unsigned int nr_its = open_all(its, pid, -1);
	bool good = expect_eq("own", nr_mine, slots) & expect_eq("child's", nr_its, slots);

	close_all(mine, nr_mine);
	close_all(its, nr_its);
	kill_child(pid);
	return good;
}

static bool a_cpu_and_its_tasks_share_slots(void)
{
	unsigned int slots = data_slots();
	int fd[MAX_SLOTS + 1], more[MAX_SLOTS + 1];
	unsigned int nr = open_all(fd, 0, -1), nr_more;
	bool good = expect_errno("CPU, all with a task", watch_writes(-1, 0), ENOSPC);

	if (!nr)
		return false;
	close(fd[--nr]);
	fd[nr] = watch_writes(-1, 0);
	good &= fd[nr] >= 0;
	nr += fd[nr] >= 0;
	good &= expect_errno("CPU, second", watch_writes(-1, 0), ENOSPC);
	good &= expect_errno("task, last with the CPU", watch_writes(0, -1), ENOSPC);
	close_all(fd, nr);

	/* A breakpoint of a task on one CPU uses no slot of other CPUs. */
	nr = open_all(fd, 0, 0);
	good &= expect_eq("of a task on CPU 0", nr, slots);
	good &= expect_errno("task, any CPU", watch_writes(0, -1), ENOSPC);
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1) {
		nr_more = open_all(more, -1, 1);
		good &= expect_eq("of CPU 1", nr_more, slots);
		close_all(more, nr_more);
	}
	close_all(fd, nr);
	return good;
}

static bool an_exit_gives_the_slots_back(void)
{
	struct perf_event_attr attr = bp_attr(HW_BREAKPOINT_W, &target.word[0], 8);
	unsigned int slots = data_slots(), n, nr;
	int fd[MAX_SLOTS + 1];
	bool good = true;

	attr.inherit = 1;
	for (n = 0; n < 50; n++) {
		pid_t pid = fork_child();

		if (!pid) {
			for (nr = 0; nr < slots; nr++)
				if (perf_open(&attr, 0, -1, -1, 0) < 0)
					_exit(1);
			pid = fork();
			if (!pid)
				_exit(0);
			_exit(pid < 0 || !child_succeeded(pid));
		}
		good &= child_succeeded(pid);
	}
	nr = open_all(fd, -1, 0);
	good &= expect_eq("of CPU 0", nr, slots);
	close_all(fd, nr);
	return good;
}

static bool ptrace_traps_each_write(void)
{
	pid_t pid = traced_writer(3);
	bool good = !debug_set(pid, &target.word[0], true) &&
		    expect_eq("address", debug_addr(pid), (uintptr_t)&target.word[0]);
	int traps = count_traps(pid);

	if (traps < 0)
		kill_child(pid);
	return expect_eq("traps", traps, 3) && good;
}

static bool ptrace_and_perf_share_slots(void)
{
	pid_t pid = traced_writer(4);
	int fd[MAX_SLOTS + 1];
	unsigned int nr = open_all(fd, pid, -1);
	bool good = expect_eq("perf", nr, data_slots());
	int traps;

	good &= expect_errno("ptrace, all taken", debug_set(pid, &target.word[0], true), ENOSPC);
	if (nr)
		close(fd[--nr]);
	good &= expect_errno("ptrace", debug_set(pid, &target.word[0], true), 0);
	good &= expect_errno("perf, all taken", watch_writes(pid, -1), ENOSPC);

	traps = count_traps(pid);
	good &= expect_eq("traps", traps, 4);
	if (traps < 0)
		kill_child(pid);
	good &= nr && expect_eq("count", perf_count(fd[0]), 4);
	close_all(fd, nr);
	return good;
}

/* ptrace cannot watch a kernel address; the old address stays watched. */
static bool ptrace_invalid_keeps_the_old_one(void)
{
	pid_t pid = traced_writer(3);
	bool good = !debug_set(pid, &target.word[0], true);
	int traps;

	good &= expect_errno("kernel address", debug_set(pid, (void *)(-4096l), true), EINVAL);
	good &= expect_eq("address", debug_addr(pid), (uintptr_t)&target.word[0]);
	traps = count_traps(pid);
	good &= expect_eq("traps", traps, 3);
	if (traps < 0)
		kill_child(pid);
	return good;
}

static int modify_event(int fd, const struct perf_event_attr *attr)
{
	return ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, attr);
}

static bool modify_moves_it(void)
{
	struct perf_event_attr attr = bp_attr(HW_BREAKPOINT_W, &target.word[0], 8);
	int fd = perf_open(&attr, 0, -1, -1, 0);
	bool good;

	if (fd < 0)
		return expect_errno("open", fd, 0);
	write_words(&target.word[0], 10);
	attr.sig_data = 77;	/* may change as well */
	attr.bp_addr = (uintptr_t)&target.word[2];
	good = expect_errno("modify", modify_event(fd, &attr), 0);
	write_words(&target.word[0], 100);
	write_words(&target.word[2], 1000);
	good &= expect_eq("count", perf_count(fd), 1010);

	attr.bp_type = HW_BREAKPOINT_X;
	attr.bp_addr = (uintptr_t)watched_function;
	attr.bp_len = X_LEN;
	good &= expect_errno("to an instruction", modify_event(fd, &attr), 0);
	call_function(500);
	good &= expect_eq("count with calls", perf_count(fd), 1510);
	close(fd);
	return good;
}

/* A child forked before the change writes to the new address after it. */
static bool modify_reaches_the_children(void)
{
	struct perf_event_attr attr = bp_attr(HW_BREAKPOINT_W, &target.word[0], 8);
	int fd, go[2];
	bool good;
	pid_t pid;
	char token;

	attr.inherit = 1;
	fd = perf_open(&attr, 0, -1, -1, 0);
	if (fd < 0 || pipe(go))
		return expect_errno("open", fd, 0);
	pid = fork_child();
	if (!pid) {
		close(go[1]);
		if (read(go[0], &token, 1))
			_exit(1);
		write_words(&target.word[0], 10);
		write_words(&target.word[2], 200);
		_exit(0);
	}
	attr.bp_addr = (uintptr_t)&target.word[2];
	good = expect_errno("modify", modify_event(fd, &attr), 0);
	close(go[0]);
	close(go[1]);
	good &= child_succeeded(pid);
	good &= expect_eq("count", perf_count(fd), 200);
	close(fd);
	return good;
}

static void write_two_bytes(void)
{
	for (int n = 0; n < 30; n++)
		target.byte[0] = n;
	for (int n = 0; n < 100; n++)
		target.byte[1] = n;
}

/* What is counted of those writes here and in a child that is forked now. */
static uint64_t count_of_two_bytes(int fd)
{
	uint64_t before = perf_count(fd);
	pid_t pid = fork_child();

	write_two_bytes();
	if (!pid)
		_exit(0);
	if (!child_succeeded(pid))
		fail_case("a child");
	return perf_count(fd) - before;
}

/* A shorter range is that of this task, and of children that are forked later. */
static bool modify_shortens_it(void)
{
	struct perf_event_attr attr = bp_attr(HW_BREAKPOINT_W, &target.word[0], 8);
	bool good;
	int fd;

	attr.inherit = 1;
	fd = perf_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		return expect_errno("open", fd, 0);
	good = expect_eq("writes to 8 bytes", count_of_two_bytes(fd), 2 * 130);
	attr.bp_len = 1;
	good &= expect_errno("modify", modify_event(fd, &attr), 0);
	good &= expect_eq("writes to one byte", count_of_two_bytes(fd), 2 * 30);
	close(fd);
	return good;
}

static bool modify_invalid_keeps_the_old_one(void)
{
	const struct perf_event_attr old = bp_attr(HW_BREAKPOINT_W, &target.word[0], 8);
	struct perf_event_attr attr = old;
	int fd = perf_open(&attr, 0, -1, -1, 0);
	bool good;

	if (fd < 0)
		return expect_errno("open", fd, 0);
	attr.bp_type = HW_BREAKPOINT_INVALID;
	good = expect_refused("no type", modify_event(fd, &attr), EINVAL, "bp_type");
	attr = old;
	attr.bp_addr += 4;
	attr.bp_len = 5;
	good &= expect_errno("no length", modify_event(fd, &attr), EINVAL);
	attr = old;
	attr.bp_addr = -4096ul;
	good &= expect_errno("kernel address", modify_event(fd, &attr), EINVAL);
	attr = old;
	attr.pinned = 1;
	good &= expect_refused("pinned", modify_event(fd, &attr), EINVAL, "attr: only bp_*");
	attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	good &= expect_errno("type", modify_event(fd, &attr), EINVAL);

	write_words(&target.word[0], 100);
	good &= expect_eq("count", perf_count(fd), 100);
	close(fd);
	return good;
}

/* Without PERF_SAMPLE_BRANCH_STACK the event has no branch_sample_type, whatever its open had. */
static bool modify_with_unused_branches(void)
{
	struct perf_event_attr attr = bp_attr(HW_BREAKPOINT_W, &target.word[0], 8);
	bool good;
	int fd;

	attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
	fd = perf_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		return expect_errno("open", fd, 0);
	good = expect_refused("as it was opened", modify_event(fd, &attr), EINVAL,
			      "attr: only bp_*");
	attr.branch_sample_type = 0;
	good &= expect_errno("as it is", modify_event(fd, &attr), 0);
	close(fd);
	return good;
}

/* arm64 has separate registers for data and instructions: all of those for data may be in use. */
static bool modify_without_a_register_fails(void)
{
	struct perf_event_attr attr = bp_attr(HW_BREAKPOINT_W, &target.word[0], 8);
	int fd[MAX_SLOTS + 1], x = bp_open(HW_BREAKPOINT_X, watched_function, X_LEN, 0, -1);
	unsigned int nr = open_all(fd, 0, -1);
	bool good = x >= 0;

#ifdef __x86_64__
	good &= expect_eq("left for data", nr, data_slots() - 1);
	good &= expect_errno("change", modify_event(x, &attr), 0);
#else
	good &= expect_eq("left for data", nr, data_slots());
	good &= expect_refused("change", modify_event(x, &attr), ENOSPC, "debug registers");
	call_function(100);
	good &= expect_eq("calls", perf_count(x), 100);
	close(fd[--nr]);
	good &= expect_errno("change, one free", modify_event(x, &attr), 0);
	ioctl(x, PERF_EVENT_IOC_RESET, 0);
#endif
	write_words(&target.word[0], 20);
	good &= expect_eq("writes", perf_count(x), 20);
	close_all(fd, nr);
	close(x);
	return good;
}

static bool only_a_breakpoint_is_modified(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	int fd = perf_open(&attr, 0, -1, -1, 0);
	bool good = expect_errno("modify", modify_event(fd, &attr), EOPNOTSUPP);

	close(fd);
	return good;
}

static const struct test tests[] = {
	{ "as many slots as the hardware has", the_last_slot_and_no_more },
	{ "close() frees the slot", closing_gives_the_slot_back },
	{ "each task has all slots", tasks_have_slots_each },
	{ "a CPU and its tasks share slots", a_cpu_and_its_tasks_share_slots },
	{ "exit frees the slots", an_exit_gives_the_slots_back },
	{ "ptrace traps each write", ptrace_traps_each_write },
	{ "ptrace and perf share slots", ptrace_and_perf_share_slots },
	{ "ptrace: an invalid change keeps the old one", ptrace_invalid_keeps_the_old_one },
	{ "modify moves a breakpoint", modify_moves_it },
	{ "modify reaches the children", modify_reaches_the_children },
	{ "modify shortens a breakpoint, also for later children", modify_shortens_it },
	{ "modify: an invalid change keeps the old one", modify_invalid_keeps_the_old_one },
	{ "modify: without a free register the old one is kept", modify_without_a_register_fails },
	{ "modify: a selection of branches that is not used", modify_with_unused_branches },
	{ "modify: no other event", only_a_breakpoint_is_modified },
};

TESTS_MAIN(tests)
