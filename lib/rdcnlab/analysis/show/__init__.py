# SPDX-License-Identifier: Apache-2.0
"""What a scenario looks like: its network and its timetables, as a picture, as tables and as data.

`ways` says who goes where when, `rows` what there is and how fast it is; both need no matplotlib. `picture` draws them.
"""
