/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a trace instance while the run goes on. */
#ifndef RDCNLAB_STREAM_H
#define RDCNLAB_STREAM_H

#include "pages.h"

struct stream {
	const char *instance;		/* directory of tracefs with one kind of event */
	uint64_t start;			/* of the scenario, in ns of CLOCK_MONOTONIC */
	uint64_t every;			/* ns after which the buffer is emptied */
	uint64_t offset;		/* trace time of the start; 0 before the first event */
	take_event *take;		/* gets the events from the start on, in ns since then */
	void *to;
};

/* Take the events of an instance until SIGTERM; die() if it fails. */
void follow(struct stream *stream);

#endif
