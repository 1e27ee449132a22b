// SPDX-License-Identifier: Apache-2.0
/*
 * rdcn-guest latest INSTANCE OUTPUT START_NS BIN_NS EVERY_NS DPORT:2 [OFFSET:SIZE]...:
 * write the last event of each flow in each bin while the run goes on, so that neither the
 * trace buffer nor the output need hold all of them.
 *
 * INSTANCE is a directory of tracefs with one kind of event; DPORT is the place of the
 * flow's number in an event.  The buffer is emptied every EVERY_NS, and once more at
 * SIGTERM, which ends the tool.  Bin k covers BIN_NS from START_NS + k * BIN_NS, in ns of
 * CLOCK_MONOTONIC.  OUTPUT has the records that `collect` would write of these events, in
 * the order of time.
 */
#include <stdlib.h>
#include <string.h>

#include "record.h"
#include "stream.h"
#include "tools.h"

enum { FLOWS = 65536, EVENT = 256 };

/* The last event of a flow in this bin. */
struct last {
	uint64_t time, order;
	uint32_t size;
	unsigned char event[EVENT];
};

static struct {
	struct stream stream;
	struct output output;
	uint32_t at_dport;
	uint64_t width, bin, order;
	struct last *of_flow[FLOWS];	/* size 0: none in this bin */
	struct last *seen[FLOWS];	/* those of this bin */
	int count;
} latest;

static int by_order(const void *a, const void *b)
{
	const struct last *one = *(struct last *const *)a, *other = *(struct last *const *)b;

	return one->order < other->order ? -1 : 1;
}

static void flush(void)
{
	qsort(latest.seen, latest.count, sizeof(*latest.seen), by_order);
	for (int i = 0; i < latest.count; i++) {
		struct last *last = latest.seen[i];

		put_record(&latest.output, last->time + latest.stream.offset, last->event, last->size);
		last->size = 0;
	}
	latest.count = 0;
}

static void take(void *to, uint64_t time, const unsigned char *event, uint32_t size)
{
	struct last **last;
	uint16_t dport;

	(void)to;
	if (!size || size > EVENT || latest.at_dport + sizeof(dport) > size)
		die("latest: no flow in an event of %u bytes, or more than %d bytes", size, EVENT);
	if (time / latest.width != latest.bin)
		flush();
	latest.bin = time / latest.width;
	memcpy(&dport, event + latest.at_dport, sizeof(dport));
	last = &latest.of_flow[dport];
	if (!*last) {
		*last = calloc(1, sizeof(**last));
		if (!*last)
			die("latest: no memory for another flow");
	}
	if (!(*last)->size)
		latest.seen[latest.count++] = *last;
	(*last)->time = time;
	(*last)->order = latest.order++;
	(*last)->size = size;
	memcpy((*last)->event, event, size);
}

int latest_main(int argc, char **argv)
{
	if (argc < 7)
		die("usage: rdcn-guest latest INSTANCE OUTPUT START BIN EVERY DPORT:2 [OFFSET:SIZE]...");
	latest.stream = (struct stream){
		.instance = argv[1],
		.start = strtoull(argv[3], NULL, 10),
		.every = strtoull(argv[5], NULL, 10),
		.take = take,
	};
	latest.width = strtoull(argv[4], NULL, 10);
	if (!latest.stream.start || !latest.width || !latest.stream.every ||
	    sscanf(argv[6], "%u:2", &latest.at_dport) != 1)
		die("latest: '%s %s %s %s' are no numbers", argv[3], argv[4], argv[5], argv[6]);
	open_output(&latest.output, argv[2], argc - 7, argv + 7);
	follow(&latest.stream);
	flush();
	close_output(&latest.output);
	return 0;
}
