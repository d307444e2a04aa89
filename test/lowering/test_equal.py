"""`aten.equal`, whose result is a number, against torch."""

from __future__ import annotations

from typing import Any

import pytest

import lamina

torch: Any = pytest.importorskip("torch")

_PROGRAM = """func.func @main(%x: tensor<{x}xf32>, %y: tensor<{y}xf32>) -> i1 {{
  %0 = aten.equal.default(%x, %y) : (tensor<{x}xf32>, tensor<{y}xf32>) -> i1
  func.return %0 : i1
}}"""

_COUNT = [0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (_COUNT, [0.0, 1.05, 2.0]),
        (_COUNT, [0.0, 1.5, 2.0]),
        ([1.0, 1.0], [1.0]),
        (["nan"], ["nan"]),
    ],
)
def test_allclose(x: list[Any], y: list[Any]) -> None:
    one, other = torch.tensor(list(map(float, x))), torch.tensor(list(map(float, y)))
    for equal_nan in (False, True):
        text = _PROGRAM.format(x=len(x), y=len(y)).replace(
            "equal.default(%x, %y)",
            f"allclose.default(%x, %y, rtol = 0.1, equal_nan = {str(equal_nan).lower()})",
        )
        compiled = lamina.compile(text, cache=False)
        wanted = torch.allclose(one, other, rtol=0.1, equal_nan=equal_nan)
        assert compiled(one, other) is wanted


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (_COUNT, _COUNT),
        (_COUNT, [0.0, 1.0, 3.0]),
        (_COUNT, [0.0, 1.0]),
        ([0.0], [-0.0]),
        ([float("nan")], [float("nan")]),
    ],
)
def test_equal(x: list[float], y: list[float]) -> None:
    one, other = torch.tensor(x), torch.tensor(y)
    compiled = lamina.compile(_PROGRAM.format(x=len(x), y=len(y)), cache=False)
    assert compiled(one, other) is torch.equal(one, other)
