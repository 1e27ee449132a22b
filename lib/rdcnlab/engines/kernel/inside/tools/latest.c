// SPDX-License-Identifier: Apache-2.0
/*
 * rdcn-guest latest INSTANCE PART OUTPUT START_NS BIN_NS EVERY_NS SIZE DPORT: write the last
 * record of each flow in each bin while the run goes on, so that no file need hold all.
 *
 * INSTANCE and PART are as in reduce.h; SIZE is that of a record, and DPORT the place of the
 * flow's number in it, which has 16 bits.  Records are taken every EVERY_NS, and once more
 * at SIGTERM, which ends the tool.  Bin k covers BIN_NS from START_NS + k * BIN_NS, in ns of
 * CLOCK_MONOTONIC.  OUTPUT has records of the same kind, in the order of time.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reduce.h"
#include "tools.h"

enum { FLOWS = 65536, RECORD = 128 };

/* The last record of a flow in this bin. */
struct last {
	uint64_t order;
	bool now;			/* there is one in this bin */
	unsigned char record[RECORD];
};

static struct {
	struct reduction reduction;
	FILE *output;
	uint32_t at_dport;
	uint64_t width, bin, order;
	struct last *of_flow[FLOWS];
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
		if (fwrite(latest.seen[i]->record, latest.reduction.size, 1, latest.output) != 1)
			die("latest: cannot write: %s", strerror(errno));
		latest.seen[i]->now = false;
	}
	latest.count = 0;
}

static void take(uint64_t time, const unsigned char *record)
{
	struct last **last;
	uint16_t dport;

	if (time / latest.width != latest.bin)
		flush();
	latest.bin = time / latest.width;
	memcpy(&dport, record + latest.at_dport, sizeof(dport));
	last = &latest.of_flow[dport];
	if (!*last) {
		*last = calloc(1, sizeof(**last));
		if (!*last)
			die("latest: no memory for another flow");
	}
	if (!(*last)->now)
		latest.seen[latest.count++] = *last;
	(*last)->now = true;
	(*last)->order = latest.order++;
	memcpy((*last)->record, record, latest.reduction.size);
}

int latest_main(int argc, char **argv)
{
	if (argc != 9)
		die("usage: rdcn-guest latest INSTANCE PART OUTPUT START BIN EVERY SIZE DPORT");
	latest.reduction = (struct reduction){
		.instance = argv[1],
		.part = argv[2],
		.start = strtoull(argv[4], NULL, 10),
		.every = strtoull(argv[6], NULL, 10),
		.size = strtoul(argv[7], NULL, 10),
		.take = take,
	};
	latest.width = strtoull(argv[5], NULL, 10);
	latest.at_dport = strtoul(argv[8], NULL, 10);
	if (!latest.reduction.start || !latest.width || !latest.reduction.every ||
	    latest.at_dport < sizeof(uint64_t) || latest.reduction.size > RECORD ||
	    latest.at_dport + sizeof(uint16_t) > latest.reduction.size)
		die("latest: '%s %s %s %s %s' are no numbers", argv[4], argv[5], argv[6], argv[7],
		    argv[8]);
	latest.output = fopen(argv[3], "w");
	if (!latest.output)
		die("latest: %s: %s", argv[3], strerror(errno));
	setvbuf(latest.output, NULL, _IOFBF, 1 << 20);
	reduce(&latest.reduction);
	flush();
	if (fclose(latest.output))
		die("latest: %s: %s", argv[3], strerror(errno));
	return 0;
}
