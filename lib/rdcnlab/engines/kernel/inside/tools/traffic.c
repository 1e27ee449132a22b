// SPDX-License-Identifier: Apache-2.0
/*
 * rdcn-guest traffic PLAN RESULT: all bulk TCP flows of a run, from one process.
 *
 * A thread for each end of each flow, in the network namespace of its host.  An
 * end makes very few system calls (each costs the machine several context
 * switches in User-Mode Linux): the sender sends chunks of a file in memory, which
 * nobody copies, the receiver asks for all that is missing and lets the kernel drop
 * it (MSG_TRUNC).
 * Flows start at absolute instants, after everything that takes a clock reading
 * or a page fault is done.
 *
 * PLAN, a line each, in this order:
 *   seed TEXT               key of the kernel's random numbers from `ready` on;
 *                           without one they are left alone
 *   ready NS                when listeners must stand and the seed is set
 *   limit NS                when what has not finished is given up
 *   flow NAME SRC_PID DST_PID DST_IPV4 PORT CC SIZE START_NS      (per flow)
 * SRC_PID and DST_PID are processes in the hosts' namespaces, instants are of
 * CLOCK_MONOTONIC.  RESULT: one JSON object a line and flow.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools.h"

enum { MAX_FLOWS = 4096, NAME = 64 };

#define CHUNK (16u << 20)
#define TOTAL_RTO_OFFSET 240
#define TRACE_MARKER "/sys/kernel/tracing/trace_marker"
#define REPRODUCIBLE "/proc/sys/kernel/random/reproducible"

/* what Linux 6.7 added at the end of its tcp_info, which older headers lack */
struct tcp_info_6_7 {
	union {
		struct tcp_info info;
		char upto_total_rto[TOTAL_RTO_OFFSET];
	};
	uint16_t total_rto, total_rto_recoveries;
	uint32_t total_rto_time;
};

struct flow {
	char name[NAME], cc[16], address[16];
	int src_pid, dst_pid, port;
	uint64_t size, start;
	int tx, listener, rx;		/* sockets, -1 until there is one */
	uint64_t end, received;
	struct tcp_info_6_7 info;	/* of the sender, once it has all ACKs */
	bool finished;
	char error[128];		/* why a flow could not go on */
};

static struct flow flows[MAX_FLOWS];
static int flow_count, running;
static char seed[65];
static uint64_t ready, limit;
static char *payload;
static int payload_file;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change;

static void read_plan(const char *path)
{
	FILE *plan = fopen(path, "r");
	char line[512];

	if (!plan)
		die("traffic: %s: %s", path, strerror(errno));
	while (fgets(line, sizeof(line), plan)) {
		struct flow *f = &flows[flow_count];

		if (sscanf(line, "seed %64s", seed) == 1 ||
		    sscanf(line, "ready %" SCNu64, &ready) == 1 ||
		    sscanf(line, "limit %" SCNu64, &limit) == 1)
			continue;
		if (flow_count == MAX_FLOWS)
			die("traffic: more than %d flows", MAX_FLOWS);
		if (sscanf(line, "flow %63s %d %d %15s %d %15s %" SCNu64 " %" SCNu64,
			   f->name, &f->src_pid, &f->dst_pid, f->address, &f->port,
			   f->cc, &f->size, &f->start) != 8)
			die("traffic: cannot read the line '%s'", line);
		f->tx = f->rx = f->listener = -1;
		flow_count++;
	}
	fclose(plan);
}

static void enter(int pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die("traffic: %s: %s", path, strerror(errno));
	close(fd);
}

static void give_up(struct flow *f, const char *what)
{
	pthread_mutex_lock(&lock);
	if (!f->error[0])
		snprintf(f->error, sizeof(f->error), "%s: %s", what, strerror(errno));
	pthread_mutex_unlock(&lock);
}

static void end_of_thread(void)
{
	pthread_mutex_lock(&lock);
	running--;
	pthread_cond_signal(&change);
	pthread_mutex_unlock(&lock);
}

static void *receive(void *argument)
{
	struct flow *f = argument;

	enter(f->dst_pid);
	f->rx = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC);
	if (f->rx < 0) {
		give_up(f, "accept");
		goto out;
	}
	while (f->received < f->size) {
		uint64_t missing = f->size - f->received;
		size_t want = missing < (1u << 30) ? missing : 1u << 30;
		ssize_t got = recv(f->rx, payload, want, MSG_TRUNC | MSG_WAITALL);

		if (got <= 0) {
			if (!got)
				errno = EPIPE;
			give_up(f, "recv");
			goto out;
		}
		f->received += got;
	}
	f->end = now_ns();
	f->finished = true;
	/* the sender's read returns, and it knows that all was delivered */
	shutdown(f->rx, SHUT_WR);
out:
	end_of_thread();
	return NULL;
}

static void *transmit(void *argument)
{
	struct flow *f = argument;
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(f->port) };
	socklen_t length = sizeof(f->info);
	uint64_t sent = 0;
	char byte;

	enter(f->src_pid);
	inet_pton(AF_INET, f->address, &to.sin_addr);
	f->tx = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (f->tx < 0 ||
	    setsockopt(f->tx, IPPROTO_TCP, TCP_CONGESTION, f->cc, strlen(f->cc)))
		die("traffic: flow %s: congestion control %s: %s", f->name, f->cc,
		    strerror(errno));

	sleep_until_ns(f->start);
	if (connect(f->tx, (struct sockaddr *)&to, sizeof(to))) {
		give_up(f, "connect");
		goto out;
	}
	while (sent < f->size) {
		uint64_t left = f->size - sent;
		off_t from = 0;
		ssize_t done = sendfile(f->tx, payload_file, &from,
					left < CHUNK ? left : CHUNK);

		if (done < 0) {
			give_up(f, "sendfile");
			goto out;
		}
		sent += done;
	}
	if (read(f->tx, &byte, 1) < 0)
		give_up(f, "read");
	getsockopt(f->tx, IPPROTO_TCP, TCP_INFO, &f->info, &length);
out:
	end_of_thread();
	return NULL;
}

static void listen_for(struct flow *f)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(f->port) };
	int on = 1;

	enter(f->dst_pid);
	inet_pton(AF_INET, f->address, &at.sin_addr);
	f->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* the receiver's variant decides whether it answers as DCTCP wants */
	if (f->listener < 0 ||
	    setsockopt(f->listener, IPPROTO_TCP, TCP_CONGESTION, f->cc, strlen(f->cc)) ||
	    setsockopt(f->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(f->listener, (struct sockaddr *)&at, sizeof(at)) ||
	    listen(f->listener, 8))
		die("traffic: flow %s: listen on %s:%d: %s", f->name, f->address,
		    f->port, strerror(errno));
}

static void start_thread(void *(*end)(void *), struct flow *f)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int error;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 256 << 10);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	error = pthread_create(&thread, &attributes, end, f);
	if (error)
		die("traffic: flow %s: thread: %s", f->name, strerror(error));
	running++;
}

/*
 * Traces carry the scheduler's clock, which is off the monotonic one by what
 * boot took.  A marker right after a reading tells by how much.
 */
static void mark_time(void)
{
	char text[32];
	int fd = open(TRACE_MARKER, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;			/* nobody asked for traces */
	snprintf(text, sizeof(text), "rdcn %" PRIu64, now_ns());
	if (write(fd, text, strlen(text)) < 0)
		die("traffic: %s: %s", TRACE_MARKER, strerror(errno));
	close(fd);
}

static void wait_for_end(void)
{
	struct timespec until = { limit / NSEC_PER_SEC, limit % NSEC_PER_SEC };

	pthread_mutex_lock(&lock);
	while (running)
		if (pthread_cond_timedwait(&change, &lock, &until) == ETIMEDOUT)
			break;
	pthread_mutex_unlock(&lock);
}

static void write_result(const char *path)
{
	FILE *out = fopen(path, "w");

	if (!out)
		die("traffic: %s: %s", path, strerror(errno));
	for (struct flow *f = flows; f < flows + flow_count; f++) {
		socklen_t length = sizeof(f->info);

		if (f->tx >= 0 && !f->finished)
			getsockopt(f->tx, IPPROTO_TCP, TCP_INFO, &f->info, &length);
		if (f->rx >= 0 && !f->finished) {
			struct tcp_info there;

			length = sizeof(there);
			if (!getsockopt(f->rx, IPPROTO_TCP, TCP_INFO, &there, &length))
				f->received = there.tcpi_bytes_received;
		}
		fprintf(out, "{\"flow\": \"%s\", \"start_ns\": %" PRIu64
			", \"end_ns\": %" PRIu64 ", \"finished\": %s"
			", \"received_B\": %" PRIu64 ", \"segments\": %u"
			", \"retransmits\": %u, \"bytes_retransmitted_B\": %llu"
			", \"delivered\": %u, \"delivered_ce\": %u"
			", \"dsack_dups\": %u, \"reordering_seen\": %u"
			", \"timeouts\": %u, \"mss_B\": %u"
			", \"min_rtt_us\": %u, \"error\": \"%s\"}\n",
			f->name, f->start, f->end, f->finished ? "true" : "false",
			f->received, f->info.info.tcpi_segs_out,
			f->info.info.tcpi_total_retrans,
			(unsigned long long)f->info.info.tcpi_bytes_retrans,
			f->info.info.tcpi_delivered, f->info.info.tcpi_delivered_ce,
			f->info.info.tcpi_dsack_dups, f->info.info.tcpi_reord_seen,
			f->info.total_rto, f->info.info.tcpi_snd_mss,
			f->info.info.tcpi_min_rtt, f->error);
	}
	if (fclose(out))
		die("traffic: %s: %s", path, strerror(errno));
}

int traffic_main(int argc, char **argv)
{
	struct rlimit files = { 4 * MAX_FLOWS, 4 * MAX_FLOWS };
	pthread_condattr_t clock;

	if (argc != 3)
		die("usage: rdcn-guest traffic PLAN RESULT");
	read_plan(argv[1]);
	setrlimit(RLIMIT_NOFILE, &files);
	signal(SIGPIPE, SIG_IGN);
	/* sleeping processes are else woken up to 50 us late, as it suits */
	prctl(PR_SET_TIMERSLACK, 1UL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&change, &clock);
	payload_file = memfd_create("payload", MFD_CLOEXEC);
	if (payload_file < 0 || ftruncate(payload_file, CHUNK))
		die("traffic: no file in memory: %s", strerror(errno));
	payload = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_POPULATE, payload_file, 0);
	if (payload == MAP_FAILED)
		die("traffic: no memory for the payload");

	for (int i = 0; i < flow_count; i++)
		listen_for(&flows[i]);
	for (int i = 0; i < flow_count; i++) {
		start_thread(receive, &flows[i]);
		start_thread(transmit, &flows[i]);
	}
	if (now_ns() >= ready)
		die("traffic: the set-up took until %" PRIu64 " ns, the flows were to start at %"
		    PRIu64 " ns", now_ns(), ready);
	sleep_until_ns(ready);
	if (seed[0])
		write_file(REPRODUCIBLE, seed);
	mark_time();
	wait_for_end();
	write_result(argv[2]);
	return 0;
}
