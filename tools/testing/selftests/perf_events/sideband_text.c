// SPDX-License-Identifier: GPL-2.0
/* Records of kernel text: KSYMBOL, BPF_EVENT, TEXT_POKE. Run as root. */
#include "bpf_prog.h"
#include "sideband.h"

static int load_named_program(const char *name, bool with_subprogram)
{
	struct bpf_insn plain[] = { BPF_MOV64_IMM(BPF_REG_0, 0), BPF_EXIT_INSN() };
	struct bpf_insn nested[] = {
		{ .code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_CALL, .imm = 1 },
		BPF_EXIT_INSN(),
		BPF_MOV64_IMM(BPF_REG_0, 0),
		BPF_EXIT_INSN(),
	};
	union bpf_attr attr = {
		.prog_type	= BPF_PROG_TYPE_SOCKET_FILTER,
		.insns		= (uintptr_t)(with_subprogram ? nested : plain),
		.insn_cnt	= with_subprogram ? ARRAY_SIZE(nested) : ARRAY_SIZE(plain),
		.license	= (uintptr_t)"GPL",
	};

	snprintf(attr.prog_name, sizeof(attr.prog_name), "%s", name);
	return sys_bpf(BPF_PROG_LOAD, &attr);
}

static void program_info(int fd, struct bpf_prog_info *info)
{
	union bpf_attr attr = {
		.info = { .bpf_fd = fd, .info_len = sizeof(*info), .info = (uintptr_t)info },
	};

	memset(info, 0, sizeof(*info));
	sys_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr);
}

struct ksymbol {
	struct perf_event_header h;
	uint64_t	addr;
	uint32_t	len;
	uint16_t	type, flags;
	char		name[];
};

struct bpf_record {
	struct perf_event_header h;
	uint16_t	type, flags;
	uint32_t	id;
	uint8_t		tag[8];
};

static void program_name(const struct bpf_prog_info *info, char *name, size_t size)
{
	snprintf(name, size, "bpf_prog_%02x%02x%02x%02x%02x%02x%02x%02x_sidebandtest",
		 info->tag[0], info->tag[1], info->tag[2], info->tag[3], info->tag[4],
		 info->tag[5], info->tag[6], info->tag[7]);
}

static bool bpf_records(void)
{
	struct perf_event_attr attr = sideband_attr();
	struct bpf_prog_info info;
	struct bpf_record *b;
	struct ksymbol *k;
	char name[64];
	uint64_t addr;
	int fd;
	bool ok = true;

	attr.ksymbol = 1;
	attr.bpf_event = 1;
	open_sideband(&ring, &attr, 0, -1);
	fd = load_named_program("sidebandtest", false);
	if (fd < 0)
		skip_case("the program cannot be loaded");
	program_info(fd, &info);
	program_name(&info, name, sizeof(name));
	k = (void *)ring_next(&ring);
	ok &= expect(k && k->h.type == PERF_RECORD_KSYMBOL && k->addr &&
		     k->len == info.jited_prog_len && k->type == PERF_RECORD_KSYMBOL_TYPE_BPF &&
		     !k->flags, "KSYMBOL: address, length, type");
	ok &= expect(k && !strcmp(k->name, name) &&
		     size_is_padded(record_body_size(&k->h), 16, name), "KSYMBOL: name %s",
		     k ? k->name : "");
	addr = k ? k->addr : 0;
	b = (void *)ring_next(&ring);
	ok &= expect(b && b->h.type == PERF_RECORD_BPF_EVENT && record_body_size(&b->h) == 16 &&
		     b->type == PERF_BPF_EVENT_PROG_LOAD && !b->flags && b->id == info.id &&
		     !memcmp(b->tag, info.tag, 8), "BPF_EVENT: load");
	ok &= expect(!ring_next(&ring), "BPF_EVENT: nothing else");
	close_sideband(&ring);

	/* A worker of this CPU may unload the program. */
	open_sideband(&ring, &attr, -1, 0);
	close(fd);
	for (int i = 0; i < 100; i++)
		sleep_ms(2);
	k = (void *)ring_find(&ring, PERF_RECORD_KSYMBOL);
	if (!k)
		skip_case("it was done on another CPU");
	ok &= expect(k->addr == addr && k->flags == PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER,
		     "KSYMBOL: unload");
	b = (void *)ring_next(&ring);
	ok &= expect(b && b->h.type == PERF_RECORD_BPF_EVENT &&
		     b->type == PERF_BPF_EVENT_PROG_UNLOAD, "BPF_EVENT: unload");
	close_sideband(&ring);
	return ok;
}

/* The program and its subprogram have a symbol each. */
static bool bpf_subprograms(void)
{
	struct perf_event_attr attr = sideband_attr();
	const struct ksymbol *k;
	uint64_t addr = 0, len = 0;
	struct bpf_prog_info info;
	char name[64];
	bool ok;
	int fd;

	attr.ksymbol = 1;
	open_sideband(&ring, &attr, 0, -1);
	fd = load_named_program("sidebandtest", true);
	if (fd < 0)
		skip_case("the program cannot be loaded");
	program_info(fd, &info);
	program_name(&info, name, sizeof(name));
	k = (void *)ring_next(&ring);
	ok = expect(k && k->h.type == PERF_RECORD_KSYMBOL && !strcmp(k->name, name),
		    "KSYMBOL of the program: name \"%s\"", k ? k->name : "");
	if (k) {
		addr = k->addr;
		len = k->len;
	}
	k = (void *)ring_next(&ring);
	ok &= expect(k && k->h.type == PERF_RECORD_KSYMBOL && k->addr != addr &&
		     !strncmp(k->name, "bpf_prog_", 9) && strcmp(k->name, name),
		     "KSYMBOL of the subprogram: name \"%s\"", k ? k->name : "");
	ok &= k && expect_eq("length of both", len + k->len, info.jited_prog_len);
	ok &= expect(!ring_next(&ring), "nothing else");
	close(fd);
	close_sideband(&ring);
	return ok;
}

#ifdef __x86_64__
struct text_poke {
	struct perf_event_header h;
	uint64_t	addr;
	uint16_t	old_len, new_len;
	uint8_t		bytes[];
};

static uint64_t kernel_symbol(const char *name)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	uint64_t addr, found = 0;
	char line[256], symbol[128];

	while (file && !found && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx %*c %127s", &addr, symbol) == 2 && !strcmp(symbol, name))
			found = addr;
	}
	if (file)
		fclose(file);
	return found;
}

/* One instruction that changes: the new bytes of a record are the old bytes of the next. */
struct poked {
	unsigned int	records;
	uint64_t	addr;
	uint16_t	len;
	uint8_t		first[16], last[16];
};

static bool follow_poke(struct poked *p, const struct text_poke *r)
{
	const uint8_t *old = r->bytes, *new = r->bytes + r->old_len;
	bool good = r->old_len == r->new_len && r->old_len && r->old_len <= sizeof(p->last) &&
		    memcmp(old, new, r->old_len);

	if (!good)
		return false;
	if (!p->records++) {
		p->addr = r->addr;
		p->len = r->old_len;
		memcpy(p->first, old, p->len);
	} else {
		good = r->addr == p->addr && r->old_len == p->len && !memcmp(p->last, old, p->len);
	}
	memcpy(p->last, new, p->len);
	return good;
}

static bool text_poke_records(void)
{
	static const char function[] = "__x64_sys_getppid";
	struct perf_event_attr attr = sideband_attr();
	struct perf_event_attr probe = perf_attr(perf_pmu_type("kprobe"), 0);
	uint64_t addr = kernel_symbol(function);
	struct poked poked = { 0 };
	unsigned int n = 0, good = 0, follow = 0;
	struct text_poke *r;
	int fd;
	bool ok = true;

	attr.text_poke = 1;
	open_sideband(&ring, &attr, -1, 0);
	probe.config1 = (uintptr_t)function;
	for (int i = 0; i < 2; i++) {
		fd = perf_open(&probe, 0, -1, -1, 0);
		if (fd < 0)
			skip_case("no kprobe");
		close(fd);
	}
	while ((r = (void *)ring_find(&ring, PERF_RECORD_TEXT_POKE))) {
		size_t body = 12 + r->old_len + r->new_len;

		n++;
		good += r->h.misc == PERF_RECORD_MISC_KERNEL && r->addr >> 63 &&
			record_body_size(&r->h) == (body + 7) / 8 * 8 &&
			r->old_len + r->new_len > 0;
		if (r->addr - addr < 16)
			follow += follow_poke(&poked, r);
	}
	ok &= expect(n > 0, "TEXT_POKE: %u records of a kprobe that comes and goes", n);
	ok &= expect_eq("TEXT_POKE: address, sizes", good, n);
	ok &= expect(poked.records >= 4 && follow == poked.records &&
		     !memcmp(poked.first, poked.last, poked.len),
		     "TEXT_POKE: the function's %u bytes, there and back twice in %u records",
		     poked.len, poked.records);
	close_sideband(&ring);
	return ok;
}

/* Text that is generated at run time: the trampoline of a function tracer. */
static bool tracer_text_records(void)
{
	struct perf_event_attr attr = sideband_attr(), tracer;
	struct ksymbol *k;
	uint64_t addr = 0;
	uint32_t len = 0;
	int id = tracepoint_id("ftrace/function"), fd;
	bool ok = true;

	tracer = perf_attr(PERF_TYPE_TRACEPOINT, id);
	tracer.disabled = 1;
	attr.ksymbol = 1;
	pin_to_cpu(0);
	open_sideband(&ring, &attr, -1, 0);
	fd = id < 0 ? -1 : perf_open(&tracer, 0, -1, -1, 0);
	if (fd < 0)
		skip_case("functions cannot be traced");
	k = (void *)ring_find(&ring, PERF_RECORD_KSYMBOL);
	if (k) {
		addr = k->addr;
		len = k->len;
	}
	ok &= expect(k && k->addr >> 63 && k->len && k->type == PERF_RECORD_KSYMBOL_TYPE_OOL &&
		     !k->flags && !strcmp(k->name, "ftrace_trampoline") &&
		     size_is_padded(record_body_size(&k->h), 16, k->name),
		     "KSYMBOL: text of a function tracer");
	close(fd);
	k = (void *)ring_find(&ring, PERF_RECORD_KSYMBOL);
	ok &= expect(k && k->addr == addr && k->len == len &&
		     k->type == PERF_RECORD_KSYMBOL_TYPE_OOL &&
		     k->flags == PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER &&
		     !strcmp(k->name, "ftrace_trampoline"), "KSYMBOL: it goes with the tracer");
	close_sideband(&ring);
	return ok;
}
#else
static bool text_poke_records(void)
{
	skip_case("this architecture does not tell");
}

static bool tracer_text_records(void)
{
	skip_case("this architecture's tracers have no text of their own");
}
#endif

static const struct test tests[] = {
	{ "KSYMBOL and BPF_EVENT: a program is loaded and unloaded", bpf_records },
	{ "KSYMBOL: a program with a subprogram", bpf_subprograms },
	{ "TEXT_POKE: a kprobe is set and removed", text_poke_records },
	{ "KSYMBOL: text of a function tracer", tracer_text_records },
};

TESTS_MAIN_SETUP(tests, sideband_setup)
