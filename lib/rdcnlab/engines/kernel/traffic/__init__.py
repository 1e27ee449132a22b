# SPDX-License-Identifier: Apache-2.0
"""Programs of others that make traffic."""
