/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A queue of a switch: FIFO with limits, shared pool, ECN threshold and RED.
 *
 * It is the queue of `ocs`, our kernel's switch (drivers/net/ocs/queue.c of the patches), rule by rule: with q the bytes
 * in the queue when a packet of L bytes arrives,
 *
 *   limits   drop if q + L > limit_bytes, or packets + 1 > limit_packets
 *   pool     drop if used + L > size of the pool
 *   ECT      mark CE if q > ecn
 *   others   drop if q + L > red_max; between red_min and red_max drop with probability
 *            red_prob * (q - red_min) / (red_max - red_min)
 *
 * RED's random number n is SipHash-2-4 of n under the key (seed, number of the queue), as in the kernel, so equal
 * arrivals have equal fates on both engines. tests/queue_cases.json is run against both.
 */
#ifndef RDCNLAB_QUEUE_H
#define RDCNLAB_QUEUE_H

#include "frame.h"

#include <cstdint>
#include <deque>

namespace rdcnlab
{

class Link;

/** Reasons of drops, as in the kernel's enum ocs_drop. */
enum Drop : uint8_t
{
    DROP_TAIL,
    DROP_POOL,
    DROP_RED,
    DROP_DARK,
    DROP_PORT,
    DROP_MTU
};

/** Targets of a slot that are no link, as in the kernel's interface. */
constexpr uint16_t TARGET_DARK = 0xffff;
constexpr uint16_t TARGET_BYPASS = 0xfffe;

/** A threshold that no queue reaches: never mark. */
constexpr uint32_t ECN_OFF = 0xffffffff;

/** Bit in the number of a class's queue that distinguishes it from a link's. */
constexpr uint32_t QUEUE_OF_CLASS = 1 << 16;

/** Bit in the number of a port's queue, towards its host. */
constexpr uint32_t QUEUE_OF_PORT = 1 << 17;

/** A buffer that several queues share. */
struct Pool
{
    uint32_t limit{0}; //!< bytes
    uint64_t used{0};
};

/** Settings of a queue in bytes; 0 is no limit. */
struct QueueSettings
{
    uint32_t limitBytes{0};
    uint32_t limitPackets{0};
    uint32_t ecn{ECN_OFF};
    uint32_t redMin{0};
    uint32_t redMax{0};  //!< 0: no RED
    uint32_t redProb{0}; //!< in 1e-9
    Pool* pool{nullptr};
};

/** Lose a frame: record it if it belongs to a flow, and delete it. `link` is null in the dark. */
void Lose(Frame* frame, const Link* link, Drop reason);

class Queue
{
  public:
    Queue(uint32_t number, uint64_t seed);
    ~Queue();
    Queue(const Queue&) = delete;
    Queue& operator=(const Queue&) = delete;

    /** Take a frame; return false if it is lost. */
    bool Push(Frame* frame);
    /** Return the frame that came first, or null. */
    Frame* Pop();

    bool Empty() const
    {
        return m_frames.empty();
    }

    uint64_t Bytes() const
    {
        return m_bytes;
    }

    QueueSettings settings;
    Link* server{nullptr}; //!< the link that serves the queue now; null in the dark
    uint8_t rank{0};       //!< in the present slot: its link serves queues of a lower one first
    bool waiting{false};   //!< whether it is among those that its link serves in turn

  private:
    bool DropEarly();
    uint32_t Draw();

    std::deque<Frame*> m_frames;
    uint64_t m_bytes{0};
    uint64_t m_draws{0};
    uint32_t m_number;
    uint64_t m_seed;
};

} // namespace rdcnlab

#endif
