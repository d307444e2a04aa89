"""Sums of squared distances that stay accurate where the mean is large against the deviation.

The mean is rounded, so that distances from it do not sum to zero. What they do sum to is known to
full precision, and takes its share out of their squares: sum(d^2) - sum(d)^2 / n (the corrected
two-pass algorithm; Chan, Golub and LeVeque, "Algorithms for Computing the Sample Variance", 1983).
Both sums are made in one walk over a row that is in the cache. What no cache holds is taken in
pieces that one does: the squares of a whole are those of its pieces, and of the pieces' means.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from lamina.lowering.core_aten_to_prims.table import PrimsBuilder
from lamina.lowering.tensor_types import shape_of

PIECE = 1 << 15
"""Elements that a second-level cache holds beside other things."""


def squared_distances(b: PrimsBuilder, x: SSAValue, dims: Sequence[int]) -> SSAValue:
    """The sum over `dims` of squared distances from the mean, of a float tensor; never negative."""
    shape = shape_of(x)
    piece = _piece(shape, dims)
    if piece is None:
        _, distance = _centered(b, x, dims)
        return _squares(b, distance, dims)[0]
    kept = shape[: dims[0]]
    count = prod(shape[dim] for dim in dims) // piece
    inner, outer = [len(kept) + 1], [len(kept)]
    means, distance = _centered(b, b.reshape(x, [*kept, count, piece]), inner)
    squares, rest = _squares(b, distance, inner)
    # The difference of means is exact; what each is off by, they leave as the rest.
    _, between = _centered(b, means, outer)
    between = b("add", between, b.with_number("div", rest, piece))
    whole = b.with_number("mul", _squares(b, between, outer)[0], piece)
    return b("add", b.reduce("sum", squares, outer), whole)


def _centered(b: PrimsBuilder, x: SSAValue, dims: Sequence[int]) -> tuple[SSAValue, SSAValue]:
    """The mean over `dims`, rounded, and the distances from it."""
    mean = b.mean(x, dims)
    return mean, b("sub", x, b.keep_dims(mean, shape_of(x), dims))


def _squares(b: PrimsBuilder, distance: SSAValue, dims: Sequence[int]) -> tuple[SSAValue, SSAValue]:
    """Squared distances from what the distances are on average, and their sum as they are."""
    count = prod(shape_of(distance)[dim] for dim in dims)
    rest = b.reduce("sum", distance, dims)
    squares = b.reduce("sum", b("mul", distance, distance), dims)
    share = b("mul", rest, b.with_number("div", rest, count))
    return b.with_number("maximum", b("sub", squares, share), 0), rest


def _piece(shape: Sequence[int], dims: Sequence[int]) -> int | None:
    """How to divide what is reduced, the last dimensions, if it is longer than a few pieces."""
    count = prod(shape[dim] for dim in dims)
    if list(dims) != list(range(len(shape) - len(dims), len(shape))) or count < 4 * PIECE:
        return None
    piece = max(d for d in range(1, PIECE + 1) if count % d == 0)
    return piece if piece >= PIECE // 8 else None
