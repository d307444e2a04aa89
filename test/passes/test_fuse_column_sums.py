"""Sums over the rows of a kernel, made in it: what they give, on interpreters and natively."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lamina.dialects.context import Context
from lamina.lowering.pipeline import pipeline, run_pipeline
from lamina.runtime.interpreters import run_module
from lamina.runtime.layers import parse

Build = Any
Execute = Callable[..., list[np.ndarray]]
rng = np.random.default_rng(11)


def _check(text: str, execute: Execute, arrays: list[np.ndarray], kernels: int) -> str:
    """Loops, fused loops and native code agree; the fused text."""
    module = parse(text.encode(), name="program")
    expected = run_module(module, arrays)
    run_pipeline(module, pipeline(start="loop", stop="fused"), Context())
    fused = str(module)
    assert fused.count("func.func private @kernel_") == kernels, fused
    for results in (run_module(module, arrays), execute(text, *arrays)):
        for got, wanted in zip(results, expected, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)
    return fused


def _random(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


@pytest.mark.parametrize("shape", [(8, 3), (40, 17), (64, 700), (96, 1025), (2047, 48)])
def test_rows_and_columns(build: Build, execute: Execute, shape: tuple[int, int]) -> None:
    x = build.argument(shape)
    domain = f"i={shape[0]},j={shape[1]}"
    top = build.reduce("max", x, domain, "i,j", "i", shape[:1])
    total = build.reduce("add", x, domain, "i,j", "j", shape[1:])
    least = build.reduce("min", x, domain, "i,j", "j", shape[1:])
    _check(build.text(top, total, least), execute, _random(shape), 1)


@pytest.mark.parametrize("shape", [(48, 20), (320, 300)])
def test_sums_of_what_the_rows_make(build: Build, execute: Execute, shape: tuple[int, int]) -> None:
    x = build.argument(shape)
    made = build.softmax(x)
    total = build.reduce("add", made, f"i={shape[0]},j={shape[1]}", "i,j", "j", shape[1:])
    _check(build.text(made, total), execute, _random(shape), 1)


@pytest.mark.parametrize("batch", [4, 16, 30])
def test_each_row_is_reduced_before_it_is_added(build: Build, execute: Execute, batch: int) -> None:
    shape = (batch, 8, 6, 50)
    x, scale = build.argument(shape), build.argument(shape[:2])
    domain = f"n={batch},g=8,c=6,s=50"
    body = "%v = arith.mulf %p0, %p1 : f32\nloop.yield %v : f32"
    reads = [(x, "n,g,c,s"), (scale, "n,g")]
    (groups,) = build.nest(domain, reads, [("n,g", "add", (batch, 8), "f32")], body)
    (weights,) = build.nest(domain, reads, [("g * 6 + c", "add", (48,), "f32")], body)
    _check(build.text(groups, weights), execute, _random(shape, shape[:2]), 1)


def test_a_total_of_a_tensor_that_is_changed_too(build: Build, execute: Execute) -> None:
    shape = (24, 30)
    x = build.argument(shape)
    changed = build.pointwise("math.exp %p0 : f32", x)
    total = build.reduce("add", x, "i=24,j=30", "i,j", "", ())
    _check(build.text(changed, total), execute, _random(shape), 1)


def test_integers_and_doubles(build: Build, execute: Execute) -> None:
    for element, kind in (("i64", np.int64), ("f64", np.float64)):
        other = type(build)()
        x = other.argument((64, 90), element)
        rows = other.reduce("max", x, "i=64,j=90", "i,j", "i", (64,))
        columns = other.reduce("add", x, "i=64,j=90", "i,j", "j", (90,))
        array = rng.integers(-9, 9, (64, 90)).astype(kind)
        _check(other.text(rows, columns), execute, [array], 1)


def test_positions_are_those_of_the_whole_tensor(build: Build, execute: Execute) -> None:
    shape = (2048, 40)
    x = build.argument(shape)
    body = (
        "%i = loop.index 0 : index\n%n = arith.index_cast %i : index to i64\n"
        "%f = arith.sitofp %n : i64 to f32\n%v = arith.mulf %p0, %f : f32\nloop.yield %v : f32"
    )
    reads = [(x, "i,j")]
    domain = f"i={shape[0]},j={shape[1]}"
    (rows,) = build.nest(domain, reads, [("i", "max", shape[:1], "f32")], body)
    (columns,) = build.nest(domain, reads, [("j", "max", shape[1:], "f32")], body)
    _check(build.text(rows, columns), execute, _random(shape), 1)


def test_two_sums_over_different_rows(build: Build, execute: Execute) -> None:
    """The kernel sums over one of its rows; what sums over another stays apart."""
    shape = (32, 32, 1100)
    x = build.argument(shape)
    domain = "i=32,j=32,k=1100"
    top = build.reduce("max", x, domain, "i,j,k", "i,j", shape[:2])
    one = build.reduce("add", x, domain, "i,j,k", "j,k", shape[1:])
    both = build.reduce("add", x, domain, "i,j,k", "k", shape[2:])
    fused = _check(build.text(top, one, both), execute, _random(shape), 2)
    assert "sums over other rows already" in fused
