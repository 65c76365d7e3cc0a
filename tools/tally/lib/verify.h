/* SPDX-License-Identifier: GPL-2.0 */
/* Verification of a perf.data. */
#ifndef TALLY_VERIFY_H
#define TALLY_VERIFY_H

#include "tally.h"

/**
 * struct tally_verdict - what a verification found
 * @errors: number of lines that were printed
 * @records: number of records
 * @samples: number of them that are samples
 * @lost: records that were lost, as counted in the file
 * @aux: bytes of AUX areas
 */
struct tally_verdict {
	u64 errors;
	u64 records;
	u64 samples;
	u64 lost;
	u64 aux;
};

int tally_verify(FILE *out, const char *path, unsigned int max_lines,
		 struct tally_verdict *verdict);

#endif /* TALLY_VERIFY_H */
