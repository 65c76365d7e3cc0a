/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A file or pipe that is read in order through a window. Private to the reader.
 */
#ifndef TALLY_INPUT_H
#define TALLY_INPUT_H

#include "tally.h"

/**
 * struct input - window of a file
 * @fd: file
 * @window: bytes of the file
 * @room: bytes allocated for @window
 * @start: next byte of @window
 * @end: bytes of @window that are filled
 * @offset: where @window[@start] is in the file
 * @limit: end of the part that is to be read; ~0 for a pipe
 */
struct input {
	int fd;
	u8 *window;
	size_t room;
	size_t start;
	size_t end;
	u64 offset;
	u64 limit;
};

int input_init(struct input *input, int fd);
void input_free(struct input *input);
void input_seek(struct input *input, u64 offset, u64 limit);
ssize_t input_need(struct input *input, size_t size);
int input_skip(struct input *input, u64 size);
int input_at(int fd, u64 offset, void *data, size_t size);

#endif /* TALLY_INPUT_H */
