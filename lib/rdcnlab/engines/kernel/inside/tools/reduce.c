// SPDX-License-Identifier: Apache-2.0
/*
 * Take the records that the kernel puts into a file of the host, and empty the file, again
 * and again, so that it need not hold all records of a run.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "reduce.h"
#include "tools.h"

enum { AT_ONCE = 4096 };		/* records */

static volatile sig_atomic_t ended;

static void end(int signal)
{
	(void)signal;
	ended = 1;
}

/* Let the kernel put all records into their file; return the time of the trace clock. */
static uint64_t complete(const struct reduction *reduction)
{
	char text[128] = "";
	uint64_t now, count, lost;
	int fd = open(reduction->instance, O_RDONLY | O_CLOEXEC);
	int error;

	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		die("%s: %s", reduction->instance, strerror(errno));
	close(fd);
	if (sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %d", &now, &count, &lost, &error) != 4)
		die("%s: cannot read '%s'", reduction->instance, text);
	if (lost)
		die("%s: %" PRIu64 " of %" PRIu64 " records were lost: %s", reduction->part, lost,
		    count, strerror(error));
	return now;
}

/* The file is opened anew each time, because its size changes on the host. */
static void take_all(const struct reduction *reduction, uint64_t offset, unsigned char *records)
{
	int fd = open(reduction->part, O_RDWR | O_CLOEXEC);
	ssize_t got, left = 0;
	bool some = false;

	if (fd < 0)
		die("%s: %s", reduction->part, strerror(errno));
	while ((got = read(fd, records + left, AT_ONCE * reduction->size - left)) > 0) {
		unsigned char *record = records;

		some = true;
		for (left += got; left >= reduction->size; left -= reduction->size) {
			uint64_t time;

			memcpy(&time, record, sizeof(time));
			if (time >= offset)	/* not before the start, as connections opened ahead */
				reduction->take(time - offset, record);
			record += reduction->size;
		}
		memmove(records, record, left);
	}
	if (got < 0 || (some && ftruncate(fd, 0)))
		die("%s: %s", reduction->part, strerror(errno));
	if (left)
		die("%s: %zd bytes are no record", reduction->part, left);
	close(fd);
}

/* Sleep to an instant, or until a signal comes. */
static void sleep_until_end(uint64_t instant)
{
	struct timespec until = { instant / NSEC_PER_SEC, instant % NSEC_PER_SEC };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

void reduce(const struct reduction *reduction)
{
	struct sigaction action = { .sa_handler = end };
	unsigned char *records = malloc(AT_ONCE * reduction->size);
	uint64_t reading, offset;

	if (!records)
		die("%s: no memory for records", reduction->part);
	sigaction(SIGTERM, &action, NULL);
	/* traces carry the scheduler's clock, which is off the monotonic one by a constant */
	reading = now_ns();
	offset = complete(reduction) - reading + reduction->start;

	for (uint64_t next = reduction->start + reduction->every; !ended; next += reduction->every) {
		sleep_until_end(next);
		complete(reduction);
		take_all(reduction, offset, records);
	}
	free(records);
}
