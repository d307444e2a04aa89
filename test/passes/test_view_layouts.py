"""Strides of views, against those that NumPy finds."""

from __future__ import annotations

from math import prod

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lamina.passes.functionalize.view_layouts import Layout, reshaped

_EXTENTS = st.lists(st.integers(1, 4), min_size=1, max_size=3)


def _layout(array: np.ndarray) -> Layout:
    start = array.__array_interface__["data"][0]
    return Layout(array.shape, array.strides, start, array.itemsize)


@given(_EXTENTS, st.randoms(use_true_random=False), st.lists(st.integers(1, 3), min_size=3))
def test_reshapes_without_a_copy(shape: list[int], random: object, steps: list[int]) -> None:
    array = np.zeros([4 * extent for extent in shape], np.float32)
    order = list(range(array.ndim))
    random.shuffle(order)  # pyright: ignore
    array = array[tuple(slice(None, None, step) for step in steps[: array.ndim])].transpose(order)
    wanted = [prod(array.shape[:1]), prod(array.shape[1:])]
    try:
        expected = array.reshape(wanted, copy=False)
    except ValueError:
        assert reshaped(_layout(array), tuple(wanted)) is None
        return
    found = reshaped(_layout(array), tuple(wanted))
    assert found is not None and found.is_at(_layout(expected))


@given(st.integers(0, 12), st.integers(1, 4), st.integers(0, 12), st.integers(1, 4))
def test_views_that_meet(start: int, step: int, other_start: int, other_step: int) -> None:
    memory = np.zeros(32, np.float32)
    one = memory[start : start + 4 * step : step]
    other = memory[other_start : other_start + 4 * other_step : other_step]
    assert _layout(one).meets(_layout(other)) == np.shares_memory(one, other)
