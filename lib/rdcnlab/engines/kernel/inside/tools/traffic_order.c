// SPDX-License-Identifier: Apache-2.0
/*
 * Flows that start after others: groups of flows, and who waits for the last one of a group.
 *
 * A group has the flows between `ends` and `after` of the plan.  Its end is that of the
 * flow that ended last.  Threads wait for it; the event loop is told by a descriptor.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tools.h"
#include "traffic_order.h"

static struct group {
	unsigned int left;		/* flows that have not ended */
	uint64_t end;			/* of the last that did */
} *groups;
static int group_count;
static int told = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;

static void grow(int group)
{
	if (group < group_count)
		return;
	groups = reallocarray(groups, group + 1, sizeof(*groups));
	if (!groups)
		die("traffic: no memory for %d groups", group + 1);
	memset(groups + group_count, 0, (group + 1 - group_count) * sizeof(*groups));
	group_count = group + 1;
}

void join_groups(struct flow *f, int ends, int after)
{
	f->ends = ends;
	f->after = after;
	if (after >= 0) {
		grow(after);
		f->offset = f->start;
		f->start = 0;
	}
	if (ends >= 0) {
		grow(ends);
		groups[ends].left++;
	}
}

int watch_groups(void)
{
	told = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (told < 0)
		die("traffic: eventfd: %s", strerror(errno));
	return told;
}

void flow_ended(struct flow *f)
{
	uint64_t one = 1;

	if (f->ends < 0)
		return;
	pthread_mutex_lock(&lock);
	if (f->end > groups[f->ends].end)
		groups[f->ends].end = f->end;
	if (!--groups[f->ends].left) {
		pthread_cond_broadcast(&change);
		if (told >= 0 && write(told, &one, sizeof(one)) < 0)
			die("traffic: eventfd: %s", strerror(errno));
	}
	pthread_mutex_unlock(&lock);
}

bool may_start(struct flow *f)
{
	pthread_mutex_lock(&lock);
	if (f->after >= 0 && !f->start && !groups[f->after].left)
		f->start = groups[f->after].end + f->offset;
	pthread_mutex_unlock(&lock);
	return f->start;
}

void await_order(struct flow *f)
{
	if (f->after < 0)
		return;
	pthread_mutex_lock(&lock);
	while (groups[f->after].left)
		pthread_cond_wait(&change, &lock);
	f->start = groups[f->after].end + f->offset;
	pthread_mutex_unlock(&lock);
}
