/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A perf.data with the state that its records describe: records by time, samples with their fields,
 * addresses with their symbols.
 */
#ifndef TALLY_SESSION_H
#define TALLY_SESSION_H

#include "space.h"

/* Frames of a sample at most: the longest chain, with frames that unwinding and inlining add. */
#define TALLY_MAX_FRAMES	2048

/**
 * struct tally_frame - an address with its symbol
 * @address: address in the address space of its process
 * @at: address in the file, or @address where there is no file
 * @symbol: name of the function, NULL if it is not known; one pointer for each function
 * @symbol_offset: @address less that of the function
 * @dso: file with the function, NULL if it is not known
 * @mode: what the address is of
 * @caller: a return address: the call precedes it
 * @inlined: the function is inlined in that of the next frame
 */
struct tally_frame {
	u64 address;
	u64 at;
	const char *symbol;
	u64 symbol_offset;
	struct tally_dso *dso;
	enum tally_mode mode;
	bool caller;
	bool inlined;
};

/**
 * struct tally_session_options - how to open a session
 * @path: perf.data; "-" for the standard input
 * @symfs: folder in which paths of programs are looked up, NULL for the root
 * @kallsyms: file with the kernel's symbols, NULL for those of the running kernel
 * @unsorted: in the order of the file
 * @inlined: chains have frames for functions that were inlined, where there is debug information
 */
struct tally_session_options {
	const char *path;
	const char *symfs;
	const char *kallsyms;
	bool unsorted;
	bool inlined;
};

struct tally_session;

int tally_session_open(struct tally_session **session, const struct tally_session_options *options,
		       struct tally_error *err);
void tally_session_close(struct tally_session *session);
const struct tally_info *tally_session_info(const struct tally_session *session);
struct tally_space *tally_session_space(struct tally_session *session);
int tally_session_next(struct tally_session *session, struct tally_record *record,
		       struct tally_sample *sample, struct tally_error *err);
u64 tally_session_refused(const struct tally_session *session);
void tally_session_resolve(struct tally_session *session, u32 pid, u64 address,
			   enum tally_mode mode, bool caller, struct tally_frame *frame);
unsigned int tally_session_chain(struct tally_session *session, const struct tally_record *record,
				 const struct tally_sample *sample, struct tally_frame *frames);
const char *tally_frame_name(const struct tally_frame *frame, char *text, size_t size);

#endif /* TALLY_SESSION_H */
