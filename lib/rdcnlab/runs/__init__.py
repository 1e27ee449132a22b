# SPDX-License-Identifier: Apache-2.0
"""Runs: made, kept, found, shipped, compared with what was there."""
