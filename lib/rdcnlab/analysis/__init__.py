# SPDX-License-Identifier: Apache-2.0
"""From tables to tables and figures."""
