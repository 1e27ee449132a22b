// SPDX-License-Identifier: Apache-2.0
/*
 * Datagrams: in bursts, each at its instant and as fast as the host's line takes it, or at
 * a rate, one after the other.  They are background, unless the plan says that the run
 * waits for them: then it ends when all were sent, and none has come for a while.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "tools.h"
#include "traffic_order.h"
#include "traffic_rate.h"

/* datagrams to hand over, or to take, with one system call */
enum { AT_ONCE = 256 };

/* room for what comes between two looks */
#define BUFFER (512 << 20)

/* A receiver of a rate looks so often; it has room for what comes meanwhile. */
#define LOOK (NSEC_PER_SEC / 100)

static bool parse(struct flow *f, const char *words)
{
	int used;

	return sscanf(words, "%u %u %" SCNu64 " %n", &f->packet, &f->burst, &f->interval,
		      &used) == 3 && parse_application(f, words + used) &&
	       f->packet && f->packet <= CHUNK && f->burst && !f->interval == (f->rate || f->replay_count);
}

/* Whether the run does not wait for it. */
static bool background(const struct flow *f)
{
	return !f->waited;
}

static int open_socket(struct flow *f)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		die("traffic: flow %s: socket: %s", f->name, strerror(errno));
	return fd;
}

static struct sockaddr_in destination(struct flow *f)
{
	struct sockaddr_in place = { .sin_family = AF_INET, .sin_port = htons(f->port) };

	inet_pton(AF_INET, f->dst, &place.sin_addr);
	return place;
}

static void read_replay(struct flow *f)
{
	char path[32];
	FILE *file;

	snprintf(path, sizeof(path), "/run/replay.%d", f->port);
	file = fopen(path, "rb");
	f->replay = calloc(f->replay_count, sizeof(*f->replay));
	if (!file || !f->replay ||
	    fread(f->replay, sizeof(*f->replay), f->replay_count, file) != f->replay_count)
		die("traffic: flow %s: %s: %s", f->name, path, strerror(errno));
	fclose(file);
}

static void prepare(struct flow *f)
{
	struct sockaddr_in place = destination(f);
	int size = BUFFER;

	if (f->replay_count)
		read_replay(f);

	enter(f->dst_pid);
	f->rx = open_socket(f);
	if (setsockopt(f->rx, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) ||
	    bind(f->rx, (struct sockaddr *)&place, sizeof(place)))
		die("traffic: flow %s: %s:%d: %s", f->name, f->dst, f->port, strerror(errno));
}

/* All were handed over; the flow ends at this instant, or now if its line was slower. */
static void end_source(struct flow *f, uint64_t end)
{
	uint64_t now;

	f->end = end;
	if (f->ends >= 0 || f->waited || f->rate || f->replay_count) {
		now = now_ns();
		if (now > f->end)
			f->end = now;
		sleep_until_ns(f->end);
	}
	f->sent = f->size;
	flow_ended(f);
}

static void send_replay(struct flow *f)
{
	struct sockaddr_in to = destination(f);

	for (uint64_t i = 0; i < f->replay_count; i++) {
		sleep_until_ns(f->start + f->replay[i].instant);
		if (sendto(f->tx, payload, f->replay[i].size, 0, (struct sockaddr *)&to,
			   sizeof(to)) < 0) {
			give_up(f, "sendto");
			return;
		}
	}
	end_source(f, f->start + f->replay[f->replay_count - 1].instant);
}

static void source(struct flow *f)
{
	struct sockaddr_in to = destination(f);
	struct mmsghdr messages[AT_ONCE];
	struct iovec part = { payload, f->packet };
	uint64_t left = f->size, bursts = 0;
	unsigned int i, want;
	int done;

	await_order(f);
	for (i = 0; i < AT_ONCE; i++)
		messages[i] = (struct mmsghdr){ .msg_hdr = {
			.msg_name = &to, .msg_namelen = sizeof(to),
			.msg_iov = &part, .msg_iovlen = 1 } };
	/* its buffer is as small as ever: the line's queue shall not overflow unseen */
	f->tx = open_socket(f);
	if (f->replay_count) {
		send_replay(f);
		return;
	}
	for (; left; bursts++) {
		sleep_until_ns(f->start + (f->rate ? time_of_byte(f, f->size - left) :
					   bursts * f->interval));
		for (i = 0; i < f->burst && left; i += done) {
			want = f->burst - i < AT_ONCE ? f->burst - i : AT_ONCE;
			if (left < f->packet)
				part.iov_len = left;	/* the last one */
			if (want > left / part.iov_len)
				want = left / part.iov_len;
			done = sendmmsg(f->tx, messages, want, 0);
			if (done < 0) {
				give_up(f, "sendmmsg");
				return;
			}
			left -= (uint64_t)done * part.iov_len;
		}
	}
	end_source(f, f->start + (f->rate ? time_of_end(f) : bursts * f->interval));
}

/* Receive up to AT_ONCE of what is there; return whether there was anything. */
static bool receive(struct flow *f)
{
	static _Thread_local struct mmsghdr messages[AT_ONCE];
	int i, got;

	/* without room for them the datagrams' bytes are dropped, but counted */
	got = recvmmsg(f->rx, messages, AT_ONCE, MSG_DONTWAIT | MSG_TRUNC, NULL);
	for (i = 0; i < got; i++)
		f->received += messages[i].msg_len;
	if (got < 0 && errno != EAGAIN)
		give_up(f, "recvmmsg");
	return got > 0;
}

/* Look once a burst only: the kernel keeps datagrams, and a look is dear. */
static void sink(struct flow *f)
{
	uint64_t instant, before, last, step = f->interval ? f->interval : LOOK;

	await_order(f);
	for (instant = last = f->start; f->received < f->size; instant += step) {
		sleep_until_ns(instant);
		before = f->received;
		while (receive(f))
			;
		if (f->received > before || f->sent < f->size)
			last = instant;
		else if (f->waited && instant - last >= f->waited)
			return;
	}
}

/* Ask first: from 1000 calls in vain at one instant on, the guest's clock charges each. */
static void settle(struct flow *f)
{
	int next;

	while (!ioctl(f->rx, FIONREAD, &next) && next && receive(f))
		;
}

const struct protocol udp_protocol = {
	.name = "udp",
	.parse = parse,
	.prepare = prepare,
	.source = source,
	.sink = sink,
	.settle = settle,
	.background = background,
};
