"""The accumulators of reductions: vectors or scalars, in one list for all results of some stages.

A reduction of one value has a named combiner, one of several values a region. Both start at
identities, take values in, are joined part by part, and are folded from lanes to one number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from math import prod

from xdsl.dialects import vector
from xdsl.dialects.builtin import AnyFloat, VectorType
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.loop.identities import identity_value
from lamina.dialects.loop.monoid import Monoid, reductions
from lamina.dialects.records import mutable_record
from lamina.passes.schedule.body import Body, Lane, choose, vector_reduce
from lamina.passes.schedule.combine import combine, take
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.stages import Stage
from lamina.passes.schedule.strided_access import shuffled

Values = list[SSAValue]
"""One value for each result that is reduced, in order."""
Join = Callable[[Emitter, str, SSAValue, SSAValue], SSAValue]
"""Joins two values as a combiner does."""
LONG_SUM = 8
"""Terms whose sum is worth an addition more: errors grow with the chain that they go through."""


@mutable_record
class Accumulators:
    """What some stages reduce: `results` by stage and number, and which are reduced together."""

    results: list[tuple[Stage, int]] = field(default_factory=list)
    groups: list[tuple[tuple[int, ...], str, Monoid | None]] = field(default_factory=list)
    """Places in `results`, and how they are combined."""

    @staticmethod
    def of(stages: Sequence[Stage]) -> Accumulators:
        """Of all results of these stages that are not stored at each point."""
        found = Accumulators()
        for stage in stages:
            if stage.is_pointwise:
                continue
            for results, combiner, monoid in reductions(stage.combiners, stage.op.monoids):
                first = len(found.results)
                found.results += [(stage, number) for number in results]
                found.groups.append((tuple(range(first, len(found.results))), combiner, monoid))
        return found

    def elements(self) -> list[Attribute]:
        """The types of the totals."""
        return [stage.writes[number].element for stage, number in self.results]

    def start(self, emit: Emitter, lanes: int) -> Values:
        """Identities in every lane."""
        made: Values = []
        for places, combiner, monoid in self.groups:
            for place, number in enumerate(places):
                stage, result = self.results[number]
                given = (
                    identity_value(combiner, stage.writes[result].element)
                    if monoid is None
                    else monoid.identities[place]
                )
                made.append(emit.splat(given, lanes))
        return made

    def masked(self, emit: Emitter, values: Values, mask: SSAValue, lanes: int) -> Values:
        """The values in lanes that are on, identities in others."""
        start = self.start(emit, lanes)
        return [choose(emit, mask, v, s) for v, s in zip(values, start, strict=True)]

    def taken(self, emit: Emitter, values: Values, totals: Values) -> Values:
        """New values joined to what was taken in before."""
        return self._joined_by(take, emit, values, totals)

    def combined(self, emit: Emitter, left: Values, right: Values) -> Values:
        """Two of each joined to one."""
        return self._joined_by(combine, emit, left, right)

    def _joined_by(self, join: Join, emit: Emitter, left: Values, right: Values) -> Values:
        made: Values = []
        for places, combiner, monoid in self.groups:
            if monoid is None:
                made.append(join(emit, combiner, left[places[0]], right[places[0]]))
            else:
                made += _combined(
                    emit, monoid, [left[p] for p in places], [right[p] for p in places]
                )
        return made

    def joined(self, emit: Emitter, parts: list[Values]) -> Values:
        """Several of each joined pairwise, so that no chain is longer than needed."""
        while len(parts) > 1:
            half = len(parts) // 2
            pairs = zip(parts[:half], parts[half : 2 * half], strict=True)
            parts = [*(self.combined(emit, *pair) for pair in pairs), *parts[2 * half :]]
        return parts[0]

    def folded(self, emit: Emitter, values: Values, lanes: int) -> Values:
        """The lanes of each joined to one number."""
        if lanes == 1:
            return values
        made: Values = []
        for places, combiner, monoid in self.groups:
            if monoid is None:
                made.append(emit.add(vector_reduce(values[places[0]], combiner)))
            else:
                made += _folded(emit, monoid, [values[p] for p in places], lanes)
        return made

    def sums_apart(self, ranges: Sequence[tuple[Index, Index]], outermost: int) -> bool:
        """Whether each position of the outermost of some loops gets sums of its own, which are
        added up at its end; `ranges` are where the loops begin and end."""
        inner = [ends for place, ends in enumerate(ranges) if place != outermost]
        length = prod(
            high - low if isinstance(low, int) and isinstance(high, int) else LONG_SUM
            for low, high in inner
        )
        return length >= LONG_SUM and all(
            stage.combiners[number] == "add" and isinstance(stage.writes[number].element, AnyFloat)
            for stage, number in self.results
        )

    def parts(self, values: Values) -> list[Values]:
        """A list of several of each, one behind the other, taken apart."""
        count = len(self.results)
        return [values[at : at + count] for at in range(0, len(values), count)]


def _combined(emit: Emitter, monoid: Monoid, left: Values, right: Values) -> Values:
    kind = left[0].type
    body = Body(kind.get_shape()[0] if isinstance(kind, VectorType) else 1)
    for argument, value in zip(monoid.block.args, (*left, *right), strict=True):
        body.values[argument] = Lane(value, body.lanes == 1)
    body.run(emit, monoid.ops, {}, None)
    return [body.vector(emit, value) for value in monoid.yielded]


def _folded(emit: Emitter, monoid: Monoid, values: Values, lanes: int) -> Values:
    """Halves of the lanes are joined until one is left."""
    while lanes > 1:
        lanes //= 2
        low, high = (
            [_lanes(emit, value, range(start, start + lanes)) for value in values]
            for start in (0, lanes)
        )
        values = _combined(emit, monoid, low, high)
    return values


def _lanes(emit: Emitter, value: SSAValue, order: range) -> SSAValue:
    kind = value.type
    assert isinstance(kind, VectorType)
    if len(order) == 1:
        return emit.add(vector.ExtractOp(value, [order.start], kind.element_type))
    return shuffled(emit, value, value, order)
