// SPDX-License-Identifier: GPL-2.0-only
#include "timetable.h"

#include "records.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace rdcnlab
{

Traffic::Traffic(uint16_t number_, uint64_t seed)
    : number(number_),
      queue(QUEUE_OF_CLASS | number_, seed)
{
}

void
Traffic::Begin(Nanoseconds epoch)
{
    queue.server = Present().link;
    Nanoseconds cycle = 0;
    for (const Slot& slot : slots)
    {
        cycle += slot.duration;
    }
    if (cycle)
    {
        m_waiting = true;
        m_next = epoch + phase;
    }
}

void
Traffic::Step()
{
    if (m_waiting)
    {
        m_waiting = false;
    }
    else
    {
        const uint16_t before = Present().target;
        m_present = (m_present + 1) % slots.size();
        m_version = (m_version + (Present().target != before)) % VERSIONS;
    }
    m_next += Present().duration;
    Enter();
}

void
Traffic::Enter()
{
    const Slot& slot = Present();
    if (slot.limitBytes >= 0)
    {
        queue.settings.limitBytes = slot.limitBytes;
    }
    if (slot.limitPackets >= 0)
    {
        queue.settings.limitPackets = slot.limitPackets;
    }
    if (slot.ecn >= 0)
    {
        queue.settings.ecn = slot.ecn;
    }
    if (queue.server != slot.link || queue.rank != slot.rank)
    {
        if (queue.server)
        {
            queue.server->Leave(queue);
        }
        queue.server = slot.link;
        queue.rank = slot.rank;
    }
    m_moved = true;
    Records& records = TheRecords();
    const Nanoseconds now = ns3::Simulator::Now().GetNanoSeconds() - records.start;
    records.slots.Write({now, number, int64_t(m_present), slot.target});
}

Timetables::Timetables(std::function<void(Frame*, Nanoseconds)> bypass)
    : m_bypass(std::move(bypass))
{
}

Traffic&
Timetables::Add(uint16_t number, uint64_t seed)
{
    auto place = std::find_if(m_all.begin(), m_all.end(), [=](auto& one) { return one->number > number; });
    return **m_all.insert(place, std::make_unique<Traffic>(number, seed));
}

Traffic&
Timetables::Find(uint16_t number)
{
    for (auto& traffic : m_all)
    {
        if (traffic->number == number)
        {
            return *traffic;
        }
    }
    throw std::out_of_range("no class " + std::to_string(number));
}

void
Timetables::Start(Nanoseconds epoch)
{
    for (auto& traffic : m_all)
    {
        traffic->Begin(epoch);
        m_next = std::min(m_next, traffic->m_next);
    }
    Arm();
}

void
Timetables::Change(Nanoseconds now)
{
    while (m_next <= now)
    {
        const Nanoseconds instant = m_next;
        for (auto& traffic : m_all)
        {
            if (traffic->m_next == instant)
            {
                traffic->Step();
            }
        }
        Settle(instant);
    }
    Arm();
}

void
Timetables::Settle(Nanoseconds now)
{
    m_next = NEVER;
    // all queues are in their new places before the first one is served
    for (auto& traffic : m_all)
    {
        m_next = std::min(m_next, traffic->m_next);
        if (traffic->m_moved && traffic->Present().link)
        {
            traffic->Present().link->Join(traffic->queue, now);
        }
    }
    for (auto& traffic : m_all)
    {
        if (traffic->m_moved)
        {
            traffic->m_moved = false;
            Serve(*traffic, now);
        }
    }
}

void
Timetables::Serve(Traffic& traffic, Nanoseconds now)
{
    const Slot& slot = traffic.Present();
    if (slot.link)
    {
        slot.link->Run(now);
    }
    else if (slot.target == TARGET_BYPASS)
    {
        while (Frame* frame = traffic.queue.Pop())
        {
            m_bypass(frame, now);
        }
    }
}

void
Timetables::Arm()
{
    if (m_next == m_armed || m_next == NEVER)
    {
        return;
    }
    m_armed = m_next;
    const Nanoseconds now = ns3::Simulator::Now().GetNanoSeconds();
    ns3::Simulator::ScheduleWithContext(
        ns3::Simulator::NO_CONTEXT, ns3::NanoSeconds(m_next - now), &Timetables::Expire, this);
}

void
Timetables::Expire()
{
    m_armed = NEVER;
    Advance(ns3::Simulator::Now().GetNanoSeconds());
    Arm();
}

} // namespace rdcnlab
