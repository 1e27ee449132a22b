# SPDX-License-Identifier: Apache-2.0
"""A learning switch, for applications that derive from Ryu's ``ryu.app.simple_switch_13``, which os-ken does not have.

It has the class and the methods that such applications extend, and does what Ryu's does: each switch learns the port of
a frame's sender, has an entry for each pair of hosts whose ports it knows, and floods all other frames.
"""

from __future__ import annotations

from typing import Any

from os_ken.base.app_manager import OSKenApp
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import ether_types, ethernet, packet
from os_ken.ofproto import ofproto_v1_3


class SimpleSwitch13(OSKenApp):
    """A learning switch of OpenFlow 1.3; ``mac_to_port`` has the ports of addresses, by the name of the switch."""

    OFP_VERSIONS = (ofproto_v1_3.OFP_VERSION,)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.mac_to_port: dict[Any, dict[str, int]] = {}

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def switch_features_handler(self, ev: Any) -> None:
        """Let a new switch send to the controller what no entry matches."""
        path = ev.msg.datapath
        make, known = path.ofproto_parser, path.ofproto
        whole = make.OFPActionOutput(known.OFPP_CONTROLLER, known.OFPCML_NO_BUFFER)
        self.add_flow(path, 0, make.OFPMatch(), [whole])

    def add_flow(self, datapath: Any, priority: int, match: Any, actions: list[Any], buffer_id: Any = None) -> None:
        """Add an entry: what matches is treated by the actions."""
        make, known = datapath.ofproto_parser, datapath.ofproto
        doing = [make.OFPInstructionActions(known.OFPIT_APPLY_ACTIONS, actions)]
        held = {"buffer_id": buffer_id} if buffer_id else {}
        datapath.send_msg(make.OFPFlowMod(datapath, priority=priority, match=match, instructions=doing, **held))

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def _packet_in_handler(self, ev: Any) -> None:
        """Learn the sender's port, and send the frame on."""
        msg, path = ev.msg, ev.msg.datapath
        make, known, port = path.ofproto_parser, path.ofproto, msg.match["in_port"]
        frame = packet.Packet(msg.data).get_protocol(ethernet.ethernet)
        if frame.ethertype == ether_types.ETH_TYPE_LLDP:
            return
        learnt = self.mac_to_port.setdefault(format(path.id, "d").zfill(16), {})
        learnt[frame.src] = port
        actions = [make.OFPActionOutput(learnt.get(frame.dst, known.OFPP_FLOOD))]
        held = msg.buffer_id != known.OFP_NO_BUFFER
        if frame.dst in learnt:
            match = make.OFPMatch(in_port=port, eth_dst=frame.dst, eth_src=frame.src)
            self.add_flow(path, 1, match, actions, msg.buffer_id if held else None)
            if held:
                return
        out = make.OFPPacketOut(path, msg.buffer_id, port, actions, None if held else msg.data)
        path.send_msg(out)
