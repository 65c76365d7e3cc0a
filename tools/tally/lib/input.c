// SPDX-License-Identifier: GPL-2.0
/* A file or pipe that is read in order through a window. */
#include "input.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* More than the largest record; a file that is smaller has a window of its size. */
#define INPUT_WINDOW_MIN	(64 * 1024)
#define INPUT_WINDOW		(1024 * 1024)

/**
 * input_init - begin at the start of a file
 * @input: initialised
 * @fd: file, owned by @input from now on
 *
 * Return: 0 or -ENOMEM.
 */
int input_init(struct input *input, int fd)
{
	struct stat st;

	*input = (struct input){ .fd = fd, .limit = ~0ULL, .room = INPUT_WINDOW };
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size < INPUT_WINDOW)
		input->room = st.st_size < INPUT_WINDOW_MIN ? INPUT_WINDOW_MIN : st.st_size;
	input->window = malloc(input->room);
	return input->window ? 0 : -ENOMEM;
}

/**
 * input_free - close the file
 * @input: as input_init() left it, or zeroed
 */
void input_free(struct input *input)
{
	free(input->window);
	if (input->fd > STDERR_FILENO)
		close(input->fd);
}

/**
 * input_seek - continue elsewhere
 * @input: of a file, not of a pipe
 * @offset: next byte to read
 * @limit: first byte that is not to be read
 */
void input_seek(struct input *input, u64 offset, u64 limit)
{
	input->start = 0;
	input->end = 0;
	input->offset = offset;
	input->limit = limit;
	lseek(input->fd, offset, SEEK_SET);
}

static ssize_t input_fill(struct input *input)
{
	u64 left = input->limit - input->offset - (input->end - input->start);
	size_t room = input->room - input->end;
	ssize_t done;

	do {
		done = read(input->fd, input->window + input->end, left < room ? left : room);
	} while (done < 0 && errno == EINTR);
	if (done > 0)
		input->end += done;
	return done < 0 ? -errno : done;
}

/**
 * input_need - have bytes in the window
 * @input: input
 * @size: bytes, at most the size of the window
 *
 * Return: bytes from window[start] on, fewer than @size at the end of the file; a negative errno.
 */
ssize_t input_need(struct input *input, size_t size)
{
	while (input->end - input->start < size) {
		ssize_t done;

		if (input->start) {
			memmove(input->window, input->window + input->start,
				input->end - input->start);
			input->end -= input->start;
			input->start = 0;
		}
		done = input_fill(input);
		if (done < 0)
			return done;
		if (!done)
			break;
	}
	return input->end - input->start;
}

/**
 * input_skip - leave bytes out
 * @input: input
 * @size: bytes
 *
 * Return: 0; -EBADMSG if the file ends before; another negative errno.
 */
int input_skip(struct input *input, u64 size)
{
	if (size > input->limit - input->offset)
		return -EBADMSG;
	if (input->limit != ~0ULL && size > input->end - input->start) {
		input_seek(input, input->offset + size, input->limit);
		return 0;
	}
	while (size) {
		ssize_t have = input_need(input, 1);

		if (have <= 0)
			return have ? have : -EBADMSG;
		if ((u64)have > size)
			have = size;
		input->start += have;
		input->offset += have;
		size -= have;
	}
	return 0;
}

/**
 * input_at - read from a place in a file
 * @fd: file
 * @offset: first byte
 * @data: filled in
 * @size: bytes
 *
 * Return: 0; -EBADMSG if the file ends before; another negative errno.
 */
int input_at(int fd, u64 offset, void *data, size_t size)
{
	u8 *next = data;

	while (size) {
		ssize_t done = pread(fd, next, size, offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done ? -errno : -EBADMSG;
		next += done;
		offset += done;
		size -= done;
	}
	return 0;
}
