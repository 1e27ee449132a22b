// SPDX-License-Identifier: Apache-2.0
/*
 * rdcn-guest hold COUNT: hosts' namespaces, of networks and of mounts.
 *
 * Each is held by a thread of one process.  A process of its own for each would take a
 * process of the machine, too, and some ms to start.  The threads' ids, under which /proc
 * shows the namespaces, are printed, one a line, when all stand.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools.h"

static sem_t made;
static long made_id;

static void *hold(void *unused)
{
	(void)unused;
	/* threads share their root and working directory, which a namespace of mounts does not allow */
	if (unshare(CLONE_FS | CLONE_NEWNET | CLONE_NEWNS))
		die("hold: unshare: %s", strerror(errno));
	/* mounts of a host are its own; /sys shows the devices of its network */
	if (mount("", "/", "none", MS_REC | MS_PRIVATE, NULL) ||
	    mount("sysfs", "/sys", "sysfs", 0, NULL))
		die("hold: mount: %s", strerror(errno));
	made_id = syscall(SYS_gettid);
	sem_post(&made);
	for (;;)
		pause();
	return NULL;
}

int hold_main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 0;

	sem_init(&made, 0, 0);
	/* one after the other: namespaces draw random numbers when they are made */
	for (int i = 0; i < count; i++) {
		start_thread("hold", hold, NULL, 64 << 10);
		sem_wait(&made);
		printf("%ld\n", made_id);
	}
	fflush(stdout);
	for (;;)
		pause();
	return 0;
}
