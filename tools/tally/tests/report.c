// SPDX-License-Identifier: GPL-2.0
/* Lines of "tally report". TALLY is the program. */
#include "made.h"

#define AT	0x1234ULL

static struct tally_buf records;
static char data_path[64];

static void put_sample(u16 mode, u64 address)
{
	size_t start = made_start(&records, PERF_RECORD_SAMPLE, mode);

	tally_buf_put_u64(&records, address);
	made_pair(&records, 100, 100);
	made_finish(&records, start);
}

static void put_samples(void)
{
	put_sample(PERF_RECORD_MISC_USER, AT);
	put_sample(PERF_RECORD_MISC_KERNEL, AT);
	put_sample(PERF_RECORD_MISC_USER, AT);
}

static bool write_file(void)
{
	return made_write_one(data_path, PERF_SAMPLE_IP | PERF_SAMPLE_TID, &records, NULL);
}

/* What the lines without a comment are, blanks apart; the case is good if they are these. */
static void has_lines(const char *name, const char *options, const char *expected)
{
	char command[256], line[256], text[1024] = "";
	FILE *output;
	bool good;

	snprintf(command, sizeof(command), "%s report %s %s 2>/dev/null",
		 getenv("TALLY") ?: "tally", options, data_path);
	output = write_file() ? popen(command, "r") : NULL;
	while (output && fgets(line, sizeof(line), output)) {
		if (*line == '#')
			continue;
		for (char *word = strtok(line, "\n "); word; word = strtok(NULL, "\n "))
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s ", word);
	}
	good = output && !pclose(output) && !strcmp(text, expected);
	if (!good)
		ktap_note("%s: %s, not %s", name, text, expected);
	ktap_result(good, name);
}

int main(void)
{
	ktap_start();
	snprintf(data_path, sizeof(data_path), "/tmp/tally-report-%d", getpid());
	has_lines("no samples", "", "");
	put_samples();
	has_lines("an address of a process that is one of the kernel, too", "-s symbol",
		  "66.67% [.] 0x0000000000001234 33.33% [k] 0x0000000000001234 ");
	put_samples();
	has_lines("without a column of symbols", "-s pid", "100.00% 100 ");
	unlink(data_path);
	return ktap_finish();
}
