"""Programs over rows and matrices, of `bench.open_programs`."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - its usual name

from bench.open_program_table import (
    FEW_ROWS,
    FIRST_FEW_ROWS,
    FIRST_ROWS,
    FIRST_TEXTS,
    ROWS,
    TEXTS,
    ProgramTable,
    distinct,
    rows,
    sequences,
)

ROW_PROGRAMS = ProgramTable()


@ROW_PROGRAMS.add(
    "topk half of rows", lambda s: (distinct(s[0], 50),), [(10,), (100,), (500,)], FIRST_ROWS
)
class TopkHalfOfRows(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return x.topk(x.shape[0] // 2, 0)


@ROW_PROGRAMS.add(
    "topk open entries of 500",
    lambda s: (distinct(500, 500), torch.zeros(s[0])),
    [(10,), (100,), (500,)],
    FIRST_ROWS,
)
class TopkOpenEntriesOf500(nn.Module):
    def forward(self, x: torch.Tensor, k: torch.Tensor) -> Any:
        return x.topk(k.shape[0], 1)


@ROW_PROGRAMS.add("centred gram of rows", sequences(64), TEXTS, FIRST_TEXTS)
class CentredGramOfRows(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        y = x.reshape(-1, 64)
        y = y - y.mean(0)
        return y.T @ y / y.shape[0]


@ROW_PROGRAMS.add(
    "contrastive",
    rows(128, 128),
    ROWS,
    FIRST_ROWS,
)
class Contrastive(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        x, y = F.normalize(x, dim=-1), F.normalize(y, dim=-1)
        s = x @ y.T / 0.07
        i = torch.arange(x.shape[0])
        return (F.cross_entropy(s, i) + F.cross_entropy(s.T, i)) / 2


@ROW_PROGRAMS.add(
    "retrieval lse",
    lambda s: (torch.randn(s[0], 64), torch.randn(s[1], 64)),
    [(2, 10), (30, 200), (100, 1000), (7, 3000)],
    [(40, 60), (60, 300)],
)
class RetrievalLse(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        s = x @ y.T
        return (s.logsumexp(1), s.amax(1), s.argmax(1))


@ROW_PROGRAMS.add(
    "retrieval topk 10",
    lambda s: (torch.randn(s[0], 64), torch.randn(s[1], 64)),
    [(2, 20), (30, 200), (100, 1000), (7, 3000)],
    [(40, 60), (60, 300)],
)
class RetrievalTopk10(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        return (x @ y.T).topk(10)


@ROW_PROGRAMS.add("cumsum positions", lambda s: (torch.randint(0, 3, s),), TEXTS, FIRST_TEXTS)
class CumsumPositions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.e = nn.Embedding(600, 64)
        self.t = nn.Embedding(3, 64)
        self.n = nn.LayerNorm(64)

    def forward(self, t: torch.Tensor) -> Any:
        m = (t != 0).long()
        p = torch.cumsum(m, 1) * m
        return self.n(self.e(p) + self.t(t))


@ROW_PROGRAMS.add(
    "pack by mask", lambda s: (torch.randn(s[0], s[1], 64), torch.rand(s) > 0.3), TEXTS, FIRST_TEXTS
)
class PackByMask(nn.Module):
    def forward(self, x: torch.Tensor, m: torch.Tensor) -> Any:
        b, length, d = x.shape
        at = torch.cumsum(m.long(), 1) - 1
        at = torch.where(m, at, length)
        packed = x.new_zeros(b, length + 1, d).scatter(1, at[..., None].expand(-1, -1, d), x)
        return packed[:, :length]


@ROW_PROGRAMS.add(
    "losses of all",
    lambda s: (torch.randn(s[0], s[1], 64), torch.randn(s[0], s[1], 64)),
    TEXTS,
    FIRST_TEXTS,
)
class LossesOfAll(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        return (F.smooth_l1_loss(x, y), F.cosine_similarity(x, y, -1).mean(), (x - y).abs().amax())


@ROW_PROGRAMS.add("tiny mlp", rows(8), FEW_ROWS, FIRST_FEW_ROWS)
class TinyMlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 2)
        )

    def forward(self, x: torch.Tensor) -> Any:
        return self.layers(x)


@ROW_PROGRAMS.add(
    "recommender",
    lambda s: (torch.randn(s[0], 13), torch.randint(0, 1000, (s[0], 8))),
    [(1,), (7,), (64,), (300,)],
    [(5,), (100,)],
)
class Recommender(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.e = nn.Embedding(1000, 16)
        self.d = nn.Linear(13, 16)
        self.o = nn.Sequential(nn.Linear(52, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x: torch.Tensor, i: torch.Tensor) -> Any:
        d = F.relu(self.d(x))
        t = torch.cat([d[:, None], self.e(i)], 1)
        z = t @ t.transpose(1, 2)
        r, c = torch.tril_indices(9, 9, -1)
        return self.o(torch.cat([d, z[:, r, c]], 1)).sigmoid()


@ROW_PROGRAMS.add("int8 linear", sequences(128), TEXTS, FIRST_TEXTS)
class Int8Linear(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("w", torch.randint(-127, 127, (128, 128), dtype=torch.int8))
        self.register_buffer("s", torch.rand(128))

    def forward(self, x: torch.Tensor) -> Any:
        b, length, d = x.shape
        t = x.reshape(-1, d)
        a = t.abs().amax(-1, keepdim=True).clamp(min=1e-08) / 127
        q = (t / a).round().clamp(-128, 127).to(torch.int8)
        return (torch._int_mm(q, self.w).float() * a * self.s).view(b, length, d)


@ROW_PROGRAMS.add("int8 weights", sequences(128), TEXTS, FIRST_TEXTS)
class Int8Weights(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("w", torch.randint(-127, 127, (256, 128), dtype=torch.int8))
        self.register_buffer("s", torch.rand(256))

    def forward(self, x: torch.Tensor) -> Any:
        return F.silu(F.linear(x, self.w.float() * self.s[:, None]))


@ROW_PROGRAMS.add("bf16 mlp", sequences(128, torch.bfloat16), TEXTS, FIRST_TEXTS)
class Bf16Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n = nn.RMSNorm(128)
        self.a = nn.Linear(128, 256)
        self.b = nn.Linear(128, 256)
        self.c = nn.Linear(256, 128)
        self.bfloat16()

    def forward(self, x: torch.Tensor) -> Any:
        y = self.n(x)
        return x + self.c(F.silu(self.a(y)) * self.b(y))


@ROW_PROGRAMS.add(
    "training step",
    lambda s: (torch.randn(s[0], 64), torch.randint(0, 10, (s[0],))),
    [(2,), (16,), (64,), (300,)],
    [(5,), (100,)],
)
class TrainingStep(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Parameter(torch.randn(64, 128) / 8)
        self.b = nn.Parameter(torch.randn(128, 10) / 11)

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> Any:
        h = x @ self.a
        r = h.relu()
        z = r @ self.b
        p = z.softmax(-1) - F.one_hot(t, 10)
        p = p / x.shape[0]
        gb = r.T @ p
        gh = p @ self.b.T * (h > 0)
        ga = x.T @ gh
        return (F.cross_entropy(z, t), self.a - 0.1 * ga, self.b - 0.1 * gb)


@ROW_PROGRAMS.add(
    "gated running sums", sequences(64), [(2, 10), (4, 60), (4, 100), (1, 30)], [(3, 40), (2, 50)]
)
class GatedRunningSums(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(64, 64)
        self.b = nn.Linear(64, 64)
        self.c = nn.Conv1d(64, 64, 4, padding=3, groups=64)

    def forward(self, x: torch.Tensor) -> Any:
        y = F.silu(self.c(x.transpose(1, 2))[..., : x.shape[1]].transpose(1, 2))
        g = F.softplus(self.a(y))
        u = torch.cumsum(g, 1).clamp(max=20)
        return torch.cumsum(self.b(y) * u.exp(), 1) * (-u).exp()


@ROW_PROGRAMS.add(
    "diff of pairs",
    lambda s: (torch.randn(s[0], s[1], 3),),
    [(2, 10), (4, 50), (1, 100), (8, 30)],
    [(3, 40), (2, 60)],
)
class DiffOfPairs(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        d = (x[:, :, None] - x[:, None]).square().sum(-1)
        r = torch.exp(-d[..., None] * torch.arange(1.0, 9.0))
        return (r.sum(2), d.amin(-1))


@ROW_PROGRAMS.add(
    "sinkhorn",
    lambda s: (torch.randn(s[0], s[1], s[2]),),
    [(2, 10, 12), (4, 50, 40), (1, 100, 130), (8, 30, 20)],
    [(3, 40, 35), (2, 60, 45)],
)
class Sinkhorn(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        for _ in range(3):
            x = x - x.logsumexp(2, keepdim=True)
            x = x - x.logsumexp(1, keepdim=True)
        return x.exp()


@ROW_PROGRAMS.add(
    "covariance loss",
    rows(64, 64),
    ROWS,
    FIRST_ROWS,
)
class CovarianceLoss(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        n = x.shape[0]
        x = x - x.mean(0)
        y = y - y.mean(0)
        c = x.T @ y / n
        s = F.relu(1 - (x.var(0) + 0.0001).sqrt()).mean()
        return (c.square().sum() - c.diagonal().square().sum(), s)


@ROW_PROGRAMS.add(
    "smoothed labels",
    lambda s: (
        torch.randn(s[0], s[1], 200),
        torch.where(torch.rand(s[0], s[1]) > 0.2, torch.randint(0, 200, (s[0], s[1])), -100),
    ),
    TEXTS,
    FIRST_TEXTS,
)
class SmoothedLabels(nn.Module):
    """A cross entropy that leaves out what is padded."""

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        scores, labels = x.flatten(0, 1), t.flatten()
        return F.cross_entropy(scores, labels, ignore_index=-100, label_smoothing=0.1)


@ROW_PROGRAMS.add("nearest codes", sequences(16), TEXTS, FIRST_TEXTS)
class NearestCodes(nn.Module):
    """Vectors replaced by the nearest of a book of 64."""

    def __init__(self) -> None:
        super().__init__()
        self.codes = nn.Parameter(torch.randn(64, 16))

    def forward(self, x: torch.Tensor) -> Any:
        rows, codes = x.reshape(-1, 16), self.codes
        products = rows @ codes.T
        apart = rows.square().sum(1, keepdim=True) - 2 * products + codes.square().sum(1)
        nearest = apart.argmin(1)
        found = codes[nearest].view_as(x)
        return found, nearest.view(x.shape[:2]), (found - x).square().mean()


@ROW_PROGRAMS.add(
    "hardest triplets",
    lambda s: (torch.randn(s[0], 32), torch.randint(0, 5, (s[0],))),
    ROWS,
    FIRST_ROWS,
)
class HardestTriplets(nn.Module):
    """The farthest row of the same class, and the nearest of another."""

    def forward(self, x: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        x, same = F.normalize(x), label[:, None] == label
        distances = (2 - 2 * x @ x.t()).clamp_min(0).add(1e-9).sqrt()
        positive = distances.masked_fill(~same, 0).amax(1)
        negative = distances.masked_fill(same, 1e6).amin(1)
        return F.relu(positive - negative + 0.2).mean()
