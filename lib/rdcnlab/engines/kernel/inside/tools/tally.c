// SPDX-License-Identifier: Apache-2.0
/*
 * rdcn-guest tally INSTANCE PART OUTPUT START_NS BIN_NS EVERY_NS [INSTANTS]: count the
 * packets of a trace instance while the run goes on, so that no file need hold all of them.
 *
 * INSTANCE and PART are as in reduce.h.  A record has the fields link, dport and len of its
 * event.  They are taken every EVERY_NS, and once more at SIGTERM, which ends the tool.
 * Bin k covers BIN_NS from START_NS + k * BIN_NS, in ns of CLOCK_MONOTONIC.  OUTPUT is an
 * array of `struct row`, ordered by bin; within a bin by the first packet.
 *
 * With INSTANTS the events are departures, and a record has a fourth field, qlen: what they
 * leave behind in the queue.
 * OUTPUT.standing then has the queues in bins: an array of `struct standing`, ordered by
 * bin for each link.  OUTPUT.seen has them at the instants that the file INSTANTS lists in
 * ns from the start, one a line, in rising order: an array of `struct seen`.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reduce.h"
#include "tools.h"

/* pairs of a line and a flow that packets may have in one bin; twice 1024 * 4 lines */
enum { PLACES = 8192 };

struct row {
	uint64_t bytes;			/* as the event counts them */
	uint32_t bin, packets;
	uint16_t link, dport;
	uint32_t unused;
};

/* A queue in a bin: the integral of its length over time in B ns, and its maximum in B. */
struct standing {
	uint64_t area;
	uint32_t bin, most;
	uint16_t link, unused[3];
};

/* A queue at an instant, in ns from the start. */
struct seen {
	uint64_t time;
	uint32_t length;
	uint16_t link, unused;
};

/* The queue of a line inside the network since its last departure. */
struct queue {
	uint64_t since;			/* ns from the start */
	uint32_t length;
	bool known;
	struct standing now;
};

/* A record; the kernel leaves no gaps. */
struct packet {
	uint64_t time;
	uint16_t link, dport;
	uint32_t len;
	uint32_t qlen;			/* of a departure only */
};

enum {
	PACKET = offsetof(struct packet, qlen),		/* bytes of a record */
	DEPARTURE = PACKET + sizeof(uint32_t),
	LINKS = 1024
};

static struct row rows[PLACES];
static uint16_t used[PLACES];
static int count;
static struct queue queues[LINKS];
static uint64_t width;
static uint64_t *instants;
static size_t many, next_instant;
static bool departures;
static FILE *output, *standing, *seen;

static void put(FILE *file, const void *what, size_t size)
{
	if (fwrite(what, size, 1, file) != 1)
		die("tally: cannot write: %s", strerror(errno));
}

static FILE *create(const char *output, const char *ending)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s%s", output, ending);
	file = fopen(path, "w");
	if (!file)
		die("tally: %s: %s", path, strerror(errno));
	setvbuf(file, NULL, _IOFBF, 1 << 20);
	return file;
}

static void flush(void)
{
	for (int i = 0; i < count; i++) {
		struct row *row = &rows[used[i]];

		put(output, row, sizeof(*row));
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

/* A queue was as long as after its last departure until now. */
static void stand_until(struct queue *queue, uint64_t time)
{
	while (queue->since < time) {
		uint64_t end = (queue->now.bin + 1) * width;
		uint64_t until = time < end ? time : end;

		queue->now.area += (until - queue->since) * queue->length;
		queue->since = until;
		if (until == end) {
			put(standing, &queue->now, sizeof(queue->now));
			queue->now.area = queue->now.most = 0;
			queue->now.bin++;
		}
	}
}

/* Note all queues at the instants before this one. */
static void look_before(uint64_t time)
{
	for (; next_instant < many && instants[next_instant] < time; next_instant++) {
		for (int link = 0; link < LINKS; link++) {
			const struct queue *queue = &queues[link];
			const struct seen one = {
				.time = instants[next_instant], .length = queue->length, .link = link,
			};

			if (queue->known)
				put(seen, &one, sizeof(one));
		}
	}
}

/* A packet leaves a queue. */
static void leave(uint64_t time, uint16_t link, uint32_t len, uint32_t qlen)
{
	struct queue *queue;

	if (link >= LINKS)
		die("tally: a departure from line %u, which is not inside the network", link);
	queue = &queues[link];
	look_before(time);
	if (queue->known) {
		stand_until(queue, time);
	} else {
		queue->known = true;
		queue->since = time;
		queue->now = (struct standing){ .bin = time / width, .link = link };
	}
	queue->length = qlen;
	if (qlen + len > queue->now.most)
		queue->now.most = qlen + len;
}

static void read_instants(const char *path)
{
	size_t room = 0;
	uint64_t instant;
	FILE *file = fopen(path, "r");

	if (!file)
		die("tally: %s: %s", path, strerror(errno));
	while (fscanf(file, "%" SCNu64, &instant) == 1) {
		if (many == room) {
			room = room ? 2 * room : 1024;
			instants = realloc(instants, room * sizeof(*instants));
			if (!instants)
				die("tally: no memory for %zu instants", room);
		}
		instants[many++] = instant;
	}
	fclose(file);
}

static void take(uint64_t time, const unsigned char *record)
{
	struct packet packet;
	struct row *row;

	memcpy(&packet, record, departures ? DEPARTURE : PACKET);
	row = row_of(time / width, packet.link, packet.dport);
	row->packets++;
	row->bytes += packet.len;
	if (departures)
		leave(time, packet.link, packet.len, packet.qlen);
}

int tally_main(int argc, char **argv)
{
	struct reduction reduction = { .take = take };

	if (argc != 7 && argc != 8)
		die("usage: rdcn-guest tally INSTANCE PART OUTPUT START BIN EVERY [INSTANTS]");
	reduction.instance = argv[1];
	reduction.part = argv[2];
	reduction.start = strtoull(argv[4], NULL, 10);
	width = strtoull(argv[5], NULL, 10);
	reduction.every = strtoull(argv[6], NULL, 10);
	if (!reduction.start || !width || !reduction.every)
		die("tally: '%s %s %s' are no numbers", argv[4], argv[5], argv[6]);
	departures = argc == 8;
	reduction.size = departures ? DEPARTURE : PACKET;
	output = create(argv[3], "");
	if (departures) {
		read_instants(argv[7]);
		standing = create(argv[3], ".standing");
		seen = create(argv[3], ".seen");
	}
	reduce(&reduction);
	flush();
	if (departures) {
		/* the last bin, and the instants after the last departure */
		look_before(UINT64_MAX);
		for (int link = 0; link < LINKS; link++)
			if (queues[link].known)
				put(standing, &queues[link].now, sizeof(queues[link].now));
		if (fclose(standing) || fclose(seen))
			die("tally: %s: %s", argv[3], strerror(errno));
	}
	if (fclose(output))
		die("tally: %s: %s", argv[3], strerror(errno));
	return 0;
}
