/* SPDX-License-Identifier: GPL-2.0 */
/* Fields of tracepoints, by section TRACING_DATA and libtraceevent. */
#ifndef TALLY_TRACING_H
#define TALLY_TRACING_H

#include "tally.h"

struct tally_tracing;

int tally_tracing_new(struct tally_tracing **tracing, const u8 *data, size_t size,
		      struct tally_error *err);
void tally_tracing_print(FILE *out, struct tally_tracing *tracing, const void *raw, u64 size,
			 u32 cpu);
void tally_tracing_free(struct tally_tracing *tracing);

#endif /* TALLY_TRACING_H */
