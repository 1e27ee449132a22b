// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "pages.h"
#include "record.h"
#include "tools.h"

static void put_bytes(struct output *out, const void *bytes, size_t size)
{
	if (fwrite(bytes, size, 1, out->file) != 1)
		die("%s: cannot write: %s", out->path, strerror(errno));
}

void open_output(struct output *out, const char *path, int words, char **word)
{
	*out = (struct output){ .path = path };
	if (words > RECORD_FIELDS)
		die("%s: more than %d fields", path, RECORD_FIELDS);
	for (int i = 0; i < words; i++) {
		struct field *field = &out->fields[out->count++];

		if (sscanf(word[i], "%u:%u", &field->offset, &field->size) != 2 ||
		    !field->size || field->offset > BUFFER_PAGE || field->size > BUFFER_PAGE)
			die("%s: '%s' is no OFFSET:SIZE", path, word[i]);
	}
	out->file = fopen(path, "w");
	if (!out->file)
		die("%s: %s", path, strerror(errno));
	setvbuf(out->file, NULL, _IOFBF, 1 << 20);
}

static void begin(struct output *out, uint32_t size)
{
	uint64_t record = sizeof(uint64_t);

	for (int i = 0; i < out->count; i++) {
		if (out->fields[i].offset + out->fields[i].size > size)
			die("%s: no field %u:%u in an event of %u bytes", out->path,
			    out->fields[i].offset, out->fields[i].size, size);
		record += out->fields[i].size;
	}
	if (!out->count)
		record += size;
	out->size = size;
	put_bytes(out, &record, sizeof(record));
}

void put_record(struct output *out, uint64_t time, const unsigned char *event, uint32_t size)
{
	if (!out->size)
		begin(out, size);
	if (size != out->size)
		die("%s: events of %u and %u bytes in one buffer", out->path, out->size, size);
	put_bytes(out, &time, sizeof(time));
	for (int i = 0; i < out->count; i++)
		put_bytes(out, event + out->fields[i].offset, out->fields[i].size);
	if (!out->count)
		put_bytes(out, event, size);
}

void close_output(struct output *out)
{
	if (fclose(out->file))
		die("%s: %s", out->path, strerror(errno));
}
