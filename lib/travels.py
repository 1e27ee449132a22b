# SPDX-License-Identifier: Apache-2.0
"""What wheels contain beside the code. Both `setup.py` use it; no wheel has this file.

In the source tree these directories and files stand beside ``lib``, where `rdcnlab.system.places` finds them. In a
wheel they are copies inside the package, with the same names.
"""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parents[1]
#: What programs leave in these directories.
LEFT_BEHIND = shutil.ignore_patterns("__pycache__", ".*", "*.pyc")


def wheel(package: str, names: tuple[str, ...]) -> None:
    """Run setuptools, with copies of directories and files of the tree in the package."""

    class WithTree(build_py):
        """Copy them after the code. An editable installation uses the source tree itself."""

        def run(self) -> None:
            """Build as usual, then copy."""
            super().run()
            if self.editable_mode:
                return
            for name in names:
                source, target = ROOT / name, Path(self.build_lib) / package / name
                if source.is_dir():
                    # from an earlier build, which may have files that are no longer there
                    shutil.rmtree(target, ignore_errors=True)
                    shutil.copytree(source, target, ignore=LEFT_BEHIND)
                else:
                    shutil.copy(source, target)

    setup(cmdclass={"build_py": WithTree})
