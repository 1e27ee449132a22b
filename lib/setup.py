# SPDX-License-Identifier: Apache-2.0
"""What the wheel of the papers contains beside the code: claims, shipped runs, models and notebooks.

In the source tree they stand beside ``lib``, where `rdcnlab.system.places` finds them. In a wheel they are copies
inside the package, in directories of the same names. Everything else about the build is in ``lib/pyproject.toml``.
"""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

#: Directories and files at the root of the source tree that an installed package needs.
TRAVELS = ("data", "notebooks")
#: What programs leave in these directories.
LEFT_BEHIND = shutil.ignore_patterns("__pycache__", ".*", "*.pyc")


class WithTree(build_py):
    """Copy the directories of `TRAVELS` into the package."""

    def run(self) -> None:
        """Build as usual, then copy. An editable installation uses the source tree itself."""
        super().run()
        if self.editable_mode:
            return
        root, package = Path(__file__).resolve().parents[1], Path(self.build_lib) / "rdcnlab_papers"
        for name in TRAVELS:
            source, target = root / name, package / name
            if source.is_dir():
                # from an earlier build, which may have files that are no longer there
                shutil.rmtree(target, ignore_errors=True)
                shutil.copytree(source, target, ignore=LEFT_BEHIND)
            else:
                shutil.copy(source, target)


setup(cmdclass={"build_py": WithTree})
