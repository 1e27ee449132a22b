// SPDX-License-Identifier: GPL-2.0-only
#include "switch.h"

#include "nuftcp.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace rdcnlab
{

Switch::Switch(uint64_t seed, uint32_t mtu)
    : m_seed(seed),
      m_longest(mtu + ETHERNET_HEADER),
      m_timetables([this](Frame* frame, Nanoseconds now) { Egress(frame->port).Receive(frame, now); })
{
}

Pool*
Switch::AddPool()
{
    return m_pools.emplace_back(std::make_unique<Pool>()).get();
}

Link&
Switch::AddLink(uint16_t number)
{
    auto& link = m_links[number];
    link = std::make_unique<Link>(
        number,
        m_seed,
        [this, &link](Frame* frame, Nanoseconds now) { EndOfLink(link.get(), frame, now); },
        [this](Nanoseconds now) { m_timetables.Advance(now); });
    return *link;
}

uint16_t
Switch::AddPort(Exit exit)
{
    const uint16_t number = m_ports.size();
    auto before = [this](Nanoseconds now) { m_timetables.Advance(now); };
    Port port;
    port.exit = std::move(exit);
    port.ingress = std::make_unique<Link>(
        LINK_INGRESS | number,
        m_seed,
        [this, number](Frame* frame, Nanoseconds now) { Enter(number, frame, now); },
        before);
    port.egress = std::make_unique<Link>(
        LINK_EGRESS | number,
        m_seed,
        [this, number](Frame* frame, Nanoseconds) { Leave(number, frame); },
        before);
    m_ports.push_back(std::move(port));
    return number;
}

Link&
Switch::Ingress(uint16_t port)
{
    return *m_ports.at(port).ingress;
}

Link&
Switch::Egress(uint16_t port)
{
    return *m_ports.at(port).egress;
}

void
Switch::EndAt(Link& link, uint16_t port)
{
    m_ends[&link] = port;
}

Traffic&
Switch::AddTraffic(uint16_t number)
{
    return m_timetables.Add(number, m_seed);
}

Traffic&
Switch::FindTraffic(uint16_t number)
{
    return m_timetables.Find(number);
}

Link&
Switch::FindLink(uint16_t number)
{
    const auto link = m_links.find(number);
    if (link == m_links.end())
    {
        throw std::out_of_range("no link " + std::to_string(number));
    }
    return *link->second;
}

Pool*
Switch::FindPool(uint32_t number)
{
    return m_pools.at(number).get();
}

void
Switch::AddRule(const Rule& rule)
{
    auto place = std::find_if(m_rules.begin(), m_rules.end(), [&](const Rule& one) {
        return one.priority > rule.priority;
    });
    m_rules.insert(place, rule);
    m_known.clear();
}

void
Switch::AddAddress(uint32_t address, uint16_t port)
{
    m_addresses[address] = port;
}

void
Switch::Start(Nanoseconds epoch)
{
    m_timetables.Start(epoch);
}

void
Switch::Receive(uint16_t port, Frame* frame)
{
    const Nanoseconds now = ns3::Simulator::Now().GetNanoSeconds();
    m_timetables.Advance(now);
    frame->traffic = NO_CLASS;
    Ingress(port).Receive(frame, now);
}

Traffic*
Switch::Classify(uint16_t port, const Frame& frame)
{
    const uint64_t addresses = uint64_t(frame.source) << 32 | frame.destination;
    const uint64_t ports = uint64_t(port) << 48 | uint64_t(frame.protocol) << 32 | uint32_t(frame.sport) << 16 | frame.dport;
    auto& known = m_known[addresses];
    const auto seen = known.find(ports);
    if (seen != known.end())
    {
        return seen->second;
    }
    Traffic* traffic = nullptr;
    for (const Rule& rule : m_rules)
    {
        if ((rule.port < 0 || rule.port == port) && (!rule.protocol || rule.protocol == frame.protocol) &&
            (!rule.source || rule.source == frame.source) &&
            (!rule.destination || rule.destination == frame.destination) &&
            (!rule.sport || rule.sport == frame.sport) && (!rule.dport || rule.dport == frame.dport))
        {
            traffic = rule.traffic;
            break;
        }
    }
    return known[ports] = traffic;
}

/** A frame has come to the end of its ingress link. */
void
Switch::Enter(uint16_t port, Frame* frame, Nanoseconds now)
{
    const auto out = m_addresses.find(frame->destination);
    if (out == m_addresses.end())
    {
        Lose(frame, nullptr, DROP_PORT);
        return;
    }
    frame->port = out->second;
    Traffic* traffic = Classify(port, *frame);
    if (traffic)
    {
        frame->traffic = traffic->number;
        Pass(*traffic, frame, now);
    }
    else if (frame->port == port)
    {
        Lose(frame, nullptr, DROP_PORT);
    }
    else
    {
        Egress(frame->port).Receive(frame, now);
    }
}

void
Switch::Pass(Traffic& traffic, Frame* frame, Nanoseconds now)
{
    const Slot& slot = traffic.Present();
    // a rule that never changes has no version
    if (TheNuftcp().marks && traffic.slots.size() > 1)
    {
        frame->Raise(traffic.Version());
    }
    if (slot.target == TARGET_BYPASS)
    {
        Egress(frame->port).Receive(frame, now);
    }
    else if (slot.target == TARGET_DARK && !traffic.hold)
    {
        Lose(frame, nullptr, DROP_DARK);
    }
    else if (traffic.queues || traffic.hold)
    {
        Link::Enqueue(slot.link, traffic.queue, frame, now);
    }
    else
    {
        slot.link->Receive(frame, now);
    }
}

void
Switch::EndOfLink(Link* link, Frame* frame, Nanoseconds now)
{
    const auto end = m_ends.find(link);
    Egress(end == m_ends.end() ? frame->port : end->second).Receive(frame, now);
}

/** A frame has come to the end of its egress link. */
void
Switch::Leave(uint16_t port, Frame* frame)
{
    if (frame->length > m_longest)
    {
        Lose(frame, m_ports[port].egress.get(), DROP_MTU);
        return;
    }
    m_ports[port].exit(frame);
}

} // namespace rdcnlab
