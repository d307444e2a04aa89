"""Weights of a softmax over an open dimension: 0 in the padding, so that nothing masks them again.

Scores are -inf in the padding of the dimension along which their maximum m is taken. Then
exp(s - m) is 0 there, and so is what is left of it by row: divided by its sum, or 0 in some rows.
It is NaN where m is no number, but then so is one of the elements that count, if there is any: what
is summed of weights, or of products with them, is as if the padding were not there. Nothing is said
of sizes that may be 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.same_values import is_same_along
from lamina.dialects.records import record


class Kind(Enum):
    """What a value is, of scores s whose maximum along a dimension is m."""

    SCORES = "s"
    TOP = "m, or what is the same in a row"
    BELOW = "s - m"
    EXPONENTIAL = "exp(s - m)"
    TOTAL = "a sum of exp(s - m), or its reciprocal"
    WEIGHT = "exp(s - m) less a positive factor by row, or 0 in some rows"


_ALONG = (Kind.SCORES, Kind.BELOW, Kind.EXPONENTIAL, Kind.WEIGHT)
"""Those that have the dimension itself."""


@record
class Fact:
    """A value is of a kind, of the scores `root` along their dimension `axis`; `dims` says which of
    its own dimensions, or of those of a nest, each dimension of the scores is."""

    kind: Kind
    root: SSAValue
    axis: int
    dims: tuple[tuple[int, int], ...]

    def goes_with(self, other: Fact) -> bool:
        """Whether another is of the same rows of the same scores."""
        own, its = dict(self.dims), dict(other.dims)
        same = all(own[dim] == its[dim] for dim in own.keys() & its.keys())
        return same and (self.root, self.axis) == (other.root, other.axis)

    def moved(self, places: Mapping[int, int]) -> Fact | None:
        """The same with other names of dimensions; None where one has none, or two have one."""
        if any(place not in places for _, place in self.dims):
            return None
        dims = tuple((dim, places[place]) for dim, place in self.dims)
        return replace(self, dims=dims) if len({p for _, p in dims}) == len(dims) else None


class Weights:
    """What is known of the values of one block."""

    def __init__(self) -> None:
        self._facts: dict[SSAValue, Fact] = {}

    def note_scores(self, value: SSAValue, rank: int, axis: int) -> None:
        """A tensor is -inf in the padding of a dimension, which has elements."""
        dims = tuple((dim, dim) for dim in range(rank))
        self._facts[value] = Fact(Kind.SCORES, value, axis, dims)

    def is_weight(
        self, value: SSAValue, index_map: AffineMap, dim: int, *, exponential: bool
    ) -> bool:
        """Whether what a nest reads is 0 along one of its dimensions where that does not count."""
        found = self._read(value, index_map)
        kinds = (Kind.EXPONENTIAL,) if exponential else (Kind.EXPONENTIAL, Kind.WEIGHT)
        return found is not None and found.kind in kinds and dict(found.dims)[found.axis] == dim

    def follow(self, nest: GenericOp) -> None:
        """Note what a nest makes of what is known."""
        if len(nest.res) != 1 or nest.monoids:
            return
        known: dict[SSAValue, Fact] = {}
        for argument, (value, index_map, pad) in zip(nest.block.args, nest.reads, strict=False):
            if pad is None and (fact := self._read(value, index_map)) is not None:
                known[argument] = fact
        if not known:
            return
        for op in nest.block.ops:
            if len(op.results) == 1 and (made := _made(op, known, nest)) is not None:
                known[op.results[0]] = made
        (value,), (written,) = nest.yielded, nest.write_maps
        fact = known.get(value)
        if fact is not None and not nest.is_pointwise:
            fact = _reduced(fact, nest)
        if fact is not None and (kept := fact.moved(_places(written))) is not None:
            self._facts[nest.res[0]] = kept

    def _read(self, value: SSAValue, index_map: AffineMap) -> Fact | None:
        fact = self._facts.get(value)
        if fact is None:
            return None
        exprs = enumerate(index_map.results)
        return fact.moved({a: e.position for a, e in exprs if isinstance(e, AffineDimExpr)})


def _places(index_map: AffineMap) -> dict[int, int]:
    exprs = enumerate(index_map.results)
    return {e.position: axis for axis, e in exprs if isinstance(e, AffineDimExpr)}


def _reduced(fact: Fact, nest: GenericOp) -> Fact | None:
    """What a reduction over the dimension alone gives."""
    dims = dict(fact.dims)
    if fact.kind not in _ALONG or nest.reduction_dims != (dims[fact.axis],):
        return None
    (combiner,) = nest.combiner_names
    kinds = {("max", Kind.SCORES): Kind.TOP, ("add", Kind.EXPONENTIAL): Kind.TOTAL}
    kind = kinds.get((combiner, fact.kind))
    left = tuple((dim, place) for dim, place in fact.dims if dim != fact.axis)
    return None if kind is None else replace(fact, kind=kind, dims=left)


def _made(op: Operation, known: Mapping[SSAValue, Fact], nest: GenericOp) -> Fact | None:
    facts = [known.get(operand) for operand in op.operands]
    match op:
        case math.ExpOp():
            return _of_one(facts[0], Kind.BELOW, Kind.EXPONENTIAL)
        case arith.SubfOp():
            return _of_two(facts, Kind.SCORES, Kind.TOP, Kind.BELOW)
        case arith.DivfOp() if _is_number(op.lhs, 1.0):
            return _of_one(facts[1], Kind.TOTAL, Kind.TOTAL)
        case arith.DivfOp():
            return _scaled(facts)
        case arith.MulfOp():
            return _scaled(facts) or _scaled(facts[::-1])
        case arith.SelectOp():
            return _chosen(op, facts, nest)
        case _:
            return None


def _of_one(fact: Fact | None, kind: Kind, made: Kind) -> Fact | None:
    return replace(fact, kind=made) if fact is not None and fact.kind is kind else None


def _of_two(facts: list[Fact | None], kind: Kind, other: Kind, made: Kind) -> Fact | None:
    left, right = facts
    if left is None or right is None or not left.goes_with(right):
        return None
    return replace(left, kind=made) if (left.kind, right.kind) == (kind, other) else None


def _scaled(facts: list[Fact | None]) -> Fact | None:
    return _of_two(facts, Kind.EXPONENTIAL, Kind.TOTAL, Kind.WEIGHT) or _of_two(
        facts, Kind.WEIGHT, Kind.TOTAL, Kind.WEIGHT
    )


def _chosen(op: arith.SelectOp, facts: list[Fact | None], nest: GenericOp) -> Fact | None:
    """Weights, or 0 in whole rows."""
    for fact, other in ((facts[1], op.rhs), (facts[2], op.lhs)):
        if fact is None or fact.kind not in (Kind.EXPONENTIAL, Kind.WEIGHT):
            continue
        along = dict(fact.dims)[fact.axis]
        if _is_zero(other, nest) and is_same_along(nest, op.cond, along):
            return replace(fact, kind=Kind.WEIGHT)
    return None


def _is_number(value: SSAValue, number: float) -> bool:
    owner = value.owner
    held = owner.value if isinstance(owner, arith.ConstantOp) else None
    return isinstance(held, FloatAttr) and held.value.data == number


def _is_zero(value: SSAValue, nest: GenericOp) -> bool:
    """Whether a value of a body is 0, be it read of a nest that is full of it."""
    if not isinstance(value, BlockArgument):
        return _is_number(value, 0.0)
    if value.index >= len(nest.inputs):
        return False
    full = nest.inputs[value.index].owner
    if not isinstance(full, GenericOp) or len(full.res) != 1 or not full.is_pointwise:
        return False
    return _is_number(full.yielded[0], 0.0)
