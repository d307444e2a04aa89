"""Products of bf16 packed in pairs, in matrix tiles and in vectors of dot products: interpreted for
targets that have them, and run where these are.

The interpreter gives scratch memory NaN, and refuses reads outside of any memory: so tiles that are
only partly filled are checked as well.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import torch
from xdsl.dialects.builtin import ModuleOp

import lamina
from lamina.codegen.target import Target
from lamina.dialects.context import Context
from lamina.dialects.errors import InputError, UnsupportedError
from lamina.lowering.pipeline import pipeline, run_pipeline
from lamina.runtime.interpreters import run_module

pytestmark = pytest.mark.one_in(5)

TARGET = "sapphirerapids"
MULTIPLIERS = {TARGET: "loop.tile_dot", "znver4": "loop.dot_pairs"}
"""By what targets multiply bf16."""
BF16 = ml_dtypes.bfloat16

Shape = tuple[int, ...]


def _tensor(shape: Shape, element: str = "bf16") -> str:
    return f"tensor<{'x'.join(map(str, shape))}x{element}>"


def _program(op: str, left: Shape, right: Shape, result: Shape, constant: bool = False) -> str:
    """`op` of two matrices; the right one is a parameter, or comes with each call."""
    mark = ' {lamina.kind = "parameter", lamina.name = "w"}' if constant else ""
    a, b, c = _tensor(left), _tensor(right), _tensor(result)
    return f"""
func.func @main(%a: {a}, %b: {b}{mark}) -> {c} {{
  %0 = aten.{op}.default(%a, %b) : ({a}, {b}) -> {c}
  func.return %0 : {c}
}}"""


LARGE = ("mm, long, many rows", "mm, two buffers")
"""Products that take the interpreter some 10 s."""

PRODUCTS: dict[str, tuple[str, Shape, Shape, Shape]] = {
    "linear, whole tiles": ("linear", (32, 64), (32, 64), (32, 32)),
    "linear, few rows": ("linear", (3, 500), (64, 500), (3, 64)),
    "linear, two tiles in part": ("linear", (37, 67), (50, 67), (37, 50)),
    "linear, odd": ("linear", (37, 67), (45, 67), (37, 45)),
    "linear, many rows": ("linear", (150, 40), (33, 40), (150, 33)),
    "linear, long": ("linear", (18, 1100), (17, 1100), (18, 17)),
    "linear, blocks of the sum": ("linear", (75, 600), (40, 600), (75, 40)),
    "mm, whole tiles": ("mm", (32, 64), (64, 64), (32, 64)),
    "mm, few rows": ("mm", (3, 500), (500, 64), (3, 64)),
    "mm, odd": ("mm", (37, 67), (67, 45), (37, 45)),
    "mm, many rows": ("mm", (270, 40), (40, 33), (270, 33)),
    "mm, long": ("mm", (40, 1100), (1100, 70), (40, 70)),
    "mm, long, whole": ("mm", (48, 1280), (1280, 96), (48, 96)),
    "mm, long, many rows": ("mm", (530, 1030), (1030, 33), (530, 33)),
    "mm, blocks of the sum": ("mm", (75, 300), (300, 70), (75, 70)),
    "mm, blocks, whole": ("mm", (96, 768), (768, 64), (96, 64)),
    "mm, two buffers": ("mm", (64, 288), (288, 1060), (64, 1060)),
    "mm, two buffers, rows of a tile in part": ("mm", (331, 320), (320, 40), (331, 40)),
    "bmm, two buffers": ("bmm", (2, 75, 320), (2, 320, 96), (2, 75, 96)),
    "bmm, blocks of the sum": ("bmm", (2, 67, 513), (2, 513, 33), (2, 67, 33)),
    "bmm, long": ("bmm", (2, 21, 1100), (2, 1100, 50), (2, 21, 50)),
    "bmm": ("bmm", (3, 21, 43), (3, 43, 50), (3, 21, 50)),
}

DOTS_INTERPRETED = 500_000
"""Multiplications of a product whose dot products are interpreted: some 2 us each."""


def _numbers(shape: Shape, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32).astype(BF16)


def _check(found: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
    """Rounded once, from a sum in f32."""
    wide = left.astype(np.float64), right.astype(np.float64)
    exact, sizes = wide[0] @ wide[1], np.abs(wide[0]) @ np.abs(wide[1])
    apart = np.abs(found.astype(np.float64) - exact)
    assert (apart <= np.abs(exact) * 2.0**-8 + sizes * 1e-6).all()


def _rescheduled(text: str, target: str, chosen: str, clauses: str) -> ModuleOp:
    """A program in loops, whose product has other clauses than those that are chosen for it."""
    module = lamina.parse(text)
    run_pipeline(module, pipeline(start="aten", stop="bufferized", target=target), Context())
    schedule = f"#loop.schedule<{chosen}>"
    assert schedule in str(module)
    given = lamina.parse(str(module).replace(schedule, f"#loop.schedule<{clauses}>"))
    run_pipeline(given, pipeline(start="bufferized", target=target), Context())
    return given


@pytest.mark.parametrize("target", MULTIPLIERS)
@pytest.mark.parametrize("constant", [False, True], ids=["of the call", "constant"])
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.long if n in LARGE else []) for n in PRODUCTS]
)
def test_values(name: str, constant: bool, target: str) -> None:
    op, left, right, result = PRODUCTS[name]
    a, b = _numbers(left, 1), _numbers(right, 2)
    text = _program(op, left, right, result, constant)
    module = lamina.parse(text)
    run_pipeline(module, pipeline(start="aten", target=target), Context())
    assert MULTIPLIERS[target] in str(module)
    matrices = a, b.swapaxes(-1, -2) if op == "linear" else b
    small = target == TARGET or np.prod([*a.shape, b.size // a.shape[-1]]) <= DOTS_INTERPRETED
    if not constant and small:  # otherwise its packed form is what the program takes
        _check(run_module(module, [a.copy(), b.copy()])[0], *matrices)
    if Target.parse(target).runs_here():
        compiled = lamina.compile(
            text, target=target, cache=False, constants={"w": b} if constant else None
        )
        _check(compiled(a) if constant else compiled(a, b), *matrices)


@pytest.mark.parametrize("target", MULTIPLIERS)
@pytest.mark.parametrize(
    ("op", "left", "right", "result"),
    [
        ("linear", (1, 600), (130, 600), (1, 130)),
        ("linear", (1, 1, 67), (1000, 67), (1, 1, 1000)),
        ("mm", (1, 2048), (2048, 33), (1, 33)),
    ],
)
def test_one_row_by_constant_columns(
    op: str, left: Shape, right: Shape, result: Shape, target: str
) -> None:
    a, b = _numbers(left, 1), _numbers(right, 2)
    text = _program(op, left, right, result, constant=True)
    module = lamina.parse(text)
    run_pipeline(module, pipeline(start="aten", target=target), Context())
    assert MULTIPLIERS[target] in str(module)
    matrices = a, b.swapaxes(-1, -2) if op == "linear" else b
    _check(run_module(module, {"arg0": a.copy(), "w": b.copy()})[0], *matrices)
    if Target.parse(target).runs_here():
        compiled = lamina.compile(text, target=target, cache=False, constants={"w": b})
        _check(compiled(a), *matrices)


@pytest.mark.parametrize("target", MULTIPLIERS)
def test_one_row_by_columns_of_the_call_is_not_packed(target: str) -> None:
    text = _program("linear", (1, 600), (50, 600), (1, 50))
    assert "pairs = " not in _fused(text, target)
    constant = _program("linear", (600,), (50, 600), (50,), constant=True)
    assert "pairs = " not in _fused(constant, target), "no axis is a row"


def _fused(text: str, target: str) -> str:
    module = lamina.parse(text)
    run_pipeline(module, pipeline(start="aten", stop="fused", target=target), Context())
    return str(module)


@pytest.mark.parametrize("target", MULTIPLIERS)
@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan, 3e38])
def test_special_values_stay_in_their_rows_and_columns(special: float, target: str) -> None:
    a, b = np.ones((37, 67), BF16), np.ones((45, 67), BF16)
    a[5, 66], b[44, 3] = special, special
    text = _program("linear", a.shape, b.shape, (37, 45))
    module = lamina.parse(text)
    run_pipeline(module, pipeline(start="aten", target=target), Context())
    wanted = (torch.from_numpy(a.astype(np.float32)) @ torch.from_numpy(b.astype(np.float32)).T).to(
        torch.bfloat16
    )
    results = [run_module(module, [a.copy(), b.copy()])[0]]
    if Target.parse(target).runs_here():
        results.append(lamina.compile(text, target=target, cache=False)(a, b))
    for found in results:
        np.testing.assert_array_equal(found.astype(np.float32), wanted.float().numpy())


def _lowered(text: str, target: str) -> str:
    module = lamina.parse(text)
    run_pipeline(module, pipeline(start="aten", target=target), Context())
    return str(module)


def test_what_does_not_use_tiles() -> None:
    shapes = ((37, 67), (45, 67), (37, 45))
    text = _program("linear", *shapes)
    assert "loop.tile" in _lowered(text, TARGET)
    assert "loop.tile" not in _lowered(text, "x86-64-v4"), "it has none"
    assert "loop.dot_pairs" not in _lowered(text, "x86-64-v4"), "nor dot products of bf16"
    slow = f"znver4;cpu={TARGET}"
    assert "loop.dot_pairs" not in _lowered(text, slow), "no faster than multiply-adds of f32"
    assert "loop.tile" not in _lowered(text.replace("bf16", "f16"), TARGET), "of bf16 only"
    assert "loop.tile" not in _lowered(text.replace("bf16", "f32"), TARGET), "of bf16 only"
    halves, wides = ([_tensor(shape, kind) for shape in shapes] for kind in ("bf16", "f32"))
    wide = f"""
func.func @main(%a: {halves[0]}, %b: {halves[1]}) -> {wides[2]} {{
  %0 = aten._to_copy.default(%a, dtype = f32) : ({halves[0]}) -> {wides[0]}
  %1 = aten._to_copy.default(%b, dtype = f32) : ({halves[1]}) -> {wides[1]}
  %2 = aten.linear.default(%0, %1) : ({wides[0]}, {wides[1]}) -> {wides[2]}
  func.return %2 : {wides[2]}
}}"""
    assert "loop.tile" not in _lowered(wide, TARGET), "subnormal numbers count in f32"


def test_targets_without_tiles_refuse_them() -> None:
    text = _lowered(_program("linear", (37, 67), (45, 67), (37, 45)), TARGET)
    with pytest.raises(UnsupportedError, match="x86-64-v4 has no matrix tiles"):
        lamina.compile(text, target="x86-64-v4", cache=False)
    text = _lowered(_program("linear", (37, 67), (45, 67), (37, 45)), "znver4")
    with pytest.raises(UnsupportedError, match="x86-64-v4 has no dot products of bf16"):
        lamina.compile(text, target="x86-64-v4", cache=False)


@pytest.mark.parametrize(
    ("clauses", "reason"),
    [
        ("terms = 40", "terms = 40: a multiple of 32"),
        ("tile = d2 x 64", "tile: packed pairs have all columns; blocks of the sum are terms"),
        ("prefetch = [1]", "prefetch: nothing is fetched ahead of panels packed in pairs"),
        ("prefetch_panels = 1", "prefetch_panels: nothing is fetched ahead of panels packed in"),
        (
            "terms = 64, cache_read = [1]",
            "cache_read: of read 0, beside terms that are a multiple of 32",
        ),
        (
            "terms = 64, double_buffer",
            "double_buffer: of tiles of rows, by a sum of a multiple",
        ),
        (
            "terms = 64, cache_read = [0], double_buffer",
            "double_buffer: of rows that are not copied",
        ),
    ],
)
def test_blocks_of_a_sum_are_whole_tiles(clauses: str, reason: str) -> None:
    text = _program("mm", (96, 300), (300, 64), (96, 64))
    with pytest.raises(InputError, match=reason):
        _rescheduled(text, TARGET, "terms = 160", clauses)


@pytest.mark.parametrize(
    ("clauses", "reason"),
    [
        ("vectorize = d1 x 8, unroll = 2, jam = d0 x 8", "vectorize: of d1 by 16, packed in pairs"),
        ("vectorize = d0 x 16, jam = d0 x 8", "vectorize: of d1 by 16, packed in pairs"),
        ("vectorize = d1 x 16, unroll = 3, jam = d0 x 8", "unroll: 2 at most"),
        ("vectorize = d1 x 16, unroll = 2, jam = d2 x 8", "jam: tiles of this product go along"),
        ("vectorize = d1 x 16, unroll = 2, jam = d0 x 17", "jam: tiles of this product go along"),
        ("vectorize = d1 x 16, terms = 64, double_buffer", "double_buffer: of matrix tiles"),
        ("vectorize = d1 x 16, terms = 64, cache_read = [0]", "cache_read: of matrix tiles"),
    ],
)
def test_register_tiles_of_dot_products(clauses: str, reason: str) -> None:
    text = _program("mm", (96, 320), (320, 64), (96, 64))
    with pytest.raises(InputError, match=reason):
        _rescheduled(text, "znver4", "vectorize = d1 x 16, unroll = 2, jam = d0 x 12", clauses)


@pytest.mark.parametrize(
    ("clauses", "reason"),
    [
        ("vectorize = d1 x 16, jam = d1 x 8", "vectorize: of d0 by 16, packed in pairs"),
        ("vectorize = d0 x 16, unroll = 3, jam = d1 x 8", "unroll: 2 at most"),
        ("vectorize = d0 x 16, unroll = 2, jam = d1 x 12", "jam: of d1, .* by a divisor of 16"),
    ],
)
def test_register_tiles_of_packed_rows(clauses: str, reason: str) -> None:
    text = _program("linear", (40, 320), (70, 320), (40, 70))
    with pytest.raises(InputError, match=reason):
        _rescheduled(text, "znver4", "vectorize = d0 x 16, unroll = 2, jam = d1 x 8", clauses)


PARTS = [
    (TARGET, 300, "terms = 160", "cache_read = [0]"),
    ("znver4", 320, "vectorize = d1 x 16, unroll = 2, jam = d0 x 12", "jam = d0 x 8"),
]


@pytest.mark.parametrize(("target", "terms", "chosen", "part"), PARTS)
def test_a_part_of_a_schedule_is_completed(target: str, terms: int, chosen: str, part: str) -> None:
    text = _program("mm", (96, terms), (terms, 64), (96, 64))
    assert MULTIPLIERS[target] in str(_rescheduled(text, target, chosen, part))


@pytest.mark.parametrize(
    "clauses",
    [
        "vectorize = d1 x 16, unroll = 1, jam = d0 x 3",
        "vectorize = d1 x 16, unroll = 2",
        pytest.param(
            "vectorize = d1 x 16, unroll = 2, jam = d0 x 16, terms = 96", marks=pytest.mark.long
        ),
    ],
)
def test_other_register_tiles_have_the_same_results(clauses: str) -> None:
    text = _program("mm", (48, 330), (330, 40), (48, 40))
    chosen = "vectorize = d1 x 16, unroll = 2, jam = d0 x 12"
    a, b = _numbers((48, 330), 1), _numbers((330, 40), 2)
    given = _rescheduled(text, "znver4", chosen, clauses)
    _check(run_module(given, [a.copy(), b.copy()])[0], a, b)


@pytest.mark.parametrize(
    "clauses",
    [
        "vectorize = d0 x 16, unroll = 1, jam = d1 x 16",
        "vectorize = d0 x 16, unroll = 1, jam = d1 x 4",
        "vectorize = d0 x 16, unroll = 2, jam = d1 x 8, terms = 96",
        pytest.param(
            "vectorize = d0 x 16, unroll = 2, jam = d1 x 16, terms = 64", marks=pytest.mark.long
        ),
    ],
)
def test_other_register_tiles_of_packed_rows_have_the_same_results(clauses: str) -> None:
    text = _program("linear", (40, 202), (70, 202), (40, 70))
    chosen = "vectorize = d0 x 16, unroll = 2, jam = d1 x 8"
    a, b = _numbers((40, 202), 1), _numbers((70, 202), 2)
    given = _rescheduled(text, "znver4", chosen, clauses)
    _check(run_module(given, [a.copy(), b.copy()])[0], a, b.T)


def test_two_buffers_are_for_what_tasks_pack() -> None:
    text = _program("linear", (75, 640), (64, 640), (75, 64))
    chosen = "terms = 224"
    with pytest.raises(InputError, match="double_buffer: of a product whose tasks pack"):
        _rescheduled(text, TARGET, chosen, f"{chosen}, double_buffer")


@pytest.mark.parametrize("rows", [40, 64, pytest.param(530, marks=pytest.mark.long)])
@pytest.mark.parametrize("wide", [False, True])
def test_epilogues_of_copied_rows(rows: int, wide: bool) -> None:
    """What follows a panel, whose scratch has room for whole tiles or not."""
    a, b = _numbers((rows, 1100), 1), _numbers((1100, 70), 2)
    text = f"""
func.func @main(%a: {_tensor(a.shape)}, %b: {_tensor(b.shape)}) -> {_tensor((rows, 70))} {{
  %0 = aten.mm.default(%a, %b)
      : ({_tensor(a.shape)}, {_tensor(b.shape)}) -> {_tensor((rows, 70))}
  %1 = aten.relu.default(%0) : ({_tensor((rows, 70))}) -> {_tensor((rows, 70))}
  func.return %1 : {_tensor((rows, 70))}
}}"""
    module = lamina.parse(text)
    run_pipeline(module, pipeline(start="aten", stop="bufferized", target=TARGET), Context())
    assert "cache_read = [0]" in str(module)
    if wide:
        given = str(module).replace("terms = 224, cache_read", "terms = 2048, cache_read")
        assert given != str(module)
        module = lamina.parse(given)
    run_pipeline(module, pipeline(start="bufferized", target=TARGET), Context())
    found = run_module(module, [a.copy(), b.copy()])[0]
    exact = np.maximum(a.astype(np.float64) @ b.astype(np.float64), 0)
    sizes = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64))
    apart = np.abs(found.astype(np.float64) - exact)
    assert (apart <= exact * 2.0**-7 + sizes * 1e-6).all()


@pytest.mark.parametrize("rows", [1, 2, 40])
def test_epilogues_and_chains(rows: int) -> None:
    """A perceptron and attention as they stand in a model, against eager mode."""

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.up = torch.nn.Linear(64, 96)
            self.down = torch.nn.Linear(96, 64)
            self.norm = torch.nn.LayerNorm(64)

        def forward(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
            y = torch.nn.functional.gelu(self.up(self.norm(x)))
            y = torch.softmax(self.down(y) @ w.T, -1)
            z = torch.nn.functional.linear(torch.sigmoid(x), w)
            return y.t().matmul(torch.relu(z))

    torch.manual_seed(0)
    model = Model().eval()
    inputs = torch.randn(rows, 64), torch.randn(80, 64) / 8
    halves = tuple(value.bfloat16() for value in inputs)
    with torch.no_grad():
        model = model.bfloat16()
        exact = model.double()(*(value.double() for value in halves))
        model = model.bfloat16()
        compiled = lamina.compile(torch.export.export(model, halves), cache=False)
        made, eager = compiled(*halves), model(*halves)
    ours, theirs = ((value.double() - exact).abs().max() for value in (made, eager))
    assert ours <= 1.5 * theirs + 1e-3
