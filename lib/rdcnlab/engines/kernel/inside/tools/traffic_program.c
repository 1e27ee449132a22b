// SPDX-License-Identifier: Apache-2.0
/*
 * A transfer by somebody else's programs: a server at the flow's source, a client at
 * its destination that ends once it has everything.
 *
 * What programs draw at random when they begin shall repeat, so neither begins before
 * the kernel's random numbers are set.  And the switch tells flows apart by the port
 * of the destination: the client finds no other one to take than the flow's.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools.h"
#include "traffic_order.h"

enum { MAX_WORDS = 64 };

#define PORTS "/proc/sys/net/ipv4/ip_local_port_range"
#define SEPARATOR " :: "
/* after the random numbers are set, long before flows start */
#define AFTER_READY 1000

static bool parse(struct flow *f, const char *words)
{
	const char *middle = strstr(words, SEPARATOR);

	if (!middle)
		return false;
	f->server = strndup(words, middle - words);
	f->client = strdup(middle + strlen(SEPARATOR));
	f->client[strcspn(f->client, "\n")] = '\0';
	return true;
}

/* What is random comes from the seed, see preload/random_device.c beside us. */
static void draw_from_the_kernel(void)
{
	char path[PATH_MAX];

	preload_beside("random_device.so", path, sizeof(path));
	setenv("LD_PRELOAD", path, 1);
}

static _Noreturn void become(struct flow *f, const char *role, char *line)
{
	char *words[MAX_WORDS + 1], *word, name[128];
	int count = 0, log;

	for (word = strtok(line, " "); word && count < MAX_WORDS; word = strtok(NULL, " "))
		words[count++] = word;
	if (word)
		die("traffic: flow %s: more than %d words", f->name, MAX_WORDS);
	words[count] = NULL;
	snprintf(name, sizeof(name), "%s.%s.log", f->name, role);
	log = openat(result_directory, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (log < 0 || dup2(log, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0)
		die("traffic: %s: %s", name, strerror(errno));
	draw_from_the_kernel();
	if (unshare(CLONE_NEWNS))
		die("traffic: flow %s: unshare: %s", f->name, strerror(errno));
	leave_results();
	be_user();
	execv(words[0], words);
	die("traffic: flow %s: cannot start %s: %s", f->name, words[0], strerror(errno));
}

static pid_t start(struct flow *f, const char *role, char *line, int host, uint64_t instant)
{
	char range[32];
	pid_t pid = fork();

	if (pid < 0)
		die("traffic: flow %s: fork: %s", f->name, strerror(errno));
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	enter(host);
	sleep_until_ns(instant);
	if (!strcmp(role, "client")) {
		snprintf(range, sizeof(range), "%d %d", f->port, f->port);
		write_file(PORTS, range);
	}
	become(f, role, line);
}

static void prepare(struct flow *f)
{
	f->server_pid = start(f, "server", f->server, f->src_pid, ready + AFTER_READY);
	f->client_pid = start(f, "client", f->client, f->dst_pid, f->start);
}

/* The client is waited for; what came of it is for the host to check. */
static void source(struct flow *f)
{
	(void)f;
}

static void sink(struct flow *f)
{
	int status;

	if (waitpid(f->client_pid, &status, 0) < 0) {
		give_up(f, "waitpid");
		return;
	}
	f->end = now_ns();
	f->client_pid = 0;
	f->finished = WIFEXITED(status) && !WEXITSTATUS(status);
	flow_ended(f);
	if (f->finished)
		f->received = f->size;
	else if (WIFSIGNALED(status))
		snprintf(f->error, sizeof(f->error), "the client was ended by signal %d",
			 WTERMSIG(status));
	else
		snprintf(f->error, sizeof(f->error), "the client ended with status %d",
			 WEXITSTATUS(status));
}

static void settle(struct flow *f)
{
	if (f->client_pid)
		kill(f->client_pid, SIGKILL);
	kill(f->server_pid, SIGKILL);
}

const struct protocol program_protocol = {
	.name = "program",
	.parse = parse,
	.prepare = prepare,
	.source = source,
	.sink = sink,
	.settle = settle,
};
