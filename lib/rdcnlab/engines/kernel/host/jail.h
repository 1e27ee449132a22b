/* SPDX-License-Identifier: Apache-2.0 */
/* The walls of a jail; launch.c builds them, one after the other, around itself. */
#ifndef JAIL_H
#define JAIL_H

#include <stdbool.h>
#include <sys/types.h>

/* who is in the jail: a guest's kernel, or a build that runs the compiler */
enum role { GUEST, BUILD };

/* the ABI of Landlock from which on it holds signals and abstract sockets */
#define ABI_SCOPES 6

_Noreturn void fail(const char *what, const char *name);

/* files.c: what may be read and written, by Landlock */
int files_abi(void);
int files_begin(int abi);
void files_allow(int rules, int abi, enum role role, const char *path, bool write);
void files_make_memory(int rules, int abi, const char *path);
void files_restrict(int rules);

/* calls.c: which system calls may be made, by seccomp; a descriptor of signals to decide on, or -1 */
bool calls_available(void);
bool calls_restrict(enum role role, bool ask, int *listener);
void calls_decide(int listener, pid_t child, int ended);

/* rights.c: namespaces, limits and the rights of a superuser */
const char *rights_separate(void);
void rights_give_up(void);
void rights_limit(unsigned long file, unsigned long data);

#endif
