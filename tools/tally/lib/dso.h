/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Symbols of programs, libraries and the kernel. A "dso" is a file with code that is mapped.
 */
#ifndef TALLY_DSO_H
#define TALLY_DSO_H

#include "feature.h"
#include "tally.h"

#define TALLY_BUILD_ID_SIZE	20

/* Of two names of a function that of the higher binding is shown. */
enum tally_binding {
	TALLY_SYMBOL_WEAK,
	TALLY_SYMBOL_LOCAL,
	TALLY_SYMBOL_GLOBAL,
};

/**
 * struct tally_symbol - a function
 * @start: first byte: offset in the file, or address in the kernel
 * @end: first byte behind the function
 * @name: name, demangled
 * @order: number among the symbols that were added to the dso
 * @binding: an enum tally_binding
 */
struct tally_symbol {
	u64 start;
	u64 end;
	const char *name;
	u32 order;
	u8 binding;
};

/**
 * struct tally_dso - a file with code
 * @name: path as it was mapped, or a name in brackets
 * @short_name: name for reports: the last part of the path
 * @build_id: build id by the records or by section BUILD_ID
 * @build_id_size: bytes of it, 0 if it is not known
 * @kernel: the kernel or a module of it: symbols are found by address in memory
 * @start: of a module of the kernel: where it was mapped; 0 if that is not known
 * @end: first address behind it
 * @loaded: symbols were looked for
 * @stale: the file at @name is not the one that was recorded
 * @recorded: @build_id is by the records, not that of the file at @name
 * @apart: one of several files that have had the path, without a known build id
 * @problem: why there are no symbols; NULL if there are
 * @symbols: sorted by start
 * @nr_symbols: number of them
 * @starts: their first bytes, close together for the search
 * @arena: memory of the names
 * @next: next dso of the path
 * @recorded_next: next of the bucket of recorded ones
 */
struct tally_dso {
	const char *name;
	const char *short_name;
	u8 build_id[TALLY_BUILD_ID_SIZE];
	u32 build_id_size;
	bool kernel;
	u64 start;
	u64 end;
	bool loaded;
	bool stale;
	bool recorded;
	bool apart;
	const char *problem;
	struct tally_symbol *symbols;
	size_t nr_symbols;
	u64 *starts;
	struct tally_arena arena;
	struct tally_dso *next;
	struct tally_dso *recorded_next;
};

struct tally_dso_path;
struct tally_ksymbol;

/**
 * struct tally_dsos - all files with code of a profile
 * @paths: paths, each with the dsos of its files
 * @recorded: dsos with a recorded build id, by this and by path
 * @kernel: dso of the kernel
 * @mark: a symbol of the kernel of which it is known where it was; NULL without
 * @mark_at: where it was
 * @ksymbols: functions of KSYMBOL records; they precede those of the kernel
 * @ksymbol_seed: of the numbers of chance in @ksymbols
 * @symfs: folder in which paths are looked up, "" for the root
 * @kallsyms: file with the kernel's symbols
 */
struct tally_dsos {
	struct tally_dso_path *paths[1024];
	struct tally_dso *recorded[8192];
	struct tally_dso *kernel;
	const char *mark;
	u64 mark_at;
	struct tally_ksymbol *ksymbols;
	u64 ksymbol_seed;
	const char *symfs;
	const char *kallsyms;
};

u32 tally_hash(u64 hash, const void *bytes, size_t size);
int tally_dsos_init(struct tally_dsos *dsos, const char *symfs, const char *kallsyms);
void tally_dsos_free(struct tally_dsos *dsos);
struct tally_dso *tally_dso_get(struct tally_dsos *dsos, const char *name);
struct tally_dso *tally_dso_of_build_id(struct tally_dsos *dsos, const char *name,
					const u8 *build_id, u32 size);
struct tally_dso *tally_dso_apart(struct tally_dsos *dsos, const char *name);
bool tally_file_id_same(const struct tally_file_id *a, const struct tally_file_id *b);
struct tally_dso *tally_dso_guest(struct tally_dsos *dsos, bool kernel);
int tally_kernel_set_mark(struct tally_dsos *dsos, const char *name, u64 at);
void tally_dso_set_build_id(struct tally_dso *dso, const u8 *build_id, u32 size);
const struct tally_symbol *tally_dso_find(struct tally_dsos *dsos, struct tally_dso *dso, u64 at);
int tally_ksymbol_add(struct tally_dsos *dsos, u64 start, u64 end, const char *name);
void tally_ksymbol_remove(struct tally_dsos *dsos, u64 start, u64 end);
const struct tally_symbol *tally_ksymbol_find(const struct tally_dsos *dsos, u64 at);
void tally_ksymbols_free(struct tally_ksymbol *tree);
int tally_dso_add_symbol(struct tally_dso *dso, u64 start, u64 end, enum tally_binding binding,
			 const char *name);
void tally_dso_load(struct tally_dsos *dsos, struct tally_dso *dso);
void tally_dso_sort(struct tally_dso *dso);

int tally_elf_symbols(struct tally_dso *dso, const char *path, bool check_build_id);
int tally_elf_build_id(const char *path, u8 *build_id);
int tally_kernel_build_id(u8 *build_id);

#endif /* TALLY_DSO_H */
