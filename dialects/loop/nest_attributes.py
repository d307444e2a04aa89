"""What passes note on a nest for those that come after them, and what must be true of it.

A note is a decision: a wrong one is an error, never another result. `loop.generic` verifies what a
nest alone can show; what the nests of a kernel must agree on is verified where it is used, by
`schedule`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import (
    DenseArrayBase,
    Float32Type,
    Float64Type,
    IntegerAttr,
    IntegerType,
    MemRefType,
    Signedness,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineExpr
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.loop.access import PAIRS, TASK_PACKED, flatten, forms_of, shape_of
from lamina.dialects.loop.bounds import BOUNDS, STREAM, BoundsAttr, StreamAttr
from lamina.dialects.loop.contraction import PANEL, REPACKED, Contraction
from lamina.dialects.loop.generic import GenericOp
from lamina.dialects.loop.labels import LABEL, verify_label
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.monoid import COMBINE
from lamina.dialects.loop.pairs import is_same, verify_pairs
from lamina.dialects.loop.rounding import is_half
from lamina.dialects.loop.schedules import SCHEDULE, ScheduleAttr

ROWS = "lamina.rows"
"""Attribute of a nest in a kernel: which of its dimensions are the kernel's rows."""

PART = "lamina.part"
"""Attribute of a nest that shares its kernel, but no loops, with the nests of other parts."""

LAYOUT = "lamina.layout"
"""Attribute of a nest on tensors: the axes of its results in the order to store them in."""

NOTES = (ROWS, PART, PANEL, REPACKED, PAIRS, TASK_PACKED, BOUNDS, STREAM, SCHEDULE)
"""The attributes that decide how a nest is scheduled."""


def rows_of(nest: GenericOp) -> tuple[int, ...]:
    """The dimensions of a nest that are its kernel's rows."""
    rows = nest.attributes.get(ROWS)
    return tuple(rows.get_values()) if isinstance(rows, DenseArrayBase) else ()  # pyright: ignore


def summed_rows(nest: GenericOp) -> tuple[int, ...]:
    """The rows of a nest over which it sums: a task runs them one after the other."""
    reduced = set(nest.reduction_dims)
    return tuple(d for d in rows_of(nest) if d in reduced and nest.extents[d] > 1)


def verify_notes(op: GenericOp) -> None:
    """Raises VerifyException for a note that is not true of the nest."""
    if LABEL in op.attributes:
        verify_label(op)
    if ROWS in op.attributes:
        _verify_rows(op, op.attributes[ROWS])
    if LAYOUT in op.attributes:
        _verify_layout(op, op.attributes[LAYOUT])
    if PART in op.attributes:
        number = op.attributes[PART]
        if not isinstance(number, IntegerAttr) or number.type != i64 or number.value.data < 0:
            raise VerifyException(f"{op.name}: {PART} numbers a part, in an i64: not {number}")
    if SCHEDULE in op.attributes:
        _verify_schedule(op, op.attributes[SCHEDULE])
    if PAIRS in op.attributes:
        verify_pairs(op, op.attributes[PAIRS])
    elif PANEL in op.attributes:
        _verify_panel(op, op.attributes[PANEL])
    if REPACKED in op.attributes and (
        not isinstance(op.attributes[REPACKED], UnitAttr) or PANEL not in op.attributes
    ):
        raise VerifyException(f"{op.name}: {REPACKED} stands alone, beside {PANEL}")
    if TASK_PACKED in op.attributes and (
        not isinstance(op.attributes[TASK_PACKED], UnitAttr)
        or REPACKED not in op.attributes
        or PAIRS in op.attributes
    ):
        raise VerifyException(f"{op.name}: {TASK_PACKED} stands alone, beside {REPACKED}")
    if BOUNDS in op.attributes:
        _verify_bounds(op, op.attributes[BOUNDS])
    if STREAM in op.attributes:
        _verify_stream(op, op.attributes[STREAM])


def _verify_layout(op: GenericOp, layout: Attribute) -> None:
    if not isinstance(layout, DenseArrayBase) or layout.elt_type != i64:
        raise VerifyException(f"{op.name}: {LAYOUT} is an array<i64> of axes, not {layout}")
    order = list(layout.iter_values())
    for kind in op.written_types:
        assert isinstance(kind, TensorType | MemRefType)
        if sorted(order) != list(range(len(kind.get_shape()))):
            raise VerifyException(f"{op.name}: {LAYOUT} {order} is no order of the axes of {kind}")


def _verify_stream(op: GenericOp, stream: Attribute) -> None:
    if not isinstance(stream, StreamAttr):
        raise VerifyException(f"{op.name}: {STREAM} is a #loop.stream, not {stream}")
    dim = stream.dim.value.data
    if dim >= len(op.extents) or dim in rows_of(op):
        raise VerifyException(f"{op.name}: {STREAM} is of d{dim}, no dimension beside its {ROWS}")
    if stream.block.value.data < 1:
        raise VerifyException(f"{op.name}: {STREAM} has blocks of no positions")


def _verify_bounds(op: GenericOp, bounds: Attribute) -> None:
    if not isinstance(bounds, BoundsAttr):
        raise VerifyException(f"{op.name}: {BOUNDS} is a #loop.bounds, not {bounds}")
    dim, rows = bounds.dim.value.data, rows_of(op)
    if dim >= len(op.extents) or dim in rows:
        raise VerifyException(f"{op.name}: {BOUNDS} are of d{dim}, no dimension beside its {ROWS}")
    for bound in bounds.bounds(op.extents):
        others = [d for d, _ in bound.form.terms if d not in rows]
        if others:
            raise VerifyException(f"{op.name}: {BOUNDS} vary with d{others[0]}, not in its {ROWS}")


def _verify_schedule(op: GenericOp, schedule: Attribute) -> None:
    """What a nest alone shows of its schedule: each dimension, read and result that it names."""
    if not isinstance(schedule, ScheduleAttr):
        raise VerifyException(f"{op.name}: {SCHEDULE} is a #{ScheduleAttr.name}, not {schedule}")
    data, rank = schedule.data, len(op.extents)
    for name, dims in data.dims().items():
        for dim in dims:
            if dim >= rank:
                raise VerifyException(
                    f"{op.name}: {SCHEDULE}: {name} names d{dim} of a domain of {rank}"
                )
    counts = {
        "cache_read": (data.cache_read, len(op.inputs), "reads"),
        "prefetch": (data.prefetch, len(op.inputs), "reads"),
        "nontemporal": (data.nontemporal, len(op.write_maps), "results"),
    }
    for name, (numbers, count, what) in counts.items():
        if any(number >= count for number in numbers or ()):
            raise VerifyException(
                f"{op.name}: {SCHEDULE}: {name} = {list(numbers or ())} of {count} {what}"
            )


def _verify_rows(op: GenericOp, rows: Attribute) -> None:
    rank = len(op.extents)
    if not isinstance(rows, DenseArrayBase) or rows.elt_type != i64:
        raise VerifyException(f"{op.name}: {ROWS} is an array<i64> of dimensions, not {rows}")
    dims: Sequence[int] = list(rows.iter_values())  # pyright: ignore[reportAssignmentType]
    if len(set(dims)) != len(dims) or any(not 0 <= d < rank for d in dims):
        raise VerifyException(
            f"{op.name}: {ROWS} {dims} are not different dimensions of a domain of {rank}"
        )
    reduced = {d for d in op.reduction_dims if op.extents[d] > 1}
    if reduced.intersection(dims):
        _verify_summed(op, set(dims), reduced)


def _verify_summed(op: GenericOp, rows: set[int], reduced: set[int]) -> None:
    """A nest that adds up rows does nothing else: each result is such a sum of the same rows."""
    wide = {d for d, extent in enumerate(op.extents) if extent > 1}
    for index_map, combiner in zip(op.write_maps, op.combiner_names, strict=True):
        if combiner in ("store", COMBINE) or wide - index_map.used_dims() != reduced:
            raise VerifyException(f"{op.name}: not all its results are sums over its {ROWS}")
    if not reduced <= rows:
        raise VerifyException(
            f"{op.name}: it reduces {sorted(reduced)}, of which only some are among its {ROWS} "
            f"{sorted(rows)}"
        )


def _verify_panel(op: GenericOp, panel: Attribute) -> None:
    if not isinstance(panel, IntegerAttr) or panel.type != i64 or not _is_power(panel.value.data):
        raise VerifyException(f"{op.name}: {PANEL} is a width, an i64, a power of 2: not {panel}")
    shape = Contraction.of(op)
    if shape is None:
        raise VerifyException(f"{op.name}: {PANEL} stands on what is no matrix product")
    width, kind = panel.value.data, op.inputs[shape.b].type
    assert isinstance(kind, TensorType | MemRefType)
    if TASK_PACKED in op.attributes:
        _verify_task_packed(shape)
        return
    if not in_vectors(kind.element_type):
        raise VerifyException(f"{op.name}: {PANEL} of {kind.element_type}, which is not packed")
    if op.pad_values != (None, None) or forms_of(op.read_maps[shape.a], op.extents) is None:
        raise VerifyException(f"{op.name}: {PANEL} needs reads without pads, one of them linear")
    if not _is_packed(shape, width) and not _is_read_in_runs(shape, width):
        extents, wanted = packed_layout(shape, width)
        raise VerifyException(
            f"{op.name}: {PANEL} is {width}, and read {shape.b} is no operand in such panels: "
            f"that would be [{', '.join(map(str, wanted))}] of shape {list(extents)}, or whole "
            "runs of neighbouring elements"
        )


def _verify_task_packed(shape: Contraction) -> None:
    """Tasks pack floats that stand in runs of neighbours, along the columns or along the sum."""
    op = shape.op
    row, column = (op.inputs[number].type for number in (shape.a, shape.b))
    assert isinstance(row, TensorType | MemRefType) and isinstance(column, TensorType | MemRefType)
    same = row.element_type == column.element_type
    widened = is_half(column.element_type) and isinstance(row.element_type, Float32Type)
    forms = [forms_of(index_map, op.extents) for index_map in op.read_maps]
    own = forms[shape.b]
    if None in forms or own is None or op.pad_values != (None, None) or len(shape.summed) != 1:
        fault = "needs linear reads without pads, and one summed dimension"
    elif not in_vectors(row.element_type) or not (same or widened):
        fault = f"of {column.element_type} by {row.element_type}, which tasks do not pack"
    elif not is_in_runs(shape, flatten(own, shape_of(op.inputs[shape.b]))):
        fault = f"stands on read {shape.b}, which is not in runs of neighbours"
    else:
        return
    raise VerifyException(f"{op.name}: {TASK_PACKED} {fault}")


def is_in_runs(shape: Contraction, offset: Linear) -> bool:
    """Whether elements at such an offset are neighbours along the columns or along the sum."""
    return 1 in (offset.coefficient(shape.inner_column), offset.coefficient(shape.summed[0]))


def _is_packed(shape: Contraction, panel: int) -> bool:
    """Whether the column operand is the packed one that `pack-contractions` makes."""
    op = shape.op
    extents, wanted = packed_layout(shape, panel)
    found = op.read_maps[shape.b].results
    return shape_of(op.inputs[shape.b]) == extents and all(
        is_same(a, b, op.extents) for a, b in zip(found, wanted, strict=True)
    )


def _is_read_in_runs(shape: Contraction, panel: int) -> bool:
    """Whether neighbouring columns are neighbours in memory, and the last panel ends within it."""
    op = shape.op
    forms = forms_of(op.read_maps[shape.b], op.extents)
    if forms is None or 0 in op.extents:
        return False
    memory = shape_of(op.inputs[shape.b])
    offset = flatten(forms, memory)
    room = -op.extents[shape.inner_column] % panel
    return offset.coefficient(shape.inner_column) == 1 and offset.range(op.extents)[
        1
    ] + room < prod(memory)


def _is_power(number: int) -> bool:
    return number > 0 and number.bit_count() == 1


def in_vectors(element: Attribute) -> bool:
    """Whether vectors multiply and add such elements: f32, f64 and signed integers."""
    if isinstance(element, IntegerType):
        return element.width.data >= 8 and element.signedness.data == Signedness.SIGNLESS
    return isinstance(element, Float32Type | Float64Type)


def packed_layout(shape: Contraction, panel: int) -> tuple[tuple[int, ...], tuple[AffineExpr, ...]]:
    """Shape of a packed operand, and the contraction's indices into it.

    Its axes: batch, outer columns, panel number, summed dims, column within the panel.
    """
    extents, inner = shape.op.extents, shape.inner_column
    outer = (*shape.batch, *shape.columns[:-1])
    column = AffineExpr.dimension(inner)
    exprs = [AffineExpr.dimension(d) for d in outer] + [column // panel]
    exprs += [AffineExpr.dimension(d) for d in shape.summed] + [column % panel]
    sizes = [extents[d] for d in outer] + [-(-extents[inner] // panel)]
    sizes += [extents[d] for d in shape.summed] + [panel]
    return tuple(sizes), tuple(exprs)
