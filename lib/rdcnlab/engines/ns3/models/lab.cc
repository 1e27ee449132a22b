// SPDX-License-Identifier: GPL-2.0-only
/*
 * The interface to Python: functions in C, which build a network of numbered parts and run it.
 *
 * All numbers have 64 bits; -1 stands for "none". A function returns the number of what it made, or -1 if it failed;
 * then `lab_error` has the reason. world.py is the only caller. Switches are in network.cc.
 */
#include "lab.h"
#include "records.h"
#include "tally.h"

#include "ns3/config.h"
#include "ns3/data-rate.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-static-routing-helper.h"
#include "ns3/ipv4.h"
#include "ns3/nstime.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"

using namespace rdcnlab;

namespace
{

/** A rate in bit/s that no line has. */
constexpr uint64_t UNLIMITED = 100'000'000'000'000;

/** What all flows are ordered by: the hosts' numbers, the port of the sink, the size in bytes, and the start in ns. */
Order
OrderOf(const Lab& lab, int64_t source, int64_t sink, int64_t port, int64_t size, int64_t start)
{
    Order order;
    order.source = lab.hosts.at(source);
    order.sink = lab.hosts.at(sink);
    order.port = port;
    order.size = size;
    order.start = start;
    return order;
}

} // namespace

Lab&
rdcnlab::TheLab()
{
    static Lab lab;
    return lab;
}

extern "C"
{

const char*
lab_error()
{
    return TheLab().error.c_str();
}

/** Begin: the scenario starts at `start` ns of simulated time, and records go to a directory. */
int64_t
lab_begin(const char* directory, int64_t start, int64_t seed, int64_t mtu, int64_t first, int64_t last, int64_t all, int64_t acks)
{
    return Guarded([&]() -> int64_t {
        Lab& lab = TheLab();
        Records& records = TheRecords();
        lab.mtu = mtu;
        lab.seed = seed;
        lab.start = start;
        records.start = start;
        records.first = first;
        records.last = last;
        records.all = all;
        records.acknowledgements = acks;
        if (*directory)
        {
            records.Open(directory);
            if (TheTally().Counts())
            {
                TheTally().Open(directory);
            }
        }
        // seeds of ns-3 must not be 0, but runs of a seed may: both give independent streams (L'Ecuyer et al. 2002)
        ns3::RngSeedManager::SetSeed(1);
        ns3::RngSeedManager::SetRun(seed);
        // Linux: HYSTART_DELAY_MAX; the other constants of CUBIC are equal
        ns3::Config::SetDefault("ns3::TcpCubic::HyStartDelayMax", ns3::TimeValue(ns3::MilliSeconds(16)));
        // ns-3 paces at 4 Gb/s at most, unless told otherwise; Linux has no such limit
        ns3::Config::SetDefault("ns3::TcpSocketState::MaxPacingRate", ns3::DataRateValue(ns3::DataRate(UNLIMITED)));
        return 0;
    });
}

int64_t
lab_transport(int64_t segment, int64_t receive, int64_t send, int64_t least, int64_t reordering, int64_t sack,
              int64_t timestamps, int64_t scaling, int64_t early, int64_t later, int64_t most)
{
    Transport& t = TheLab().transport;
    t.segment = segment;
    t.receiveBuffer = receive;
    t.sendBuffer = send;
    t.leastTimeout = least;
    t.reordering = reordering;
    t.sack = sack;
    t.timestamps = timestamps;
    t.windowScaling = scaling;
    t.pacing.slowStart = early;
    t.pacing.avoidance = later;
    t.pacing.most = most;
    return 0;
}

/** Count what passes a link instead of recording it, in bins of `width` ns; to be called before `lab_begin`. */
int64_t
lab_count(int64_t link, int64_t width)
{
    return Guarded([&]() -> int64_t {
        TheTally().links.push_back(link);
        TheTally().width = width;
        return 0;
    });
}

/** Look at the queues of counted links at an instant, in ns from the start; to be called in rising order. */
int64_t
lab_look(int64_t instant)
{
    return Guarded([&]() -> int64_t {
        TheTally().instants.push_back(instant);
        return 0;
    });
}

/** Set NUFTCP; `factor` and `weight` are in thousandths. */
int64_t
lab_nuftcp(int64_t factor, int64_t weight, int64_t quiet, int64_t readings, int64_t hold, int64_t marks,
           int64_t holdSack)
{
    NuftcpSettings& s = TheNuftcp();
    s.factor = factor / 1000.0;
    s.weight = weight / 1000.0;
    s.quiet = quiet;
    s.readings = readings;
    s.hold = hold;
    s.marks = marks;
    s.holdSack = holdSack;
    return 0;
}

/** Add a host with an address in 10.0.0.0/8; see Card::SetLine. */
int64_t
lab_host(int64_t address, int64_t rate, int64_t overhead, int64_t depth, int64_t limit, int64_t packets, int64_t memory)
{
    return Guarded([&]() -> int64_t {
        Lab& lab = TheLab();
        Host host;
        host.node = ns3::CreateObject<ns3::Node>();
        host.card = ns3::CreateObject<Card>();
        host.address = ns3::Ipv4Address(uint32_t(address));
        ns3::InternetStackHelper stack;
        stack.SetRoutingHelper(ns3::Ipv4StaticRoutingHelper());
        stack.SetIpv6StackInstall(false);
        stack.Install(host.node);
        host.card->SetAddress(ns3::Mac48Address::Allocate());
        host.card->SetMtu(lab.mtu);
        host.card->SetLine(rate, overhead, depth, limit, packets != 0, memory);
        host.node->AddDevice(host.card);
        auto ip = host.node->GetObject<ns3::Ipv4>();
        const uint32_t interface = ip->AddInterface(host.card);
        ip->AddAddress(interface, ns3::Ipv4InterfaceAddress(host.address, ns3::Ipv4Mask("255.0.0.0")));
        ip->SetUp(interface);
        lab.hosts.push_back(host);
        return lab.hosts.size() - 1;
    });
}

int64_t
lab_tcp(int64_t source, int64_t sink, int64_t port, int64_t size, int64_t start, int64_t connect, int64_t requested,
        const char* variant, int64_t ecn)
{
    return Guarded([&]() -> int64_t {
        Lab& lab = TheLab();
        Order order = OrderOf(lab, source, sink, port, size, start);
        order.connect = connect < 0 ? NEVER : connect;
        order.requested = requested;
        order.ecn = ecn;
        if (!ns3::TypeId::LookupByNameFailSafe(variant, &order.variant))
        {
            throw std::invalid_argument(std::string("ns-3 has no ") + variant);
        }
        lab.awaited++;
        lab.flows.push_back(std::make_unique<Transfer>(order, lab.transport, [&lab]() {
            if (--lab.awaited == 0)
            {
                ns3::Simulator::Stop();
            }
        }));
        return lab.flows.size() - 1;
    });
}

int64_t
lab_udp(int64_t source, int64_t sink, int64_t port, int64_t size, int64_t start, int64_t payload, int64_t burst,
        int64_t interval)
{
    return Guarded([&]() -> int64_t {
        Lab& lab = TheLab();
        Order order = OrderOf(lab, source, sink, port, size, start);
        lab.flows.push_back(std::make_unique<Bursts>(order, payload, burst, interval));
        return lab.flows.size() - 1;
    });
}

/** Run until all transfers are done, at most until `limit` ns; return the number of events. */
int64_t
lab_run(int64_t limit)
{
    return Guarded([&]() -> int64_t {
        Lab& lab = TheLab();
        for (auto& one : lab.switches)
        {
            one->Start(lab.start);
        }
        for (auto& flow : lab.flows)
        {
            flow->Begin();
        }
        ns3::Simulator::Stop(ns3::NanoSeconds(limit));
        ns3::Simulator::Run();
        TheRecords().Close();
        TheTally().Close();
        return ns3::Simulator::GetEventCount();
    });
}

int64_t
lab_now()
{
    return ns3::Simulator::Now().GetNanoSeconds();
}

/**
 * Put start, end (-1: none), received bytes, retransmissions and timeouts of a flow into `out`, and what its receiver
 * saw: segments that came ahead, newer versions, ACKs that were held, and how many of these were forgotten, or sent.
 */
int64_t
lab_outcome(int64_t number, int64_t* out)
{
    return Guarded([&]() -> int64_t {
        const Result result = TheLab().flows.at(number)->Outcome();
        out[0] = result.start == NEVER ? -1 : result.start;
        out[1] = result.end == NEVER ? -1 : result.end;
        out[2] = result.received;
        out[3] = result.retransmits;
        out[4] = result.timeouts;
        out[5] = result.seen.ahead;
        out[6] = result.seen.updates;
        out[7] = result.seen.held;
        out[8] = result.seen.forgotten;
        out[9] = result.seen.released;
        return 0;
    });
}

/** Return how many frames a host's own queue had no room for. */
int64_t
lab_lost(int64_t host)
{
    return Guarded([&]() -> int64_t { return TheLab().hosts.at(host).card->Lost(); });
}
}
