"""Positions of extremes in one walk: first of equal ones, NaN, any dtype and any loops."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import f32, i32

import lamina
from lamina.lowering.prims_to_loop.monoids import extreme_monoid
from lamina.runtime.interpreters.monoid_laws import verify_laws

pytestmark = pytest.mark.one_in(2)

torch = pytest.importorskip("torch")
RANDOM = np.random.default_rng(4)
KINDS = {
    "f32": torch.float32,
    "f64": torch.float64,
    "bf16": torch.bfloat16,
    "f16": torch.float16,
    "i8": torch.int8,
    "ui8": torch.uint8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
}
SHAPES = [((3, 200), 1), ((200, 3), 0), ((130, 70), 0), ((2, 9, 40), 1), ((600, 200), None)]


def program(shape: tuple[int, ...], dim: int | None, kind: str, name: str) -> str:
    """All four: position of the extreme, the extreme with its position, over a dim or all."""
    given = f"tensor<{''.join(f'{e}x' for e in shape)}{kind}>"
    kept = [] if dim is None else [e for d, e in enumerate(shape) if d != dim]
    made = f"tensor<{''.join(f'{e}x' for e in kept)}i64>"
    where = "" if dim is None else f", dim = {dim}"
    return f"""func.func @main(%x: {given}) -> {made} {{
      %r = aten.arg{name}.default(%x{where}) : ({given}) -> {made}
      func.return %r : {made}
    }}"""


def few_values(shape: tuple[int, ...], kind: str) -> torch.Tensor:
    """Many are equal, some are NaN or infinite."""
    x = torch.from_numpy(RANDOM.integers(0, 5, shape)).to(KINDS[kind])
    if x.is_floating_point():
        odd = torch.from_numpy(RANDOM.random(shape))
        x = x.where(odd > 0.005, float("nan")).where(odd < 0.9, -float("inf"))
        x = x.where((odd < 0.4) | (odd > 0.402), float("inf"))
        if x.ndim == 2:
            x[0] = -float("inf")
            x[:, 1] = float("inf")
    return x


def first_extreme(x: torch.Tensor, dim: int | None, name: str) -> torch.Tensor:
    """As torch says it: NaN is extreme, the first of equal ones counts."""
    wide = x.double() if x.is_floating_point() else x.long()
    if name == "min":
        wide = -wide
    if dim is None:
        wide, dim = wide.flatten(), 0
    best = wide.amax(dim, keepdim=True)
    found = torch.where(best.isnan(), wide.isnan(), wide == best)
    return found.to(torch.uint8).cummax(dim).values.logical_not().sum(dim)


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize(("shape", "dim"), SHAPES)
def test_first_of_equal_ones(shape: tuple[int, ...], dim: int | None, kind: str, name: str) -> None:
    x = few_values(shape, kind)
    compiled = lamina.compile(program(shape, dim, kind, name), cache=False)
    torch.testing.assert_close(torch.as_tensor(compiled(x)), first_extreme(x, dim, name))


@pytest.mark.parametrize("value", [float("-inf"), float("inf"), float("nan"), -0.0])
@pytest.mark.parametrize("name", ["max", "min"])
def test_of_one_value(value: float, name: str) -> None:
    x = torch.full((5, 70), value)
    x[1:, 1] = 0.0 if value == 0 else value
    compiled = lamina.compile(program((5, 70), 1, "f32", name), cache=False)
    assert torch.as_tensor(compiled(x)).tolist() == [0] * 5


def test_laws() -> None:
    values = RANDOM.integers(-2, 3, 200).astype(np.float32)
    values[::7] = np.inf
    values[::11] = -np.inf
    places = RANDOM.permutation(200).astype(np.int32)
    for largest in (True, False):
        verify_laws(extreme_monoid(f32, i32, largest=largest), [values, places])
