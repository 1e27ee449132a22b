// SPDX-License-Identifier: GPL-2.0-only
#include "link.h"

#include "records.h"
#include "tally.h"

#include "ns3/simulator.h"

#include <algorithm>

namespace rdcnlab
{

Link::Link(uint16_t number_,
           uint64_t seed,
           std::function<void(Frame*, Nanoseconds)> arrived,
           std::function<void(Nanoseconds)> before)
    : number(number_),
      queue(number_, seed),
      m_arrived(std::move(arrived)),
      m_before(std::move(before))
{
    queue.server = this;
}

Link::~Link()
{
    for (Frame* frame : m_wire)
    {
        delete frame;
    }
}

Nanoseconds
Link::TimeOf(const Frame& frame)
{
    if (!rate)
    {
        return 0;
    }
    const uint64_t bits = uint64_t(frame.length + overhead) * 8 * 1'000'000'000 + m_rest;
    m_rest = bits % rate;
    return bits / rate;
}

void
Link::Send(Frame* frame)
{
    m_busyUntil += TimeOf(*frame);
    frame->due = std::max(m_busyUntil + delay, m_lastDue);
    m_lastDue = frame->due;
    m_wire.push_back(frame);
}

void
Link::Start()
{
    Queue& served = *m_turns.front();
    Frame* frame = served.Pop();
    m_turns.pop_front();
    if (served.Empty())
    {
        served.waiting = false;
    }
    else
    {
        TakeTurn(served);
    }
    Records& records = TheRecords();
    const bool inside = number < LINK_INGRESS;
    // the queues of classes are accounted for with all that is in them, also ACKs
    if ((records.Ours(*frame) && (inside || number >= LINK_EGRESS)) || (&served != &queue && inside))
    {
        const Nanoseconds now = ns3::Simulator::Now().GetNanoSeconds() - records.start;
        if (TheTally().Counts())
        {
            TheTally().Left(now, number, frame->dport, frame->length, served.Bytes());
        }
        else
        {
            records.left.Write(
                {now, number, frame->traffic, frame->length, int64_t(served.Bytes()), frame->dport});
        }
    }
    Send(frame);
}

void
Link::Wake(Nanoseconds now)
{
    // a link that stood idle is free from now on, not since its last frame
    if (m_turns.empty() && m_busyUntil < now)
    {
        m_busyUntil = now;
        m_rest = 0;
    }
}

void
Link::Join(Queue& joining, Nanoseconds now)
{
    if (joining.Empty() || joining.waiting)
    {
        return;
    }
    Wake(now);
    joining.waiting = true;
    TakeTurn(joining);
}

void
Link::TakeTurn(Queue& taking)
{
    // behind all queues of its rank and of lower ones
    auto place = std::find_if(m_turns.begin(), m_turns.end(), [&](Queue* one) { return one->rank > taking.rank; });
    m_turns.insert(place, &taking);
}

void
Link::Leave(Queue& leaving)
{
    if (leaving.waiting)
    {
        leaving.waiting = false;
        m_turns.erase(std::find(m_turns.begin(), m_turns.end(), &leaving));
    }
}

void
Link::Arm()
{
    Nanoseconds next = m_turns.empty() ? NEVER : m_busyUntil;
    if (!m_wire.empty())
    {
        next = std::min(next, m_wire.front()->due);
    }
    if (next == m_armed || next == NEVER)
    {
        return;
    }
    m_armed = next;
    const Nanoseconds wait = std::max<Nanoseconds>(next - ns3::Simulator::Now().GetNanoSeconds(), 0);
    ns3::Simulator::ScheduleWithContext(context, ns3::NanoSeconds(wait), &Link::Expire, this, next);
}

void
Link::Expire(Nanoseconds instant)
{
    // events with a context cannot be cancelled: one that is no longer awaited is ignored
    if (instant != m_armed)
    {
        return;
    }
    const Nanoseconds now = ns3::Simulator::Now().GetNanoSeconds();
    m_armed = NEVER;
    m_before(now);
    Run(now);
}

void
Link::Run(Nanoseconds now)
{
    for (;;)
    {
        const Nanoseconds start = m_turns.empty() ? NEVER : m_busyUntil;
        const Nanoseconds due = m_wire.empty() ? NEVER : m_wire.front()->due;
        if (std::min(start, due) > now)
        {
            break;
        }
        if (start <= due)
        {
            Start();
        }
        else
        {
            Frame* frame = m_wire.front();
            m_wire.pop_front();
            m_arrived(frame, due);
        }
    }
    Arm();
}

void
Link::Enqueue(Link* link, Queue& queue, Frame* frame, Nanoseconds now)
{
    // a frame that starts at this instant has left the queue already
    if (link && !link->m_turns.empty() && link->m_busyUntil <= now)
    {
        link->Run(now);
    }
    if (!queue.Push(frame) || !link)
    {
        return;
    }
    link->Join(queue, now);
    link->Run(now);
}

void
Link::Receive(Frame* frame, Nanoseconds now)
{
    if (rate || !m_turns.empty() || m_busyUntil > now)
    {
        Enqueue(this, queue, frame, now);
        return;
    }
    // without a rate nothing waits: no queue, and no record of one
    if (!delay && m_wire.empty())
    {
        m_arrived(frame, now);
        return;
    }
    Wake(now);
    Send(frame);
    Run(now);
}

} // namespace rdcnlab
