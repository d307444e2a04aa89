"""Products of matrices and of rows from their definitions, and what overflows on the way.

See `definitions`.
"""

from __future__ import annotations

import numpy as np
import torch
from fuzzing.norm_definitions import Arguments
from fuzzing.values import FLOATS

_FACTORS = (
    ("mat1", "mat2"),
    ("batch1", "batch2"),
    ("mat", "vec"),
    ("self", "mat2"),
    ("self", "vec"),
    ("self", "tensor"),
)
"""What products multiply, by the names of arguments; the first pair that there is."""


def product(a: Arguments, made: torch.Tensor, variant: int) -> torch.Tensor | None:
    """In f64; with variants but the first, where sums of some of the terms overflow (`_overflown`).

    `addmm` and its like add a scaled tensor, which is a term as well.
    """
    if made.dtype not in FLOATS:
        return None
    one, other = next((a[n].double(), a[m].double()) for n, m in _FACTORS if n in a and m in a)
    one = one * a.get("alpha", 1)
    added = torch.zeros((), dtype=torch.float64)
    if a.get("beta", 0) != 0:
        added = a["self"].double() * a["beta"]
    meant = torch.matmul(one, other) + added
    return _overflown(meant, one, other, added, made.dtype, variant).to(made.dtype)


def _overflown(
    meant: torch.Tensor,
    one: torch.Tensor,
    other: torch.Tensor,
    added: torch.Tensor,
    dtype: torch.dtype,
    variant: int,
) -> torch.Tensor:
    """Infinite where terms of one sign overflow, which may come first; no number where both do."""
    largest = torch.finfo(torch.float64 if dtype is torch.float64 else torch.float32).max

    def terms(sign: int) -> torch.Tensor:
        made = one.relu() @ (sign * other).relu() + (-one).relu() @ (-sign * other).relu()
        return made + (sign * added).relu()

    up, down = (meant.isfinite() & (terms(sign) > largest) for sign in (1, -1))
    if variant == 1:
        return meant.masked_fill(up & down, torch.nan)
    if variant == 2:
        return meant.masked_fill(up, torch.inf)
    return meant.masked_fill(down, -torch.inf) if variant == 3 else meant


def factors(a: Arguments, made: torch.Tensor, variant: int) -> torch.Tensor | None:
    """With an odd variant no number where zero and infinity meet in some order of the factors."""
    if made.dtype not in FLOATS or variant % 2 == 0:
        return None
    limits = torch.finfo(torch.float64 if made.dtype is torch.float64 else torch.float32)
    sizes = a["self"].double().abs().log2()
    dims = {"dim": a["dim"], "keepdim": a["keepdim"]} if "dim" in a else {}
    least = torch.where(sizes < 0, sizes, 0).sum(**dims) < np.log2(limits.smallest_normal) - 1
    most = torch.where(sizes > 0, sizes, 0).sum(**dims) > np.log2(limits.max)
    return made.masked_fill(least & most, torch.nan)
