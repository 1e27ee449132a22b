// SPDX-License-Identifier: GPL-2.0-only
/*
 * Floating point registers stay what they were, whatever stops the process:
 * system calls, other threads, signals, fork(), page faults, a debugger.
 *
 * Each check fills xmm0 to xmm15 with a pattern in assembly, stops in a way of
 * its own, and compares.  No call goes through C in between, because functions
 * may use these registers.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REGISTERS = 16, ROUNDS = 2000, THREADS = 4 };

struct registers {
	uint64_t half[2 * REGISTERS];
} __attribute__((aligned(16)));

#define EACH(do)							\
	do(0) do(1) do(2) do(3) do(4) do(5) do(6) do(7)			\
	do(8) do(9) do(10) do(11) do(12) do(13) do(14) do(15)
#define LOAD(n) "movdqa " #n "*16(%[in]), %%xmm" #n "\n\t"
#define STORE(n) "movdqa %%xmm" #n ", " #n "*16(%[out])\n\t"
#define CLOBBERED "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",	\
		  "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",		\
		  "xmm13", "xmm14", "xmm15", "rcx", "r11", "memory", "cc"

static void fill(struct registers *r, uint64_t seed)
{
	for (int i = 0; i < 2 * REGISTERS; i++)
		r->half[i] = (seed + 1) * 0x9e3779b97f4a7c15 + i;
}

/* Loads the registers, makes a system call, and stores them. */
static long across_call(const struct registers *in, struct registers *out,
			long call, long a, long b, long c)
{
	register long r10 asm("r10") = 0;
	long ret;

	asm volatile(EACH(LOAD) "syscall\n\t" EACH(STORE)
		     : "=a"(ret)
		     : "a"(call), "D"(a), "S"(b), "d"(c), "r"(r10),
		       [in] "r"(in), [out] "r"(out)
		     : CLOBBERED);
	return ret;
}

/* Loads the registers, touches a byte, and stores them. */
static void across_fault(const struct registers *in, struct registers *out,
			 volatile char *page)
{
	asm volatile(EACH(LOAD) "movb $1, (%[page])\n\t" EACH(STORE)
		     :: [in] "r"(in), [out] "r"(out), [page] "r"(page)
		     : CLOBBERED);
}

static int failures;

static void tell(const char *what, int bad)
{
	printf("%s %s\n", bad ? "not ok" : "ok", what);
	failures += bad;
}

static int differ(const struct registers *a, const struct registers *b)
{
	return !!memcmp(a, b, sizeof(*a));
}

static void *spin(void *argument)
{
	struct registers in, out;
	long bad = 0;

	for (int i = 0; i < ROUNDS; i++) {
		fill(&in, (long)argument * ROUNDS + i);
		across_call(&in, &out, SYS_sched_yield, 0, 0, 0);
		bad += differ(&in, &out);
	}
	return (void *)bad;
}

static void threads(void)
{
	pthread_t thread[THREADS];
	long bad = 0;
	void *ret;

	for (long i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, spin, (void *)i);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], &ret);
		bad += (long)ret;
	}
	tell("threads that take turns", !!bad);
}

static void forks(void)
{
	struct registers in, out;
	int bad = 0, status;

	for (int i = 0; i < 20; i++) {
		fill(&in, i);
		if (!across_call(&in, &out, SYS_fork, 0, 0, 0))
			_exit(differ(&in, &out));
		bad += differ(&in, &out);
		wait(&status);
		bad += !WIFEXITED(status) || WEXITSTATUS(status);
	}
	tell("fork, on both sides", !!bad);
}

static volatile int signals;

static void on_signal(int number)
{
	struct registers in, out;

	fill(&in, 1000 + number);
	across_call(&in, &out, SYS_sched_yield, 0, 0, 0);
	signals++;
}

static void handlers(void)
{
	struct registers in, out;
	int bad = 0;

	signal(SIGUSR1, on_signal);
	for (int i = 0; i < 100; i++) {
		fill(&in, i);
		across_call(&in, &out, SYS_kill, getpid(), SIGUSR1, 0);
		bad += differ(&in, &out);
	}
	tell("a handler that uses them", bad || signals != 100);
}

static void faults(void)
{
	char *pages = mmap(NULL, 200 * 4096, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct registers in, out;
	int bad = 0;

	for (int i = 0; i < 200; i++) {
		fill(&in, i);
		across_fault(&in, &out, pages + i * 4096);
		bad += differ(&in, &out);
	}
	tell("page faults", !!bad);
}

static void programs(char *self)
{
	struct registers in, out;
	volatile int bad = 0, i;
	int status;
	pid_t pid;

	for (i = 0; i < 20; i++) {
		fill(&in, i);
		pid = vfork();
		if (!pid) {
			execl(self, self, "nothing", NULL);
			_exit(1);
		}
		across_call(&in, &out, SYS_wait4, pid, (long)&status, 0);
		bad += differ(&in, &out) || !WIFEXITED(status) || WEXITSTATUS(status);
	}
	tell("another program beside", !!bad);
}

static void debugger(void)
{
	struct registers mine, theirs, out;
	struct user_fpregs_struct seen;
	int bad = 0, status;
	pid_t pid;

	fill(&mine, 1);
	fill(&theirs, 2);
	pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		across_call(&theirs, &out, SYS_kill, getpid(), SIGSTOP, 0);
		/* the debugger has put its own there */
		_exit(differ(&mine, &out));
	}
	waitpid(pid, &status, 0);
	/* fails, but now they are the last that were used */
	across_call(&mine, &out, SYS_ptrace, PTRACE_GETFPREGS, pid, 0);
	bad += ptrace(PTRACE_GETFPREGS, pid, 0, &seen) != 0;
	bad += !!memcmp(seen.xmm_space, &theirs, sizeof(theirs));
	seen.mxcsr |= 1u << 31;		/* no processor has that */
	bad += !ptrace(PTRACE_SETFPREGS, pid, 0, &seen) || errno != EINVAL;
	seen.mxcsr &= ~(1u << 31);
	memcpy(seen.xmm_space, &mine, sizeof(mine));
	bad += ptrace(PTRACE_SETFPREGS, pid, 0, &seen) != 0;
	ptrace(PTRACE_CONT, pid, 0, 0);
	waitpid(pid, &status, 0);
	bad += !WIFEXITED(status) || WEXITSTATUS(status);
	tell("a debugger reads and writes them", !!bad);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return 0;
	setvbuf(stdout, NULL, _IOLBF, 0);
	threads();
	forks();
	handlers();
	faults();
	programs(argv[0]);
	debugger();
	return !!failures;
}
