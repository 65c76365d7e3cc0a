/* SPDX-License-Identifier: GPL-2.0 */
/* Formats of "tally export". */
#ifndef TALLY_EXPORT_H
#define TALLY_EXPORT_H

#include "stacks.h"

int export_folded(FILE *out, struct tally_stacks *stacks, struct tally_error *err);
int export_pprof(FILE *out, struct tally_stacks *stacks, struct tally_error *err);
int export_firefox(FILE *out, struct tally_stacks *stacks, struct tally_error *err);

#endif /* TALLY_EXPORT_H */
