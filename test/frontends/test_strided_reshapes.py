"""Writes through a reshape of a strided argument reach it where torch's reshape is a view."""

from __future__ import annotations

import pytest
import torch

import lamina

ARGUMENTS = {
    "one element, any strides": torch.full((1, 1), 7.0).as_strided((1, 1), (3, 2)),
    "one row of a transposed tensor": torch.arange(6.0).view(6, 1).t(),
    "rows apart": torch.arange(12.0).view(3, 4)[:, :2],
    "transposed": torch.arange(12.0).view(3, 4).t(),
}


RESHAPES = ("flatten", "reshape", "contiguous", "ravel")


class Writes(torch.nn.Module):
    """Writes to a reshape of its argument."""

    def __init__(self, reshape: str) -> None:
        super().__init__()
        self.reshape = reshape

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        args = ([-1],) if self.reshape == "reshape" else ()
        seen = getattr(x, self.reshape)(*args)
        seen.clamp_(-1, 2)
        return seen + 1


@pytest.mark.parametrize("name", ARGUMENTS)
@pytest.mark.parametrize("reshape", RESHAPES)
def test_writes_reach_what_eager_mode_writes(name: str, reshape: str) -> None:
    given = ARGUMENTS[name]
    mine, eager = (torch.empty_strided(given.shape, given.stride()) for _ in range(2))
    mine.copy_(given)
    eager.copy_(given)
    exported = torch.export.export(Writes(reshape), (mine,), strict=False)
    torch.testing.assert_close(lamina.compile(exported, cache=False)(mine), Writes(reshape)(eager))
    torch.testing.assert_close(mine, eager)


@pytest.mark.parametrize("reshape", RESHAPES)
def test_writes_to_copies_of_open_sizes_stay_there(reshape: str) -> None:
    sizes = ({0: torch.export.Dim("a", min=2), 1: torch.export.Dim("b", min=2)},)
    given = torch.randn(3, 5).t()
    exported = torch.export.export(Writes(reshape), (given,), dynamic_shapes=sizes, strict=False)
    compiled = lamina.compile(exported, versions="padded", cache=False)
    for rows, columns in ((5, 3), (2, 9), (40, 17)):
        mine = torch.randn(columns, rows).t() * 3
        kept = mine.clone()
        torch.testing.assert_close(
            compiled(mine), Writes(reshape)(kept.clone(memory_format=torch.preserve_format))
        )
        torch.testing.assert_close(mine, kept)
