# SPDX-License-Identifier: Apache-2.0
"""What is where in a crate."""

from __future__ import annotations

#: The runs, ``results/<paper>/<item>``, as `rdcnlab.runs.shipped` has them.
RESULTS = "results"
#: The scorecard of each column.
VERDICTS = "verdicts.json"
#: The scenario of each run, by its hash.
SCENARIOS = "scenarios.json"
#: What made the runs, and what judged them.
VERSIONS = "versions.json"
#: The lock of the Python packages.
LOCK = "requirements.lock"
FIGURES = "figures"
METADATA = "ro-crate-metadata.json"
#: Bytes that a crate may have when it is unpacked, and files.
MOST_B = 2**32
MOST_FILES = 10_000
