"""Ops on tensors in groups that take their dimensions apart, so that no elements are moved.

A pointwise op, or a sum over a group, is the same on the dimensions that the program has joined:
padding between rows stays where it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.grouping import move_together
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Count, Grouped, ungrouped
from lamina.lowering.tensor_types import normalized

Groups = tuple[int, ...]
_Dims = tuple[list[int], list[Count]]
"""Extents of dimensions, and how many positions of each count."""


@contextmanager
def standing_apart(op: Operation, b: BoundBuilder) -> Iterator[Groups | None]:
    """Operands that broadcast together, with groups taken apart, as `BoundBuilder.tensor` has them.

    Gives the groups of the result; None where operands have none, or others each: they are moved
    together then.
    """
    ready = _apart(op, b)
    if ready is None:
        move_together(op, b)
        yield None
        return
    groups, tensors = ready
    tensors = {value: t for value, t in tensors.items() if t.value is not value}
    before = {value: b.state.tensors.get(value) for value in tensors}
    b.state.tensors.update(tensors)
    try:
        yield groups
    finally:
        for value, tensor in before.items():
            if tensor is None:
                del b.state.tensors[value]
            else:
                b.state.tensors[value] = tensor


def in_groups(tensor: Bounded, groups: Groups | None) -> Bounded | Grouped:
    """A result as the groups that its dimensions are."""
    return tensor if groups is None or {*groups} <= {1} else Grouped(tensor, groups)


def row_of(op: Operation, value: SSAValue, dim: int, b: BoundBuilder) -> tuple[Grouped, int]:
    """An operand, and its dimension that the program calls `dim`, which is no group of several;
    where it is, elements are moved together."""
    given = b.grouped(value)
    rank = len(given.groups)
    if rank and given.groups[normalized(dim, rank)] != 1:
        move_together(op, b)
        given = ungrouped(b.tensor(value))
    return given, given.dims[normalized(dim, rank)][0] if rank else 0


def _apart(op: Operation, b: BoundBuilder) -> tuple[Groups, dict[SSAValue, Bounded]] | None:
    """The groups of a result, and the operands with all dimensions of these."""
    if not any(operand in b.state.grouped for operand in op.operands):
        return None
    given = {v: b.grouped(v) for v in op.operands if isinstance(v.type, TensorType)}
    rank = max(len(grouped.groups) for grouped in given.values())
    found: list[_Dims] = []
    for place in range(-rank, 0):
        chosen = _at(place, list(given.values()))
        if chosen is None:
            return None
        found.append(chosen)
    counts = [len(sizes) for sizes, _ in found]
    ready = {value: _raised(grouped, counts, b) for value, grouped in given.items()}
    return tuple(counts), ready


def _at(place: int, given: Sequence[Grouped]) -> _Dims | None:
    """The extents and counts of the wide dimensions that operands have at a place from the end;
    None where several have others each, and one of them has more than one dimension there."""
    one: _Dims = ([1], [None])
    found: list[_Dims] = []
    for grouped in given:
        if -place > len(grouped.groups):
            continue
        own, tensor = grouped.dims[place], grouped.tensor
        chosen = [tensor.shape[dim] for dim in own], [tensor.sizes[dim] for dim in own]
        if chosen != one:
            found.append(chosen)
    wide = max(found, key=lambda dims: len(dims[0]), default=one)
    return None if len(wide[0]) > 1 and any(dims != wide for dims in found) else wide


def _raised(grouped: Grouped, counts: Sequence[int], b: BoundBuilder) -> Bounded:
    """A tensor with so many dimensions for each of the last groups: ones where it has but one."""
    shape: list[int] = []
    sizes: list[Count] = []
    for own, count in zip(grouped.dims, counts[len(counts) - len(grouped.groups) :], strict=True):
        missing = count - len(own)
        shape += [*([1] * missing), *(grouped.tensor.shape[dim] for dim in own)]
        sizes += [*([None] * missing), *(grouped.tensor.sizes[dim] for dim in own)]
    return Bounded(b.reshape(grouped.tensor.value, shape), tuple(sizes))


def dims_of(grouped: Grouped, places: Sequence[int]) -> list[int]:
    """The dimensions of the groups at some places."""
    return [dim for place in places for dim in grouped.dims[place]]


def reduced_groups(
    made: Bounded, grouped: Grouped, places: Sequence[int], b: BoundBuilder
) -> Bounded | Grouped:
    """What a reduction makes of a tensor in groups, whose groups at `places` are gone, or are one
    dimension of 1 where it keeps all dimensions."""
    kept = [count for place, count in enumerate(grouped.groups) if place not in places]
    if made.rank == sum(grouped.groups) and places:
        sizes: list[Count] = []
        shape: list[int] = []
        kept = []
        for place, own in enumerate(grouped.dims):
            if place in places:
                sizes.append(None)
                shape.append(1)
                kept.append(1)
            else:
                sizes += [made.sizes[dim] for dim in own]
                shape += [made.shape[dim] for dim in own]
                kept.append(len(own))
        made = Bounded(b.reshape(made.value, shape), tuple(sizes))
    return in_groups(made, tuple(kept))


__all__ = ["dims_of", "in_groups", "reduced_groups", "row_of", "standing_apart"]
