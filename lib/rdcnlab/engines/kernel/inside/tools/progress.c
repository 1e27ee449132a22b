// SPDX-License-Identifier: Apache-2.0
/*
 * What has arrived of each flow so far, in a file that the host reads while the run goes on.
 *
 * It is an array of 64 bit numbers: the number of flows, and then a row for each
 * instant: the instant in ns of CLOCK_MONOTONIC, and the payload in B that has arrived of
 * each flow, in the order of the plan.
 *
 * The last row is of the end, when each flow's count is final.
 *
 * Nothing of a run depends on it: the thread reads no clock, draws no random number,
 * makes no call that fails, and while it runs no time passes and no packet moves.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "progress.h"
#include "tools.h"

/*
 * Rows are EVERY apart at first, and later SHARE of the time since the start, so that a
 * long run has few rows and a short one enough for a curve.  With more than FLOWS flows
 * they are further apart, because each flow costs a system call.
 */
enum { SHARE = 256, FLOWS = 64 };
#define EVERY (10 * NSEC_PER_SEC / 1000)
/* Not at a whole ms, when flows start and links change. */
#define ASIDE 499979

static struct {
	struct flow *flows;
	int count, file;
	uint64_t start;
	uint64_t *row;
	size_t size;			/* of a row in B */
} noted;
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;

static bool put(const void *what, size_t size)
{
	return write(noted.file, what, size) == (ssize_t)size &&
	       /* from the guest's memory to the host's file, without waiting for a disk */
	       !sync_file_range(noted.file, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE |
				SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
}

/* Write a row; while the run goes on, ask the kernel for the counts that are not final. */
static bool put_row(uint64_t instant, bool ask)
{
	bool done;

	pthread_mutex_lock(&writing);
	noted.row[0] = instant;
	for (int i = 0; i < noted.count; i++) {
		struct flow *f = &noted.flows[i];

		noted.row[i + 1] = ask && !f->finished && f->protocol->arrived ?
				   f->protocol->arrived(f) : f->received;
	}
	done = put(noted.row, noted.size);
	pthread_mutex_unlock(&writing);
	return done;
}

static void *note(void *unused)
{
	uint64_t past, step;

	(void)unused;
	for (past = ASIDE;; past += step * (1 + noted.count / FLOWS)) {
		sleep_until_ns(noted.start + past);
		if (!put_row(noted.start + past, true))
			return NULL;	/* a full disk must not end a run */
		step = past / SHARE > EVERY ? past / SHARE : EVERY;
	}
}

void end_progress(uint64_t now)
{
	put_row(now, false);
}

void start_progress(int directory, struct flow *flows, int count, uint64_t start)
{
	uint64_t many = count;

	noted.flows = flows;
	noted.count = count;
	noted.start = start;
	noted.size = (1 + count) * sizeof(*noted.row);
	noted.row = calloc(1, noted.size);
	noted.file = openat(directory, PROGRESS_FILE, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (!noted.row || noted.file < 0)
		die("traffic: %s: %s", PROGRESS_FILE, strerror(errno));
	if (!put(&many, sizeof(many)))
		return;
	memset(noted.row, 0xff, noted.size);	/* no page fault later */
	start_thread("progress", note, NULL, STACK);
}
