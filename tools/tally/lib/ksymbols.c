// SPDX-License-Identifier: GPL-2.0
/*
 * Functions of KSYMBOL records, in a tree by their addresses. None overlaps another. A node has a
 * number of chance, and its children have smaller ones: so the tree is flat, whatever the order of
 * the records is.
 */
#include "dso.h"

#include <stdlib.h>

/**
 * struct tally_ksymbol - a node
 * @symbol: the function
 * @weight: number of chance, not below that of a child
 * @below: the functions at lower addresses
 * @above: those at higher addresses
 */
struct tally_ksymbol {
	struct tally_symbol symbol;
	u32 weight;
	struct tally_ksymbol *below;
	struct tally_ksymbol *above;
};

/* Cuts a tree in two: what ends at an address or below it, or, with @starts, starts below it. */
static void ksymbols_split(struct tally_ksymbol *tree, u64 at, bool starts,
			   struct tally_ksymbol **below, struct tally_ksymbol **above)
{
	while (tree) {
		if (starts ? tree->symbol.start < at : tree->symbol.end <= at) {
			*below = tree;
			below = &tree->above;
			tree = tree->above;
		} else {
			*above = tree;
			above = &tree->below;
			tree = tree->below;
		}
	}
	*below = NULL;
	*above = NULL;
}

/* Joins two trees; all of @above is above all of @below. */
static struct tally_ksymbol *ksymbols_join(struct tally_ksymbol *below, struct tally_ksymbol *above)
{
	struct tally_ksymbol *tree, **at = &tree;

	while (below && above) {
		if (below->weight > above->weight) {
			*at = below;
			at = &below->above;
			below = below->above;
		} else {
			*at = above;
			at = &above->below;
			above = above->below;
		}
	}
	*at = below ?: above;
	return tree;
}

/**
 * tally_ksymbols_free - free a tree
 * @tree: tree or NULL
 */
void tally_ksymbols_free(struct tally_ksymbol *tree)
{
	while (tree) {
		struct tally_ksymbol *next = tree->below ?: tree->above;

		/* What is below is put on top, until nothing is. */
		if (tree->below) {
			tree->below = next->above;
			next->above = tree;
		} else {
			free(tree);
		}
		tree = next;
	}
}

/**
 * tally_ksymbol_remove - functions of the kernel that are no longer there
 * @dsos: table
 * @start: first byte
 * @end: first byte behind them
 *
 * What overlaps the range is removed as a whole.
 */
void tally_ksymbol_remove(struct tally_dsos *dsos, u64 start, u64 end)
{
	struct tally_ksymbol *below, *inside, *above;

	ksymbols_split(dsos->ksymbols, start, false, &below, &above);
	ksymbols_split(above, end, true, &inside, &above);
	tally_ksymbols_free(inside);
	dsos->ksymbols = ksymbols_join(below, above);
}

/**
 * tally_ksymbol_add - a function of the kernel that was not there when it was built
 * @dsos: table
 * @start: first byte
 * @end: first byte behind it, above @start
 * @name: name, which has to stay
 *
 * Return: 0 or -ENOMEM.
 */
int tally_ksymbol_add(struct tally_dsos *dsos, u64 start, u64 end, const char *name)
{
	struct tally_ksymbol *new = calloc(1, sizeof(*new)), *below, *above;

	if (!new)
		return -ENOMEM;
	tally_ksymbol_remove(dsos, start, end);
	new->symbol = (struct tally_symbol){ start, end, name };
	/* Where memory is: no file can foresee it. */
	if (!dsos->ksymbol_seed)
		dsos->ksymbol_seed = (uintptr_t)new;
	dsos->ksymbol_seed = dsos->ksymbol_seed * 6364136223846793005ULL + 1442695040888963407ULL;
	new->weight = dsos->ksymbol_seed >> 32;
	ksymbols_split(dsos->ksymbols, start, false, &below, &above);
	dsos->ksymbols = ksymbols_join(ksymbols_join(below, new), above);
	return 0;
}

/**
 * tally_ksymbol_find - function of a KSYMBOL record at an address
 * @dsos: table
 * @at: address
 *
 * Return: the function, NULL if there is none; valid until a record is followed.
 */
const struct tally_symbol *tally_ksymbol_find(const struct tally_dsos *dsos, u64 at)
{
	const struct tally_ksymbol *node = dsos->ksymbols;

	while (node && (at < node->symbol.start || at >= node->symbol.end))
		node = at < node->symbol.start ? node->below : node->above;
	return node ? &node->symbol : NULL;
}
