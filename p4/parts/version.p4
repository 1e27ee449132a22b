// SPDX-License-Identifier: Apache-2.0
/*
 * The version of a class' rule in the upper half of the TTL (Dogar et al., NUFTCP): 4 bits, one more with every change of
 * the circuit. With a timetable it is the number of changes so far; with rules of a manager it is what the manager
 * writes. Senders of such classes start with a TTL of at most 15.
 */

control Version(inout headers_t hdr, in metadata_t meta) {
    register<bit<1>>(CLASSES) on;
    register<bit<4>>(CLASSES) managed;     // where the entry is in `circuits`

    apply {
        bit<1> wanted;
        on.read(wanted, (bit<32>) meta.class);
        if (wanted == 1 && hdr.ipv4.isValid()) {
            bit<4> offset;
            managed.read(offset, (bit<32>) meta.class);
            hdr.ipv4.ttl = (meta.version + offset) ++ hdr.ipv4.ttl[3:0];
        }
    }
}
