// SPDX-License-Identifier: Apache-2.0
/*
 * launch --parent PID [OPTION VALUE]... -- PROGRAM [ARG]...
 * launch [--abi N] --check
 *
 * Starts a program in a jail, so that it cannot harm the host: a guest's kernel, because
 * root inside the guest can mount the host's file system anew and writable, or a build with
 * a user's C.  It ends with the process PID, or, without --parent, with whoever started it.
 *
 *   --role guest|build   what the program is; guest if not given
 *   --directory DIR      the run's, which the program finds at /proc/self/fd/100 whatever its path
 *   --write DIR          may be read and written; may be repeated
 *   --read PATH          may be read; may be repeated
 *   --memory DIR         an empty directory for the guest's memory, private to it; removed
 *   --file BYTES, --data BYTES   most bytes of a file, and of a process besides files
 *   --core N             the core on which it runs
 *   --tell FD            where its process id and the walls of its jail are told, as JSON
 *   --abi N              as if the host had no newer Landlock, for tests; 0: none
 *
 * --check tells, as JSON, the walls that a jail has here.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jail.h"

/* a shell's exit status for a program that a signal ended, without the signal's number */
#define SIGNALLED 128

/* the number of the run's directory, which guests have in their command line */
#define DIRECTORY 100

static enum role role = GUEST;
static int abi, rules = -1, parent = -1, told = -1, core = -1, listener = -1;
static unsigned long file, data;
static const char *spaces;
static bool has_filter;

_Noreturn void fail(const char *what, const char *name)
{
	fprintf(stderr, "launch: %s %s: %s\n", what, name, strerror(errno));
	exit(126);
}

static void open_at(const char *path, int number)
{
	int place = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (place < 0 || dup2(place, number) < 0)
		fail("open", path);
	close(place);
}

static void option(const char *name, const char *value)
{
	if (!strcmp(name, "--parent"))
		parent = atoi(value);
	else if (!strcmp(name, "--core"))
		core = atoi(value);
	else if (!strcmp(name, "--tell"))
		told = atoi(value);
	else if (!strcmp(name, "--file"))
		file = strtoul(value, NULL, 10);
	else if (!strcmp(name, "--data"))
		data = strtoul(value, NULL, 10);
	else if (!strcmp(name, "--directory"))
		open_at(value, DIRECTORY);
	else if (!strcmp(name, "--role"))
		role = strcmp(value, "build") ? GUEST : BUILD;
	else if (!strcmp(name, "--abi"))
		abi = atoi(value) < abi ? atoi(value) : abi;
	else if (strcmp(name, "--write") && strcmp(name, "--read") && strcmp(name, "--memory")) {
		errno = EINVAL;
		fail("option", name);
	}
}

static void make_rules(int argc, char **argv)
{
	if (abi)
		rules = files_begin(abi);
	for (int i = 1; i + 1 < argc && strcmp(argv[i], "--"); i += 2) {
		if (!strcmp(argv[i], "--memory"))
			files_make_memory(rules, abi, argv[i + 1]);
		else if (abi && !strcmp(argv[i], "--write"))
			files_allow(rules, abi, role, argv[i + 1], true);
		else if (abi && !strcmp(argv[i], "--read"))
			files_allow(rules, abi, role, argv[i + 1], false);
	}
}

/* Build the walls around this process, from the outer one to the inner one. */
static void enter(bool ask)
{
	if (role == GUEST && personality(ADDR_NO_RANDOMIZE) < 0)
		fail("personality", "");
	rights_limit(file, data);
	if (!geteuid())
		rights_give_up();
	files_restrict(rules);
	has_filter = calls_restrict(role, ask, &listener);
	/* what answers questions is missing before Linux 5.5 */
	if (!has_filter && ask)
		has_filter = calls_restrict(role, false, &listener);
}

static void tell(pid_t child)
{
	char line[256];
	int length = snprintf(line, sizeof(line), "{\"child-pid\": %d, \"landlock\": %d, \"filter\": %s,"
			      " \"signals\": \"%s\", \"namespaces\": \"%s\"}\n", child, abi,
			      has_filter ? "true" : "false",
			      spaces ? "namespace" : abi >= ABI_SCOPES ? "landlock" : listener >= 0 ? "filter" : "",
			      spaces ? spaces : "");

	if (told >= 0) {
		if (write(told, line, length) != length)
			fail("write", "--tell");
		close(told);
	}
}

/* End with the launching process; it may have gone before the first line here. */
static void bind_to(pid_t who)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL))
		fail("prctl", "PDEATHSIG");
	if (who >= 0 && getppid() != who)
		exit(125);
}

static _Noreturn void end_as(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) != child)
		;
	exit(WIFSIGNALED(status) ? SIGNALLED + WTERMSIG(status) : WEXITSTATUS(status));
}

/* The first process of a namespace of processes: when it ends, all others end. */
static _Noreturn void hold(int alive)
{
	char none;

	signal(SIGCHLD, SIG_IGN);
	prctl(PR_SET_NAME, "launch-init");
	for (int other = 0; other < 1024; other++)
		if (other != alive)
			close(other);
	/* the other end is closed when the launcher ends */
	while (read(alive, &none, 1) < 0 && errno == EINTR)
		;
	_exit(0);
}

static void run_in_namespaces(char **words)
{
	int alive[2], ready[2];
	char none;
	pid_t child;

	if (pipe2(alive, O_CLOEXEC) || pipe2(ready, O_CLOEXEC))
		fail("pipe", "");
	child = fork();
	if (!child) {
		close(alive[1]);
		hold(alive[0]);
	}
	if (child < 0)
		fail("fork", "");
	child = fork();
	if (child < 0)
		fail("fork", "");
	if (!child) {
		close(alive[1]);
		close(ready[1]);
		enter(false);
		bind_to(-1);	/* what launched it has no number in here */
		/* until the launcher has told who this is, or has ended */
		if (read(ready[0], &none, 1) != 1)
			_exit(125);
		execv(words[0], words);
		fail("exec", words[0]);
	}
	has_filter = calls_available();
	tell(child);
	if (write(ready[1], "", 1) != 1)
		fail("write", "");
	end_as(child);
}

static int ending[2];

static void note_end(int number)
{
	int was = errno;

	(void)number;
	(void)!write(ending[1], "", 1);
	errno = was;
}

static void run_with_answers(char **words)
{
	struct sigaction action = { .sa_handler = note_end, .sa_flags = SA_NOCLDSTOP };
	pid_t self = getpid(), child;

	setsid();	/* signals stay in it; it fails where this is one already */
	if (pipe2(ending, O_CLOEXEC) || sigaction(SIGCHLD, &action, NULL))
		fail("pipe", "");
	enter(true);
	child = fork();
	if (child < 0)
		fail("fork", "");
	if (!child) {
		signal(SIGCHLD, SIG_DFL);
		bind_to(self);
		execv(words[0], words);
		fail("exec", words[0]);
	}
	tell(child);
	if (listener >= 0)
		calls_decide(listener, child, ending[0]);
	end_as(child);
}

/* Tell which walls a jail has here; this process is in namespaces then, and ends. */
static void check(void)
{
	int none;

	told = STDOUT_FILENO;
	spaces = rights_separate();
	has_filter = spaces || abi >= ABI_SCOPES ? calls_available() : calls_restrict(role, true, &listener);
	if (!has_filter)
		has_filter = calls_restrict(role, false, &none);
	tell(0);
}

int main(int argc, char **argv)
{
	int first = 1;

	abi = files_abi();
	while (first + 1 < argc && strcmp(argv[first], "--")) {
		option(argv[first], argv[first + 1]);
		first += 2;
	}
	if (first + 1 == argc && !strcmp(argv[first], "--check")) {
		check();
		return 0;
	}
	if (first + 1 >= argc) {
		errno = EINVAL;
		fail("no program after", "--");
	}
	argv += first + 1;
	bind_to(parent);
	if (core >= 0) {
		cpu_set_t cores;

		CPU_ZERO(&cores);
		CPU_SET(core, &cores);
		if (sched_setaffinity(0, sizeof(cores), &cores))
			fail("core", "");
	}
	make_rules(argc, argv - first - 1);
	spaces = rights_separate();
	if (spaces)
		run_in_namespaces(argv);
	if (abi < ABI_SCOPES)
		run_with_answers(argv);
	enter(false);
	tell(getpid());
	execv(argv[0], argv);
	fail("exec", argv[0]);
}
