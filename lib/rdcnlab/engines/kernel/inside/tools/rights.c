// SPDX-License-Identifier: Apache-2.0
/*
 * The rights of what a scenario's own text starts: programs in hosts, programs of QUIC, an
 * application of a controller, lines of `rdcnlab shell`.
 *
 * rdcn-guest apart PROGRAM [ARG]... becomes such a program.
 *
 * A superuser of the guest could mount the host's file system anew, with the directory of
 * the run, and write its results.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools.h"

enum { USER = 1000 };

/* what it has in place of a superuser's rights: its host's network, and files to read */
#define RIGHTS ((1u << CAP_NET_ADMIN) | (1u << CAP_NET_RAW) | (1u << CAP_NET_BIND_SERVICE) | \
		(1u << CAP_DAC_READ_SEARCH))

static void must(int failed, const char *what)
{
	if (failed)
		die("rights: cannot %s: %s", what, strerror(errno));
}

void be_user(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { RIGHTS, RIGHTS, RIGHTS }, { 0, 0, 0 } };

	for (int right = 0; right <= CAP_LAST_CAP; right++)
		if (right >= 32 || !(RIGHTS & 1u << right))
			prctl(PR_CAPBSET_DROP, right);	/* an older kernel lacks the last ones */
	must(prctl(PR_SET_KEEPCAPS, 1), "keep rights");
	must(setgroups(0, NULL) || setgid(USER) || setuid(USER), "become a user");
	must(syscall(SYS_capset, &header, data), "set rights");
	for (int right = 0; right < 32; right++)
		if (RIGHTS & 1u << right)
			must(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, right, 0, 0), "pass on rights");
	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "give up rights");
}

void leave_results(void)
{
	must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "separate mounts");
	must(umount2("/run/rdcnlab", MNT_DETACH), "leave the directory of the run");
}

int apart_main(int argc, char **argv)
{
	if (argc < 3)
		die("usage: rdcn-guest apart PROGRAM [ARG]...");
	must(unshare(CLONE_NEWNS), "have mounts of its own");
	leave_results();
	be_user();
	execvp(argv[2], argv + 2);
	die("apart: cannot start %s: %s", argv[2], strerror(errno));
}
