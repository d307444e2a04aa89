"""Hypothesis profiles: `default` repeats the same cases on each run, `conformance` searches.

Whoever runs the tests may have calibrated the machine: decisions here are those of one that is not.
"""

import gc
import os

from hypothesis import HealthCheck, settings

os.environ["LAMINA_TARGET_FILE"] = ""

_SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large]

settings.register_profile(
    "default", max_examples=30, deadline=None, derandomize=True, suppress_health_check=_SLOW_IS_FINE
)
settings.register_profile(
    "conformance", max_examples=1000, deadline=None, suppress_health_check=_SLOW_IS_FINE
)
settings.load_profile("default")


def pytest_collection_finish() -> None:
    """What stays for the whole run is not looked through by each collection in a test."""
    gc.freeze()
