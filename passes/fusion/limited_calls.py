"""Calls of one kernel that end at sizes: those that end alike share it, others get their own copy.

What calls disagree on limits none of them: of weights with other sizes, packed alike, or of layers
over two lengths, rows would all run. Calls that differ in nothing but which sizes they end at are
alike, as the numbers are arguments of the kernel: products of groups of rows by a matrix each are
one kernel, however many groups there are.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import pairwise
from typing import Any, TypeVar

from xdsl.dialects import func
from xdsl.dialects.builtin import StringAttr, SymbolRefAttr
from xdsl.ir import Block, Operation, SSAValue

from lamina.dialects.ir_links import block_ops
from lamina.dialects.records import mutable_record
from lamina.passes.cost.fusion_limits import MOST_KERNEL_COPIES
from lamina.passes.fusion.element_limits import Limit, PanelLimit, PointLimit, Reach
from lamina.passes.fusion.kernel_ends import KernelCall
from lamina.passes.fusion.row_limits import RowLimit

_AnyLimit = TypeVar("_AnyLimit", RowLimit, PointLimit, Limit)


def told_apart(
    kernel: func.FuncOp, calls: Sequence[KernelCall]
) -> Iterator[tuple[func.FuncOp, Sequence[KernelCall]]]:
    """A kernel for each set of calls that agree, the given one among them, with these calls.

    The limits of such calls name the sizes of the first of them; `sizes` of each has its own.
    Calls that differ in too many ways share a kernel, without limits.
    """
    places = {op: n for n, op in enumerate(block_ops(kernel.body.block))}
    known: dict[tuple[int, ...], _Said] = {}
    said = [_said(call, places, known) for call in calls]
    groups: dict[Hashable, list[_Said]] = {}
    for one in said:
        groups.setdefault(one.limits, []).append(one)
    if not groups or len(groups) > MOST_KERNEL_COPIES:
        yield kernel, calls
        return
    first, *others = groups.values()
    for number, alike in enumerate(others, 1):
        yield _copied(kernel, f"{kernel.sym_name.data}_{number}", _by_sizes_of_first(alike))
    yield kernel, _by_sizes_of_first(first)


def _said(
    call: KernelCall, places: Mapping[Operation, int], known: dict[tuple[int, ...], _Said]
) -> _Said:
    """The limits of a call in numbers; of calls that share what limits them, those of the first."""
    limits = call.rows, call.copied, call.taken, call.points, call.masks, call.zeros
    alike = known.setdefault(tuple(map(id, limits)), _Said(call))
    if alike.call is call:
        alike.say(places)
        return alike
    return _Said(call, alike.limits, alike.sizes)


@mutable_record
class _Said:
    """The limits of a call with numbers in place of its sizes, which are in this order."""

    call: KernelCall
    limits: Hashable = ()
    sizes: list[SSAValue] = field(default_factory=list[SSAValue])

    def say(self, places: Mapping[Operation, int]) -> None:
        """Notes the limits of the call."""
        call = self.call
        rows = (
            tuple((n, self.ordered(own)) for n, own in sorted(_by_place(limits, places).items()))
            for limits in (call.rows, call.copied, call.taken, call.points)
        )
        masks = tuple((n, self.number(size)) for n, size in sorted(call.masks.items()))
        zeros = tuple((n, self.ordered(own)) for n, own in sorted(call.zeros.items()))
        self.limits = (*rows, masks, zeros)

    def number(self, size: SSAValue) -> int:
        """The place of a size among those that the limits name."""
        for place, known in enumerate(self.sizes):
            if known is size:
                return place
        self.sizes.append(size)
        return len(self.sizes) - 1

    def ordered(self, limits: frozenset[Any]) -> Hashable:
        """The limits in an order that does not follow from sizes; as they are where they differ in
        sizes alone, which then have to be the same ones."""
        found = sorted(((_key(limit), limit) for limit in limits), key=lambda pair: pair[0])
        if any(one[0] == other[0] for one, other in pairwise(found)):
            return limits
        ends = (limit.end for _, limit in found)
        numbers = [self.number(e.count) if isinstance(e, Reach) else None for e in ends]
        return tuple((key, number) for (key, _), number in zip(found, numbers, strict=True))


def _key(limit: RowLimit | PointLimit | Limit) -> tuple[Any, ...]:
    """All that a limit says but which size it ends at."""
    end = limit.end
    reach = (1, *end.numbers) if isinstance(end, Reach) else (0, end, 0, 0, 0)
    if isinstance(limit, RowLimit):
        return (limit.place, limit.stride, limit.extent, *reach)
    if isinstance(limit, PointLimit):
        form = (limit.form.terms, limit.form.constant)
        return (*form, limit.period, limit.stride, limit.extent, *reach)
    panel = (limit.lane, limit.lanes) if isinstance(limit, PanelLimit) else ()
    return (limit.stride, limit.extent, *reach, *panel)


def _by_place(
    limits: Mapping[Any, frozenset[Any]], places: Mapping[Operation, int]
) -> dict[int, frozenset[Any]]:
    return {places[op]: own for op, own in limits.items()}


def _by_sizes_of_first(alike: Sequence[_Said]) -> list[KernelCall]:
    """Calls that agree, whose limits name the sizes of the first of them."""
    first, *others = alike
    return [first.call, *(_renamed(other, first.sizes) for other in others)]


def _renamed(said: _Said, sizes: Sequence[SSAValue]) -> KernelCall:
    call = said.call
    if all(own is size for own, size in zip(said.sizes, sizes, strict=True)):
        return call
    names = dict(zip(said.sizes, sizes, strict=True))

    def of(limits: frozenset[_AnyLimit]) -> frozenset[_AnyLimit]:
        return frozenset(_ending(limit, names) for limit in limits)

    # An argument that is a size which the first call has another name for says nothing here.
    counts = {n: names.get(v, v) for n, v in call.counts.items() if v in names or v not in sizes}
    return replace(
        call,
        rows=_each(call.rows, of),
        copied=_each(call.copied, of),
        taken=_each(call.taken, of),
        points=_each(call.points, of),
        zeros=_each(call.zeros, of),
        masks={n: names[size] for n, size in call.masks.items()},
        counts=counts,
        sizes=dict(zip(sizes, said.sizes, strict=True)),
    )


def _each(limits: Mapping[Any, Any], renamed: Callable[[Any], Any]) -> dict[Any, Any]:
    return {key: renamed(own) for key, own in limits.items()}


def _ending(limit: _AnyLimit, names: Mapping[SSAValue, SSAValue]) -> _AnyLimit:
    if not isinstance(limit.end, Reach):
        return limit
    count = limit.end.count
    return replace(limit, end=replace(limit.end, count=names.get(count, count)))


def _copied(
    kernel: func.FuncOp, name: str, calls: Sequence[KernelCall]
) -> tuple[func.FuncOp, list[KernelCall]]:
    copy, block = kernel.clone(), kernel.parent
    assert isinstance(block, Block)
    copy.sym_name = StringAttr(name)
    block.insert_op_after(copy, kernel)
    pairs = zip(block_ops(kernel.body.block), block_ops(copy.body.block), strict=True)
    ops: dict[Operation, Operation] = dict(pairs)
    made: list[KernelCall] = []
    for call in calls:
        call.op.callee = SymbolRefAttr(name)
        rows, copied, taken, points = (
            {ops[op]: own for op, own in limits.items()}
            for limits in (call.rows, call.copied, call.taken, call.points)
        )
        limits = {"rows": rows, "copied": copied, "taken": taken, "points": points}
        made.append(replace(call, **limits))  # pyright: ignore
    return copy, made
