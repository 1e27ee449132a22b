// SPDX-License-Identifier: Apache-2.0
/*
 * Transfers over TCP, many of them: one thread carries all, with epoll.
 *
 * A flow has sockets from its start to its end only.  What its two ends do, and at which
 * instants, is what the threads of traffic_tcp.c do, with two exceptions: both ends close
 * their sockets, and the receiver of a small flow is woken once, when all data is there
 * (SO_RCVLOWAT), and not for each packet.  The receiver of a large flow is a thread of its
 * own while the flow lasts: it blocks in one recv(), where the kernel drops data as they
 * come, while a loop would be woken for each packet.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "tools.h"
#include "traffic_tcp.h"

enum { EVENTS = 256 };
/* what an event is about: the timer, or a flow and one of its sockets */
enum role { LISTENS, CONNECTS, SENDS, RECEIVES, ROLES };
#define TIMER UINT64_MAX

static int events, timer, unfinished;
static struct flow *every;

static bool parse(struct flow *f, const char *words)
{
	char who[4];

	if (sscanf(words, "%15s %3s", f->cc, who) != 2)
		return false;
	f->asked_for = !strcmp(who, "dst");
	return true;
}

/* Nothing stands before the start. */
static void prepare(struct flow *f)
{
	(void)f;
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

static void watch(struct flow *f, enum role role, int fd, uint32_t what, int operation)
{
	struct epoll_event event = { what, { .u64 = (uint64_t)(f - every) * ROLES + role } };

	if (epoll_ctl(events, operation, fd, &event))
		die("traffic: flow %s: epoll_ctl: %s", f->name, strerror(errno));
}

/* Go to a host's network; its descriptor is kept, since flows do this all the time. */
static void visit(int pid)
{
	static int known[1 << 16];	/* descriptors by process id, 0: none yet */
	char path[64];

	if (pid <= 0 || pid >= (int)(sizeof(known) / sizeof(*known)))
		die("traffic: %d is no process of a host", pid);
	if (!known[pid]) {
		snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
		known[pid] = open(path, O_RDONLY | O_CLOEXEC);
		if (known[pid] < 0)
			die("traffic: %s: %s", path, strerror(errno));
	}
	if (setns(known[pid], CLONE_NEWNET))
		die("traffic: setns: %s", strerror(errno));
}

static int open_here(struct flow *f)
{
	int fd = open_socket(f), on = 1;

	/* its port, which the kernel chooses, may be that of a flow that comes later */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    fcntl(fd, F_SETFL, O_NONBLOCK))
		die("traffic: flow %s: socket: %s", f->name, strerror(errno));
	return fd;
}

static void begin(struct flow *f)
{
	const char *server = f->asked_for ? f->src : f->dst;
	int port = f->asked_for ? SERVER_PORTS + f->port : f->port, fd;
	struct sockaddr_in to = at(server, port);

	visit(f->asked_for ? f->src_pid : f->dst_pid);
	f->listener = open_here(f);
	bind_to(f, f->listener, server, port);
	if (listen(f->listener, 8))
		die("traffic: flow %s: listen: %s", f->name, strerror(errno));
	watch(f, LISTENS, f->listener, EPOLLIN, EPOLL_CTL_ADD);

	visit(f->asked_for ? f->dst_pid : f->src_pid);
	fd = open_here(f);
	if (f->asked_for)
		bind_to(f, fd, f->dst, f->port);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) && errno != EINPROGRESS) {
		give_up(f, "connect");
		unfinished--;
		close(fd);
		return;
	}
	if (f->asked_for)
		f->rx = fd;
	else
		f->tx = fd;
	watch(f, CONNECTS, fd, EPOLLOUT, EPOLL_CTL_ADD);
}

/* All data came: the sender's read returns. */
static void complete(struct flow *f)
{
	int fd = f->rx;

	f->end = now_ns();
	f->finished = true;
	f->rx = -1;
	shutdown(fd, SHUT_WR);
	close(fd);
}

static void *receive_large(void *argument)
{
	struct flow *f = argument;

	if (receive_all(f))
		complete(f);
	return NULL;
}

/* The receiver's end is connected. */
static void expect_data(struct flow *f, int operation)
{
	int all = f->size;

	if (f->size > small) {
		if (operation == EPOLL_CTL_MOD)
			epoll_ctl(events, EPOLL_CTL_DEL, f->rx, NULL);
		fcntl(f->rx, F_SETFL, 0);
		start_detached(receive_large, f);
		return;
	}
	if (setsockopt(f->rx, SOL_SOCKET, SO_RCVLOWAT, &all, sizeof(all)))
		die("traffic: flow %s: SO_RCVLOWAT: %s", f->name, strerror(errno));
	watch(f, RECEIVES, f->rx, EPOLLIN, operation);
}

static void receive(struct flow *f)
{
	ssize_t got = recv(f->rx, payload, f->size - f->received, MSG_TRUNC | MSG_DONTWAIT);

	if (got < 0 && errno == EAGAIN)
		return;
	if (got <= 0) {
		if (!got)
			errno = EPIPE;
		give_up(f, "recv");
		close(f->rx);
		f->rx = -1;
		return;
	}
	f->received += got;
	if (f->received == f->size)
		complete(f);
}

static void end_of_sender(struct flow *f)
{
	read_info(f);
	close(f->tx);
	f->tx = -1;
	unfinished--;
}

/* Send what the socket takes; at the end of data wait for the receiver's end. */
static void send_more(struct flow *f, int operation)
{
	while (f->sent < f->size) {
		uint64_t left = f->size - f->sent;
		off_t from = 0;
		ssize_t done = sendfile(f->tx, payload_file, &from, left < CHUNK ? left : CHUNK);

		if (done < 0 && errno == EAGAIN) {
			if (operation)
				watch(f, SENDS, f->tx, EPOLLOUT, operation);
			return;
		}
		if (done < 0) {
			give_up(f, "sendfile");
			end_of_sender(f);
			return;
		}
		f->sent += done;
	}
	watch(f, SENDS, f->tx, EPOLLIN, operation ? operation : EPOLL_CTL_MOD);
}

static void connected(struct flow *f)
{
	int fd = f->asked_for ? f->rx : f->tx, error = 0;
	socklen_t length = sizeof(error);

	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
	if (error) {
		errno = error;
		give_up(f, "connect");
		epoll_ctl(events, EPOLL_CTL_DEL, fd, NULL);
		unfinished--;
		return;
	}
	if (!f->asked_for) {
		send_more(f, EPOLL_CTL_MOD);
		return;
	}
	if (send(fd, request, strlen(request), 0) < 0)
		give_up(f, "send");
	expect_data(f, EPOLL_CTL_MOD);
}

static void accepted(struct flow *f)
{
	int fd = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0) {
		if (errno == EAGAIN)
			return;
		give_up(f, "accept");
		return;
	}
	close(f->listener);
	f->listener = -1;
	if (f->asked_for) {
		f->tx = fd;
		watch(f, SENDS, fd, EPOLLIN, EPOLL_CTL_ADD);
		return;
	}
	f->rx = fd;
	expect_data(f, EPOLL_CTL_ADD);
}

/* The sender can send, or it has the request, or the end of its receiver. */
static void sender_event(struct flow *f, uint32_t what)
{
	char text[256];
	ssize_t got;

	if (f->sent < f->size && (f->sent || !f->asked_for)) {
		send_more(f, 0);
		return;
	}
	if (!(what & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		return;
	got = recv(f->tx, text, sizeof(text), MSG_DONTWAIT);
	if (got < 0 && errno == EAGAIN)
		return;
	if (f->asked_for && !f->sent && got == (ssize_t)strlen(request)) {
		send_more(f, EPOLL_CTL_MOD);
		return;
	}
	if (got)
		give_up(f, "read");
	end_of_sender(f);
}

static int by_start(const void *one, const void *other)
{
	const struct flow *a = *(struct flow *const *)one, *b = *(struct flow *const *)other;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a < b ? -1 : 1;
}

static void set_timer(uint64_t instant)
{
	struct itimerspec when = { .it_value = { instant / NSEC_PER_SEC, instant % NSEC_PER_SEC } };

	if (timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL))
		die("traffic: timerfd_settime: %s", strerror(errno));
}

/* Begin all flows whose time has come, and set the timer for the next. */
static struct flow **begin_due(struct flow **next, struct flow **last)
{
	uint64_t now = now_ns();

	while (next < last && (*next)->start <= now)
		begin(*next++);
	if (next < last)
		set_timer((*next)->start);
	return next;
}

void carry(struct flow *flows, int count)
{
	struct flow **order = calloc(count + 1, sizeof(*order)), **next = order, **last = order;
	struct epoll_event seen[EVENTS], tick = { EPOLLIN, { .u64 = TIMER } };
	uint64_t expired;

	every = flows;
	for (int i = 0; i < count; i++)
		if (flows[i].protocol == &loop_protocol)
			*last++ = &flows[i];
	qsort(order, last - order, sizeof(*order), by_start);
	unfinished = last - order;
	events = epoll_create1(EPOLL_CLOEXEC);
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (events < 0 || timer < 0 || epoll_ctl(events, EPOLL_CTL_ADD, timer, &tick))
		die("traffic: epoll: %s", strerror(errno));
	set_timer((*next)->start);
	while (unfinished) {
		int ready_now = epoll_wait(events, seen, EVENTS, -1);

		for (int i = 0; i < ready_now; i++) {
			struct flow *f;

			if (seen[i].data.u64 == TIMER) {
				if (read(timer, &expired, sizeof(expired)) > 0)
					next = begin_due(next, last);
				continue;
			}
			f = &flows[seen[i].data.u64 / ROLES];
			switch (seen[i].data.u64 % ROLES) {
			case LISTENS:
				accepted(f);
				break;
			case CONNECTS:
				connected(f);
				break;
			case RECEIVES:
				receive(f);
				break;
			default:
				sender_event(f, seen[i].events);
			}
		}
	}
}

const struct protocol loop_protocol = {
	.name = "loop",
	.parse = parse,
	.prepare = prepare,
	.settle = settle,
};
