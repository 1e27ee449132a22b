/* SPDX-License-Identifier: Apache-2.0 */
/* What the application of a flow does besides sending all at once (traffic_rate.c). */
#ifndef RDCNLAB_TRAFFIC_RATE_H
#define RDCNLAB_TRAFFIC_RATE_H

#include "traffic.h"

/*
 * Read pairs of words:
 *   connect NS              opens its connection at this instant, ahead of its start
 *   rounds N, think NS      the receiver asks N times, NS after each answer
 *   rate BIT/S, write B     produces so much, B at a time
 *   on NS, off NS           produces nothing in every second one of these times
 *   replay N                sends the N datagrams of the file replay.PORT
 *   bound 1                 its sender connects from the address of the plan
 *   waited NS               the run waits for these datagrams, until none has come for so long
 */
bool parse_application(struct flow *f, const char *words);

/* ns after the application began when it produces a byte, or when it has produced the last. */
uint64_t time_of_byte(const struct flow *f, uint64_t byte);
uint64_t time_of_end(const struct flow *f);

#endif
