"""Elements and layouts of arguments: ordinary ones, special ones, strided ones."""

from __future__ import annotations

import random

import torch

FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
COMPLEX = (torch.complex64, torch.complex128)

LAYOUTS = ("contiguous", "transposed", "sliced", "expanded")


def make(
    rng: random.Random, shape: list[int], dtype: torch.dtype, *, special: bool
) -> torch.Tensor:
    """A row-major tensor; with `special`, an eighth of its elements are of the kinds that break."""
    generator = torch.Generator().manual_seed(rng.getrandbits(62))
    if dtype in COMPLEX:
        part = torch.float32 if dtype is torch.complex64 else torch.float64
        return torch.complex(*(make(rng, shape, part, special=special) for _ in range(2)))
    if dtype is torch.bool:
        return torch.randint(0, 2, shape, generator=generator).bool()
    if dtype in FLOATS:
        spread = rng.choice([1.0, 1.0, 1.0, 0.1, 10.0])
        made = (torch.randn(shape, generator=generator) * spread).to(dtype)
    else:
        low = 0 if dtype is torch.uint8 else -9
        made = torch.randint(low, 10, shape, generator=generator).to(dtype)
    if special and made.numel():
        kinds = torch.tensor(_specials(dtype), dtype=torch.float64 if dtype in FLOATS else dtype)
        chosen = kinds[torch.randint(0, len(kinds), shape, generator=generator)].to(dtype)
        made = torch.where(torch.rand(shape, generator=generator) < 0.125, chosen, made)
    return made


def _specials(dtype: torch.dtype) -> list[float] | list[int]:
    if dtype in FLOATS:
        info = torch.finfo(dtype)
        tiny = info.smallest_normal
        inf = float("inf")
        finite = [0.0, -0.0, 1.0, tiny, -tiny / 4, 0.5, -2.5, 300.0]
        return [*finite, float("nan"), inf, -inf]
    limits = torch.iinfo(dtype)
    return [0, 1, limits.max, limits.min]


def laid_out(value: torch.Tensor, layout: str) -> torch.Tensor:
    """`value`, with strides of another kind where its rank admits that."""
    if layout == "transposed" and value.dim() >= 2:
        return value.transpose(-1, -2).contiguous().transpose(-1, -2)
    if layout == "sliced" and value.dim() >= 1:
        memory = torch.zeros([*value.shape[:-1], 2 * value.shape[-1] + 1], dtype=value.dtype)
        view = memory[..., 1::2]
        view.copy_(value)
        return view
    if layout == "expanded" and value.dim() >= 1 and value.shape[0]:
        return value[:1].expand(value.shape)
    return value
