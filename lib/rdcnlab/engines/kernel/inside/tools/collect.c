// SPDX-License-Identifier: Apache-2.0
/*
 * rdcn-guest collect PIPE OUTPUT [OFFSET:SIZE]...: take a trace buffer
 * (per_cpu/cpuN/trace_pipe_raw of an instance that records one kind of event) apart
 * and write it as records of one size, see record.h.
 */
#include "pages.h"
#include "record.h"
#include "tools.h"

static void put(void *to, uint64_t time, const unsigned char *event, uint32_t size)
{
	put_record(to, time, event, size);
}

int collect_main(int argc, char **argv)
{
	struct output out;

	if (argc < 3)
		die("usage: rdcn-guest collect PIPE OUTPUT [OFFSET:SIZE]...");
	open_output(&out, argv[2], argc - 3, argv + 3);
	take_events(open_buffer(argv[1]), put, &out);
	close_output(&out);
	return 0;
}
