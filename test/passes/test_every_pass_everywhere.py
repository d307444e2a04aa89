"""Every pass of the registry on IR of every state: refused with a message, or it keeps the meaning.

So once and twice, and in random orders of a few. The short form takes a sample.
"""

import random

import numpy as np
import pytest
from pass_trials import PROGRAMS, STATES, run, trial

from lamina.passes.registry import PASSES

OUTWARD = ("convert-scheduled-to-mlir",)
"""Passes whose programs are for other tools: all memory is an argument of them, and nothing says
what it is for. `test_mlir_text.py` has MLIR run them, where it is installed."""

LEAST_MESSAGE = 15
"""Characters of a message that says something."""


def check(name: str, state: str, passes: list[str]) -> None:
    """One trial; native code is looked at once in a while."""
    program = trial(name)
    module = program.module(state)
    said = run(module, passes)
    what = f"{name} behind {state}: {', '.join(passes)}"
    if said is not None:
        assert len(said) > LEAST_MESSAGE, f"{what}: {said}"
        return
    found = None if set(passes) & set(OUTWARD) else program.check(module)
    assert found is None, f"{what}: {found}\n{module}"


def orders(seed: int, count: int) -> list[tuple[str, str, list[str]]]:
    """Random programs, states and orders: one pass once or twice, or a few of them."""
    choose = random.Random(seed)
    cases: list[tuple[str, str, list[str]]] = []
    for _ in range(count):
        some = choose.choice(list(PASSES))
        passes = choose.choice([[some], [some, some], choose.sample(list(PASSES), 3)])
        cases.append((choose.choice(list(PROGRAMS)), choose.choice(STATES), passes))
    return cases


@pytest.mark.parametrize("seed", range(4))
def test_of_a_sample(seed: int) -> None:
    for case in orders(seed, 60):
        check(*case)


@pytest.mark.long
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("state", STATES)
def test_of_all(name: str, state: str) -> None:
    for some in PASSES:
        check(name, state, [some])
        check(name, state, [some, some])


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 140))
def test_of_random_orders(seed: int) -> None:
    for case in orders(seed, 100):
        check(*case)


def test_samples_are_what_types_say() -> None:
    from pass_trials import sample

    numbers = np.random.default_rng(0)
    assert sample("tensor<2x3xcomplex<f32>>", numbers).dtype == np.complex64
    assert sample("tensor<i1>", numbers).shape == ()
