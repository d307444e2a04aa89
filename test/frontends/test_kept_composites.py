"""Ops whose decompositions by torch are at odds with torch's own kernels."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

pytestmark = pytest.mark.usefixtures("inference")


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_labels_end_at_the_first_missing_one(reduction: str) -> None:
    """Torch's decomposition takes each label behind it for one more of class 0."""

    def loss(x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return functional.multilabel_margin_loss(x, labels, reduction=reduction)

    x = torch.randn(4, 4)
    labels = torch.tensor([[3, 0, -1, 1], [0, -1, 1, 2], [1, 2, 3, 0], [-1, 3, 3, 3]])
    compiled = torch.compile(loss, backend="lamina", fullgraph=True)
    torch.testing.assert_close(compiled(x, labels), loss(x, labels))


@pytest.mark.parametrize("shape", [(), (1,), (10,), (1, 10)])
@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_the_loss_of_one_sample(shape: tuple[int, ...], reduction: str) -> None:
    """Without reduction tracing gives it a dimension, which the kernel has of batches only."""

    def loss(x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return functional.multilabel_margin_loss(x, labels, reduction=reduction) + x.sum()

    x = torch.randn(shape)
    labels = torch.tensor([0, -1, *range(2, 10)])[: x.numel()].reshape(shape)
    compiled = torch.compile(loss, backend="lamina", fullgraph=True)(x, labels)
    assert compiled.shape == (() if reduction == "mean" else (1,))
    torch.testing.assert_close(compiled.reshape(()), loss(x, labels).reshape(()))
