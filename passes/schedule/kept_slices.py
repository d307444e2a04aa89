"""What nests of a task keep for one another: that each reads what the task made, and how much of it
is kept at a time.

An index of an access is, at one step of the loops around its nest, a range of positions from where
the nest's slice begins. Where each read of a buffer lies in the slice that its writer made at this
very step, scratch holds no more than that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace

from xdsl.dialects import arith
from xdsl.ir import Block, SSAValue

from lamina.dialects.loop.access import shape_of
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.scalar_ops import constant_integer
from lamina.dialects.records import record
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.stages import Access, Stage, is_temporary
from lamina.passes.schedule.sweeps import FIRST_WINDOW, Window
from lamina.passes.schedule.task_slices import Bound, block_of

Slices = Mapping[Stage, Mapping[int, Bound]]
"""The slices of each stage's loops that are no whole dimension."""


@record
class _Reach:
    """Positions from `low` to `high` behind `bases`: values, or rows by number, with factors."""

    low: int
    high: int
    bases: Mapping[SSAValue | int, int] = field(default_factory=dict)

    def holds(self, other: _Reach) -> bool:
        """Whether the other's are among these at each step of the loops."""
        return self.bases == other.bases and self.low <= other.low <= other.high <= self.high

    def add(self, other: _Reach) -> _Reach:
        """All sums of both."""
        bases = dict(self.bases)
        for value, factor in other.bases.items():
            bases[value] = bases.get(value, 0) + factor
        return _Reach(self.low + other.low, self.high + other.high, bases)

    def scale(self, factor: int) -> _Reach:
        """So many times these."""
        low, high = sorted((self.low * factor, self.high * factor))
        return _Reach(low, high, {value: factor * n for value, n in self.bases.items()})


def verify_kept(stages: Sequence[Stage], slices: Slices, loops: Collection[Block]) -> None:
    """Raises InputError where tasks divide what their nests hand on, but not as it is read.

    The task goes through all of `loops`, which stand in it.
    """
    for first, others in _kept(stages):
        made = [_divided(reach, loops) for reach in _axes(*first, slices)]
        for stage, access in others:
            touched = [_divided(reach, loops) for reach in _axes(stage, access, slices)]
            for own, wanted in zip(made, touched, strict=True):
                if own.bases != wanted.bases or (own.bases and not own.holds(wanted)):
                    raise illegal(
                        stage.op, "tile: what a row hands on is not divided as the tasks are"
                    )


def windows_of(stages: Sequence[Stage], slices: Slices) -> dict[SSAValue, tuple[Window, SSAValue]]:
    """Of each buffer of which a step of a loop makes and reads a slice: that, and its start."""
    found: dict[SSAValue, tuple[Window, SSAValue]] = {}
    for (stage, write), others in _kept(stages):
        made, touched = _axes(stage, write, slices), [_axes(*o, slices) for o in others]
        for axis, form in enumerate(write.axes):
            dim = form.pure_dim
            bound = None if dim is None else slices[stage].get(dim)
            if bound is not None and all(made[axis].holds(axes[axis]) for axes in touched):
                window = Window(axis, bound[1].size, FIRST_WINDOW - len(found))
                found[write.memory] = window, bound[0]
                break
    return found


def _kept(
    stages: Sequence[Stage],
) -> Iterator[tuple[tuple[Stage, Access], list[tuple[Stage, Access | SSAValue]]]]:
    """The first write of each buffer of the kernel, and whatever else touches it."""
    touched: dict[SSAValue, list[tuple[Stage, Access | SSAValue]]] = {}
    for stage in stages:
        for access in (*stage.writes, *stage.reads):
            touched.setdefault(access.memory, []).append((stage, access))
        for source in stage.op.sources:
            touched.setdefault(source, []).append((stage, source))
    for stage in stages:
        for write in stage.writes:
            if is_temporary(write.memory) and (found := touched.pop(write.memory, [])):
                yield (stage, write), [other for other in found if other[1] is not write]


def _axes(stage: Stage, access: Access | SSAValue, slices: Slices) -> list[_Reach]:
    """The positions of each axis that an access touches, all of them where places are computed."""
    if not isinstance(access, Access):
        return [_Reach(0, extent - 1) for extent in shape_of(access)]
    return [_reach(form, stage, slices[stage]) for form in access.axes]


def _reach(form: Linear, stage: Stage, slices: Mapping[int, Bound]) -> _Reach:
    found = _Reach(form.constant, form.constant)
    for dim, factor in form.terms:
        if dim in stage.rows:
            one = _Reach(0, 0, {stage.rows.index(dim): 1})
        elif dim in slices:
            symbol, entry = slices[dim]
            assert entry.step is not None  # as loops of a task have: see `inner_slices`
            one = _values(symbol).add(_Reach(0, (entry.size - 1) * entry.step))
        else:
            one = _Reach(0, stage.extents[dim] - 1)
        found = found.add(one.scale(factor))
    return found


def _values(symbol: SSAValue) -> _Reach:
    """An index as multiples of others and a number."""
    number, op = constant_integer(symbol), symbol.owner
    if number is not None:
        return _Reach(number, number)
    if isinstance(op, arith.AddiOp):
        return _values(op.lhs).add(_values(op.rhs))
    if isinstance(op, arith.MuliOp) and (factor := constant_integer(op.rhs)) is not None:
        return _values(op.lhs).scale(factor)
    return _Reach(0, 0, {symbol: 1})


def _divided(reach: _Reach, loops: Collection[Block]) -> _Reach:
    """The same but for rows, and for bases that go from end to end in the task."""
    bases = {value: n for value, n in reach.bases.items() if isinstance(value, SSAValue)}
    return replace(reach, bases={} if all(block_of(v) in loops for v in bases) else bases)
