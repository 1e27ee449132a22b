// SPDX-License-Identifier: Apache-2.0
/*
 * rdcn-guest record INSTANCE OUTPUT START_NS EVERY_NS [OFFSET:SIZE]...: write all events
 * from the start on while the run goes on, so that the trace buffer need not hold them.
 * OUTPUT has the records that `collect` would write of these events.
 */
#include <stdlib.h>

#include "record.h"
#include "stream.h"
#include "tools.h"

static struct stream stream;

static void take(void *to, uint64_t time, const unsigned char *event, uint32_t size)
{
	put_record(to, time + stream.offset, event, size);
}

int record_main(int argc, char **argv)
{
	struct output out;

	if (argc < 5)
		die("usage: rdcn-guest record INSTANCE OUTPUT START EVERY [OFFSET:SIZE]...");
	open_output(&out, argv[2], argc - 5, argv + 5);
	stream = (struct stream){
		.instance = argv[1],
		.start = strtoull(argv[3], NULL, 10),
		.every = strtoull(argv[4], NULL, 10),
		.take = take,
		.to = &out,
	};
	if (!stream.start || !stream.every)
		die("record: '%s %s' are no numbers", argv[3], argv[4]);
	follow(&stream);
	close_output(&out);
	return 0;
}
