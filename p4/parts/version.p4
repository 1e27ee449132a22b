// SPDX-License-Identifier: Apache-2.0
/*
 * The version of a class' rule in the upper half of the TTL (Dogar et al., NUFTCP): 4 bits, one more with every change of
 * the circuit. With a timetable it is the number of changes so far; with rules of a manager it is what the manager
 * writes. Senders of such classes start with a TTL of at most 15.
 *
 * The first switch on a packet's way writes its version whatever is there. Those behind it write theirs if it is newer,
 * that is ahead by 1 to 7 of 16, so that versions can wrap around. The kernel's switch does the same (version.c); only
 * its timetable does not count a slot with the same target as a change.
 */

const bit<2> VERSION_WRITE = 1;
const bit<2> VERSION_RAISE = 2;

control Version(inout headers_t hdr, in metadata_t meta) {
    register<bit<2>>(CLASSES) on;          // 0: the class leaves its packets alone
    register<bit<4>>(CLASSES) managed;     // where the entry is in `circuits`

    apply {
        bit<2> wanted;
        on.read(wanted, (bit<32>) meta.class);
        if (wanted != 0 && hdr.ipv4.isValid()) {
            bit<4> offset;
            managed.read(offset, (bit<32>) meta.class);
            bit<4> own = meta.version + offset;
            bit<4> ahead = own - hdr.ipv4.ttl[7:4];
            if (wanted == VERSION_WRITE || (ahead != 0 && ahead < 8)) {
                hdr.ipv4.ttl = own ++ hdr.ipv4.ttl[3:0];
            }
        }
    }
}
