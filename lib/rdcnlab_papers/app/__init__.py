# SPDX-License-Identifier: Apache-2.0
"""Commands, pages and archives of the papers."""
