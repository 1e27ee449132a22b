# SPDX-License-Identifier: Apache-2.0
"""Jails on the host: what a guest's kernel, and the compiler of a user's C, may reach."""
