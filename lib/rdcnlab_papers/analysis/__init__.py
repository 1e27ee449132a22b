# SPDX-License-Identifier: Apache-2.0
"""What only the figures of papers measure."""
