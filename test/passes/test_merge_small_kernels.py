"""Small kernels merged into one give what they gave apart, run between guard pages."""

from collections.abc import Callable
from typing import Any

import numpy as np

from lamina.dialects.context import Context
from lamina.lowering.pipeline import pipeline, run_pipeline
from lamina.runtime.interpreters import run_module
from lamina.runtime.layers import parse

Build = Any
Execute = Callable[..., list[np.ndarray]]
rng = np.random.default_rng(3)


def check(execute: Execute, text: str, arrays: list[np.ndarray], kernels: int) -> None:
    """Interpreters before and after fusion agree with native code; so many kernels are formed."""
    module = parse(text.encode(), name="program")
    wanted = run_module(module, arrays)
    run_pipeline(module, pipeline(start="loop", stop="fused"), Context())
    assert str(module).count("func.func private @kernel_") == kernels
    for got in (run_module(module, arrays), execute(text, *arrays)):
        for one, other in zip(got, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_updates_of_tensors_of_many_shapes(build: Build, execute: Execute) -> None:
    shapes = [(1,), (7,), (16, 3), (3, 16), (2, 5, 9), (64,), (65,), (33, 1)] * 2
    results = []
    for shape in shapes:
        x, y = build.argument(shape), build.argument(shape)
        scaled = build.pointwise("arith.mulf %p0, %p1 : f32", x, y)
        results.append(build.pointwise("arith.subf %p0, %p1 : f32", x, scaled))
    arrays = [rng.standard_normal(s).astype(np.float32) for shape in shapes for s in (shape,) * 2]
    check(execute, build.text(*results), arrays, 1)


def test_reductions_and_what_they_make_for_each_other(build: Build, execute: Execute) -> None:
    x = build.argument((9, 37))
    rows = build.reduce("add", x, "i=9,j=37", "i,j", "i", (9,))
    columns = build.reduce("max", x, "i=9,j=37", "i,j", "j", (37,))
    total = build.reduce("add", rows, "i=9", "i", "", ())
    scaled = build.nest(
        "j=37,i=9",
        [(x, "i,j"), (columns, "j"), (total, "")],
        [("j,i", "store", (37, 9), "f32")],
        "%u = arith.subf %p0, %p1 : f32\n%v = arith.mulf %u, %p2 : f32\nloop.yield %v : f32",
    )[0]
    least = build.reduce("min", scaled, "i=37,j=9", "i,j", "i", (37,))
    array = rng.standard_normal((9, 37)).astype(np.float32)
    # What turns the array is in no kernel of rows with its columns: all run one after the other.
    check(execute, build.text(scaled, least, columns), [array], 1)


def test_a_value_read_at_computed_places(build: Build, execute: Execute) -> None:
    x, n = build.argument((9, 37)), build.argument((12,), "i64")
    top = build.reduce("max", x, "i=9,j=37", "i,j", "j", (37,))
    body = (
        "%at = arith.index_cast %p0 : i64 to index\n"
        "%v = loop.read %s0[%at] : tensor<37xf32>\nloop.yield %v : f32"
    )
    picked = build.nest("i=12", [(n, "i")], [("i", "store", (12,), "f32")], body, [top])[0]
    array = rng.standard_normal((9, 37)).astype(np.float32)
    places = rng.integers(0, 37, 12)
    check(execute, build.text(picked), [array, places], 1)
