"""A sample of the programs of `stablehlo_ops.py`, which compares all of them with JAX."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest

jax: Any = pytest.importorskip("jax", reason="JAX is not installed")

STEP = 29
"""Every case of this number: some forty."""


def test_sampled_programs_agree_with_jax_or_are_refused_as_recorded() -> None:
    from stablehlo_cases import cases
    from stablehlo_ops import is_expected, judged

    faults: list[str] = []
    with jax.enable_x64(True):
        for case in islice(cases(), 0, None, STEP):
            outcome = judged(case)
            if not is_expected(case, outcome):
                faults.append(f"{outcome.kind} {case.name}: {outcome.reason[:300]}")
    assert not faults, "\n".join(faults)
