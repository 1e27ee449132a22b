# SPDX-License-Identifier: Apache-2.0
"""Show a scenario: its network and its timetables, as a picture, as tables and as data.

`ways` computes which way each flow takes at each time. `rows` lists the parts of the network with their rates. Both
work without matplotlib. `picture` draws them.
"""
