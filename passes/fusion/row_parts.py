"""Dividing a dimension of a nest in two: so many parts, and the positions of each."""

from __future__ import annotations

from collections.abc import Sequence

from lamina.dialects.loop import GenericOp
from lamina.passes.loop.split_dim import is_divisible, split_dim


def divide(nest: GenericOp, dim: int, parts: int) -> GenericOp:
    """The nest with dimension `dim` as two: `parts`, in its place, and behind it the rest.

    `parts` divides its extent, and the nest `is_divisible`.
    """
    return split_dim(nest, dim, [parts, nest.extents[dim] // parts])


def divided_dims(dims: Sequence[int], dim: int) -> tuple[int, ...]:
    """Where dimensions are after `divide`; the parts stand in front of what was divided."""
    found: list[int] = []
    for d in dims:
        found += [d, d + 1] if d == dim else [d if d < dim else d + 1]
    return tuple(found)


__all__ = ["divide", "divided_dims", "is_divisible"]
