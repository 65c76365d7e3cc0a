// SPDX-License-Identifier: GPL-2.0
/*
 * What a sample holds: each field alone and all at once, with the right content, also in
 * children that inherited the event. Run as root.
 */
#include "sampling.h"

#include <pthread.h>

#include <linux/hw_breakpoint.h>
#include <sys/mount.h>
#include <sys/stat.h>

#define FIXED_TYPES	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |	\
			 PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |		\
			 PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)
#define OTHER_TYPES	(PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW |	\
			 PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |		\
			 PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC |			\
			 PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_REGS_INTR |		\
			 PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP |			\
			 PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE)

/* Registers by asm/perf_regs.h: stack pointer and program counter. */
#if defined(__x86_64__)
# define ALL_REGS	0xff0fffULL
# define REG_SP		7
# define REG_PC		8
# define REGS_ABI_64	2
#elif defined(__aarch64__)
# define ALL_REGS	0x1ffffffffULL
# define REG_SP		31
# define REG_PC		32
# define REGS_ABI_64	2
#endif

static uint64_t sampled_reg(const uint64_t *regs, uint64_t mask, int nr)
{
	return regs[__builtin_popcountll(mask & ((1ULL << nr) - 1))];
}

/* A data source of which no field is known. */
#define NO_DATA_SRC	(PERF_MEM_S(OP, NA) | PERF_MEM_S(LVL, NA) | PERF_MEM_S(SNOOP, NA) |	\
			 PERF_MEM_S(LOCK, NA) | PERF_MEM_S(TLB, NA) | PERF_MEM_S(LVLNUM, NA))

/* Words in a stack frame that exists while samples are taken and checked. */
#define MARKS		8
#define STACK_DUMP	2048

/* True if the copy of the stack has the marks at the place given by the sampled stack pointer. */
static bool stack_is_right(const struct sample *s, const volatile uint64_t *marks)
{
	uint64_t at = (uintptr_t)marks - sampled_reg(s->user_regs, ALL_REGS, REG_SP);

	return s->stack_size == STACK_DUMP && s->stack_got == STACK_DUMP &&
	       at < STACK_DUMP - MARKS * sizeof(*marks) &&
	       !memcmp(s->stack + at, (const void *)marks, MARKS * sizeof(*marks));
}

static const char *first_wrong(const struct sample *s, const char *p, uint64_t id, uint64_t before,
			       uint64_t count, const volatile uint64_t *marks)
{
	if (s->identifier != id || s->id != id || s->stream_id != id)
		return "ids";
	if (!in_touch_pages(s->ip))
		return "ip";
	if (s->pid != (uint32_t)getpid() || s->tid != s->pid)
		return "tid";
	if (s->time <= before)
		return "time";
	if (s->addr != (uintptr_t)p)
		return "addr";
	if (s->cpu != 0 || s->reserved)
		return "cpu";
	if (s->period != 1)
		return "period";
	if (!s->read)
		return NULL;
	if (s->read[0] != count || s->read[1] < s->read[2] || !s->read[2] || s->read[3] != id ||
	    s->read[4])
		return "read";
	if (s->callchain[0] < 2 || s->callchain[1] != PERF_CONTEXT_USER ||
	    s->callchain[2] != s->ip)
		return "callchain";
	if (s->raw_size != 4)
		return "raw";
	if (s->user_abi != REGS_ABI_64 || sampled_reg(s->user_regs, ALL_REGS, REG_PC) != s->ip)
		return "regs_user";
	if (!stack_is_right(s, marks)) {
		ktap_note("stack: %llu of %llu bytes from %#llx, marks at %p",
			  (unsigned long long)s->stack_got, (unsigned long long)s->stack_size,
			  (unsigned long long)sampled_reg(s->user_regs, ALL_REGS, REG_SP), marks);
		return "stack_user";
	}
	if (s->weight || s->transaction)
		return "weight";
	if (s->data_src != NO_DATA_SRC)
		return "data_src";
	if (s->intr_abi != REGS_ABI_64 || sampled_reg(s->intr_regs, ALL_REGS, REG_PC) != s->ip)
		return "regs_intr";
	if (!s->cgroup)
		return "cgroup";
	if (s->code_page_size < (uint64_t)page)
		return "code_page_size";
	return NULL;
}

static bool sample_has_fields(const char *name, uint64_t types)
{
	struct perf_event_attr attr = fault_attr(1, types);
	volatile uint64_t marks[MARKS];
	uint64_t id, before = 0;
	bool ok;
	int fd, n = 0, good = 0;
	struct perf_event_header *h;
	const char *wrong = NULL;
	struct sample s;
	char *p;

	for (int i = 0; i < MARKS; i++)
		marks[i] = 0x3c3c000022220000ULL + i;

	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
			   PERF_FORMAT_ID | PERF_FORMAT_LOST;
	attr.sample_regs_user = ALL_REGS;
	attr.sample_regs_intr = ALL_REGS;
	attr.sample_stack_user = STACK_DUMP;
	pin_to_cpu(0);
	fd = open_mapped(&attr, 32);
	ioctl(fd, PERF_EVENT_IOC_ID, &id);
	p = fresh_pages(20);
	count_faults(fd, p, 20);
	while ((h = ring_next(&ring))) {
		if (h->type != PERF_RECORD_SAMPLE)
			continue;
		if (!sample_parse(&s, h, &attr))
			wrong = wrong ?: "the length";
		else
			wrong = wrong ?: first_wrong(&s, p + n * page, id, before, n + 1, marks);
		before = s.time;
		good += !wrong;
		n++;
	}
	ok = expect(n == 20 && good == 20, "%s: %d samples, %d good%s%s", name, n, good,
		    wrong ? ", first wrong: " : "", wrong ?: "");
	close_mapped(fd);
	return ok;
}

static bool first_fields(void)
{
	return sample_has_fields("fields of fixed size", FIXED_TYPES);
}

static bool all_fields(void)
{
	volatile char above[STACK_DUMP];

	/* The stack may end right above main(): the dump has to end in this frame. */
	for (unsigned int i = 0; i < sizeof(above); i++)
		above[i] = i;
	return sample_has_fields("all fields", FIXED_TYPES | OTHER_TYPES) && above[1] == 1;
}

/* The cgroup of a sample is the inode of the directory of the cgroup. */
static bool cgroup_field(void)
{
	static const char root[] = "/tmp/sampling-cgroup", dir[] = "/tmp/sampling-cgroup/sampled";
	struct perf_event_attr attr = fault_attr(1, PERF_SAMPLE_CGROUP);
	struct perf_event_header *h;
	struct sample s = {};
	struct stat st;
	int fd;
	bool ok;

	mkdir(root, 0755);
	if (mount("none", root, "cgroup2", 0, NULL))
		skip_case("no cgroup2");
	/* The perf_event controller exists only after another controller was enabled. */
	write_line("/tmp/sampling-cgroup/cgroup.subtree_control", "+pids");
	if (mkdir(dir, 0755) || stat(dir, &st) ||
	    write_line("/tmp/sampling-cgroup/sampled/cgroup.procs", "0"))
		fail_case(dir);
	fd = open_mapped(&attr, 1);
	count_faults(fd, fresh_pages(1), 1);
	h = ring_find(&ring, PERF_RECORD_SAMPLE);
	ok = expect_eq("cgroup: its inode", h && sample_parse(&s, h, &attr) ? s.cgroup : 0,
		       st.st_ino);
	close_mapped(fd);
	write_line("/tmp/sampling-cgroup/cgroup.procs", "0");
	rmdir(dir);
	umount(root);
	rmdir(root);
	return ok;
}

/* Each field alone: with all fields, two of the same size could be exchanged. */
static bool each_field(void)
{
	int good = 0, all = 0;

	for (int bit = 0; bit < 25; bit++) {
		struct perf_event_attr attr = fault_attr(1, 1ULL << bit);
		struct sample s;
		int n = 0;

		if (attr.sample_type & (PERF_SAMPLE_AUX | PERF_SAMPLE_BRANCH_STACK))
			continue;
		all++;
		attr.sample_regs_user = ALL_REGS;
		attr.sample_regs_intr = ALL_REGS;
		attr.sample_stack_user = 64;
		ring.fd = open_mapped(&attr, 8);
		count_faults(ring.fd, fresh_pages(3), 3);
		for (struct perf_event_header *h; (h = ring_next(&ring));)
			n += h->type == PERF_RECORD_SAMPLE && sample_parse(&s, h, &attr);
		good += n == 3;
		if (n != 3)
			ktap_note("sample_type bit %d: %d samples", bit, n);
		close_mapped(ring.fd);
	}
	return expect_eq("each field alone", good, all);
}

/* The copy of the stack contains this word. */
static noinline void fault_with_marker(int fd, char *p)
{
	volatile uint64_t marker[8];

	for (int i = 0; i < 8; i++)
		marker[i] = 0x5a5a000011110000ULL + i;
	count_faults(fd, p, 1);
	(void)marker[0];
}

static bool user_stack(void)
{
	static const struct {
		uint32_t size, least;
	} row[] = { { 1024, 1024 }, { 8192, 256 }, { 65528, 256 } };
	bool ok = true;

	for (unsigned int i = 0; i < ARRAY_SIZE(row); i++) {
		struct perf_event_attr attr = fault_attr(1, PERF_SAMPLE_IP | PERF_SAMPLE_REGS_USER |
							 PERF_SAMPLE_STACK_USER |
							 PERF_SAMPLE_CALLCHAIN);
		struct perf_event_header *h;
		bool found = false;
		struct sample s;
		int fd;

		attr.sample_regs_user = ALL_REGS;
		attr.sample_stack_user = row[i].size;
		fd = open_mapped(&attr, 64);
		fault_with_marker(fd, fresh_pages(1));
		h = ring_find(&ring, PERF_RECORD_SAMPLE);
		if (!expect(h && sample_parse(&s, h, &attr), "user stack of %u: a sample",
			    row[i].size))
			return false;
		for (uint64_t at = 0; at + 64 <= s.stack_got && !found; at += 8)
			found = *(uint64_t *)(s.stack + at) == 0x5a5a000011110000ULL &&
				*(uint64_t *)(s.stack + at + 56) == 0x5a5a000011110007ULL;
		ok &= expect(found && s.stack_size <= row[i].size && s.stack_got <= s.stack_size &&
			     s.stack_got >= row[i].least && h->size % 8 == 0,
			     "user stack of %u: record %u, dump %llu, filled %llu, marker %s",
			     row[i].size, h->size, (unsigned long long)s.stack_size,
			     (unsigned long long)s.stack_got, found ? "found" : "missing");
		close_mapped(fd);
	}
	return ok;
}

#define LONG_DUMP	32768
#define STACK_BYTES	(256 * 1024)	/* more than the least that a thread may have */

static void *fault_on_this_stack(void *attr)
{
	int fd = open_mapped(attr, 64);

	count_faults(fd, fresh_pages(1), 1);
	return NULL;
}

/* The stack ends with its memory before the copy is full. */
static bool short_user_stack(void)
{
	struct perf_event_attr attr = fault_attr(1, PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |
						 PERF_SAMPLE_CGROUP);
	char *stack = mmap(NULL, STACK_BYTES + page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct perf_event_header *h;
	pthread_attr_t where;
	pthread_t thread;
	struct sample s;
	uint64_t left;

	if (stack == MAP_FAILED || munmap(stack + STACK_BYTES, page))
		fail_case("mmap");
	memset(stack, 0, STACK_BYTES);
	attr.sample_regs_user = ALL_REGS;
	attr.sample_stack_user = LONG_DUMP;
	pthread_attr_init(&where);
	if (pthread_attr_setstack(&where, stack, STACK_BYTES) ||
	    pthread_create(&thread, &where, fault_on_this_stack, &attr))
		fail_case("pthread_create");
	pthread_join(thread, NULL);
	h = ring_find(&ring, PERF_RECORD_SAMPLE);
	if (!expect(h && sample_parse(&s, h, &attr), "a sample whose fields end with its record"))
		return false;
	left = (uintptr_t)stack + STACK_BYTES - sampled_reg(s.user_regs, ALL_REGS, REG_SP);
	/* A copy may end some bytes before the memory does. */
	return expect_eq("size of the copy", s.stack_size, LONG_DUMP) &
	       expect_between("bytes of the stack", s.stack_got, left - 64, left);
}

/* An overflow of the leader reads the members of the group. */
static bool group_read(void)
{
	struct perf_event_attr attr = fault_attr(10, PERF_SAMPLE_READ), member = attr;
	uint64_t id[2];
	int leader, sibling, n = 0, good = 0;
	struct perf_event_header *h;
	struct sample s;
	bool ok = true;

	attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED;
	leader = open_mapped(&attr, 4);
	member.sample_period = 0;
	member.disabled = 0;
	member.config = PERF_COUNT_SW_PAGE_FAULTS_MIN;
	member.read_format = attr.read_format;
	sibling = perf_open(&member, 0, -1, leader, 0);
	ioctl(leader, PERF_EVENT_IOC_ID, &id[0]);
	ioctl(sibling, PERF_EVENT_IOC_ID, &id[1]);

	count_faults(leader, fresh_pages(50), 50);
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		n++;
		/* The minor fault of this page is counted after it was handled. */
		good += sample_parse(&s, h, &attr) && s.read[0] == 2 && s.read[1] &&
			s.read[2] == n * 10ULL && s.read[3] == id[0] &&
			s.read[4] == n * 10ULL - 1 && s.read[5] == id[1];
	}
	ok &= expect_eq("group read: samples", n, 5);
	ok &= expect_eq("group read: both counts and ids", good, 5);
	close(sibling);
	close_mapped(leader);
	return ok;
}

/* The physical address that /proc has for @addr, which is mapped. */
static uint64_t phys_of(const volatile void *addr)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t entry = 0;
	bool present;

	if (fd < 0)
		skip_case("no /proc/self/pagemap");
	present = pread(fd, &entry, sizeof(entry), (uintptr_t)addr / page * sizeof(entry)) ==
		  sizeof(entry) && entry >> 63;
	close(fd);
	/* Bits 0 to 54 are the number of the page frame. */
	return present ? (entry & ((1ULL << 55) - 1)) * page + (uintptr_t)addr % page : 0;
}

/* Bytes of anonymous huge pages that /proc has for the mapping with @addr. */
static uint64_t huge_bytes_at(const volatile void *addr)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	unsigned long from, to, kib = 0;
	bool inside = false;
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			inside = (uintptr_t)addr >= from && (uintptr_t)addr < to;
		else if (inside && sscanf(line, "AnonHugePages: %lu kB", &kib) == 1)
			break;
	}
	if (f)
		fclose(f);
	return kib * 1024;
}

/* The sample of a write to @word: memory that is mapped in pages of @size bytes. */
static bool sample_of_write(volatile uint64_t *word, uint64_t size, struct sample *s)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_BREAKPOINT, 0);
	struct perf_event_header *h;
	bool good;
	int fd;

	*word = 1;
	attr.disabled = 1;
	attr.exclude_kernel = 1;
	attr.bp_type = HW_BREAKPOINT_W;
	attr.bp_addr = (uintptr_t)word;
	attr.bp_len = sizeof(*word);
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_ADDR | PERF_SAMPLE_PHYS_ADDR |
			   PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE;
	fd = open_mapped(&attr, 4);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	*word = 2;
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	h = ring_find(&ring, PERF_RECORD_SAMPLE);
	good = h && sample_parse(s, h, &attr);
	close_mapped(fd);
	return expect(good, "a sample of the write") &
	       expect_eq("address", s->addr, (uintptr_t)word) &
	       expect_eq("size of its page", s->data_page_size, size) &
	       expect_between("size of the code's page", s->code_page_size, page, 1 << 30) &
	       expect_eq("physical address", s->phys_addr, phys_of(word));
}

/* Two pages of memory, mapped twice: what is the same memory has the same physical address. */
static bool memory_of_address(void)
{
	int fd = MUST(memfd_create("sample_fields", MFD_CLOEXEC));
	struct sample s[4];
	char *map[2];
	bool good = true;

	MUST(ftruncate(fd, 2 * page));
	for (int i = 0; i < 2; i++) {
		map[i] = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (map[i] == MAP_FAILED)
			fail_case("mmap");
	}
	for (int i = 0; i < 4; i++)
		good &= sample_of_write((void *)(map[i / 2] + i % 2 * page + 0x148), page, &s[i]);
	good &= expect_between("physical address", s[0].phys_addr, page, UINT64_MAX);
	good &= expect_eq("of the same page", s[2].phys_addr, s[0].phys_addr);
	good &= expect_eq("of the same other page", s[3].phys_addr, s[1].phys_addr);
	return good & expect(s[0].phys_addr != s[1].phys_addr, "two pages have two addresses");
}

#define HUGE_PAGE	(2ULL << 20)	/* with base pages of 4 KiB */

/* Two areas as large as a huge page: one is a huge page, the other consists of base pages. */
static bool page_size_of_address(void)
{
	char *map = mmap(NULL, 3 * HUGE_PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *huge = (char *)(((uintptr_t)map + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1));
	volatile uint64_t *in_huge = (void *)(huge + 77 * page + 0x148);
	volatile uint64_t *in_base = (void *)(huge + HUGE_PAGE + 77 * page + 0x148);
	struct sample s;
	bool good;

	if (map == MAP_FAILED)
		fail_case("mmap");
	MUST(madvise(huge, HUGE_PAGE, MADV_HUGEPAGE));
	MUST(madvise(huge + HUGE_PAGE, HUGE_PAGE, MADV_NOHUGEPAGE));
	*in_huge = *in_base = 0;
	good = expect_eq("a huge page", huge_bytes_at(in_huge), HUGE_PAGE) &
	       expect_eq("no huge page", huge_bytes_at(in_base), 0) &
	       sample_of_write(in_huge, HUGE_PAGE, &s) & sample_of_write(in_base, page, &s);
	munmap(map, 3 * HUGE_PAGE);
	return good;
}

/* A sample lies between two readings of its clock. */
static bool has_time_of(const char *what, clockid_t clock)
{
	struct perf_event_attr attr = fault_attr(1, PERF_SAMPLE_TIME);
	struct perf_event_header *h;
	uint64_t before, after;
	struct sample s = {};
	int fd;
	bool ok;

	attr.use_clockid = 1;
	attr.clockid = clock;
	fd = open_mapped(&attr, 1);
	before = clock_ns(clock);
	count_faults(fd, fresh_pages(1), 1);
	after = clock_ns(clock);
	h = ring_find(&ring, PERF_RECORD_SAMPLE);
	ok = expect_between(what, h && sample_parse(&s, h, &attr) ? s.time : 0, before, after);
	close_mapped(fd);
	return ok;
}

static bool time_of_clockid(void)
{
	return has_time_of("use_clockid: CLOCK_MONOTONIC", CLOCK_MONOTONIC) &
	       has_time_of("use_clockid: CLOCK_MONOTONIC_RAW", CLOCK_MONOTONIC_RAW);
}

/* A record of raw_syscalls:sys_enter: common fields, then the number of the system call. */
static bool tracepoint_data(void)
{
	struct perf_event_attr attr;
	struct perf_event_header *h;
	int id = syscall_tracepoint_attr(&attr, "raw_syscalls/sys_enter"), fd, n = 0, all = 0,
	    good = 0;
	struct sample s;
	bool ok = true;

	if (id < 0)
		skip_case("no such tracepoint");
	fd = open_mapped(&attr, 16);
	call_getppid_20_times(fd);
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		bool whole = sample_parse(&s, h, &attr) && s.raw_size >= 8 + 7 * 8 && s.period == 1;

		all++;
		good += whole && *(uint16_t *)s.raw == id &&
			*(int32_t *)(s.raw + 4) == getpid();
		n += whole && *(int64_t *)(s.raw + 8) == __NR_getppid;
	}
	ok &= expect_eq("raw tracepoint data: getppid calls among them", n, 20);
	ok &= expect_eq("raw tracepoint data: type and pid", good, all);
	ok &= expect_eq("raw tracepoint data: calls, with the one that disables", all, 61);
	close_mapped(fd);
	return ok;
}

/* Enabled, with a buffer and on one CPU, which inherited events with a buffer need. */
static int open_inherited(struct perf_event_attr *attr, uint64_t *id)
{
	int fd;

	attr->inherit = 1;
	pin_to_cpu(0);
	fd = perf_open(attr, 0, 0, -1, 0);
	if (fd < 0 || !ring_map(&ring, fd, 32))
		fail_case("inherited event");
	ioctl(fd, PERF_EVENT_IOC_ID, id);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	return fd;
}

/* Samples of a child are in the same buffer, with the id of the parent's event. */
static bool inherited_samples(void)
{
	struct perf_event_attr attr = fault_attr(1, PERF_SAMPLE_TID | PERF_SAMPLE_ID |
						 PERF_SAMPLE_ADDR);
	unsigned int n = 0, good = 0, in_child = 0;
	struct perf_event_header *h;
	char *p = fresh_pages(30);
	struct sample s;
	uint64_t id;
	int fd, status;
	pid_t child;
	bool ok = true;

	fd = open_inherited(&attr, &id);
	child = fork();
	if (!child) {
		touch_pages(p, 30);
		_exit(0);
	}
	waitpid(child, &status, 0);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		n++;
		if (!sample_parse(&s, h, &attr))
			continue;
		good += s.id == id;
		in_child += s.pid == (uint32_t)child && s.addr >= (uintptr_t)p &&
			    s.addr < (uintptr_t)p + 30 * page;
	}
	ok &= expect_eq("inherited: samples of the child's pages", in_child, 30);
	ok &= expect_eq("inherited: id", good, n);
	close_mapped(fd);
	return ok;
}

/* clockid is inherited as well. */
static bool inherited_clockid(void)
{
	struct perf_event_attr attr = fault_attr(1, PERF_SAMPLE_TID | PERF_SAMPLE_TIME);
	unsigned int n = 0, good = 0;
	struct perf_event_header *h;
	uint64_t id, before;
	struct sample s;
	int fd, status;
	pid_t child;
	bool ok;

	attr.use_clockid = 1;
	attr.clockid = CLOCK_REALTIME;
	before = clock_ns(CLOCK_REALTIME);
	fd = open_inherited(&attr, &id);
	child = fork();
	if (!child) {
		touch_pages(fresh_pages(30), 30);
		_exit(0);
	}
	waitpid(child, &status, 0);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		if (!sample_parse(&s, h, &attr) || s.pid != (uint32_t)child)
			continue;
		n++;
		good += s.time >= before && s.time <= clock_ns(CLOCK_REALTIME);
	}
	ok = expect(n >= 30 && good == n, "inherited: %u of %u samples with the parent's clock",
		    good, n);
	close_mapped(fd);
	return ok;
}

/* PERF_SAMPLE_READ reads the event of the sampled task: the last values add up to the count. */
static bool inherited_read(void)
{
	struct perf_event_attr attr = fault_attr(1, PERF_SAMPLE_TID | PERF_SAMPLE_READ);
	uint64_t id, own = 0, of_child = 0, reading[2] = { 0 };
	unsigned int n = 0, good = 0;
	struct perf_event_header *h;
	struct sample s;
	int fd, status;
	pid_t child;
	bool ok = true;

	attr.read_format = PERF_FORMAT_ID;
	fd = open_inherited(&attr, &id);
	child = fork();
	if (!child) {
		touch_pages(fresh_pages(30), 30);
		_exit(0);
	}
	touch_pages(fresh_pages(20), 20);
	waitpid(child, &status, 0);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		uint64_t *last;

		n++;
		if (!sample_parse(&s, h, &attr))
			continue;
		last = s.pid == (uint32_t)child ? &of_child : &own;
		good += s.read[0] == *last + 1 && s.read[1] == id;
		*last = s.read[0];
	}
	ok &= expect(read(fd, reading, sizeof(reading)) == sizeof(reading) && own >= 20 &&
		     of_child >= 30 && own + of_child == reading[0],
		     "inherited: last READs %llu and %llu, with children %llu",
		     (unsigned long long)own, (unsigned long long)of_child,
		     (unsigned long long)reading[0]);
	ok &= expect_eq("inherited: each READ one more than its task's last, with the id", good, n);
	close_mapped(fd);
	return ok;
}

static const struct test tests[] = {
	{ "a sample holds the fields of fixed size", first_fields },
	{ "a sample holds all fields at once", all_fields },
	{ "a sample holds the inode of the cgroup", cgroup_field },
	{ "each field alone", each_field },
	{ "the copy of the user stack holds what the program put there", user_stack },
	{ "the copy of the user stack ends where the memory ends", short_user_stack },
	{ "a sample of a leader reads the whole group", group_read },
	{ "a sample shows where the memory of its address is", memory_of_address },
	{ "a sample shows the size of the page of its address", page_size_of_address },
	{ "the time of a sample is that of clockid", time_of_clockid },
	{ "a sample of a tracepoint holds its data", tracepoint_data },
	{ "a sample of a child has the id of the parent's event", inherited_samples },
	{ "a sample of a child has the time of clockid", inherited_clockid },
	{ "a sample of a child reads the counts of the child", inherited_read },
};

TESTS_MAIN_SETUP(tests, sampling_setup)
