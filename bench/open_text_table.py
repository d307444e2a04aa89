"""Programs over texts, of `bench.open_programs`."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - its usual name

from bench.open_program_table import (
    FEW_ROWS,
    FIRST_FEW_ROWS,
    FIRST_TEXTS,
    TEXTS,
    Inputs,
    OpenProgram,
    ProgramTable,
    Sizes,
    rows,
    sequences,
)

TEXT_PROGRAMS = ProgramTable()


def documents(s: Sizes) -> Inputs:
    """Texts, and for each of their positions the number of its document."""
    return torch.randn(s[0], s[1], 64), torch.randint(0, 4, s).sort(-1).values


@TEXT_PROGRAMS.add("linear attention", sequences(128), TEXTS, FIRST_TEXTS)
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


@TEXT_PROGRAMS.add("gated depthwise conv 15", sequences(128), TEXTS, FIRST_TEXTS)
class GatedDepthwiseConv15(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(128, 256)
        self.c = nn.Conv1d(128, 128, 15, padding=7, groups=128)
        self.o = nn.Linear(128, 128)

    def forward(self, x: torch.Tensor) -> Any:
        y = F.glu(self.a(x), -1).transpose(1, 2)
        return x + self.o(F.silu(self.c(y)).transpose(1, 2))


@TEXT_PROGRAMS.add(
    "shifted cross entropy",
    lambda s: (torch.randn(s[0], s[1], 5000), torch.randint(0, 5000, (s[0], s[1]))),
    TEXTS,
    FIRST_TEXTS,
)
class ShiftedCrossEntropy(nn.Module):
    def forward(self, x: torch.Tensor, t: torch.Tensor) -> Any:
        return F.cross_entropy(x[:, :-1].reshape(-1, 5000), t[:, 1:].reshape(-1))


@TEXT_PROGRAMS.add(
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


@TEXT_PROGRAMS.add(
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


@TEXT_PROGRAMS.add(
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


@TEXT_PROGRAMS.add("rope prefill", sequences(256), TEXTS, FIRST_TEXTS)
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


@TEXT_PROGRAMS.add("experts of two", sequences(64), TEXTS, FIRST_TEXTS)
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


@TEXT_PROGRAMS.add(
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


TEXT_PROGRAMS += [
    _masked_encoder("f32", torch.float32),
    _masked_encoder("bf16", torch.bfloat16),
    _masked_encoder("f16", torch.float16),
]


@TEXT_PROGRAMS.add("perceiver pool", sequences(64), TEXTS, FIRST_TEXTS)
class PerceiverPool(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q = nn.Parameter(torch.randn(16, 64))
        self.k = nn.Linear(64, 64)
        self.v = nn.Linear(64, 64)

    def forward(self, x: torch.Tensor) -> Any:
        a = (self.q @ self.k(x).transpose(1, 2) / 8).softmax(-1)
        return a @ self.v(x)


@TEXT_PROGRAMS.add(
    "layer of a GRU", sequences(32), [(2, 5), (4, 12), (8, 7), (1, 10)], [(3, 6), (5, 9)]
)
class GruLayer(nn.Module):
    """All steps of a text."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.GRU(32, 48, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)[0]


@TEXT_PROGRAMS.add("talking heads", sequences(64), TEXTS, FIRST_TEXTS)
class TalkingHeads(nn.Module):
    """Attention whose heads are mixed before and behind the softmax."""

    def __init__(self) -> None:
        super().__init__()
        self.heads = nn.Linear(64, 192)
        self.before, self.behind = (nn.Parameter(torch.randn(4, 4)) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, n, _ = x.shape
        q, k, v = self.heads(x).view(b, n, 3, 4, 16).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) / 4
        weights = torch.einsum("bhij,hg->bgij", scores, self.before).softmax(-1)
        weights = torch.einsum("bhij,hg->bgij", weights, self.behind)
        return (weights @ v).transpose(1, 2).reshape(b, n, 64)


@TEXT_PROGRAMS.add("packed documents", documents, TEXTS, FIRST_TEXTS)
class PackedDocuments(nn.Module):
    """Attention within each of the documents that a text is joined of."""

    def forward(self, x: torch.Tensor, document: torch.Tensor) -> torch.Tensor:
        n = x.shape[1]
        causal = torch.ones(n, n, dtype=torch.bool).tril()
        mask = (document[:, :, None] == document[:, None, :]) & causal
        q = x.view(*x.shape[:2], 4, 16).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, q, q, attn_mask=mask[:, None])
        return y.transpose(1, 2).flatten(2)


@TEXT_PROGRAMS.add("collapsed labels", sequences(20), TEXTS, FIRST_TEXTS)
class CollapsedLabels(nn.Module):
    """The likeliest labels of frames, without repetitions and blanks."""

    def forward(self, x: torch.Tensor) -> Any:
        found, labels = x.log_softmax(-1).max(-1)
        first = torch.ones_like(labels[:, :1], dtype=torch.bool)
        kept = torch.cat([first, labels[:, 1:] != labels[:, :-1]], 1) & (labels != 0)
        mean = (found * kept).sum(1) / kept.sum(1).clamp_min(1)
        return (labels * kept, mean, kept.cumsum(1))
