"""Programs over images that end in boxes, places or segments, of `bench.open_programs`."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - its usual name

from bench.open_program_table import (
    FIRST_IMAGES,
    IMAGES,
    ProgramTable,
    images,
)

HEAD_PROGRAMS = ProgramTable()


@HEAD_PROGRAMS.add(
    "segmentation head",
    lambda s: (torch.randn(s[0], 64, s[1] // 4, s[2] // 4), torch.randn(s[0], 32, s[1], s[2])),
    [(1, 32, 48), (2, 56, 56), (2, 32, 48), (1, 100, 60)],
    [(3, 40, 48), (2, 44, 36)],
)
class SegmentationHead(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Conv2d(64, 32, 1)
        self.b = nn.Conv2d(64, 32, 3, padding=1)
        self.n = nn.BatchNorm2d(32)
        self.c = nn.Conv2d(32, 21, 1)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        x = F.interpolate(self.a(x), size=y.shape[-2:], mode="bilinear", align_corners=False)
        return self.c(F.relu(self.n(self.b(torch.cat([x, y], 1)))))


@HEAD_PROGRAMS.add("segmentation argmax", images(21), IMAGES, FIRST_IMAGES)
class SegmentationArgmax(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        y = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        return (y.argmax(1), y.softmax(1).amax(1))


@HEAD_PROGRAMS.add(
    "dice focal loss",
    lambda s: (torch.randn(s[0], 3, s[1], s[2]), torch.rand(s[0], 3, s[1], s[2])),
    IMAGES,
    FIRST_IMAGES,
)
class DiceFocalLoss(nn.Module):
    def forward(self, x: torch.Tensor, t: torch.Tensor) -> Any:
        p = x.sigmoid()
        dice = 1 - (2 * (p * t).sum((2, 3)) + 1) / (p.sum((2, 3)) + t.sum((2, 3)) + 1)
        ce = F.binary_cross_entropy_with_logits(x, t, reduction="none")
        return dice.mean() + ((1 - (p * t + (1 - p) * (1 - t))) ** 2 * ce).mean()


@HEAD_PROGRAMS.add(
    "detection heads",
    lambda s: (torch.randn(s[0], 64, s[1], s[2]), torch.randn(20, 64)),
    [(1, 8, 10), (2, 14, 14), (4, 7, 9), (1, 25, 20)],
    [(3, 10, 12), (2, 11, 9)],
)
class DetectionHeads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.k = nn.Linear(64, 128)
        self.c = nn.Linear(64, 11)
        self.b = nn.Linear(64, 4)

    def forward(self, x: torch.Tensor, q: torch.Tensor) -> Any:
        f = x.flatten(2).transpose(1, 2)
        k, v = self.k(f).chunk(2, -1)
        y = F.scaled_dot_product_attention(q.expand(x.shape[0], -1, -1), k, v)
        return (self.c(y).softmax(-1), self.b(y).sigmoid())


@HEAD_PROGRAMS.add(
    "heads of two levels",
    lambda s: (
        torch.randn(s[0], 32, s[1], s[2]),
        torch.randn(s[0], 32, s[1] // 2, s[2] // 2),
    ),
    [(1, 32, 48), (2, 28, 28), (1, 64, 40)],
    [(3, 40, 24), (2, 20, 36)],
)
class HeadsOfTwoLevels(nn.Module):
    """Classes and boxes of a detector, of two levels of a pyramid joined."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Conv2d(32, 32, 3, padding=1)
        self.classes, self.boxes = nn.Conv2d(32, 12, 1), nn.Conv2d(32, 4, 1)

    def forward(self, *levels: torch.Tensor) -> torch.Tensor:
        found: list[torch.Tensor] = []
        for level in levels:
            y = F.relu(self.inner(level))
            classes = self.classes(y).flatten(2).transpose(1, 2).sigmoid()
            boxes = self.boxes(y).flatten(2).transpose(1, 2)
            found.append(torch.cat([classes, boxes], -1))
        return torch.cat(found, 1)


@HEAD_PROGRAMS.add(
    "expected places",
    images(17),
    [(1, 16, 12), (4, 24, 20), (2, 32, 24)],
    [(3, 20, 18), (2, 18, 16)],
)
class ExpectedPlaces(nn.Module):
    """The mean place of each heat map."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, c, h, w = x.shape
        p = x.flatten(2).softmax(-1).view(b, c, h, w)
        columns, rows = (p.sum(2) * torch.arange(w)).sum(-1), (p.sum(3) * torch.arange(h)).sum(-1)
        return torch.stack([columns, rows], -1)
