# SPDX-License-Identifier: Apache-2.0
"""The part of ``distutils`` that Mininet 2.3.0 imports; Python 3.12 removed the rest (mininet/mininet#1244).

The guest finds it before the standard library's ``distutils``, with every version of Python, so that all versions run
the same code. It can be removed as soon as Mininet does not import ``distutils`` any more.
"""
