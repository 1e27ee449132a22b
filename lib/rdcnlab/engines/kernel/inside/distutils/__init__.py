# SPDX-License-Identifier: Apache-2.0
"""The part of ``distutils`` that Mininet 2.3.0 imports; Python 3.12 removed the rest (mininet/mininet#1244).

It comes before the standard library's in the guest of every Python, so that all of them run the same code. It can go
with the first Mininet that does without.
"""
