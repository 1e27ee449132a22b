/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Flows: a transfer over TCP, and bursts of datagrams, as tools/traffic_{tcp,udp}.c of the kernel engine.
 */
#ifndef RDCNLAB_TRANSFER_H
#define RDCNLAB_TRANSFER_H

#include "socket.h"

#include "ns3/ipv4-address.h"
#include "ns3/node.h"
#include "ns3/type-id.h"

#include <functional>

namespace rdcnlab
{

/** A host: its node, its card, its address. */
struct Host
{
    ns3::Ptr<ns3::Node> node;
    ns3::Ptr<Card> card;
    ns3::Ipv4Address address;
};

/** Settings of TCP, for all flows. */
struct Transport
{
    uint32_t segment{1448};      //!< payload of a full packet
    uint32_t receiveBuffer{0};   //!< payload that a receiver has room for
    uint32_t sendBuffer{0};      //!< payload that a sender keeps
    Nanoseconds leastTimeout{0}; //!< smallest retransmission timeout
    uint32_t reordering{3};
    bool sack{true};
    bool timestamps{true};
    bool windowScaling{true};
    Pacing pacing;
};

/** What became of a flow; times in ns, NEVER if not. */
struct Result
{
    Nanoseconds start{NEVER};
    Nanoseconds end{NEVER};
    uint64_t received{0};
    uint64_t retransmits{0};
    uint64_t timeouts{0};
    Socket::Seen seen;
};

class Flow
{
  public:
    virtual ~Flow() = default;
    /** Prepare everything that comes before the start. */
    virtual void Begin() = 0;
    virtual Result Outcome() const = 0;
};

/** What a transfer is asked to do. */
struct Order
{
    Host source;
    Host sink;
    uint16_t port{0};
    uint64_t size{0};
    Nanoseconds start{0};
    Nanoseconds connect{NEVER}; //!< when the connection is opened, if that is ahead of the start
    bool requested{false};      //!< whether the sink connects and asks for the data
    ns3::TypeId variant;
    bool ecn{false};
};

class Transfer : public Flow
{
  public:
    /** @param done called when the sender knows that all data has arrived */
    Transfer(const Order& order, const Transport& transport, std::function<void()> done);

    void Begin() override;
    Result Outcome() const override;

  private:
    ns3::Ptr<Socket> Make(const Host& host) const;
    void Listen();
    void Open();
    void Connected();
    void Accepted(ns3::Ptr<ns3::Socket> socket);
    void Sends(ns3::Ptr<Socket> socket);
    void Takes(ns3::Ptr<Socket> socket);
    void Write();
    void Read();
    void ReadRequest();
    void Started();

    Order m_order;
    Transport m_transport;
    std::function<void()> m_done;
    ns3::Ptr<Socket> m_listener;
    ns3::Ptr<Socket> m_client; //!< the end that connects
    ns3::Ptr<Socket> m_sender;
    ns3::Ptr<Socket> m_receiver;
    uint64_t m_written{0};
    uint64_t m_asked{0}; //!< bytes of the request that the sender has
    bool m_sending{false};
    Result m_result;
};

class Bursts : public Flow
{
  public:
    Bursts(const Order& order, uint32_t payload, uint32_t burst, Nanoseconds interval);

    void Begin() override;
    Result Outcome() const override;

  private:
    void Burst();
    void Send();
    void Read();

    Order m_order;
    uint32_t m_payload;
    uint32_t m_burst;
    Nanoseconds m_interval;
    uint32_t m_left{0}; //!< datagrams of the present burst
    uint64_t m_sent{0};
    ns3::Ptr<ns3::Socket> m_sender;
    ns3::Ptr<ns3::Socket> m_receiver;
    Result m_result;
};

} // namespace rdcnlab

#endif
