/* SPDX-License-Identifier: Apache-2.0 */
/* What has arrived of each flow so far, for the host to read while a run goes on (progress.c). */
#ifndef RDCNLAB_PROGRESS_H
#define RDCNLAB_PROGRESS_H

#include "traffic.h"

/* Write rows to PROGRESS_FILE from `start` on, in a thread of its own that ends with the program. */
#define PROGRESS_FILE "progress"
void start_progress(int directory, struct flow *flows, int count, uint64_t start);

/* Write the last row. */
void end_progress(uint64_t now);

#endif
