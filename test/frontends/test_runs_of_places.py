"""Places that are looked up and lie side by side, forwards, backwards, in part or not at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

WIDTHS = (1, 2, 7, 16, 17, 31, 32, 70)
KINDS = ("float32", "float64", "bfloat16", "int64", "int32", "int8", "bool")


def _places(count: int) -> dict[str, Any]:
    forward = torch.arange(count)
    return {
        "in order": forward,
        "reversed": forward.flip(0),
        "broken": torch.cat([forward[count // 2 :], forward[: count // 2]]),
        "turned in the middle": torch.cat([forward[: count // 2], forward[count // 2 :].flip(0)]),
        "repeated": forward // 2,
        "one": torch.zeros_like(forward),
        "every second": forward * 2 % count,
        "any": torch.randperm(count),
    }


@pytest.mark.parametrize("kind", KINDS)
def test_places_as_torch(kind: str) -> None:
    torch.manual_seed(0)
    torch.compiler.reset()
    compiled = torch.compile(lambda x, i: x[i], backend="lamina", dynamic=True)
    with torch.no_grad():
        for count in (40, 50, *WIDTHS):
            x = (torch.randn(count) * 50).to(getattr(torch, kind))
            for name, places in _places(count).items():
                assert torch.equal(compiled(x, places), x[places]), (count, name)


def test_flips_and_edges_of_open_width() -> None:
    torch.manual_seed(0)
    torch.compiler.reset()

    def of_lines(x: Any) -> Any:
        padded = torch.nn.functional.pad(x, (3, 2), mode="replicate")
        return x.flip(-1) * 2, padded[..., 3:] - padded[..., :-3], x.flatten(1) + 1

    compiled = torch.compile(of_lines, backend="lamina", dynamic=True)
    with torch.no_grad():
        for shape in ((2, 3, 40), (3, 4, 50), *((2, 3, width) for width in WIDTHS)):
            x = torch.randn(shape)
            for found, wanted in zip(compiled(x), of_lines(x), strict=True):
                np.testing.assert_array_equal(found.numpy(), wanted.numpy())
