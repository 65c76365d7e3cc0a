// SPDX-License-Identifier: GPL-2.0
/* tally flame: a flame graph, as SVG that a browser can search and zoom. */
#include "commands.h"

#include <stdlib.h>
#include <string.h>

#include "flame_script.h"
#include "options.h"
#include "stacks.h"

#define OPTION_EVENT	OPTION_OWN
#define OPTION_WIDTH	(OPTION_OWN + 1)
#define OPTION_TITLE	(OPTION_OWN + 2)
#define OPTION_MIN	(OPTION_OWN + 3)

/* Pixels. */
#define FRAME_HEIGHT	17
#define MARGIN		10
#define TITLE_HEIGHT	44
#define FOOT_HEIGHT	28
#define LETTER_WIDTH	6.6

/**
 * struct flame - a graph
 * @out: output
 * @tree: its frames
 * @stacks: where they are from
 * @title: title
 * @down: the root is on top
 * @width: width, pixels
 * @min: frames narrower than so many pixels are left out
 * @depth: frames above one another
 * @height: height, pixels
 */
struct flame {
	FILE *out;
	struct tally_tree tree;
	struct tally_stacks stacks;
	const char *title;
	bool down;
	unsigned int width;
	double min;
	unsigned int depth;
	unsigned int height;
};

static int flame_usage(FILE *out, int status)
{
	fprintf(out, "usage: tally flame [OPTION]... [FILE]\n\n"
		"Draws a flame graph of the call chains in a perf.data file.\n\n"
		SESSION_HELP
		"  -o, --output FILE    write to FILE (the standard output)\n"
		"  -b, --branches       draw branch records: below each function those before it\n"
		"  -d, --down           draw the root on top\n"
		"      --event NAME     take this event (that of the first sample)\n"
		"      --title TEXT     title\n"
		"      --width PIXELS   width (1200)\n"
		"      --min PIXELS     leave out narrower frames (0.1)\n");
	return status;
}

static void flame_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '&':
			fputs("&amp;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		default:
			putc((u8)*text < ' ' ? '?' : *text, out);
		}
	}
}

/* A colour that is the same for the same name: warm in programs, violet in the kernel. */
static void flame_colour(FILE *out, const struct tally_node *node)
{
	u32 hash = 2166136261u;

	for (const char *c = node->name; *c; c++)
		hash = (hash ^ (u8)*c) * 16777619;
	if (node->kernel)
		fprintf(out, "rgb(%u,%u,%u)", 150 + hash % 50, 130 + (hash >> 8) % 50,
			215 + (hash >> 16) % 40);
	else if (!node->dso)
		fprintf(out, "rgb(%u,%u,%u)", 190 + hash % 30, 190 + hash % 30, 180 + hash % 30);
	else
		fprintf(out, "rgb(%u,%u,%u)", 215 + hash % 40, 100 + (hash >> 8) % 110,
			40 + (hash >> 16) % 40);
}

static void flame_measure(struct flame *flame, u32 node, unsigned int depth, double scale)
{
	const struct tally_node *nodes = flame->tree.nodes;

	if (nodes[node].total * scale < flame->min)
		return;
	if (depth > flame->depth)
		flame->depth = depth;
	for (u32 i = nodes[node].child; i; i = nodes[i].sibling)
		flame_measure(flame, i, depth + 1, scale);
}

static void flame_frame_text(struct flame *flame, const struct tally_node *node, double width)
{
	int letters = (width - 4) / LETTER_WIDTH;
	char text[256];

	if (letters < 3)
		return;
	if (letters > (int)sizeof(text) - 1)
		letters = sizeof(text) - 1;
	if (strlen(node->name) > (size_t)letters)
		snprintf(text, sizeof(text), "%.*s..", letters - 2, node->name);
	else
		snprintf(text, sizeof(text), "%s", node->name);
	flame_text(flame->out, text);
}

/*
 * A frame. Its place as fractions of the whole (x, w) and its depth (d) are kept for the script,
 * which moves the frames when one is zoomed.
 */
static void flame_frame(struct flame *flame, u32 number, double x, unsigned int depth)
{
	const struct tally_node *node = &flame->tree.nodes[number];
	double whole = flame->tree.nodes[0].total ?: 1;
	double span = flame->width - 2 * MARGIN;
	double width = node->total / whole * span;
	unsigned int row = flame->down ? depth : flame->depth - depth;
	unsigned int y = TITLE_HEIGHT + row * FRAME_HEIGHT;

	fprintf(flame->out, "<g class=\"f\" data-x=\"%.9g\" data-w=\"%.9g\" data-d=\"%u\"><title>",
		x / whole, node->total / whole, depth);
	flame_text(flame->out, node->name);
	if (node->inlined)
		fputs(" (inlined)", flame->out);
	fprintf(flame->out, " (%llu samples, %.2f%%)</title><rect x=\"%.2f\" y=\"%u\" ",
		node->samples, 100.0 * node->total / whole, MARGIN + x / whole * span, y);
	fprintf(flame->out, "width=\"%.2f\" height=\"%u\" rx=\"2\" fill=\"", width,
		FRAME_HEIGHT - 1);
	flame_colour(flame->out, node);
	fprintf(flame->out, "\"/><text x=\"%.2f\" y=\"%u\">", MARGIN + x / whole * span + 3,
		y + FRAME_HEIGHT - 5);
	flame_frame_text(flame, node, width);
	fputs("</text></g>\n", flame->out);
}

static void flame_frames(struct flame *flame, u32 number, double x, unsigned int depth)
{
	const struct tally_node *nodes = flame->tree.nodes;
	double scale = (flame->width - 2.0 * MARGIN) / (nodes[0].total ?: 1);

	if (nodes[number].total * scale < flame->min)
		return;
	flame_frame(flame, number, x, depth);
	for (u32 i = nodes[number].child; i; i = nodes[i].sibling) {
		flame_frames(flame, i, x, depth + 1);
		x += nodes[i].total;
	}
}

static void flame_head(struct flame *flame)
{
	FILE *out = flame->out;

	fprintf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%u\"\n"
		"height=\"%u\" viewBox=\"0 0 %u %u\" data-margin=\"%u\">\n",
		flame->width, flame->height, flame->width, flame->height, MARGIN);
	fprintf(out, "<style>text { font-family: monospace; font-size: 11px; fill: #000; }\n"
		".f { cursor: pointer; } .f text { pointer-events: none; }\n"
		".f:hover rect { stroke: #000; stroke-width: 0.5; }\n"
		".m rect { fill: #e600e6 !important; } .s { opacity: 0.4; }\n"
		".h { display: none; }\n"
		".b { cursor: pointer; } #title { font-size: 16px; }</style>\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#f8f8f8\"/>\n"
		"<text id=\"title\" x=\"%u\" y=\"24\" text-anchor=\"middle\">", flame->width / 2);
	flame_text(out, flame->title);
	fprintf(out, "</text>\n"
		"<text id=\"reset\" class=\"b h\" x=\"%u\" y=\"24\">Reset zoom</text>\n"
		"<text id=\"search\" class=\"b\" text-anchor=\"end\" x=\"%u\" y=\"24\"\n"
		">Search</text>\n"
		"<text id=\"detail\" x=\"%u\" y=\"%u\"> </text>\n"
		"<text id=\"matched\" x=\"%u\" y=\"%u\" text-anchor=\"end\"> </text>\n",
		MARGIN, flame->width - MARGIN, MARGIN, flame->height - 10,
		flame->width - MARGIN, flame->height - 10);
}

static void flame_draw(struct flame *flame)
{
	const struct tally_node *root = flame->tree.nodes;

	tally_tree_order(&flame->tree, true);
	flame_measure(flame, TALLY_ROOT, 0,
		      (flame->width - 2.0 * MARGIN) / (root->total ?: 1));
	flame->height = TITLE_HEIGHT + (flame->depth + 1) * FRAME_HEIGHT + FOOT_HEIGHT;
	flame_head(flame);
	fputs("<g id=\"frames\">\n", flame->out);
	if (root->total)
		flame_frames(flame, TALLY_ROOT, 0, 0);
	fprintf(flame->out, "</g>\n<script><![CDATA[\n%s]]></script>\n</svg>\n", flame_script);
}

static int flame_run(struct flame *flame, struct tally_session_options *options,
		     const char *output, int argc, char **argv)
{
	struct tally_error err;
	char title[256];
	int ret;

	if (session_start("flame", &flame->stacks.session, options, argc, argv))
		return 1;
	ret = tally_stacks_collect(&flame->stacks, &flame->tree, &err);
	flame->out = output ? fopen(output, "we") : stdout;
	if (!flame->out) {
		fprintf(stderr, "tally flame: %s: %s\n", output, strerror(errno));
		session_end("flame", flame->stacks.session, ret, &err);
		return 1;
	}
	if (!flame->title) {
		snprintf(title, sizeof(title), "%s: %s", options->path,
			 flame->stacks.event_name ?: "no samples");
		flame->title = title;
	}
	flame_draw(flame);
	if (!flame->tree.nodes[0].samples)
		fprintf(stderr, "tally flame: %s: no samples%s\n", options->path,
			flame->stacks.kind == TALLY_STACKS_BRANCHES ? " with branch records" : "");
	if (output && fclose(flame->out)) {
		fprintf(stderr, "tally flame: %s: %s\n", output, strerror(errno));
		ret = -EIO;
	}
	return session_end("flame", flame->stacks.session, ret, &err);
}

int cmd_flame(int argc, char **argv)
{
	static const struct option long_options[] = {
		SESSION_OPTIONS,
		{ "output", required_argument, NULL, 'o' },
		{ "branches", no_argument, NULL, 'b' },
		{ "down", no_argument, NULL, 'd' },
		{ "event", required_argument, NULL, OPTION_EVENT },
		{ "title", required_argument, NULL, OPTION_TITLE },
		{ "width", required_argument, NULL, OPTION_WIDTH },
		{ "min", required_argument, NULL, OPTION_MIN },
		{}
	};
	static struct flame flame = { .width = 1200, .min = 0.1 };
	struct tally_session_options options = {};
	const char *output = NULL;
	int option, status;

	while ((option = getopt_long(argc, argv, "i:o:bdh", long_options, NULL)) != -1) {
		if (option == 'h')
			return flame_usage(stdout, 0);
		if (option == 'o')
			output = optarg;
		else if (option == 'b')
			flame.stacks.kind = TALLY_STACKS_BRANCHES;
		else if (option == OPTION_EVENT)
			flame.stacks.event_name = optarg;
		else if (option == OPTION_TITLE)
			flame.title = optarg;
		else if (option == OPTION_WIDTH)
			flame.width = strtoul(optarg, NULL, 0);
		else if (option == OPTION_MIN)
			flame.min = strtod(optarg, NULL);
		else if (option != 'd' && !session_option(&options, option))
			return flame_usage(stderr, 2);
		flame.down |= option == 'd' || option == 'b';
	}
	if (flame.width < 200 || flame.width > 100000)
		return flame_usage(stderr, 2);
	if (tally_tree_init(&flame.tree))
		return 1;
	status = flame_run(&flame, &options, output, argc, argv);
	tally_tree_free(&flame.tree);
	return status;
}
