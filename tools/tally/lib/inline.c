// SPDX-License-Identifier: GPL-2.0
/*
 * Functions that the compiler inlined. What was found at an address is kept: debug information is
 * slow to search.
 */
#include "inline.h"

#include <stdlib.h>
#include <string.h>

#ifdef HAVE_LIBDW
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#ifdef HAVE_IBERTY
#define HAVE_DECL_BASENAME 1
#include <libiberty/demangle.h>
#endif

/* Functions that are inlined in one another at one address, at most. */
#define INLINE_MAX	32
/* Buckets of addresses. */
#define INLINE_BUCKETS	4096

/**
 * struct inline_file - a file with its debug information
 * @dso: the file
 * @dwfl: the session of libdwfl, NULL if the file has none
 * @module: the file in it
 * @next: next file
 */
struct inline_file {
	struct tally_dso *dso;
	Dwfl *dwfl;
	Dwfl_Module *module;
	struct inline_file *next;
};

/**
 * struct inline_place - an address that was looked up
 * @dso: its file
 * @at: its offset in the file
 * @nr: number of names
 * @names: functions, the innermost first
 * @next: next place of the bucket
 */
struct inline_place {
	struct tally_dso *dso;
	u64 at;
	unsigned int nr;
	const char *names[INLINE_MAX];
	struct inline_place *next;
};

/**
 * struct inliner - everything that was looked up
 * @files: open files
 * @places: hash table of addresses
 * @names: names, each kept once, so that equal names are one pointer
 * @nr_names: number of them
 * @arena: memory of the names
 */
struct inliner {
	struct inline_file *files;
	struct inline_place *places[INLINE_BUCKETS];
	char **names;
	size_t nr_names;
	struct tally_arena arena;
};

static const Dwfl_Callbacks inline_callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

static struct inline_file *inline_open(struct inliner *inliner, const struct tally_dsos *dsos,
				       struct tally_dso *dso)
{
	struct inline_file *file;
	char path[4096];

	for (file = inliner->files; file; file = file->next)
		if (file->dso == dso)
			return file;
	file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	file->dso = dso;
	file->next = inliner->files;
	inliner->files = file;
	if (*dso->name != '/' || dso->kernel || dso->stale)
		return file;
	file->dwfl = dwfl_begin(&inline_callbacks);
	if (!file->dwfl)
		return file;
	snprintf(path, sizeof(path), "%s%s", dsos->symfs, dso->name);
	dwfl_report_begin(file->dwfl);
	file->module = dwfl_report_offline(file->dwfl, dso->short_name, path, -1);
	dwfl_report_end(file->dwfl, NULL, NULL);
	return file;
}

/* Address of an offset in the file, by its program headers. */
static bool inline_address(const struct inline_file *file, u64 at, Dwarf_Addr *address)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(file->module, &bias);
	size_t nr;

	if (!elf || elf_getphdrnum(elf, &nr))
		return false;
	for (size_t i = 0; i < nr; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(elf, i, &header) || header.p_type != PT_LOAD)
			continue;
		if (at < header.p_offset || at - header.p_offset >= header.p_filesz)
			continue;
		*address = at - header.p_offset + header.p_vaddr + bias;
		return true;
	}
	return false;
}

static const char *inline_name(struct inliner *inliner, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = NULL;
	char *demangled = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute))
		name = dwarf_formstring(&attribute);
#ifdef HAVE_IBERTY
	if (name)
		demangled = cplus_demangle(name, DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI);
#endif
	name = demangled ?: name ?: dwarf_diename(die) ?: "";
	for (size_t i = 0; i < inliner->nr_names; i++) {
		if (!strcmp(inliner->names[i], name)) {
			free(demangled);
			return inliner->names[i];
		}
	}
	name = tally_arena_strdup(&inliner->arena, name);
	free(demangled);
	if (name && !(inliner->nr_names & (inliner->nr_names - 1))) {
		size_t room = inliner->nr_names ? inliner->nr_names * 2 : 1;
		char **names = realloc(inliner->names, room * sizeof(*names));

		if (!names)
			return name;
		inliner->names = names;
	}
	if (name)
		inliner->names[inliner->nr_names++] = (char *)name;
	return name ?: "";
}

/* Scopes around the innermost one, up to the function that is not inlined. */
static void inline_scopes(struct inliner *inliner, struct inline_place *place, Dwarf_Die *scopes,
			  int nr)
{
	for (int i = 0; i < nr && place->nr < INLINE_MAX; i++) {
		int tag = dwarf_tag(&scopes[i]);

		if (tag == DW_TAG_subprogram)
			break;
		if (tag == DW_TAG_inlined_subroutine)
			place->names[place->nr++] = inline_name(inliner, &scopes[i]);
	}
}

static void inline_search(struct inliner *inliner, const struct inline_file *file,
			  struct inline_place *place)
{
	Dwarf_Die *unit, *scopes = NULL, *around = NULL;
	Dwarf_Addr address, bias;
	int nr;

	if (!file || !file->module || !inline_address(file, place->at, &address))
		return;
	unit = dwfl_module_addrdie(file->module, address, &bias);
	if (!unit)
		return;
	nr = dwarf_getscopes(unit, address - bias, &scopes);
	if (nr > 0)
		nr = dwarf_getscopes_die(&scopes[0], &around);
	if (nr > 0)
		inline_scopes(inliner, place, around, nr);
	free(scopes);
	free(around);
}

/**
 * inliner_names - functions that are inlined at an address
 * @inliner: state, created when it is first needed
 * @dsos: where files are looked up
 * @dso: file
 * @at: offset in it
 * @names: set to their names, the innermost first; equal names are one pointer
 *
 * Return: number of names; 0 if nothing is inlined there, or there is no debug information.
 */
unsigned int inliner_names(struct inliner **inliner, const struct tally_dsos *dsos,
			   struct tally_dso *dso, u64 at, const char *const **names)
{
	struct inline_place **bucket, *place;

	if (!*inliner)
		*inliner = calloc(1, sizeof(**inliner));
	if (!*inliner)
		return 0;
	bucket = &(*inliner)->places[(at ^ (uintptr_t)dso >> 4) % INLINE_BUCKETS];
	for (place = *bucket; place; place = place->next)
		if (place->dso == dso && place->at == at)
			break;
	if (!place) {
		place = calloc(1, sizeof(*place));
		if (!place)
			return 0;
		place->dso = dso;
		place->at = at;
		place->next = *bucket;
		*bucket = place;
		inline_search(*inliner, inline_open(*inliner, dsos, dso), place);
	}
	*names = place->names;
	return place->nr;
}

/**
 * inliner_free - free the state
 * @inliner: state; may be NULL
 */
void inliner_free(struct inliner *inliner)
{
	if (!inliner)
		return;
	while (inliner->files) {
		struct inline_file *file = inliner->files;

		inliner->files = file->next;
		if (file->dwfl)
			dwfl_end(file->dwfl);
		free(file);
	}
	for (size_t i = 0; i < INLINE_BUCKETS; i++) {
		while (inliner->places[i]) {
			struct inline_place *place = inliner->places[i];

			inliner->places[i] = place->next;
			free(place);
		}
	}
	free(inliner->names);
	tally_arena_free(&inliner->arena);
	free(inliner);
}
#else
unsigned int inliner_names(struct inliner **inliner, const struct tally_dsos *dsos,
			   struct tally_dso *dso, u64 at, const char *const **names)
{
	(void)inliner;
	(void)dsos;
	(void)dso;
	(void)at;
	(void)names;
	return 0;
}

void inliner_free(struct inliner *inliner)
{
	(void)inliner;
}
#endif
