# SPDX-License-Identifier: Apache-2.0
"""Make tables from the files that a guest wrote."""
