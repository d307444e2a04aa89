"""Hypothesis profiles: `default` repeats the same cases on each run, `conformance` searches.

Of tests marked `one_in(n)` the short run takes the first case and about one in n of the others,
drawn by their names; `make conformance` takes all.

Whoever runs the tests may have calibrated the machine: decisions here are those of one that is not.

Processes of the run share the cores: threads of a team that wait leave their core to others
(`OMP_WAIT_POLICY`; small calls of eager mode on loaded cores take a sixth of the CPU time so).
"""

import gc
import logging
import os
import sys
import zlib

import pytest
from hypothesis import HealthCheck, settings

os.environ["LAMINA_TARGET_FILE"] = ""
os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # read when torch is loaded

_SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large]

settings.register_profile(
    "default", max_examples=30, deadline=None, derandomize=True, suppress_health_check=_SLOW_IS_FINE
)
settings.register_profile(
    "conformance", max_examples=1000, deadline=None, suppress_health_check=_SLOW_IS_FINE
)
settings.load_profile("default")


@pytest.hookimpl(tryfirst=True)  # before `-m` looks at the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Cases that `one_in` leaves out are `long`."""
    seen: set[str] = set()
    for item in items:
        mark = item.get_closest_marker("one_in")
        function = item.nodeid.partition("[")[0]
        if mark and function in seen and zlib.crc32(item.nodeid.encode()) % mark.args[0]:
            item.add_marker(pytest.mark.long)
        seen.add(function)


def pytest_collection_finish() -> None:
    """What stays for the whole run is not looked through by each collection in a test."""
    pytest_runtest_logstart()
    gc.freeze()


def pytest_runtest_logstart() -> None:
    """Graphs and guards are not written for torch's trace, nor guards timed for its log.

    Pytest listens to each logger that does not propagate, and torch makes a trace as soon as its
    logger has a handler. The time of guards is taken behind 30 ms that flush the caches.
    """
    if "torch" in sys.modules:
        logging.getLogger("torch.__trace").propagate = True
    if guards := sys.modules.get("torch._dynamo.guards"):
        guards.profile_guard_manager = lambda *_: 0.0
