# SPDX-License-Identifier: Apache-2.0
"""What a guest left, as tables."""
