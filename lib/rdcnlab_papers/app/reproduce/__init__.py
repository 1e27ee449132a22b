# SPDX-License-Identifier: Apache-2.0
"""Reproduce items as a reader would: make the missing runs, execute the notebooks, save their figures."""
