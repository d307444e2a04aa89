"""Programs whose kernels add up rows, and go on with the sums."""

from __future__ import annotations

import torch
from torch.nn import functional as F  # noqa: N812 - its usual name

import lamina


class _SumsOfSums(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        loss = F.binary_cross_entropy_with_logits(y, F.normalize(x, dim=0))
        return loss, torch.abs(x)


def test_sums_that_need_what_follows_other_sums() -> None:
    """The columns' norms are there when all rows have been walked: the loss walks them again."""
    x, y = (torch.randn(32, 65, dtype=torch.float16) for _ in range(2))
    made = lamina.compile(torch.export.export(_SumsOfSums(), (x, y)))(x, y)
    for value, wanted in zip(made, _SumsOfSums()(x, y), strict=True):
        torch.testing.assert_close(value, wanted)
