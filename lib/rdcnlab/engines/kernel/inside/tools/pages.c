// SPDX-License-Identifier: Apache-2.0
/*
 * Take a trace buffer apart into events.  The layout of a page is the kernel's ABI
 * (events/header_page, events/header_event).
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "pages.h"
#include "tools.h"

enum { HEADER = 16, PADDING = 29, EXTEND = 30, STAMP = 31 };

#define COMMIT_MASK 0xfffffU		/* the flags above it say "events missed" */

static void take_page(const unsigned char *page, take_event *take, void *to)
{
	uint64_t time, commit;
	uint32_t at = HEADER, end;

	memcpy(&time, page, sizeof(time));
	memcpy(&commit, page + 8, sizeof(commit));
	end = HEADER + (commit & COMMIT_MASK);
	if (end > BUFFER_PAGE)
		die("trace buffer: a page that claims %u bytes", end);

	while (at + 4 <= end) {
		uint32_t head, word = 0, type, delta, size;

		memcpy(&head, page + at, sizeof(head));
		if (at + 8 <= end)
			memcpy(&word, page + at + 4, sizeof(word));
		type = head & 31;
		delta = head >> 5;

		switch (type) {
		case PADDING:
			if (!delta)
				return;
			time += delta;
			at += 4 + word;
			break;
		case EXTEND:
			time += delta + ((uint64_t)word << 27);
			at += 8;
			break;
		case STAMP:
			time = delta + ((uint64_t)word << 27);
			at += 8;
			break;
		case 0:			/* a long event: its length is a word of its own */
			time += delta;
			size = word - 4;
			take(to, time, page + at + 8, size);
			at += 8 + size;
			break;
		default:
			time += delta;
			size = type * 4;
			take(to, time, page + at + 4, size);
			at += 4 + size;
		}
	}
}

int open_buffer(const char *path)
{
	int buffer = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (buffer < 0)
		die("%s: %s", path, strerror(errno));
	return buffer;
}

void take_events(int buffer, take_event *take, void *to)
{
	static unsigned char page[BUFFER_PAGE];
	ssize_t got;

	while ((got = read(buffer, page, sizeof(page))) > 0)
		take_page(page, take, to);
	if (got < 0 && errno != EAGAIN)
		die("trace buffer: %s", strerror(errno));
}
