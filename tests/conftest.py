"""Settings of all tests: the same examples every time; HYPOTHESIS_PROFILE=search looks for new ones.

Tests of any folder may import the helpers that stand beside this file, and the experiments.
"""

import os
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

_COMMON = {
    "max_examples": 25,
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.filter_too_much],
}
settings.register_profile("tanager", derandomize=True, **_COMMON)
settings.register_profile("search", database=None, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "tanager"))
