"""Embedding bags against torch: sums, means, maxima, and what is told of the bags beside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import lamina
from lamina.dialects.errors import ExecutionError

pytestmark = pytest.mark.one_in(2)

BAG = torch.ops.aten._embedding_bag.default
FORWARD_ONLY = torch.ops.aten._embedding_bag_forward_only.default
MODES = {"sum": 0, "mean": 1, "max": 2}
INDICES = [1, 2, 4, 3, 4, 3, 2, 9, 2, 2]
STARTS = [0, 0, 2, 5, 8, 10]
"""Bags of 0, 2, 3, 3, 2 and 0 indices: an empty one first and last, and one of 2 alone."""


class _Bags(torch.nn.Module):
    def __init__(self, op: Callable[..., Any], mode: int, last: bool, padding: int) -> None:
        super().__init__()
        self.op, self.options = op, (mode, last, padding)

    def forward(
        self,
        weight: torch.Tensor,
        indices: torch.Tensor,
        offsets: torch.Tensor,
        scale: torch.Tensor | None = None,
    ) -> Any:
        mode, last, padding = self.options
        return self.op(weight, indices, offsets, False, mode, False, scale, last, padding)


def _table(width: int, dtype: torch.dtype, special: bool = False) -> torch.Tensor:
    """Ten rows; where asked for, NaN at the beginning and in the middle of bags, and infinities."""
    generator = torch.Generator().manual_seed(0)
    table = torch.randn(10, width, generator=generator)
    if special:
        table[4, 0] = table[1, width // 2] = table[3, -1] = torch.nan
        table[9] = -torch.inf
    return table.to(dtype)


def _both(module: torch.nn.Module, *inputs: torch.Tensor) -> tuple[Any, Any]:
    compiled = lamina.compile(torch.export.export(module, inputs), cache=False)
    return compiled(*inputs), module(*inputs)


def _assert_same(
    ours: Any, eager: Any, rtol: float | None = None, atol: float | None = None
) -> None:
    for one, other in zip(ours, eager, strict=True):
        torch.testing.assert_close(one, other, equal_nan=True, rtol=rtol, atol=atol)


@pytest.mark.parametrize("padding", [-1, 2])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("op", [BAG, FORWARD_ONLY], ids=lambda op: op._schema.name)
def test_all_results(op: Callable[..., Any], mode: str, padding: int) -> None:
    for width, dtype in ((1, torch.int64), (20, torch.int64), (300, torch.int32)):
        inputs = (torch.tensor(INDICES, dtype=dtype), torch.tensor(STARTS, dtype=dtype))
        module = _Bags(op, MODES[mode], False, padding)
        table = _table(width, torch.float32, special=mode == "max")
        _assert_same(*_both(module, table, *inputs))


@pytest.mark.parametrize("padding", [-1, 2])
@pytest.mark.parametrize("mode", MODES)
def test_last_offset(mode: str, padding: int) -> None:
    """Behind it, torch sums nothing in one step, and goes on in others: sizes are of all."""
    for end, dtype in ((10, torch.float32), (9, torch.float32), (9, torch.float64)):
        inputs = (torch.tensor(INDICES), torch.tensor([*STARTS[:-1], end]))
        module = _Bags(BAG, MODES[mode], True, padding)
        _assert_same(*_both(module, _table(20, dtype), *inputs))


@pytest.mark.parametrize("padding", [-1, 2])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16], ids=str)
def test_element_types(dtype: torch.dtype, padding: int) -> None:
    inputs = (torch.tensor(INDICES), torch.tensor(STARTS))
    for mode in MODES.values():
        module = _Bags(BAG, mode, False, padding)
        ours, eager = _both(module, _table(20, dtype, special=mode == 2), *inputs)
        if dtype is torch.bfloat16 and mode == 0 and padding < 0:
            # Torch's shape function has a bag for each index there, its kernel none.
            ours, eager = (made[0::2] for made in (ours, eager))
        _assert_same(ours, eager)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("padding", [-1, 2])
def test_scaled_rows(padding: int, last: bool) -> None:
    """Padding is left out even where it is infinite: zero times it would be NaN."""
    scale = torch.rand(len(INDICES), generator=torch.Generator().manual_seed(1))
    for width in (5, 64):
        table = _table(width, torch.float32)
        if padding >= 0:
            table[padding] = torch.inf
        inputs = (torch.tensor(INDICES), torch.tensor([*STARTS, 10] if last else STARTS), scale)
        ours, eager = _both(_Bags(BAG, 0, last, padding), table, *inputs)
        _assert_same(ours, eager, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", MODES)
def test_nothing_in_any_bag(mode: str) -> None:
    inputs = (torch.tensor([], dtype=torch.int64), torch.tensor([0, 0]))
    _assert_same(*_both(_Bags(BAG, MODES[mode], False, -1), _table(3, torch.float32), *inputs))


@pytest.mark.parametrize("mode", MODES)
def test_many_bags(mode: str) -> None:
    """Bags of 0 to 50 rows of a table beyond the nearest caches, whose rows are fetched ahead."""
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(0, 51, (301,), generator=generator)
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)[:-1]])
    indices = torch.randint(0, 5000, (int(lengths.sum()),), generator=generator)
    for width in (16, 100):
        table = torch.randn(5000, width, generator=generator)
        ours, eager = _both(_Bags(BAG, MODES[mode], False, 7), table, indices, offsets)
        _assert_same(ours, eager, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("indices", "offsets", "last"),
    [
        ([1, 2, 3], [0, 4], False),
        ([1, 2, 3], [0, 4], True),
        ([1, 2, 3], [0, 3, 2], False),
        ([1, 2, 3], [1, 2], False),
        ([1, 2, 3], [0, -2, 3], False),
        ([1, 10, 3], [0, 2], False),
        ([1, -1, 3], [0, 2], False),
    ],
)
def test_wrong_bags_are_errors(indices: list[int], offsets: list[int], last: bool) -> None:
    inputs = (_table(20, torch.float32), torch.tensor(indices), torch.tensor(offsets))
    module = _Bags(BAG, 0, last, -1)
    right = (inputs[0], torch.tensor([0, 1, 2]), torch.zeros_like(inputs[2]))
    compiled = lamina.compile(torch.export.export(module, right), cache=False)
    with pytest.raises(RuntimeError):
        module(*inputs)
    with pytest.raises(ExecutionError, match=r"out of range|must not fall"):
        compiled(*inputs)


def test_length_of_sizes_is_what_the_program_says() -> None:
    """Torch's kernel makes a place for each offset, its shape function one for each bag."""
    text = """
    func.func @main(%w: tensor<10x3xf32>, %i: tensor<4xi64>, %o: tensor<3xi64>)
        -> (tensor<2x3xf32>, tensor<0xi64>, tensor<3xi64>, tensor<3xi64>) {
      %r, %b, %s, %m = aten._embedding_bag_forward_only.default(%w, %i, %o,
          include_last_offset = true) : (tensor<10x3xf32>, tensor<4xi64>, tensor<3xi64>)
          -> (tensor<2x3xf32>, tensor<0xi64>, tensor<3xi64>, tensor<3xi64>)
      func.return %r, %b, %s, %m
          : tensor<2x3xf32>, tensor<0xi64>, tensor<3xi64>, tensor<3xi64>
    }
    """
    inputs = (_table(3, torch.float32), torch.tensor([1, 2, 4, 3]), torch.tensor([0, 3, 4]))
    ours = lamina.compile(text, cache=False)(*inputs)
    _assert_same(ours, _Bags(FORWARD_ONLY, 0, True, -1)(*inputs))


class _Gradient(torch.nn.Module):
    """What a table's gradient is, from that of its bags and what is told of them."""

    def __init__(self, mode: int) -> None:
        super().__init__()
        self.mode = mode

    def forward(
        self,
        grad: torch.Tensor,
        weight: torch.Tensor,
        indices: torch.Tensor,
        offsets: torch.Tensor,
    ) -> torch.Tensor:
        made = BAG(weight, indices, offsets, False, self.mode, False, None, False, 2)
        backward = torch.ops.aten._embedding_bag_dense_backward.default
        return backward(grad, indices, *made[1:], weight.shape[0], False, self.mode, None, 2)


@pytest.mark.parametrize("mode", MODES)
def test_gradients(mode: str) -> None:
    indices, offsets = torch.tensor(INDICES), torch.tensor(STARTS)
    grad = torch.randn(len(STARTS), 20, generator=torch.Generator().manual_seed(2))
    table = _table(20, torch.float32)
    ours, eager = _both(_Gradient(MODES[mode]), grad, table, indices, offsets)
    torch.testing.assert_close(ours, eager)
