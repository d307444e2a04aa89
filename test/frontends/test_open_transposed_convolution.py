"""Transposed convolutions of images of any size: what stands behind an image is in no result."""

from __future__ import annotations

from typing import Any

import pytest

import lamina

torch: Any = pytest.importorskip("torch")
F, DYNAMIC = torch.nn.functional, torch.export.Dim.DYNAMIC

CASES: dict[str, tuple[int, tuple[int, ...], dict[str, Any]]] = {
    # spatial dimensions, weights, options
    "1-d": (1, (6, 3, 3), {}),
    "strides": (1, (6, 3, 5), {"stride": 2, "padding": 1, "output_padding": 1}),
    "dilated": (1, (6, 3, 3), {"dilation": 3, "padding": 2}),
    "groups": (2, (6, 2, 3, 2), {"groups": 3, "stride": (1, 2)}),
    "2-d": (2, (6, 3, 4, 3), {"stride": 2, "padding": (1, 0)}),
    "no overlap": (2, (6, 3, 2, 2), {"stride": 2}),
    "3-d": (3, (6, 2, 2, 3, 3), {"stride": (2, 1, 2), "output_padding": (1, 0, 0)}),
}
SIZES = ((4, 5, 6), (1, 2, 3), (9, 7, 8))


class Transposed(torch.nn.Module):
    """A transposed convolution of an image by weights that are given in each call."""

    def __init__(self, rank: int, options: dict[str, Any]) -> None:
        super().__init__()
        self.call, self.options = getattr(F, f"conv_transpose{rank}d"), options

    def forward(self, x: Any, weight: Any, bias: Any) -> Any:
        return self.call(x, weight, bias, **self.options)


@pytest.mark.parametrize("name, batch", [*((name, (2,)) for name in CASES), ("2-d", ())])
def test_infinite_weights_meet_no_padding(name: str, batch: tuple[int, ...]) -> None:
    rank, shape, options = CASES[name]
    torch.manual_seed(0)
    module = Transposed(rank, options)
    weight, bias = torch.randn(shape), torch.randn(shape[1] * options.get("groups", 1))
    first = len(batch) + 1
    example = torch.randn(*batch, 6, *SIZES[0][:rank])
    open_dims = dict.fromkeys(range(first, first + rank), DYNAMIC)
    exported = torch.export.export(
        module, (example, weight, bias), dynamic_shapes={"x": open_dims, "weight": {}, "bias": {}}
    )
    compiled = lamina.compile(exported, versions="padded")
    other = weight.clone()
    flat = other.view(-1)
    flat[3], flat[-1], flat[7] = float("inf"), -float("inf"), float("nan")
    for size in SIZES:
        x = torch.randn(*batch, 6, *size[:rank])
        for given in (weight, other):
            wanted = module(x.double(), given.double(), bias.double()).float()
            torch.testing.assert_close(compiled(x, given, bias), wanted, equal_nan=True)
    assert len(compiled.sizes) == 1
