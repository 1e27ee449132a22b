/* SPDX-License-Identifier: Apache-2.0 */
/* Events of a trace buffer (per_cpu/cpuN/trace_pipe_raw of an instance). */
#ifndef RDCNLAB_PAGES_H
#define RDCNLAB_PAGES_H

#include <stdint.h>

/* largest page of a buffer, see probes.py; how large one is, the kernel says */
enum { BUFFER_PAGE = 65536 };

/* What is done with an event: its time in ns of the trace clock, and its bytes. */
typedef void take_event(void *to, uint64_t time, const unsigned char *event, uint32_t size);

/* Open a buffer for reading, without waiting for events; die() if it fails. */
int open_buffer(const char *path);

/* Take all events that are in a buffer, in the order of time. */
void take_events(int buffer, take_event *take, void *to);

#endif
