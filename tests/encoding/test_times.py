"""Times of rows come as numbers or dates and leave the door as seconds."""

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tanager import DataError
from tanager.encoding.validation import check_times

DAY = 86400.0


@pytest.mark.parametrize(
    "times",
    [
        [0.0, DAY],
        np.array([0, 86400]),
        ["1970-01-01", "1970-01-02T00:00:00"],
        [datetime(1970, 1, 1), datetime(1970, 1, 2)],
        [datetime(1970, 1, 1, tzinfo=UTC), datetime(1970, 1, 2, 1, tzinfo=timezone(timedelta(hours=1)))],
        np.array(["1970-01-01", "1970-01-02"], dtype="datetime64[D]"),
        pd.Series(pd.to_datetime(["1970-01-01", "1970-01-02"])),
        pa.chunked_array([pa.array(["1970-01-01", "1970-01-02"]).dictionary_encode()]),
        pa.chunked_array([pa.array([datetime(1970, 1, 1), datetime(1970, 1, 2)])]),
    ],
    ids=lambda times: type(times).__name__,
)
def test_all_ways_to_say_a_time_mean_the_same(times):
    np.testing.assert_array_equal(check_times(times, 2), [0.0, DAY])


def test_no_times_are_no_times():
    assert check_times(None, 3) is None


@pytest.mark.parametrize("times", [[0.0, None], [0.0, float("inf")], ["1970-01-01", "NaT"]], ids=str)
def test_every_row_needs_a_moment(times):
    with pytest.raises(DataError, match="row 1"):
        check_times(times, 2)


@pytest.mark.parametrize("times", [["soon", "later"], [b"x", b"y"], [[1.0], [2.0]], [1.0]], ids=str)
def test_what_is_no_time_is_refused(times):
    with pytest.raises(DataError, match="times"):
        check_times(times, 2)
