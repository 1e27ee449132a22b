// SPDX-License-Identifier: Apache-2.0
/*
 * launch --parent PID [--core N] [--write DIR]... [--read PATH]... -- PROGRAM [ARG]...
 * launch --check
 *
 * Starts a guest so that it cannot harm the host.  Root inside the guest can
 * mount the host's file system anew and writable, so what a guest may touch is
 * settled out here: Landlock lets the process and all it starts write below the
 * --write directories and read below the --read paths, and nothing else.  The
 * guest dies with the process that launched it.  --check prints the Landlock ABI,
 * or 0 where there is none.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* file system rights of ABI 1; later ones are added where the host has them */
#define READ_FILE (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE)
#define READ (READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define ALL ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)
#define REFER (1ULL << 13)
#define TRUNCATE (1ULL << 14)
#define FILE_RIGHTS (READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | TRUNCATE)

static _Noreturn void fail(const char *what, const char *name)
{
	fprintf(stderr, "launch: %s %s: %s\n", what, name, strerror(errno));
	exit(126);
}

static int abi(void)
{
	int version = syscall(SYS_landlock_create_ruleset, NULL, 0,
			      LANDLOCK_CREATE_RULESET_VERSION);

	return version < 0 ? 0 : version;
}

static void allow(int rules, const char *path, uint64_t rights)
{
	struct landlock_path_beneath_attr beneath = { .allowed_access = rights };
	struct stat what;

	beneath.parent_fd = open(path, O_PATH | O_CLOEXEC);
	if (beneath.parent_fd < 0) {
		/* what is not there, or not for this user, needs no rule */
		if (errno == ENOENT || errno == EACCES)
			return;
		fail("open", path);
	}
	if (fstat(beneath.parent_fd, &what))
		fail("stat", path);
	if (!S_ISDIR(what.st_mode))
		beneath.allowed_access &= FILE_RIGHTS;
	if (syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH,
		    &beneath, 0))
		fail("landlock_add_rule", path);
	close(beneath.parent_fd);
}

int main(int argc, char **argv)
{
	struct landlock_ruleset_attr attributes = { .handled_access_fs = ALL };
	int version = abi(), rules = -1, parent = 0, i;

	if (argc == 2 && !strcmp(argv[1], "--check")) {
		printf("%d\n", version);
		return 0;
	}
	if (version >= 2)
		attributes.handled_access_fs |= REFER;
	if (version >= 3)
		attributes.handled_access_fs |= TRUNCATE;
	if (version) {
		rules = syscall(SYS_landlock_create_ruleset, &attributes,
				sizeof(attributes.handled_access_fs), 0);
		if (rules < 0)
			fail("landlock_create_ruleset", "");
	}

	for (i = 1; i + 1 < argc && strcmp(argv[i], "--"); i += 2) {
		if (!strcmp(argv[i], "--parent")) {
			parent = atoi(argv[i + 1]);
		} else if (!strcmp(argv[i], "--core")) {
			cpu_set_t cores;

			CPU_ZERO(&cores);
			CPU_SET(atoi(argv[i + 1]), &cores);
			if (sched_setaffinity(0, sizeof(cores), &cores))
				fail("core", argv[i + 1]);
		} else if (!strcmp(argv[i], "--write")) {
			if (version)
				allow(rules, argv[i + 1], attributes.handled_access_fs);
		} else if (!strcmp(argv[i], "--read")) {
			if (version)
				allow(rules, argv[i + 1], READ);
		} else {
			errno = EINVAL;
			fail("option", argv[i]);
		}
	}
	if (i + 1 >= argc) {
		errno = EINVAL;
		fail("no program after", "--");
	}

	if (prctl(PR_SET_PDEATHSIG, SIGKILL))
		fail("prctl", "PDEATHSIG");
	/* the parent may have gone before the line above */
	if (getppid() != parent)
		return 125;
	if (version) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
			fail("prctl", "NO_NEW_PRIVS");
		if (syscall(SYS_landlock_restrict_self, rules, 0))
			fail("landlock_restrict_self", "");
	}
	execv(argv[i + 1], argv + i + 1);
	fail("exec", argv[i + 1]);
}
