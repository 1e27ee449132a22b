# SPDX-License-Identifier: Apache-2.0
"""Compute result tables and figures from the tables of runs."""
