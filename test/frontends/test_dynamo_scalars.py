"""Tensors of one element that a compiled function writes to, and Python numbers beside them."""

import pytest
import torch


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.int64, torch.bool])
@pytest.mark.parametrize("shape", [(), (1,)])
def test_writes_are_kept(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(y)
        return x

    torch._dynamo.reset()
    compiled = torch.compile(add, backend="lamina", fullgraph=True)
    for start in (1, 0, 5):
        x, wanted = (torch.full(shape, start, dtype=dtype) for _ in range(2))
        y = torch.ones(shape, dtype=dtype)
        assert compiled(x, y) is x
        assert torch.equal(x, add(wanted, y))


def test_numbers_beside_them() -> None:
    def scale(x: torch.Tensor, total: torch.Tensor, by: float) -> torch.Tensor:
        total += by
        return x * by + total

    torch._dynamo.reset()
    compiled = torch.compile(scale, backend="lamina", fullgraph=True)
    total, wanted = (torch.tensor(0.5, dtype=torch.float64) for _ in range(2))
    x = torch.linspace(-1, 1, 7)
    for by in (0.5, 0.7, 2.0, 0.7):
        torch.testing.assert_close(compiled(x, total, by), scale(x, wanted, by))
        torch.testing.assert_close(total, wanted)
