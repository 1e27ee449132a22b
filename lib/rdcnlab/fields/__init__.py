# SPDX-License-Identifier: Apache-2.0
"""What a field may hold: quantities with units, and errors that name field, value and what is allowed."""
