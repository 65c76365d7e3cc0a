// SPDX-License-Identifier: GPL-2.0
/* What is opened on a kernel that lacks a feature: the system calls below are those of such one. */
#include "ktap.h"
#include "names.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Bits of read_format that the kernel refuses, and the highest precise_ip that it takes. */
static u64 refused_format;
static unsigned int most_precise;
/* Calls of perf_event_open(2). */
static int opens;

/* In place of those of the C library, for the library of tally as well. */
long syscall(long number, ...)
{
	const struct perf_event_attr *attr;
	va_list ap;

	va_start(ap, number);
	attr = va_arg(ap, const struct perf_event_attr *);
	va_end(ap);
	opens++;
	if (number == SYS_perf_event_open && !(attr->read_format & refused_format) &&
	    attr->precise_ip <= most_precise)
		return open("/dev/null", O_RDONLY | O_CLOEXEC);
	errno = EINVAL;
	return -1;
}

int ioctl(int fd, unsigned long request, ...)
{
	(void)fd;
	(void)request;
	return 0;
}

/* Opens cycles:P and faults, both with PERF_FORMAT_LOST. */
static bool open_events(struct tally_opened *session, struct tally_events *events)
{
	const struct tally_target target = { .all_cpus = true, .cpus = "0" };
	struct tally_error err;

	if (tally_parse_events(events, "cycles:P,faults", &err) < 0)
		return false;
	for (int i = 0; i < events->n; i++)
		events->event[i].attr.read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST;
	*session = (struct tally_opened){ .events = events };
	return !tally_open(session, &target, &err);
}

static void lacks_lost(void)
{
	struct tally_events events = {};
	struct tally_opened session;
	const struct perf_event_attr *cycles, *faults;
	bool good;

	refused_format = PERF_FORMAT_LOST;
	most_precise = 2;
	good = open_events(&session, &events);
	if (good) {
		cycles = &events.event[0].attr;
		faults = &events.event[1].attr;
		ktap_note("precise_ip %u, exclude_guest %u, %d system calls", cycles->precise_ip,
			  cycles->exclude_guest, opens);
		good = cycles->precise_ip == 2 && !cycles->exclude_guest &&
			cycles->read_format == PERF_FORMAT_ID &&
			faults->read_format == PERF_FORMAT_ID && opens <= 4;
		tally_close(&session);
	}
	ktap_result(good, "without a count of lost records an event is as precise as with it");
	tally_free_events(&events);
}

int main(void)
{
	ktap_start();
	lacks_lost();
	return ktap_finish();
}
