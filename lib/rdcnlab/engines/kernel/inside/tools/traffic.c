// SPDX-License-Identifier: Apache-2.0
/*
 * rdcn-guest traffic PLAN RESULT: all flows of a run, from one process.
 *
 * A thread for each end of each flow, in the network namespace of its host; one thread
 * for all flows of the protocol `loop`, of which there may be many.  Flows
 * start at absolute instants, after everything that takes a clock reading or a page
 * fault is done.
 *
 * PLAN, a line each, in this order:
 *   seed TEXT               key of the kernel's random numbers from `ready` on;
 *                           without one they are left alone
 *   ready NS                when listeners must stand and the seed is set
 *   limit NS                when what has not finished is given up; its counts are those
 *                           of this instant
 *   small BYTES            largest flow of the loop whose receiver wakes up once
 *   programs                flows in the background go on until a byte can be read from
 *                           standard input: all programs that are waited for have ended
 *   PROTOCOL NAME SRC_PID DST_PID SRC_IPV4 DST_IPV4 PORT SIZE START_NS ...   (per flow)
 *     tcp ... CC (src|dst) [CONNECT_NS]       who connects, and when if ahead of START_NS
 *     mptcp ... CC src [CONNECT_NS]
 *     loop ... CC (src|dst) APPLICATION...    tcp, carried by one thread for all
 *     udp ... PACKET BURST INTERVAL_NS APPLICATION...    payload bytes, datagrams
 *     program ... SERVER ARGUMENT... :: CLIENT ARGUMENT...
 *   ends GROUP, after GROUP (before a flow)  it belongs to a group, or it starts START_NS
 *                           after the last flow of one has ended
 * What an APPLICATION can be is in traffic_rate.h.  SRC_PID and DST_PID are processes in the hosts' namespaces, instants are of
 * CLOCK_MONOTONIC.  RESULT: one JSON object a line and flow.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "progress.h"
#include "tools.h"
#include "traffic.h"
#include "traffic_order.h"

enum { MAX_FLOWS = 131072 };

#define TRACE_MARKER "/sys/kernel/tracing/trace_marker"
#define REPRODUCIBLE "/proc/sys/kernel/random/reproducible"

static const struct protocol *const protocols[] = {
	&tcp_protocol, &mptcp_protocol, &udp_protocol, &program_protocol, &loop_protocol
};

static struct flow flows[MAX_FLOWS];
static int flow_count, running;
static char seed[65];
static uint64_t limit;
static bool beside_programs;
uint64_t ready;
unsigned int small;
int result_directory;
char *payload;
int payload_file;
/*
 * Counts may be read so many ns after the limit: four readings of the clock, which other
 * threads may take at that very instant.
 */
enum { READ_WITHIN = 1024 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change;

static bool in_background(const struct flow *f)
{
	return f->protocol->background && f->protocol->background(f);
}

static void read_flow(struct flow *f, const char *line)
{
	char protocol[16];
	int words = 0;

	if (sscanf(line, "%15s %63s %d %d %15s %15s %d %" SCNu64 " %" SCNu64 " %n", protocol,
		   f->name, &f->src_pid, &f->dst_pid, f->src, f->dst, &f->port, &f->size,
		   &f->start, &words) != 9)
		die("traffic: cannot read the line '%s'", line);
	for (size_t i = 0; i < sizeof(protocols) / sizeof(*protocols); i++)
		if (!strcmp(protocol, protocols[i]->name))
			f->protocol = protocols[i];
	if (!f->protocol || !f->protocol->parse(f, line + words))
		die("traffic: cannot read the line '%s'", line);
	f->tx = f->rx = f->listener = -1;
}

static void read_plan(const char *path)
{
	FILE *plan = fopen(path, "r");
	char line[4096];
	int ends = -1, after = -1;

	if (!plan)
		die("traffic: %s: %s", path, strerror(errno));
	while (fgets(line, sizeof(line), plan)) {
		if (!strchr(line, '\n'))
			die("traffic: a line of more than %zu characters", sizeof(line) - 2);
		if (sscanf(line, "seed %64s", seed) == 1 ||
		    sscanf(line, "ready %" SCNu64, &ready) == 1 ||
		    sscanf(line, "small %u", &small) == 1 ||
		    sscanf(line, "limit %" SCNu64, &limit) == 1 ||
		    sscanf(line, "ends %d", &ends) == 1 ||
		    sscanf(line, "after %d", &after) == 1)
			continue;
		if (!strcmp(line, "programs\n")) {
			beside_programs = true;
			continue;
		}
		if (flow_count == MAX_FLOWS)
			die("traffic: more than %d flows", MAX_FLOWS);
		read_flow(&flows[flow_count], line);
		join_groups(&flows[flow_count++], ends, after);
		ends = after = -1;
	}
	fclose(plan);
}

void enter(int pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die("traffic: %s: %s", path, strerror(errno));
	close(fd);
}

void give_up(struct flow *f, const char *what)
{
	pthread_mutex_lock(&lock);
	if (!f->error[0])
		snprintf(f->error, sizeof(f->error), "%s: %s", what, strerror(errno));
	pthread_mutex_unlock(&lock);
}

/* Change how many threads are waited for. */
static void count_running(int more)
{
	pthread_mutex_lock(&lock);
	running += more;
	pthread_cond_signal(&change);
	pthread_mutex_unlock(&lock);
}

static void end_of_thread(struct flow *f)
{
	count_running(-!in_background(f));
}

static void *run_source(void *argument)
{
	struct flow *f = argument;

	enter(f->src_pid);
	f->protocol->source(f);
	end_of_thread(f);
	return NULL;
}

static void *run_sink(void *argument)
{
	struct flow *f = argument;

	enter(f->dst_pid);
	f->protocol->sink(f);
	end_of_thread(f);
	return NULL;
}

static void start_counted(void *(*end)(void *), struct flow *f)
{
	count_running(!in_background(f));
	start_thread(f->name, end, f, STACK);
}

static void *run_loop(void *first)
{
	carry(flows, flow_count);
	end_of_thread(first);
	return NULL;
}

/* Programs count as one more thread that is waited for, which is this one. */
static void *await_programs(void *unused)
{
	char byte;

	(void)unused;
	if (read(STDIN_FILENO, &byte, 1) < 0)
		die("traffic: no word of the programs: %s", strerror(errno));
	count_running(-1);
	return NULL;
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

/* Read what is known of each flow, before anything else can happen to it. */
static void settle(void)
{
	uint64_t now;

	for (struct flow *f = flows; f < flows + flow_count; f++)
		f->protocol->settle(f);
	now = now_ns();
	if (now > limit + READ_WITHIN)
		die("traffic: the counts at the limit were read %" PRIu64 " ns after it",
		    now - limit);
	for (struct flow *f = flows; f < flows + flow_count; f++)
		if (f->protocol == &udp_protocol && f->start && f->start < now && !f->end)
			f->end = now;	/* it was still sending */
	end_progress(now);
}

static void write_result(const char *path)
{
	FILE *out = fopen(path, "w");

	if (!out)
		die("traffic: %s: %s", path, strerror(errno));
	for (struct flow *f = flows; f < flows + flow_count; f++) {
		fprintf(out, "{\"flow\": \"%s\", \"start_ns\": %" PRIu64
			", \"end_ns\": %" PRIu64 ", \"finished\": %s"
			", \"received_B\": %" PRIu64 ", \"segments\": %u"
			", \"retransmits\": %u, \"bytes_retransmitted_B\": %" PRIu64
			", \"delivered\": %u, \"delivered_ce\": %u"
			", \"dsack_dups\": %u, \"reordering_seen\": %u"
			", \"timeouts\": %u, \"mss_B\": %u"
			", \"min_rtt_us\": %u, \"busy_us\": %" PRIu64
			", \"rwnd_limited_us\": %" PRIu64 ", \"sndbuf_limited_us\": %" PRIu64
			", \"error\": \"%s\"}\n",
			f->name, f->start, f->end, f->finished ? "true" : "false",
			f->received, f->info.segs_out,
			f->info.total_retrans,
			f->info.bytes_retrans,
			f->info.delivered, f->info.delivered_ce,
			f->info.dsack_dups, f->info.reord_seen,
			f->info.total_rto, f->info.snd_mss,
			f->info.min_rtt, f->info.busy_time, f->info.rwnd_limited,
			f->info.sndbuf_limited, f->error);
	}
	if (fclose(out))
		die("traffic: %s: %s", path, strerror(errno));
}

int traffic_main(int argc, char **argv)
{
	struct rlimit files = { 4 * MAX_FLOWS, 4 * MAX_FLOWS };
	pthread_condattr_t clock;
	struct flow *looped = NULL;

	if (argc != 3)
		die("usage: rdcn-guest traffic PLAN RESULT");
	read_plan(argv[1]);
	result_directory = open(dirname(strdupa(argv[2])), O_DIRECTORY | O_CLOEXEC);
	if (result_directory < 0)
		die("traffic: %s: %s", argv[2], strerror(errno));
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
		flows[i].protocol->prepare(&flows[i]);
	for (int i = 0; i < flow_count; i++) {
		if (flows[i].protocol == &loop_protocol) {
			looped = looped ? looped : &flows[i];
			continue;
		}
		start_counted(run_sink, &flows[i]);
		start_counted(run_source, &flows[i]);
	}
	if (looped)
		start_counted(run_loop, looped);
	if (beside_programs) {
		count_running(1);
		start_thread("programs", await_programs, NULL, STACK);
	}
	start_progress(result_directory, flows, flow_count, ready);
	if (now_ns() >= ready)
		die("traffic: the set-up took until %" PRIu64 " ns, the flows were to start at %"
		    PRIu64 " ns", now_ns(), ready);
	sleep_until_ns(ready);
	if (seed[0])
		write_file(REPRODUCIBLE, seed);
	mark_time();
	wait_for_end();
	settle();
	write_result(argv[2]);
	return 0;
}
