// SPDX-License-Identifier: Apache-2.0
/*
 * A transfer over TCP.  Its sender connects and sends; or its receiver connects and
 * asks for it, as a client of HTTP does.
 *
 * An end makes very few system calls (each costs the machine several context
 * switches in User-Mode Linux): the sender sends chunks of a file in memory, which
 * nobody copies, the receiver asks for all that is missing and lets the kernel drop
 * it (MSG_TRUNC).
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools.h"
#include "traffic.h"

/*
 * Where a server listens whose clients' ports are the flows' ports: so data goes to
 * the flow's port whoever connects, and that port tells flows apart in the switch
 * and in traces.
 */
enum { SERVER_PORTS = 20000 };

static const char request[] = "GET / HTTP/1.1\r\nHost: server\r\nConnection: close\r\n\r\n";

static bool parse(struct flow *f, const char *words)
{
	char who[4];

	if (sscanf(words, "%15s %3s", f->cc, who) != 2)
		return false;
	f->asked_for = !strcmp(who, "dst");
	return true;
}

static struct sockaddr_in at(const char *address, int port)
{
	struct sockaddr_in place = { .sin_family = AF_INET, .sin_port = htons(port) };

	inet_pton(AF_INET, address, &place.sin_addr);
	return place;
}

static int open_socket(struct flow *f)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	/* the receiver's variant decides whether it answers as DCTCP wants */
	if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, f->cc, strlen(f->cc)))
		die("traffic: flow %s: congestion control %s: %s", f->name, f->cc,
		    strerror(errno));
	return fd;
}

static void bind_to(struct flow *f, int fd, const char *address, int port)
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
		bind_to(f, f->listener, f->dst, f->port);
	if (listen(f->listener, 8))
		die("traffic: flow %s: listen: %s", f->name, strerror(errno));
}

/* Wait for the start and connect; the clock of the flow runs from here on. */
static bool open_connection(struct flow *f, int fd, const char *address, int port)
{
	struct sockaddr_in to = at(address, port);

	sleep_until_ns(f->start);
	if (!connect(fd, (struct sockaddr *)&to, sizeof(to)))
		return true;
	give_up(f, "connect");
	return false;
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
	while (f->received < f->size) {
		uint64_t missing = f->size - f->received;
		size_t want = missing < (1u << 30) ? missing : 1u << 30;
		ssize_t got = recv(f->rx, payload, want, MSG_TRUNC | MSG_WAITALL);

		if (got <= 0) {
			if (!got)
				errno = EPIPE;
			give_up(f, "recv");
			return;
		}
		f->received += got;
	}
	f->end = now_ns();
	f->finished = true;
	/* the sender's read returns, and it knows that all was delivered */
	shutdown(f->rx, SHUT_WR);
}

static void source(struct flow *f)
{
	socklen_t length = sizeof(f->info);
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
	getsockopt(f->tx, IPPROTO_TCP, TCP_INFO, &f->info, &length);
}

static void settle(struct flow *f)
{
	socklen_t length = sizeof(f->info);
	struct tcp_info there;

	if (f->finished)
		return;
	if (f->tx >= 0)
		getsockopt(f->tx, IPPROTO_TCP, TCP_INFO, &f->info, &length);
	length = sizeof(there);
	if (f->rx >= 0 && !getsockopt(f->rx, IPPROTO_TCP, TCP_INFO, &there, &length))
		f->received = there.tcpi_bytes_received;
}

const struct protocol tcp_protocol = {
	.name = "tcp",
	.parse = parse,
	.prepare = prepare,
	.source = source,
	.sink = sink,
	.settle = settle,
};
