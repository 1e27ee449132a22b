/* SPDX-License-Identifier: Apache-2.0 */
/* Flows that start after others (traffic_order.c). */
#ifndef RDCNLAB_TRAFFIC_ORDER_H
#define RDCNLAB_TRAFFIC_ORDER_H

#include "traffic.h"

/* Make a flow of the plan belong to the group `ends`, and start after the group `after`; -1: none. */
void join_groups(struct flow *f, int ends, int after);

/* A descriptor that can be read when a group has ended. */
int watch_groups(void);

/* Note that a flow has ended: its `end` is known. */
void flow_ended(struct flow *f);

/* Whether a flow may start; its `start` is then known. */
bool may_start(struct flow *f);

/* Wait until a flow may start. */
void await_order(struct flow *f);

#endif
