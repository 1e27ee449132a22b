# SPDX-License-Identifier: Apache-2.0
"""A figure that travels: one archive with its scenarios, runs, picture, verdicts and versions, which verifies itself.

The archive is a Research Object Crate (RO-Crate 1.1, profile *Process Run Crate*), so that repositories of research
data can read what is in it. Its runs have the form of `rdcnlab.runs.shipped`, so all that holds for shipped runs holds
for them: no other bytes are read than those that are listed.
"""

from rdcnlab_papers.app.crate.check import Checked, check
from rdcnlab_papers.app.crate.write import write

__all__ = ["Checked", "check", "write"]
