/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guest's own tools: one static program, so that starting any of them costs
 * one exec and no dynamic linking.
 */
#ifndef RDCNLAB_TOOLS_H
#define RDCNLAB_TOOLS_H

#include <stddef.h>
#include <stdint.h>

#define NSEC_PER_SEC 1000000000ULL

/* Print to the console and leave with status 1. */
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Nanoseconds of CLOCK_MONOTONIC; costs 256 ns of virtual time. */
uint64_t now_ns(void);

/* Sleep to an absolute instant of CLOCK_MONOTONIC, exactly. */
void sleep_until_ns(uint64_t instant);

/* Begin a thread that nobody waits for, with a stack of some bytes; die() if it fails. */
#define STACK (256u << 10)
void start_thread(const char *what, void *(*run)(void *), void *argument, size_t stack);

/* Write a string to a file of the guest (sysctl, tracefs); die() if it fails. */
void write_file(const char *path, const char *text);

/* Path of a file beside our own tools, which may be preloaded into programs. */
void preload_beside(const char *name, char *path, size_t size);

/*
 * What a scenario's own text starts is no superuser, and does not see the results.
 * be_user(): become a user with the rights to its host's network; die() if that fails.
 * leave_results(): take the run's directory out of this process's mounts.
 */
void be_user(void);
void leave_results(void);

int init_main(int argc, char **argv);
int traffic_main(int argc, char **argv);
int programs_main(int argc, char **argv);
int latest_main(int argc, char **argv);
int tally_main(int argc, char **argv);
int hold_main(int argc, char **argv);
int apart_main(int argc, char **argv);

#endif
