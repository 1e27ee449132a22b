// SPDX-License-Identifier: Apache-2.0
/*
 * System calls of a jail, by seccomp.
 *
 * A guest's kernel gets a list of the calls that it needs, and all others fail with EPERM:
 * among others sockets, io_uring, keys, bpf, mounts.  The calls of programs in the guest
 * never get here: the guest's kernel takes them before (PTRACE_SYSEMU).  A compiler needs
 * more, so a build gets a list of what fails.
 *
 * Where Landlock cannot hold signals, each is asked about: launch lets it pass if it goes
 * to a process of the jail's own session.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail.h"

#define COUNT(list) (sizeof(list) / sizeof(*(list)))
#define NAMESPACES (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
		    CLONE_NEWPID | CLONE_NEWNET)
/* memory that belongs to no file, which no limit counts */
#define NOBODYS_MEMORY (MAP_SHARED | MAP_ANONYMOUS)

/* what User-Mode Linux, its processes and the C library call, the frequent ones first */
static const int needed[] = {
	SYS_ptrace, SYS_wait4, SYS_access, SYS_pread64, SYS_statx, SYS_munmap, SYS_mprotect, SYS_futex,
	SYS_read, SYS_write, SYS_pwrite64, SYS_open, SYS_openat, SYS_close, SYS_stat, SYS_fstat, SYS_lstat,
	SYS_newfstatat, SYS_readlink, SYS_readlinkat, SYS_getdents, SYS_getdents64, SYS_lseek, SYS_readv,
	SYS_writev, SYS_preadv, SYS_pwritev, SYS_dup, SYS_dup2, SYS_dup3, SYS_pipe, SYS_pipe2, SYS_poll,
	SYS_ppoll, SYS_select, SYS_pselect6, SYS_epoll_create, SYS_epoll_create1, SYS_epoll_ctl,
	SYS_epoll_wait, SYS_epoll_pwait, SYS_eventfd2, SYS_faccessat, SYS_faccessat2, SYS_truncate,
	SYS_ftruncate, SYS_fallocate, SYS_fsync, SYS_fdatasync, SYS_flock, SYS_rename, SYS_renameat,
	SYS_renameat2, SYS_mkdir, SYS_mkdirat, SYS_rmdir, SYS_creat, SYS_link, SYS_linkat, SYS_unlink,
	SYS_unlinkat, SYS_symlink, SYS_symlinkat, SYS_mknod, SYS_mknodat, SYS_chmod, SYS_fchmod,
	SYS_fchmodat, SYS_chown, SYS_fchown, SYS_lchown, SYS_fchownat, SYS_umask, SYS_utime, SYS_utimes,
	SYS_utimensat, SYS_statfs, SYS_fstatfs, SYS_getcwd, SYS_chdir, SYS_fchdir, SYS_fadvise64,
	SYS_brk, SYS_mremap, SYS_madvise, SYS_mincore, SYS_msync, SYS_mlock, SYS_munlock,
	SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_rt_sigpending, SYS_rt_sigtimedwait,
	SYS_rt_sigsuspend, SYS_sigaltstack, SYS_restart_syscall, SYS_pause, SYS_nanosleep,
	SYS_clock_nanosleep, SYS_clock_gettime, SYS_clock_getres, SYS_gettimeofday, SYS_time, SYS_times,
	SYS_getitimer, SYS_setitimer, SYS_timer_create, SYS_timer_settime, SYS_timer_gettime,
	SYS_timer_getoverrun, SYS_timer_delete, SYS_timerfd_create, SYS_timerfd_settime,
	SYS_fork, SYS_vfork, SYS_execve, SYS_exit, SYS_exit_group, SYS_waitid, SYS_set_tid_address,
	SYS_set_robust_list, SYS_get_robust_list, SYS_rseq, SYS_membarrier, SYS_arch_prctl, SYS_prctl,
	SYS_getpid, SYS_getppid, SYS_gettid, SYS_getpgrp, SYS_getpgid, SYS_setpgid, SYS_getsid, SYS_setsid,
	SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getresuid, SYS_getresgid, SYS_getgroups,
	SYS_sched_yield, SYS_sched_getaffinity, SYS_sched_setaffinity, SYS_getrlimit, SYS_prlimit64,
	SYS_getrusage, SYS_sysinfo, SYS_uname, SYS_getcpu, SYS_getrandom, SYS_close_range,
};

/* what no compiler calls */
static const int refused[] = {
	SYS_socket, SYS_socketpair, SYS_connect, SYS_bind, SYS_listen, SYS_accept, SYS_accept4, SYS_ptrace,
	SYS_process_vm_readv, SYS_process_vm_writev, SYS_io_uring_setup, SYS_io_uring_enter,
	SYS_io_uring_register, SYS_keyctl, SYS_add_key, SYS_request_key, SYS_bpf, SYS_mount, SYS_umount2,
	SYS_pivot_root, SYS_chroot, SYS_move_mount, SYS_open_tree, SYS_fsopen, SYS_fsmount, SYS_fspick,
	SYS_fsconfig, SYS_unshare, SYS_setns, SYS_perf_event_open, SYS_userfaultfd, SYS_open_by_handle_at,
	SYS_name_to_handle_at, SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load,
	SYS_kexec_file_load, SYS_reboot, SYS_swapon, SYS_swapoff, SYS_syslog, SYS_acct, SYS_quotactl,
	SYS_settimeofday, SYS_clock_settime, SYS_adjtimex, SYS_clock_adjtime, SYS_personality, SYS_shmget,
	SYS_shmat, SYS_msgget, SYS_semget, SYS_mq_open, SYS_pidfd_open, SYS_pidfd_getfd,
	SYS_pidfd_send_signal, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_memfd_secret, SYS_vhangup,
	SYS_fanotify_init, SYS_lookup_dcookie, SYS_iopl, SYS_ioperm, SYS_sethostname, SYS_setdomainname,
};

static const int sending[] = { SYS_kill, SYS_tkill, SYS_tgkill };
/* allowed with the arguments that were not answered before */
static const int checked[] = { SYS_ioctl, SYS_fcntl };

static struct sock_filter program[512];
static size_t length;

static void put(uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
	program[length++] = (struct sock_filter){ code, yes, no, k };
}

static void load(size_t offset)
{
	put(BPF_LD | BPF_W | BPF_ABS, offset, 0, 0);
}

static void answer(uint32_t how)
{
	put(BPF_RET | BPF_K, how, 0, 0);
}

/* The number of the call is loaded: for this one, go on with the next `lines`. */
static void if_call(int number, uint8_t lines)
{
	put(BPF_JMP | BPF_JEQ | BPF_K, number, 0, lines);
}

#define ARGUMENT(n) (offsetof(struct seccomp_data, args) + 8 * (n))
#define NUMBER offsetof(struct seccomp_data, nr)
#define REFUSE (SECCOMP_RET_ERRNO | EPERM)

/* Answer a call if an argument has a value; with another value, go on. */
static void if_argument(int number, int which, uint32_t value, uint32_t how)
{
	if_call(number, 4);
	load(ARGUMENT(which));
	put(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
	answer(how);
	load(NUMBER);
}

/* Refuse a call if an argument has one of the bits, or, with `all`, all of them, and allow it otherwise. */
static void if_bits(int number, int which, uint32_t bits, bool all)
{
	if_call(number, 6);
	load(ARGUMENT(which));
	put(BPF_ALU | BPF_AND | BPF_K, bits, 0, 0);
	put(BPF_JMP | BPF_JEQ | BPF_K, all ? bits : 0, all ? 0 : 1, all ? 1 : 0);
	answer(REFUSE);
	answer(SECCOMP_RET_ALLOW);
	load(NUMBER);
}

static void write_program(enum role role, bool ask)
{
	const uint32_t signals = ask ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW;

	length = 0;
	load(offsetof(struct seccomp_data, arch));
	put(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
	answer(REFUSE);
	load(NUMBER);
	/* the x32 ABI has other numbers for the same calls */
	put(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1);
	answer(REFUSE);
	if (role == GUEST) {
		for (size_t i = 0; i < COUNT(needed); i++) {
			if_call(needed[i], 1);
			answer(SECCOMP_RET_ALLOW);
		}
		if_bits(SYS_mmap, 3, NOBODYS_MEMORY, true);
	} else {
		for (size_t i = 0; i < COUNT(refused); i++) {
			if_call(refused[i], 1);
			answer(REFUSE);
		}
	}
	if_bits(SYS_clone, 0, NAMESPACES, false);
	if_call(SYS_clone3, 1);		/* its arguments are out of reach; the C library falls back */
	answer(SECCOMP_RET_ERRNO | ENOSYS);
	if_argument(SYS_ioctl, 1, TIOCSTI, REFUSE);
	if_argument(SYS_ioctl, 1, TIOCLINUX, REFUSE);
	if (ask)
		if_argument(SYS_fcntl, 1, F_SETOWN_EX, REFUSE);
	if_argument(SYS_fcntl, 1, F_SETOWN, signals);
	for (size_t i = 0; i < COUNT(sending); i++) {
		if_call(sending[i], 1);
		answer(signals);
	}
	for (size_t i = 0; i < COUNT(checked); i++) {
		if_call(checked[i], 1);
		answer(SECCOMP_RET_ALLOW);
	}
	answer(role == GUEST ? REFUSE : SECCOMP_RET_ALLOW);
}

bool calls_available(void)
{
	uint32_t action = SECCOMP_RET_ERRNO;

	return !syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action);
}

/* Install the filter; false if this kernel has none. */
bool calls_restrict(enum role role, bool ask, int *listener)
{
	struct sock_fprog all = { .filter = program };
	/* no mitigation that some kernels add for whoever has a filter, and that makes it slower */
	unsigned int flags = SECCOMP_FILTER_FLAG_SPEC_ALLOW | (ask ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0);
	int answered;

	write_program(role, ask);
	all.len = length;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		fail("prctl", "NO_NEW_PRIVS");
	answered = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &all);
	*listener = ask ? answered : -1;
	return answered >= 0;
}

static bool is_of_jail(int64_t target, pid_t child)
{
	pid_t session;

	if (!target)
		return true;	/* its own group */
	if (target == -1)
		return false;	/* all that can be reached */
	session = getsid(target < 0 ? -target : target);
	return session == child || session == getsid(0);
}

/* Decide on signals until `ended` can be read: the filter is this process's own as well, so it never ends. */
void calls_decide(int listener, pid_t child, int ended)
{
	struct pollfd waiting[] = { { listener, POLLIN, 0 }, { ended, POLLIN, 0 } };

	for (;;) {
		struct seccomp_notif asked;
		struct seccomp_notif_resp reply = { .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };
		bool owner;

		if (poll(waiting, 2, -1) < 0) {
			if (errno == EINTR)
				continue;
			return;
		}
		if (waiting[1].revents)
			return;
		memset(&asked, 0, sizeof(asked));
		if (!(waiting[0].revents & POLLIN) || ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked))
			continue;
		owner = asked.data.nr == SYS_fcntl;
		reply.id = asked.id;
		if (!is_of_jail((int32_t)asked.data.args[owner ? 2 : 0], child)) {
			reply.flags = 0;
			reply.error = -EPERM;
		}
		ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &reply);
	}
}
