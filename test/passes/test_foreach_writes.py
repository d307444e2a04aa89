"""In-place ops over lists whose elements share memory, against eager mode's one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import lamina
from lamina.dialects.errors import UnsupportedError

_TORCH: Any = torch
"""With the names that its stubs do not have."""

Write = Callable[[torch.Tensor, torch.Tensor], object]

WRITES: dict[str, Write] = {
    "crosswise": lambda x, y: _TORCH._foreach_add_([x, y], [y, x], alpha=2),
    "one tensor twice": lambda x, y: _TORCH._foreach_mul_([x, y, x], [x, x, x]),
    "copies crosswise": lambda x, y: _TORCH._foreach_copy_([x, y], [y, x]),
    "rows": lambda x, y: _TORCH._foreach_lerp_([x[0], x[1]], [x[1], x[0]], 0.5),
    "slices that overlap": lambda x, y: _TORCH._foreach_mul_([x[:2], x[1:]], 3.0),
    "numbers for each": lambda x, y: _TORCH._foreach_sub_([x[:2], x[1:], y], [1.0, 2.0, 3.0]),
    "three lists": lambda x, y: _TORCH._foreach_addcmul_([x, y], [y, x], [x, y], [0.5, 0.25]),
    "a factor of a later element": lambda x, y: _TORCH._foreach_mul_([y, x[:1]], x[1, 1] * 1),
    "rows apart": lambda x, y: _TORCH._foreach_add_([x[0], x[1]], [x[0], x[2]]),
    "no operands": lambda x, y: _TORCH._foreach_exp_([x[0], x[0], y]),
}


class _Program(torch.nn.Module):
    def __init__(self, write: Write) -> None:
        super().__init__()
        self.write = write

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        self.write(x, y)
        return x + y


@pytest.mark.parametrize("name", WRITES)
def test_elements_in_turn(name: str) -> None:
    random = torch.Generator().manual_seed(2)
    ours = torch.randn(3, 4, generator=random), torch.randn(3, 4, generator=random)
    theirs = tuple(t.clone() for t in ours)
    module = _Program(WRITES[name])
    program = torch.export.export(module, tuple(t.clone() for t in ours), strict=False)
    expected = module(*theirs)
    torch.testing.assert_close(lamina.compile(program, cache=False)(*ours), expected)
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        ("[%a], [%b]", "shares some elements with the tensor that is written"),
        ("[%b, %a], [%a, %b]", "shares some elements with the tensor that is written"),
    ],
)
def test_an_element_that_reads_part_of_itself_is_refused(lists: str, message: str) -> None:
    count = lists.count("%")
    types = ", ".join(["tensor<3xf32>"] * count)
    text = f"""
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %a = aten.slice.Tensor(%x, dim = 0, start = 0, end = 3) : (tensor<4xf32>) -> tensor<3xf32>
  %b = aten.slice.Tensor(%x, dim = 0, start = 1, end = 4) : (tensor<4xf32>) -> tensor<3xf32>
  aten._foreach_add_.List({lists}) : ({types}) -> ()
  func.return %x : tensor<4xf32>
}}"""
    with pytest.raises(UnsupportedError, match=message) as error:
        lamina.compile(text, cache=False)
    assert error.value.location == "<text>:5:3"
