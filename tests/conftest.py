"""Settings of all tests."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "tanager",
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.load_profile("tanager")
