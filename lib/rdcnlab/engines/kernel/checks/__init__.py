# SPDX-License-Identifier: Apache-2.0
"""Checks of the kernel: its own selftests, random cases, and a comparison with the host's kernel."""
