// SPDX-License-Identifier: Apache-2.0
/*
 * Empty a trace buffer again and again, so that it need not hold all events of a run.
 * The first event is our own marker, which has the time of both clocks.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "stream.h"
#include "tools.h"

enum { MARK = 64 };

static volatile sig_atomic_t ended;

static void end(int signal)
{
	(void)signal;
	ended = 1;
}

static uint64_t reading_of(const unsigned char *event, uint32_t size)
{
	char text[MARK + 1] = "";
	const char *mark;
	uint64_t reading;

	for (uint32_t i = 0; i < size && i < MARK; i++)
		text[i] = event[i] ? (char)event[i] : ' ';
	mark = strstr(text, "stream ");
	if (!mark || sscanf(mark, "stream %" SCNu64, &reading) != 1)
		die("stream: events before the marker");
	return reading;
}

static void take(void *to, uint64_t time, const unsigned char *event, uint32_t size)
{
	struct stream *stream = to;

	if (!stream->offset)
		stream->offset = time - reading_of(event, size) + stream->start;
	else if (time >= stream->offset)	/* not before the start, as connections opened ahead */
		stream->take(stream->to, time - stream->offset, event, size);
}

/* Sleep to an instant, or until a signal comes. */
static void sleep_until_end(uint64_t instant)
{
	struct timespec until = { instant / NSEC_PER_SEC, instant % NSEC_PER_SEC };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

void follow(struct stream *stream)
{
	struct sigaction action = { .sa_handler = end };
	char path[256], text[MARK];
	int buffer;

	sigaction(SIGTERM, &action, NULL);
	snprintf(path, sizeof(path), "%s/per_cpu/cpu0/trace_pipe_raw", stream->instance);
	buffer = open_buffer(path);
	snprintf(path, sizeof(path), "%s/trace_marker", stream->instance);
	snprintf(text, sizeof(text), "stream %" PRIu64, now_ns());
	write_file(path, text);
	take_events(buffer, take, stream);

	for (uint64_t next = stream->start + stream->every; !ended; next += stream->every) {
		sleep_until_end(next);
		take_events(buffer, take, stream);
	}
}
