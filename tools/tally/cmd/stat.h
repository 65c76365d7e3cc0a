/* SPDX-License-Identifier: GPL-2.0 */
/* Counts that "tally stat" prints, and how these are printed. */
#ifndef TALLY_STAT_H
#define TALLY_STAT_H

#include "tally_open.h"

/**
 * struct stat_row - counts of one event in one part of what is measured
 * @event: index of the event
 * @key: number of the part; rows of one part follow each other
 * @part: name of the part, empty if there is one only
 * @places: places that were summed
 * @count: sums of this run or interval
 * @value: sum of the scaled values of this run or interval, in the event's unit
 * @runs: runs that @mean is of
 * @mean: mean of @value over the runs
 * @squares: sum of the squared differences from the mean
 */
struct stat_row {
	int event;
	uint64_t key;
	char part[64];
	int places;
	struct tally_count count;
	double value;
	int runs;
	double mean;
	double squares;
};

/**
 * enum stat_format - form of the output
 * @STAT_TABLE: for people
 * @STAT_CSV: fields with a separator
 * @STAT_JSON: one object a line
 */
enum stat_format {
	STAT_TABLE,
	STAT_CSV,
	STAT_JSON,
};

/**
 * struct stat_report - what is printed
 * @out: file
 * @format: form
 * @separator: between the fields of STAT_CSV
 * @session: session, for names and units
 * @rows: rows of all parts
 * @nr_rows: number of them
 * @seconds: time that this run or interval took
 * @interval: seconds from the start to the end of the interval, negative without intervals
 * @runs: number of runs
 * @what: command or target, for the heading
 * @elapsed: mean and deviation of the runs' times, seconds
 * @user: user time of the command, seconds
 * @system: system time of the command, seconds
 * @command: there are times of a command
 */
struct stat_report {
	FILE *out;
	enum stat_format format;
	const char *separator;
	const struct tally_opened *session;
	struct stat_row *rows;
	int nr_rows;
	double seconds;
	double interval;
	int runs;
	const char *what;
	struct stat_row elapsed;
	double user;
	double system;
	bool command;
};

void stat_add_run(struct stat_row *row, double value);
double stat_deviation(const struct stat_row *row);
void stat_print(const struct stat_report *report);

#endif
