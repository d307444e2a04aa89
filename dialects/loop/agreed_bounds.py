"""The bounds that the nests of a kernel agree on, so that they are walked in the same blocks.

Nests that have a bound in common belong together: the dimension of each is as long as that of the
others. There may be several such families, as where two products behind each other sum over sizes
of a call that have nothing to do with each other. One of them is `lamina.bounds` then, if its
dimension is a softmax's, or ends at other positions in each row; of others loops end at their
numbers (`lamina.ends`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lamina.dialects.loop.bounds import FIRST_COUNT, Bound
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.generic import GenericOp

Bounded = dict[GenericOp, tuple[int, tuple[Bound, ...]]]
"""For each nest that has any: the dimension, and its bounds as forms over the kernel's rows."""

_Family = list[tuple[GenericOp, int, frozenset[Bound]]]
"""Nests with a dimension and its bounds each."""


def agreed_bounds(found: Mapping[GenericOp, Mapping[int, set[Bound]]]) -> Bounded:
    """The bounds of one dimension each, as long in all nests that have them, of which one is a
    product that sums over it; none if there is no such family, or several of them may be."""
    families = _families(found)
    if len(families) > 1:
        families = [family for family in families if _is_walked(family)]
    if len(families) != 1:
        return {}
    (family,) = families
    common = _common(family)
    order = sorted(common, key=lambda b: (b.is_upper, b.form.terms, b.form.constant))
    return {nest: (dim, tuple(order)) for nest, dim, _ in family} if order else {}


def are_walked(bounds: Bounded) -> bool:
    """Whether bounds are a softmax's, or differ from row to row: products alone may end at numbers
    of a call instead."""
    return _is_walked([(nest, dim, frozenset(own)) for nest, (dim, own) in bounds.items()])


def _families(found: Mapping[GenericOp, Mapping[int, set[Bound]]]) -> list[_Family]:
    """Dimensions of nests, those together that are connected by bounds they have in common."""
    families: list[_Family] = []
    for nest, dims in found.items():
        for dim, bounds in dims.items():
            if not bounds:
                continue
            joined: _Family = [(nest, dim, frozenset(bounds))]
            apart: list[_Family] = []
            for family in families:
                alike = any(bounds & own for _, _, own in family)
                joined, apart = ([*family, *joined], apart) if alike else (joined, [*apart, family])
            families = [*apart, joined]
    return families


def _common(family: _Family) -> set[Bound]:
    """The bounds that all nests of a family have, but for those that others imply."""
    nests = [nest for nest, _, _ in family]
    if len(set(nests)) < len(nests) or len({nest.extents[dim] for nest, dim, _ in family}) > 1:
        return set()
    if not any((c := Contraction.of(nest)) and dim in c.summed for nest, dim, _ in family):
        return set()
    common = set(frozenset.intersection(*(bounds for _, _, bounds in family)))
    return {b for b in common if not any(b != c and b.outside_is_outside(c) for c in common)}


def _is_walked(family: Sequence[tuple[GenericOp, int, frozenset[Bound]]]) -> bool:
    """Whether rows have bounds of their own, or something else than products reduces."""
    rows = any(d < FIRST_COUNT for _, _, own in family for b in own for d, _ in b.form.terms)
    return rows or any(
        dim in nest.reduction_dims and Contraction.of(nest) is None for nest, dim, _ in family
    )


__all__ = ["Bounded", "agreed_bounds", "are_walked"]
