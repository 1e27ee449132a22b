/* SPDX-License-Identifier: Apache-2.0 */
/* What the event loop has to do at later instants (traffic_agenda.c). */
#ifndef RDCNLAB_TRAFFIC_AGENDA_H
#define RDCNLAB_TRAFFIC_AGENDA_H

#include "traffic.h"

/* open the connection; send or ask for the first time; ask again; write; begin and end a pause */
enum deed { BEGIN, FIRST, ASK, WRITE, PAUSE, RESUME };

struct due {
	uint64_t instant;
	struct flow *flow;
	enum deed deed;
};

void add_due(struct due due);

/* The earliest of all; NULL if there is none. */
const struct due *first_due(void);

/* Remove the earliest. */
struct due take_due(void);

#endif
