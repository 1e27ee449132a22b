# SPDX-License-Identifier: Apache-2.0
"""What an item is: a figure or a table of a paper, its claims, and its verdicts."""
