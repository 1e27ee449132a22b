// SPDX-License-Identifier: Apache-2.0
/*
 * Namespaces, limits, and the rights of a superuser.
 *
 * Namespaces are made where that shows nothing in the jail: by a superuser, without one of
 * users.  In a namespace of users that an ordinary user can make, files of root seem to be
 * nobody's, so a program would print another owner than elsewhere.  What namespaces hold,
 * Landlock and the filter of system calls hold as well.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sched.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail.h"

/* Enter new namespaces, and return their names; NULL where this is not allowed. */
const char *rights_separate(void)
{
	if (geteuid() || unshare(CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS))
		return NULL;
	return "pid+net+ipc+uts";
}

/* A superuser keeps the name, to reach its own directories, and no right. */
void rights_give_up(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0, 0, 0 }, { 0, 0, 0 } };

	for (int right = 0; prctl(PR_CAPBSET_READ, right) >= 0; right++)
		prctl(PR_CAPBSET_DROP, right);	/* who may not drop it does not have it */
	prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
				 SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED);
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capset, &header, none))
		fail("capset", "");
}

static void limit(int which, unsigned long most)
{
	struct rlimit both;

	if (getrlimit(which, &both))
		fail("getrlimit", "");
	/* a lower limit of the user's stays */
	if (most < both.rlim_max)
		both.rlim_max = most;
	if (both.rlim_max < both.rlim_cur)
		both.rlim_cur = both.rlim_max;
	if (setrlimit(which, &both))
		fail("setrlimit", "");
}

/*
 * The memory of a guest is its file, which `file` bounds; `data` bounds what a process of it
 * has besides.  No limit of addresses: a guest's program may reserve more than it uses.
 */
void rights_limit(unsigned long file, unsigned long data)
{
	limit(RLIMIT_CORE, 0);
	if (file)
		limit(RLIMIT_FSIZE, file);
	if (data)
		limit(RLIMIT_DATA, data);
}
