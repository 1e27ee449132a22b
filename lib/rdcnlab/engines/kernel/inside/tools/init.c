// SPDX-License-Identifier: Apache-2.0
/*
 * PID 1 of the guest: mounts what a run needs, starts the one program that the
 * kernel's command line names, and halts.
 *
 * The root file system is the host's, through hostfs and read-only.  What can be
 * written: the run directory, which is always at RUN here so that no path of the
 * host gets into a run, and tmpfs.
 * Kernel command line, as the environment: RDCN_RUN (the run directory, on the
 * host), RDCN_PYTHON, RDCN_INSIDE (the directory of the package `inside`).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools.h"

#define RUN "/run/rdcnlab"

struct mount_point {
	const char *source, *target, *type, *data;
	unsigned long flags;
};

static const struct mount_point mounts[] = {
	{ "proc", "/proc", "proc", NULL, 0 },
	{ "sys", "/sys", "sysfs", NULL, 0 },
	{ "tracefs", "/sys/kernel/tracing", "tracefs", NULL, 0 },
	{ "cgroup", "/sys/fs/cgroup", "cgroup2", NULL, 0 },
	{ "devtmpfs", "/dev", "devtmpfs", NULL, 0 },
	{ "run", "/run", "tmpfs", "mode=0755", 0 },
};

static void mount_one(const struct mount_point *m)
{
	if (mount(m->source, m->target, m->type, m->flags, m->data))
		die("init: cannot mount %s on %s: %s", m->type, m->target,
		    strerror(errno));
}

static const char *need(const char *name)
{
	const char *value = getenv(name);

	if (!value || !*value)
		die("init: %s is not on the kernel's command line", name);
	return value;
}

static void halt(void)
{
	sync();
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}

static void start(void)
{
	const char *python = need("RDCN_PYTHON");
	const char *inside = need("RDCN_INSIDE");
	char script[4096];
	snprintf(script, sizeof(script), "%s/main.py", inside);
	/* distutils of setuptools takes longer to import than all of Mininet */
	setenv("SETUPTOOLS_USE_DISTUTILS", "stdlib", 1);
	setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
	setenv("PYTHONHASHSEED", "0", 1);
	setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
	setenv("HOME", "/run", 1);
	setenv("TERM", "dumb", 1);
	setenv("LC_ALL", "C", 1);
	if (chdir("/run"))
		die("init: /run: %s", strerror(errno));
	execl(python, python, "-s", script, RUN, (char *)NULL);
	die("init: cannot start %s: %s", python, strerror(errno));
}

int init_main(int argc, char **argv)
{
	size_t i;
	int status;
	pid_t child, ended;

	(void)argc;
	(void)argv;
	for (i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++)
		mount_one(&mounts[i]);
	mkdir("/dev/pts", 0755);
	mkdir("/dev/shm", 01777);
	mkdir("/run/netns", 0755);
	mkdir("/run/lock", 0755);
	mount_one(&(struct mount_point){ "devpts", "/dev/pts", "devpts",
					 "ptmxmode=0666", 0 });
	mount_one(&(struct mount_point){ "shm", "/dev/shm", "tmpfs", "size=100%", 0 });
	mkdir(RUN, 0755);
	mount_one(&(struct mount_point){ "run", RUN, "hostfs", need("RDCN_RUN"), 0 });

	/* what a user's programs draw during the set-up should repeat as well */
	write_file("/proc/sys/kernel/random/reproducible", "set-up");

	child = fork();
	if (child < 0)
		die("init: fork: %s", strerror(errno));
	if (!child)
		start();
	do
		ended = wait(&status);
	while (ended != child);

	if (WIFEXITED(status) && WEXITSTATUS(status))
		printf("rdcn-guest: the scenario's program ended with status %d\n",
		       WEXITSTATUS(status));
	else if (WIFSIGNALED(status))
		printf("rdcn-guest: the scenario's program was ended by signal %d\n",
		       WTERMSIG(status));
	fflush(stdout);
	halt();
	return 0;
}
