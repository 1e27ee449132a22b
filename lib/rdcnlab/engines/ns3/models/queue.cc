// SPDX-License-Identifier: GPL-2.0-only
#include "queue.h"

#include "link.h"
#include "records.h"
#include "tally.h"

#include "ns3/simulator.h"

namespace rdcnlab
{

namespace
{

constexpr uint64_t RED_PROB_ONE = 1'000'000'000;

uint64_t
Rotated(uint64_t word, int bits)
{
    return word << bits | word >> (64 - bits);
}

/** SipHash-2-4 (Aumasson and Bernstein 2012) of one little-endian word of 64 bits. */
uint64_t
SipHash(uint64_t word, uint64_t key0, uint64_t key1)
{
    uint64_t v0 = key0 ^ 0x736f6d6570736575ULL;
    uint64_t v1 = key1 ^ 0x646f72616e646f6dULL;
    uint64_t v2 = key0 ^ 0x6c7967656e657261ULL;
    uint64_t v3 = key1 ^ 0x7465646279746573ULL;
    auto round = [&]() {
        v0 += v1;
        v1 = Rotated(v1, 13) ^ v0;
        v0 = Rotated(v0, 32);
        v2 += v3;
        v3 = Rotated(v3, 16) ^ v2;
        v0 += v3;
        v3 = Rotated(v3, 21) ^ v0;
        v2 += v1;
        v1 = Rotated(v1, 17) ^ v2;
        v2 = Rotated(v2, 32);
    };
    // the message, then its length in the highest byte of a last word
    for (uint64_t block : {word, uint64_t(8) << 56})
    {
        v3 ^= block;
        round();
        round();
        v0 ^= block;
    }
    v2 ^= 0xff;
    for (int i = 0; i < 4; i++)
    {
        round();
    }
    return v0 ^ v1 ^ v2 ^ v3;
}

Nanoseconds
Now()
{
    return ns3::Simulator::Now().GetNanoSeconds() - TheRecords().start;
}

uint16_t
NumberOf(const Link* link)
{
    return link ? link->number : TARGET_DARK;
}

} // namespace

void
Lose(Frame* frame, const Link* link, Drop reason)
{
    Records& records = TheRecords();
    if (records.Ours(*frame))
    {
        records.dropped.Write({Now(), NumberOf(link), frame->traffic, frame->length, frame->dport, reason});
    }
    delete frame;
}

Queue::Queue(uint32_t number, uint64_t seed)
    : m_number(number),
      m_seed(seed)
{
}

Queue::~Queue()
{
    for (Frame* frame : m_frames)
    {
        delete frame;
    }
}

uint32_t
Queue::Draw()
{
    return (SipHash(m_draws++, m_seed, m_number) >> 32) * RED_PROB_ONE >> 32;
}

bool
Queue::DropEarly()
{
    const QueueSettings& s = settings;
    if (m_bytes <= s.redMin || s.redMin >= s.redMax)
    {
        return false;
    }
    return Draw() < (m_bytes - s.redMin) * s.redProb / (s.redMax - s.redMin);
}

bool
Queue::Push(Frame* frame)
{
    const QueueSettings& s = settings;
    const bool capable = frame->ecn != NOT_ECT;
    const uint64_t after = m_bytes + frame->length;
    Records& records = TheRecords();

    if ((s.limitBytes && after > s.limitBytes) || (s.limitPackets && m_frames.size() + 1 > s.limitPackets) ||
        (s.redMax && !capable && after > s.redMax))
    {
        Lose(frame, server, DROP_TAIL);
        return false;
    }
    if (s.pool && s.pool->limit && s.pool->used + frame->length > s.pool->limit)
    {
        Lose(frame, server, DROP_POOL);
        return false;
    }
    if (!capable && s.redMax && DropEarly())
    {
        Lose(frame, server, DROP_RED);
        return false;
    }
    const bool ours = records.Ours(*frame);
    if (capable && s.ecn != ECN_OFF && m_bytes > s.ecn && frame->Mark() && ours)
    {
        if (TheTally().Counts())
        {
            TheTally().Marked(Now(), NumberOf(server), frame->dport, frame->length);
        }
        else
        {
            records.marked.Write({Now(), NumberOf(server), frame->traffic, frame->length, frame->dport});
        }
    }
    if (s.pool)
    {
        s.pool->used += frame->length;
    }
    m_bytes = after;
    m_frames.push_back(frame);
    // as in the kernel engine: the queue of a class waits in the dark, so arrivals tell what departures do not
    if (ours ? records.all || (m_number & QUEUE_OF_CLASS) : (m_number & QUEUE_OF_CLASS) != 0)
    {
        records.came.Write({Now(), NumberOf(server), frame->traffic, frame->length, frame->dport});
    }
    return true;
}

Frame*
Queue::Pop()
{
    if (m_frames.empty())
    {
        return nullptr;
    }
    Frame* frame = m_frames.front();
    m_frames.pop_front();
    m_bytes -= frame->length;
    if (settings.pool)
    {
        settings.pool->used -= frame->length;
    }
    return frame;
}

} // namespace rdcnlab
