// SPDX-License-Identifier: Apache-2.0
/*
 * rdcn-guest programs PLAN RESULT: unchanged programs in the hosts of a run.
 *
 * Each host that runs programs gets namespaces of its own (processes, mounts, name), with
 * one process as their init, which starts the programs at absolute instants and reaps
 * them.  Programs are no superuser: a host's network is theirs, the rest of the guest is
 * not.  They end when the run does: when every program that is waited for has ended and
 * standard input is closed (no flow is left), or at the limit.
 *
 * PLAN, a line each:
 *   limit NS              when what has not ended is ended, in ns of CLOCK_MONOTONIC
 *   shared PATH           a directory with a directory for each host and the files of /etc
 *   host NAME PID         PID is a process in the network namespace of the host
 *   program NUMBER START_NS (foreground|background)    of the last host
 *   arg TEXT              of the last program; the first one is the path of its file
 * RESULT: one JSON object a line, written when it happens.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools.h"

enum { MAX_PROGRAMS = 4096, MAX_WORDS = 256, MOST_PROCESSES = 600, MOST_FILES = 16384 };

/* for what the run ends, so that it can write its last lines */
#define GRACE_NS NSEC_PER_SEC
#define HOME "/run/home"

struct program {
	int number;
	uint64_t start;
	bool background;
	char *words[MAX_WORDS + 1];
	int count;
	pid_t pid;			/* in its host's namespace, 0 once it has ended */
};

struct host {
	char name[64];
	int network;			/* a process in its network namespace */
	int first, count;		/* its programs */
	pid_t init;			/* 0 once it has ended */
};

static struct program programs[MAX_PROGRAMS];
static struct host hosts[MAX_PROGRAMS];
static int program_count, host_count, result, notice;
static uint64_t limit;
static char shared[PATH_MAX - 256], preload[PATH_MAX];
static volatile sig_atomic_t ending;

static void read_plan(const char *path)
{
	FILE *plan = fopen(path, "r");
	char *line = NULL, role[16];
	size_t room = 0;
	ssize_t length;

	if (!plan)
		die("programs: %s: %s", path, strerror(errno));
	while ((length = getline(&line, &room, plan)) > 0) {
		struct host *host = host_count ? &hosts[host_count - 1] : NULL;
		struct program *program = program_count ? &programs[program_count - 1] : NULL;

		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "limit %" SCNu64, &limit) == 1)
			continue;
		if (!strncmp(line, "shared ", 7)) {
			snprintf(shared, sizeof(shared), "%s", line + 7);
		} else if (!strncmp(line, "host ", 5)) {
			host = &hosts[host_count++];
			host->first = program_count;
			if (host_count > MAX_PROGRAMS ||
			    sscanf(line, "host %63s %d", host->name, &host->network) != 2)
				die("programs: cannot read the line '%s'", line);
		} else if (host && !strncmp(line, "program ", 8)) {
			program = &programs[program_count++];
			host->count++;
			if (program_count > MAX_PROGRAMS ||
			    sscanf(line, "program %d %" SCNu64 " %15s", &program->number,
				   &program->start, role) != 3)
				die("programs: cannot read the line '%s'", line);
			program->background = !strcmp(role, "background");
		} else if (program && program->count < MAX_WORDS && !strncmp(line, "arg ", 4)) {
			program->words[program->count++] = strdup(line + 4);
		} else {
			die("programs: cannot read the line '%s'", line);
		}
	}
	free(line);
	fclose(plan);
}

/* One write a line, so that lines of several processes do not mix. */
static void report(const char *format, ...)
{
	char line[256];
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (write(result, line, length) != length)
		die("programs: cannot write the result: %s", strerror(errno));
}

static void must(int failed, const char *what, const char *name)
{
	if (failed)
		die("programs: %s %s: %s", what, name, strerror(errno));
}

/* Put a file or directory of the host, below `shared`, in the place of another one. */
static void put(const char *host, const char *from, const char *to)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s/%s", shared, host, from);
	/* /etc of the machine may lack a file, or have it as a link to nowhere */
	if (mount(path, to, NULL, MS_BIND, NULL) && errno != ENOENT)
		die("programs: %s in the place of %s: %s", path, to, strerror(errno));
}

/* What programs of a host see in place of the guest: their own directories and names. */
static void make_room(struct host *host)
{
	static const char *const files[] = {
		"hosts", "hostname", "passwd", "group", "nsswitch.conf", "resolv.conf"
	};
	char from[64], to[64];

	must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "cannot separate", "mounts");
	must(mount("proc", "/proc", "proc", 0, NULL), "cannot mount", "/proc");
	must(mount("sys", "/sys", "sysfs", 0, NULL), "cannot mount", "/sys");
	put(host->name, "home", HOME);
	put(host->name, "tmp", "/tmp");
	put(host->name, "tmp", "/var/tmp");
	put(host->name, "shm", "/dev/shm");
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		snprintf(from, sizeof(from), "etc/%s", files[i]);
		snprintf(to, sizeof(to), "/etc/%s", files[i]);
		put(host->name, from, to);
	}
	/* the paths of this machine are on the kernel's command line */
	put(host->name, "etc/cmdline", "/proc/cmdline");
	/* the results of the run, and the directories of other hosts */
	leave_results();
	put(host->name, "none", shared);
	must(sethostname(host->name, strlen(host->name)), "cannot set the name", host->name);
}

static void bound(int which, rlim_t most)
{
	struct rlimit both = { most, most };

	must(setrlimit(which, &both), "cannot limit", "resources");
}

static _Noreturn void become(struct program *program, int out[2])
{
	static char *const environment[] = {
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=" HOME, "PWD=" HOME, "TMPDIR=/tmp", "USER=user", "LOGNAME=user", "SHELL=/bin/sh",
		"LC_ALL=C.UTF-8", "TERM=dumb", "TZ=UTC0",
		/* text that waits in a program's memory when it is ended would be lost */
		"PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1",
	};
	const int count = sizeof(environment) / sizeof(*environment);
	char *with[sizeof(environment) / sizeof(*environment) + 2];

	sleep_until_ns(program->start);
	dup2(out[0], STDOUT_FILENO);
	dup2(out[1], STDERR_FILENO);
	bound(RLIMIT_NPROC, MOST_PROCESSES);
	bound(RLIMIT_NOFILE, MOST_FILES);
	bound(RLIMIT_CORE, 0);
	be_user();
	must(chdir(HOME), "cannot go to", HOME);
	memcpy(with, environment, sizeof(environment));
	with[count] = preload;
	with[count + 1] = NULL;
	report("{\"program\": %d, \"started_ns\": %" PRIu64 "}\n", program->number, program->start);
	execve(program->words[0], program->words, with);
	die("cannot start %s: %s", program->words[0], strerror(errno));
}

static void start(struct host *host, struct program *program)
{
	char path[PATH_MAX];
	int out[2], to, none;

	for (to = 0; to < 2; to++) {
		snprintf(path, sizeof(path), "%s/%s/out/%d.%s", shared, host->name, program->number,
			 to ? "err" : "out");
		out[to] = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
		must(out[to] < 0, "cannot open", path);
	}
	program->pid = fork();
	must(program->pid < 0, "cannot start", program->words[0]);
	if (program->pid) {
		close(out[0]);
		close(out[1]);
		return;
	}
	none = open("/dev/null", O_RDONLY);
	must(none < 0 || dup2(none, STDIN_FILENO) < 0, "cannot open", "/dev/null");
	signal(SIGTERM, SIG_DFL);
	setsid();
	become(program, out);
}

static void end_now(int number)
{
	(void)number;
	ending = 1;
}

/* The init of a host: it starts its programs, and reaps them and what they leave behind. */
static _Noreturn void attend(struct host *host)
{
	struct sigaction action = { .sa_handler = end_now };
	char path[64];
	int status, network;
	bool asked = false;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigaction(SIGTERM, &action, NULL);
	snprintf(path, sizeof(path), "/proc/%d/ns/net", host->network);
	network = open(path, O_RDONLY | O_CLOEXEC);
	must(network < 0 || setns(network, CLONE_NEWNET), "no network", path);
	close(network);
	for (int i = host->first; i < host->first + host->count; i++)
		start(host, &programs[i]);
	make_room(host);
	for (;;) {
		pid_t ended = waitpid(-1, &status, 0);
		uint64_t now;

		if (ending && !asked) {
			asked = true;
			kill(-1, SIGTERM);
		}
		if (ended < 0 && errno == EINTR)
			continue;
		if (ended < 0)
			_exit(0);	/* no child is left */
		now = now_ns();
		for (int i = host->first; i < host->first + host->count; i++) {
			struct program *program = &programs[i];
			char role = program->background ? 'b' : 'f';

			if (program->pid != ended)
				continue;
			program->pid = 0;
			report("{\"program\": %d, \"end_ns\": %" PRIu64 ", \"status\": %d, \"signal\": %d"
			       ", \"ended\": %s}\n",
			       program->number, now, WIFEXITED(status) ? WEXITSTATUS(status) : -1,
			       WIFSIGNALED(status) ? WTERMSIG(status) : 0, asked ? "true" : "false");
			if (!asked && write(notice, &role, 1) != 1)
				die("programs: no notice: %s", strerror(errno));
		}
	}
}

static void begin(struct host *host)
{
	/* an empty stack: the child goes on with a copy of this one, as after fork() */
	const unsigned long own = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC;

	host->init = syscall(SYS_clone, own | SIGCHLD, NULL, NULL, NULL, NULL);
	must(host->init < 0, "cannot make a host for", host->name);
	if (!host->init)
		attend(host);
}

static void end_all(void)
{
	const uint64_t last = now_ns() + GRACE_NS;
	struct timespec grace = { .tv_sec = GRACE_NS / NSEC_PER_SEC };
	int left = 0;
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	for (struct host *host = hosts; host < hosts + host_count; host++) {
		kill(host->init, SIGTERM);
		left++;
	}
	while (left) {
		pid_t ended = waitpid(-1, NULL, WNOHANG);

		if (ended > 0) {
			for (struct host *host = hosts; host < hosts + host_count; host++)
				if (host->init == ended)
					host->init = 0, left--;
			continue;
		}
		if (now_ns() < last && sigtimedwait(&child, NULL, &grace) > 0)
			continue;
		/* with the init of a host all its processes end */
		for (struct host *host = hosts; host < hosts + host_count; host++)
			if (host->init)
				kill(host->init, SIGKILL);
		if (waitpid(-1, NULL, 0) > 0)
			left--;
	}
}

int programs_main(int argc, char **argv)
{
	struct itimerspec until = { 0 };
	bool flows = true;
	int notices[2], timer, waited_for = 0, told = -1;
	sigset_t child;

	if (argc != 3 && argc != 4)
		die("usage: rdcn-guest programs PLAN RESULT [DESCRIPTOR]");
	read_plan(argv[1]);
	/* who wants to know when the last program that is waited for has ended */
	if (argc == 4) {
		told = atoi(argv[3]);
		must(fcntl(told, F_SETFD, FD_CLOEXEC), "no descriptor", argv[3]);
	}
	result = open(argv[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	must(result < 0, "cannot open", argv[2]);
	memcpy(preload, "LD_PRELOAD=", 11);
	preload_beside("random_device.so", preload + 11, sizeof(preload) - 11);
	/* sleeping processes are else woken up to 50 us late, as it suits */
	prctl(PR_SET_TIMERSLACK, 1UL);
	must(pipe2(notices, O_CLOEXEC), "no", "pipe");
	notice = notices[1];
	for (struct program *program = programs; program < programs + program_count; program++)
		waited_for += !program->background;
	mkdir(HOME, 0755);
	for (struct host *host = hosts; host < hosts + host_count; host++)
		begin(host);
	/* from here on, so that the hosts' processes do not inherit it */
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);

	timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	until.it_value.tv_sec = limit / NSEC_PER_SEC;
	until.it_value.tv_nsec = limit % NSEC_PER_SEC;
	must(timer < 0 || timerfd_settime(timer, TFD_TIMER_ABSTIME, &until, NULL), "no", "timer");
	while (flows || waited_for) {
		struct pollfd ready[] = {
			{ timer, POLLIN, 0 }, { notices[0], POLLIN, 0 },
			{ flows ? STDIN_FILENO : -1, POLLIN, 0 },
		};
		char role;

		must(poll(ready, 3, -1) < 0, "cannot", "wait");
		if (ready[0].revents)
			break;
		if (ready[1].revents && read(notices[0], &role, 1) == 1) {
			waited_for -= role == 'f';
			if (!waited_for && told >= 0 && role == 'f')
				must(write(told, &role, 1) < 0, "cannot write", argv[3]);
		}
		if (ready[2].revents && read(STDIN_FILENO, &role, 1) <= 0)
			flows = false;
	}
	report("{\"end_ns\": %" PRIu64 ", \"limit\": %s}\n", now_ns(),
	       flows || waited_for ? "true" : "false");
	end_all();
	return 0;
}
