// SPDX-License-Identifier: Apache-2.0
/*
 * Bursts of datagrams, each at its instant and as fast as the host's line takes it.
 * They are background: nobody waits for their end.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "tools.h"
#include "traffic.h"

/* datagrams to hand over, or to take, with one system call */
enum { AT_ONCE = 256 };

/* room for what comes between two looks */
#define BUFFER (512 << 20)

static bool parse(struct flow *f, const char *words)
{
	return sscanf(words, "%u %u %" SCNu64, &f->packet, &f->burst, &f->interval) == 3 &&
	       f->packet && f->packet <= CHUNK && f->burst && f->interval;
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

static void prepare(struct flow *f)
{
	struct sockaddr_in place = destination(f);
	int size = BUFFER;

	enter(f->dst_pid);
	f->rx = open_socket(f);
	if (setsockopt(f->rx, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) ||
	    bind(f->rx, (struct sockaddr *)&place, sizeof(place)))
		die("traffic: flow %s: %s:%d: %s", f->name, f->dst, f->port, strerror(errno));
}

static void source(struct flow *f)
{
	struct sockaddr_in to = destination(f);
	struct mmsghdr messages[AT_ONCE];
	struct iovec part = { payload, f->packet };
	uint64_t instant, left = f->size;
	unsigned int i, want;
	int done;

	for (i = 0; i < AT_ONCE; i++)
		messages[i] = (struct mmsghdr){ .msg_hdr = {
			.msg_name = &to, .msg_namelen = sizeof(to),
			.msg_iov = &part, .msg_iovlen = 1 } };
	/* its buffer is as small as ever: the line's queue shall not overflow unseen */
	f->tx = open_socket(f);

	for (instant = f->start; left >= f->packet; instant += f->interval) {
		sleep_until_ns(instant);
		for (i = 0; i < f->burst && left >= f->packet; i += done) {
			want = f->burst - i < AT_ONCE ? f->burst - i : AT_ONCE;
			if (want > left / f->packet)
				want = left / f->packet;
			done = sendmmsg(f->tx, messages, want, 0);
			if (done < 0) {
				give_up(f, "sendmmsg");
				return;
			}
			left -= (uint64_t)done * f->packet;
		}
	}
}

static void drain(struct flow *f)
{
	static _Thread_local struct mmsghdr messages[AT_ONCE];
	int i, got;

	/* without room for them the datagrams' bytes are dropped, but counted */
	while ((got = recvmmsg(f->rx, messages, AT_ONCE, MSG_DONTWAIT | MSG_TRUNC, NULL)) > 0)
		for (i = 0; i < got; i++)
			f->received += messages[i].msg_len;
	if (got < 0 && errno != EAGAIN)
		give_up(f, "recvmmsg");
}

/* Look once a burst only: the kernel keeps datagrams, and a look is dear. */
static void sink(struct flow *f)
{
	uint64_t instant;

	for (instant = f->start; f->received < f->size; instant += f->interval) {
		sleep_until_ns(instant);
		drain(f);
	}
}

static void settle(struct flow *f)
{
	drain(f);
}

const struct protocol udp_protocol = {
	.name = "udp",
	.parse = parse,
	.prepare = prepare,
	.source = source,
	.sink = sink,
	.settle = settle,
	.background = true,
};
