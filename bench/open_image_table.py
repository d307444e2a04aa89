"""Programs over images, of `bench.open_programs`."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - its usual name

from bench.open_program_table import (
    EVEN_IMAGES,
    FIRST_IMAGES,
    FIRST_PATCHED_IMAGES,
    IMAGES,
    PATCHED_IMAGES,
    ProgramTable,
    images,
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


@IMAGE_PROGRAMS.add(
    "codes of pixels",
    images(16),
    [(1, 8, 10), (4, 14, 14), (2, 7, 9)],
    [(3, 10, 12), (2, 11, 9)],
)
class CodesOfPixels(nn.Module):
    """The nearest code of each pixel, and how far it is."""

    def __init__(self) -> None:
        super().__init__()
        self.codes = nn.Parameter(torch.randn(128, 16))

    def forward(self, x: torch.Tensor) -> Any:
        b, c, h, w = x.shape
        rows = x.permute(0, 2, 3, 1).reshape(-1, c)
        squares = rows.square().sum(1, keepdim=True) + self.codes.square().sum(1)
        places = (squares - 2 * rows @ self.codes.t()).argmin(1)
        found = self.codes[places].view(b, h, w, c).permute(0, 3, 1, 2)
        return (found, places.view(b, h, w), (found - x).square().mean())


@IMAGE_PROGRAMS.add(
    "halved behind silu",
    lambda s: (torch.randn(s[0], 16, s[1], s[2]), torch.randn(s[0], 32)),
    EVEN_IMAGES,
    FIRST_IMAGES,
)
class HalvedBehindSilu(nn.Module):
    """A block that is told by a vector, in half the size, and scaled up by a convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.told, self.norm = nn.Linear(32, 32), nn.GroupNorm(4, 16)
        self.inner = nn.Conv2d(16, 16, 3, padding=1)
        self.up = nn.ConvTranspose2d(16, 8, 2, 2)

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        scale, shift = self.told(F.silu(t))[:, :, None, None].chunk(2, 1)
        y = F.silu(self.norm(self.inner(x)) * (1 + scale) + shift) + x
        return self.up(F.avg_pool2d(y, 2))
