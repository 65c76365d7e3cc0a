// SPDX-License-Identifier: GPL-2.0
/*
 * Unwinding of copies of the user stack, by libdwfl: it finds the files that are mapped, their
 * unwind tables, and requests registers and memory here.
 */
#include "unwind.h"

#include <stdlib.h>
#include <string.h>

#ifdef HAVE_LIBDW
#include <elfutils/libdwfl.h>

/* Frames that are taken from one stack at most. */
#define UNWIND_MAX	512

/*
 * Registers of DWARF, by number, as bits of sample_regs_user (asm/perf_regs.h).
 * x86: rax rdx rcx rbx rsi rdi rbp rsp r8 to r15 ip. arm64: x0 to x30, sp; the pc is apart.
 */
static const u8 x86_registers[] = { 0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8 };

/**
 * struct unwind_machine - registers of an architecture
 * @stack: bit of the stack pointer
 * @pc: bit of the instruction pointer
 * @nr: registers that DWARF numbers
 * @bits: their bits, NULL if the numbers are the bits
 */
struct unwind_machine {
	unsigned int stack;
	unsigned int pc;
	unsigned int nr;
	const u8 *bits;
};

static const struct unwind_machine unwind_x86 = { 7, 8, 17, x86_registers };
static const struct unwind_machine unwind_arm64 = { 31, 32, 32, NULL };

/**
 * struct unwind_module - a file that was reported to libdwfl
 * @dso: the file
 * @base: where it is mapped
 */
struct unwind_module {
	struct tally_dso *dso;
	u64 base;
};

/**
 * struct unwinder - state of the unwinding
 * @dwfl: files of one process; NULL before the first
 * @pid: the process
 * @generation: of the mappings when @dwfl began
 * @modules: files that @dwfl has
 * @nr_modules: number of them
 * @session: session of the sample
 * @sample: sample that is unwound
 * @attr: attr of its event
 * @machine: registers
 * @addresses: return addresses that were found
 * @nr: number of them
 */
struct unwinder {
	Dwfl *dwfl;
	u32 pid;
	u32 generation;
	struct unwind_module modules[256];
	unsigned int nr_modules;
	struct tally_session *session;
	const struct tally_sample *sample;
	const struct perf_event_attr *attr;
	const struct unwind_machine *machine;
	u64 addresses[UNWIND_MAX];
	unsigned int nr;
};

static const struct unwind_machine *unwind_find_machine(struct tally_session *session)
{
	const char *arch = tally_feature_string(&tally_session_info(session)->features,
						TALLY_FEAT_ARCH);

	if (!strcmp(arch, "x86_64"))
		return &unwind_x86;
	if (!strcmp(arch, "aarch64"))
		return &unwind_arm64;
#if defined(__x86_64__)
	return *arch ? NULL : &unwind_x86;
#elif defined(__aarch64__)
	return *arch ? NULL : &unwind_arm64;
#else
	return NULL;
#endif
}

/* A register of user space; false if the sample does not have it. */
static bool unwind_register(const struct unwinder *unwinder, unsigned int bit, u64 *value)
{
	u64 mask = unwinder->attr->sample_regs_user;

	if (bit >= 64 || !(mask >> bit & 1))
		return false;
	*value = unwinder->sample->user_regs[__builtin_popcountll(mask & ((1ULL << bit) - 1))];
	return true;
}

/* A word of the copy of the stack. Other memory is not in the file. */
static bool unwind_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *result, void *arg)
{
	const struct unwinder *unwinder = arg;
	u64 stack;

	(void)dwfl;
	if (!unwind_register(unwinder, unwinder->machine->stack, &stack))
		return false;
	if (address < stack || unwinder->sample->stack_size < sizeof(*result) ||
	    address - stack > unwinder->sample->stack_size - sizeof(*result))
		return false;
	memcpy(result, unwinder->sample->stack + (address - stack), sizeof(*result));
	return true;
}

static bool unwind_registers(Dwfl_Thread *thread, void *arg)
{
	const struct unwinder *unwinder = arg;
	const struct unwind_machine *machine = unwinder->machine;
	u64 pc;

	for (unsigned int i = 0; i < machine->nr; i++) {
		Dwarf_Word word;
		u64 value;

		if (!unwind_register(unwinder, machine->bits ? machine->bits[i] : i, &value))
			continue;
		word = value;
		if (!dwfl_thread_state_registers(thread, i, 1, &word))
			return false;
	}
	if (!unwind_register(unwinder, machine->pc, &pc))
		return false;
	dwfl_thread_state_register_pc(thread, pc);
	return true;
}

static pid_t unwind_next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
	const struct unwinder *unwinder = arg;

	(void)dwfl;
	if (*thread_arg)
		return 0;
	*thread_arg = arg;
	return unwinder->pid;
}

static const Dwfl_Thread_Callbacks unwind_callbacks = {
	.next_thread = unwind_next_thread,
	.memory_read = unwind_memory,
	.set_initial_registers = unwind_registers,
};

/* Debug information is looked for beside the files that are mapped, and not downloaded. */
static char unwind_debug_path[] = "-:.debug:/usr/lib/debug";
static char *unwind_debug_path_pointer = unwind_debug_path;

static const Dwfl_Callbacks unwind_files = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
	.debuginfo_path = &unwind_debug_path_pointer,
};

static bool unwind_has_module(const struct unwinder *unwinder, const struct tally_dso *dso,
			      u64 base)
{
	for (unsigned int i = 0; i < unwinder->nr_modules; i++)
		if (unwinder->modules[i].dso == dso && unwinder->modules[i].base == base)
			return true;
	return false;
}

/* Reports to libdwfl the file that is mapped at an address. */
static void unwind_add_module(struct unwinder *unwinder, u64 address)
{
	struct tally_space *space = tally_session_space(unwinder->session);
	const struct tally_map *map = tally_space_find(space, unwinder->pid, address, false);
	const char *symfs = tally_space_dsos(space)->symfs;
	char path[4096];
	u64 base;

	if (!map || *map->dso->name != '/')
		return;
	tally_dso_load(tally_space_dsos(space), map->dso);
	if (map->dso->stale)
		return;
	base = map->start - map->offset;
	if (unwind_has_module(unwinder, map->dso, base) ||
	    unwinder->nr_modules == ARRAY_SIZE(unwinder->modules))
		return;
	unwinder->modules[unwinder->nr_modules++] = (struct unwind_module){ map->dso, base };
	snprintf(path, sizeof(path), "%s%s", symfs, map->dso->name);
	dwfl_report_elf(unwinder->dwfl, map->dso->short_name, path, -1, base, false);
}

/* Files are kept from one sample to the next of the same process. */
static bool unwind_begin(struct unwinder *unwinder)
{
	u32 generation = tally_space_generation(tally_session_space(unwinder->session));
	u32 pid = unwinder->sample->pid;

	if (unwinder->dwfl && (unwinder->pid != pid || unwinder->generation != generation)) {
		dwfl_end(unwinder->dwfl);
		unwinder->dwfl = NULL;
	}
	unwinder->pid = pid;
	unwinder->generation = generation;
	if (unwinder->dwfl)
		return true;
	unwinder->nr_modules = 0;
	unwinder->dwfl = dwfl_begin(&unwind_files);
	return unwinder->dwfl;
}

/* Every word of the stack that may be a return address names a file that may be needed. */
static bool unwind_report(struct unwinder *unwinder, u64 pc)
{
	u64 words = unwinder->sample->stack_size / sizeof(u64);
	bool attached = unwinder->nr_modules;

	dwfl_report_begin_add(unwinder->dwfl);
	unwind_add_module(unwinder, pc);
	for (u64 i = 0; i < words; i++) {
		u64 word;

		memcpy(&word, unwinder->sample->stack + i * sizeof(u64), sizeof(word));
		if (word > 0xfff)
			unwind_add_module(unwinder, word);
	}
	dwfl_report_end(unwinder->dwfl, NULL, NULL);
	return attached || dwfl_attach_state(unwinder->dwfl, NULL, unwinder->pid,
					     &unwind_callbacks, unwinder);
}

static int unwind_frame(Dwfl_Frame *state, void *arg)
{
	struct unwinder *unwinder = arg;
	bool activation;
	Dwarf_Addr pc;

	if (!dwfl_frame_pc(state, &pc, &activation) || !pc || unwinder->nr == UNWIND_MAX)
		return DWARF_CB_ABORT;
	unwinder->addresses[unwinder->nr++] = pc;
	return DWARF_CB_OK;
}

static void unwind_sample(struct unwinder *unwinder)
{
	u64 pc;

	unwinder->nr = 0;
	unwinder->machine = unwind_find_machine(unwinder->session);
	if (!unwinder->machine || unwinder->sample->user_abi != PERF_SAMPLE_REGS_ABI_64 ||
	    !unwind_register(unwinder, unwinder->machine->pc, &pc))
		return;
	if (!unwind_begin(unwinder) || !unwind_report(unwinder, pc))
		return;
	dwfl_getthread_frames(unwinder->dwfl, unwinder->pid, unwind_frame, unwinder);
}

/* The user's part of the chain, which is the sampled address alone, gives way to what was found. */
static unsigned int unwind_kernel_frames(const struct tally_frame *frames, unsigned int nr)
{
	while (nr && frames[nr - 1].mode == TALLY_MODE_USER)
		nr--;
	return nr;
}

/**
 * unwinder_frames - add the callers that the stack shows
 * @unwinder: state, created when it is first needed
 * @session: session
 * @record: record of the sample
 * @sample: its fields, with registers and a copy of the stack
 * @frames: frames of the chain, with room for TALLY_MAX_FRAMES
 * @nr: number of them
 *
 * Return: number of frames then.
 */
unsigned int unwinder_frames(struct unwinder **unwinder, struct tally_session *session,
			     const struct tally_record *record, const struct tally_sample *sample,
			     struct tally_frame *frames, unsigned int nr)
{
	struct unwinder *state = *unwinder;
	unsigned int first;

	if (!state)
		state = *unwinder = calloc(1, sizeof(*state));
	if (!state)
		return nr;
	state->session = session;
	state->sample = sample;
	state->attr = &record->event->attr;
	unwind_sample(state);
	if (!state->nr)
		return nr;
	first = unwind_kernel_frames(frames, nr);
	for (nr = 0; nr < state->nr && first + nr < TALLY_MAX_FRAMES; nr++)
		tally_session_resolve(session, sample->pid, state->addresses[nr], TALLY_MODE_USER,
				      nr, &frames[first + nr]);
	return first + nr;
}

/**
 * unwinder_free - free the state
 * @unwinder: state; may be NULL
 */
void unwinder_free(struct unwinder *unwinder)
{
	if (unwinder && unwinder->dwfl)
		dwfl_end(unwinder->dwfl);
	free(unwinder);
}
#else
unsigned int unwinder_frames(struct unwinder **unwinder, struct tally_session *session,
			     const struct tally_record *record, const struct tally_sample *sample,
			     struct tally_frame *frames, unsigned int nr)
{
	(void)unwinder;
	(void)session;
	(void)record;
	(void)sample;
	(void)frames;
	return nr;
}

void unwinder_free(struct unwinder *unwinder)
{
	(void)unwinder;
}
#endif
