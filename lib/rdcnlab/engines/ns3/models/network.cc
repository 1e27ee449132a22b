// SPDX-License-Identifier: GPL-2.0-only
/* The part of the interface to Python that builds switches; see lab.cc. */
#include "lab.h"

#include "ns3/simulator.h"

#include <utility>

using namespace rdcnlab;

namespace
{

Switch&
At(int64_t number)
{
    return *TheLab().switches.at(number);
}

void
SetLine(Link& link, int64_t rate, int64_t delay, int64_t overhead)
{
    link.rate = rate;
    link.delay = delay;
    link.overhead = overhead;
}

} // namespace

extern "C"
{

int64_t
lab_switch()
{
    return Guarded([&]() -> int64_t {
        Lab& lab = TheLab();
        lab.switches.push_back(std::make_unique<Switch>(lab.seed, lab.mtu));
        return lab.switches.size() - 1;
    });
}

int64_t
lab_pool(int64_t place, int64_t bytes)
{
    return Guarded([&]() -> int64_t {
        At(place).AddPool()->limit = bytes;
        return 0;
    });
}

int64_t
lab_link(int64_t place, int64_t number, int64_t rate, int64_t delay, int64_t overhead)
{
    return Guarded([&]() -> int64_t {
        SetLine(At(place).AddLink(number), rate, delay, overhead);
        return 0;
    });
}

/** Return the queue that a number means. */
static Queue&
QueueAt(int64_t place, int64_t number)
{
    if (number & QUEUE_OF_PORT)
        return At(place).Egress(number & ~int64_t(QUEUE_OF_PORT)).queue;
    if (number & QUEUE_OF_CLASS)
        return At(place).FindTraffic(number & ~int64_t(QUEUE_OF_CLASS)).queue;
    return At(place).FindLink(number).queue;
}

/** Set the queue of a link (`number` below 65536), of a class (65536 + its number), or of a port to a host. */
int64_t
lab_queue(int64_t place, int64_t number, int64_t bytes, int64_t packets, int64_t ecn, int64_t least, int64_t most,
          int64_t probability, int64_t pool)
{
    return Guarded([&]() -> int64_t {
        QueueSettings& s = QueueAt(place, number).settings;
        s.limitBytes = bytes;
        s.limitPackets = packets;
        s.ecn = ecn < 0 ? ECN_OFF : ecn;
        s.redMin = least;
        s.redMax = most;
        s.redProb = probability;
        s.pool = pool < 0 ? nullptr : At(place).FindPool(pool);
        return 0;
    });
}

/** Add a port for a host, and return its number; `rate` of the line from the host is 0 if its card shapes alone. */
int64_t
lab_port(int64_t place, int64_t host, int64_t from, int64_t to, int64_t delay, int64_t overhead)
{
    return Guarded([&]() -> int64_t {
        Switch& here = At(place);
        ns3::Ptr<Card> card = TheLab().hosts.at(host).card;
        const uint16_t port = here.AddPort([card](Frame* frame) { card->Deliver(frame); });
        SetLine(here.Ingress(port), from, delay, overhead);
        SetLine(here.Egress(port), to, delay, overhead);
        here.Egress(port).context = card->GetNode()->GetId();
        card->SetExit([&here, port](Frame* frame) { here.Receive(port, frame); });
        return port;
    });
}

/** Add the ports of a cable between two switches; return that of the first, times 65536, and that of the second. */
int64_t
lab_cable(int64_t one, int64_t other)
{
    return Guarded([&]() -> int64_t {
        Switch& first = At(one);
        Switch& second = At(other);
        // both ports are needed by both exits
        auto ports = std::make_shared<std::pair<uint16_t, uint16_t>>();
        ports->first = first.AddPort([&second, ports](Frame* frame) { second.Receive(ports->second, frame); });
        ports->second = second.AddPort([&first, ports](Frame* frame) { first.Receive(ports->first, frame); });
        return int64_t(ports->first) << 16 | ports->second;
    });
}

int64_t
lab_end(int64_t place, int64_t link, int64_t port)
{
    return Guarded([&]() -> int64_t {
        At(place).EndAt(At(place).FindLink(link), port);
        return 0;
    });
}

int64_t
lab_class(int64_t place, int64_t number, int64_t hold, int64_t queues, int64_t phase)
{
    return Guarded([&]() -> int64_t {
        Traffic& traffic = At(place).AddTraffic(number);
        traffic.hold = hold;
        traffic.queues = queues;
        traffic.phase = phase;
        return 0;
    });
}

int64_t
lab_slot(int64_t place, int64_t number, int64_t duration, int64_t target, int64_t bytes, int64_t packets, int64_t ecn,
         int64_t rank)
{
    return Guarded([&]() -> int64_t {
        rdcnlab::Slot slot;
        slot.duration = duration;
        slot.target = target;
        slot.link = target < LINK_INGRESS ? &At(place).FindLink(target) : nullptr;
        slot.limitBytes = bytes;
        slot.limitPackets = packets;
        slot.ecn = ecn;
        slot.rank = rank;
        At(place).FindTraffic(number).slots.push_back(slot);
        return 0;
    });
}

int64_t
lab_rule(int64_t place, int64_t number, int64_t priority, int64_t port, int64_t protocol, int64_t source,
         int64_t destination, int64_t sport, int64_t dport)
{
    return Guarded([&]() -> int64_t {
        Rule rule;
        rule.priority = priority;
        rule.traffic = &At(place).FindTraffic(number);
        rule.port = port;
        rule.protocol = protocol;
        rule.source = source;
        rule.destination = destination;
        rule.sport = sport;
        rule.dport = dport;
        At(place).AddRule(rule);
        return 0;
    });
}

int64_t
lab_address(int64_t place, int64_t address, int64_t port)
{
    return Guarded([&]() -> int64_t {
        At(place).AddAddress(address, port);
        return 0;
    });
}

/** Let a frame without a packet arrive at a link, for tests of its queue. */
int64_t
lab_arrival(int64_t place, int64_t number, int64_t instant, int64_t length, int64_t ecn, int64_t dport)
{
    return Guarded([&]() -> int64_t {
        Link& link = At(place).FindLink(number);
        auto frame = new Frame;
        frame->length = length;
        frame->ecn = ecn;
        frame->dport = dport;
        const Nanoseconds wait = instant - ns3::Simulator::Now().GetNanoSeconds();
        ns3::Simulator::Schedule(ns3::NanoSeconds(wait), [&link, frame, instant]() { link.Receive(frame, instant); });
        return 0;
    });
}
}
