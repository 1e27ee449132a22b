# SPDX-License-Identifier: Apache-2.0
"""A data frame that names the nearest column if it has not the one that is asked for."""

from __future__ import annotations

from typing import Any

import pandas as pd

from rdcnlab.fields.errors import RdcnlabError
from rdcnlab.fields.phrases import unknown


class ColumnError(RdcnlabError, KeyError):
    """A table has no such column."""

    __str__ = Exception.__str__  # of a KeyError it would be in quotes


class Table(pd.DataFrame):
    """A table of runs; what is made of it is a plain data frame."""

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    def __getitem__(self, key: Any) -> Any:
        """Return columns, or rows, as a data frame does.

        Raises
        ------
        ColumnError
            There is no such column.
        """
        try:
            return super().__getitem__(key)
        except ColumnError:
            raise
        except KeyError as error:
            names = [key] if isinstance(key, str) else key if isinstance(key, list) else []
            missing = next((name for name in names if name not in self.columns), None)
            if missing is None:
                raise
            raise ColumnError(unknown(missing, self.columns, "column")) from error
