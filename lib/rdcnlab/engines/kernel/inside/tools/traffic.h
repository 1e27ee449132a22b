/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flows of a run.  What a flow does is its protocol's; when it may, where it lives
 * and what becomes of it is common (traffic.c).
 */
#ifndef RDCNLAB_TRAFFIC_H
#define RDCNLAB_TRAFFIC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tcp_info.h"

struct flow;

/* ns after the start, and payload */
struct datagram {
	uint64_t instant;
	uint32_t size;
} __attribute__((packed));

struct protocol {
	const char *name;
	/* reads what is the protocol's own from the end of a line of the plan */
	bool (*parse)(struct flow *f, const char *words);
	/* makes what must stand before the start, in the main thread */
	void (*prepare)(struct flow *f);
	/* the ends of the flow, each a thread in its host's network */
	void (*source)(struct flow *f);
	void (*sink)(struct flow *f);
	/* the payload that has arrived so far; NULL: `received` is always up to date */
	uint64_t (*arrived)(struct flow *f);
	/* fills in what is known of a flow once the run is over */
	void (*settle)(struct flow *f);
	/* whether the run ends without waiting for it */
	bool (*background)(const struct flow *f);
};

struct flow {
	const struct protocol *protocol;
	char name[64], cc[16], src[16], dst[16];	/* addresses */
	int src_pid, dst_pid, port;
	uint64_t size, start;
	uint64_t connect;		/* when its connection is opened, 0: at start */
	bool asked_for;			/* by its receiver, which connects */
	uint64_t rounds, think;		/* requests, and ns from an answer to the next one */
	uint64_t rate, write;		/* bit/s of its application, bytes at a time; 0: at once */
	uint64_t on, off;		/* ns with data, ns without; 0: always with */
	struct datagram *replay;	/* datagrams with instants of their own */
	uint64_t replay_count;
	bool bound;			/* its sender connects from its own address */
	uint64_t waited;		/* the run waits so many ns for its next datagram; 0: not at all */
	int ends, after;		/* group it belongs to, group it waits for; -1: none */
	uint64_t offset;		/* ns from the end of that group to its start */
	unsigned int packet, burst;	/* payload of a datagram, datagrams of a burst */
	uint64_t interval;		/* ns from burst to burst */
	char *server, *client;		/* command lines */
	pid_t server_pid, client_pid;
	int tx, listener, rx;		/* sockets, -1 until there is one */
	uint64_t end, received;
	uint64_t sent;			/* bytes that the loop gave to the kernel */
	uint64_t may_send, expected;	/* bytes so far: at its sender, at its receiver */
	uint64_t asked;			/* requests that its sender has */
	uint64_t begun;			/* when its application began */
	bool blocked;			/* its socket took less than it may send */
	struct tcp_counters info;	/* of the sender, once it has all ACKs */
	bool finished;
	bool plain;			/* Multipath TCP that fell back to TCP */
	char error[128];		/* why a flow could not go on */
};

extern const struct protocol tcp_protocol, mptcp_protocol, udp_protocol, program_protocol;
/* TCP without a thread for each end, see traffic_loop.c */
extern const struct protocol loop_protocol;

/* Carry all flows of loop_protocol, among so many flows, from their starts to their ends. */
void carry(struct flow *flows, int count);

/* CHUNK bytes that are there to be sent, or written over, and the file they are */
#define CHUNK (16u << 20)
extern char *payload;
extern int payload_file;

/* when random numbers are set; and where files of the result go, as a descriptor */
extern uint64_t ready;
extern int result_directory;

/* flows of the loop that are not larger are received at once when all of their data is there */
extern unsigned int small;

/* Go to the network of a process' host. */
void enter(int pid);

/* Note why a flow cannot go on: the call that failed, with errno. */
void give_up(struct flow *f, const char *what);

#endif
