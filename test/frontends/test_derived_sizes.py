"""Multiples of what no argument has alone, and what steps and diagonals leave of sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch

import lamina

Dim = torch.export.Dim
Shapes = Sequence[tuple[int, ...]]

ROWS, COLUMNS = Dim("rows", max=64), Dim("columns", max=50)

CASES: dict[str, tuple[Callable[..., Any], Any, Shapes]] = {
    "blocks of 8": (
        lambda x: x.view(x.shape[0] // 8, 8, 3).softmax(1).flatten(0, 1),
        {0: 8 * Dim("blocks", max=16)},
        [(32, 3), (8, 3), (0, 3), (120, 3), (128, 3)],
    ),
    "windows in steps": (
        lambda x: torch.nn.functional.conv1d(x, torch.ones(3, 2, 4), stride=4),
        {0: Dim("batch", max=8), 2: 4 * Dim("steps", max=40)},
        [(2, 2, 16), (1, 2, 4), (8, 2, 28), (0, 2, 12), (3, 2, 160)],
    ),
    "odd": (lambda x: x.cumsum(0) * 2, {0: 2 * Dim("half", max=20) + 1}, [(5, 2), (1, 2), (41, 2)]),
    "every second": (
        lambda x: x[:, ::2] + 1,
        {0: Dim("batch", max=8), 1: Dim("length", min=3, max=64)},
        [(2, 6, 3), (1, 3, 3), (3, 7, 3), (8, 64, 3)],
    ),
    "every third from the fifth": (
        lambda x: x[:, 5::3].sum(1),
        {0: Dim("batch", max=8), 1: Dim("length", min=12, max=64)},
        [(2, 12, 3), (1, 13, 3), (3, 14, 3), (8, 64, 3)],
    ),
    "in steps, but for the last": (
        lambda x: x[:, :-1:2] - x[:, :1],
        {0: Dim("batch", max=8), 1: Dim("length", min=4, max=64)},
        [(2, 6, 3), (1, 5, 3), (3, 4, 3), (8, 64, 3)],
    ),
    "identity": (
        lambda x: x @ x.T - torch.eye(x.shape[0]),
        {0: ROWS},
        [(5, 3), (1, 3), (0, 3), (64, 3)],
    ),
    "identity, not square": (
        lambda x: torch.eye(*x.shape).sum(0) + x,
        {0: ROWS, 1: COLUMNS},
        [(5, 8), (1, 1), (9, 50), (64, 3)],
    ),
    "diagonal": (
        lambda x: torch.diagonal(x @ x.mT, 0, 1, 2).sum(-1),
        {0: Dim("batch", max=8), 1: ROWS},
        [(2, 5, 7), (1, 1, 7), (8, 33, 7)],
    ),
    "diagonal beside": (
        lambda x: torch.diagonal(x @ x.mT, 1, 1, 2) * 2,
        {0: Dim("batch", max=8), 1: Dim("length", min=3, max=40)},
        [(2, 5, 7), (1, 3, 7), (8, 33, 7)],
    ),
    "diagonal, not square": (
        lambda x: torch.diagonal(x, 0, 0, 1) * 2,
        {0: ROWS, 1: COLUMNS},
        [(3, 5, 3), (7, 2, 3), (33, 33, 3), (64, 50, 3)],
    ),
    "trace": (lambda x: torch.trace(x @ x.T), {0: ROWS}, [(5, 7), (1, 7), (64, 7)]),
}


class Called(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        """The function's result."""
        return self.function(x)


def _exported(name: str) -> Any:
    function, dims, shapes = CASES[name]
    torch.manual_seed(0)
    return torch.export.export(
        Called(function), (torch.randn(shapes[0]),), dynamic_shapes={"x": dims}, strict=False
    )


@pytest.mark.parametrize("name", CASES)
def test_one_version_serves_a_range(name: str) -> None:
    function, _, shapes = CASES[name]
    compiled = lamina.compile(_exported(name), versions="padded")
    for shape in shapes:
        x = torch.randn(shape)
        compiled(torch.full((shapes[-1]), np.nan))  # what a larger call leaves behind
        torch.testing.assert_close(compiled(x), function(x), rtol=1e-4, atol=1e-4)
    assert compiled.sizes.reason is None


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("blocks of 8", (136, 3), "dimension 0 of argument 'x' is 136: it is 8 \\* s"),
        ("blocks of 8", (12, 3), "dimension 0 of argument 'x' is 12: no integer makes it 8 \\* s"),
        ("blocks of 8", (12, 3), r"no integer makes it 8 \* (s\d+); '\1' is in \[0, 16\]"),
        ("odd", (43, 2), "dimension 0 of argument 'x' is 43"),
        ("odd", (4, 2), "no integer makes it 2 \\* s"),
    ],
)
def test_ranges_of_multiples_hold(name: str, shape: tuple[int, ...], message: str) -> None:
    compiled = lamina.compile(_exported(name))
    with pytest.raises(lamina.ArgumentError, match=message):
        compiled(torch.randn(shape))


def test_a_text_says_the_range_of_a_multiple() -> None:
    compiled = lamina.compile(
        """
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<8 * blocks in [8, 64]>]})
    -> tensor<?xf32> {
  %0 = aten.neg.default(%x) : (tensor<?xf32>) -> tensor<?xf32>
  func.return %0 : tensor<?xf32>
}
""",
        versions="padded",
    )
    assert str(compiled.sizes).startswith("blocks in [1, 8]")
    x = np.arange(24, dtype=np.float32)
    np.testing.assert_array_equal(compiled(x), -x)
    with pytest.raises(lamina.ArgumentError, match="'blocks' is 9 then, and not in"):
        compiled(np.zeros(72, np.float32))
