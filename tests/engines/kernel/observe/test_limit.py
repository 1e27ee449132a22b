# SPDX-License-Identifier: Apache-2.0
"""The counters of a flow that is cut at the limit have their values at the limit."""

from __future__ import annotations

import pytest

from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest

pytestmark = [pytest.mark.guest, pytest.mark.slow]

CASES = {
    "tdtcp": {"notify": {}, "transport": {"tdtcp": True}, "cc": "dctcp"},
    "mptcp": {"notify": {}, "protocol": "mptcp", "cc": "cubic"},
}


@pytest.mark.parametrize("case", CASES)
def test_counts_of_cut_flows(run_guest: RunGuest, case: str) -> None:
    """For each flow the kernel's counters give the same number as its traces, which are cut at the limit."""
    settings = dict(CASES[case])
    flow = {
        "name": "flow-[1-16]",
        "size": "100 GiB",
        **{k: settings.pop(k) for k in ("cc", "protocol") if k in settings},
    }
    scenario = Scenario.from_dict({"network": "tdtcp", "limit": "60 ms", "flows": [flow], **settings})
    tables = run_guest(scenario).tables
    flows = tables["flows"].set_index("flow")
    retransmitted = tables["events"].query("event == 'retransmit'")["flow"].value_counts()
    assert flows["retransmits"].to_dict() == retransmitted.reindex(flows.index, fill_value=0).to_dict()
    assert flows["retransmits"].sum() > 100
    # with 16 packets of queue for 16 flows, a whole window is lost from time to time
    assert flows["timeouts"].sum() > 0
    assert not flows["finished"].any()
    receiver = tables["throughput"].query("where == 'receiver'").groupby("flow")["bytes"].sum()
    assert (flows["received_B"] <= receiver.reindex(flows.index, fill_value=0)).all()
    assert flows["received_B"].sum() > 0.9 * receiver.sum()
