# SPDX-License-Identifier: GPL-2.0-only
"""The patched kernel of rdcnlab, built; ``manifest.json`` says from what, and ``source`` has what built it."""
