// SPDX-License-Identifier: GPL-2.0
/* Errors in words. */
#include "tally.h"

/**
 * tally_fail - describe a failure
 * @err: filled in; may be NULL
 * @code: errno, positive
 * @fmt: reason, as for printf(3), without a newline
 *
 * Return: -@code.
 */
int tally_fail(struct tally_error *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return -code;
	err->code = code;
	err->offset = TALLY_NO_OFFSET;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return -code;
}

/**
 * tally_fail_at - describe what is wrong in a file
 * @err: filled in; may be NULL
 * @offset: byte of the file at which it is wrong
 * @fmt: reason, as for printf(3), without a newline
 *
 * Return: -EBADMSG.
 */
int tally_fail_at(struct tally_error *err, u64 offset, const char *fmt, ...)
{
	va_list ap;
	int used;

	if (!err)
		return -EBADMSG;
	err->code = EBADMSG;
	err->offset = offset;
	used = snprintf(err->text, sizeof(err->text), "at offset %#llx: ", offset);
	va_start(ap, fmt);
	vsnprintf(err->text + used, sizeof(err->text) - used, fmt, ap);
	va_end(ap);
	return -EBADMSG;
}
