// SPDX-License-Identifier: Apache-2.0
/*
 * A transfer over TCP, or over Multipath TCP, which has the same calls.  Its sender
 * connects and sends; or its receiver connects and asks for it, as a client of HTTP does.
 *
 * An end makes very few system calls (each costs the machine several context
 * switches in User-Mode Linux): the sender sends chunks of a file in memory, which
 * nobody copies, the receiver asks for all that is missing and lets the kernel drop
 * it (MSG_TRUNC).
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/mptcp.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools.h"
#include "traffic_order.h"
#include "traffic_tcp.h"

/* what older headers lack: struct mptcp_info has grown since */
#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
#ifndef SOL_MPTCP
#define SOL_MPTCP 284
#endif
enum { MAX_SUBFLOWS = 8, MPTCP_BYTES_RECEIVED = 64 };

const char request[] = "GET / HTTP/1.1\r\nHost: server\r\nConnection: close\r\n\r\n";

static bool parse(struct flow *f, const char *words)
{
	char who[4];

	if (sscanf(words, "%15s %3s %" SCNu64, f->cc, who, &f->connect) < 2)
		return false;
	f->asked_for = !strcmp(who, "dst");
	return true;
}

struct sockaddr_in at(const char *address, int port)
{
	struct sockaddr_in place = { .sin_family = AF_INET, .sin_port = htons(port) };

	inet_pton(AF_INET, address, &place.sin_addr);
	return place;
}

int open_socket(struct flow *f)
{
	bool multipath = f->protocol == &mptcp_protocol;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, multipath ? IPPROTO_MPTCP : 0);

	/* the receiver's variant decides whether it answers as DCTCP wants */
	if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, f->cc, strlen(f->cc)))
		die("traffic: flow %s: congestion control %s: %s", f->name, f->cc,
		    strerror(errno));
	return fd;
}

void bind_to(struct flow *f, int fd, const char *address, int port)
{
	struct sockaddr_in place = at(address, port);
	int on = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(fd, (struct sockaddr *)&place, sizeof(place)))
		die("traffic: flow %s: %s:%d: %s", f->name, address, port, strerror(errno));
}

static void prepare(struct flow *f)
{
	enter(f->asked_for ? f->src_pid : f->dst_pid);
	f->listener = open_socket(f);
	if (f->asked_for)
		bind_to(f, f->listener, f->src, SERVER_PORTS + f->port);
	else
		/* further subflows come to further addresses */
		bind_to(f, f->listener, f->protocol == &mptcp_protocol ? "0.0.0.0" : f->dst,
			f->port);
	if (listen(f->listener, 8))
		die("traffic: flow %s: listen: %s", f->name, strerror(errno));
}

/*
 * With a connection that is opened ahead: wait for the start.  If that is over, the
 * flow starts now.
 */
static void await_start(struct flow *f)
{
	uint64_t now = now_ns();

	if (now < f->start)
		sleep_until_ns(f->start);
	else
		f->start = now;
}

/* Connect, at the start or ahead of it; at the start the flow's clock begins to run. */
static bool open_connection(struct flow *f, int fd, const char *address, int port)
{
	struct sockaddr_in to = at(address, port);

	sleep_until_ns(f->connect ? f->connect : f->start);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to))) {
		give_up(f, "connect");
		return false;
	}
	if (f->connect)
		await_start(f);
	return true;
}

bool receive_until(struct flow *f, uint64_t byte)
{
	while (f->received < byte) {
		uint64_t missing = byte - f->received;
		size_t want = missing < (1u << 30) ? missing : 1u << 30;
		ssize_t got = recv(f->rx, payload, want, MSG_TRUNC | MSG_WAITALL);

		if (got <= 0) {
			if (!got)
				errno = EPIPE;
			give_up(f, "recv");
			return false;
		}
		f->received += got;
	}
	return true;
}

static void sink(struct flow *f)
{
	if (f->asked_for) {
		int fd = open_socket(f);

		bind_to(f, fd, f->dst, f->port);
		if (!open_connection(f, fd, f->src, SERVER_PORTS + f->port))
			return;
		f->rx = fd;
		if (send(fd, request, strlen(request), 0) < 0) {
			give_up(f, "send");
			return;
		}
	} else {
		f->rx = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC);
		if (f->rx < 0) {
			give_up(f, "accept");
			return;
		}
	}
	if (!receive_until(f, f->size))
		return;
	f->end = now_ns();
	f->finished = true;
	flow_ended(f);
	/* the sender's read returns, and it knows that all was delivered */
	shutdown(f->rx, SHUT_WR);
}

/* Of a connection with subflows, most is the first one's and losses are the sum. */
void read_info(struct flow *f)
{
	struct {
		struct mptcp_subflow_data of;
		struct tcp_counters each[MAX_SUBFLOWS];
	} all = { .of = { .size_subflow_data = sizeof(all.of), .size_user = sizeof(*all.each) } };
	socklen_t length = sizeof(f->info);

	getsockopt(f->tx, IPPROTO_TCP, TCP_INFO, &f->info, &length);
	length = sizeof(all);
	if (f->protocol != &mptcp_protocol ||
	    getsockopt(f->tx, SOL_MPTCP, MPTCP_TCPINFO, &all, &length))
		return;
	for (unsigned int i = 1; i < all.of.num_subflows && i < MAX_SUBFLOWS; i++) {
		f->info.total_retrans += all.each[i].total_retrans;
		f->info.bytes_retrans += all.each[i].bytes_retrans;
		f->info.total_rto += all.each[i].total_rto;
	}
}

/* Payload that came, in order. */
uint64_t arrived(struct flow *f)
{
	struct tcp_counters there;
	struct {
		char upto_bytes_received[MPTCP_BYTES_RECEIVED];
		uint64_t bytes_received;
	} all;
	socklen_t length = sizeof(there);

	if (f->rx < 0)
		return 0;
	if (f->protocol == &mptcp_protocol && !f->plain) {
		length = sizeof(all);
		if (!getsockopt(f->rx, SOL_MPTCP, MPTCP_INFO, &all, &length) &&
		    length == sizeof(all))
			return all.bytes_received;
		length = sizeof(there);
		f->plain = true;	/* not tried again: calls that fail take time */
	}
	if (getsockopt(f->rx, IPPROTO_TCP, TCP_INFO, &there, &length))
		return f->received;
	return there.bytes_received;
}

static void source(struct flow *f)
{
	uint64_t sent = 0;
	char text[256];

	if (f->asked_for) {
		f->tx = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC);
		if (f->tx < 0) {
			give_up(f, "accept");
			return;
		}
		if (recv(f->tx, text, sizeof(text), 0) != (ssize_t)strlen(request)) {
			give_up(f, "recv of the request");
			return;
		}
	} else {
		f->tx = open_socket(f);
		if (!open_connection(f, f->tx, f->dst, f->port))
			return;
	}
	while (sent < f->size) {
		uint64_t left = f->size - sent;
		off_t from = 0;
		ssize_t done = sendfile(f->tx, payload_file, &from,
					left < CHUNK ? left : CHUNK);

		if (done < 0) {
			give_up(f, "sendfile");
			return;
		}
		sent += done;
	}
	if (read(f->tx, text, 1) < 0)
		give_up(f, "read");
	read_info(f);
}

static void settle(struct flow *f)
{
	if (f->finished)
		return;
	if (f->tx >= 0)
		read_info(f);
	if (f->rx >= 0)
		f->received = arrived(f);
}

const struct protocol mptcp_protocol = {
	.name = "mptcp",
	.parse = parse,
	.prepare = prepare,
	.source = source,
	.sink = sink,
	.arrived = arrived,
	.settle = settle,
};

const struct protocol tcp_protocol = {
	.name = "tcp",
	.parse = parse,
	.prepare = prepare,
	.source = source,
	.sink = sink,
	.arrived = arrived,
	.settle = settle,
};
