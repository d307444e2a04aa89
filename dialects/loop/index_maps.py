"""What index maps must keep to: reads and writes stay inside, and writes cover their result."""

from collections.abc import Sequence
from math import prod

from xdsl.ir import Attribute
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.loop.body_ops import Shaped
from lamina.dialects.loop.linear import Linear, linear, value_range

FARTHEST = 1 << 59
"""No index of a padded read lies farther from its tensor, whose size it is multiplied by."""


def verify_map(
    what: str,
    shaped: Attribute,
    index_map: AffineMap,
    extents: Sequence[int],
    *,
    padded: bool,
    op: str = "loop.generic",
) -> None:
    """Check the map's rank and, for unpadded accesses, that it stays inside the shape.

    Where a type leaves an extent open, `symbolic_shapes` tells.
    """
    assert isinstance(shaped, Shaped)
    shape = shaped.get_shape()
    if index_map.num_dims != len(extents):
        raise VerifyException(
            f"{op}: the map of {what} has {index_map.num_dims} dimensions, the domain "
            f"{len(extents)}"
        )
    if len(index_map.results) != len(shape):
        raise VerifyException(
            f"{op}: the map of {what} gives {len(index_map.results)} indices for {shaped}"
        )
    if 0 in extents:
        return
    for axis, (expr, extent) in enumerate(zip(index_map.results, shape, strict=True)):
        if isinstance(expr, AffineDimExpr):
            low, high = 0, extents[expr.position] - 1
        else:
            low, high = value_range(expr, extents)
        if max(-low, high) > FARTHEST:
            raise VerifyException(
                f"{op}: index {axis} of {what} runs over [{low}, {high}], beyond 2^59"
            )
        if not padded and (low < 0 or 0 <= extent <= high):
            raise VerifyException(
                f"{op}: index {axis} of {what} runs over [{low}, {high}] but the extent "
                f"there is {extent}; pad the read or shrink the domain"
            )


def verify_cover(
    number: int, written: Attribute, index_map: AffineMap, extents: Sequence[int]
) -> None:
    """A tensor result must be written as often as it has elements: nothing is left undefined.

    A domain of no points writes nothing but the identities of its reductions: only
    dimensions that are reduced may then be empty.
    """
    assert isinstance(written, Shaped)
    written_points = prod(extents[d] for d in index_map.used_dims())
    elements = prod(written.get_shape())
    if written_points != elements:
        raise VerifyException(
            f"loop.generic: write {number} reaches {written_points} places of a result with "
            f"{elements} elements; a nest writes its whole result"
        )


def verify_once(
    number: int, written: Attribute, index_map: AffineMap, extents: Sequence[int]
) -> None:
    """No element is written at two positions of the dimensions that a linear map uses."""
    assert isinstance(written, Shaped)
    forms = [linear(expr, extents) for expr in index_map.results]
    offset = Linear(())
    for form, extent in zip(forms, written.get_shape(), strict=True):
        if form is None:
            return
        offset = offset.scale(extent).add(form)
    if 0 not in extents and not offset.is_injective(extents):
        raise VerifyException(
            f"loop.generic: write {number} reaches the same element at several positions"
        )
