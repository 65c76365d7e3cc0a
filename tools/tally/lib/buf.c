// SPDX-License-Identifier: GPL-2.0
/* Growable array of bytes. */
#include "tally.h"

#include <stdlib.h>
#include <string.h>

/**
 * tally_buf_grow - append bytes that the caller fills in
 * @buf: buffer
 * @size: number of bytes
 *
 * Return: the first of them, zeroed, valid until the next call for @buf; NULL without memory.
 */
void *tally_buf_grow(struct tally_buf *buf, size_t size)
{
	size_t room = buf->room ?: 256;
	u8 *data;

	if (buf->failed || size > SIZE_MAX / 4 - buf->size)
		goto failed;
	while (room < buf->size + size)
		room *= 2;
	if (room != buf->room) {
		data = realloc(buf->data, room);
		if (!data)
			goto failed;
		buf->data = data;
		buf->room = room;
	}
	data = memset(buf->data + buf->size, 0, size);
	buf->size += size;
	return data;
failed:
	buf->failed = true;
	return NULL;
}

/**
 * tally_buf_put - append bytes
 * @buf: buffer
 * @data: bytes; not part of @buf
 * @size: number of bytes
 */
void tally_buf_put(struct tally_buf *buf, const void *data, size_t size)
{
	void *place = tally_buf_grow(buf, size);

	if (place && size)
		memcpy(place, data, size);
}

/**
 * tally_buf_put_u32 - append a 32-bit number
 * @buf: buffer
 * @value: number
 */
void tally_buf_put_u32(struct tally_buf *buf, u32 value)
{
	tally_buf_put(buf, &value, sizeof(value));
}

/**
 * tally_buf_put_u64 - append a 64-bit number
 * @buf: buffer
 * @value: number
 */
void tally_buf_put_u64(struct tally_buf *buf, u64 value)
{
	tally_buf_put(buf, &value, sizeof(value));
}

/**
 * tally_buf_put_string - append a header string: its padded length, and it
 * @buf: buffer
 * @string: string; NULL means ""
 */
void tally_buf_put_string(struct tally_buf *buf, const char *string)
{
	size_t length = string ? strlen(string) : 0;
	size_t padded = (length + TALLY_STRING_ALIGN) / TALLY_STRING_ALIGN * TALLY_STRING_ALIGN;
	void *place;

	tally_buf_put_u32(buf, padded);
	place = tally_buf_grow(buf, padded);
	if (place && length)
		memcpy(place, string, length);
}

/**
 * tally_buf_free - free the bytes; the buffer is empty then
 * @buf: buffer
 */
void tally_buf_free(struct tally_buf *buf)
{
	free(buf->data);
	*buf = (struct tally_buf){};
}
