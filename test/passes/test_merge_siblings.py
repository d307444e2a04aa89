"""Merged kernels give what their parts gave: interpreted before and after, and run natively."""

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
rng = np.random.default_rng(5)


def _fused(text: str, arrays: list[np.ndarray]) -> tuple[list[np.ndarray], str]:
    """What the fused layer gives, which must be what the loops give; and its text."""
    module = parse(text.encode(), name="program")
    before = run_module(module, arrays)
    run_pipeline(module, pipeline(start="loop", stop="fused"), Context())
    after = run_module(module, arrays)
    for one, other in zip(before, after, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-5)
    return [np.asarray(a) for a in after], str(module)


def _count(text: str) -> int:
    return text.count("func.func private @kernel_")


@pytest.mark.parametrize("shape", [(9, 1), (16, 37), (33, 64), (3, 700)])
def test_reductions_and_stores_of_one_tensor(
    build: Build, execute: Execute, shape: tuple[int, int]
) -> None:
    x = build.argument(shape)
    domain = f"i={shape[0]},j={shape[1]}"
    top = build.reduce("max", x, domain, "i,j", "i", shape[:1])
    total = build.reduce("add", x, domain, "i,j", "i", shape[:1])
    raised = build.pointwise("math.exp %p0 : f32", x)
    low = build.reduce("min", raised, domain, "i,j", "i", shape[:1])
    text = build.text(top, raised, total, low)
    array = rng.standard_normal(shape).astype(np.float32)
    expected, fused = _fused(text, [array])
    assert _count(fused) == 1
    for got, wanted in zip(execute(text, array), expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(40, 17), (300, 64)])
def test_column_sums_walk_their_tensors_together(
    build: Build, execute: Execute, shape: tuple[int, int]
) -> None:
    x, y = build.argument(shape), build.argument(shape)
    domain = f"i={shape[0]},j={shape[1]}"
    sums = build.reduce("add", x, domain, "i,j", "j", shape[1:])
    product = build.pointwise("arith.mulf %p0, %p1 : f32", x, y)
    products = build.reduce("add", product, domain, "i,j", "j", shape[1:])
    text = build.text(sums, products)
    arrays = [rng.standard_normal(shape).astype(np.float32) for _ in range(2)]
    expected, fused = _fused(text, arrays)
    assert _count(fused) == 1
    for got, wanted in zip(execute(text, *arrays), expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)


def test_transposed_reads_stay_transposes(build: Build, execute: Execute) -> None:
    x, y = build.argument((70, 33)), build.argument((33, 70))
    body = "%v = arith.{}f %p0, %p1 : f32\nloop.yield %v : f32"
    stored = [("i,j", "store", (70, 33), "f32")]
    results = [
        build.nest("i=70,j=33", [(x, "i,j"), (y, "j,i")], stored, body.format(op))[0]
        for op in ("add", "mul")
    ]
    results.append(build.pointwise("math.sqrt %p0 : f32", x))
    text = build.text(*results)
    arrays = [rng.random(shape).astype(np.float32) for shape in ((70, 33), (33, 70))]
    expected, _ = _fused(text, arrays)
    for got, wanted in zip(execute(text, *arrays), expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-6)


def test_a_merged_kernel_does_not_write_over_what_it_still_reads(
    build: Build, execute: Execute
) -> None:
    """`e` dies in the merged kernel: its place may be taken, but not before all have read it."""
    x = build.argument((512, 300))
    e = build.pointwise("math.exp %p0 : f32", x)
    columns = build.reduce("add", e, "i=512,j=300", "i,j", "j", (300,))
    moved = build.nest(
        "i=512,j=300",
        [(e, "i,j"), (columns, "j")],
        [("i,j", "store", (512, 300), "f32")],
        "%v = arith.divf %p0, %p1 : f32\nloop.yield %v : f32",
    )[0]
    rows = build.nest(
        "i=512,j=300",
        [(e, "i,j"), (columns, "j")],
        [("i", "add", (512,), "f32")],
        "%v = arith.mulf %p0, %p1 : f32\nloop.yield %v : f32",
    )[0]
    text = build.text(moved, rows)
    array = rng.standard_normal((512, 300)).astype(np.float32)
    expected, _ = _fused(text, [array])
    for got, wanted in zip(execute(text, array), expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-4)
