# SPDX-License-Identifier: Apache-2.0
"""The P4 switch BMv2."""
