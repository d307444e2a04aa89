"""A kernel's loop nests with their accesses as linear element offsets: what schedules work on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.errors import UnsupportedError
from lamina.dialects.identity_cache import once_an_object
from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, IndexOp
from lamina.dialects.loop.access import Forms, forms_of, row_major_strides
from lamina.dialects.loop.bounds import ends_of
from lamina.dialects.loop.kernel_nests import rows_of, summed_rows
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.packing import is_packed
from lamina.dialects.loop.schedules import SCHEDULE, NestSchedule, ScheduleAttr
from lamina.dialects.loop.segments import used_dims_of
from lamina.passes.schedule.call_extents import extents_of, limits_of, open_axes
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.live_rows import live_digits

LOCAL_ROW = -1
"""Pseudo-dimension of scratch offsets: the row's number within the block of rows at hand."""
PANEL_START = -2
"""Pseudo-dimension of panel scratch: the first column of the panel at hand."""
TERM_START = -3
"""Pseudo-dimension of copied rows: the first term of the block of the sum at hand."""
ROW_START = -4
"""Pseudo-dimension of tasks that walk several lines of rows: rows in front of the one at hand."""


@dataclass(eq=False)
class Access:
    """One read or write: a memref, the element offset, and what a padded read needs to check."""

    memory: SSAValue
    """The memref as the nest names it."""
    offset: Linear
    """Row-major element offset over the stage's dimensions."""
    element: Attribute
    axes: tuple[Linear, ...] = ()
    shape: tuple[int, ...] = ()
    pad: Attribute | None = None
    tested: tuple[int, ...] = ()
    """Axes along which a padded read may be outside, of its type or of `lamina.limits`."""
    packed_dims: frozenset[int] = frozenset()
    """Dimensions that a packed operand depends on; its own schedule computes the offset."""
    extents: tuple[int, ...] | None = None
    """`lamina.extents` of the memref. `offset` is that of the type's own extents then: it says
    which strides are 0 and 1, and `Memory` where elements are."""

    @property
    def open_axes(self) -> tuple[int, ...]:
        """Axes whose strides are numbers of the call."""
        return () if self.extents is None else open_axes(self.extents)

    def walks_open_axis(self, *dims: int) -> bool:
        """Whether steps along one of these dimensions are numbers of the call."""
        return any(self.axes[axis].coefficient(dim) for axis in self.open_axes for dim in dims)

    def walks_by_type(self, outer: int, inner: int) -> bool:
        """Whether steps along one dimension are so many along another as the type says."""
        if self.extents is None or not self.walks_open_axis(outer, inner):
            return True
        places = [[n for n, a in enumerate(self.axes) if a.coefficient(d)] for d in (outer, inner)]
        if any(len(own) != 1 for own in places):
            return False
        (first,), (last,) = places
        return first < last and all(n < 0 for n in self.extents[first + 1 : last + 1])

    def stride(self, dim: int) -> int:
        """Elements from one position of a dimension to the next."""
        return self.offset.coefficient(dim)


@dataclass(eq=False)
class Stage:
    """One nest of the kernel; `rows` and `inner` are its dimensions, outermost first."""

    op: GenericOp
    extents: tuple[int, ...]
    rows: tuple[int, ...]
    inner: tuple[int, ...]
    reads: list[Access]
    writes: list[Access]
    combiners: tuple[str, ...]
    reduced: frozenset[int]
    indexed: frozenset[int] = field(default_factory=frozenset)
    """Dimensions whose position the body asks for."""
    totals: tuple[str, ...] = ()
    """Combiners by which a nest that sums over rows adds what each row stores to its results."""
    schedule: NestSchedule = field(default_factory=NestSchedule)
    """How its loops run, as far as that is decided."""

    @property
    def inner_extents(self) -> tuple[int, ...]:
        """Extents of the inner dimensions, outermost first."""
        return tuple(self.extents[d] for d in self.inner)

    @property
    def bits(self) -> int:
        """Width of an element of its first result, which is a number."""
        return self.writes[0].element.bitwidth  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def is_pointwise(self) -> bool:
        """Whether every result is stored at each point."""
        return all(c == "store" for c in self.combiners)

    @property
    def points(self) -> int:
        """Iterations of the whole nest."""
        return prod(self.extents)

    @property
    def sources(self) -> list[tuple[SSAValue, SSAValue]]:
        """What the body looks up in: the names that it has for it, and what that is."""
        return list(zip(self.op.block.args[len(self.reads) :], self.op.sources, strict=True))

    def accesses(self) -> list[Access]:
        """All reads, then all writes."""
        return [*self.reads, *self.writes]


def stages_of(ops: list[GenericOp]) -> list[Stage]:
    """The stages of a kernel in memref form, in order."""
    return [_stage(op) for op in ops]


def _stage(op: GenericOp) -> Stage:
    _check_reductions(op)
    rows = rows_of(op)
    inner = tuple(d for d in range(len(op.extents)) if d not in rows)
    reads = [_access(op, value, index_map, pad) for value, index_map, pad in op.reads]
    writes = [
        _access(op, value, index_map, None)
        for value, index_map in zip(op.outs, op.write_maps, strict=True)
    ]
    indexed = frozenset(o.dim.value.data for o in block_ops(op.block) if isinstance(o, IndexOp))
    combiners, reduced = op.combiner_names, frozenset(op.reduction_dims)
    totals: tuple[str, ...] = ()
    if summed_rows(op):
        totals, combiners = combiners, ("store",) * len(combiners)
        reduced -= set(rows)
    return Stage(
        op,
        op.extents,
        rows,
        inner,
        reads,
        writes,
        combiners,
        reduced,
        indexed,
        totals,
        schedule_of(op),
    )


def schedule_of(op: GenericOp) -> NestSchedule:
    """What a nest's attribute says of its loops."""
    attribute = op.attributes.get(SCHEDULE)
    return attribute.data if isinstance(attribute, ScheduleAttr) else NestSchedule()


def _check_reductions(op: GenericOp) -> None:
    """Refuse reductions over different dims in one nest: its loops have one order."""
    writes = zip(used_dims_of(op.properties["output_maps"]), op.combiner_names, strict=True)
    wide = {d for d, extent in enumerate(op.extents) if extent != 1}
    kept = {used & wide for used, combiner in writes if combiner != "store"}
    if len(kept) > 1:
        raise UnsupportedError(
            "loop.generic",
            "its results are reductions over different dimensions",
            location=str(op.location),
            nearest="one loop.generic for each set of reduced dimensions",
        )


def _access(op: GenericOp, value: SSAValue, index_map: object, pad: Attribute | None) -> Access:
    kind = value.type
    assert isinstance(kind, MemRefType)
    walk = _walk(kind, index_map, op.extents)
    if walk is None:
        # Packed operands are read by their own schedule; everything else must be linear.
        if is_packed(op):
            used = frozenset(index_map.used_dims())  # pyright: ignore[reportAttributeAccessIssue]
            shape = tuple(kind.get_shape())
            return Access(value, Linear(()), kind.element_type, (), shape, pad, packed_dims=used)
        raise UnsupportedError(
            "loop.generic",
            f"the index map {index_map} is not linear over the domain {list(op.extents)}",
            location=str(op.location),
            nearest="a domain split so that each index is a sum of multiples of its dimensions",
        )
    forms, shape, offset, outside = walk
    access = Access(value, offset, kind.element_type, forms, shape, extents=extents_of(value))
    if outside:
        limited = [axis for axis, number in enumerate(limits_of(value) or ()) if number >= 0]
        access.pad, access.tested = pad, tuple(sorted({*outside, *limited}))
    return access


Walk = tuple[Forms, tuple[int, ...], Linear, tuple[int, ...]]
"""Linear forms of an index map, the shape of what it walks, element offsets, and the axes that it
leaves."""


@once_an_object
def _walk(kind: Any, index_map: Any, extents: tuple[int, ...]) -> Walk | None:
    """How a nest over a domain walks memory of a type; None where the map is not linear."""
    forms = forms_of(index_map, extents)
    if forms is None:
        return None
    shape = tuple(kind.get_shape())
    offset = Linear(())
    for form, stride in zip(forms, row_major_strides(shape), strict=True):
        offset = offset.add(form.scale(stride))
    ranges = [form.range(extents) for form in forms]
    outside = tuple(
        axis
        for axis, ((low, high), extent) in enumerate(zip(ranges, shape, strict=True))
        if low < 0 or high >= extent
    )
    return forms, shape, offset, outside


def collapse_rows(stages: Sequence[Stage]) -> None:
    """Join neighbouring row dimensions that every access walks as one (in place).

    Where rows are all that there is, they are loops of tasks: one that ends at a number of the call
    is not joined with what is in front of it, as it would not end there.
    """
    apart: set[int] = set()
    if all(stage.extents[dim] == 1 for stage in stages for dim in stage.inner):
        digits = live_digits(stages[0].op)
        apart = {dim for dim, own in digits.items() if own and own[0].count is not None}
    collapse(stages, [stage.rows for stage in stages], apart)


def collapse(
    stages: Sequence[Stage], groups: Sequence[Sequence[int]], apart: Collection[int] = ()
) -> list[list[int]]:
    """Join neighbouring dimensions of a group, one for each stage, that every access walks as one.

    In place; returns what is left of each group. Dimensions of the first stage that stand `apart`
    are not joined with those in front of them.
    """
    left = [list(dims) for dims in groups]
    for place in reversed(range(len(left[0]) - 1)):
        if groups[0][place + 1] in apart:
            continue
        if all(_collapsible(s, d[place], d[place + 1]) for s, d in zip(stages, left, strict=True)):
            for stage, dims in zip(stages, left, strict=True):
                _join(stage, dims.pop(place), dims[place])
    return left


def is_one_line(stages: Sequence[Stage], place: int) -> bool:
    """Whether every access walks the row at `place` and the one behind it as one."""
    return all(_collapsible(s, s.rows[place], s.rows[place + 1]) for s in stages)


def task_rows(stages: Sequence[Stage]) -> int:
    """How many rows stand in front of the first that is summed over."""
    summed = (
        place
        for stage in stages
        if stage.totals
        for place, dim in enumerate(stage.rows)
        if stage.extents[dim] > 1 and all(w.stride(dim) == 0 for w in stage.writes)
    )
    return min(summed, default=len(stages[0].rows))


def turn_rows(stages: Sequence[Stage]) -> list[int]:
    """Extents of the rows that a task takes in turn: from the first one that is summed over on."""
    return [stages[0].extents[d] for d in stages[0].rows[task_rows(stages) :]]


def take_inner(stages: list[Stage], places: tuple[int, ...]) -> None:
    """Make rows of every stage loops of the task, in front of its own (in place)."""
    count = len(stages[0].rows)
    if any(not 0 <= place < count for place in places):
        legal = f"0 to {count - 1}" if count else "none"
        raise illegal(stages[0].op, f"inner = {list(places)}: rows of its kernel: {legal}")
    for stage in stages:
        taken = tuple(stage.rows[place] for place in places)
        stage.inner = taken + stage.inner
        stage.rows = tuple(d for d in stage.rows if d not in taken)


def _collapsible(stage: Stage, outer: int, inner: int) -> bool:
    if stage.indexed & {outer, inner} or stage.op.sources:
        return False
    for bounds in ends_of(stage.op, stage.op.extents).values():
        for bound in bounds:
            steps = bound.form.coefficient(outer), bound.form.coefficient(inner)
            if steps[0] != steps[1] * stage.extents[inner]:
                return False
    for access in stage.accesses():
        if access.pad is not None and any(
            f.coefficient(outer) or f.coefficient(inner) for f in access.axes
        ):
            return False
        if access.packed_dims & {outer, inner} or not access.walks_by_type(outer, inner):
            return False
        if access.stride(outer) != access.stride(inner) * stage.extents[inner]:
            return False
    return True


def _join(stage: Stage, outer: int, inner: int) -> None:
    extents = list(stage.extents)
    extents[inner] *= extents[outer]
    extents[outer] = 1
    stage.extents = tuple(extents)
    stage.rows = tuple(d for d in stage.rows if d != outer)
    stage.inner = tuple(d for d in stage.inner if d != outer)
    for access in stage.accesses():
        access.offset = _without(access.offset, outer)
        access.axes = tuple(_without(form, outer) for form in access.axes)


def _without(form: Linear, dim: int) -> Linear:
    return Linear(tuple(term for term in form.terms if term[0] != dim), form.constant)


def is_temporary(value: SSAValue) -> bool:
    """Whether a memref is allocated inside the kernel, rather than one of its arguments."""
    return isinstance(value.owner, memref.AllocOp)
