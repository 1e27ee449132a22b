/* SPDX-License-Identifier: Apache-2.0 */
/* What threads and the event loop share of a transfer over TCP. */
#ifndef RDCNLAB_TRAFFIC_TCP_H
#define RDCNLAB_TRAFFIC_TCP_H

#include <netinet/in.h>

#include "traffic.h"

/*
 * Where a server listens whose clients' ports are the flows' ports: so data goes to
 * the flow's port whoever connects, and that port tells flows apart in the switch
 * and in traces.
 */
enum { SERVER_PORTS = 20000 };

/* What a receiver sends that asks for its data. */
extern const char request[];

struct sockaddr_in at(const char *address, int port);

/* A socket with the flow's congestion control; die() if there is none. */
int open_socket(struct flow *f);
void bind_to(struct flow *f, int fd, const char *address, int port);

/* Take a flow's data from a socket that waits for it, up to a byte; false if it cannot go on. */
bool receive_until(struct flow *f, uint64_t byte);

/* Fill in what the kernel counted of a flow's sender, and of its receiver. */
void read_info(struct flow *f);
uint64_t arrived(struct flow *f);

#endif
