/* SPDX-License-Identifier: Apache-2.0 */
/* The records of a trace instance while the run goes on. */
#ifndef RDCNLAB_REDUCE_H
#define RDCNLAB_REDUCE_H

#include <stdint.h>

/* What is done with a record: its time in ns since the start, and its bytes. */
typedef void take_record(uint64_t time, const unsigned char *record);

struct reduction {
	const char *instance;		/* the instance's file `records` */
	const char *part;		/* where the kernel puts records; emptied again and again */
	uint64_t start;			/* of the scenario, in ns of CLOCK_MONOTONIC */
	uint64_t every;			/* ns after which records are taken */
	uint32_t size;			/* of a record, which begins with 64 bits of time */
	take_record *take;		/* gets the records from the start on */
};

/* Take the records of an instance until SIGTERM; die() if it fails. */
void reduce(const struct reduction *reduction);

#endif
