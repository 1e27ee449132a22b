// SPDX-License-Identifier: Apache-2.0
/*
 * ECN marking from the depth of a link's queue at enqueue.
 *
 * BMv2's own queues count packets and are served in packets a second, so the queue stands where the line is, in the
 * cable behind the port. Its depth is known all the same, because the line drains it at its rate: with bytes on the
 * wire, `overhead` included,
 *
 *	depth -= rate * (time since the last packet), at least 0;  mark if depth > threshold;  depth += length
 *
 * The frame that is just being sent counts. A packet that finds more than `limit` is lost behind the port, and so does
 * not count. Timestamps are in us, so the depth is right to rate * 1 us.
 */

control Mark(inout headers_t hdr, in metadata_t meta, in standard_metadata_t standard) {
    register<bit<32>>(PORTS) depth;        // bytes on the wire
    register<instant_t>(PORTS) seen;       // when depth was true
    register<bit<32>>(PORTS) rate;         // bytes in 2^16 us; 0: the port has no line of its own
    register<bit<32>>(PORTS) threshold;    // bytes on the wire, all ones: never mark
    register<bit<32>>(PORTS) limit;        // bytes on the wire
    register<bit<32>>(PORTS) overhead;     // bytes of a frame on the wire beyond what the switch counts
    register<bit<32>>(PORTS) marks;        // packets marked

    apply {
        bit<32> index = (bit<32>) meta.port;
        bit<32> speed;
        rate.read(speed, index);
        if (speed != 0) {
            bit<32> waiting;
            bit<32> bound;
            bit<32> most;
            bit<32> extra;
            instant_t last;
            depth.read(waiting, index);
            seen.read(last, index);
            threshold.read(bound, index);
            limit.read(most, index);
            overhead.read(extra, index);
            bit<80> sent = ((bit<80>) (standard.ingress_global_timestamp - last) * (bit<80>) speed) >> 16;
            if (sent >= (bit<80>) waiting) {
                waiting = 0;
            } else {
                waiting = waiting - (bit<32>) sent;
            }
            if (waiting > bound && hdr.ipv4.isValid() && (hdr.ipv4.ecn == 1 || hdr.ipv4.ecn == 2)) {
                bit<32> count;
                hdr.ipv4.ecn = 3;
                marks.read(count, index);
                marks.write(index, count + 1);
            }
            bit<32> after = waiting + standard.packet_length + extra;
            if (after <= most) {
                waiting = after;
            }
            depth.write(index, waiting);
            seen.write(index, standard.ingress_global_timestamp);
        }
    }
}
