// SPDX-License-Identifier: Apache-2.0
/* When the application of a flow with a rate produces data, or one that is on and off. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools.h"
#include "traffic_rate.h"

bool parse_application(struct flow *f, const char *words)
{
	char name[16];
	uint64_t value;
	int used;

	f->rounds = 1;
	while (sscanf(words, " %15s%n", name, &used) == 1) {
		words += used;
		if (sscanf(words, " %" SCNu64 "%n", &value, &used) != 1)
			return false;
		words += used;
		if (!strcmp(name, "connect"))
			f->connect = value;
		else if (!strcmp(name, "rounds"))
			f->rounds = value;
		else if (!strcmp(name, "think"))
			f->think = value;
		else if (!strcmp(name, "rate"))
			f->rate = value;
		else if (!strcmp(name, "write"))
			f->write = value;
		else if (!strcmp(name, "waited"))
			f->waited = value;
		else if (!strcmp(name, "bound"))
			f->bound = value;
		else if (!strcmp(name, "replay"))
			f->replay_count = value;
		else if (!strcmp(name, "on"))
			f->on = value;
		else if (!strcmp(name, "off"))
			f->off = value;
		else
			return false;
	}
	return f->rounds && !(f->size % f->rounds) && !f->rate == !f->write && !f->on == !f->off;
}

/* Time during which the application was on, as time since it began. */
static uint64_t with_pauses(const struct flow *f, uint64_t active)
{
	return f->on ? active + active / f->on * f->off : active;
}

uint64_t time_of_byte(const struct flow *f, uint64_t byte)
{
	return with_pauses(f, (unsigned __int128)byte * 8 * NSEC_PER_SEC / f->rate);
}

uint64_t time_of_end(const struct flow *f)
{
	uint64_t active = (unsigned __int128)f->size * 8 * NSEC_PER_SEC / f->rate;

	/* the end of the last byte's time, not the begin of what would follow a pause */
	return active && f->on ? active + (active - 1) / f->on * f->off : active;
}
