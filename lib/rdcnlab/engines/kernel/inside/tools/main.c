// SPDX-License-Identifier: Apache-2.0
/* rdcn-guest: picks the tool by its first argument, or init when it is PID 1. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools.h"

void die(const char *format, ...)
{
	va_list args;

	fputs("rdcn-guest: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	_exit(1);
}

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

void sleep_until_ns(uint64_t instant)
{
	struct timespec until = {
		.tv_sec = instant / NSEC_PER_SEC,
		.tv_nsec = instant % NSEC_PER_SEC,
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

void start_thread(const char *what, void *(*run)(void *), void *argument, size_t stack)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int error;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, stack);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	error = pthread_create(&thread, &attributes, run, argument);
	if (error)
		die("%s: thread: %s", what, strerror(error));
}

void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		die("%s: cannot write '%s': %s", path, text, strerror(errno));
	close(fd);
}

void preload_beside(const char *name, char *path, size_t size)
{
	ssize_t length = readlink("/proc/1/exe", path, size - 1);
	char *end;

	if (length < 0)
		die("/proc/1/exe: %s", strerror(errno));
	path[length] = '\0';
	end = strrchr(path, '/') + 1;
	snprintf(end, size - (end - path), "%s", name);
}

int main(int argc, char **argv)
{
	if (getpid() == 1)
		return init_main(argc, argv);
	if (argc > 1 && !strcmp(argv[1], "traffic"))
		return traffic_main(argc - 1, argv + 1);
	if (argc > 1 && !strcmp(argv[1], "latest"))
		return latest_main(argc - 1, argv + 1);
	if (argc > 1 && !strcmp(argv[1], "tally"))
		return tally_main(argc - 1, argv + 1);
	if (argc > 1 && !strcmp(argv[1], "programs"))
		return programs_main(argc - 1, argv + 1);
	if (argc > 1 && !strcmp(argv[1], "apart"))
		return apart_main(argc, argv);
	if (argc > 1 && !strcmp(argv[1], "hold"))
		return hold_main(argc - 1, argv + 1);
	die("usage: rdcn-guest traffic|programs|latest|tally|hold ...");
}
