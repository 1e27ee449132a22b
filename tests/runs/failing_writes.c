// SPDX-License-Identifier: Apache-2.0
/*
 * A file system that fails once: with LD_PRELOAD, the n-th call that would
 * change something below a directory returns an error, and all others work.
 *
 * fail_at(prefix, n, error) begins to count; calls_seen() returns how many
 * calls there were since.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static char prefix[PATH_MAX];
static int left, error_number, seen;

void fail_at(const char *below, int n, int error)
{
	snprintf(prefix, sizeof(prefix), "%s", below);
	left = n;
	error_number = error;
	seen = 0;
}

int calls_seen(void)
{
	return seen;
}

static int fails(const char *path)
{
	if (!prefix[0] || !path || strncmp(path, prefix, strlen(prefix)))
		return 0;
	__atomic_add_fetch(&seen, 1, __ATOMIC_SEQ_CST);
	if (__atomic_sub_fetch(&left, 1, __ATOMIC_SEQ_CST))
		return 0;
	errno = error_number;
	return 1;
}

static int fails_fd(int fd)
{
	char link[64], path[PATH_MAX];
	ssize_t length;
	int kept = errno;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	errno = kept;
	if (length < 0)
		return 0;
	path[length] = 0;
	return fails(path);
}

/* a path below an open directory counts as that directory */
static int fails_at(int dir, const char *path)
{
	return path[0] == '/' || dir == AT_FDCWD ? fails(path) : fails_fd(dir);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define OPEN(name, ...) \
	{ \
		mode_t mode = 0; \
		va_list more; \
		va_start(more, flags); \
		if (flags & (O_CREAT | O_TMPFILE)) \
			mode = va_arg(more, mode_t); \
		va_end(more); \
		if (flags & (O_CREAT | O_TRUNC | O_WRONLY | O_RDWR) && failed) \
			return -1; \
		return NEXT(name)(__VA_ARGS__, flags, mode); \
	}

#define failed fails(path)
int open(const char *path, int flags, ...) OPEN(open, path)
int open64(const char *path, int flags, ...) OPEN(open64, path)
#undef failed
#define failed fails_at(dir, path)
int openat(int dir, const char *path, int flags, ...) OPEN(openat, dir, path)
int openat64(int dir, const char *path, int flags, ...) OPEN(openat64, dir, path)

ssize_t write(int fd, const void *data, size_t size)
{
	return fails_fd(fd) ? -1 : NEXT(write)(fd, data, size);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
	return fails_fd(fd) ? -1 : NEXT(writev)(fd, parts, count);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at)
{
	return fails_fd(fd) ? -1 : NEXT(pwrite64)(fd, data, size, at);
}

int fsync(int fd)
{
	return fails_fd(fd) ? -1 : NEXT(fsync)(fd);
}

int fdatasync(int fd)
{
	return fails_fd(fd) ? -1 : NEXT(fdatasync)(fd);
}

int ftruncate64(int fd, off64_t size)
{
	return fails_fd(fd) ? -1 : NEXT(ftruncate64)(fd, size);
}

/* what shutil copies with */
ssize_t sendfile64(int to, int from, off64_t *at, size_t size)
{
	return fails_fd(to) ? -1 : NEXT(sendfile64)(to, from, at, size);
}

ssize_t copy_file_range(int from, off64_t *at, int to, off64_t *begin, size_t size, unsigned int flags)
{
	return fails_fd(to) ? -1 : NEXT(copy_file_range)(from, at, to, begin, size, flags);
}

int link(const char *from, const char *to)
{
	return fails(to) ? -1 : NEXT(link)(from, to);
}

int symlink(const char *to, const char *path)
{
	return fails(path) ? -1 : NEXT(symlink)(to, path);
}

int renameat(int old, const char *from, int new, const char *to)
{
	return fails_at(new, to) ? -1 : NEXT(renameat)(old, from, new, to);
}

int mkdirat(int dir, const char *path, mode_t mode)
{
	return fails_at(dir, path) ? -1 : NEXT(mkdirat)(dir, path, mode);
}

int mkdir(const char *path, mode_t mode)
{
	return fails(path) ? -1 : NEXT(mkdir)(path, mode);
}

int rename(const char *from, const char *to)
{
	return fails(to) ? -1 : NEXT(rename)(from, to);
}

int unlink(const char *path)
{
	return fails(path) ? -1 : NEXT(unlink)(path);
}

int rmdir(const char *path)
{
	return fails(path) ? -1 : NEXT(rmdir)(path);
}

int unlinkat(int dir, const char *path, int flags)
{
	return fails_at(dir, path) ? -1 : NEXT(unlinkat)(dir, path, flags);
}
