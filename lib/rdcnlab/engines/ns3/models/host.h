/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The network card of a host: a queue, and behind it the line, as that of the kernel's cards (drivers/net/ocs/card.c):
 * one frame at a time, and the n-th of frames back to back leaves at the n-fold time, rounded up once.
 *
 * Or a token bucket with the rate of the line, as `tbf` shapes the hosts of the kernel engine in networks that ask for
 * it. The bucket holds one frame, or as much as the card's memory takes; behind it is the ingress link of the switch's
 * port.
 *
 * ns-3 has no TCP small queues and no send buffers of UDP. The card counts the bytes of each sender in its queue, and
 * tells a sender when one of its frames has left.
 */
#ifndef RDCNLAB_HOST_H
#define RDCNLAB_HOST_H

#include "frame.h"

#include "ns3/event-id.h"
#include "ns3/mac48-address.h"
#include "ns3/net-device.h"

#include <deque>
#include <functional>
#include <unordered_map>

namespace rdcnlab
{

class Card : public ns3::NetDevice
{
  public:
    static ns3::TypeId GetTypeId();

    /**
     * Settings of the line; `depth` is the bucket's in ns of line time, or 0 for an exact line, `limit` that of the queue
     * in bytes, or in packets if `packets`. Frames in the card's `memory`, in bytes on the line, are not in the queue.
     */
    void SetLine(uint64_t rate, uint32_t overhead, Nanoseconds depth, uint64_t limit, bool packets, uint64_t memory);
    /** Where frames go once they have left the host. */
    void SetExit(std::function<void(Frame*)> exit);
    /** A frame arrives from the switch. */
    void Deliver(Frame* frame);

    /** Be told when frames to a port have left; `left` may send. */
    void Watch(uint16_t dport, std::function<void()> left);
    /** Be told the version of each frame of TCP that arrives for a port, before the host has it. */
    void Listen(uint16_t dport, std::function<void(uint8_t)> arrives);
    /** Bytes of frames to a watched port in the queue. */
    uint64_t Waiting(uint16_t dport) const;
    /** Frames that found no room in the queue. */
    uint64_t Lost() const
    {
        return m_lost;
    }

    void SetIfIndex(const uint32_t index) override;
    uint32_t GetIfIndex() const override;
    ns3::Ptr<ns3::Channel> GetChannel() const override;
    void SetAddress(ns3::Address address) override;
    ns3::Address GetAddress() const override;
    bool SetMtu(const uint16_t mtu) override;
    uint16_t GetMtu() const override;
    bool IsLinkUp() const override;
    void AddLinkChangeCallback(ns3::Callback<void> callback) override;
    bool IsBroadcast() const override;
    ns3::Address GetBroadcast() const override;
    bool IsMulticast() const override;
    ns3::Address GetMulticast(ns3::Ipv4Address group) const override;
    ns3::Address GetMulticast(ns3::Ipv6Address address) const override;
    bool IsBridge() const override;
    bool IsPointToPoint() const override;
    bool Send(ns3::Ptr<ns3::Packet> packet, const ns3::Address& to, uint16_t protocol) override;
    bool SendFrom(ns3::Ptr<ns3::Packet> packet,
                  const ns3::Address& from,
                  const ns3::Address& to,
                  uint16_t protocol) override;
    ns3::Ptr<ns3::Node> GetNode() const override;
    void SetNode(ns3::Ptr<ns3::Node> node) override;
    bool NeedsArp() const override;
    void SetReceiveCallback(ReceiveCallback callback) override;
    void SetPromiscReceiveCallback(PromiscReceiveCallback callback) override;
    bool SupportsSendFrom() const override;

  protected:
    void DoDispose() override;

  private:
    struct Sender
    {
        uint64_t waiting{0};
        std::function<void()> left;
    };

    Nanoseconds Cost(const Frame& frame) const;
    void Serve();
    bool IsFull(const Frame& frame) const;
    void Begin();
    void End();
    void Leave(Frame* frame);
    void Accept(ns3::Ptr<ns3::Packet> packet, uint16_t dport, uint8_t version);

    uint64_t m_rate{1};
    uint32_t m_overhead{0};
    Nanoseconds m_depth{0};
    uint64_t m_limit{0};
    bool m_packets{false};
    uint64_t m_memory{0};
    Nanoseconds m_end{0};   //!< of the frame on the line, or the last one
    uint64_t m_early{0};    //!< how much before `m_end` it really was, in 1 / rate ns
    Frame* m_sent{nullptr}; //!< on the line
    Nanoseconds m_tokens{0}; //!< in ns of line time
    Nanoseconds m_counted{0};
    std::deque<Frame*> m_queue;
    uint64_t m_bytes{0};
    uint64_t m_lost{0};
    bool m_serving{false};
    ns3::EventId m_timer;
    std::function<void(Frame*)> m_exit;
    std::unordered_map<uint16_t, Sender> m_senders;
    std::unordered_map<uint16_t, std::function<void(uint8_t)>> m_listeners;
    ns3::Ptr<ns3::Node> m_node;
    ns3::Mac48Address m_address;
    ReceiveCallback m_receive;
    uint32_t m_index{0};
    uint16_t m_mtu{1500};
};

} // namespace rdcnlab

#endif
