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
#include <netinet/tcp.h>
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
#include "traffic_agenda.h"
#include "traffic_order.h"
#include "traffic_rate.h"
#include "traffic_tcp.h"

enum { EVENTS = 256 };
/* what an event is about: the timer, groups of flows, or a flow and one of its sockets */
enum role { LISTENS, CONNECTS, SENDS, RECEIVES, ROLES };
#define TIMER UINT64_MAX
#define GROUPS (UINT64_MAX - 1)

static int events, timer, unfinished;
static uint64_t armed;			/* the instant for which the timer is set; 0: none */
static struct flow *every;
static bool doing;			/* what is due */
/* flows that start after others, of which there may be none */
static struct flow **waiting;
static int waiting_count, waiting_for = -1;

static bool parse(struct flow *f, const char *words)
{
	char who[4];
	int used;

	if (sscanf(words, "%15s %3s %n", f->cc, who, &used) != 2)
		return false;
	f->asked_for = !strcmp(who, "dst");
	return parse_application(f, words + used);
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

	/* a write of the application is a segment, whether or not the one before was acknowledged */
	if (f->rate && setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)))
		die("traffic: flow %s: TCP_NODELAY: %s", f->name, strerror(errno));

	/* its port, which the kernel chooses, may be that of a flow that comes later */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    fcntl(fd, F_SETFL, O_NONBLOCK))
		die("traffic: flow %s: socket: %s", f->name, strerror(errno));
	return fd;
}

static void arm(uint64_t instant)
{
	struct itimerspec when = { .it_value = { instant / NSEC_PER_SEC, instant % NSEC_PER_SEC } };

	if (timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL))
		die("traffic: timerfd_settime: %s", strerror(errno));
	armed = instant;
}

static void plan(uint64_t instant, struct flow *f, enum deed deed)
{
	add_due((struct due){ instant, f, deed });
	/* while deeds are done, the timer is set after the last of them */
	if (!doing && (!armed || instant < armed))
		arm(instant);
}

static void begin(struct flow *f)
{
	static struct flow *holders[1 << 16];	/* the last flow of each port */
	const char *server = f->asked_for ? f->src : f->dst;
	int port = f->asked_for ? SERVER_PORTS + f->port : f->port, fd, on = 1;
	struct sockaddr_in to = at(server, port);

	if (holders[f->port] && !holders[f->port]->finished)
		die("traffic: flow %s begins while flow %s goes on, whose port it has: "
		    "with more flows than ports, fewer may last at one time",
		    f->name, holders[f->port]->name);
	holders[f->port] = f;
	visit(f->asked_for ? f->src_pid : f->dst_pid);
	f->listener = open_here(f);
	bind_to(f, f->listener, server, port);
	if (listen(f->listener, 8))
		die("traffic: flow %s: listen: %s", f->name, strerror(errno));
	watch(f, LISTENS, f->listener, EPOLLIN, EPOLL_CTL_ADD);

	visit(f->asked_for ? f->dst_pid : f->src_pid);
	fd = open_here(f);
	if (f->asked_for) {
		bind_to(f, fd, f->dst, f->port);
	} else if (f->bound) {
		/* the kernel chooses the port when it knows the other end */
		if (setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on)))
			die("traffic: flow %s: IP_BIND_ADDRESS_NO_PORT: %s", f->name,
			    strerror(errno));
		bind_to(f, fd, f->src, 0);
	}
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
	flow_ended(f);
	shutdown(fd, SHUT_WR);
	close(fd);
}

static uint64_t of_round(const struct flow *f)
{
	return f->size / f->rounds;
}

/* Ask for data; the whole of a flow, or a round of it. */
static void ask(struct flow *f)
{
	f->expected += of_round(f);
	if (send(f->rx, request, strlen(request), 0) < 0)
		give_up(f, "send");
}

static void *receive_large(void *argument)
{
	struct flow *f = argument;

	while (receive_until(f, f->expected)) {
		if (f->received == f->size) {
			complete(f);
			break;
		}
		if (f->think)
			sleep_until_ns(now_ns() + f->think);
		ask(f);
	}
	return NULL;
}

/* The receiver's end is connected. */
static void expect_data(struct flow *f, int operation)
{
	int all = of_round(f);

	if (of_round(f) > small) {
		if (operation == EPOLL_CTL_MOD)
			epoll_ctl(events, EPOLL_CTL_DEL, f->rx, NULL);
		fcntl(f->rx, F_SETFL, 0);
		start_thread(f->name, receive_large, f, STACK);
		return;
	}
	if (setsockopt(f->rx, SOL_SOCKET, SO_RCVLOWAT, &all, sizeof(all)))
		die("traffic: flow %s: SO_RCVLOWAT: %s", f->name, strerror(errno));
	watch(f, RECEIVES, f->rx, EPOLLIN, operation);
}

static void receive(struct flow *f)
{
	ssize_t got = recv(f->rx, payload, f->expected - f->received, MSG_TRUNC | MSG_DONTWAIT);

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
	if (f->received < f->expected)
		return;
	if (f->received == f->size)
		complete(f);
	else if (f->think)
		plan(now_ns() + f->think, f, ASK);
	else
		ask(f);
}

static void end_of_sender(struct flow *f)
{
	read_info(f);
	close(f->tx);
	f->tx = -1;
	unfinished--;
}

/*
 * Send what the socket takes of what the flow may send; with all of it sent, wait for the
 * receiver.  `operation` is 0 if the socket is watched already.
 */
static void send_more(struct flow *f, int operation)
{
	while (f->sent < f->may_send) {
		uint64_t left = f->may_send - f->sent;
		off_t from = 0;
		ssize_t done = sendfile(f->tx, payload_file, &from, left < CHUNK ? left : CHUNK);

		if (done < 0 && errno == EAGAIN) {
			if (!f->blocked)
				watch(f, SENDS, f->tx, EPOLLOUT, operation ? operation : EPOLL_CTL_MOD);
			f->blocked = true;
			return;
		}
		if (done < 0) {
			give_up(f, "sendfile");
			end_of_sender(f);
			return;
		}
		f->sent += done;
	}
	if (operation || f->blocked)
		watch(f, SENDS, f->tx, EPOLLIN, operation ? operation : EPOLL_CTL_MOD);
	f->blocked = false;
}

/* The application produces its next bytes. */
static void write_next(struct flow *f)
{
	uint64_t left = f->size - f->may_send;

	f->may_send += left < f->write ? left : f->write;
	if (f->may_send < f->size)
		plan(f->begun + time_of_byte(f, f->may_send), f, WRITE);
	if (!f->blocked)
		send_more(f, 0);
}

/* The application of a flow without a rate has data for a while, or none. */
static void resume(struct flow *f, uint64_t instant)
{
	f->may_send = f->size;
	plan(instant + f->on, f, PAUSE);
	send_more(f, 0);
}

static void pause_sender(struct flow *f, uint64_t instant)
{
	f->may_send = f->sent;
	if (f->blocked)
		watch(f, SENDS, f->tx, EPOLLIN, EPOLL_CTL_MOD);
	f->blocked = false;
	if (f->sent < f->size)
		plan(instant + f->off, f, RESUME);
}

/* The sender may send now: its connection is open, or it has been asked. */
static void first_data(struct flow *f, int operation)
{
	if (!f->rate && !f->on) {
		f->may_send += f->asked_for ? of_round(f) : f->size;
		send_more(f, operation);
		return;
	}
	if (operation)
		watch(f, SENDS, f->tx, EPOLLIN, operation);
	f->begun = now_ns();
	if (f->rate)
		write_next(f);
	else
		resume(f, f->begun);
}

/* The connection is open, and it is time: the sender sends, or the receiver asks. */
static void go(struct flow *f)
{
	if (!f->asked_for) {
		first_data(f, EPOLL_CTL_MOD);
		return;
	}
	ask(f);
	expect_data(f, EPOLL_CTL_MOD);
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
	if (f->connect) {
		uint64_t now = now_ns();

		if (now < f->start) {
			/* it is told nothing until then, but that the other end is gone */
			watch(f, f->asked_for ? RECEIVES : SENDS, fd, 0, EPOLL_CTL_MOD);
			plan(f->start, f, FIRST);
			return;
		}
		f->start = now;
	}
	go(f);
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
	f->expected = f->size;
	expect_data(f, EPOLL_CTL_ADD);
}

/* The sender can send, or it has the request, or the end of its receiver. */
static void sender_event(struct flow *f, uint32_t what)
{
	char text[256];
	ssize_t got;

	if (f->sent < f->may_send) {
		send_more(f, 0);
		return;
	}
	if (!(what & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		return;
	got = recv(f->tx, text, sizeof(text), MSG_DONTWAIT);
	if (got < 0 && errno == EAGAIN)
		return;
	if (f->asked_for && f->asked < f->rounds && got == (ssize_t)strlen(request)) {
		f->asked++;
		first_data(f, 0);
		return;
	}
	if (got)
		give_up(f, "read");
	end_of_sender(f);
}

/* Do all that is due, and set the timer for what comes next. */
static void do_due(void)
{
	uint64_t now = now_ns();
	const struct due *first;

	armed = 0;
	doing = true;
	while ((first = first_due()) && first->instant <= now) {
		struct due due = take_due();
		struct flow *f = due.flow;

		if (due.deed == BEGIN)
			begin(f);
		else if (due.deed == ASK ? f->rx < 0 : due.deed != FIRST && f->tx < 0)
			continue;	/* it failed meanwhile */
		else if (due.deed == FIRST)
			go(f);
		else if (due.deed == ASK)
			ask(f);
		else if (due.deed == WRITE)
			write_next(f);
		else if (due.deed == PAUSE)
			pause_sender(f, due.instant);
		else
			resume(f, due.instant);
	}
	doing = false;
	if (first)
		arm(first->instant);
}

/* Groups have ended: flows that waited for them start. */
static void start_waiting(void)
{
	uint64_t told;
	int kept = 0;

	if (read(waiting_for, &told, sizeof(told)) < 0)
		return;
	for (int i = 0; i < waiting_count; i++) {
		struct flow *f = waiting[i];

		if (may_start(f))
			add_due((struct due){ f->start, f, BEGIN });
		else
			waiting[kept++] = f;
	}
	waiting_count = kept;
	do_due();
}

static void watch_descriptor(int fd, uint64_t what)
{
	struct epoll_event event = { EPOLLIN, { .u64 = what } };

	if (epoll_ctl(events, EPOLL_CTL_ADD, fd, &event))
		die("traffic: epoll: %s", strerror(errno));
}

void carry(struct flow *flows, int count)
{
	struct epoll_event seen[EVENTS];
	uint64_t expired;

	every = flows;
	events = epoll_create1(EPOLL_CLOEXEC);
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (events < 0 || timer < 0)
		die("traffic: epoll: %s", strerror(errno));
	watch_descriptor(timer, TIMER);
	waiting = calloc(count + 1, sizeof(*waiting));
	for (int i = 0; i < count; i++) {
		struct flow *f = &flows[i];

		if (f->protocol != &loop_protocol)
			continue;
		unfinished++;
		if (f->after >= 0)
			waiting[waiting_count++] = f;
		else
			add_due((struct due){ f->connect ? f->connect : f->start, f, BEGIN });
	}
	if (waiting_count) {
		waiting_for = watch_groups();
		watch_descriptor(waiting_for, GROUPS);
	}
	if (first_due())
		arm(first_due()->instant);
	while (unfinished) {
		int ready_now = epoll_wait(events, seen, EVENTS, -1);

		for (int i = 0; i < ready_now; i++) {
			struct flow *f;

			if (seen[i].data.u64 == TIMER) {
				if (read(timer, &expired, sizeof(expired)) > 0)
					do_due();
				continue;
			}
			if (seen[i].data.u64 == GROUPS) {
				start_waiting();
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
