/* SPDX-License-Identifier: GPL-2.0 */
/* Functions that the compiler inlined, by the debug information of libdw. Private to sessions. */
#ifndef TALLY_INLINE_H
#define TALLY_INLINE_H

#include "session.h"

struct inliner;

unsigned int inliner_names(struct inliner **inliner, const struct tally_dsos *dsos,
			   struct tally_dso *dso, u64 at, const char *const **names);
void inliner_free(struct inliner *inliner);

#endif /* TALLY_INLINE_H */
