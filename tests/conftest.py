"""Settings of all tests: few examples, the same every time.

HYPOTHESIS_PROFILE=thorough takes more of them, and =search looks for new ones. Tests of any folder may import the
helpers that stand beside this file, and the experiments (``pythonpath`` in pyproject.toml).
"""

import gc
from collections import defaultdict

import pytest
from hypothesis import HealthCheck, settings

from profiles import PROFILE, THOROUGH
from tanager.encoding import policy, summary

# No deadline: how long an example takes says nothing about it on a busy machine.
_COMMON = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.filter_too_much],
}
settings.register_profile("quick", derandomize=True, max_examples=4, **_COMMON)
settings.register_profile("thorough", derandomize=True, max_examples=25, **_COMMON)
settings.register_profile("search", database=None, max_examples=25, **_COMMON)
settings.load_profile(PROFILE)
MOST_CASES = 4


def pytest_configure(config):
    """Examples follow from the source of a test; with a seed given, no key for a database is made from it as well."""
    if PROFILE != "search":
        config.option.hypothesis_seed = config.option.hypothesis_seed or 0
    gc.disable()  # thousands of tests are collected, and all of them stay


def pytest_collection_modifyitems(config, items):
    """Of a test with many cases, a quick run of all tests takes four, evenly spread; a run of some files takes all."""
    if THOROUGH or config.args_source is not config.ArgsSource.TESTPATHS:
        return
    cases = defaultdict(list)
    for item in items:
        cases[item.nodeid.partition("[")[0]].append(item)
    chosen = {id(item) for group in cases.values() for item in group[:: -(-len(group) // MOST_CASES)]}
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in chosen])
    items[:] = [item for item in items if id(item) in chosen]


def pytest_collection_finish():
    """What was collected is not looked through again by each collection of garbage, and collections are few."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


@pytest.fixture(scope="module", autouse=True)
def _columns_stay(request):
    """Tables that are drawn at random often have a column of one value, which is there to be learned.

    Tests of what is left out of tables say so: ``LEAVES_OUT = True`` in their module.
    """
    with pytest.MonkeyPatch.context() as patch:
        if not getattr(request.module, "LEAVES_OUT", False):
            for module in (policy, summary):
                patch.setattr(module, "may_leave_out", lambda i, rules: False)
        yield
