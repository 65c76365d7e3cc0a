/* SPDX-License-Identifier: GPL-2.0 */
/* Records by time, with bounded memory. Private to the reader. */
#ifndef TALLY_SORTER_H
#define TALLY_SORTER_H

#include "data_read.h"

struct sorter;

struct sorter *sorter_new(bool several);
void sorter_free(struct sorter *sorter);
int sorter_put(struct sorter *sorter, const struct tally_record *record, u64 time);
void sorter_round(struct sorter *sorter);
void sorter_end(struct sorter *sorter);
int sorter_take(struct sorter *sorter, struct tally_record *record);
bool sorter_empty(const struct sorter *sorter);

#endif /* TALLY_SORTER_H */
