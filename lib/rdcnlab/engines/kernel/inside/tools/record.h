/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of one size: a 64 bit time in ns followed by fields of an event, without gaps,
 * or by the whole event.  A file of them begins with the bytes of a record, as 64 bits.
 *
 * Fields are chosen in the guest because each page of output is a write of the host,
 * whereas most of an event (addresses of tcp_probe) is of no use.
 */
#ifndef RDCNLAB_RECORD_H
#define RDCNLAB_RECORD_H

#include <stdint.h>
#include <stdio.h>

enum { RECORD_FIELDS = 16 };

struct field {
	uint32_t offset, size;
};

struct output {
	const char *path;
	FILE *file;
	uint32_t size;			/* of an event, 0 before the first */
	struct field fields[RECORD_FIELDS];
	int count;			/* of fields, 0 for the whole event */
};

/* Parse the words OFFSET:SIZE, as the event's `format` file has them, and create the file. */
void open_output(struct output *out, const char *path, int words, char **word);

/* Write a record of an event. */
void put_record(struct output *out, uint64_t time, const unsigned char *event, uint32_t size);

void close_output(struct output *out);

#endif
