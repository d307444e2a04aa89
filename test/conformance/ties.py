"""Ops that may name any place of equal elements, and whether two answers name equal ones."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree

TIED = frozenset({"topk", "kthvalue", "mode", "sort", "argsort"})
"""Ops of the database whose results hold places in their first argument."""


def names_equal_values(expected: Any, actual: Any, x: torch.Tensor) -> bool:
    """Whether `actual` is `expected` up to which of several equal elements of `x` it names.

    Both are the places, or values and places. Places along a row differ from each other.
    """
    wanted, given = _tensors(expected), _tensors(actual)
    if len(wanted) != len(given) or not 1 <= len(given) <= 2:
        return False
    for one, other in zip(wanted, given, strict=True):
        if one.dtype != other.dtype or one.shape != other.shape:
            return False
    if len(given) == 2 and not _equal(wanted[0], given[0]):
        return False
    dims = range(max(x.dim(), 1))
    return any(_names_equal(wanted[-1], given[-1], x, dim) for dim in dims)


def _names_equal(wanted: torch.Tensor, given: torch.Tensor, x: torch.Tensor, dim: int) -> bool:
    """`names_equal_values` for places along dimension `dim` of `x`."""
    if x.dim() > given.dim():
        wanted, given = wanted.unsqueeze(dim), given.unsqueeze(dim)
    if x.dim() == 0:
        return torch.equal(wanted, given)
    sizes = zip(given.shape, x.shape, strict=True)
    if any(a > b for d, (a, b) in enumerate(sizes) if d != dim):
        return False
    for places in (wanted, given):
        if places.numel() and not 0 <= int(places.min()) <= int(places.max()) < x.shape[dim]:
            return False
        if bool((places.sort(dim).values.diff(dim=dim) == 0).any()):
            return False
    return _equal(x.gather(dim, wanted), x.gather(dim, given))


def _equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.is_floating_point():
        return bool(((one == other) | (one.isnan() & other.isnan())).all())
    return torch.equal(one, other)


def _tensors(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]
