"""Programs over texts, rows and graphs, of `bench.open_programs`."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - its usual name

from bench.open_program_table import (
    FEW_ROWS,
    FIRST_FEW_ROWS,
    FIRST_GRAPHS,
    FIRST_ROWS,
    FIRST_TEXTS,
    GRAPHS,
    ROWS,
    TEXTS,
    Inputs,
    OpenProgram,
    ProgramTable,
    Sizes,
    graph,
    rows,
    sequences,
)

SEQUENCE_PROGRAMS = ProgramTable()


@SEQUENCE_PROGRAMS.add("topk half of rows", rows(50), [(10,), (100,), (500,)], FIRST_ROWS)
class TopkHalfOfRows(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return x.topk(x.shape[0] // 2, 0)


@SEQUENCE_PROGRAMS.add(
    "topk open entries of 500",
    lambda s: (torch.randn(500, 500), torch.zeros(s[0])),
    [(10,), (100,), (500,)],
    FIRST_ROWS,
)
class TopkOpenEntriesOf500(nn.Module):
    def forward(self, x: torch.Tensor, k: torch.Tensor) -> Any:
        return x.topk(k.shape[0], 1)


@SEQUENCE_PROGRAMS.add("linear attention", sequences(128), TEXTS, FIRST_TEXTS)
class LinearAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q = nn.Linear(128, 384)

    def forward(self, x: torch.Tensor) -> Any:
        b, length, _ = x.shape
        q, k, v = self.q(x).view(b, length, 3, 4, 32).permute(2, 0, 3, 1, 4)
        q, k = F.elu(q) + 1, F.elu(k) + 1
        kv = k.transpose(-1, -2) @ v
        z = 1 / ((q * k.sum(-2, keepdim=True)).sum(-1, keepdim=True) + 1e-06)
        return (q @ kv * z).transpose(1, 2).reshape(b, length, 128)


@SEQUENCE_PROGRAMS.add("gated depthwise conv 15", sequences(128), TEXTS, FIRST_TEXTS)
class GatedDepthwiseConv15(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(128, 256)
        self.c = nn.Conv1d(128, 128, 15, padding=7, groups=128)
        self.o = nn.Linear(128, 128)

    def forward(self, x: torch.Tensor) -> Any:
        y = F.glu(self.a(x), -1).transpose(1, 2)
        return x + self.o(F.silu(self.c(y)).transpose(1, 2))


@SEQUENCE_PROGRAMS.add("centred gram of rows", sequences(64), TEXTS, FIRST_TEXTS)
class CentredGramOfRows(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        y = x.reshape(-1, 64)
        y = y - y.mean(0)
        return y.T @ y / y.shape[0]


@SEQUENCE_PROGRAMS.add(
    "shifted cross entropy",
    lambda s: (torch.randn(s[0], s[1], 5000), torch.randint(0, 5000, (s[0], s[1]))),
    TEXTS,
    FIRST_TEXTS,
)
class ShiftedCrossEntropy(nn.Module):
    def forward(self, x: torch.Tensor, t: torch.Tensor) -> Any:
        return F.cross_entropy(x[:, :-1].reshape(-1, 5000), t[:, 1:].reshape(-1))


@SEQUENCE_PROGRAMS.add(
    "gru steps", sequences(64), [(2, 10), (4, 30), (8, 20), (1, 30)], [(3, 12), (5, 25)]
)
class GruSteps(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.c = nn.GRUCell(64, 64)

    def forward(self, x: torch.Tensor) -> Any:
        h = x.new_zeros(x.shape[0], 64)
        for i in range(4):
            h = self.c(x[:, i], h)
        return h


@SEQUENCE_PROGRAMS.add(
    "lstm step",
    rows(64, 128, 128),
    FEW_ROWS,
    FIRST_FEW_ROWS,
)
class LstmStep(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.c = nn.LSTMCell(64, 128)
        self.o = nn.Linear(128, 10)

    def forward(self, x: torch.Tensor, h: torch.Tensor, c: torch.Tensor) -> Any:
        h, c = self.c(x, (h, c))
        return (self.o(h), h, c)


@SEQUENCE_PROGRAMS.add(
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


@SEQUENCE_PROGRAMS.add(
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


@SEQUENCE_PROGRAMS.add(
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


@SEQUENCE_PROGRAMS.add(
    "retrieval lse",
    lambda s: (torch.randn(s[0], 64), torch.randn(s[1], 64)),
    [(2, 10), (30, 200), (100, 1000), (7, 3000)],
    [(40, 60), (60, 300)],
)
class RetrievalLse(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        s = x @ y.T
        return (s.logsumexp(1), s.amax(1), s.argmax(1))


@SEQUENCE_PROGRAMS.add(
    "retrieval topk 10",
    lambda s: (torch.randn(s[0], 64), torch.randn(s[1], 64)),
    [(2, 20), (30, 200), (100, 1000), (7, 3000)],
    [(40, 60), (60, 300)],
)
class RetrievalTopk10(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        return (x @ y.T).topk(10)


@SEQUENCE_PROGRAMS.add(
    "rotary decode kv",
    lambda s: (
        torch.randn(s[0], 1, 256),
        torch.randn(s[0], 4, s[1], 64),
        torch.randn(s[0], 4, s[1], 64),
        torch.randn(s[1] + 1, 64),
    ),
    (*TEXTS, (1, 1000)),
    FIRST_TEXTS,
)
class RotaryDecodeKv(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(256, 768)
        self.o = nn.Linear(256, 256)

    def forward(
        self, x: torch.Tensor, ck: torch.Tensor, cv: torch.Tensor, rot: torch.Tensor
    ) -> Any:
        b = x.shape[0]
        q, k, v = self.qkv(x).view(b, 1, 3, 4, 64).permute(2, 0, 3, 1, 4)
        cos, sin = rot[-1].cos(), rot[-1].sin()

        def turn(t: torch.Tensor) -> torch.Tensor:
            return t * cos + torch.cat([-t[..., 32:], t[..., :32]], -1) * sin

        k = torch.cat([ck, turn(k)], 2)
        v = torch.cat([cv, v], 2)
        y = F.scaled_dot_product_attention(turn(q), k, v)
        return (self.o(y.transpose(1, 2).reshape(b, 1, 256)), k, v)


@SEQUENCE_PROGRAMS.add("rope prefill", sequences(256), TEXTS, FIRST_TEXTS)
class RopePrefill(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(256, 512)
        self.o = nn.Linear(256, 256)
        self.f = nn.Parameter(torch.randn(32))

    def forward(self, x: torch.Tensor) -> Any:
        b, length, _ = x.shape
        q, kv = self.qkv(x).split([256, 256], -1)
        q = q.view(b, length, 4, 64).transpose(1, 2)
        k, v = kv.view(b, length, 2, 2, 64).permute(2, 0, 3, 1, 4)
        a = torch.outer(torch.arange(length, dtype=torch.float32), self.f)
        a = torch.cat([a, a], -1)

        def turn(t: torch.Tensor) -> torch.Tensor:
            return t * a.cos() + torch.cat([-t[..., 32:], t[..., :32]], -1) * a.sin()

        k, v = turn(k).repeat_interleave(2, 1), v.repeat_interleave(2, 1)
        y = F.scaled_dot_product_attention(turn(q), k, v, is_causal=True)
        return self.o(y.transpose(1, 2).reshape(b, length, 256))


@SEQUENCE_PROGRAMS.add(
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


@SEQUENCE_PROGRAMS.add("cumsum positions", lambda s: (torch.randint(0, 3, s),), TEXTS, FIRST_TEXTS)
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


@SEQUENCE_PROGRAMS.add(
    "pack by mask", lambda s: (torch.randn(s[0], s[1], 64), torch.rand(s) > 0.3), TEXTS, FIRST_TEXTS
)
class PackByMask(nn.Module):
    def forward(self, x: torch.Tensor, m: torch.Tensor) -> Any:
        b, length, d = x.shape
        at = torch.cumsum(m.long(), 1) - 1
        at = torch.where(m, at, length)
        packed = x.new_zeros(b, length + 1, d).scatter(1, at[..., None].expand(-1, -1, d), x)
        return packed[:, :length]


@SEQUENCE_PROGRAMS.add("experts of two", sequences(64), TEXTS, FIRST_TEXTS)
class ExpertsOfTwo(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.g = nn.Linear(64, 8)
        self.a = nn.Parameter(torch.randn(8, 64, 128) / 8)
        self.b = nn.Parameter(torch.randn(8, 128, 64) / 11)

    def forward(self, x: torch.Tensor) -> Any:
        t = x.reshape(-1, 64)
        w, i = self.g(t).softmax(-1).topk(2)
        gates = torch.zeros(t.shape[0], 8).scatter(1, i, w / w.sum(-1, keepdim=True))
        y = torch.stack(
            [F.silu(t @ self.a[e]) @ self.b[e] * gates[:, e, None] for e in range(8)]
        ).sum(0)
        return y.view_as(x)


@SEQUENCE_PROGRAMS.add(
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


@SEQUENCE_PROGRAMS.add(
    "beam step",
    lambda s: (
        torch.randn(s[0], s[1], 1000),
        torch.randn(s[0], s[1]),
        torch.zeros(s[0], s[1], s[2], dtype=torch.long),
    ),
    [(1, 4, 10), (4, 4, 50), (2, 8, 100), (8, 5, 20)],
    [(3, 6, 30), (2, 7, 40)],
)
class BeamStep(nn.Module):
    def forward(self, x: torch.Tensor, score: torch.Tensor, hist: torch.Tensor) -> Any:
        b, k, v = x.shape
        s = (x.log_softmax(-1) + score[..., None]).reshape(b, k * v)
        s, i = s.topk(4, -1)
        beam, tok = i // v, i % v
        h = hist.gather(1, beam[..., None].expand(-1, -1, hist.shape[2]))
        return (s, torch.cat([h, tok[..., None]], 2))


@SEQUENCE_PROGRAMS.add(
    "losses of all",
    lambda s: (torch.randn(s[0], s[1], 64), torch.randn(s[0], s[1], 64)),
    TEXTS,
    FIRST_TEXTS,
)
class LossesOfAll(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        return (F.smooth_l1_loss(x, y), F.cosine_similarity(x, y, -1).mean(), (x - y).abs().amax())


@SEQUENCE_PROGRAMS.add("tiny mlp", rows(8), FEW_ROWS, FIRST_FEW_ROWS)
class TinyMlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 2)
        )

    def forward(self, x: torch.Tensor) -> Any:
        return self.layers(x)


@SEQUENCE_PROGRAMS.add(
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


@SEQUENCE_PROGRAMS.add("int8 linear", sequences(128), TEXTS, FIRST_TEXTS)
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


@SEQUENCE_PROGRAMS.add("int8 weights", sequences(128), TEXTS, FIRST_TEXTS)
class Int8Weights(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("w", torch.randint(-127, 127, (256, 128), dtype=torch.int8))
        self.register_buffer("s", torch.rand(256))

    def forward(self, x: torch.Tensor) -> Any:
        return F.silu(F.linear(x, self.w.float() * self.s[:, None]))


class MaskedEncoder(nn.Module):
    """In training without dropout, as torch has another layer for what is not trained."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, dropout=0.0)
        self.layer = layer.to(dtype)

    def forward(self, x: torch.Tensor, padding: torch.Tensor) -> torch.Tensor:
        return self.layer(x, src_key_padding_mask=padding)


def _masked_encoder(name: str, dtype: torch.dtype) -> OpenProgram:
    def inputs(s: Sizes) -> Inputs:
        lengths = torch.randint(1, s[1] + 1, (s[0], 1))
        return torch.randn(s[0], s[1], 64, dtype=dtype), torch.arange(s[1]) >= lengths

    title = f"encoder masked {name}"
    return OpenProgram(title, lambda: MaskedEncoder(dtype), inputs, TEXTS, FIRST_TEXTS)


SEQUENCE_PROGRAMS += [
    _masked_encoder("f32", torch.float32),
    _masked_encoder("bf16", torch.bfloat16),
    _masked_encoder("f16", torch.float16),
]


@SEQUENCE_PROGRAMS.add("bf16 mlp", sequences(128, torch.bfloat16), TEXTS, FIRST_TEXTS)
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


@SEQUENCE_PROGRAMS.add(
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


@SEQUENCE_PROGRAMS.add("perceiver pool", sequences(64), TEXTS, FIRST_TEXTS)
class PerceiverPool(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q = nn.Parameter(torch.randn(16, 64))
        self.k = nn.Linear(64, 64)
        self.v = nn.Linear(64, 64)

    def forward(self, x: torch.Tensor) -> Any:
        a = (self.q @ self.k(x).transpose(1, 2) / 8).softmax(-1)
        return a @ self.v(x)


@SEQUENCE_PROGRAMS.add(
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


@SEQUENCE_PROGRAMS.add(
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


@SEQUENCE_PROGRAMS.add(
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


@SEQUENCE_PROGRAMS.add(
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


@SEQUENCE_PROGRAMS.add(
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


@SEQUENCE_PROGRAMS.add(
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


@SEQUENCE_PROGRAMS.add("symmetric graph", graph(32), GRAPHS, FIRST_GRAPHS)
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


@SEQUENCE_PROGRAMS.add("nearest codes", sequences(16), TEXTS, FIRST_TEXTS)
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


@SEQUENCE_PROGRAMS.add(
    "layer of a GRU", sequences(32), [(2, 5), (4, 12), (8, 7), (1, 10)], [(3, 6), (5, 9)]
)
class GruLayer(nn.Module):
    """All steps of a text."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.GRU(32, 48, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)[0]
