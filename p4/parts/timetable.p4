// SPDX-License-Identifier: Apache-2.0
/*
 * Where a class' circuit leads at the instant a packet came in.
 *
 * With t the ingress timestamp in us, a class that began at `begin` and changes every `day + night` is in
 *
 *	n    = (t - begin) / (day + night)		changes so far
 *	slot = n mod slots
 *	dark   if (t - begin) mod (day + night) >= day
 *
 * and the table `slots` tells the slot's link. No control plane is in the way. Where one shall be, it keeps an entry in
 * `circuits`, which goes first: that is how a local manager that rewrites rules works.
 *
 * v1model has no division by a value known only at run time, and neither has hardware: the control plane gives
 * floor(2^63 / d) + 1 for a divisor d, and the product with it, divided by 2^63, is the quotient, exact for
 * (t - begin) * d < 2^63.
 */

control Timetable(inout metadata_t meta, in standard_metadata_t standard) {
    register<instant_t>(CLASSES) begin;
    register<bit<32>>(CLASSES) day;          // us
    register<bit<32>>(CLASSES) night;        // us
    register<bit<64>>(CLASSES) per_change;   // floor(2^63 / (day + night)) + 1; 0: the class never changes
    register<bit<32>>(CLASSES) slots_of;     // slots of the timetable
    register<bit<64>>(CLASSES) per_slots;    // floor(2^63 / slots_of) + 1; 0 where there is one slot
    bool in_night;

    action to_link(port_t port, bit<8> tdn) {
        meta.way = WAY_LINK;
        meta.port = port;
        meta.tdn = tdn;
    }
    action dark() {
        meta.way = WAY_DARK;
    }
    action bypass() {
        meta.way = WAY_BYPASS;
    }
    table circuits {
        key = { meta.class: exact @name("class"); }
        actions = { to_link; dark; bypass; NoAction; }
        default_action = NoAction();
        size = 1024;
    }
    table slots {
        key = {
            meta.class: exact @name("class");
            meta.slot: exact @name("slot");
        }
        actions = { to_link; dark; bypass; }
        default_action = dark();
        size = 4096;
    }

    apply {
        if (!circuits.apply().hit) {
            bit<32> index = (bit<32>) meta.class;
            instant_t first;
            bit<64> inverse;
            begin.read(first, index);
            per_change.read(inverse, index);
            meta.slot = 0;
            meta.version = 0;
            in_night = false;
            if (inverse != 0 && standard.ingress_global_timestamp >= first) {
                bit<32> up;
                bit<32> down;
                bit<32> count;
                bit<64> since = (bit<64>) (standard.ingress_global_timestamp - first);
                day.read(up, index);
                night.read(down, index);
                slots_of.read(count, index);
                bit<64> changes = (bit<64>) (((bit<128>) since * (bit<128>) inverse) >> 63);
                bit<64> into = since - changes * (bit<64>) (up + down);
                in_night = into >= (bit<64>) up;
                bit<64> rounds = 0;
                per_slots.read(inverse, index);
                if (inverse != 0) {
                    rounds = (bit<64>) (((bit<128>) changes * (bit<128>) inverse) >> 63);
                    meta.slot = (bit<16>) (changes - rounds * (bit<64>) count);
                }
                meta.version = (bit<4>) changes;
            }
            slots.apply();
            if (in_night) {
                dark();
            }
        }
    }
}
