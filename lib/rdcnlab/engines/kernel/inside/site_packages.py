# SPDX-License-Identifier: Apache-2.0
"""Find the packages of an environment, but run nothing that it would run when Python starts.

Calls that fail may take virtual time, and what a thread has used decides who comes first at an instant. So a run must
not depend on ``.pth`` files, such as that of an editable installation, or on a ``sitecustomize``. Python is started
with ``-S`` here, and the first module calls `find`. (``-I`` would ignore ``PYTHONHASHSEED``, too.)
"""

from __future__ import annotations

import sys


def find() -> None:
    """Add the directories of packages to the path."""
    if sys.flags.no_site:
        import site

        site.addpackage = site.execsitecustomize = lambda *_: None
        site.main()
