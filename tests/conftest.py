"""Settings of all tests: few examples, the same every time.

HYPOTHESIS_PROFILE=thorough takes more of them, and =search looks for new ones. Tests of any folder may import the
helpers that stand beside this file, and the experiments (``pythonpath`` in pyproject.toml).
"""

from hypothesis import HealthCheck, settings

from profiles import PROFILE

# No deadline: how long an example takes says nothing about it on a busy machine.
_COMMON = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.filter_too_much],
}
settings.register_profile("quick", derandomize=True, max_examples=6, **_COMMON)
settings.register_profile("thorough", derandomize=True, max_examples=25, **_COMMON)
settings.register_profile("search", database=None, max_examples=25, **_COMMON)
settings.load_profile(PROFILE)


def pytest_configure(config):
    """Examples follow from the source of a test; with a seed given, no key for a database is made from it as well."""
    if PROFILE != "search":
        config.option.hypothesis_seed = config.option.hypothesis_seed or 0
