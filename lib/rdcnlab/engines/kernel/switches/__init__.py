# SPDX-License-Identifier: Apache-2.0
"""Switches other than our own kernel's."""
