# SPDX-License-Identifier: Apache-2.0
"""Runs: make, store, find, ship and verify them."""
