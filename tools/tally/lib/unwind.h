/* SPDX-License-Identifier: GPL-2.0 */
/* Unwinding of copies of the user stack. Private to sessions. */
#ifndef TALLY_UNWIND_H
#define TALLY_UNWIND_H

#include "session.h"

struct unwinder;

unsigned int unwinder_frames(struct unwinder **unwinder, struct tally_session *session,
			     const struct tally_record *record, const struct tally_sample *sample,
			     struct tally_frame *frames, unsigned int nr);
void unwinder_free(struct unwinder *unwinder);

#endif /* TALLY_UNWIND_H */
