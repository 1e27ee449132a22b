// SPDX-License-Identifier: Apache-2.0
/* What the event loop has to do at later instants: a heap, ordered by instant, flow and deed. */
#include <stdlib.h>

#include "tools.h"
#include "traffic_agenda.h"

static struct due *heap;
static size_t count, room;

static bool earlier(const struct due *one, const struct due *other)
{
	if (one->instant != other->instant)
		return one->instant < other->instant;
	if (one->flow != other->flow)
		return one->flow < other->flow;
	return one->deed < other->deed;
}

static void swap(size_t one, size_t other)
{
	struct due kept = heap[one];

	heap[one] = heap[other];
	heap[other] = kept;
}

void add_due(struct due due)
{
	size_t at = count++;

	if (count > room) {
		room = room ? 2 * room : 1024;
		heap = reallocarray(heap, room, sizeof(*heap));
		if (!heap)
			die("traffic: no memory for %zu instants", room);
	}
	for (heap[at] = due; at && earlier(&heap[at], &heap[(at - 1) / 2]); at = (at - 1) / 2)
		swap(at, (at - 1) / 2);
}

const struct due *first_due(void)
{
	return count ? heap : NULL;
}

struct due take_due(void)
{
	struct due due = heap[0];
	size_t at = 0, next;

	heap[0] = heap[--count];
	while ((next = 2 * at + 1) < count) {
		if (next + 1 < count && earlier(&heap[next + 1], &heap[next]))
			next++;
		if (!earlier(&heap[next], &heap[at]))
			break;
		swap(at, next);
		at = next;
	}
	return due;
}
