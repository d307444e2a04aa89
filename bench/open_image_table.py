"""Programs over images and sound, of `bench.open_programs`."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - its usual name

from bench.open_program_table import (
    EVEN_IMAGES,
    FIRST_IMAGES,
    FIRST_PATCHED_IMAGES,
    FIRST_SOUNDS,
    IMAGES,
    PATCHED_IMAGES,
    SOUNDS,
    ProgramTable,
    images,
    sequences,
)

IMAGE_PROGRAMS = ProgramTable()


@IMAGE_PROGRAMS.add("gram of images", images(32), IMAGES, FIRST_IMAGES)
class GramOfImages(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        b, c, h, w = x.shape
        f = x.view(b, c, h * w)
        return f @ f.transpose(1, 2) / (h * w)


@IMAGE_PROGRAMS.add(
    "swin block 8x8",
    lambda s: (torch.randn(s[0], s[1], s[2], 64),),
    [(1, 8, 8), (2, 56, 56), (4, 32, 48), (1, 64, 64)],
    [(3, 40, 48), (2, 24, 32)],
)
class SwinBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        c, self.n, self.heads = 64, 8, 4
        self.norm = nn.LayerNorm(c)
        self.qkv = nn.Linear(c, 3 * c)
        self.o = nn.Linear(c, c)
        self.m = nn.Sequential(nn.LayerNorm(c), nn.Linear(c, 2 * c), nn.GELU(), nn.Linear(2 * c, c))

    def forward(self, x: torch.Tensor) -> Any:
        b, h, w, c = x.shape
        n = self.n
        y = (
            self.norm(x)
            .view(b, h // n, n, w // n, n, c)
            .permute(0, 1, 3, 2, 4, 5)
            .reshape(-1, n * n, c)
        )
        q, k, v = self.qkv(y).view(-1, n * n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(-1, n * n, c)
        y = self.o(y).view(b, h // n, w // n, n, n, c).permute(0, 1, 3, 2, 4, 5).reshape(b, h, w, c)
        x = x + y
        return x + self.m(x)


@IMAGE_PROGRAMS.add(
    "windows as results",
    lambda s: (torch.randn(s[0], s[1], s[2], 32),),
    [(1, 32, 32), (2, 56, 56), (4, 28, 36), (1, 64, 64)],
    [(3, 40, 48), (2, 24, 32)],
)
class WindowsAsResults(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        b, h, w, c = x.shape
        return x.view(b, h // 4, 4, w // 4, 4, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, 16, c)


@IMAGE_PROGRAMS.add(
    "patches as results",
    images(3),
    PATCHED_IMAGES,
    FIRST_PATCHED_IMAGES,
)
class PatchesAsResults(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        b, c, h, w = x.shape
        return (
            x.view(b, c, h // 16, 16, w // 16, 16)
            .permute(0, 2, 4, 1, 3, 5)
            .reshape(b, h // 16 * (w // 16), c * 256)
        )


@IMAGE_PROGRAMS.add("unfold 3x3", images(16), IMAGES, FIRST_IMAGES)
class Unfold3x3(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return F.unfold(x, 3, padding=1)


@IMAGE_PROGRAMS.add("unfold 4x4 s4", images(16), IMAGES, FIRST_IMAGES)
class Unfold4x4S4(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return F.unfold(x, 4, stride=4)


@IMAGE_PROGRAMS.add("unfold times weights", images(16), IMAGES, FIRST_IMAGES)
class UnfoldTimesWeights(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.randn(32, 144))

    def forward(self, x: torch.Tensor) -> Any:
        return self.w @ F.unfold(x, 3, padding=1)


@IMAGE_PROGRAMS.add("window sums", images(16), IMAGES, FIRST_IMAGES)
class WindowSums(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return F.avg_pool2d(x, 3, 1, 1) - x


@IMAGE_PROGRAMS.add("pyramid", images(3), IMAGES, FIRST_IMAGES)
class Pyramid(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Conv2d(3, 16, 3, 2, 1)
        self.b = nn.Conv2d(16, 32, 3, 2, 1)
        self.c = nn.Conv2d(32, 16, 1)

    def forward(self, x: torch.Tensor) -> Any:
        a = F.relu(self.a(x))
        b = F.relu(self.b(a))
        return a + F.interpolate(self.c(b), size=a.shape[-2:], mode="nearest")


@IMAGE_PROGRAMS.add("two convolutions", images(16), IMAGES, FIRST_IMAGES)
class TwoConvolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Conv2d(16, 32, 3, 1, 1)
        self.b = nn.Conv2d(32, 16, 3, 1, 1)

    def forward(self, x: torch.Tensor) -> Any:
        return self.b(F.relu(self.a(x)))


@IMAGE_PROGRAMS.add(
    "means of 5 columns", lambda s: (torch.randn(s[0], s[1], s[2], 5),), IMAGES, FIRST_IMAGES
)
class MeansOf5Columns(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return x.view(-1, 5).mean(0)


@IMAGE_PROGRAMS.add(
    "audio conv front",
    lambda s: (torch.randn(s[0], 1, s[1]),),
    SOUNDS,
    FIRST_SOUNDS,
)
class AudioConvFront(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(1, 64, 10, 5, bias=False),
            nn.GroupNorm(64, 64),
            nn.GELU(),
            nn.Conv1d(64, 64, 3, 2),
            nn.GELU(),
            nn.Conv1d(64, 64, 3, 2),
            nn.GELU(),
            nn.Conv1d(64, 64, 2, 2),
            nn.GELU(),
        )

    def forward(self, x: torch.Tensor) -> Any:
        return self.layers(x).transpose(1, 2)


@IMAGE_PROGRAMS.add(
    "log mel",
    lambda s: (torch.randn(s[0], s[1]),),
    SOUNDS,
    FIRST_SOUNDS,
)
class LogMel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.hann_window(400))
        self.mel = nn.Parameter(torch.rand(80, 201))

    def forward(self, x: torch.Tensor) -> Any:
        s = torch.stft(x, 400, 160, window=self.w, center=True, return_complex=True)
        m = self.mel @ s.abs().square()
        m = m.clamp(min=1e-10).log10()
        return torch.maximum(m, m.amax() - 8.0)


@IMAGE_PROGRAMS.add(
    "log mel by conv",
    lambda s: (torch.randn(s[0], s[1]),),
    SOUNDS,
    FIRST_SOUNDS,
)
class LogMelByConv(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.randn(402, 1, 400))
        self.mel = nn.Parameter(torch.rand(80, 201))

    def forward(self, x: torch.Tensor) -> Any:
        s = F.conv1d(x[:, None], self.w, stride=160, padding=200)
        return (self.mel @ (s[:, :201].square() + s[:, 201:].square()) + 1e-06).log()


@IMAGE_PROGRAMS.add(
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


@IMAGE_PROGRAMS.add("segmentation argmax", images(21), IMAGES, FIRST_IMAGES)
class SegmentationArgmax(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        y = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        return (y.argmax(1), y.softmax(1).amax(1))


@IMAGE_PROGRAMS.add(
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


@IMAGE_PROGRAMS.add("group norm block", images(32), IMAGES, FIRST_IMAGES)
class GroupNormBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n = nn.GroupNorm(8, 32)
        self.c = nn.Conv2d(32, 32, 3, padding=1)

    def forward(self, x: torch.Tensor) -> Any:
        return x + self.c(F.silu(self.n(x)))


@IMAGE_PROGRAMS.add("instance norm", images(32), IMAGES, FIRST_IMAGES)
class InstanceNorm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n = nn.InstanceNorm2d(32, affine=True)

    def forward(self, x: torch.Tensor) -> Any:
        return F.leaky_relu(self.n(x), 0.2)


@IMAGE_PROGRAMS.add("convnext block", images(32), IMAGES, FIRST_IMAGES)
class ConvNeXtBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.d = nn.Conv2d(32, 32, 7, padding=3, groups=32)
        self.n = nn.LayerNorm(32)
        self.a = nn.Linear(32, 128)
        self.b = nn.Linear(128, 32)

    def forward(self, x: torch.Tensor) -> Any:
        y = self.n(self.d(x).permute(0, 2, 3, 1))
        return x + self.b(F.gelu(self.a(y))).permute(0, 3, 1, 2)


@IMAGE_PROGRAMS.add(
    "wave net block",
    lambda s: (torch.randn(s[0], 32, s[1]),),
    [(1, 100), (2, 500), (4, 300), (1, 2000)],
    [(3, 400), (2, 600)],
)
class WaveNetBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.c = nn.ModuleList([nn.Conv1d(32, 64, 3, dilation=2**i) for i in range(3)])
        self.r = nn.ModuleList([nn.Conv1d(32, 32, 1) for i in range(3)])

    def forward(self, x: torch.Tensor) -> Any:
        for i in range(3):
            a, b = self.c[i](F.pad(x, (2 * 2**i, 0))).chunk(2, 1)
            x = x + self.r[i](a.tanh() * b.sigmoid())
        return x


@IMAGE_PROGRAMS.add(
    "conv subsampling", sequences(80), [(1, 100), (2, 200), (4, 120), (1, 500)], [(3, 150), (2, 90)]
)
class ConvSubsampling(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Conv2d(1, 16, 3, 2)
        self.b = nn.Conv2d(16, 16, 3, 2)
        self.o = nn.Linear(16 * 19, 128)

    def forward(self, x: torch.Tensor) -> Any:
        y = F.relu(self.b(F.relu(self.a(x[:, None]))))
        b, c, t, f = y.shape
        return self.o(y.transpose(1, 2).reshape(b, t, c * f))


@IMAGE_PROGRAMS.add(
    "unet 1 level",
    images(8),
    EVEN_IMAGES,
    FIRST_IMAGES,
)
class Unet1Level(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Conv2d(8, 16, 3, padding=1)
        self.b = nn.Conv2d(16, 32, 3, padding=1)
        self.u = nn.ConvTranspose2d(32, 16, 2, 2)
        self.c = nn.Conv2d(32, 16, 3, padding=1)

    def forward(self, x: torch.Tensor) -> Any:
        a = F.relu(self.a(x))
        b = F.relu(self.b(F.max_pool2d(a, 2)))
        return self.c(torch.cat([self.u(b), a], 1))


@IMAGE_PROGRAMS.add("squeeze excite", images(32), IMAGES, FIRST_IMAGES)
class SqueezeExcite(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.d = nn.Conv2d(32, 32, 3, padding=1, groups=32)
        self.n = nn.BatchNorm2d(32).eval()
        self.a = nn.Linear(32, 8)
        self.b = nn.Linear(8, 32)

    def forward(self, x: torch.Tensor) -> Any:
        y = F.silu(self.n(self.d(x)))
        return y * self.b(F.relu(self.a(y.mean((2, 3))))).sigmoid()[..., None, None]


@IMAGE_PROGRAMS.add(
    "image as a row of patches",
    images(3),
    PATCHED_IMAGES,
    FIRST_PATCHED_IMAGES,
)
class ImageAsPatches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.p = nn.Conv2d(3, 64, 16, 16)
        self.c = nn.Parameter(torch.randn(1, 1, 64))
        self.n = nn.LayerNorm(64)

    def forward(self, x: torch.Tensor) -> Any:
        t = self.p(x).flatten(2).transpose(1, 2)
        return self.n(torch.cat([self.c.expand(x.shape[0], -1, -1), t], 1))


@IMAGE_PROGRAMS.add(
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


@IMAGE_PROGRAMS.add(
    "convolution and attention",
    images(16),
    [(1, 8, 10), (2, 14, 14), (4, 7, 9), (1, 25, 20)],
    [(3, 10, 12), (2, 11, 9)],
)
class ConvolutionAndAttention(nn.Module):
    """Attention over the pixels of an image, with channels first at both ends."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Conv2d(16, 64, 3, padding=1)
        self.heads = nn.Linear(64, 192)
        self.outer = nn.Conv2d(64, 16, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(self.inner(x))
        b, c, h, w = y.shape
        t = self.heads(y.flatten(2).transpose(1, 2))
        q, k, v = t.view(b, h * w, 3, 4, 16).permute(2, 0, 3, 1, 4)
        t = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, h * w, c)
        return x + self.outer(t.transpose(1, 2).reshape(b, c, h, w))


@IMAGE_PROGRAMS.add(
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


@IMAGE_PROGRAMS.add(
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


@IMAGE_PROGRAMS.add(
    "block of a diffusion model",
    lambda s: (torch.randn(s[0], 32, s[1], s[2]), torch.randint(0, 1000, (s[0],))),
    [(1, 16, 16), (4, 14, 18), (2, 32, 24)],
    [(3, 20, 12), (2, 12, 22)],
)
class DiffusionBlock(nn.Module):
    """A norm that is scaled by the time, and a convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(8, 32)
        self.time = nn.Sequential(nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 64))
        self.convolution = nn.Conv2d(32, 32, 3, padding=1)

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        angles = t[:, None] * torch.exp(-torch.arange(32) * 0.3)
        scale, shift = self.time(torch.cat([angles.sin(), angles.cos()], -1)).chunk(2, -1)
        y = self.norm(x) * (1 + scale[..., None, None]) + shift[..., None, None]
        return x + self.convolution(F.silu(y))


@IMAGE_PROGRAMS.add(
    "merged patches",
    lambda s: (torch.randn(s[0], s[1], s[2], 32),),
    [(1, 8, 12), (2, 28, 28), (1, 64, 40)],
    [(3, 20, 24), (2, 12, 36)],
)
class MergedPatches(nn.Module):
    """Four neighbours joined, normed and multiplied."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.linear = nn.LayerNorm(128), nn.Linear(128, 64, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = [x[:, i::2, j::2] for j in range(2) for i in range(2)]
        return self.linear(self.norm(torch.cat(parts, -1)))
