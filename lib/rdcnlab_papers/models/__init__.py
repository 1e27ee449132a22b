# SPDX-License-Identifier: Apache-2.0
"""Models that are trained on stored runs."""
