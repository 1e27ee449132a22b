# SPDX-License-Identifier: Apache-2.0
"""Fewer points of a curve for a picture of limited width, without losing its extremes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Envelope:
    """Mean, least and largest value of groups of neighbouring bins.

    Parameters
    ----------
    t : ndarray, shape (n + 1,)
        Edges of the groups, in the unit of the bins' width.
    mean, low, high : ndarray, shape (n,)
        Values of each group.
    """

    t: Floats
    mean: Floats
    low: Floats
    high: Floats

    @property
    def exact(self) -> bool:
        """Whether each group is one bin."""
        return bool(np.array_equal(self.low, self.high))


def envelope(values: npt.ArrayLike, width: float, most: int) -> Envelope:
    """Join neighbouring bins so that at most `most` groups are left.

    Parameters
    ----------
    values : array_like, shape (m,)
        One value for each bin; the first bin begins at 0.
    width : float
        Width of a bin.
    most : int
        Largest number of groups.

    Examples
    --------
    >>> joined = envelope([1, 5, 2, 4], width=1.0, most=2)
    >>> joined.mean.tolist(), joined.low.tolist(), joined.high.tolist(), joined.t.tolist()
    ([3.0, 3.0], [1.0, 2.0], [5.0, 4.0], [0.0, 2.0, 4.0])
    """
    bins = np.asarray(values, dtype=np.float64)
    size = max(1, -(-len(bins) // most))
    begins = np.arange(0, len(bins), size)
    counts = np.diff(np.append(begins, len(bins)))
    if not len(bins):
        return Envelope(np.zeros(1), bins, bins, bins)
    mean = np.add.reduceat(bins, begins) / counts
    edges = np.append(begins, len(bins)) * width
    return Envelope(edges, mean, np.minimum.reduceat(bins, begins), np.maximum.reduceat(bins, begins))


def extremes(values: npt.ArrayLike, most: int) -> npt.NDArray[np.int64]:
    """Return the positions of points that draw the same curve at up to ``most / 4`` pixels.

    The curve is divided into equal groups of points. Of each group, the first, the last, the least and the largest
    point stay (M4 aggregation: Jugel et al., PVLDB 7(10), 2014). A peak of a single point stays.

    Parameters
    ----------
    values : array_like, shape (n,)
        Values in the order of time.
    most : int
        Largest number of points, at least 4. A curve with no more points keeps all of them.

    Returns
    -------
    ndarray of int
        Positions in rising order.

    Examples
    --------
    >>> extremes([0, 0, 9, 0, 0, 0, 0, 0, -5, 0, 0, 0], most=8).tolist()
    [0, 2, 5, 6, 8, 11]
    """
    y = np.asarray(values, dtype=np.float64)
    if len(y) <= most:
        return np.arange(len(y))
    size = -(-len(y) // (most // 4))
    begins = np.arange(0, len(y), size)
    lengths = np.diff(np.append(begins, len(y)))
    rows = np.full((len(begins), size), np.nan)
    rows.ravel()[: len(y)] = y
    # a group without any number has no extreme; its first point stands for it
    least = np.where(np.isnan(rows), np.inf, rows).argmin(axis=1)
    largest = np.where(np.isnan(rows), -np.inf, rows).argmax(axis=1)
    kept = np.concatenate([begins, begins + lengths - 1, begins + least, begins + largest])
    return np.unique(kept).astype(np.int64)
