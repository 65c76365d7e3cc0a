// SPDX-License-Identifier: GPL-2.0
/*
 * All operations at once, at random: events of every kind are opened, grouped, mapped, redirected,
 * read, changed and closed by processes that fork, exec, migrate and exit, while CPUs turn offline
 * and online. The kernel survives, has nothing in its log, frees what it allocated, and counts
 * correctly afterwards.
 *
 * "make storm" sets STORM_SECONDS in the environment (as a kernel parameter) for a long run;
 * STORM_SEED repeats the choices of an earlier run, as far as scheduling allows.
 */
#include "memlock.h"
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "processes.h"
#include "workloads.h"

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>
#include <linux/hw_breakpoint.h>

#define WORKERS		6
#define EVENTS		12
#define CGROUPS		2

#define CGROUP_ROOT	"/cgroup"

struct held {
	int		fd;
	void		*map, *aux;
	size_t		size, aux_size;
};

/* Totals of all workers; shared. */
static struct {
	uint64_t	opened, refused, branches, precise, ibs;
	uint64_t	mapped, aux, moved, forked, toggled;
	uint64_t	until;
} *told;

static __thread uint64_t rng;
static struct held held[EVENTS];
static volatile long watched;		/* for breakpoints */
static unsigned int nr_cpus;
static uint64_t tracepoint_ids[3];
static unsigned int dynamic_type[16], nr_dynamic;
static int aux_type, ibs_type;
static bool samples_brs;		/* the branch records are those of Zen 3 */
static unsigned int branch_depth, max_precise;	/* 0: there are no such samples */
static int cgroup_fd[CGROUPS] = { -1, -1 };

static uint64_t random_below(uint64_t below)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (rng >> 11) % below;
}

static bool one_in(unsigned int n)
{
	return !random_below(n);
}

static void count_up(uint64_t *what)
{
	__atomic_fetch_add(what, 1, __ATOMIC_RELAXED);
}

static uint64_t number_in(const char *path)
{
	char line[32];

	return read_line(path, line, sizeof(line)) > 0 ? strtoull(line, NULL, 0) : 0;
}

static void cgroup_path(char *path, size_t size, unsigned int nr, const char *file)
{
	snprintf(path, size, CGROUP_ROOT "/storm%u%s", nr, file);
}

/* The root is one of them. */
static void make_cgroups(void)
{
	char path[64];

	for (unsigned int i = 1; i < CGROUPS; i++) {
		cgroup_path(path, sizeof(path), i, "");
		mkdir(path, 0755);
		cgroup_fd[i] = MUST(open(path, O_RDONLY | O_DIRECTORY));
	}
	cgroup_fd[0] = MUST(open(CGROUP_ROOT, O_RDONLY | O_DIRECTORY));
	MUST(write_line(CGROUP_ROOT "/cgroup.subtree_control", "+pids"));
}

static void change_cgroup(void)
{
	unsigned int nr = random_below(CGROUPS);
	char path[64] = CGROUP_ROOT "/cgroup.procs";

	if (nr)
		cgroup_path(path, sizeof(path), nr, "/cgroup.procs");
	if (!write_line(path, "0"))
		count_up(&told->moved);
}

/* Finds what can be counted here. */
static void look_around(void)
{
	static const char * const tracepoints[] = {
		"sched/sched_switch", "raw_syscalls/sys_enter", "irq/softirq_entry"
	};
	const char *devices = "/sys/bus/event_source/devices";
	struct dirent *entry;
	char path[512];
	DIR *dir;

	for (unsigned int i = 0; i < ARRAY_SIZE(tracepoints); i++) {
		snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/id", tracepoints[i]);
		tracepoint_ids[i] = number_in(path);
	}
	dir = opendir(devices);
	while (dir && (entry = readdir(dir)) && nr_dynamic < ARRAY_SIZE(dynamic_type)) {
		snprintf(path, sizeof(path), "%s/%s/type", devices, entry->d_name);
		if (number_in(path) >= PERF_TYPE_MAX)
			dynamic_type[nr_dynamic++] = number_in(path);
	}
	if (dir)
		closedir(dir);
	aux_type = perf_pmu_type("test_aux");
	ibs_type = perf_pmu_type("ibs_op");
	samples_brs = !access("/sys/bus/event_source/devices/cpu/events/branch-brs", F_OK);
	branch_depth = number_in("/sys/bus/event_source/devices/cpu/caps/branches");
	max_precise = number_in("/sys/bus/event_source/devices/cpu/caps/max_precise");
	make_cgroups();
	nr_cpus = sysconf(_SC_NPROCESSORS_CONF);
}

static void choose_event(struct perf_event_attr *attr)
{
	switch (random_below(aux_type < 0 ? 8 : 9)) {
	case 0:
	case 1:
		attr->type = PERF_TYPE_SOFTWARE;
		attr->config = random_below(PERF_COUNT_SW_MAX);
		break;
	case 2:
	case 3:
		attr->type = PERF_TYPE_HARDWARE;
		attr->config = random_below(PERF_COUNT_HW_MAX);
		break;
	case 4:
		attr->type = PERF_TYPE_HW_CACHE;
		attr->config = random_below(8) | random_below(3) << 8 | random_below(2) << 16;
		break;
	case 5:
		attr->type = PERF_TYPE_TRACEPOINT;
		attr->config = tracepoint_ids[random_below(ARRAY_SIZE(tracepoint_ids))];
		break;
	case 6:
		attr->type = PERF_TYPE_BREAKPOINT;
		attr->bp_type = HW_BREAKPOINT_W;
		attr->bp_len = HW_BREAKPOINT_LEN_4;
		attr->bp_addr = (unsigned long)&watched;
		attr->exclude_kernel = 1;
		break;
	case 7:
		attr->type = nr_dynamic ? dynamic_type[random_below(nr_dynamic)] : PERF_TYPE_RAW;
		attr->config = random_below(64);
		break;
	case 8:
		attr->type = aux_type;
		attr->config = random_below(2000);	/* bytes in a burst */
		break;
	}
}

/*
 * Clocks and counters: a hundred of them with a short period each would leave the emulated CPUs no
 * time for anything else.
 */
static bool never_rests(const struct perf_event_attr *attr)
{
	return attr->type != PERF_TYPE_TRACEPOINT && attr->type != PERF_TYPE_BREAKPOINT &&
	       (attr->type != PERF_TYPE_SOFTWARE || attr->config <= PERF_COUNT_SW_TASK_CLOCK);
}

/*
 * A system call leaves the handler of a signal, and a watched store on arm64 traps before it is
 * done, and again after the handler. With a signal for each of these there would be no progress.
 */
static bool comes_again(const struct perf_event_attr *attr)
{
#ifdef __aarch64__
	if (attr->type == PERF_TYPE_BREAKPOINT)
		return true;
#endif
	return attr->type == PERF_TYPE_TRACEPOINT;
}

static void choose_sampling(struct perf_event_attr *attr)
{
	static const uint64_t periods[] = { 1, 2, 17, 1000 };

	if (one_in(2))
		return;
	if (one_in(4)) {
		attr->freq = 1;
		attr->sample_freq = 1 + random_below(500);
	} else if (never_rests(attr)) {
		attr->sample_period = 3000000 + random_below(3000000);
	} else {
		attr->sample_period = periods[random_below(ARRAY_SIZE(periods))];
	}
	attr->sample_type = random_below(1ull << 25);
	attr->sample_type &=
		~(PERF_SAMPLE_AUX | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_WEIGHT_STRUCT);
	if (attr->sample_type & PERF_SAMPLE_STACK_USER)
		attr->sample_stack_user = 8 * random_below(1024);
	if (attr->sample_type & (PERF_SAMPLE_REGS_USER | PERF_SAMPLE_REGS_INTR)) {
		attr->sample_regs_user = 0xff;
		attr->sample_regs_intr = 0xff;
	}
	attr->wakeup_events = random_below(3);
	attr->sigtrap = one_in(20) && !comes_again(attr);
	attr->remove_on_exec = attr->sigtrap;
	attr->sig_data = random_below(1000);
	attr->write_backward = one_in(8);
}

#define BATCH_FIELDS							\
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU)

#define TAKEN_BRANCHES	0xc4	/* AMD, RETIRED_TAKEN_BRANCH_INSTRUCTIONS */

/*
 * Instruction based samples; branch records and precise samples, of which those with few fields
 * share interrupts.
 */
static void choose_deep(struct perf_event_attr *attr)
{
	static const uint64_t filters[] = {
		PERF_SAMPLE_BRANCH_ANY, PERF_SAMPLE_BRANCH_ANY_CALL, PERF_SAMPLE_BRANCH_ANY_RETURN,
		PERF_SAMPLE_BRANCH_COND, PERF_SAMPLE_BRANCH_CALL_STACK, PERF_SAMPLE_BRANCH_CALL,
		PERF_SAMPLE_BRANCH_IND_CALL, PERF_SAMPLE_BRANCH_IND_JUMP,
		PERF_SAMPLE_BRANCH_COND | PERF_SAMPLE_BRANCH_ANY_CALL,
	};
	static const uint64_t fields[] = {
		PERF_SAMPLE_BRANCH_TYPE_SAVE, PERF_SAMPLE_BRANCH_PRIV_SAVE,
		PERF_SAMPLE_BRANCH_HW_INDEX, PERF_SAMPLE_BRANCH_NO_FLAGS,
		PERF_SAMPLE_BRANCH_NO_CYCLES, PERF_SAMPLE_BRANCH_COUNTERS,
		PERF_SAMPLE_BRANCH_IN_TX, PERF_SAMPLE_BRANCH_NO_TX,
	};

	if (ibs_type >= 0 && one_in(6)) {
		attr->type = ibs_type;
		attr->config = 0;
		attr->sample_period = attr->freq ? 1000 : 16 * (1000 + random_below(10000));
	}
	if (attr->type != PERF_TYPE_HARDWARE || !attr->sample_period)
		return;
	if (max_precise && one_in(2)) {
		attr->precise_ip = 1 + random_below(max_precise);
		if (!attr->freq)
			attr->sample_period /= 8;
		if (one_in(2)) {
			attr->sample_type &= BATCH_FIELDS;
			attr->wakeup_events = 0;
		}
	}
	if (samples_brs && one_in(2)) {
		/* The one kind of event that has them, without other filters. */
		attr->type = PERF_TYPE_RAW;
		attr->config = TAKEN_BRANCHES;
		attr->freq = 0;
		attr->sample_period = 1000 + random_below(10000);
		attr->sample_type |= PERF_SAMPLE_BRANCH_STACK;
		attr->branch_sample_type = filters[0] | PERF_SAMPLE_BRANCH_USER;
	} else if (branch_depth && one_in(2)) {
		attr->sample_type |= PERF_SAMPLE_BRANCH_STACK;
		attr->branch_sample_type = filters[random_below(ARRAY_SIZE(filters))] |
					   PERF_SAMPLE_BRANCH_USER;
		for (unsigned int i = random_below(4); i; i--)
			attr->branch_sample_type |= fields[random_below(ARRAY_SIZE(fields))];
		if (one_in(3))
			attr->branch_sample_type |= PERF_SAMPLE_BRANCH_KERNEL;
	}
}

static void choose_flags(struct perf_event_attr *attr)
{
	attr->read_format = random_below(32) & (one_in(2) ? 31 : 15);
	attr->disabled = one_in(3);
	attr->inherit = one_in(3);
	attr->inherit_thread = attr->inherit && one_in(4);
	attr->inherit_stat = attr->inherit && one_in(4);
	attr->pinned = one_in(8);
	attr->exclusive = one_in(30);
	attr->exclude_user = one_in(10);
	attr->exclude_kernel |= one_in(3);
	attr->enable_on_exec = one_in(4);
	attr->mmap = one_in(6);
	attr->mmap2 = attr->mmap;
	attr->comm = one_in(6);
	attr->comm_exec = attr->comm;
	attr->task = one_in(6);
	attr->context_switch = one_in(6);
	attr->ksymbol = one_in(12);
	attr->cgroup = one_in(12);
	attr->namespaces = one_in(12);
	attr->sample_id_all = one_in(2);
}

/* A trace leads its group, and an inherited one has no area on all CPUs. */
static void keep_simple(struct perf_event_attr *attr, int *group)
{
	attr->inherit = 0;
	attr->inherit_thread = 0;
	attr->inherit_stat = 0;
	attr->sample_period = 0;
	attr->sample_freq = 0;
	attr->freq = 0;
	attr->sigtrap = 0;
	attr->remove_on_exec = 0;
	*group = -1;
}

static void open_one(struct held *h)
{
	struct perf_event_attr attr = perf_attr(0, 0);
	int cpu = one_in(2) ? -1 : (int)random_below(nr_cpus);
	unsigned long flags = one_in(6) ? PERF_FLAG_FD_CLOEXEC : 0;
	int group = -1, pid = 0;

	choose_event(&attr);
	choose_sampling(&attr);
	choose_deep(&attr);
	choose_flags(&attr);
	if (one_in(3))
		group = held[random_below(EVENTS)].fd;
	if (attr.type == (uint32_t)aux_type)
		keep_simple(&attr, &group);
	if (group >= 0 && one_in(8))
		flags |= PERF_FLAG_FD_NO_GROUP | PERF_FLAG_FD_OUTPUT;
	if (cpu >= 0 && one_in(2))
		pid = -1;
	if (pid < 0 && one_in(3)) {
		pid = cgroup_fd[random_below(CGROUPS)];
		flags |= PERF_FLAG_PID_CGROUP;
	} else if (!pid && one_in(5)) {
		pid = getppid();
	}
	h->fd = perf_open(&attr, pid, cpu, group, flags);
	count_up(h->fd >= 0 ? &told->opened : &told->refused);
	if (h->fd >= 0 && attr.precise_ip)
		count_up(&told->precise);
	if (h->fd >= 0 && attr.branch_sample_type)
		count_up(&told->branches);
	if (h->fd >= 0 && attr.type == (uint32_t)ibs_type)
		count_up(&told->ibs);
}

static void unmap_event(struct held *h)
{
	bool aux_first = one_in(2);

	if (h->aux && aux_first)
		munmap(h->aux, h->aux_size);
	if (h->map)
		munmap(h->map, h->size);
	if (h->aux && !aux_first)
		munmap(h->aux, h->aux_size);
	h->map = NULL;
	h->aux = NULL;
}

/* Maps the AUX area if the event has one. */
static void map_aux(struct held *h)
{
	struct perf_event_mmap_page *page = h->map;

	h->aux_size = sysconf(_SC_PAGESIZE) << random_below(5);
	page->aux_offset = h->size;
	page->aux_size = h->aux_size;
	h->aux = mmap(NULL, h->aux_size, one_in(4) ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED,
		      h->fd, h->size);
	if (h->aux == MAP_FAILED)
		h->aux = NULL;
	else
		count_up(&told->aux);
}

static void map_one(struct held *h)
{
	bool writable = !one_in(4);

	if (h->map || h->fd < 0)
		return;
	h->size = (1 + (1ul << random_below(5))) * sysconf(_SC_PAGESIZE);
	h->map = mmap(NULL, h->size, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
		      h->fd, 0);
	if (h->map == MAP_FAILED) {
		h->map = NULL;
		return;
	}
	count_up(&told->mapped);
	if (writable)
		map_aux(h);
}

/* A reader: drops all records. */
static void drop_records(struct held *h)
{
	struct perf_event_mmap_page *page = h->map;

	if (page)
		__atomic_store_n(&page->data_tail,
				 __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE),
				 __ATOMIC_RELEASE);
}

static void use_one(struct held *h)
{
	static const unsigned int plain[] = {
		PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE, PERF_EVENT_IOC_RESET
	};
	struct pollfd p = { .fd = h->fd, .events = POLLIN };
	uint64_t room[200], value = random_below(100000) + 1;

	switch (random_below(9)) {
	case 0:
	case 1:
		read(h->fd, room, random_below(2) ? sizeof(room) : random_below(200));
		break;
	case 2:
		ioctl(h->fd, plain[random_below(3)], one_in(3) ? PERF_IOC_FLAG_GROUP : 0);
		break;
	case 3:
		ioctl(h->fd, PERF_EVENT_IOC_PERIOD, &value);
		break;
	case 4:
		ioctl(h->fd, PERF_EVENT_IOC_REFRESH, random_below(5));
		break;
	case 5:
		ioctl(h->fd, PERF_EVENT_IOC_SET_OUTPUT,
		      one_in(4) ? -1 : held[random_below(EVENTS)].fd);
		break;
	case 6:
		ioctl(h->fd, PERF_EVENT_IOC_PAUSE_OUTPUT, random_below(2));
		break;
	case 7:
		poll(&p, 1, 0);
		drop_records(h);
		break;
	case 8:
		ioctl(h->fd, PERF_EVENT_IOC_ID, &value);
		prctl(one_in(2) ? PR_TASK_PERF_EVENTS_DISABLE : PR_TASK_PERF_EVENTS_ENABLE);
		break;
	}
}

/* The second thread of a worker: maps, redirects and reads what the first one has open. */
static void *meddle_thread(void *arg)
{
	rng = *(uint64_t *)arg ^ 0x5555;
	while (monotonic_ns() < told->until) {
		size_t size = (1 + (1ul << random_below(5))) * sysconf(_SC_PAGESIZE);
		int fd = held[random_below(EVENTS)].fd;
		void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		uint64_t room[200];

		if (one_in(2))
			ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT,
			      one_in(4) ? -1 : held[random_below(EVENTS)].fd);
		if (one_in(2))
			read(fd, room, sizeof(room));
		if (map != MAP_FAILED) {
			count_up(&told->mapped);
			munmap(map, size);
		}
		usleep(random_below(1000));
	}
	return NULL;
}

static void work_a_little(void)
{
	for (unsigned int i = random_below(200); i; i--) {
		watched++;
		if (one_in(20))
			getppid();
	}
	run_loop(1 + random_below(20000));
	if (one_in(20))
		usleep(random_below(500));
}

static void fork_children(void)
{
	pid_t pid = fork();

	if (pid < 0)
		return;
	if (!pid) {
		rng += getpid();
		work_a_little();
		if (one_in(4) && !fork()) {
			work_a_little();
			_exit(0);
		}
		if (one_in(3))
			execl("/bin/true", "true", NULL);
		for (int i = 0; i < EVENTS && one_in(2); i++)
			close(held[random_below(EVENTS)].fd);
		_exit(0);
	}
	count_up(&told->forked);
	if (one_in(8))
		kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void ignore_signal(int nr)
{
	(void)nr;
}

/*
 * Works until the time is over; the parent starts a worker again if a signal of an event ends it.
 */
static void storm_worker(uint64_t seed)
{
	pthread_t thread;

	rng = seed * 0x9e3779b97f4a7c15ull + 1;
	signal(SIGTRAP, ignore_signal);
	signal(SIGIO, ignore_signal);
	for (int i = 0; i < EVENTS; i++)
		held[i] = (struct held){ .fd = -1 };
	if (pthread_create(&thread, NULL, meddle_thread, &rng))
		fail_case("pthread_create");
	while (monotonic_ns() < told->until) {
		struct held *h = &held[random_below(EVENTS)];

		switch (random_below(13)) {
		case 0:
		case 1:
		case 2:
			if (one_in(2))
				unmap_event(h);
			close(h->fd);	/* the mapping may outlive it */
			unmap_event(h);
			open_one(h);
			break;
		case 3:
			map_one(h);
			break;
		case 4:
			unmap_event(h);
			break;
		case 5:
			if (one_in(4))
				fork_children();
			break;
		case 6:
			pin_to_cpu(random_below(nr_cpus));
			break;
		case 7:
			work_a_little();
			break;
		case 8:
			change_cgroup();
			break;
		default:
			use_one(h);
		}
	}
	_exit(0);
}

static void set_cpu(unsigned int cpu, bool on)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/online", cpu);
	write_line(path, on ? "1" : "0");
}

static void toggle_cpus(uint64_t seed)
{
	rng = seed + 1;
	while (monotonic_ns() < told->until && nr_cpus > 1) {
		unsigned int cpu = 1 + random_below(nr_cpus - 1);

		set_cpu(cpu, false);
		usleep(random_below(30000));
		set_cpu(cpu, true);
		usleep(random_below(200000));
		count_up(&told->toggled);
	}
	_exit(0);
}

static void run_storm(uint64_t seed)
{
	pid_t pid[WORKERS + 1];
	int running = 0;

	signal(SIGTRAP, ignore_signal);		/* workers also have events on their parent */
	for (uint64_t i = 0; i <= WORKERS; i++) {
		pid[i] = fork_child();
		if (!pid[i])
			i == WORKERS ? toggle_cpus(seed) : storm_worker(seed + i);
		running++;
	}
	while (running) {
		pid_t ended = wait(NULL);

		running--;
		for (uint64_t i = 0; i < WORKERS && monotonic_ns() < told->until; i++) {
			if (pid[i] != ended)
				continue;
			pid[i] = fork_child();
			if (!pid[i])
				storm_worker(++seed * 31 + i);
			running++;
		}
	}
	for (unsigned int cpu = 1; cpu < nr_cpus; cpu++)
		set_cpu(cpu, true);
}

static bool all_operations(void)
{
	uint64_t seconds = env_number("STORM_SECONDS", 10),
		 seed = env_number("STORM_SEED", monotonic_ns());
	bool good = true;

	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (told == MAP_FAILED)
		fail_case("mmap");
	alarm(CASE_SECONDS + seconds * 2);
	look_around();
	ktap_note("STORM_SEED=%llu", (unsigned long long)seed);
	fflush(stdout);
	told->until = monotonic_ns() + seconds * 1000000000ull;
	run_storm(seed);
	ktap_note("%llu events opened, %llu refused, %llu mappings, %llu of AUX",
		  (unsigned long long)told->opened, (unsigned long long)told->refused,
		  (unsigned long long)told->mapped, (unsigned long long)told->aux);
	ktap_note("%llu with branch records, %llu precise, %llu of IBS",
		  (unsigned long long)told->branches, (unsigned long long)told->precise,
		  (unsigned long long)told->ibs);
	ktap_note("%llu forks, %llu times a CPU offline", (unsigned long long)told->forked,
		  (unsigned long long)told->toggled);
	good &= expect_between("opened", told->opened, 2 * seconds, UINT64_MAX);
	/* A short run, or one of the slow debug kernel, opens few events of each kind. */
	if ((branch_depth || max_precise) && told->opened >= 300)
		good &= expect_between("with branches or precise",
				       told->branches + told->precise, 1, UINT64_MAX);
	good &= !branch_depth || seconds < 60 ||
		expect_between("with branches", told->branches, seconds, UINT64_MAX);
	good &= !max_precise || seconds < 60 ||
		expect_between("precise", told->precise, seconds, UINT64_MAX);
	good &= ibs_type < 0 || seconds < 60 ||
		expect_between("of IBS", told->ibs, seconds, UINT64_MAX);
	good &= expect_between("mapped", told->mapped, 1, UINT64_MAX);
	good &= expect_between("forked", told->forked, 1, UINT64_MAX);
	good &= expect_between("other cgroup", told->moved, 1, UINT64_MAX);
	good &= aux_type < 0 || seconds < 60 ||
		expect_between("AUX areas", told->aux, 1, UINT64_MAX);
	good &= nr_cpus == 1 || expect_between("CPUs taken away", told->toggled, 1, UINT64_MAX);
	return good;
}

/* Each CPU is online and counts its page faults, for the task and for itself. */
static bool every_cpu_counts(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);
	long nr = sysconf(_SC_NPROCESSORS_CONF);
	bool good = expect_eq("CPUs online", sysconf(_SC_NPROCESSORS_ONLN), nr);

	for (int cpu = 0; cpu < nr; cpu++) {
		size_t size = 64 * sysconf(_SC_PAGESIZE);
		char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);
		int fd, of_cpu;

		MUST(pin_to_cpu(cpu));
		madvise(p, size, MADV_NOHUGEPAGE);
		of_cpu = MUST(perf_open(&attr, -1, cpu, -1, 0));
		event_enable(of_cpu);
		fd = open_self(&attr, -1);
		event_enable(fd);
		for (size_t i = 0; i < size; i += sysconf(_SC_PAGESIZE))
			p[i] = 1;
		event_disable(fd);
		good &= expect_between("faults", perf_count(fd), 64, 72);
		good &= expect_between("faults of the CPU", perf_count(of_cpu), 64, 100000);
		close(of_cpu);
		close(fd);
		munmap(p, size);
	}
	return good;
}

/* The last process may not be freed yet. */
static bool locked_memory_is_free(void)
{
	MUST(sysctl_set("perf_event_paranoid", 2));
	for (int i = 0; i < 10; i++) {
		if (memlock_is_whole())
			return true;
		usleep(500000);
	}
	return false;
}

static const struct test tests[] = {
	{ "all operations at random", all_operations },
	{ "every CPU counts afterwards", every_cpu_counts },
	{ "locked memory is free again", locked_memory_is_free },
};

TESTS_MAIN(tests)
