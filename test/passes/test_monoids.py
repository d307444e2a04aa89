"""Reductions of several values at once: any schedule gives what the interpreter and NumPy give."""

from __future__ import annotations

import numpy as np
import pytest

import lamina
from lamina.dialects.context import Context
from lamina.dialects.errors import InputError
from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.kernel_nests import set_rows
from lamina.lowering.pipeline import STAGES, run_pipeline
from lamina.runtime.interpreters import run_module
from lamina.runtime.interpreters.monoid_laws import verify_laws

RANDOM = np.random.default_rng(33)
LOOP_PASSES = [name for stage in STAGES for name in stage.passes]

LARGEST = """combine(0xFF800000 : f32, 2147483647 : i32) {
  ^bb0(%a: f32, %m: i32, %b: f32, %n: i32):
    %above = arith.cmpf ogt, %a, %b : f32
    %same = arith.cmpf oeq, %a, %b : f32
    %before = arith.cmpi slt, %m, %n : i32
    %tie = arith.andi %same, %before : i1
    %left = arith.ori %above, %tie : i1
    %value = arith.select %left, %a, %b : f32
    %place = arith.select %left, %m, %n : i32
    loop.yield %value, %place : f32, i32
  }"""
MOMENTS = """combine(0.0 : f64, 0.0 : f64, 0.0 : f64) {
  ^bb0(%n: f64, %mean: f64, %rest: f64, %m: f64, %other: f64, %more: f64):
    %one = arith.constant 1.0 : f64
    %count = arith.addf %n, %m : f64
    %least = arith.maximumf %count, %one : f64
    %share = arith.divf %m, %least : f64
    %delta = arith.subf %other, %mean : f64
    %step = arith.mulf %delta, %share : f64
    %middle = arith.addf %mean, %step : f64
    %apart = arith.mulf %delta, %step : f64
    %between = arith.mulf %apart, %n : f64
    %within = arith.addf %rest, %more : f64
    %total = arith.addf %within, %between : f64
    loop.yield %count, %middle, %total : f64, f64, f64
  }"""


def shaped(extents: tuple[int, ...], element: str) -> str:
    return f"tensor<{''.join(f'{e}x' for e in extents)}{element}>"


def program(extents: tuple[int, ...], kept: tuple[int, ...], kind: str, schedule: str = "") -> str:
    """The largest element and its row-major place, or the moments, over dims that are not kept."""
    dims = ", ".join(f"d{d}" for d in range(len(extents)))
    target = f"[{', '.join(f'd{d}' for d in kept)}]"
    shape = tuple(extents[d] for d in kept)
    elements = ["f32", "i32"] if kind == "largest" else ["f64"] * 3
    results = [shaped(shape, element) for element in elements]
    writes = ", ".join(f"{target} combine : {result}" for result in results)
    note = f"attributes {{lamina.schedule = #loop.schedule<{schedule}>}}" if schedule else ""
    names = ", ".join(f"%r{n}" for n in range(len(elements)))
    if kind == "largest":
        lines = ["%z = arith.constant 0 : index"]
        place = "%z"
        for dim in (d for d in range(len(extents)) if d not in kept):
            lines += [
                f"%e{dim} = arith.constant {extents[dim]} : index",
                f"%s{dim} = arith.muli {place}, %e{dim} : index",
                f"%i{dim} = loop.index {dim} : index",
                f"%t{dim} = arith.addi %s{dim}, %i{dim} : index",
            ]
            place = f"%t{dim}"
        lines += [f"%k = arith.index_cast {place} : index to i32", "loop.yield %p, %k : f32, i32"]
    else:
        lines = [
            "%one = arith.constant 1.0 : f64",
            "%zero = arith.constant 0.0 : f64",
            "loop.yield %one, %p, %zero : f64, f64, f64",
        ]
    read = shaped(extents, elements[0])
    body, monoid = "\n".join(lines), LARGEST if kind == "largest" else MOMENTS
    return f"""func.func @main(%x: {read}) -> ({", ".join(results)}) {{
      {names} = loop.generic ({dims}) in {list(extents)} reads(%x[{dims}] : {read})
          writes({writes}) {note} {{
      ^bb0(%p: {elements[0]}):
        {body}
      }} {monoid}
      func.return {names} : {", ".join(results)}
    }}"""


def expected(x: np.ndarray, kept: tuple[int, ...], kind: str) -> list[np.ndarray]:
    axes = tuple(d for d in range(x.ndim) if d not in kept)
    rows = x.transpose(*kept, *axes).reshape(*(x.shape[d] for d in kept), -1)
    if kind == "largest":
        return [rows.max(-1), rows.argmax(-1).astype(np.int32)]
    count = np.full(rows.shape[:-1], rows.shape[-1], np.float64)
    return [count, rows.mean(-1), ((rows - rows.mean(-1, keepdims=True)) ** 2).sum(-1)]


def sample(extents: tuple[int, ...], kind: str) -> np.ndarray:
    if kind == "largest":  # with many equal ones
        return RANDOM.integers(-9, 9, extents).astype(np.float32)
    return RANDOM.standard_normal(extents) + 1e6


def agree(made: list[np.ndarray], wanted: list[np.ndarray]) -> None:
    for got, due in zip(made, wanted, strict=True):
        if due.dtype.kind == "f":
            np.testing.assert_allclose(got, due, rtol=1e-9)
        else:
            np.testing.assert_array_equal(got, due)


SHAPES = [
    ((5, 67), (0,)),
    ((67, 5), (1,)),
    ((67, 70), (1,)),
    ((300, 130), (1,)),
    ((9, 11), ()),
    ((4, 6, 33), (1,)),
    ((6, 20, 7, 9), (0, 2)),
    ((7, 1), (0,)),
    ((512, 256), ()),
]


@pytest.mark.parametrize("kind", ["largest", "moments"])
@pytest.mark.parametrize(("extents", "kept"), SHAPES)
def test_as_chosen(extents: tuple[int, ...], kept: tuple[int, ...], kind: str) -> None:
    text, x = program(extents, kept, kind), sample(extents, kind)
    wanted = expected(x, kept, kind)
    agree(run_module(lamina.parse(text), [x]), wanted)
    agree(list(lamina.compile(text, cache=False)(x)), wanted)


@pytest.mark.parametrize("kind", ["largest", "moments"])
@pytest.mark.parametrize(
    ("extents", "kept", "schedule"),
    [
        ((3, 37), (0,), "vectorize = d1 x 1"),
        ((3, 37), (0,), "vectorize = d1 x 2, unroll = 1"),
        ((3, 37), (0,), "vectorize = d1 x 8, unroll = 2"),
        ((37, 21), (1,), "vectorize = d1 x 4, unroll = 2"),
        ((37, 21), (1,), "vectorize = d1 x 4, tile = d1 x 8, rfactor = d0 x 5"),
        ((37, 21), (1,), "vectorize = d1 x 4, tile = d1 x 8, rfactor = d0 x 5, prefetch_rows = 3"),
        ((37, 9, 21), (1,), "vectorize = d2 x 4, unroll = 4"),
    ],
)
def test_any_schedule(
    extents: tuple[int, ...], kept: tuple[int, ...], schedule: str, kind: str
) -> None:
    text, x = program(extents, kept, kind, schedule), sample(extents, kind)
    agree(list(lamina.compile(text, cache=False)(x)), expected(x, kept, kind))


STEPS = {
    "rfactor": "vectorize = d1 x 4, rfactor = d1 x 3",
    "jam": "vectorize = d1 x 4, jam = d2 x 2",
    "tile-nests": "vectorize = d1 x 4, tile = d2 x 3",
    "cache-read": "vectorize = d1 x 4, cache_read = [0]",
}


@pytest.mark.parametrize("kind", ["largest", "moments"])
@pytest.mark.parametrize("step", STEPS)
def test_each_step_of_a_schedule(step: str, kind: str) -> None:
    """Nests in tasks, sliced, split, jammed and copied: the interpreter runs each state."""
    extents, kept = (3, 12, 7), (0, 2)
    module = lamina.parse(program(extents, kept, kind, STEPS[step]))
    x = sample(extents, kind)
    wanted = expected(x, kept, kind)
    passes = LOOP_PASSES[LOOP_PASSES.index("fold-layout") : LOOP_PASSES.index("choose-schedule")]
    run_pipeline(module, passes, Context())
    for nest in (op for op in module.walk() if isinstance(op, GenericOp)):
        set_rows(nest, [0])
    for name in ("choose-schedule", "parallelize", step):
        run_pipeline(module, [name], Context())
        agree(run_module(module, [x]), wanted)
    assert any(len(op.monoids) for op in module.walk() if isinstance(op, GenericOp))


def monoid_of(text: str) -> GenericOp:
    return next(op for op in lamina.parse(text).walk() if isinstance(op, GenericOp))


def test_laws() -> None:
    values = RANDOM.integers(-3, 3, 100).astype(np.float32)
    places = RANDOM.permutation(100).astype(np.int32)
    (largest,) = monoid_of(program((4, 4), (0,), "largest")).monoids
    verify_laws(largest, [values, places])
    (moments,) = monoid_of(program((4, 4), (0,), "moments")).monoids
    counts = RANDOM.integers(1, 9, 100).astype(np.float64)
    spread = RANDOM.random(100)
    verify_laws(moments, [counts, values.astype(np.float64), spread], 1e-12)


def test_laws_that_do_not_hold() -> None:
    """Without the tie, the first of equal ones depends on the order."""
    text = program((4, 4), (0,), "largest").replace(
        "arith.andi %same, %before", "arith.andi %same, %same"
    )
    (monoid,) = monoid_of(text).monoids
    with pytest.raises(InputError, match="in the other order"):
        verify_laws(monoid, [np.zeros(4, np.float32), np.arange(4, dtype=np.int32)])
