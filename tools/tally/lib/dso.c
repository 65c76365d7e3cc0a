// SPDX-License-Identifier: GPL-2.0
/* Files with code: table by name, where their symbols are looked for, lookup. */
#include "dso.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/**
 * struct tally_dso_path - a path
 * @dsos: files that have had it
 * @plain: the one of which no record has the build id
 * @apart: tally_dso_apart()
 * @next: next of the bucket
 * @name: path
 */
struct tally_dso_path {
	struct tally_dso *dsos;
	struct tally_dso *plain;
	struct tally_dso *apart;
	struct tally_dso_path *next;
	char name[];
};

/**
 * tally_hash - hash of bytes
 * @hash: hash of what is before them
 * @bytes: bytes
 * @size: number of them
 *
 * Return: the hash.
 */
u32 tally_hash(u64 hash, const void *bytes, size_t size)
{
	const u8 *byte = bytes;

	hash = 2166136261u ^ hash ^ hash >> 32;
	for (size_t i = 0; i < size; i++)
		hash = ((u32)hash ^ byte[i]) * 16777619u;
	return hash ^ hash >> 16;
}

/* "[kernel.kallsyms]" and the like are the kernel, .ko files are modules. */
static void dso_classify(struct tally_dso *dso)
{
	const char *slash = strrchr(dso->name, '/');
	const char *ko = strstr(dso->name, ".ko");

	dso->short_name = slash && slash[1] ? slash + 1 : dso->name;
	if (!strncmp(dso->name, "[guest", 6))
		dso->problem = "functions of guests are not looked up";
	dso->kernel = !strncmp(dso->name, "[kernel", 7) || (ko && (!ko[3] || ko[3] == '.'));
}

/**
 * tally_file_id_same - are two files the same?
 * @a: a file
 * @b: a file
 *
 * Return: true if they are, as far as is known: /proc/PID/maps does not have generations.
 */
bool tally_file_id_same(const struct tally_file_id *a, const struct tally_file_id *b)
{
	if (a->has_build_id || b->has_build_id)
		return a->has_build_id && b->has_build_id && a->size == b->size &&
		       !memcmp(a->build_id, b->build_id, sizeof(a->build_id));
	return a->major == b->major && a->minor == b->minor && a->inode == b->inode &&
	       (a->generation == b->generation || !a->generation || !b->generation);
}

static struct tally_dso_path *dso_path(struct tally_dsos *dsos, const char *name)
{
	u32 hash = tally_hash(0, name, strlen(name)) % ARRAY_SIZE(dsos->paths);
	struct tally_dso_path *path;

	for (path = dsos->paths[hash]; path; path = path->next)
		if (!strcmp(path->name, name))
			return path;
	path = calloc(1, sizeof(*path) + strlen(name) + 1);
	if (!path)
		return NULL;
	memcpy(path->name, name, strlen(name) + 1);
	path->next = dsos->paths[hash];
	dsos->paths[hash] = path;
	return path;
}

static struct tally_dso *dso_new(struct tally_dso_path *path)
{
	struct tally_dso *dso = calloc(1, sizeof(*dso));

	if (!dso)
		return NULL;
	dso->name = path->name;
	dso_classify(dso);
	dso->next = path->dsos;
	path->dsos = dso;
	return dso;
}

static struct tally_dso *path_apart(struct tally_dso_path *path)
{
	struct tally_dso *dso = path->apart ?: dso_new(path);

	if (!dso || path->apart)
		return dso;
	dso->apart = true;
	dso->loaded = true;
	dso->stale = true;
	dso->problem = "several files have had this path, this one's build id is not known";
	return path->apart = dso;
}

/**
 * tally_dso_get - the dso of a name, created if need be
 * @dsos: table
 * @name: path or name in brackets
 *
 * Return: the dso, tally_dso_apart() if there are several, or NULL without memory.
 */
struct tally_dso *tally_dso_get(struct tally_dsos *dsos, const char *name)
{
	struct tally_dso_path *path = dso_path(dsos, name);

	if (!path)
		return NULL;
	if (!path->dsos)
		path->plain = dso_new(path);
	return path->dsos && path->dsos->next ? path_apart(path) : path->dsos;
}

static bool dso_has_build_id(const struct tally_dso *dso, const u8 *build_id, u32 size)
{
	return dso->build_id_size == size && !memcmp(dso->build_id, build_id, size);
}

/* The dso without a recorded build id may be it if nothing else was found in its file. */
static struct tally_dso *path_take_plain(struct tally_dso_path *path, const u8 *build_id, u32 size)
{
	struct tally_dso *dso = path->plain;

	if (!dso || (dso->loaded && !dso_has_build_id(dso, build_id, size)))
		return NULL;
	path->plain = NULL;
	return dso;
}

/**
 * tally_dso_of_build_id - the dso of a file, created if need be
 * @dsos: table
 * @name: path
 * @build_id: build id by the records
 * @size: bytes of it; more than TALLY_BUILD_ID_SIZE are cut off
 *
 * Return: the dso or NULL without memory.
 */
struct tally_dso *tally_dso_of_build_id(struct tally_dsos *dsos, const char *name,
					const u8 *build_id, u32 size)
{
	struct tally_dso_path *path = dso_path(dsos, name);
	struct tally_dso **bucket, *dso;

	if (!path)
		return NULL;
	if (size > TALLY_BUILD_ID_SIZE)
		size = TALLY_BUILD_ID_SIZE;
	bucket = &dsos->recorded[tally_hash((uintptr_t)path, build_id, size) %
				 ARRAY_SIZE(dsos->recorded)];
	for (dso = *bucket; dso; dso = dso->recorded_next)
		if (dso->name == path->name && dso_has_build_id(dso, build_id, size))
			return dso;
	dso = path_take_plain(path, build_id, size) ?: dso_new(path);
	if (!dso)
		return NULL;
	tally_dso_set_build_id(dso, build_id, size);
	dso->recorded = true;
	dso->recorded_next = *bucket;
	*bucket = dso;
	return dso;
}

/**
 * tally_dso_apart - the dso of what may be one or another of the files with a path
 * @dsos: table
 * @name: path
 *
 * Return: the dso, which has no symbols, or NULL without memory.
 */
struct tally_dso *tally_dso_apart(struct tally_dsos *dsos, const char *name)
{
	struct tally_dso_path *path = dso_path(dsos, name);

	return path ? path_apart(path) : NULL;
}

/**
 * tally_dso_guest - the dso of all that guests run; it has no symbols
 * @dsos: table
 * @kernel: that of their kernels
 *
 * Return: the dso or NULL without memory.
 */
struct tally_dso *tally_dso_guest(struct tally_dsos *dsos, bool kernel)
{
	return tally_dso_get(dsos, kernel ? "[guest.kernel]" : "[guest.user]");
}

/**
 * tally_dsos_init - prepare a table
 * @dsos: table
 * @symfs: folder in which paths are looked up, NULL for the root; must stay valid
 * @kallsyms: file with the kernel's symbols, NULL for that of the running kernel; must stay valid
 *
 * Return: 0 or -ENOMEM.
 */
int tally_dsos_init(struct tally_dsos *dsos, const char *symfs, const char *kallsyms)
{
	*dsos = (struct tally_dsos){ .symfs = symfs ?: "", .kallsyms = kallsyms };
	dsos->kernel = tally_dso_get(dsos, "[kernel.kallsyms]");
	return dsos->kernel ? 0 : -ENOMEM;
}

static void path_free(struct tally_dso_path *path)
{
	struct tally_dso *dso;

	while ((dso = path->dsos)) {
		path->dsos = dso->next;
		free(dso->symbols);
		free(dso->starts);
		tally_arena_free(&dso->arena);
		free(dso);
	}
	free(path);
}

/**
 * tally_dsos_free - free a table and what is in it
 * @dsos: table
 */
void tally_dsos_free(struct tally_dsos *dsos)
{
	for (size_t i = 0; i < ARRAY_SIZE(dsos->paths); i++) {
		struct tally_dso_path *path;

		while ((path = dsos->paths[i])) {
			dsos->paths[i] = path->next;
			path_free(path);
		}
	}
	tally_ksymbols_free(dsos->ksymbols);
}

/**
 * tally_kernel_set_mark - note where a symbol of the kernel was while it was recorded
 * @dsos: table of which no symbol of the kernel was looked up
 * @name: the symbol
 * @at: its address; the first one of all calls is taken
 *
 * Return: 0 or -ENOMEM.
 */
int tally_kernel_set_mark(struct tally_dsos *dsos, const char *name, u64 at)
{
	if (dsos->mark)
		return 0;
	dsos->mark = tally_arena_strdup(&dsos->kernel->arena, name);
	dsos->mark_at = at;
	return dsos->mark ? 0 : -ENOMEM;
}

/**
 * tally_dso_set_build_id - note a build id
 * @dso: dso, before a search for its symbols
 * @build_id: build id
 * @size: bytes of it; more than TALLY_BUILD_ID_SIZE are cut off
 */
void tally_dso_set_build_id(struct tally_dso *dso, const u8 *build_id, u32 size)
{
	if (size > TALLY_BUILD_ID_SIZE)
		size = TALLY_BUILD_ID_SIZE;
	memcpy(dso->build_id, build_id, size);
	dso->build_id_size = size;
}

/**
 * tally_dso_add_symbol - add a symbol; tally_dso_sort() is due after the last
 * @dso: dso
 * @start: first byte
 * @end: first byte behind it; @start if it is not known
 * @binding: how visible the name is
 * @name: name, copied
 *
 * Return: 0 or -ENOMEM.
 */
int tally_dso_add_symbol(struct tally_dso *dso, u64 start, u64 end, enum tally_binding binding,
			 const char *name)
{
	size_t nr = dso->nr_symbols;
	struct tally_symbol *symbols = dso->symbols;

	if (!(nr & (nr - 1))) {
		symbols = realloc(symbols, (nr ? nr * 2 : 1) * sizeof(*symbols));
		if (!symbols)
			return -ENOMEM;
		dso->symbols = symbols;
	}
	name = tally_arena_strdup(&dso->arena, name);
	if (!name)
		return -ENOMEM;
	symbols[dso->nr_symbols++] = (struct tally_symbol){ start, end, name, nr, binding };
	return 0;
}

/* For qsort(): negative if @left is the smaller number. */
static int symbol_order(u64 left, u64 right)
{
	return (left > right) - (left < right);
}

/*
 * Of symbols at one address perf shows one with a size, a strong one, a global one, the one with
 * fewer underscores, the longest, the first of the table. So does tally.
 */
static int symbol_compare(const void *left, const void *right)
{
	const struct tally_symbol *a = left, *b = right;

	return symbol_order(a->start, b->start) ?:
	       symbol_order(b->end != b->start, a->end != a->start) ?:
	       symbol_order(b->binding, a->binding) ?:
	       symbol_order(strspn(a->name, "_"), strspn(b->name, "_")) ?:
	       symbol_order(strlen(b->name), strlen(a->name)) ?:
	       symbol_order(a->order, b->order);
}

/* Without memory the dso has no symbols. */
static void dso_set_starts(struct tally_dso *dso)
{
	u64 *starts = realloc(dso->starts, dso->nr_symbols * sizeof(*starts));

	if (!starts) {
		dso->nr_symbols = 0;
		return;
	}
	dso->starts = starts;
	for (size_t i = 0; i < dso->nr_symbols; i++)
		starts[i] = dso->symbols[i].start;
}

/**
 * tally_dso_sort - order symbols, one for each address
 * @dso: dso
 */
void tally_dso_sort(struct tally_dso *dso)
{
	size_t kept = 0;

	if (!dso->nr_symbols)
		return;
	qsort(dso->symbols, dso->nr_symbols, sizeof(*dso->symbols), symbol_compare);
	for (size_t i = 1; i < dso->nr_symbols; i++)
		if (dso->symbols[i].start != dso->symbols[kept].start)
			dso->symbols[++kept] = dso->symbols[i];
	dso->nr_symbols = kept + 1;
	for (size_t i = 0; i < dso->nr_symbols; i++) {
		struct tally_symbol *symbol = &dso->symbols[i];

		if (symbol->end == symbol->start)
			symbol->end = i < kept ? symbol[1].start : symbol->start + 4096;
	}
	dso_set_starts(dso);
}

static bool kernel_is_running(const struct tally_dso *dso)
{
	u8 build_id[TALLY_BUILD_ID_SIZE] = {};

	if (!dso->build_id_size || tally_kernel_build_id(build_id) <= 0)
		return true;
	return !memcmp(build_id, dso->build_id, dso->build_id_size);
}

static enum tally_binding kallsyms_binding(char type)
{
	if (type == 'w' || type == 'W')
		return TALLY_SYMBOL_WEAK;
	return type == 'T' ? TALLY_SYMBOL_GLOBAL : TALLY_SYMBOL_LOCAL;
}

/**
 * struct kallsyms - symbols of a boot, which may be another one than that of the recording
 * @file: the symbols
 * @modules: where the modules are, the file "modules" beside @file; NULL without
 * @shift: what the kernel's symbols are to be moved by
 * @module: module of the last symbol
 * @module_shift: what its symbols are to be moved by
 * @module_known: that is known
 */
struct kallsyms {
	FILE *file;
	FILE *modules;
	u64 shift;
	char module[64];
	u64 module_shift;
	bool module_known;
};

/**
 * struct kallsyms_line - a line "address type name [module]"
 * @at: address
 * @type: a letter
 * @name: name
 * @module: module in brackets, without the first one; NULL without
 */
struct kallsyms_line {
	u64 at;
	char type;
	const char *name;
	char *module;
};

static bool kallsyms_read(FILE *file, char *text, size_t size, struct kallsyms_line *line)
{
	char *end;

	while (fgets(text, size, file)) {
		line->at = strtoull(text, &end, 16);
		if (!line->at || *end != ' ' || !end[1] || !strchr("tTwW", end[1]) ||
		    end[2] != ' ')
			continue;
		line->type = end[1];
		line->name = end + 3;
		line->module = strchr(end + 3, '[');
		end[3 + strcspn(end + 3, "\t\n ")] = 0;
		if (line->module)
			line->module++;
		return true;
	}
	return false;
}

static void kallsyms_open(struct kallsyms *symbols, const struct tally_dsos *dsos)
{
	const char *path = dsos->kallsyms ?: "/proc/kallsyms";
	const char *slash = strrchr(path, '/');
	struct kallsyms_line line;
	char text[1024];

	*symbols = (struct kallsyms){ .file = fopen(path, "re") };
	snprintf(text, sizeof(text), "%.*smodules", slash ? (int)(slash + 1 - path) : 0, path);
	symbols->modules = fopen(text, "re");
	while (symbols->file && dsos->mark &&
	       kallsyms_read(symbols->file, text, sizeof(text), &line)) {
		if (line.module || strcmp(line.name, dsos->mark))
			continue;
		symbols->shift = dsos->mark_at - line.at;
		break;
	}
	if (symbols->file)
		rewind(symbols->file);
}

static void kallsyms_close(struct kallsyms *symbols)
{
	if (symbols->file)
		fclose(symbols->file);
	if (symbols->modules)
		fclose(symbols->modules);
}

/* Is it NAME.ko in some folder, compressed or not, or [NAME]? Files may have '-' for '_'. */
static bool dso_is_module(const struct tally_dso *dso, const char *module)
{
	const char *name = dso->short_name + (*dso->short_name == '[');

	while (*module && (*name == *module || (*name == '-' && *module == '_'))) {
		name++;
		module++;
	}
	return dso->start && !*module && (*name == '.' || *name == ']');
}

/* The module of a name; NULL if it was not recorded. */
static const struct tally_dso *module_recorded(const struct tally_dsos *dsos, const char *module)
{
	const struct tally_dso_path *path;

	for (size_t i = 0; i < ARRAY_SIZE(dsos->paths); i++)
		for (path = dsos->paths[i]; path; path = path->next)
			for (const struct tally_dso *dso = path->dsos; dso; dso = dso->next)
				if (dso_is_module(dso, module))
					return dso;
	return NULL;
}

/* Was a module recorded at an address? */
static bool module_covers(const struct tally_dsos *dsos, u64 at)
{
	const struct tally_dso_path *path;

	for (size_t i = 0; i < ARRAY_SIZE(dsos->paths); i++)
		for (path = dsos->paths[i]; path; path = path->next)
			for (const struct tally_dso *dso = path->dsos; dso; dso = dso->next)
				if (dso->kernel && dso->start <= at && at < dso->end)
					return true;
	return false;
}

/* Where it is in the boot that the symbols are of. */
static u64 module_present(FILE *modules, const char *module)
{
	char line[4096], name[64];
	unsigned long long at;

	if (!modules)
		return 0;
	rewind(modules);
	while (fgets(line, sizeof(line), modules))
		if (sscanf(line, "%63s %*s %*s %*s %*s %llx", name, &at) == 2 &&
		    !strcmp(name, module))
			return at;
	return 0;
}

/*
 * Each module is moved by an amount of its own. What of another boot is not known to have been
 * mapped is left out: another thing may have been there. A kernel that has not moved may be that of
 * another boot, too: what is where another module was recorded is left out.
 */
static void kallsyms_module(struct kallsyms *symbols, const struct tally_dsos *dsos,
			    const char *module)
{
	const struct tally_dso *recorded;
	u64 present;

	if (!strcmp(symbols->module, module))
		return;
	snprintf(symbols->module, sizeof(symbols->module), "%s", module);
	recorded = module_recorded(dsos, module);
	present = module_present(symbols->modules, module);
	symbols->module_known = recorded && present;
	symbols->module_shift = symbols->module_known ? recorded->start - present : 0;
	if (!symbols->shift && !symbols->module_known)
		symbols->module_known = recorded || !module_covers(dsos, present);
}

static int kallsyms_add(struct kallsyms *symbols, struct tally_dsos *dsos,
			struct kallsyms_line *line)
{
	u64 shift = symbols->shift;

	if (*line->name == '$' || !strncmp(line->name, "__pfx_", 6))
		return 0;
	if (line->module) {
		line->module[strcspn(line->module, "]")] = 0;
		kallsyms_module(symbols, dsos, line->module);
		if (!symbols->module_known)
			return 0;
		shift = symbols->module_shift;
	}
	return tally_dso_add_symbol(dsos->kernel, line->at + shift, line->at + shift,
				    kallsyms_binding(line->type), line->name);
}

static void kernel_load(struct tally_dsos *dsos, struct tally_dso *dso)
{
	struct kallsyms symbols;
	struct kallsyms_line line;
	char text[1024];

	if (!dsos->kallsyms && !kernel_is_running(dso)) {
		dso->problem = "another kernel is running; give its symbols by --kallsyms";
		return;
	}
	kallsyms_open(&symbols, dsos);
	while (symbols.file && kallsyms_read(symbols.file, text, sizeof(text), &line))
		if (kallsyms_add(&symbols, dsos, &line))
			break;
	kallsyms_close(&symbols);
	tally_dso_sort(dso);
	if (!dso->nr_symbols)
		dso->problem = "kallsyms shows no addresses (kernel.kptr_restrict)";
}

static int dso_try(struct tally_dso *dso, bool check, const char *fmt, ...) TALLY_PRINTF(3, 4);

static int dso_try(struct tally_dso *dso, bool check, const char *fmt, ...)
{
	char path[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	if (access(path, R_OK))
		return -ENOENT;
	return tally_elf_symbols(dso, path, check);
}

static void dso_hex(const struct tally_dso *dso, char *hex)
{
	*hex = 0;
	for (u32 i = 0; i < dso->build_id_size; i++)
		sprintf(hex + 2 * i, "%02x", dso->build_id[i]);
}

static void file_load(struct tally_dsos *dsos, struct tally_dso *dso)
{
	char hex[2 * TALLY_BUILD_ID_SIZE + 1];
	const char *root = dsos->symfs;
	int ret;

	if (*dso->name != '/' || !strncmp(dso->name, "//", 2)) {
		dso->problem = "not a file";
		return;
	}
	ret = dso_try(dso, true, "%s%s", root, dso->name);
	dso_hex(dso, hex);
	if (dso->build_id_size)
		dso_try(dso, false, "%s/usr/lib/debug/.build-id/%.2s/%s.debug", root, hex, hex + 2);
	if (ret && dso->build_id_size && getenv("HOME") && !dso->nr_symbols)
		dso_try(dso, true, "%s/.debug/.build-id/%.2s/%s/elf", getenv("HOME"), hex, hex + 2);
	tally_dso_sort(dso);
	if (dso->nr_symbols)
		dso->problem = NULL;
	else if (!dso->problem)
		dso->problem = ret == -ENOENT ? "no such file" : "no symbols";
}

/* Lines "start size name" of a file that a just-in-time compiler writes. */
static void jit_load(struct tally_dso *dso)
{
	char line[1024];
	FILE *file = fopen(dso->name, "re");

	while (file && fgets(line, sizeof(line), file)) {
		char *end;
		u64 start = strtoull(line, &end, 16);
		u64 size = strtoull(end, &end, 16);

		if (*end != ' ' || !size)
			continue;
		end[strcspn(end, "\n")] = 0;
		if (tally_dso_add_symbol(dso, start, start + size, TALLY_SYMBOL_GLOBAL, end + 1))
			break;
	}
	if (file)
		fclose(file);
	tally_dso_sort(dso);
	if (!dso->nr_symbols)
		dso->problem = "no symbols";
}

/**
 * tally_dso_load - look for the symbols of a dso, once
 * @dsos: table
 * @dso: dso
 */
void tally_dso_load(struct tally_dsos *dsos, struct tally_dso *dso)
{
	if (dso->loaded)
		return;
	dso->loaded = true;
	if (dso->kernel)
		kernel_load(dsos, dso);
	else if (!strncmp(dso->name, "/tmp/perf-", 10))
		jit_load(dso);
	else
		file_load(dsos, dso);
}

/**
 * tally_dso_find - symbol at an address
 * @dsos: table
 * @dso: dso
 * @at: offset in the file, or address in the kernel
 *
 * Addresses of samples are not predictable: the search has no branch that depends on them.
 *
 * Return: the symbol, NULL if there is none; valid until a record is followed.
 */
const struct tally_symbol *tally_dso_find(struct tally_dsos *dsos, struct tally_dso *dso, u64 at)
{
	const struct tally_symbol *symbol;
	u64 lowest = dso->start;
	const u64 *base;

	if (dso->kernel) {
		symbol = tally_ksymbol_find(dsos, at);
		if (symbol)
			return symbol;
		dso = dsos->kernel;
	}
	tally_dso_load(dsos, dso);
	base = dso->starts;
	for (size_t nr = dso->nr_symbols; nr > 1; nr -= nr / 2)
		base += nr / 2 & -(size_t)(base[nr / 2] <= at);
	if (!dso->nr_symbols || *base > at)
		return NULL;
	symbol = &dso->symbols[base - dso->starts];
	/* In front of a module there are symbols that seem to reach into it. */
	return at < symbol->end && symbol->start >= lowest ? symbol : NULL;
}
