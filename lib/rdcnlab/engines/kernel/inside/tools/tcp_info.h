/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct tcp_info of Linux 6.12 (include/uapi/linux/tcp.h, names without tcpi_).
 *
 * The guest's kernel is always that one, while the system's header may be older or newer:
 * a structure that grows with the header puts what comes after it elsewhere, and the
 * kernel packs those of subflows by its own size.
 */
#ifndef RDCNLAB_TCP_INFO_H
#define RDCNLAB_TCP_INFO_H

#include <assert.h>
#include <stdint.h>

struct tcp_counters {
	uint8_t states[8];
	uint32_t rto, ato, snd_mss, rcv_mss;
	uint32_t unacked, sacked, lost, retrans, fackets;
	uint32_t last_data_sent, last_ack_sent, last_data_recv, last_ack_recv;
	uint32_t pmtu, rcv_ssthresh, rtt, rttvar, snd_ssthresh, snd_cwnd, advmss, reordering;
	uint32_t rcv_rtt, rcv_space, total_retrans;
	uint64_t pacing_rate, max_pacing_rate, bytes_acked, bytes_received;
	uint32_t segs_out, segs_in, notsent_bytes, min_rtt, data_segs_in, data_segs_out;
	uint64_t delivery_rate, busy_time, rwnd_limited, sndbuf_limited;
	uint32_t delivered, delivered_ce;
	uint64_t bytes_sent, bytes_retrans;
	uint32_t dsack_dups, reord_seen, rcv_ooopack, snd_wnd, rcv_wnd, rehash;
	uint16_t total_rto, total_rto_recoveries;
	uint32_t total_rto_time;
};

static_assert(sizeof(struct tcp_counters) == 248, "as large as the kernel's");

#endif
