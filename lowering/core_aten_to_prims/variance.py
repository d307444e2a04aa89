"""Sums of squared distances that stay accurate where the mean is large against the deviation.

The mean is rounded, so that distances from it do not sum to zero. What they do sum to is known to
full precision, and takes its share out of their squares: sum(d^2) - sum(d)^2 / n (the corrected
two-pass algorithm; Chan, Golub and LeVeque, "Algorithms for Computing the Sample Variance", 1983).
Both sums are made in one walk over a row that is in the cache. What no cache holds is taken in
pieces that one does: the squares of a whole are those of its pieces, and of the pieces' means. So
memory is read once, for the mean too, and no element takes a division, as in Welford's algorithm.

Squares are f64, as in torch: those of f32 overflow and vanish where their root does not. Of short
rows, and of 16-bit floats, whose results keep 8 or 11 digits, they are f32: distances are measured
in the mean size of a row's elements then, unless it is an f16, whose squares f32 holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod

from xdsl.dialects.builtin import bf16, f16, f32, f64
from xdsl.ir import Attribute, SSAValue

from lamina.lowering.core_aten_to_prims.table import PrimsBuilder
from lamina.lowering.tensor_types import element_of, has_known_sizes, is_complex, shape_of
from lamina.passes.cost.kernel_model import CACHED_ELEMENTS, LEAST_PIECE_ROWS, MOST_PIECE_ROWS

LEAST_NORMAL = 2.0**-126
"""Of f32: its inverse is finite."""
SHORT_SUM = 1 << 16
"""Squares that are added in f32: what they are off by, a part in 256 thousand by chance, is far
below the digits of a 16-bit float."""
SHORT_ROW = 1 << 10
"""Squares of a row that are added in f32 for a result of as many digits: vectors hold 16 sums or
more, of 64 squares each at most. All that is lost of those beside one that is far larger is a part
in a million."""


def squared_distances(
    b: PrimsBuilder, x: SSAValue, dims: Sequence[int], made_of: Attribute
) -> SSAValue:
    """The sum over `dims` of squared distances from the mean of an f32 or f64 tensor, as f64.

    Elements were of type `made_of`, as the variance will be. Never negative.
    """
    pieces = _pieces(b, x, dims)
    if pieces is None and _is_short(x, dims, made_of):
        return _short_distances(b, x, dims, made_of)
    if pieces is None:
        _, distance = _centered(b, x, dims)
        return _squares(b, distance, dims)[0]
    outer, inner = [dims[0]], [dims[0] + 1]
    means, distance = _centered(b, pieces, inner)
    squares, rest = _squares(b, distance, inner)
    # The difference of means is exact; what each is off by, they leave as the rest.
    piece = shape_of(pieces)[inner[0]]
    _, between = _centered(b, means, outer)
    between = b("add", between, b.with_number("div", rest, piece))
    whole = b.with_number("mul", _squares(b, between, outer)[0], piece)
    return b("add", b.reduce("sum", squares, outer), whole)


def _is_short(x: SSAValue, dims: Sequence[int], made_of: Attribute) -> bool:
    """Whether squares are added in f32: of f32, in vectors along rows alone."""
    if not has_known_sizes(x):
        return False
    shape = shape_of(x)
    count = prod(shape[dim] for dim in dims)
    if made_of in (bf16, f16):
        return count <= SHORT_SUM
    is_row = list(dims) == list(range(len(shape) - len(dims), len(shape)))
    return made_of == f32 and is_row and count <= SHORT_ROW


def _short_distances(
    b: PrimsBuilder, x: SSAValue, dims: Sequence[int], made_of: Attribute
) -> SSAValue:
    """The same in f32, but of f16 scaled by the power of two next to what elements are on average,
    regardless of their sign: no element is more than twice their number times that, and each is as
    exact. The mean of 16-bit floats is one that a program asks for as well; sums of f32 overflow.
    """
    shape = shape_of(x)
    share = 1 / max(1, prod(shape[dim] for dim in dims))
    if made_of == f32:
        mean = b.reduce("sum", b.with_number("mul", x, share), dims)
    else:
        mean = b.mean(x, dims)
    if made_of == f16:
        distance = b("sub", x, b.keep_dims(mean, shape, dims))
        return b.convert(_squares(b, distance, dims)[0], f64)
    size = b.reduce("sum", b.with_number("mul", b("abs", x), share), dims)
    size = b.with_number("maximum", size, LEAST_NORMAL)
    inverse = b("div", b.op("frexp", size).results[0], size)  # a power of two
    opposite = b.keep_dims(b("mul", b("neg", mean), inverse), shape, dims)
    distance = b("add", b("mul", x, b.keep_dims(inverse, shape, dims)), opposite)
    squares = b.convert(_squares(b, distance, dims)[0], f64)
    unit = b("reciprocal", b.convert(inverse, f64))
    return b("mul", b("mul", squares, unit), unit)


def mean_over(b: PrimsBuilder, x: SSAValue, dims: Sequence[int]) -> SSAValue:
    """The mean over `dims`; sums are taken in the pieces of a variance, which walks them too."""
    pieces = None if is_complex(element_of(x)) else _pieces(b, x, dims)
    if pieces is None:
        return b.mean(x, dims)
    total = b.reduce("sum", b.reduce("sum", pieces, [dims[0] + 1]), [dims[0]])
    return b.with_number("div", total, prod(shape_of(x)[dim] for dim in dims))


def _centered(b: PrimsBuilder, x: SSAValue, dims: Sequence[int]) -> tuple[SSAValue, SSAValue]:
    """The mean over `dims`, in x's type, and the distances from it in f64.

    Elements are divided before they are added, so that no sum overflows. What that loses of the
    mean, distances leave as their sum.
    """
    count = prod(shape_of(x)[dim] for dim in dims)
    if has_known_sizes(x):
        shares = b.with_number("mul", x, 1 / max(count, 1))
    else:
        shares = b.with_number("div", x, count)  # where there are none, nothing is divided
    mean = b.reduce("sum", shares, dims)
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


def _pieces(b: PrimsBuilder, x: SSAValue, dims: Sequence[int]) -> SSAValue | None:
    """Neighbouring dims that are reduced as two, pieces and places in them; None for a few pieces.

    A piece is so many rows where there are columns behind the dims: all of them fit the cache.
    """
    shape = shape_of(x)
    if not has_known_sizes(x):
        return None  # how long they are, pieces are chosen by
    if not dims or list(dims) != list(range(dims[0], dims[0] + len(dims))):
        return None
    if prod(shape[: dims[0]]) > 1 and prod(shape[dims[-1] + 1 :]) > 1:
        return None  # their pieces would be joined row by row, in one kernel of those in front
    count, columns = prod(shape[dim] for dim in dims), shape[dims[-1] + 1 :]
    most = CACHED_ELEMENTS // max(1, prod(columns))
    if prod(columns) > 1:
        most = min(most, MOST_PIECE_ROWS)
    if count * prod(columns) < 4 * CACHED_ELEMENTS or most < LEAST_PIECE_ROWS:
        return None
    piece = max(d for d in range(1, most + 1) if count % d == 0)
    if piece < max(LEAST_PIECE_ROWS, most // 8):
        return None
    return b.reshape(x, [*shape[: dims[0]], count // piece, piece, *columns])
