# SPDX-License-Identifier: Apache-2.0
"""What the machine has: places of files, locks, optional libraries, the progress bar."""
