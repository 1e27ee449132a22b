// SPDX-License-Identifier: Apache-2.0
/*
 * attacks KIND ARGUMENT: one attack on the host, in place of a guest's kernel.
 *
 * Prints "done" if it succeeded, otherwise the system's error.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static int connect_tcp(const char *port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(atoi(port)),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int s = socket(AF_INET, SOCK_STREAM, 0);

	return s < 0 ? -1 : connect(s, (struct sockaddr *)&to, sizeof(to));
}

static int connect_unix(const char *name, int is_abstract)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int s = socket(AF_UNIX, SOCK_STREAM, 0);

	memcpy(to.sun_path + is_abstract, name, strlen(name));
	return s < 0 ? -1 : connect(s, (struct sockaddr *)&to, sizeof(sa_family_t) + is_abstract + strlen(name));
}

/* A pipe that sends a signal to another process when it can be read. */
static int signal_by_pipe(const char *pid)
{
	int ends[2];

	if (pipe(ends) || fcntl(ends[0], F_SETSIG, SIGTERM) || fcntl(ends[0], F_SETFL, O_ASYNC) ||
	    fcntl(ends[0], F_SETOWN, atoi(pid)))
		return -1;
	return write(ends[1], "x", 1) == 1 ? 0 : -1;
}

static int read_file(const char *path)
{
	char text[16];
	int file = open(path, O_RDONLY);

	return file < 0 || read(file, text, sizeof(text)) < 0 ? -1 : 0;
}

static int write_file(const char *path)
{
	int file = open(path, O_WRONLY | O_CREAT, 0644);

	return file < 0 || write(file, "attack\n", 7) != 7 ? -1 : 0;
}

static int attack(const char *kind, const char *what)
{
	char path[4096];
	union bpf_attr map = { .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1 };
	char room[256] = { 0 };

	if (!strcmp(kind, "tcp"))
		return connect_tcp(what);
	if (!strcmp(kind, "abstract"))
		return connect_unix(what, 1);
	if (!strcmp(kind, "socket-file"))
		return connect_unix(what, 0);
	if (!strcmp(kind, "raw"))
		return socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
	if (!strcmp(kind, "packet"))
		return socket(AF_PACKET, SOCK_RAW, 0);
	if (!strcmp(kind, "netlink"))
		return socket(AF_NETLINK, SOCK_RAW, 0);
	if (!strcmp(kind, "io_uring"))
		return syscall(SYS_io_uring_setup, 4, room);
	if (!strcmp(kind, "keys"))
		return syscall(SYS_keyctl, 0, -3, 1);
	if (!strcmp(kind, "bpf"))
		return syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof(map));
	if (!strcmp(kind, "mount"))
		return mount("none", "/mnt", "tmpfs", 0, NULL);
	if (!strcmp(kind, "namespace"))
		return unshare(CLONE_NEWUSER);
	if (!strcmp(kind, "namespace-by-clone"))
		return syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
	if (!strcmp(kind, "memory"))
		return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0;
	if (!strcmp(kind, "kill"))
		return kill(atoi(what), SIGTERM);
	if (!strcmp(kind, "kill-thread"))
		return syscall(SYS_tgkill, atoi(what), atoi(what), SIGTERM);
	if (!strcmp(kind, "kill-all"))
		return kill(-1, 0);
	if (!strcmp(kind, "pipe-signal"))
		return signal_by_pipe(what);
	if (!strcmp(kind, "trace"))
		return ptrace(PTRACE_SEIZE, atoi(what), NULL, NULL);
	if (!strcmp(kind, "process-memory")) {
		snprintf(path, sizeof(path), "/proc/%s/mem", what);
		return read_file(path);
	}
	if (!strcmp(kind, "environment")) {
		snprintf(path, sizeof(path), "/proc/%s/environ", what);
		return read_file(path);
	}
	if (!strcmp(kind, "read"))
		return read_file(what);
	if (!strcmp(kind, "write"))
		return write_file(what);
	if (!strcmp(kind, "link"))
		return symlink("/etc/passwd", what);
	if (!strcmp(kind, "fifo"))
		return mkfifo(what, 0644);
	if (!strcmp(kind, "big"))
		signal(SIGXFSZ, SIG_IGN);
	if (!strcmp(kind, "big"))
		return truncate(what, 1 << 30);
	if (!strcmp(kind, "type"))
		return ioctl(0, TIOCSTI, "x");
	if (!strcmp(kind, "console"))
		return ioctl(0, TIOCLINUX, "\2");
	if (!strcmp(kind, "right"))
		return chroot("/");
	/* what a guest may do; these prove that the others fail for the right reason */
	if (!strcmp(kind, "child")) {
		pid_t child = fork();

		if (!child)
			for (;;)
				pause();
		return kill(child, SIGKILL);
	}
	if (!strcmp(kind, "memory-file")) {
		int file = open(getenv("TMPDIR"), O_RDWR | O_TMPFILE | O_EXCL, 0700);

		return file < 0 ? -1 : ftruncate(file, 4096);
	}
	errno = EINVAL;
	return -1;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	puts(attack(argv[1], argv[2]) < 0 ? strerror(errno) : "done");
	return 0;
}
