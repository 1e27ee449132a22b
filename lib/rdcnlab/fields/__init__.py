# SPDX-License-Identifier: Apache-2.0
"""Types of fields: quantities with units, and errors that name field, value and what is allowed."""
