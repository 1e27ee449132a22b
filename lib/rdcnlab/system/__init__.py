# SPDX-License-Identifier: Apache-2.0
"""Services of the machine: places of files, locks, optional libraries, the progress bar."""
