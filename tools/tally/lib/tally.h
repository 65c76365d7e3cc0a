/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libtally: what all of its parts share: integer types, errors, growable buffers, the numbers of
 * the perf.data format.
 *
 * Functions that can fail return 0 or a positive result, or a negative errno. Those that take a
 * struct tally_error describe the failure there in words; a NULL pointer is allowed.
 *
 * No function here is called from a signal handler.
 */
#ifndef TALLY_H
#define TALLY_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <linux/types.h>
#include <linux/perf_event.h>

typedef __u64 u64;
typedef __u32 u32;
typedef __u16 u16;
typedef __u8 u8;
typedef __s64 s64;
typedef __s32 s32;

#define TALLY_PRINTF(format, first)	__attribute__((__format__(printf, format, first)))
#define ARRAY_SIZE(array)		(sizeof(array) / sizeof((array)[0]))

#define TALLY_VERSION			"1.0"

/* No offset is known: tally_error.offset. */
#define TALLY_NO_OFFSET			(~0ULL)

/**
 * struct tally_error - why an operation failed
 * @code: errno, positive; 0 while there is no error
 * @offset: byte of the perf.data file at which the reason stands, or TALLY_NO_OFFSET
 * @text: the reason in words, without a newline; includes the offset if there is one
 */
struct tally_error {
	int code;
	u64 offset;
	char text[256];
};

int tally_fail(struct tally_error *err, int code, const char *fmt, ...) TALLY_PRINTF(3, 4);
int tally_fail_at(struct tally_error *err, u64 offset, const char *fmt, ...) TALLY_PRINTF(3, 4);

/**
 * struct tally_buf - growable array of bytes
 * @data: the bytes, from malloc(3); NULL while nothing was put
 * @size: number of bytes in use
 * @room: number of bytes allocated
 * @failed: an allocation failed; all later puts do nothing
 *
 * Zero-initialised it is empty. Puts do not report errors: check @failed at the end.
 */
struct tally_buf {
	u8 *data;
	size_t size;
	size_t room;
	bool failed;
};

void *tally_buf_grow(struct tally_buf *buf, size_t size);
void tally_buf_put(struct tally_buf *buf, const void *data, size_t size);
void tally_buf_put_u32(struct tally_buf *buf, u32 value);
void tally_buf_put_u64(struct tally_buf *buf, u64 value);
void tally_buf_free(struct tally_buf *buf);

/**
 * struct tally_file_id - which file it is that a path has: bytes 40 to 63 of an MMAP2 record
 * @major: of its device
 * @minor: of its device
 * @inode: its inode, 0 if it is not known
 * @generation: of the inode, 0 if it is not known
 * @size: bytes of @build_id
 * @reserved: 0
 * @build_id: build id, with PERF_RECORD_MISC_MMAP_BUILD_ID in place of the inode
 * @has_build_id: it is there; not in the record
 */
struct tally_file_id {
	union {
		struct {
			u32 major;
			u32 minor;
			u64 inode;
			u64 generation;
		};
		struct {
			u8 size;
			u8 reserved[3];
			u8 build_id[20];
		};
	};
	bool has_build_id;
};

#define TALLY_FILE_ID_BYTES		24

/* A header string is padded with NULs to a multiple of this many bytes. */
#define TALLY_STRING_ALIGN		64

void tally_buf_put_string(struct tally_buf *buf, const char *string);

/* First eight bytes of a perf.data file, as a little-endian number: PERFILE2. */
#define TALLY_MAGIC2			0x32454c4946524550ULL

/* Bits of the file header's flags: which feature sections there are. */
enum tally_feature {
	TALLY_FEAT_TRACING_DATA		= 1,
	TALLY_FEAT_BUILD_ID		= 2,
	TALLY_FEAT_HOSTNAME		= 3,
	TALLY_FEAT_OSRELEASE		= 4,
	TALLY_FEAT_VERSION		= 5,
	TALLY_FEAT_ARCH			= 6,
	TALLY_FEAT_NRCPUS		= 7,
	TALLY_FEAT_CPUDESC		= 8,
	TALLY_FEAT_CPUID		= 9,
	TALLY_FEAT_TOTAL_MEM		= 10,
	TALLY_FEAT_CMDLINE		= 11,
	TALLY_FEAT_EVENT_DESC		= 12,
	TALLY_FEAT_CPU_TOPOLOGY		= 13,
	TALLY_FEAT_NUMA_TOPOLOGY	= 14,
	TALLY_FEAT_BRANCH_STACK		= 15,
	TALLY_FEAT_PMU_MAPPINGS		= 16,
	TALLY_FEAT_GROUP_DESC		= 17,
	TALLY_FEAT_AUXTRACE		= 18,
	TALLY_FEAT_STAT			= 19,
	TALLY_FEAT_CACHE		= 20,
	TALLY_FEAT_SAMPLE_TIME		= 21,
	TALLY_FEAT_MEM_TOPOLOGY		= 22,
	TALLY_FEAT_CLOCKID		= 23,
	TALLY_FEAT_DIR_FORMAT		= 24,
	TALLY_FEAT_BPF_PROG_INFO	= 25,
	TALLY_FEAT_BPF_BTF		= 26,
	TALLY_FEAT_COMPRESSED		= 27,
	TALLY_FEAT_CPU_PMU_CAPS		= 28,
	TALLY_FEAT_CLOCK_DATA		= 29,
	TALLY_FEAT_HYBRID_TOPOLOGY	= 30,
	TALLY_FEAT_PMU_CAPS		= 31,

	TALLY_FEAT_END			= 32,
	TALLY_FEAT_BITS			= 256,
};

/* Record types of tools, in a file only: the kernel never writes them. */
enum tally_record_type {
	TALLY_RECORD_HEADER_ATTR	= 64,
	TALLY_RECORD_HEADER_EVENT_TYPE	= 65,
	TALLY_RECORD_TRACING_DATA	= 66,
	TALLY_RECORD_BUILD_ID		= 67,
	TALLY_RECORD_FINISHED_ROUND	= 68,
	TALLY_RECORD_ID_INDEX		= 69,
	TALLY_RECORD_AUXTRACE_INFO	= 70,
	TALLY_RECORD_AUXTRACE		= 71,
	TALLY_RECORD_AUXTRACE_ERROR	= 72,
	TALLY_RECORD_THREAD_MAP		= 73,
	TALLY_RECORD_CPU_MAP		= 74,
	TALLY_RECORD_STAT_CONFIG	= 75,
	TALLY_RECORD_STAT		= 76,
	TALLY_RECORD_STAT_ROUND		= 77,
	TALLY_RECORD_EVENT_UPDATE	= 78,
	TALLY_RECORD_TIME_CONV		= 79,
	TALLY_RECORD_FEATURE		= 80,
	TALLY_RECORD_COMPRESSED		= 81,
	TALLY_RECORD_FINISHED_INIT	= 82,
	TALLY_RECORD_COMPRESSED2	= 83,

	TALLY_RECORD_END		= 84,
};

/**
 * struct tally_section - where a part of a perf.data file is
 * @offset: bytes from the start of the file
 * @size: bytes
 */
struct tally_section {
	u64 offset;
	u64 size;
};

/**
 * struct tally_file_header - first bytes of a perf.data file
 * @magic: TALLY_MAGIC2; byte swapped in a file of the other byte order
 * @size: bytes of this structure; 16 in a pipe, where the rest is left out
 * @attr_size: bytes of an entry in @attrs: an attr and the &struct tally_section of its ids
 * @attrs: array of attrs
 * @data: records
 * @event_types: not in use, both members 0
 * @flags: bit n of the 256: there is a section of feature n
 *
 * An array of &struct tally_section follows @data, one for each bit in @flags.
 */
struct tally_file_header {
	u64 magic;
	u64 size;
	u64 attr_size;
	struct tally_section attrs;
	struct tally_section data;
	struct tally_section event_types;
	u64 flags[4];
};

/* tally_file_header.size in a pipe. */
#define TALLY_PIPE_HEADER_SIZE		16

#endif /* TALLY_H */
