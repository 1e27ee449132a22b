// SPDX-License-Identifier: Apache-2.0
/*
 * rdcn-guest tally INSTANCE OUTPUT START_NS BIN_NS EVERY_NS LINK:2 DPORT:2 LEN:4: count
 * the packets of a trace instance while the run goes on, so that its buffer need not
 * hold all of them.
 *
 * INSTANCE is a directory of tracefs with one kind of event; LINK, DPORT and LEN are the
 * offsets of the fields of that name in an event.  The buffer is emptied every EVERY_NS,
 * and once more at SIGTERM, which ends the tool.  Bin k covers BIN_NS from START_NS +
 * k * BIN_NS, in ns of CLOCK_MONOTONIC.  OUTPUT is an array of `struct row`, ordered by
 * bin; within a bin by the first packet.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pages.h"
#include "tools.h"

/* pairs of a line and a flow that packets may have in one bin; twice 1024 * 4 lines */
enum { PLACES = 8192, MARK = 64 };

struct row {
	uint64_t bytes;			/* as the event counts them */
	uint32_t bin, packets;
	uint16_t link, dport;
	uint32_t unused;
};

static struct row rows[PLACES];
static uint16_t used[PLACES];
static int count;
static uint64_t start, width, offset;
static unsigned int at_link, at_dport, at_len;
static FILE *output;
static volatile sig_atomic_t ended;

static void end(int signal)
{
	(void)signal;
	ended = 1;
}

static void flush(void)
{
	for (int i = 0; i < count; i++) {
		struct row *row = &rows[used[i]];

		if (fwrite(row, sizeof(*row), 1, output) != 1)
			die("tally: cannot write: %s", strerror(errno));
		row->packets = 0;
	}
	count = 0;
}

static struct row *row_of(uint32_t bin, uint16_t link, uint16_t dport)
{
	uint32_t place = (((uint32_t)link << 16 | dport) * 2654435761U) >> 19;

	if (count && rows[used[0]].bin != bin)
		flush();
	while (rows[place].packets && (rows[place].link != link || rows[place].dport != dport))
		place = (place + 1) % PLACES;
	if (!rows[place].packets) {
		if (count == PLACES - 1)
			die("tally: more than %d pairs of a line and a flow", PLACES - 1);
		rows[place] = (struct row){ .bin = bin, .link = link, .dport = dport };
		used[count++] = place;
	}
	return &rows[place];
}

static void take(void *to, uint64_t time, const unsigned char *event, uint32_t size)
{
	uint16_t link, dport;
	uint32_t len;
	struct row *row;

	(void)to;
	if (!offset) {
		/* The first event is our marker: it has the time of both clocks. */
		char text[MARK + 1] = "";
		const char *mark;
		uint64_t reading;

		for (uint32_t i = 0; i < size && i < MARK; i++)
			text[i] = event[i] ? (char)event[i] : ' ';
		mark = strstr(text, "tally ");
		if (!mark || sscanf(mark, "tally %" SCNu64, &reading) != 1)
			die("tally: packets before the marker");
		offset = time - reading + start;
		return;
	}
	if (at_link + 2 > size || at_dport + 2 > size || at_len + 4 > size)
		die("tally: an event of %u bytes does not have these fields", size);
	if (time < offset)
		return;			/* before the start, as connections opened ahead */
	memcpy(&link, event + at_link, sizeof(link));
	memcpy(&dport, event + at_dport, sizeof(dport));
	memcpy(&len, event + at_len, sizeof(len));
	row = row_of((time - offset) / width, link, dport);
	row->packets++;
	row->bytes += len;
}

/* Sleep to an instant, or until a signal comes. */
static void sleep_until_end(uint64_t instant)
{
	struct timespec until = { instant / NSEC_PER_SEC, instant % NSEC_PER_SEC };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

int tally_main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = end };
	char path[256], text[MARK];
	uint64_t every, next;
	int buffer;

	if (argc != 9)
		die("usage: rdcn-guest tally INSTANCE OUTPUT START BIN EVERY LINK:2 DPORT:2 LEN:4");
	start = strtoull(argv[3], NULL, 10);
	width = strtoull(argv[4], NULL, 10);
	every = strtoull(argv[5], NULL, 10);
	if (!start || !width || !every || sscanf(argv[6], "%u:2", &at_link) != 1 ||
	    sscanf(argv[7], "%u:2", &at_dport) != 1 || sscanf(argv[8], "%u:4", &at_len) != 1)
		die("tally: '%s %s %s %s %s %s' are no numbers", argv[3], argv[4], argv[5],
		    argv[6], argv[7], argv[8]);
	output = fopen(argv[2], "w");
	if (!output)
		die("tally: %s: %s", argv[2], strerror(errno));
	setvbuf(output, NULL, _IOFBF, 1 << 20);
	sigaction(SIGTERM, &action, NULL);

	snprintf(path, sizeof(path), "%s/per_cpu/cpu0/trace_pipe_raw", argv[1]);
	buffer = open_buffer(path);
	snprintf(path, sizeof(path), "%s/trace_marker", argv[1]);
	snprintf(text, sizeof(text), "tally %" PRIu64, now_ns());
	write_file(path, text);
	take_events(buffer, take, NULL);

	for (next = start + every; !ended; next += every) {
		sleep_until_end(next);
		take_events(buffer, take, NULL);
	}
	flush();
	if (fclose(output))
		die("tally: %s: %s", argv[2], strerror(errno));
	return 0;
}
