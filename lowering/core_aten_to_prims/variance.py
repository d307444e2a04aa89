"""Sums of squared distances that stay accurate where the mean is large against the deviation.

The mean is rounded, so that distances from it do not sum to zero. What they do sum to is known to
full precision, and takes its share out of their squares: sum(d^2) - sum(d)^2 / n (the corrected
two-pass algorithm; Chan, Golub and LeVeque, "Algorithms for Computing the Sample Variance", 1983).
Both sums are made in one walk over a row that is in the cache. What no cache holds is taken in
pieces that one does: the squares of a whole are those of its pieces, and of the pieces' means.

Squares are f64, as in torch: those of f32 overflow and vanish where their root does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod

from xdsl.dialects.builtin import f64
from xdsl.ir import SSAValue

from lamina.lowering.core_aten_to_prims.table import PrimsBuilder
from lamina.lowering.tensor_types import shape_of

PIECE = 1 << 15
"""Elements that a second-level cache holds beside other things."""


def squared_distances(b: PrimsBuilder, x: SSAValue, dims: Sequence[int]) -> SSAValue:
    """The sum over `dims` of squared distances from the mean of an f32 or f64 tensor, as f64.

    Never negative.
    """
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
    """The mean over `dims`, in x's type, and the distances from it in f64.

    Elements are divided before they are added, so that no sum overflows. What that loses of the
    mean, distances leave as their sum.
    """
    count = prod(shape_of(x)[dim] for dim in dims)
    mean = b.reduce("sum", b.with_number("mul", x, 1 / max(count, 1)), dims)
    wide = b.keep_dims(b.convert(mean, f64), shape_of(x), dims)
    return mean, b("sub", b.convert(x, f64), wide)


def _squares(b: PrimsBuilder, distance: SSAValue, dims: Sequence[int]) -> tuple[SSAValue, SSAValue]:
    """Squared distances from what the distances are on average, and their sum as they are."""
    count = prod(shape_of(distance)[dim] for dim in dims)
    rest = b.reduce("sum", distance, dims)
    squares = b.reduce("sum", b("mul", distance, distance), dims)
    share = b("mul", rest, b.with_number("div", rest, count))
    made = b.with_number("maximum", b("sub", squares, share), 0)
    # Squares that overflow may leave a share that does, too.
    return b.where(b.with_number("eq", squares, inf), squares, made), rest


def _piece(shape: Sequence[int], dims: Sequence[int]) -> int | None:
    """How to divide what is reduced, the last dimensions, if it is longer than a few pieces."""
    count = prod(shape[dim] for dim in dims)
    if list(dims) != list(range(len(shape) - len(dims), len(shape))) or count < 4 * PIECE:
        return None
    piece = max(d for d in range(1, PIECE + 1) if count % d == 0)
    return piece if piece >= PIECE // 8 else None
