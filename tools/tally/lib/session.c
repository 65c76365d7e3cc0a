// SPDX-License-Identifier: GPL-2.0
/* A perf.data with the state that its records describe. */
#include "session.h"

#include <stdlib.h>
#include <string.h>

#include "inline.h"
#include "unwind.h"

/**
 * struct tally_session - an open perf.data and its state
 * @reader: reader of the file
 * @space: threads and mappings
 * @unsorted: records in the order of the file
 * @inlined: chains have frames for inlined functions
 * @build_ids: section BUILD_ID was taken over
 * @refused: samples that were refused
 * @unwinder: state of the unwinding, NULL until it is used
 * @inliner: state of the search for inlined functions, NULL until it is used
 */
struct tally_session {
	struct tally_reader *reader;
	struct tally_space *space;
	bool unsorted;
	bool inlined;
	bool build_ids;
	u64 refused;
	struct unwinder *unwinder;
	struct inliner *inliner;
};

/**
 * tally_session_open - open a perf.data with its state
 * @session: set to the session, for tally_session_close()
 * @options: what to open
 * @err: what is wrong
 *
 * Return: 0 or a negative errno.
 */
int tally_session_open(struct tally_session **session, const struct tally_session_options *options,
		       struct tally_error *err)
{
	struct tally_session *new = calloc(1, sizeof(*new));
	int ret;

	if (!new)
		return tally_fail(err, ENOMEM, "no memory");
	new->unsorted = options->unsorted;
	new->inlined = options->inlined;
	ret = tally_reader_open(&new->reader, options->path, err);
	if (!ret && tally_space_new(&new->space, options->symfs, options->kallsyms))
		ret = tally_fail(err, ENOMEM, "no memory");
	if (ret) {
		tally_session_close(new);
		return ret;
	}
	*session = new;
	return 0;
}

/**
 * tally_session_close - close a session
 * @session: session, freed
 */
void tally_session_close(struct tally_session *session)
{
	unwinder_free(session->unwinder);
	inliner_free(session->inliner);
	if (session->reader)
		tally_reader_close(session->reader);
	tally_space_free(session->space);
	free(session);
}

/**
 * tally_session_info - what is known of the file
 * @session: session
 *
 * Return: valid until the session is closed.
 */
const struct tally_info *tally_session_info(const struct tally_session *session)
{
	return tally_reader_info(session->reader);
}

/**
 * tally_session_space - threads and mappings
 * @session: session
 *
 * Return: their state after the record that was read last.
 */
struct tally_space *tally_session_space(struct tally_session *session)
{
	return session->space;
}

/**
 * tally_session_refused - samples with fields that are not within the record
 * @session: session
 *
 * Return: their number so far.
 */
u64 tally_session_refused(const struct tally_session *session)
{
	return session->refused;
}

static bool session_sample(struct tally_session *session, const struct tally_record *record,
			   struct tally_sample *sample)
{
	struct tally_fault fault;

	if (record->event && !record->swap_fault &&
	    !tally_sample_parse(sample, &record->event->attr, record->header, &fault))
		return true;
	session->refused++;
	return false;
}

/**
 * tally_session_next - the next record
 * @session: session
 * @record: set to the record
 * @sample: for a sample, and for another record with sample_id_all: set to its fields
 * @err: what is wrong
 *
 * Threads and mappings are as of after the record. Samples with wrong fields are left out.
 *
 * Return: 1; 0 after the last record; a negative errno.
 */
int tally_session_next(struct tally_session *session, struct tally_record *record,
		       struct tally_sample *sample, struct tally_error *err)
{
	for (;;) {
		struct tally_fault fault;
		int ret = session->unsorted ? tally_reader_next(session->reader, record, err) :
					      tally_reader_sorted(session->reader, record, err);

		if (ret <= 0)
			return ret;
		if (record->header->type == PERF_RECORD_SAMPLE) {
			if (session_sample(session, record, sample))
				return 1;
			continue;
		}
		*sample = (struct tally_sample){ .pid = -1, .tid = -1, .cpu = -1 };
		if (record->event && record->event->attr.sample_id_all)
			tally_sample_id(sample, &record->event->attr, record->header, &fault);
		if (!session->build_ids && !tally_session_info(session)->pipe) {
			tally_space_build_ids(session->space,
					      &tally_session_info(session)->features);
			session->build_ids = true;
		}
		if (!record->swap_fault && tally_space_learn(session->space, record))
			return tally_fail(err, ENOMEM, "no memory");
		return 1;
	}
}

/**
 * tally_session_resolve - symbol of an address
 * @session: session
 * @pid: process
 * @address: address
 * @mode: what it is of; what a guest runs has no symbols
 * @caller: a return address: the call precedes it
 * @frame: set to the result
 */
void tally_session_resolve(struct tally_session *session, u32 pid, u64 address,
			   enum tally_mode mode, bool caller, struct tally_frame *frame)
{
	struct tally_dsos *dsos = tally_space_dsos(session->space);
	bool kernel = tally_mode_is_kernel(mode);
	const struct tally_symbol *symbol;
	const struct tally_map *map;

	*frame = (struct tally_frame){
		.address = address, .at = address, .mode = mode, .caller = caller,
	};
	if (tally_mode_is_guest(mode)) {
		frame->dso = tally_dso_guest(dsos, kernel);
		return;
	}
	map = tally_space_find(session->space, pid, address, kernel);
	if (map)
		frame->dso = map->dso;
	else if (kernel)
		frame->dso = dsos->kernel;
	if (!frame->dso)
		return;
	if (!frame->dso->kernel)
		frame->at = address - map->start + map->offset;
	symbol = tally_dso_find(dsos, frame->dso, frame->at - caller);
	if (!symbol)
		return;
	frame->symbol = symbol->name;
	frame->symbol_offset = frame->at - symbol->start;
}

/* What follows a mark of a call chain. */
static enum tally_mode session_mark(u64 mark)
{
	switch (mark) {
	case (u64)PERF_CONTEXT_KERNEL:
		return TALLY_MODE_KERNEL;
	case (u64)PERF_CONTEXT_GUEST_KERNEL:
		return TALLY_MODE_GUEST_KERNEL;
	case (u64)PERF_CONTEXT_GUEST:
	case (u64)PERF_CONTEXT_GUEST_USER:
		return TALLY_MODE_GUEST_USER;
	default:
		return TALLY_MODE_USER;
	}
}

/* The frames of a call chain. What follows a mark was interrupted, or entered the kernel. */
static unsigned int session_frames(struct tally_session *session, enum tally_mode mode,
				   const struct tally_sample *sample, struct tally_frame *frames)
{
	bool caller = false;
	unsigned int nr = 0;

	for (u64 i = 0; i < sample->nr_chain && nr < TALLY_MAX_FRAMES; i++) {
		u64 address = sample->chain[i];

		if (address >= (u64)PERF_CONTEXT_MAX) {
			mode = session_mark(address);
			caller = false;
			continue;
		}
		tally_session_resolve(session, sample->pid, address, mode, caller, &frames[nr]);
		caller = true;
		nr++;
	}
	return nr;
}

/*
 * The frames of user space where branch records are the calls of the stack, newest first, and the
 * chain has those of the kernel alone. Of a sample in the kernel the newest call leads to the
 * function that has entered it.
 */
static unsigned int session_calls(struct tally_session *session, enum tally_mode mode,
				  const struct tally_sample *sample, struct tally_frame *frames,
				  unsigned int nr)
{
	bool kernel = tally_mode_is_kernel(mode);
	u64 leaf = kernel ? sample->branches[0].to : sample->ip;

	mode = tally_mode_is_guest(mode) ? TALLY_MODE_GUEST_USER : TALLY_MODE_USER;
	if (nr < TALLY_MAX_FRAMES && (kernel || !nr))
		tally_session_resolve(session, sample->pid, leaf, mode, false, &frames[nr++]);
	for (u64 i = 0; i < sample->nr_branches && nr < TALLY_MAX_FRAMES; i++)
		tally_session_resolve(session, sample->pid, sample->branches[i].from, mode, false,
				      &frames[nr++]);
	return nr;
}

/* The frames of the functions that are inlined in that of a frame precede it. */
static unsigned int session_expand(struct tally_session *session, struct tally_frame *frame,
				   bool caller, unsigned int room)
{
	const struct tally_frame whole = *frame;
	const char *const *names;
	unsigned int nr;

	if (whole.mode != TALLY_MODE_USER || !whole.dso)
		return 1;
	nr = inliner_names(&session->inliner, tally_space_dsos(session->space), whole.dso,
			   whole.at - caller, &names);
	if (nr + 1 > room)
		return 1;
	for (unsigned int i = 0; i < nr; i++) {
		frame[i] = whole;
		frame[i].symbol = names[i];
		frame[i].symbol_offset = 0;
		frame[i].inlined = true;
	}
	frame[nr] = whole;
	return nr + 1;
}

static unsigned int session_inline(struct tally_session *session, struct tally_frame *frames,
				   unsigned int nr)
{
	static _Thread_local struct tally_frame plain[TALLY_MAX_FRAMES];
	unsigned int to = 0;

	memcpy(plain, frames, nr * sizeof(*plain));
	for (unsigned int i = 0; i < nr && to < TALLY_MAX_FRAMES; i++) {
		frames[to] = plain[i];
		to += session_expand(session, &frames[to], plain[i].caller,
				     TALLY_MAX_FRAMES - to);
	}
	return to;
}

/**
 * tally_session_chain - frames of a sample
 * @session: session
 * @record: record of the sample
 * @sample: its fields
 * @frames: room for TALLY_MAX_FRAMES
 *
 * The frames are those of the call chain and, where there is a copy of the user stack, those that
 * unwinding finds there, or those of branch records in call-stack mode. A sample without all of
 * these has one frame.
 *
 * Return: number of frames, the innermost first; 0 if the sample has no address.
 */
unsigned int tally_session_chain(struct tally_session *session, const struct tally_record *record,
				 const struct tally_sample *sample, struct tally_frame *frames)
{
	bool has_address = record->event->attr.sample_type & PERF_SAMPLE_IP;
	enum tally_mode mode = tally_mode_of(record->header->misc);
	unsigned int nr = session_frames(session, mode, sample, frames);

	/* The stack and its registers are those of the process that runs the guest. */
	if (!nr && has_address && tally_mode_is_guest(mode))
		tally_session_resolve(session, sample->pid, sample->ip, mode, false, &frames[nr++]);
	if (sample->stack_size && sample->user_regs)
		nr = unwinder_frames(&session->unwinder, session, record, sample, frames, nr);
	else if (sample->nr_branches && record->event->attr.exclude_callchain_user &&
		 record->event->attr.branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK)
		nr = session_calls(session, mode, sample, frames, nr);
	if (!nr && has_address) {
		tally_session_resolve(session, sample->pid, sample->ip, mode, false, frames);
		nr = 1;
	}
	return session->inlined ? session_inline(session, frames, nr) : nr;
}

/**
 * tally_frame_name - name of a frame for reports
 * @frame: frame
 * @text: room for a name that is made up
 * @size: bytes of it
 *
 * Return: the function, or the file in brackets, or "[unknown]".
 */
const char *tally_frame_name(const struct tally_frame *frame, char *text, size_t size)
{
	const char *name;

	if (frame->symbol)
		return frame->symbol;
	if (!frame->dso)
		return "[unknown]";
	name = frame->dso->short_name;
	if (*name == '[')
		return name;
	snprintf(text, size, "[%s]", name);
	return text;
}
