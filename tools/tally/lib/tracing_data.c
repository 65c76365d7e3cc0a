// SPDX-License-Identifier: GPL-2.0
/*
 * Section TRACING_DATA: formats of the tracepoints that are recorded. The layout is that of the
 * start of a trace.dat file of version 6, see trace-cmd.dat.v6(5).
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "names.h"

/* Longest file that is taken. */
#define MAX_TRACING_FILE	(16 << 20)

/* Appends a file of tracefs; its size, written before it, has @width bytes. */
static void put_tracing_file(struct tally_buf *buf, const char *root, const char *path, int width)
{
	char full[1024];
	size_t start;
	u64 size = 0;
	FILE *file;
	int c;

	start = buf->size;
	tally_buf_put(buf, &size, width);
	snprintf(full, sizeof(full), "%s/%s", root, path);
	file = *path ? fopen(full, "r") : NULL;
	while (file && size < MAX_TRACING_FILE && (c = getc(file)) != EOF) {
		const u8 byte = c;

		tally_buf_put(buf, &byte, 1);
		size++;
	}
	if (file)
		fclose(file);
	if (!buf->failed)
		memcpy(buf->data + start, &size, width);
}

static void put_tracing_text(struct tally_buf *buf, const char *text)
{
	tally_buf_put(buf, text, strlen(text) + 1);
}

/* Splits "system:name:modifiers"; false if the event is no tracepoint. */
static bool tracepoint_parts(const struct tally_counter *event, char *system, char *name,
			     size_t size)
{
	size_t length = strcspn(event->name, ":"), rest;

	if (event->attr.type != PERF_TYPE_TRACEPOINT || !event->name[length] || length >= size)
		return false;
	snprintf(system, size, "%.*s", (int)length, event->name);
	rest = strcspn(event->name + length + 1, ":");
	snprintf(name, size, "%.*s", (int)rest, event->name + length + 1);
	return true;
}

/* Whether an earlier event is of the same system, and has the same name unless @name is NULL. */
static bool tracepoint_seen(const struct tally_events *events, int before, const char *system,
			    const char *name)
{
	char other[128], other_name[128];

	for (int i = 0; i < before; i++) {
		if (tracepoint_parts(&events->event[i], other, other_name, sizeof(other)) &&
		    !strcmp(other, system) && (!name || !strcmp(other_name, name)))
			return true;
	}
	return false;
}

/* The formats of the recorded events of a system. */
static void put_system(struct tally_buf *buf, const struct tally_events *events, const char *root,
		       const char *system)
{
	char other[128], name[128], path[300];
	size_t start;
	u32 n = 0;

	put_tracing_text(buf, system);
	start = buf->size;
	tally_buf_put_u32(buf, 0);
	for (int i = 0; i < events->n; i++) {
		if (!tracepoint_parts(&events->event[i], other, name, sizeof(other)) ||
		    strcmp(other, system) || tracepoint_seen(events, i, system, name))
			continue;
		snprintf(path, sizeof(path), "events/%s/%s/format", system, name);
		put_tracing_file(buf, root, path, sizeof(u64));
		n++;
	}
	if (!buf->failed)
		memcpy(buf->data + start, &n, sizeof(n));
}

static void put_systems(struct tally_buf *buf, const struct tally_events *events, const char *root)
{
	char system[128], name[128];
	u32 n = 0;

	for (int i = 0; i < events->n; i++)
		n += tracepoint_parts(&events->event[i], system, name, sizeof(system)) &&
			!tracepoint_seen(events, i, system, NULL);
	tally_buf_put_u32(buf, n);
	for (int i = 0; i < events->n; i++) {
		if (tracepoint_parts(&events->event[i], system, name, sizeof(system)) &&
		    !tracepoint_seen(events, i, system, NULL))
			put_system(buf, events, root, system);
	}
}

bool tally_tracing_data(const struct tally_events *events, struct tally_buf *buf)
{
	static const u8 magic[] = { 0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g' };
	static const u16 order = 1;
	static const u8 zeroes[8];
	const char *root = tally_tracefs();
	size_t start = buf->size;
	const u8 machine[2] = { !*(const u8 *)&order, sizeof(long) };
	bool any = false;

	for (int i = 0; i < events->n; i++)
		any |= events->event[i].attr.type == PERF_TYPE_TRACEPOINT;
	if (!any)
		return false;
	tally_buf_put(buf, magic, sizeof(magic));
	put_tracing_text(buf, "0.6");
	tally_buf_put(buf, machine, sizeof(machine));
	tally_buf_put_u32(buf, sysconf(_SC_PAGESIZE));
	put_tracing_text(buf, "header_page");
	put_tracing_file(buf, root, "events/header_page", sizeof(u64));
	put_tracing_text(buf, "header_event");
	put_tracing_file(buf, root, "events/header_event", sizeof(u64));
	/* No events of ftrace, and no copy of the kernel's symbols. */
	tally_buf_put_u32(buf, 0);
	put_systems(buf, events, root);
	tally_buf_put_u32(buf, 0);
	put_tracing_file(buf, root, "printk_formats", sizeof(u32));
	put_tracing_file(buf, root, "saved_cmdlines", sizeof(u64));
	/* perf(1) takes from a pipe what has a size in steps of 8. */
	tally_buf_put(buf, zeroes, -(buf->size - start) & 7);
	return true;
}
