# SPDX-License-Identifier: Apache-2.0
"""What is held against the kernel: its own tests, random cases, the host's kernel."""
