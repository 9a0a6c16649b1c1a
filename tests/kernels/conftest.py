"""Tests of kernels may choose an instruction set; afterwards the best one is in use again."""

import pytest

from tanager import _kernels


@pytest.fixture(autouse=True)
def _back_to_the_best_level():
    yield
    _kernels.set_cpu_level("auto")
