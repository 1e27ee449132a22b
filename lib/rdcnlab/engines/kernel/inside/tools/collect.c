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
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pages.h"
#include "tools.h"

enum { FIELDS = 16 };

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

static void put(void *to, uint64_t time, const unsigned char *event, uint32_t size)
{
	struct output *out = to;
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

int collect_main(int argc, char **argv)
{
	struct output out = {};
	int pipe, i;

	if (argc < 3 || argc > 3 + FIELDS)
		die("usage: rdcn-guest collect PIPE OUTPUT [OFFSET:SIZE]...");
	for (i = 3; i < argc; i++) {
		struct field *field = &out.fields[out.count++];

		if (sscanf(argv[i], "%u:%u", &field->offset, &field->size) != 2 ||
		    !field->size || field->offset > BUFFER_PAGE || field->size > BUFFER_PAGE)
			die("collect: '%s' is no OFFSET:SIZE", argv[i]);
	}
	pipe = open_buffer(argv[1]);
	out.file = fopen(argv[2], "w");
	if (!out.file)
		die("collect: %s: %s", argv[2], strerror(errno));
	setvbuf(out.file, NULL, _IOFBF, 1 << 20);

	take_events(pipe, put, &out);
	if (fclose(out.file))
		die("collect: %s: %s", argv[2], strerror(errno));
	return 0;
}
