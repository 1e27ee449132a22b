// SPDX-License-Identifier: GPL-2.0-only
/*
 * Gentle: Reno that gives way as much as the queue asks for.
 *
 * Reno halves its window at a loss, so that one buffer of a bandwidth-delay
 * product is needed to keep the line busy.  A path whose RTT at the loss was
 * close to its minimum had hardly any queue: half is then too much.  With
 *
 *	full = smallest RTT / RTT at the loss	(share of the window on the wire)
 *	beta = full, but from 1/2 to 7/8
 *
 * the window that is left, beta * cwnd, is what the path holds without its
 * queue.  A deep queue (full <= 1/2) gives Reno's answer, a shallow one 7/8.
 *
 * It also backs off before a loss: when the RTT of a round is above three
 * times the smallest RTT, the window stops to grow (Vegas decreases here; that
 * loses against others in the same queue, while a pause hardly does).
 *
 * The smallest RTT is forgotten after ten seconds, because a network that
 * reconfigures itself changes it.
 */
#include <linux/module.h>
#include <net/tcp.h>

/* beta in 1024ths: never below Reno's half, and never so gentle that a full
 * queue is not drained (7/8 is LEDBAT's and Scalable TCP's neighbourhood).
 */
#define BETA_SCALE	1024
#define BETA_MIN	(BETA_SCALE / 2)
#define BETA_MAX	(BETA_SCALE * 7 / 8)
/* The window pauses above this many times the smallest RTT. */
#define PAUSE_FACTOR	3
/* The smallest RTT is measured anew after this time, as BBR does. */
#define BASE_AGE	(10 * HZ)

struct gentle {
	u32	base_us;	/* smallest RTT of late; 0: not measured yet */
	u32	base_stamp;	/* jiffies when it was measured */
	u32	rtt_us;		/* the RTT of the last ACK */
};

static void gentle_init(struct sock *sk)
{
	struct gentle *ca = inet_csk_ca(sk);

	memset(ca, 0, sizeof(*ca));
}

static void gentle_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct gentle *ca = inet_csk_ca(sk);

	if (sample->rtt_us <= 0)	/* of a retransmission: it says nothing */
		return;
	ca->rtt_us = sample->rtt_us;
	if (!ca->base_us || ca->rtt_us <= ca->base_us ||
	    time_after32(tcp_jiffies32, ca->base_stamp + BASE_AGE)) {
		ca->base_us = ca->rtt_us;
		ca->base_stamp = tcp_jiffies32;
	}
}

static u32 gentle_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct gentle *ca = inet_csk_ca(sk);
	u64 beta = BETA_MIN;

	if (ca->rtt_us)
		beta = div_u64((u64)ca->base_us * BETA_SCALE, ca->rtt_us);
	beta = clamp_t(u64, beta, BETA_MIN, BETA_MAX);
	return max_t(u32, tcp_snd_cwnd(tp) * beta / BETA_SCALE, 2U);
}

static void gentle_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	const struct gentle *ca = inet_csk_ca(sk);

	if (!tcp_in_slow_start(tcp_sk(sk)) && ca->base_us &&
	    ca->rtt_us / PAUSE_FACTOR > ca->base_us)
		return;
	tcp_reno_cong_avoid(sk, ack, acked);
}

static struct tcp_congestion_ops gentle __read_mostly = {
	.init		= gentle_init,
	.ssthresh	= gentle_ssthresh,
	.cong_avoid	= gentle_cong_avoid,
	.pkts_acked	= gentle_pkts_acked,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "gentle",
};

static int __init gentle_register(void)
{
	BUILD_BUG_ON(sizeof(struct gentle) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&gentle);
}

static void __exit gentle_unregister(void)
{
	tcp_unregister_congestion_control(&gentle);
}

module_init(gentle_register);
module_exit(gentle_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Reno with a decrease that follows the queue");
