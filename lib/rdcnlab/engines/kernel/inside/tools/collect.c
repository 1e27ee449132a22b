// SPDX-License-Identifier: Apache-2.0
/*
 * rdcn-guest collect PIPE OUTPUT: take a trace buffer (per_cpu/cpuN/trace_pipe_raw
 * of an instance that records one kind of event) apart and write it as records of
 * one size: a 64 bit time in ns followed by the event as its `format` file tells
 * and what the kernel pads it with.  The file begins with the bytes of a record,
 * as 64 bits.
 *
 * The layout of a page is the kernel's ABI (events/header_page, header_event).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools.h"

/* largest page of a buffer, see probes.py; how large one is, the kernel says */
enum { PAGE = 65536, HEADER = 16, PADDING = 29, EXTEND = 30, STAMP = 31 };

#define COMMIT_MASK 0xfffffU		/* the flags above it say "events missed" */

struct output {
	FILE *file;
	uint32_t size;			/* of an event, 0 before the first */
};

static void put(struct output *out, uint64_t time, const void *event, uint32_t size)
{
	uint64_t record = sizeof(time) + size;

	if (!out->size) {
		out->size = size;
		if (fwrite(&record, sizeof(record), 1, out->file) != 1)
			die("collect: cannot write: %s", strerror(errno));
	}
	if (size != out->size)
		die("collect: events of %u and %u bytes in one buffer", out->size, size);
	if (fwrite(&time, sizeof(time), 1, out->file) != 1 ||
	    fwrite(event, size, 1, out->file) != 1)
		die("collect: cannot write: %s", strerror(errno));
}

static void take_page(const unsigned char *page, struct output *out)
{
	uint64_t time, commit;
	uint32_t at = HEADER, end;

	memcpy(&time, page, sizeof(time));
	memcpy(&commit, page + 8, sizeof(commit));
	end = HEADER + (commit & COMMIT_MASK);
	if (end > PAGE)
		die("collect: a page that claims %u bytes", end);

	while (at + 4 <= end) {
		uint32_t head, word = 0, type, delta, size;

		memcpy(&head, page + at, sizeof(head));
		if (at + 8 <= end)
			memcpy(&word, page + at + 4, sizeof(word));
		type = head & 31;
		delta = head >> 5;

		switch (type) {
		case PADDING:
			if (!delta)
				return;
			time += delta;
			at += 4 + word;
			break;
		case EXTEND:
			time += delta + ((uint64_t)word << 27);
			at += 8;
			break;
		case STAMP:
			time = delta + ((uint64_t)word << 27);
			at += 8;
			break;
		case 0:			/* a long event: its length is a word of its own */
			time += delta;
			size = word - 4;
			put(out, time, page + at + 8, size);
			at += 8 + size;
			break;
		default:
			time += delta;
			size = type * 4;
			put(out, time, page + at + 4, size);
			at += 4 + size;
		}
	}
}

int collect_main(int argc, char **argv)
{
	static unsigned char page[PAGE];
	struct output out = {};
	ssize_t got;
	int pipe;

	if (argc != 3)
		die("usage: rdcn-guest collect PIPE OUTPUT");
	pipe = open(argv[1], O_RDONLY | O_NONBLOCK);
	if (pipe < 0)
		die("collect: %s: %s", argv[1], strerror(errno));
	out.file = fopen(argv[2], "w");
	if (!out.file)
		die("collect: %s: %s", argv[2], strerror(errno));
	setvbuf(out.file, NULL, _IOFBF, 1 << 20);

	while ((got = read(pipe, page, PAGE)) > 0)
		take_page(page, &out);
	if (got < 0 && errno != EAGAIN)
		die("collect: %s: %s", argv[1], strerror(errno));
	if (fclose(out.file))
		die("collect: %s: %s", argv[2], strerror(errno));
	return 0;
}
