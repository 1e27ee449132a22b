# SPDX-License-Identifier: Apache-2.0
"""Traffic from programs that are not part of rdcnlab."""
