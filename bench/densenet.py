"""DenseNet-121, which transformers does not have: Huang et al., 2017, table 1."""

from __future__ import annotations

import torch
from torch import nn

GROWTH, STEM, BOTTLENECK = 32, 64, 4
LAYERS = (6, 12, 24, 16)


def _norm_conv(channels: int, made: int, size: int) -> nn.Sequential:
    convolution = nn.Conv2d(channels, made, size, padding=size // 2, bias=False)
    return nn.Sequential(nn.BatchNorm2d(channels), nn.ReLU(), convolution)


class _Layer(nn.Module):
    """Its input beside `GROWTH` channels that are computed of it."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        wide = BOTTLENECK * GROWTH
        self.made = nn.Sequential(_norm_conv(channels, wide, 1), _norm_conv(wide, GROWTH, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([x, self.made(x)], 1)


def densenet_121() -> nn.Sequential:
    """Images `[n, 3, 224, 224]` to 1,000 logits, with random weights."""
    stem = nn.Conv2d(3, STEM, 7, 2, 3, bias=False)
    parts: list[nn.Module] = [stem, nn.BatchNorm2d(STEM), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    channels = STEM
    for number, layers in enumerate(LAYERS):
        if number:
            parts += [_norm_conv(channels, channels // 2, 1), nn.AvgPool2d(2)]
            channels //= 2
        parts += [_Layer(channels + GROWTH * n) for n in range(layers)]
        channels += GROWTH * layers
    end = [nn.BatchNorm2d(channels), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*parts, *end, nn.Linear(channels, 1000))
