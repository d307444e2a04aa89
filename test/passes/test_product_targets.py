"""Products of every element type on every target that runs here."""

from __future__ import annotations

import numpy as np
import pytest

import lamina
from lamina.codegen.target import Target

pytestmark = pytest.mark.one_in(2)

KINDS = {
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "f32": np.float32,
    "f64": np.float64,
}
rng = np.random.default_rng(11)


@pytest.mark.parametrize("target", ["host", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("element", list(KINDS))
@pytest.mark.parametrize("shape", [(34, 5, 34), (7, 70, 130), (65, 33, 20), (1, 40, 50)])
def test_chosen_schedules_are_legal(target: str, element: str, shape: tuple[int, ...]) -> None:
    if not Target.parse(target).runs_here():
        pytest.skip(f"code for {target} cannot run on this CPU")
    m, k, n = shape
    a, b, c = (f"tensor<{x}x{y}x{element}>" for x, y in ((m, k), (k, n), (m, n)))
    made = lamina.compile(
        f"""func.func @main(%a: {a}, %b: {b}) -> {c} {{
          %p = core_aten.mm.default(%a, %b) : ({a}, {b}) -> {c}
          func.return %p : {c}
        }}""",
        target=target,
    )
    left, right = (rng.integers(-4, 5, s).astype(KINDS[element]) for s in ((m, k), (k, n)))
    np.testing.assert_array_equal(made(left, right), left @ right)
