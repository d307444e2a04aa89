"""A block of a diffusion model's UNet with attention: 320 channels, images of 64x64."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

CHANNELS, HEADS, SIZE, GROUPS = 320, 8, 64, 32


class UNetBlock(nn.Module):
    """A residual block of two convolutions, then self-attention of all pixels, as in Stable
    Diffusion's first stage; images are [N, 320, 64, 64]."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.GroupNorm(GROUPS, CHANNELS) for _ in range(3))
        self.convs = nn.ModuleList(nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1) for _ in range(2))
        self.project = nn.Linear(CHANNELS, 3 * CHANNELS, bias=False)
        self.out = nn.Linear(CHANNELS, CHANNELS)

    def forward(self, x: Tensor) -> Tensor:
        """The block's image."""
        y = x
        for norm, conv in zip(self.norms, self.convs, strict=False):
            y = conv(functional.silu(norm(y)))
        x = x + y
        return x + self._attended(self.norms[2](x))

    def _attended(self, x: Tensor) -> Tensor:
        count, _, height, width = x.shape
        pixels = x.flatten(2).transpose(1, 2)
        parts = self.project(pixels).view(count, height * width, 3, HEADS, CHANNELS // HEADS)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind()
        mixed = functional.scaled_dot_product_attention(q, k, v)
        y = self.out(mixed.transpose(1, 2).flatten(2))
        return y.transpose(1, 2).view(count, CHANNELS, height, width)


def unet_block() -> tuple[nn.Module, Tensor]:
    """The block and an image for it."""
    return UNetBlock().eval(), torch.randn(1, CHANNELS, SIZE, SIZE)
