# SPDX-License-Identifier: Apache-2.0
"""Comparisons that belong to no paper: any transport on any network under any workload, and questions about them."""
