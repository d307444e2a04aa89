"""Sums of squared distances that stay accurate where the mean is large against the deviation.

The mean is rounded, so that distances from it do not sum to zero. What they do sum to is known to
full precision, and takes its share out of their squares: sum(d^2) - sum(d)^2 / n (the corrected
two-pass algorithm; Chan, Golub and LeVeque, "Algorithms for Computing the Sample Variance", 1983).
Both sums are made in one walk over a row that is in the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from lamina.lowering.core_aten_to_prims.table import PrimsBuilder
from lamina.lowering.tensor_types import shape_of


def squared_distances(b: PrimsBuilder, x: SSAValue, dims: Sequence[int]) -> SSAValue:
    """The sum over `dims` of squared distances from the mean, of a float tensor; never negative."""
    shape = shape_of(x)
    count = prod(shape[dim] for dim in dims)
    distance = b("sub", x, b.keep_dims(b.mean(x, dims), shape, dims))
    rest = b.reduce("sum", distance, dims)
    squares = b.reduce("sum", b("mul", distance, distance), dims)
    share = b("mul", rest, b.with_number("div", rest, count))
    return b.with_number("maximum", b("sub", squares, share), 0)
