// SPDX-License-Identifier: GPL-2.0
/*
 * Hardware breakpoints: that they count every access of their kind and no other, that debug
 * registers are given out up to the last one and come back, and that perf and ptrace share them.
 *
 * Run as root.
 */
#include "perf_test.h"

#include <elf.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <linux/hw_breakpoint.h>
#ifdef __aarch64__
#include <asm/ptrace.h>
#endif

#define MAX_SLOTS	16
#define NOBODY_ID	65534
#define X_LEN		sizeof(long)	/* the length that an instruction breakpoint must have */

/* What is watched: word 0, or words from 1 where there are several. Nothing else touches it. */
static union {
	volatile uint64_t	word[MAX_SLOTS + 2];
	volatile uint8_t	byte[8];
} target __attribute__((aligned(64)));

static void write_words(volatile uint64_t *word, unsigned int times)
{
	while (times--)
		*word = times;
}

static uint64_t read_words(volatile uint64_t *word, unsigned int times)
{
	uint64_t sum = 0;

	while (times--)
		sum += *word;
	return sum;
}

__attribute__((noinline, noclone))
static void called(void)
{
	asm volatile("");
}

static void call(unsigned int times)
{
	while (times--)
		called();
}

/*
 * Help
 */

static struct perf_event_attr bp_attr(uint32_t type, volatile void *addr, uint64_t len)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_BREAKPOINT, 0);

	attr.bp_type = type;
	attr.bp_addr = (uintptr_t)addr;
	attr.bp_len = len;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	return attr;
}

static int bp_open(uint32_t type, volatile void *addr, uint64_t len, pid_t pid, int cpu)
{
	struct perf_event_attr attr = bp_attr(type, addr, len);

	return perf_open(&attr, pid, cpu, -1, 0);
}

static int watch_writes(pid_t pid, int cpu)
{
	return bp_open(HW_BREAKPOINT_W, &target.word[0], 8, pid, cpu);
}

/* Is @have what it should be? Says so if not. */
static bool same(const char *what, long long have, long long want)
{
	if (have != want)
		ktap_note("%s: %lld, expected %lld", what, have, want);
	return have == want;
}

/* Why the test that runs now cannot be had here; its result does not matter then. */
static const char *missing;

static void close_all(int *fd, unsigned int nr)
{
	while (nr)
		close(fd[--nr]);
}

/*
 * Opens until there is no more room, each for a word of its own: the emulator reports but one of
 * several watchpoints on an address. Answers how many.
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

static pid_t fork_or_die(void)
{
	pid_t pid = fork();

	if (pid < 0)
		ktap_bail_out("fork");
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

/* A child that does nothing but wait. */
static pid_t waiting_child(void)
{
	pid_t pid = fork_or_die();

	if (!pid)
		for (;;)
			pause();
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* What @pid says by its exit status: 0 for good. */
static bool child_was_good(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status);
}

/*
 * Debug registers through ptrace, for a child that is stopped. Number 0 only.
 */

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

/* The trap comes after the access. */
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

/* The trap comes before the access and would come again: step with the watchpoint off. */
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
	pid_t pid = fork_or_die();
	int err;

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	err = debug_regset(PTRACE_GETREGSET, pid, &state);
	end_child(pid);
	if (err)
		ktap_bail_out("NT_ARM_HW_WATCH");
	return state.dbg_info & 0xff;
}
#endif

/* A stopped child that will write words 0 and 1 @times when it goes on. */
static pid_t traced_writer(unsigned int times)
{
	pid_t pid = fork_or_die();
	int status;

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		write_words(&target.word[0], times);
		write_words(&target.word[1], times);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		ktap_bail_out("child did not stop");
	return pid;
}

/* Lets the child run to its end. Answers the traps of its watchpoint, -1 if something else came. */
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

/*
 * Counting
 */

static bool counts_each_write(void)
{
	int fd = watch_writes(0, -1);
	bool good;

	if (fd < 0)
		return refused("open", fd, 0, NULL);
	write_words(&target.word[0], 1000);
	read_words(&target.word[0], 77);
	write_words(&target.word[1], 55);
	good = same("count", perf_count(fd), 1000);
	close(fd);
	return good;
}

static bool counts_reads_and_writes(void)
{
	int fd = bp_open(HW_BREAKPOINT_RW, &target.word[0], 8, 0, -1);
	bool good;

	if (fd < 0)
		return refused("open", fd, 0, NULL);
	write_words(&target.word[0], 300);
	read_words(&target.word[0], 700);
	read_words(&target.word[1], 55);
	good = same("count", perf_count(fd), 1000);
	close(fd);
	return good;
}

/* x86 has no register that watches reads alone. */
static bool counts_reads_or_refuses(void)
{
	int fd = bp_open(HW_BREAKPOINT_R, &target.word[0], 8, 0, -1);
	bool good;

	if (fd < 0) {
#ifdef __x86_64__
		return refused("R", fd, EINVAL, "bp_type");
#else
		return refused("R", fd, 0, NULL);
#endif
	}
	write_words(&target.word[0], 300);
	read_words(&target.word[0], 700);
	good = same("count", perf_count(fd), 700);
	close(fd);
	return good;
}

static bool counts_each_execution(void)
{
	int fd = bp_open(HW_BREAKPOINT_X, called, X_LEN, 0, -1);
	bool good;

	if (fd < 0)
		return refused("open", fd, 0, NULL);
	call(1000);
	good = same("count", perf_count(fd), 1000);
	close(fd);
	return good;
}

static bool watches_no_byte_more_than_asked(void)
{
	int fd = bp_open(HW_BREAKPOINT_W, &target.byte[1], 1, 0, -1);
	bool good;

	if (fd < 0)
		return refused("open", fd, 0, NULL);
	target.byte[0] = 1;
	target.byte[2] = 1;
	good = same("neighbours", perf_count(fd), 0);
	target.byte[1] = 1;
	good &= same("byte", perf_count(fd), 1);
	target.word[0] = 1;
	good &= same("word around it", perf_count(fd), 2);
	close(fd);
	return good;
}

static bool counts_only_while_enabled(void)
{
	struct perf_event_attr attr = bp_attr(HW_BREAKPOINT_W, &target.word[0], 8);
	bool good;
	int fd;

	attr.disabled = 1;
	fd = perf_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		return refused("open", fd, 0, NULL);
	write_words(&target.word[0], 10);
	good = same("opened disabled", perf_count(fd), 0);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	write_words(&target.word[0], 20);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	write_words(&target.word[0], 40);
	good &= same("disabled again", perf_count(fd), 20);
	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	write_words(&target.word[0], 5);
	good &= same("after reset", perf_count(fd), 5);
	close(fd);
	return good;
}

/* Two tasks alternate on one CPU, both watched at the same address of their own. */
static bool a_switch_keeps_tasks_apart(void)
{
	static const unsigned int times[2] = { 300, 500 };
	int fd[2], go[2], n;
	pid_t pid[2];
	bool good = true;

	if (pipe(go))
		ktap_bail_out("pipe");
	for (n = 0; n < 2; n++) {
		char token;
		unsigned int i;

		pid[n] = fork_or_die();
		if (pid[n])
			continue;
		close(go[1]);
		pin_to_cpu(0);
		if (read(go[0], &token, 1))
			_exit(1);
		for (i = 0; i < times[n]; i++) {
			write_words(&target.word[0], 1);
			sched_yield();
		}
		_exit(0);
	}
	for (n = 0; n < 2; n++) {
		fd[n] = watch_writes(pid[n], -1);
		good &= fd[n] >= 0;
	}
	close(go[0]);
	close(go[1]);
	for (n = 0; n < 2; n++) {
		good &= child_was_good(pid[n]);
		good &= same("count", perf_count(fd[n]), times[n]);
		close(fd[n]);
	}
	return good;
}

static bool a_cpu_breakpoint_counts_its_cpu(void)
{
	int fd, cpus = sysconf(_SC_NPROCESSORS_ONLN);
	bool good;

	if (cpus < 2) {
		missing = "a second CPU";
		return false;
	}
	pin_to_cpu(1);
	fd = watch_writes(-1, 0);
	if (fd < 0)
		return refused("open", fd, 0, NULL);
	write_words(&target.word[0], 100);
	good = same("on another CPU", perf_count(fd), 0);
	pin_to_cpu(0);
	write_words(&target.word[0], 200);
	good &= same("on its CPU", perf_count(fd), 200);
	close(fd);
	return good;
}

static bool children_inherit_it(void)
{
	struct perf_event_attr attr = bp_attr(HW_BREAKPOINT_W, &target.word[0], 8);
	bool good = true;
	int fd, n;

	attr.inherit = 1;
	fd = perf_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		return refused("open", fd, 0, NULL);
	write_words(&target.word[0], 1);
	for (n = 0; n < 5; n++) {
		pid_t pid = fork_or_die();

		if (!pid) {
			write_words(&target.word[0], 100);
			_exit(0);
		}
		good &= child_was_good(pid);
	}
	good &= same("count", perf_count(fd), 501);
	close(fd);
	return good;
}

/* Every hit overflows: as many samples as writes, each with the address. */
static bool a_period_of_one_samples_each_hit(void)
{
	struct perf_event_attr attr = bp_attr(HW_BREAKPOINT_W, &target.word[0], 8);
	struct { struct perf_event_header header; uint64_t addr; } *sample;
	size_t page = sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *user;
	unsigned int samples = 0;
	uint64_t tail = 0;
	bool good = true;
	int fd;

	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_ADDR;
	fd = perf_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		return refused("open", fd, 0, NULL);
	user = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (user == MAP_FAILED) {
		close(fd);
		return refused("mmap", -1, 0, NULL);
	}
	write_words(&target.word[0], 50);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	while (tail < __atomic_load_n(&user->data_head, __ATOMIC_ACQUIRE)) {
		sample = (void *)((char *)user + page + tail);
		if (sample->header.type == PERF_RECORD_SAMPLE) {
			samples++;
			good &= same("address", sample->addr, (uintptr_t)&target.word[0]);
		}
		tail += sample->header.size;
	}
	good &= same("samples", samples, 50);
	good &= same("count", perf_count(fd), 50);
	munmap(user, 2 * page);
	close(fd);
	return good;
}

/*
 * Slots
 */

static bool the_last_slot_and_no_more(void)
{
	unsigned int slots = data_slots();
	int fd[MAX_SLOTS + 1];
	unsigned int nr = open_all(fd, 0, -1), n;
	bool good = refused("one more", watch_writes(0, -1), ENOSPC, "debug registers");

	good &= same("opened", nr, slots);
	for (n = 0; n < nr; n++)
		write_words(&target.word[1 + n], 10 + n);
	for (n = 0; n < nr; n++)
		good &= same("count", perf_count(fd[n]), 10 + n);
	close_all(fd, nr);
	nr = open_all(fd, 0, -1);
	good &= same("opened again", nr, slots);
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
		good &= refused("one more", watch_writes(0, -1), ENOSPC, NULL);
	}
	close_all(fd, nr);
	return good;
}

static bool tasks_have_slots_each(void)
{
	unsigned int slots = data_slots();
	int mine[MAX_SLOTS + 1], its[MAX_SLOTS + 1];
	pid_t pid = waiting_child();
	unsigned int nr_mine = open_all(mine, 0, -1);
	unsigned int nr_its = open_all(its, pid, -1);
	bool good = same("own", nr_mine, slots) & same("child's", nr_its, slots);

	close_all(mine, nr_mine);
	close_all(its, nr_its);
	end_child(pid);
	return good;
}

static bool a_cpu_and_its_tasks_share_slots(void)
{
	unsigned int slots = data_slots();
	int fd[MAX_SLOTS + 1], more[MAX_SLOTS + 1];
	unsigned int nr = open_all(fd, 0, -1), nr_more;
	bool good = refused("CPU, all with a task", watch_writes(-1, 0), ENOSPC, NULL);

	if (!nr)
		return false;
	close(fd[--nr]);
	fd[nr] = watch_writes(-1, 0);
	good &= fd[nr] >= 0;
	nr += fd[nr] >= 0;
	good &= refused("CPU, second", watch_writes(-1, 0), ENOSPC, NULL);
	good &= refused("task, last with the CPU", watch_writes(0, -1), ENOSPC, NULL);
	close_all(fd, nr);

	/* A task's breakpoint for one CPU takes nothing from other CPUs. */
	nr = open_all(fd, 0, 0);
	good &= same("of a task on CPU 0", nr, slots);
	good &= refused("task, any CPU", watch_writes(0, -1), ENOSPC, NULL);
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1) {
		nr_more = open_all(more, -1, 1);
		good &= same("of CPU 1", nr_more, slots);
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
		pid_t pid = fork_or_die();

		if (!pid) {
			for (nr = 0; nr < slots; nr++)
				if (perf_open(&attr, 0, -1, -1, 0) < 0)
					_exit(1);
			pid = fork();
			if (!pid)
				_exit(0);
			_exit(pid < 0 || !child_was_good(pid));
		}
		good &= child_was_good(pid);
	}
	nr = open_all(fd, -1, 0);
	good &= same("of CPU 0", nr, slots);
	close_all(fd, nr);
	return good;
}

/*
 * ptrace
 */

static bool ptrace_traps_each_write(void)
{
	pid_t pid = traced_writer(3);
	bool good = !debug_set(pid, &target.word[0], true) &&
		    same("address", debug_addr(pid), (uintptr_t)&target.word[0]);
	int traps = count_traps(pid);

	if (traps < 0)
		end_child(pid);
	return same("traps", traps, 3) && good;
}

static bool ptrace_and_perf_share_slots(void)
{
	pid_t pid = traced_writer(4);
	int fd[MAX_SLOTS + 1];
	unsigned int nr = open_all(fd, pid, -1);
	bool good = same("perf", nr, data_slots());
	int traps;

	good &= refused("ptrace, all taken", debug_set(pid, &target.word[0], true), ENOSPC, NULL);
	if (nr)
		close(fd[--nr]);
	good &= refused("ptrace", debug_set(pid, &target.word[0], true), 0, NULL);
	good &= refused("perf, all taken", watch_writes(pid, -1), ENOSPC, NULL);

	traps = count_traps(pid);
	good &= same("traps", traps, 4);
	if (traps < 0)
		end_child(pid);
	good &= nr && same("count", perf_count(fd[0]), 4);
	close_all(fd, nr);
	return good;
}

/* An address in the kernel is not ptrace's to watch; the old one is watched on. */
static bool ptrace_invalid_keeps_the_old_one(void)
{
	pid_t pid = traced_writer(3);
	bool good = !debug_set(pid, &target.word[0], true);
	int traps;

	good &= refused("kernel address", debug_set(pid, (void *)(-4096l), true), EINVAL, NULL);
	good &= same("address", debug_addr(pid), (uintptr_t)&target.word[0]);
	traps = count_traps(pid);
	good &= same("traps", traps, 3);
	if (traps < 0)
		end_child(pid);
	return good;
}

/*
 * Modification
 */

static int modify(int fd, const struct perf_event_attr *attr)
{
	return ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, attr);
}

static bool modify_moves_it(void)
{
	struct perf_event_attr attr = bp_attr(HW_BREAKPOINT_W, &target.word[0], 8);
	int fd = perf_open(&attr, 0, -1, -1, 0);
	bool good;

	if (fd < 0)
		return refused("open", fd, 0, NULL);
	write_words(&target.word[0], 10);
	attr.sig_data = 77;	/* may change along */
	attr.bp_addr = (uintptr_t)&target.word[2];
	good = refused("modify", modify(fd, &attr), 0, NULL);
	write_words(&target.word[0], 100);
	write_words(&target.word[2], 1000);
	good &= same("count", perf_count(fd), 1010);

	attr.bp_type = HW_BREAKPOINT_X;
	attr.bp_addr = (uintptr_t)called;
	attr.bp_len = X_LEN;
	good &= refused("to an instruction", modify(fd, &attr), 0, NULL);
	call(500);
	good &= same("count with calls", perf_count(fd), 1510);
	close(fd);
	return good;
}

/* A child that was forked before the change writes to the new address after it. */
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
		return refused("open", fd, 0, NULL);
	pid = fork_or_die();
	if (!pid) {
		close(go[1]);
		if (read(go[0], &token, 1))
			_exit(1);
		write_words(&target.word[0], 10);
		write_words(&target.word[2], 200);
		_exit(0);
	}
	attr.bp_addr = (uintptr_t)&target.word[2];
	good = refused("modify", modify(fd, &attr), 0, NULL);
	close(go[0]);
	close(go[1]);
	good &= child_was_good(pid);
	good &= same("count", perf_count(fd), 200);
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
		return refused("open", fd, 0, NULL);
	attr.bp_type = HW_BREAKPOINT_INVALID;
	good = refused("no type", modify(fd, &attr), EINVAL, "bp_type");
	attr = old;
	attr.bp_addr += 4;
	attr.bp_len = 5;
	good &= refused("no length", modify(fd, &attr), EINVAL, NULL);
	attr = old;
	attr.bp_addr = -4096ul;
	good &= refused("kernel address", modify(fd, &attr), EINVAL, NULL);
	attr = old;
	attr.pinned = 1;
	good &= refused("pinned", modify(fd, &attr), EINVAL, "bp_len");
	attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	good &= refused("type", modify(fd, &attr), EINVAL, NULL);

	write_words(&target.word[0], 100);
	good &= same("count", perf_count(fd), 100);
	close(fd);
	return good;
}

/* Where data and instructions have registers of their own, those asked for may be taken. */
static bool modify_without_a_slot_keeps_the_old_one(void)
{
	struct perf_event_attr attr = bp_attr(HW_BREAKPOINT_W, &target.word[0], 8);
	int fd[MAX_SLOTS + 1], x = bp_open(HW_BREAKPOINT_X, called, X_LEN, 0, -1);
	unsigned int nr = open_all(fd, 0, -1);
	bool good = x >= 0;

#ifdef __x86_64__
	good &= same("left for data", nr, data_slots() - 1);
	good &= refused("change", modify(x, &attr), 0, NULL);
#else
	good &= same("left for data", nr, data_slots());
	good &= refused("change", modify(x, &attr), ENOSPC, "debug registers");
	call(100);
	good &= same("calls", perf_count(x), 100);
	close(fd[--nr]);
	good &= refused("change, one free", modify(x, &attr), 0, NULL);
	ioctl(x, PERF_EVENT_IOC_RESET, 0);
#endif
	write_words(&target.word[0], 20);
	good &= same("writes", perf_count(x), 20);
	close_all(fd, nr);
	close(x);
	return good;
}

static bool only_a_breakpoint_is_modified(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	int fd = perf_open(&attr, 0, -1, -1, 0);
	bool good = refused("modify", modify(fd, &attr), EOPNOTSUPP, NULL);

	close(fd);
	return good;
}

/*
 * Addresses of the kernel
 */

/* Something that nobody writes while the test runs; 0 if the kernel does not tell. */
static unsigned long kernel_address(void)
{
	unsigned long addr = 0, value;
	char name[128], kind;
	FILE *f = fopen("/proc/kallsyms", "r");

	while (f && !addr && fscanf(f, "%lx %c %127[^\n]", &value, &kind, name) == 3)
		if (!strcmp(name, "linux_banner"))
			addr = value & ~7ul;
	if (f)
		fclose(f);
	return addr;
}

static bool open_kernel_as(bool privileged, unsigned long addr, bool exclude_kernel, int error)
{
	struct perf_event_attr attr = bp_attr(HW_BREAKPOINT_W, (void *)addr, 8);
	pid_t pid = fork_or_die();
	int fd;

	if (pid)
		return child_was_good(pid);

	attr.exclude_kernel = exclude_kernel;
	if (!privileged && (setgid(NOBODY_ID) || setuid(NOBODY_ID)))
		_exit(1);
	/* Of a CPU: arm64 lets nobody watch the kernel in one task. */
	fd = perf_open(&attr, -1, 0, -1, 0);
	_exit(!refused(privileged ? "root" : "nobody", fd, error, error ? "bp_addr" : NULL));
}

static bool the_kernel_is_for_the_privileged(void)
{
	unsigned long addr = kernel_address();
	long paranoid = sysctl_get("perf_event_paranoid", 2);
	bool good;

	if (!addr) {
		missing = "addresses in /proc/kallsyms";
		return false;
	}
	sysctl_set("perf_event_paranoid", -1);
	good = open_kernel_as(true, addr, false, 0);
	good &= open_kernel_as(true, addr, true, EINVAL);
	good &= open_kernel_as(false, addr, false, EPERM);
	good &= open_kernel_as(false, addr, true, EINVAL);
	sysctl_set("perf_event_paranoid", paranoid);
	return good;
}

static const struct {
	const char	*name;
	bool		(*run)(void);
} tests[] = {
	{ "counts each write", counts_each_write },
	{ "counts reads and writes", counts_reads_and_writes },
	{ "counts reads, or refuses to", counts_reads_or_refuses },
	{ "counts each execution", counts_each_execution },
	{ "watches no byte more than asked", watches_no_byte_more_than_asked },
	{ "counts only while enabled", counts_only_while_enabled },
	{ "a switch keeps tasks apart", a_switch_keeps_tasks_apart },
	{ "a CPU breakpoint counts its CPU", a_cpu_breakpoint_counts_its_cpu },
	{ "children inherit it", children_inherit_it },
	{ "a period of one samples each hit", a_period_of_one_samples_each_hit },
	{ "the last slot and no more", the_last_slot_and_no_more },
	{ "closing gives the slot back", closing_gives_the_slot_back },
	{ "tasks have slots each", tasks_have_slots_each },
	{ "a CPU and its tasks share slots", a_cpu_and_its_tasks_share_slots },
	{ "an exit gives the slots back", an_exit_gives_the_slots_back },
	{ "ptrace traps each write", ptrace_traps_each_write },
	{ "ptrace and perf share slots", ptrace_and_perf_share_slots },
	{ "ptrace: an invalid change keeps the old one", ptrace_invalid_keeps_the_old_one },
	{ "modify moves it", modify_moves_it },
	{ "modify reaches the children", modify_reaches_the_children },
	{ "modify: an invalid change keeps the old one", modify_invalid_keeps_the_old_one },
	{ "modify: without a slot keeps the old one", modify_without_a_slot_keeps_the_old_one },
	{ "modify is for breakpoints only", only_a_breakpoint_is_modified },
	{ "the kernel is for the privileged", the_kernel_is_for_the_privileged },
};

static void run_test(unsigned int n)
{
	bool good;

	missing = NULL;
	good = tests[n].run();
	if (missing)
		ktap_skip(tests[n].name, missing);
	else
		ktap_result(good, "%s", tests[n].name);
}

int main(int argc, char **argv)
{
	unsigned int n;

	ktap_start(argc > 1 ? 0 : ARRAY_SIZE(tests));
	for (n = 0; n < ARRAY_SIZE(tests); n++)
		if (argc < 2 || strstr(tests[n].name, argv[1]))
			run_test(n);
	return ktap_finish();
}
