/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A switch: frames that come in by a port are classified, travel over at most one link inside the switch and the egress
 * link of their port, and leave; see drivers/net/ocs/{classify,receive}.c of the patches.
 */
#ifndef RDCNLAB_SWITCH_H
#define RDCNLAB_SWITCH_H

#include "timetable.h"

#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

namespace rdcnlab
{

/** A rule; a field of 0 matches everything. */
struct Rule
{
    uint32_t priority{0};
    Traffic* traffic{nullptr};
    int32_t port{-1}; //!< the port a frame came in by; -1: any
    uint8_t protocol{0};
    uint32_t source{0};
    uint32_t destination{0};
    uint16_t sport{0};
    uint16_t dport{0};
};

class Switch
{
  public:
    Switch(uint64_t seed, uint32_t mtu);

    /** Where frames leave the switch by a port. */
    using Exit = std::function<void(Frame*)>;

    Pool* AddPool();
    Link& AddLink(uint16_t number);
    /** Add a port and return its number. */
    uint16_t AddPort(Exit exit);
    Link& Ingress(uint16_t port);
    Link& Egress(uint16_t port);
    /** Let a link inside the switch end at a port, instead of at the frame's own. */
    void EndAt(Link& link, uint16_t port);
    Traffic& AddTraffic(uint16_t number);
    /** Return a class or a link that was added; raise std::out_of_range if there is none. */
    Traffic& FindTraffic(uint16_t number);
    Link& FindLink(uint16_t number);
    Pool* FindPool(uint32_t number);
    /** Add a rule; the lowest priority wins, among equals the oldest. */
    void AddRule(const Rule& rule);
    /** Let frames to an address leave by a port. */
    void AddAddress(uint32_t address, uint16_t port);
    void Start(Nanoseconds epoch);

    /** A frame comes in by a port. */
    void Receive(uint16_t port, Frame* frame);

  private:
    struct Port
    {
        std::unique_ptr<Link> ingress;
        std::unique_ptr<Link> egress;
        Exit exit;
    };

    void Enter(uint16_t port, Frame* frame, Nanoseconds now);
    void Leave(uint16_t port, Frame* frame);
    void Pass(Traffic& traffic, Frame* frame, Nanoseconds now);
    void EndOfLink(Link* link, Frame* frame, Nanoseconds now);
    Traffic* Classify(uint16_t port, const Frame& frame);

    uint64_t m_seed;
    uint32_t m_longest; //!< bytes of the longest frame that leaves
    Timetables m_timetables;
    std::vector<Port> m_ports;
    std::map<uint16_t, std::unique_ptr<Link>> m_links;
    std::map<const Link*, uint16_t> m_ends;
    std::vector<std::unique_ptr<Pool>> m_pools;
    std::vector<Rule> m_rules;
    std::unordered_map<uint32_t, uint16_t> m_addresses;
    /** Results of `Classify`, by addresses and by ports: there are few flows and many packets. */
    std::unordered_map<uint64_t, std::unordered_map<uint64_t, Traffic*>> m_known;
};

} // namespace rdcnlab

#endif
