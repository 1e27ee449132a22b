// SPDX-License-Identifier: Apache-2.0
/*
 * Files, connections and signals of a jail, by Landlock.  Each release of Landlock (ABI)
 * can hold more; what an older one cannot, the filter of system calls does (calls.c).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail.h"

/* by number, because headers may be older than the kernel */
#define READ_FILE ((1ULL << 0) | (1ULL << 2))	/* and execute */
#define WRITE_FILE (1ULL << 1)
#define READ (READ_FILE | (1ULL << 3))		/* and the names in a directory */
#define MAKE_SPECIAL ((1ULL << 6) | (1ULL << 9) | (1ULL << 10) | (1ULL << 11) | (1ULL << 12))
#define ALL_ABI_1 ((1ULL << 13) - 1)
#define REFER (1ULL << 13)			/* ABI 2 */
#define TRUNCATE (1ULL << 14)			/* ABI 3 */
#define IOCTL_DEV (1ULL << 15)			/* ABI 5 */
#define FILE_RIGHTS (READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV)
#define BIND_AND_CONNECT_TCP 3			/* ABI 4 */
#define SCOPES 3				/* ABI 6: abstract UNIX sockets, signals */

/* struct landlock_ruleset_attr of ABI 6 */
struct attributes {
	uint64_t fs, net, scoped;
};

int files_abi(void)
{
	int version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return version < 0 ? 0 : version;
}

static uint64_t handled(int abi)
{
	return ALL_ABI_1 | (abi >= 2 ? REFER : 0) | (abi >= 3 ? TRUNCATE : 0) | (abi >= 5 ? IOCTL_DEV : 0);
}

/* Begin the rules; no TCP port may be bound or connected to, and no signal leaves. */
int files_begin(int abi)
{
	struct attributes attributes = {
		.fs = handled(abi),
		.net = abi >= 4 ? BIND_AND_CONNECT_TCP : 0,
		.scoped = abi >= ABI_SCOPES ? SCOPES : 0,
	};
	size_t size = sizeof(uint64_t) * (abi >= ABI_SCOPES ? 3 : abi >= 4 ? 2 : 1);
	int rules = syscall(SYS_landlock_create_ruleset, &attributes, size, 0);

	if (rules < 0)
		fail("landlock_create_ruleset", "");
	return rules;
}

static void add(int rules, int place, uint64_t rights, const char *name)
{
	struct landlock_path_beneath_attr beneath = { .allowed_access = rights, .parent_fd = place };

	if (syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0))
		fail("landlock_add_rule", name);
}

/*
 * A guest makes regular files and directories only: who reads what a jail wrote must not be led to
 * another file by a link, or wait at a pipe.
 */
void files_allow(int rules, int abi, enum role role, const char *path, bool write)
{
	uint64_t special = role == GUEST ? MAKE_SPECIAL : 0;
	uint64_t rights = write ? handled(abi) & ~special : READ;
	struct stat what;
	int place = open(path, O_PATH | O_CLOEXEC);

	if (place < 0) {
		/* what is not there, or not for this user, needs no rule */
		if (errno == ENOENT || errno == EACCES || errno == ENOTDIR)
			return;
		fail("open", path);
	}
	if (fstat(place, &what))
		fail("stat", path);
	add(rules, place, S_ISDIR(what.st_mode) ? rights : rights & handled(abi) & FILE_RIGHTS, path);
	close(place);
}

/* Open the directory of the memory file: files without a name, and, where those do not exist, regular files. */
static int open_memory(int rules, int abi, const char *path)
{
	int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (directory < 0)
		fail("open", path);
	if (abi)
		add(rules, directory, handled(abi) & ~MAKE_SPECIAL & ~REFER, "memory");
	return directory;
}

/*
 * The memory file has no name.  Its directory is removed before the guest starts, so that
 * nothing is left of it whatever happens, unless its file system cannot make such files.
 */
void files_make_memory(int rules, int abi, const char *path)
{
	int directory = open_memory(rules, abi, path), probe;
	char name[32];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", directory);
	if (!rmdir(path)) {
		probe = open(name, O_RDWR | O_TMPFILE | O_EXCL | O_CLOEXEC, 0700);
		if (probe >= 0) {
			close(probe);
			fcntl(directory, F_SETFD, 0);
			setenv("TMPDIR", name, 1);
			return;
		}
		if (mkdir(path, 0700))
			fail("mkdir", path);
		close(directory);
		directory = open_memory(rules, abi, path);
	}
	close(directory);
	setenv("TMPDIR", path, 1);
}

void files_restrict(int rules)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		fail("prctl", "NO_NEW_PRIVS");
	if (rules >= 0 && syscall(SYS_landlock_restrict_self, rules, 0))
		fail("landlock_restrict_self", "");
}
