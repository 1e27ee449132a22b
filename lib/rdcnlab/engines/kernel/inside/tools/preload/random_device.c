// SPDX-License-Identifier: Apache-2.0
/*
 * Preloaded into the programs of flows: C++'s std::random_device asks the
 * processor where it can, whose answers nobody can repeat.  Ask the kernel of
 * the guest, whose generator starts from the scenario's seed.
 *
 * The function is std::random_device::_M_getval() of libstdc++.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

unsigned int _ZNSt13random_device9_M_getvalEv(void *device);

unsigned int _ZNSt13random_device9_M_getvalEv(void *device)
{
	unsigned int value;
	ssize_t got;

	(void)device;
	do
		got = getrandom(&value, sizeof(value), 0);
	while (got < 0 && errno == EINTR);
	if (got != sizeof(value))
		abort();
	return value;
}
