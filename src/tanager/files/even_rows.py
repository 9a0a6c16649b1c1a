"""A sample of a file that is spread evenly over it, while it is read once."""

from __future__ import annotations

import pyarrow as pa

from tanager.files.source import every


class EvenRows:
    """Every row, or every second, fourth, ... one, so that no more than a given number are kept.

    For a sample of a file of unknown length that is read once.

    Parameters
    ----------
    most : int
        The largest number of rows that are kept. 0 keeps none.

    Attributes
    ----------
    step : int
        Every row of this number is kept: a power of two, which doubles when there are too many.
    seen : int
        How many rows have come.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tanager.files import EvenRows
    >>> kept = EvenRows(most=4)
    >>> for start in (0, 5, 10, 15):
    ...     kept.add(pa.table({"row": range(start, start + 5)}))
    >>> kept.table()["row"].to_pylist(), kept.step, kept.seen
    ([0, 8, 16], 8, 20)
    """

    def __init__(self, most: int) -> None:
        self.most, self.step, self.seen = most, 1, 0
        self._parts: list[pa.Table] = []

    def expect(self, n_rows: float) -> None:
        """So many rows may come: no need to keep them all first. Half as many will do, should it be a bad guess.

        Parameters
        ----------
        n_rows : float
            A guess of how many rows will come in all.
        """
        while self.most and n_rows / 2 > self.most * self.step:
            self.step *= 2

    def add(self, table: pa.Table) -> None:
        """Keep some of these rows.

        Parameters
        ----------
        table : pyarrow.Table
            The next rows, with the same columns each time.
        """
        if self.most == 0:
            return
        self._parts.append(every(table, self.step, -self.seen % self.step))
        self.seen += table.num_rows
        while sum(part.num_rows for part in self._parts) > self.most:
            self._parts = [every(pa.concat_tables(self._parts), 2)]
            self.step *= 2

    def table(self) -> pa.Table:
        """The rows kept.

        Returns
        -------
        pyarrow.Table
            In the order in which they came.
        """
        return pa.concat_tables(self._parts)
