"""Random rearrangements of small tensors: each pass of fusion keeps what the program means."""

import numpy as np
import pytest
from random_layouts import Layouts

import lamina
from lamina.dialects.context import Context
from lamina.lowering.pipeline import pipeline, run_pipeline
from lamina.runtime.interpreters import run_module

pytestmark = pytest.mark.one_in(2)

TO_FUNCTIONS = ("outline-kernels", "inline-regions")
"""Passes after which constants come from a function of their own."""


def check(seed: int) -> None:
    """The interpreter's result after each pass, and the native one, are torch's."""
    program = Layouts(seed)
    text, wanted = program.text(), program.result
    module = lamina.parse(text)
    run_pipeline(module, pipeline(stop="loop"), Context())
    before = ""
    for spec in ("verify-loop", *pipeline(start="loop", stop="fused")):
        run_pipeline(module, [spec], Context())
        module.verify()
        if spec in TO_FUNCTIONS or str(module) == before:
            continue
        before = str(module)
        (found,) = run_module(module, program.inputs)
        np.testing.assert_array_equal(found, wanted, f"after {spec}, seed {seed}\n{text}")
    if seed % 30 == 0:
        found = lamina.compile(text, cache=False)(*program.inputs)
        np.testing.assert_array_equal(found, wanted, f"native, seed {seed}\n{text}")


@pytest.mark.parametrize("start", range(0, 150, 50))
def test_meaning_is_kept(start: int) -> None:
    for seed in range(start, start + 50):
        check(seed)


@pytest.mark.long
@pytest.mark.parametrize("start", [150, *range(1000, 11000, 500)])
def test_meaning_is_kept_of_many(start: int) -> None:
    for seed in range(start, start + 500):
        check(seed)
