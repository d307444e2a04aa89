"""Concatenation, padding and choices by position in one kernel, run between guard pages."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.arith import CmpiOp

from lamina.dialects.context import Context
from lamina.dialects.loop import GenericOp
from lamina.lowering.pipeline import pipeline, run_pipeline
from lamina.runtime.interpreters import run_module
from lamina.runtime.layers import parse

Build = Any
Execute = Callable[..., list[np.ndarray]]
rng = np.random.default_rng(8)


def run(execute: Execute, text: str, *arrays: np.ndarray) -> tuple[list[np.ndarray], str]:
    """Native results, and the fused text; interpreters must agree with each other and with them."""
    module = parse(text.encode(), name="program")
    wanted = run_module(module, arrays)
    run_pipeline(module, pipeline(start="loop", stop="fused"), Context())
    fused = str(module)
    for one, other in zip(run_module(module, arrays), wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    got = execute(text, *arrays)
    for one, other in zip(got, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    return got, fused


def cat(build: Build, pieces: list[str], axis: int) -> str:
    """The nest that prims.cat becomes."""
    shapes = [build.types[p][0] for p in pieces]
    starts = np.cumsum([0, *(s[axis] for s in shapes)])
    shape = list(shapes[0])
    shape[axis] = int(starts[-1])
    names = [f"d{i}" for i in range(len(shape))]
    domain = ",".join(f"{n}={e}" for n, e in zip(names, shape, strict=True))
    reads = []
    for piece, start in zip(pieces, starts, strict=False):
        index = [f"{n} - {start}" if i == axis and start else n for i, n in enumerate(names)]
        reads.append((piece, ", ".join(index), "0.0 : f32"))
    lines = [f"%at = loop.index {axis} : index"]
    chosen = f"%p{len(pieces) - 1}"
    for number in reversed(range(len(pieces) - 1)):
        lines += [
            f"%limit{number} = arith.constant {starts[number + 1]} : index",
            f"%below{number} = arith.cmpi slt, %at, %limit{number} : index",
            f"%v{number} = arith.select %below{number}, %p{number}, {chosen} : f32",
        ]
        chosen = f"%v{number}"
    body = "\n".join([*lines, f"loop.yield {chosen} : f32"])
    return build.nest(domain, reads, [(",".join(names), "store", tuple(shape), "f32")], body)[0]


def sample(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("extents", [(5, 1, 9), (16, 32, 48), (1, 70, 2)])
def test_pieces_are_computed_in_their_slices(
    build: Build, execute: Execute, axis: int, extents: tuple[int, ...]
) -> None:
    shapes = [tuple(e if i == axis else s for i, s in enumerate((3, 7, 21))) for e in extents]
    pieces, arrays = [], []
    for shape, op in zip(shapes, ("exp", "sin", "cos"), strict=True):
        pieces.append(build.pointwise(f"math.{op} %p0 : f32", build.argument(shape)))
        arrays.append(sample(*shape))
    joined = cat(build, pieces, axis)
    (got,), fused = run(execute, build.text(joined), *arrays)
    parts = [f(a) for f, a in zip((np.exp, np.sin, np.cos), arrays, strict=True)]
    np.testing.assert_allclose(got, np.concatenate(parts, axis), rtol=1e-5, atol=1e-6)
    assert fused.count("func.func private @kernel_") == 1


def test_a_row_wise_piece_stays_in_its_row(build: Build, execute: Execute) -> None:
    x, y = build.argument((70, 33)), build.argument((70, 40))
    joined = cat(build, [build.softmax(x), y], 1)
    _, fused = run(execute, build.text(joined), sample(70, 33), sample(70, 40))
    assert fused.count("func.func private @kernel_") == 1


def test_a_piece_that_others_read_too(build: Build, execute: Execute) -> None:
    x, y = build.argument((40, 33)), build.argument((40, 33))
    raised = build.pointwise("math.exp %p0 : f32", x)
    joined = cat(build, [raised, y], 0)
    total = build.reduce("add", joined, "i=80,j=33", "i,j", "i", (80,))
    run(execute, build.text(joined, raised, total), sample(40, 33), sample(40, 33))


@pytest.mark.parametrize("amount", [(0, 1), (1, 0), (3, 5)])
def test_padding_of_what_is_computed(
    build: Build, execute: Execute, amount: tuple[int, int]
) -> None:
    rows, columns = amount
    x = build.argument((20, 37))
    root = build.pointwise("math.cos %p0 : f32", x)
    shape = (20 + 2 * rows, 37 + 2 * columns)
    index = f"i - {rows}, j - {columns}"
    padded = build.nest(
        f"i={shape[0]},j={shape[1]}",
        [(root, index, "2.5 : f32")],
        [("i,j", "store", shape, "f32")],
        "loop.yield %p0 : f32",
    )[0]
    array = sample(20, 37)
    (got,), fused = run(execute, build.text(padded), array)
    wanted = np.pad(np.cos(array), ((rows, rows), (columns, columns)), constant_values=2.5)
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
    assert fused.count("func.func private @kernel_") == 1


def test_a_row_read_beyond_its_edges(build: Build, execute: Execute) -> None:
    x = build.argument((80, 33))
    soft = build.softmax(x)
    shifted = build.nest(
        "i=80,j=37",
        [(soft, "i, j - 2", "-1.0 : f32"), (soft, "i, j - 4", "3.0 : f32")],
        [("i,j", "store", (80, 37), "f32")],
        "%v = arith.mulf %p0, %p1 : f32\nloop.yield %v : f32",
    )[0]
    _, fused = run(execute, build.text(shifted), sample(80, 33))
    assert fused.count("func.func private @kernel_") == 1


def test_what_is_overwritten_is_not_computed(build: Build, execute: Execute) -> None:
    """Two slices written over one another: each element is computed by one of the three."""
    x, y = build.argument((16, 96)), build.argument((16, 96))
    sine = build.pointwise("math.sin %p0 : f32", x)
    first = overwritten(build, sine, build.pointwise("math.cos %p0 : f32", y), 0, 48)
    second = overwritten(build, first, build.pointwise("math.exp %p0 : f32", y), 24, 72)
    arrays = [sample(16, 96), sample(16, 96)]
    (got,), fused = run(execute, build.text(second), *arrays)
    wanted = np.sin(arrays[0])
    wanted[:, :48] = np.cos(arrays[1])[:, :48]
    wanted[:, 24:72] = np.exp(arrays[1])[:, :48]
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
    assert fused.count("func.func private @kernel_") == 1


def overwritten(build: Build, base: str, piece: str, start: int, end: int) -> str:
    """`base` with columns from `start` to `end` replaced by the first ones of `piece`."""
    shape = build.types[base][0]
    body = f"""
      %at = loop.index 1 : index
      %start = arith.constant {start} : index
      %end = arith.constant {end} : index
      %before = arith.cmpi slt, %at, %start : index
      %inside = arith.cmpi slt, %at, %end : index
      %v = arith.select %inside, %p1, %p0 : f32
      %w = arith.select %before, %p0, %v : f32
      loop.yield %w : f32"""
    reads = [(base, "i,j"), (piece, f"i,j - {start}", "0.0 : f32")]
    domain = f"i={shape[0]},j={shape[1]}"
    return build.nest(domain, reads, [("i,j", "store", shape, "f32")], body)[0]


@pytest.mark.parametrize("count", [5, 12, 16])
def test_every_piece_of_many_gets_a_nest(build: Build, execute: Execute, count: int) -> None:
    shapes = [(3 + number % 4, 40) for number in range(count)]
    text = build.text(cat(build, [build.argument(shape) for shape in shapes], 0))
    pieces = [sample(*shape) for shape in shapes]
    (got,), _ = run(execute, text, *pieces)
    np.testing.assert_array_equal(got, np.concatenate(pieces))
    module = parse(text.encode(), name="program")
    passes = pipeline(start="loop", stop="scheduled")
    upto = next(i for i, text in enumerate(passes) if text.startswith("split-domains"))
    run_pipeline(module, passes[: upto + 1], Context())
    nests = [op for op in module.walk() if isinstance(op, GenericOp)]
    assert len(nests) == count and not any(isinstance(op, CmpiOp) for op in module.walk())
