"""Random programs on sizes that depend on data: native results equal the interpreter's."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import f32, i1, i64
from xdsl.ir import Attribute, SSAValue

import lamina
from lamina.dialects.errors import LaminaError, UnsupportedError
from lamina.frontends.builder import ProgramBuilder
from lamina.runtime.interpreters import run_module


class Values:
    """The values that a random program has so far."""

    def __init__(self, choose: random.Random) -> None:
        """Starts with the arguments."""
        self.choose = choose
        self.program = ProgramBuilder()
        add = self.program.input
        self.x, self.mask = add("x", (5, 4)), add("mask", (5, 4), i1)
        self.rows, self.places = add("rows", (5,), i1), add("places", (6,), i64)
        self.table = add("table", (7, 4))
        self.made: list[SSAValue] = []

    def pick(self, element: Attribute, rank: int | None = None, *, dynamic: bool = False) -> Any:
        """A value of that type, or None."""
        arguments = [self.x, self.mask, self.rows, self.places, self.table]
        found = [v for v in (*arguments, *self.made) if _fits(v, element, rank, dynamic)]
        return self.choose.choice(found) if found else None

    def op(self, name: str, *args: Any, **kwargs: Any) -> None:
        """Adds an op and its results, if it has its operands and they fit."""
        if any(arg is None or (isinstance(arg, list) and None in arg) for arg in args):
            return
        try:
            result = self.program.op(name, *args, **kwargs)
        except (LaminaError, ValueError, TypeError):
            return
        self.made += result if isinstance(result, tuple) else [result]


def _fits(value: SSAValue, element: Attribute, rank: int | None, dynamic: bool) -> bool:
    kind: Any = value.type
    shape = kind.get_shape()
    right = kind.element_type == element and (rank is None or len(shape) == rank)
    return right and bool(shape) and (not dynamic or any(extent < 0 for extent in shape))


Step = Callable[[Values], None]


def _floats(v: Values, rank: int | None = None) -> Any:
    return v.pick(f32, rank, dynamic=True)


STEPS: list[Step] = [
    lambda v: v.op("masked_select.default", v.x, v.mask),
    lambda v: v.op("index.Tensor", v.x, [v.rows]),
    lambda v: v.op("nonzero.default", v.pick(i1)),
    lambda v: v.op("index.Tensor", v.table, [v.pick(i64, 1)]),
    lambda v: v.op("index.Tensor", _floats(v), [v.pick(i1)]),
    lambda v: v.op("gt.Scalar", v.pick(f32), v.choose.choice([0, 0.5, -9, 9])),
    lambda v: v.op("exp.default", _floats(v)),
    lambda v: v.op("add.Tensor", _floats(v), v.pick(f32)),
    lambda v: v.op("remainder.Tensor", v.pick(i64, 1), v.pick(i64, 1)),
    lambda v: v.op("sum.default", _floats(v)),
    lambda v: v.op("mean.dim", _floats(v, 2), [v.choose.randrange(2)]),
    lambda v: v.op("var.correction", _floats(v), [0], correction=v.choose.randrange(2)),
    lambda v: v.op("amax.default", v.pick(f32), [0]),
    lambda v: v.op("argmax.default", _floats(v, 1), 0),
    lambda v: v.op("any.default", v.pick(i1)),
    lambda v: v.op("cat.default", [_floats(v, 1), _floats(v, 1)], 0),
    lambda v: v.op("sort.stable", _floats(v, 1), stable=True, descending=v.choose.random() < 0.5),
    lambda v: v.op("cumsum.default", _floats(v), 0),
    lambda v: v.op("flip.default", _floats(v), [0]),
    lambda v: v.op("softmax.int", _floats(v), 0),
    lambda v: v.op("view.default", _floats(v, 2), [-1]),
    lambda v: v.op("unsqueeze.default", _floats(v, 1), v.choose.randrange(2)),
    lambda v: v.op("permute.default", _floats(v, 2), [1, 0]),
    lambda v: v.op("slice.Tensor", _floats(v), 0, v.choose.choice([0, 1, -2]), 3),
    lambda v: v.op("select.int", _floats(v, 2), v.choose.randrange(2), v.choose.choice([0, -1])),
    lambda v: v.op("matmul.default", _floats(v, 2), v.pick(f32, 2)),
    lambda v: v.op("_unique2.default", _floats(v), True, True, True),
    lambda v: v.op("unique_consecutive.default", _floats(v), True, True),
    lambda v: v.op("unique_dim.default", _floats(v, 2), v.choose.randrange(2)),
    lambda v: v.op("index_put.default", v.x, [v.mask], _floats(v, 1)),
    lambda v: v.op("index_put.default", v.table, [v.pick(i64, 1)], _floats(v, 2), True),
]


def _arguments(seed: int, share: float) -> list[Any]:
    numbers = np.random.default_rng(seed)
    return [
        numbers.standard_normal((5, 4)).astype(np.float32).round(1),
        numbers.random((5, 4)) < share,
        numbers.random(5) < share,
        numbers.integers(0, 5, 6),
        numbers.standard_normal((7, 4)).astype(np.float32),
    ]


def _run(function: Callable[[], Any]) -> Any:
    try:
        return function()
    except LaminaError:
        return None


@settings(deadline=None)
@given(st.integers(0, 2**32))
def test_compiled_programs_equal_the_interpreter(seed: int) -> None:
    values = Values(random.Random(seed))
    for _ in range(values.choose.randint(4, 9)):
        values.choose.choice(STEPS)(values)
    if not values.made:
        return
    values.program.output(*values.made[-4:])
    module = values.program.module()
    try:
        compiled = lamina.compile(module, cache=False)
    except UnsupportedError:
        return
    for share in (0.5, 0.0, 1.1):
        given_arrays = _arguments(seed, share)
        expected = _run(lambda args=given_arrays: run_module(module, [a.copy() for a in args]))
        results = _run(lambda args=given_arrays: compiled(*args))
        assert (expected is None) == (results is None)
        if expected is None:
            continue
        results = results if isinstance(results, tuple) else (results,)
        for one, other in zip(results, expected, strict=True):
            assert one.shape == other.shape
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
