// SPDX-License-Identifier: Apache-2.0
/*
 * rdcn-guest collect PIPE OUTPUT [OFFSET:SIZE]...: take a trace buffer
 * (per_cpu/cpuN/trace_pipe_raw of an instance that records one kind of event) apart
 * and write it as records of one size: a 64 bit time in ns followed by the fields
 * asked for, without gaps, or by the whole event.  Offsets and sizes are those of the
 * event's `format` file.  The output begins with the bytes of a record, as 64 bits.
 *
 * Fields are chosen here because each page of output is a write of the host, whereas
 * most of an event (addresses of tcp_probe) is of no use.
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
enum { PAGE = 65536, HEADER = 16, PADDING = 29, EXTEND = 30, STAMP = 31, FIELDS = 16 };

#define COMMIT_MASK 0xfffffU		/* the flags above it say "events missed" */

struct field {
	uint32_t offset, size;
};

struct output {
	FILE *file;
	uint32_t size;			/* of an event, 0 before the first */
	struct field fields[FIELDS];
	int count;			/* of fields, 0 for the whole event */
};

static void put_bytes(struct output *out, const void *bytes, size_t size)
{
	if (fwrite(bytes, size, 1, out->file) != 1)
		die("collect: cannot write: %s", strerror(errno));
}

static void begin(struct output *out, uint32_t size)
{
	uint64_t record = sizeof(uint64_t);
	int i;

	for (i = 0; i < out->count; i++) {
		if (out->fields[i].offset + out->fields[i].size > size)
			die("collect: no field %u:%u in an event of %u bytes",
			    out->fields[i].offset, out->fields[i].size, size);
		record += out->fields[i].size;
	}
	if (!out->count)
		record += size;
	out->size = size;
	put_bytes(out, &record, sizeof(record));
}

static void put(struct output *out, uint64_t time, const unsigned char *event, uint32_t size)
{
	int i;

	if (!out->size)
		begin(out, size);
	if (size != out->size)
		die("collect: events of %u and %u bytes in one buffer", out->size, size);
	put_bytes(out, &time, sizeof(time));
	for (i = 0; i < out->count; i++)
		put_bytes(out, event + out->fields[i].offset, out->fields[i].size);
	if (!out->count)
		put_bytes(out, event, size);
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
	int pipe, i;

	if (argc < 3 || argc > 3 + FIELDS)
		die("usage: rdcn-guest collect PIPE OUTPUT [OFFSET:SIZE]...");
	for (i = 3; i < argc; i++) {
		struct field *field = &out.fields[out.count++];

		if (sscanf(argv[i], "%u:%u", &field->offset, &field->size) != 2 ||
		    !field->size || field->offset > PAGE || field->size > PAGE)
			die("collect: '%s' is no OFFSET:SIZE", argv[i]);
	}
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
