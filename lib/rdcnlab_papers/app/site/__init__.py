# SPDX-License-Identifier: Apache-2.0
"""The report and the web site: every figure beside the paper's values, every verdict, all notebooks and documents."""
