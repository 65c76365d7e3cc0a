// SPDX-License-Identifier: GPL-2.0
/* Symbols and build ids of ELF files, by libelf. */
#include "dso.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef HAVE_LIBDW
#include <gelf.h>
#endif
#ifdef HAVE_IBERTY
#define HAVE_DECL_BASENAME 1
#include <libiberty/demangle.h>
#endif

/* Notes: name size, description size and type, each 32 bits; name "GNU", type 3: the build id. */
#define NOTE_BUILD_ID	3

static int note_build_id(const u8 *notes, size_t size, u8 *build_id)
{
	while (size >= 12) {
		u32 words[3];
		size_t name, desc;

		memcpy(words, notes, sizeof(words));
		name = ((size_t)words[0] + 3) & ~3UL;
		desc = ((size_t)words[1] + 3) & ~3UL;
		if (name + desc > size - 12)
			break;
		if (words[2] == NOTE_BUILD_ID && words[0] == 4 && !memcmp(notes + 12, "GNU", 4) &&
		    words[1] <= TALLY_BUILD_ID_SIZE) {
			memcpy(build_id, notes + 12 + name, words[1]);
			return words[1];
		}
		notes += 12 + name + desc;
		size -= 12 + name + desc;
	}
	return 0;
}

/**
 * tally_kernel_build_id - build id of the running kernel
 * @build_id: set to it, TALLY_BUILD_ID_SIZE bytes
 *
 * Return: its bytes, 0 if there is none, or a negative errno.
 */
int tally_kernel_build_id(u8 *build_id)
{
	u8 notes[4096];
	int fd = open("/sys/kernel/notes", O_RDONLY | O_CLOEXEC);
	ssize_t size;

	if (fd < 0)
		return -errno;
	size = read(fd, notes, sizeof(notes));
	close(fd);
	return size < 0 ? -EIO : note_build_id(notes, size, build_id);
}

#ifdef HAVE_LIBDW
static Elf *elf_open(const char *path, int *fd)
{
	Elf *elf;

	elf_version(EV_CURRENT);
	*fd = open(path, O_RDONLY | O_CLOEXEC);
	if (*fd < 0)
		return NULL;
	elf = elf_begin(*fd, ELF_C_READ_MMAP, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF)
		return elf;
	elf_end(elf);
	close(*fd);
	return NULL;
}

static void elf_close(Elf *elf, int fd)
{
	elf_end(elf);
	close(fd);
}

static int elf_build_id(Elf *elf, u8 *build_id)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		Elf_Data *data;
		int size;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_NOTE)
			continue;
		data = elf_rawdata(section, NULL);
		size = data && data->d_buf ? note_build_id(data->d_buf, data->d_size, build_id) : 0;
		if (size)
			return size;
	}
	return 0;
}

static enum tally_binding elf_binding(const GElf_Sym *symbol)
{
	switch (GELF_ST_BIND(symbol->st_info)) {
	case STB_WEAK:
		return TALLY_SYMBOL_WEAK;
	case STB_GLOBAL:
		return TALLY_SYMBOL_GLOBAL;
	default:
		return TALLY_SYMBOL_LOCAL;
	}
}

/* Demangled names of C++, Rust and D; others as they are. */
static int elf_add_symbol(struct tally_dso *dso, u64 start, const GElf_Sym *symbol,
			  const char *name)
{
	char *demangled = NULL;
	int ret;

#ifdef HAVE_IBERTY
	if (*name == '_')
		demangled = cplus_demangle(name, DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI);
#endif
	ret = tally_dso_add_symbol(dso, start, start + symbol->st_size, elf_binding(symbol),
				   demangled ?: name);
	free(demangled);
	return ret;
}

/* Offset in the file of an address; a debug file has the program headers of its program. */
static bool elf_file_offset(Elf *elf, u64 address, u64 *offset)
{
	size_t nr;

	if (elf_getphdrnum(elf, &nr))
		return false;
	for (size_t i = 0; i < nr; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(elf, i, &header) || header.p_type != PT_LOAD)
			continue;
		if (address < header.p_vaddr || address - header.p_vaddr >= header.p_memsz)
			continue;
		*offset = address - header.p_vaddr + header.p_offset;
		return true;
	}
	return false;
}

static bool elf_is_executable(Elf *elf, size_t section)
{
	GElf_Shdr header;

	return gelf_getshdr(elf_getscn(elf, section), &header) && header.sh_flags & SHF_EXECINSTR;
}

/* Functions of assembly may have no type. Names with a $ are marks of the assembler. */
static bool elf_is_function(Elf *elf, const GElf_Sym *symbol, const char *name)
{
	unsigned int type = GELF_ST_TYPE(symbol->st_info);

	if (!name || !*name || symbol->st_shndx == SHN_UNDEF || !symbol->st_value)
		return false;
	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return true;
	return type == STT_NOTYPE && *name != '$' && symbol->st_shndx < SHN_LORESERVE &&
	       elf_is_executable(elf, symbol->st_shndx);
}

static int elf_table(struct tally_dso *dso, Elf *elf, Elf *addresses, Elf_Scn *section,
		     const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t nr = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;

	for (size_t i = 0; data && i < nr; i++) {
		const char *name;
		GElf_Sym symbol;
		u64 offset;

		if (!gelf_getsym(data, i, &symbol))
			continue;
		name = elf_strptr(elf, header->sh_link, symbol.st_name);
		if (!elf_is_function(elf, &symbol, name) ||
		    !elf_file_offset(addresses, symbol.st_value, &offset))
			continue;
		if (elf_add_symbol(dso, offset, &symbol, name))
			return -ENOMEM;
	}
	return 0;
}

/* The program headers of a debug file may have other file offsets: those of the program count. */
static int elf_tables(struct tally_dso *dso, Elf *elf, Elf *addresses)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		int ret;

		if (!gelf_getshdr(section, &header) ||
		    (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
			continue;
		ret = elf_table(dso, elf, addresses, section, &header);
		if (ret)
			return ret;
	}
	return dso->nr_symbols ? 0 : -ENODATA;
}

/**
 * tally_elf_build_id - build id of a file
 * @path: ELF file
 * @build_id: set to it, TALLY_BUILD_ID_SIZE bytes
 *
 * Return: its bytes, 0 if there is none, or a negative errno.
 */
int tally_elf_build_id(const char *path, u8 *build_id)
{
	int fd, size;
	Elf *elf = elf_open(path, &fd);

	if (!elf)
		return -ENOENT;
	size = elf_build_id(elf, build_id);
	elf_close(elf, fd);
	return size;
}

static bool elf_is_recorded(struct tally_dso *dso, Elf *elf)
{
	u8 build_id[TALLY_BUILD_ID_SIZE];
	int size = elf_build_id(elf, build_id);

	if (size <= 0)
		return true;
	if (!dso->build_id_size)
		tally_dso_set_build_id(dso, build_id, size);
	return !memcmp(dso->build_id, build_id, (u32)size < dso->build_id_size ? (u32)size :
		       dso->build_id_size);
}

/**
 * tally_elf_symbols - add the functions of a file to a dso
 * @dso: dso
 * @path: ELF file, or the file with its debug information
 * @check_build_id: the build id must be the dso's; if the dso has none, it is set
 *
 * Return: 0; -ESTALE: the file is not the one that was recorded; another negative errno.
 */
int tally_elf_symbols(struct tally_dso *dso, const char *path, bool check_build_id)
{
	int fd, program_fd, ret;
	Elf *elf = elf_open(path, &fd);
	Elf *program;

	if (!elf)
		return -ENOEXEC;
	if (check_build_id && !elf_is_recorded(dso, elf)) {
		elf_close(elf, fd);
		dso->stale = true;
		dso->problem = "the file has changed since it was recorded";
		return -ESTALE;
	}
	program = check_build_id ? NULL : elf_open(dso->name, &program_fd);
	ret = elf_tables(dso, elf, program ?: elf);
	if (program)
		elf_close(program, program_fd);
	elf_close(elf, fd);
	return ret;
}
#else
int tally_elf_build_id(const char *path, u8 *build_id)
{
	(void)path;
	(void)build_id;
	return -EOPNOTSUPP;
}

int tally_elf_symbols(struct tally_dso *dso, const char *path, bool check_build_id)
{
	(void)path;
	(void)check_build_id;
	dso->problem = "this program was built without elfutils";
	return -EOPNOTSUPP;
}
#endif
