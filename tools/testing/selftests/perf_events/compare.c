// SPDX-License-Identifier: GPL-2.0
/*
 * Random calls, to compare two kernels by their answers: "make compare" runs this program on the
 * stock kernel and on ours and lists what differs. Case N of a seed makes the same calls on both,
 * as long as the answers are the same.
 *
 *	compare				a test: a case answers the same whenever it runs
 *	compare -s SEED -n N [-f FIRST]	one hash for each case, of its answers
 *	compare -s SEED CASE...		the calls and answers of these cases
 *
 * Each case is a process with a bound of time, some of root and some of a user without rights. What
 * it leaves behind ends with it.
 */
#include "bpf_prog.h"
#include "compare_calls.h"

#include <grp.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define CASE_LIMIT	20	/* seconds of the guest's clock */
#define NOBODY		65534

#define CGROUP_PATH	"/cgroup/compare"

static uint64_t compare_seed = 1;

/* A generator of random numbers must not start from numbers that are alike. */
static uint64_t compare_mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return (x ^ x >> 31) | 1;
}

static void case_become_user(void)
{
	const struct rlimit limit = { 65536, 65536 };

	setrlimit(RLIMIT_MEMLOCK, &limit);
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
	    setresuid(NOBODY, NOBODY, NOBODY))
		_exit(1);
	/* exec of a program that may be read keeps this. */
	prctl(PR_SET_DUMPABLE, 1);
}

static void case_set_up(void)
{
	struct sigaction action = { .sa_handler = compare_count_signal, .sa_flags = SA_RESTART };
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	sigaction(SIGIO, &action, NULL);
	sigaction(SIGTRAP, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	setpgid(0, 0);
	alarm(CASE_LIMIT);
	for (unsigned int i = 0; i < COMPARE_SLOTS; i++)
		compare.slots[i].fd = -1;
	/* Page faults are the same whether or not the calls are described. */
	for (size_t at = 0; at < sizeof(compare_answers->text); at += COMPARE_PAGE)
		((volatile char *)compare_answers->text)[at] = 0;
}

static __noreturn void case_run(uint64_t number)
{
	unsigned int calls;

	compare.random = compare_mix(compare_seed << 32 ^ number);
	case_set_up();
	compare.user = compare_one_in(3);
	calls = 1 + compare_random(16);
	if (compare.user)
		case_become_user();
	if (compare_one_in(3))
		helper_start();
	answer_describe("%s paranoid=%ld | ", compare.user ? "user" : "root",
			sysctl_get("perf_event_paranoid", 99));
	answer_end();
	call_open();
	if (compare_one_in(2))
		call_open();
	if (compare_one_in(3))
		call_mmap(&compare.slots[0]);
	while (calls--)
		call_any();
	_exit(0);
}

/* How much a user may see; a sysctl, so the parent sets it. */
static void case_set_paranoid(uint64_t number)
{
	static const int levels[] = { 2, 2, 2, 1, 1, 0, -1, 3 };
	static long now = 99;
	long level = levels[compare_mix(~(compare_seed << 32 ^ number)) >> 8 & 7];

	if (level != now)
		sysctl_set("perf_event_paranoid", level);
	now = level;
}

/* Runs a case; returns the hash of its answers, which are in compare_answers. */
static uint32_t case_fork(uint64_t number)
{
	int status = 0;
	pid_t pid;

	case_set_paranoid(number);
	compare_answers->hash = 2166136261;
	compare_answers->length = 0;
	compare_answers->calls = 0;
	compare_answers->text[0] = 0;
	pid = fork();
	if (pid < 0)
		ktap_bail_out("fork");
	if (!pid)
		case_run(number);
	waitpid(pid, &status, 0);
	kill(-pid, SIGKILL);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	answer_add("status %#x\n", status);
	return compare_answers->hash;
}

/* A pid that no process has. */
static pid_t compare_dead_pid(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	return pid;
}

static void compare_set_up(void)
{
	static char reason[sizeof(*test_skip_reason)];

	test_skip_reason = &reason;
	compare_answers = mmap(NULL, sizeof(*compare_answers), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (compare_answers == MAP_FAILED)
		ktap_bail_out("mmap");
	/* A rate that the kernel lowers would change what is valid later. */
	sysctl_set("perf_cpu_time_max_percent", 0);
	sysctl_set("perf_event_max_sample_rate", 100000);
	sysctl_set("randomize_va_space", 0);
	compare_find_pmus();
	/* perf_event needs no enabling, but exists only after another controller was enabled. */
	write_line("/cgroup/cgroup.subtree_control", "+pids");
	mkdir(CGROUP_PATH, 0755);
	compare.cgroup = open(CGROUP_PATH, O_RDONLY | O_DIRECTORY);
	compare.programs[0] = bpf_load_constant(BPF_PROG_TYPE_PERF_EVENT, 1);
	compare.programs[1] = bpf_load_constant(BPF_PROG_TYPE_TRACEPOINT, 1);
	compare.dead = compare_dead_pid();
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
}

static void compare_print_hashes(uint64_t first, uint64_t nr)
{
	for (uint64_t i = 0; i < nr; i++) {
		if (!(i % 16))
			printf("%shashes %llu", i ? "\n" : "", (long long)(first + i));
		printf(" %08x", case_fork(first + i));
		if (!(i % 512))
			fflush(stdout);
	}
	printf("\n");
}

static void compare_print_case(uint64_t number)
{
	char *line, *rest;
	unsigned int call = 0;

	compare_answers->verbose = true;
	printf("case %llu hash %08x\n", (long long)number, case_fork(number));
	rest = compare_answers->text;
	while ((line = strsep(&rest, "\n")) && *line)
		printf("%llu.%u %s\n", (long long)number, call++, line);
}

/*
 * Without restartable sequences: at a preemption the kernel writes to their area, which takes the
 * page fault that the program's own store would take otherwise.
 */
static void compare_without_rseq(char **argv)
{
	if (getenv("GLIBC_TUNABLES"))
		return;
	setenv("GLIBC_TUNABLES", "glibc.pthread.rseq=0", 1);
	execv("/proc/self/exe", argv);
}

#define TEST_CASES	150

static bool cases_are_repeatable(void)
{
	uint32_t first[TEST_CASES];
	unsigned int differ = 0;

	for (unsigned int i = 0; i < TEST_CASES; i++)
		first[i] = case_fork(i);
	for (unsigned int i = TEST_CASES; i--; ) {
		if (case_fork(i) == first[i])
			continue;
		ktap_note("case %u answers something else when it runs again", i);
		differ++;
	}
	return !differ;
}

static int compare_test(void)
{
	long paranoid = sysctl_get("perf_event_paranoid", 2);

	ktap_start();
	compare_set_up();
	ktap_result(cases_are_repeatable(), "random cases answer the same when they run again");
	sysctl_set("perf_event_paranoid", paranoid);
	return ktap_finish();
}

int main(int argc, char **argv)
{
	uint64_t first = 0, nr = 0;
	int option;

	if (argc > 1 && !strcmp(argv[1], COMPARE_HELPER))
		helper_run();
	if (argc > 1 && !strcmp(argv[1], COMPARE_WORKER)) {
		compare_work();
		return 0;
	}
	compare_without_rseq(argv);
	if (argc == 1)
		return compare_test();
	while ((option = getopt(argc, argv, "s:n:f:")) != -1) {
		if (option == '?')
			return 2;
		*(option == 's' ? &compare_seed : option == 'n' ? &nr : &first) =
			strtoull(optarg, NULL, 0);
	}
	compare_set_up();
	if (nr)
		compare_print_hashes(first, nr);
	while (optind < argc)
		compare_print_case(strtoull(argv[optind++], NULL, 0));
	printf("done\n");
	return 0;
}
