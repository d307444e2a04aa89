"""Programs over sounds, of `bench.open_programs`."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - its usual name

from bench.open_program_table import (
    FIRST_SOUNDS,
    SOUNDS,
    ProgramTable,
    sequences,
)

SOUND_PROGRAMS = ProgramTable()


@SOUND_PROGRAMS.add(
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


@SOUND_PROGRAMS.add(
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


@SOUND_PROGRAMS.add(
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


@SOUND_PROGRAMS.add(
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


@SOUND_PROGRAMS.add(
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
