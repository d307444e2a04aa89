"""Programs over graphs, boxes and ragged rows, of `bench.open_programs`."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - its usual name

from bench.open_program_table import (
    FIRST_GRAPHS,
    FIRST_ROWS,
    FIRST_TEXTS,
    GRAPHS,
    TEXTS,
    ProgramTable,
    graph,
)

GRAPH_PROGRAMS = ProgramTable()


@GRAPH_PROGRAMS.add(
    "graph means",
    graph(64),
    GRAPHS,
    FIRST_GRAPHS,
)
class GraphMeans(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(64, 64)
        self.b = nn.Linear(64, 64)

    def forward(self, x: torch.Tensor, e: torch.Tensor) -> Any:
        m = torch.zeros_like(x).index_add(0, e[1], x[e[0]])
        d = x.new_zeros(x.shape[0]).index_add(0, e[1], torch.ones_like(e[1], dtype=x.dtype))
        return F.relu(self.a(x) + self.b(m / d.clamp(min=1)[:, None]))


@GRAPH_PROGRAMS.add(
    "graph attention",
    graph(64),
    GRAPHS,
    FIRST_GRAPHS,
)
class GraphAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Linear(64, 64)
        self.s = nn.Parameter(torch.randn(4, 16))
        self.d = nn.Parameter(torch.randn(4, 16))

    def forward(self, x: torch.Tensor, e: torch.Tensor) -> Any:
        n = x.shape[0]
        h = self.w(x).view(n, 4, 16)
        a = F.leaky_relu((h * self.s).sum(-1)[e[0]] + (h * self.d).sum(-1)[e[1]], 0.2)
        m = a.new_full((n, 4), -1e30).scatter_reduce(0, e[1][:, None].expand(-1, 4), a, "amax")
        p = (a - m[e[1]]).exp()
        z = torch.zeros_like(m).index_add(0, e[1], p)
        out = torch.zeros_like(h).index_add(0, e[1], p[..., None] * h[e[0]])
        return F.elu((out / (z[..., None] + 1e-09)).reshape(n, 64))


@GRAPH_PROGRAMS.add(
    "ragged means",
    lambda s: (torch.randn(s[0], s[1], 64), torch.randint(1, s[1] + 1, (s[0],))),
    TEXTS,
    FIRST_TEXTS,
)
class RaggedMeans(nn.Module):
    def forward(self, x: torch.Tensor, n: torch.Tensor) -> Any:
        m = (torch.arange(x.shape[1]) < n[:, None]).float()[..., None]
        mean = (x * m).sum(1) / m.sum(1)
        var = ((x - mean[:, None]).square() * m).sum(1) / m.sum(1)
        return (x - mean[:, None]) / (var[:, None] + 1e-05).sqrt() * m


@GRAPH_PROGRAMS.add(
    "overlaps of boxes",
    lambda s: (torch.rand(s[0], 4), torch.rand(s[0])),
    [(5,), (50,), (100,), (400,)],
    FIRST_ROWS,
)
class OverlapsOfBoxes(nn.Module):
    def forward(self, b: torch.Tensor, s: torch.Tensor) -> Any:
        i = s.argsort(descending=True)
        b = b[i]
        b = torch.cat([b[:, :2], b[:, :2] + b[:, 2:]], 1)
        a = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
        lt = torch.maximum(b[:, None, :2], b[None, :, :2])
        rb = torch.minimum(b[:, None, 2:], b[None, :, 2:])
        wh = (rb - lt).clamp(min=0)
        inter = wh[..., 0] * wh[..., 1]
        iou = (inter / (a[:, None] + a[None] - inter)).triu(1)
        return (iou.amax(0) < 0.5, i)


@GRAPH_PROGRAMS.add(
    "lattice of tags",
    lambda s: (torch.randn(s[0], s[1], 16), torch.randn(16, 16)),
    TEXTS,
    FIRST_TEXTS,
)
class LatticeOfTags(nn.Module):
    def forward(self, x: torch.Tensor, t: torch.Tensor) -> Any:
        a = x[:, 0]
        for i in range(1, 5):
            a = torch.logsumexp(a[:, :, None] + t, 1) + x[:, i]
        return a.logsumexp(1)


@GRAPH_PROGRAMS.add("symmetric graph", graph(32), GRAPHS, FIRST_GRAPHS)
class SymmetricGraph(nn.Module):
    """A graph convolution, normed by the degrees of both ends."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(32, 48, bias=False)

    def forward(self, x: torch.Tensor, e: torch.Tensor) -> torch.Tensor:
        d = torch.ones(x.shape[0]).index_add(0, e[1], torch.ones(e.shape[1])).rsqrt()
        h = self.linear(x)
        messages = h[e[0]] * (d[e[0]] * d[e[1]])[:, None]
        return (h * d[:, None] ** 2).index_add(0, e[1], messages).relu()
