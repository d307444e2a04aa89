"""Fourier transforms: two products with small matrices where the size has such factors.

A transform of N = N1 N2 numbers is N2 transforms of N1 and then N1 of N2, with k = k1 + N1 k2 and
n = N2 n1 + n2 (Cooley and Tukey). Each step is a matrix product over all transforms at once, along
which memory is contiguous; what is usually a multiplication between the steps is part of the
second matrix. Sizes without such factors are left to an extern kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi, prod, sqrt
from typing import TypeAlias

from xdsl.dialects.builtin import f64, i64
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.core_aten_to_prims.linear_algebra import extern_call
from lamina.lowering.core_aten_to_prims.table import PrimsBuilder, lowers
from lamina.lowering.tensor_types import element_of, normalized_dims, rank_of, shape_of

MOST_TERMS = 100
"""Multiplications for each real number, at most: N1 + 2 N2 where one side is real, else 2 (N1 +
N2). So sizes go up to 1,024 and 576; longer ones would take longer than the extern kernel."""

Parts: TypeAlias = tuple[SSAValue, SSAValue]
"""Real and imaginary parts."""


@dataclass(frozen=True)
class Factors:
    """A transform's size as a product: `first` times `second`."""

    first: int
    second: int

    @property
    def total(self) -> int:
        """Numbers of a transform."""
        return self.first * self.second

    @property
    def kept(self) -> int:
        """Results of the first factor that a real transform has: the others mirror them."""
        return self.first // 2 + 1

    def terms(self, *, real: bool) -> int:
        """Multiplications for each real number."""
        return self.first + 2 * self.second if real else 2 * (self.first + self.second)

    @staticmethod
    def of(total: int, *, real: bool) -> Factors | None:
        """The factors that take the fewest terms, or None if those are too many."""
        sizes = [Factors(n, total // n) for n in range(1, total + 1) if total % n == 0]
        best = min(sizes, key=lambda size: size.terms(real=real), default=None)
        return None if best is None or best.terms(real=real) > MOST_TERMS else best


class Transform:
    """Builds the steps of the transforms of one size. `x` and parts are [N, transforms]."""

    def __init__(
        self, b: PrimsBuilder, size: Factors, element: Attribute, *, forward: bool, scale: float
    ) -> None:
        self.b = b
        self.size = size
        self.element = element
        self.turn = -2 * pi if forward else 2 * pi
        self.scale = scale

    def real_to_complex(self, x: SSAValue, *, onesided: bool) -> Parts:
        """All results, or the N // 2 + 1 that the others mirror."""
        size, kept = self.size, self.size.kept
        cosine, sine = self._circle([kept, size.first], (0, 1), size.first)
        matrix = self._constant(self._stacked([cosine, sine], 1), self.scale)
        matrix = self.b.reshape(matrix, [2 * kept, size.first])  # (k1, part), n1
        re, im = self._second(self._product(matrix, self._rows(x)), kept)
        wanted = size.total // 2 + 1 if onesided else size.total
        lines = -(-wanted // size.first)
        re, im = self._mirrored(re, lines), self._mirrored(im, lines, negative=True)
        return self.b.slice(re, 0, 0, wanted), self.b.slice(im, 0, 0, wanted)

    def complex_to_complex(self, re: SSAValue, im: SSAValue) -> Parts:
        """All results."""
        size = self.size
        circle = self._circle([size.first, size.first], (0, 1), size.first)
        turning = self._constant(self._turning(circle), self.scale)  # k1, n1, result, part
        turning = self._ordered(turning, [0, 2, 3, 1], [2 * size.first, 2 * size.first])
        x = self.b("cat", [self._rows(re), self._rows(im)], 0)
        re, im = self._second(self._product(turning, x), size.first)
        return self._joined(re), self._joined(im)

    def complex_to_real(self, re: SSAValue, im: SSAValue) -> SSAValue:
        """Of the first N // 2 + 1 numbers, which the others mirror."""
        size, kept, count = self.size, self.size.kept, shape_of(re)[1]
        x = self.b("cat", [self._whole(re), self._whole(im, negative=True)], 1)
        y = self._batches(self._twiddled(kept, from_results=True), x)
        y = self.b.reshape(y, [2 * kept, size.second * count])
        cosine, sine = self._circle([size.first, kept], (0, 1), size.first)
        matrix = self._stacked([cosine, self.b("neg", sine)], 2)  # n1, k1, part
        matrix = self.b("mul", matrix, self.b.along(self._weights(), shape_of(matrix), 1))
        matrix = self.b.reshape(self._constant(matrix, self.scale), [size.first, 2 * kept])
        return self.b.reshape(self._product(matrix, y), [size.total, count])

    # Steps

    def _rows(self, x: SSAValue) -> SSAValue:
        """[(n1, n2), transforms] as [n1, (n2, transforms)]."""
        return self.b.reshape(x, [self.size.first, self.size.second * shape_of(x)[1]])

    def _second(self, y: SSAValue, kept: int) -> Parts:
        """[(k1, part), (n2, transforms)] to parts [k1, k2, transforms]."""
        second = self.size.second
        count = shape_of(y)[1] // second
        z = self.b.reshape(y, [kept, 2 * second, count])
        if second > 1:
            z = self._batches(self._twiddled(kept), z)
        z = self.b.reshape(z, [kept, 2, second, count])
        parts = (self.b.slice(z, 1, place, place + 1) for place in (0, 1))
        re, im = (self.b.reshape(part, [kept, second, count]) for part in parts)
        return re, im

    def _joined(self, part: SSAValue) -> SSAValue:
        """[k1, k2, transforms] as [(k2, k1), transforms]."""
        first, second, count = shape_of(part)
        return self._ordered(part, [1, 0, 2], [second * first, count])

    def _mirrored(self, part: SSAValue, lines: int, *, negative: bool = False) -> SSAValue:
        """`_joined` for the first `lines` of k2, with the k1 that were left out."""
        missing = self.size.first - self.size.kept
        if not missing:
            return self._joined(self.b.slice(part, 1, 0, lines))
        other = self.b("rev", self.b.slice(part, 0, 1, missing + 1), [0, 1])
        other = self.b("neg", other) if negative else other
        pieces = [self.b.slice(piece, 1, 0, lines) for piece in (part, other)]
        return self._joined(self.b("cat", pieces, 0))

    def _whole(self, part: SSAValue, *, negative: bool = False) -> SSAValue:
        """Half of the numbers as [k1, k2, transforms] of all, for the k1 that are kept."""
        size, (half, count) = self.size, shape_of(part)
        missing = size.total - half
        if missing:
            other = self.b("rev", self.b.slice(part, 0, 1, missing + 1), [0])
            other = self.b("neg", other) if negative else other
            part = self.b("cat", [part, other], 0)
        split = self.b.reshape(part, [size.second, size.first, count])
        return self._ordered(self.b.slice(split, 1, 0, size.kept), [1, 0, 2])

    def _product(self, left: SSAValue, right: SSAValue) -> SSAValue:
        return self.b("contract", left, right, [], [], [1], [0])

    def _batches(self, left: SSAValue, right: SSAValue) -> SSAValue:
        return self.b("contract", left, right, [0], [0], [2], [1])

    # Matrices

    def _twiddled(self, kept: int, *, from_results: bool = False) -> SSAValue:
        """[k1, (part, k2), (part, n2)]; `from_results`, n2 and k2 have each other's place."""
        size = self.size
        shape = [kept, size.second, size.second]
        k2, n2 = (2, 1) if from_results else (1, 2)
        k = self.b.with_number("mul", self._grid(shape, k2), size.first)
        circle = self._reduced(
            self.b("add", self._grid(shape, 0), k), self._grid(shape, n2), size.total
        )
        matrix = self._constant(self._turning(circle), 1)  # k1, result, term, part, part
        return self._ordered(matrix, [0, 3, 1, 4, 2], [kept, 2 * size.second, 2 * size.second])

    def _turning(self, circle: Parts) -> SSAValue:
        """The matrices by which complex numbers turn, as last two dimensions: result, term."""
        cosine, sine = circle
        last = rank_of(cosine)
        rows = [[cosine, self.b("neg", sine)], [sine, cosine]]
        return self._stacked([self._stacked(row, last) for row in rows], last)

    def _circle(self, shape: Sequence[int], dims: tuple[int, int], whole: int) -> Parts:
        """Cosine and sine of so many parts of a turn as two indices have for their product."""
        one, other = (self._grid(shape, dim) for dim in dims)
        return self._reduced(one, other, whole)

    def _reduced(self, one: SSAValue, other: SSAValue, whole: int) -> Parts:
        """In f64; whole turns are taken off in integers."""
        parts = self.b.with_number("remainder", self.b("mul", one, other), whole)
        angle = self.b.with_number("mul", self.b.convert(parts, f64), self.turn / whole)
        return self.b("cos", angle), self.b("sin", angle)

    def _weights(self) -> SSAValue:
        """How many of the k1 of the first factor each kept one stands for, in f64."""
        kept, first = self.size.kept, self.size.first
        counts = [1 if k in (0, first - k) else 2 for k in range(kept)]
        pieces = [self.b.full([1], count, f64) for count in counts]
        return self.b("cat", pieces, 0)

    def _constant(self, matrix: SSAValue, scale: float) -> SSAValue:
        if scale != 1:
            matrix = self.b.with_number("mul", matrix, scale)
        return self.b.convert(matrix, self.element)

    def _grid(self, shape: Sequence[int], dim: int) -> SSAValue:
        return self.b.along(self.b.iota(shape[dim], i64), shape, dim)

    # Shapes

    def _stacked(self, parts: Sequence[SSAValue], dim: int) -> SSAValue:
        shape = shape_of(parts[0])
        shape = [*shape[:dim], 1, *shape[dim:]]
        return self.b("cat", [self.b.reshape(part, shape) for part in parts], dim)

    def _ordered(
        self, x: SSAValue, order: Sequence[int], shape: Sequence[int] | None = None
    ) -> SSAValue:
        x = self.b.transpose(x, order)
        return x if shape is None else self.b.reshape(x, shape)


class Along:
    """One dimension of a tensor as the first of two: the others are the transforms."""

    def __init__(self, b: PrimsBuilder, shape: Sequence[int], dim: int) -> None:
        self.b = b
        self.rest = [*shape[:dim], *shape[dim + 1 :]]
        self.order = [dim, *range(dim), *range(dim + 1, len(shape))]
        self.back = [*range(1, dim + 1), 0, *range(dim + 1, len(shape))]

    def rows(self, x: SSAValue) -> SSAValue:
        """The tensor as [N, transforms]."""
        x = self.b.transpose(x, self.order)
        return self.b.reshape(x, [shape_of(x)[0], prod(self.rest)])

    def tensor(self, x: SSAValue) -> SSAValue:
        """[N, transforms] as the tensor."""
        return self.b.transpose(self.b.reshape(x, [shape_of(x)[0], *self.rest]), self.back)


def _scale(total: int, normalization: int) -> float:
    """Of one dimension; torch's numbers: none, the root of its size, its size."""
    return (1.0, 1 / sqrt(total), 1 / total)[normalization]


def _is_refused(op: SchemaOp, sizes: Sequence[Factors | None]) -> bool:
    """Whether the extern kernel does it: of sizes that do not pay, or over no dimension."""
    return not sizes or None in sizes or 0 in shape_of(op.arg("self"))


def _complex_dims(
    op: SchemaOp, b: PrimsBuilder, parts: Parts, dims: Sequence[int], *, forward: bool
) -> Parts:
    """Complex transforms along dimensions, one after the other."""
    re, im = parts
    for dim in dims:
        size = Factors.of(shape_of(re)[dim], real=False)
        assert size is not None
        scale = _scale(size.total, op.arg("normalization"))
        element = element_of(re)
        t, along = (
            Transform(b, size, element, forward=forward, scale=scale),
            Along(b, shape_of(re), dim),
        )
        found = t.complex_to_complex(along.rows(re), along.rows(im))
        re, im = along.tensor(found[0]), along.tensor(found[1])
    return re, im


@lowers("_fft_r2c")
def real_to_complex(op: SchemaOp, b: PrimsBuilder) -> Sequence[SSAValue]:
    """The last of the dimensions from real numbers, the others from complex ones."""
    x, onesided = op.arg("self"), op.arg("onesided")
    shape = shape_of(x)
    *others, last = normalized_dims(op.arg("dim"), rank_of(x)) or [-1]
    size = None if last < 0 else Factors.of(shape[last], real=True)
    if _is_refused(op, [size, *(Factors.of(shape[d], real=False) for d in others)]):
        return extern_call(op, b, "fft.r2c")
    assert size is not None
    scale = _scale(size.total, op.arg("normalization"))
    t, along = Transform(b, size, element_of(x), forward=True, scale=scale), Along(b, shape, last)
    re, im = map(along.tensor, t.real_to_complex(along.rows(x), onesided=onesided))
    return [b("complex", *_complex_dims(op, b, (re, im), others, forward=True))]


@lowers("_fft_c2c")
def complex_to_complex(op: SchemaOp, b: PrimsBuilder) -> Sequence[SSAValue]:
    """Forward or inverse."""
    x = op.arg("self")
    dims = normalized_dims(op.arg("dim"), rank_of(x))
    if _is_refused(op, [Factors.of(shape_of(x)[d], real=False) for d in dims]):
        return extern_call(op, b, "fft.c2c")
    parts = _complex_dims(op, b, (b("real", x), b("imag", x)), dims, forward=op.arg("forward"))
    return [b("complex", *parts)]


@lowers("_fft_c2r")
def complex_to_real(op: SchemaOp, b: PrimsBuilder) -> Sequence[SSAValue]:
    """The inverse of `real_to_complex`."""
    x, total = op.arg("self"), op.arg("last_dim_size")
    shape = shape_of(x)
    *others, last = normalized_dims(op.arg("dim"), rank_of(x)) or [-1]
    size = Factors.of(total, real=True) if last >= 0 and shape[last] == total // 2 + 1 else None
    if _is_refused(op, [size, *(Factors.of(shape[d], real=False) for d in others)]):
        return extern_call(op, b, "fft.c2r")
    assert size is not None
    re, im = _complex_dims(op, b, (b("real", x), b("imag", x)), others, forward=False)
    scale = _scale(total, op.arg("normalization"))
    t = Transform(b, size, element_of(re), forward=False, scale=scale)
    along = Along(b, shape, last)
    return [along.tensor(t.complex_to_real(along.rows(re), along.rows(im)))]
