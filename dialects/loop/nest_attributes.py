"""What passes note on a nest for those that come after them, and what must be true of it.

A note is a decision: a wrong one is an error, never another result. `loop.generic` verifies what a
nest alone can show; what the nests of a kernel must agree on is verified where it is used, by
`schedule`.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    Float32Type,
    Float64Type,
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

from lamina.dialects.loop.access import flatten, forms_of, shape_of
from lamina.dialects.loop.bounds import (
    BOUNDS,
    CUT,
    ENDS,
    FIRST_COUNT,
    STREAM,
    BoundsAttr,
    StreamAttr,
    is_end,
)
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.generic import GenericOp
from lamina.dialects.loop.input_layouts import INPUT_LAYOUTS, verify_input_layouts
from lamina.dialects.loop.kernel_nests import NEST, rows_of, verify_nest_note
from lamina.dialects.loop.labels import LABEL, verify_label
from lamina.dialects.loop.least_extents import LEAST_EXTENTS, verify_least_extents
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.packing import PACKING, PackingAttr
from lamina.dialects.loop.pairs import is_same, verify_pairs
from lamina.dialects.loop.rounding import is_half
from lamina.dialects.loop.schedules import SCHEDULE, ScheduleAttr
from lamina.dialects.loop.winograd import WINOGRAD, verify_winograd

LAYOUT = "lamina.layout"
"""Attribute of a nest on tensors: the axes of its results in the order to store them in."""
LAYOUT_COPY = "lamina.layout_copy"
"""Unit attribute of a product with a layout: what needs its axes as they were reads a copy. Without
it the product may write there itself, whose panels are of its other operand then."""


def verify_notes(op: GenericOp) -> None:
    """Raises VerifyException for a note that is not true of the nest."""
    if LABEL in op.attributes:
        verify_label(op)
    if NEST in op.attributes:
        verify_nest_note(op, op.attributes[NEST])
    if LAYOUT in op.attributes:
        _verify_layout(op, op.attributes[LAYOUT])
    if LAYOUT_COPY in op.attributes:
        _verify_layout_copy(op)
    if INPUT_LAYOUTS in op.attributes:
        verify_input_layouts(op, op.attributes[INPUT_LAYOUTS])
    if WINOGRAD in op.attributes:
        verify_winograd(op, op.attributes[WINOGRAD])
    if SCHEDULE in op.attributes:
        _verify_schedule(op, op.attributes[SCHEDULE])
    if PACKING in op.attributes:
        _verify_packing(op, op.attributes[PACKING])
    if BOUNDS in op.attributes:
        _verify_bounds(op, op.attributes[BOUNDS], BOUNDS)
    if ENDS in op.attributes:
        _verify_ends(op, op.attributes[ENDS])
    if CUT in op.attributes:
        _verify_cut(op, op.attributes[CUT])
    if LEAST_EXTENTS in op.attributes:
        verify_least_extents(op, op.attributes[LEAST_EXTENTS])
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


def _verify_layout_copy(op: GenericOp) -> None:
    if not isinstance(op.attributes[LAYOUT_COPY], UnitAttr):
        raise VerifyException(f"{op.name}: {LAYOUT_COPY} has no value")
    if LAYOUT not in op.attributes:
        raise VerifyException(f"{op.name}: {LAYOUT_COPY} without {LAYOUT}: nothing is copied")


def _verify_stream(op: GenericOp, stream: Attribute) -> None:
    if not isinstance(stream, StreamAttr):
        raise VerifyException(f"{op.name}: {STREAM} is a #loop.stream, not {stream}")
    dim = stream.dim.value.data
    if dim >= len(op.extents) or dim in rows_of(op):
        raise VerifyException(f"{op.name}: {STREAM} is of d{dim}, no dimension beside its rows")
    if stream.block.value.data < 1:
        raise VerifyException(f"{op.name}: {STREAM} has blocks of no positions")


def _verify_bounds(op: GenericOp, bounds: Attribute, name: str) -> None:
    if not isinstance(bounds, BoundsAttr):
        raise VerifyException(f"{op.name}: {name} is a #loop.bounds, not {bounds}")
    dim, rows = bounds.dim.value.data, rows_of(op)
    if dim >= len(op.extents) or dim in rows:
        raise VerifyException(f"{op.name}: {name} are of d{dim}, no dimension beside its rows")
    for bound in bounds.bounds(op.extents):
        others = [d for d, _ in bound.form.terms if d not in rows and d < FIRST_COUNT]
        if others:
            raise VerifyException(f"{op.name}: {name} vary with d{others[0]}, not in its rows")


def _verify_ends(op: GenericOp, ends: Attribute) -> None:
    if not isinstance(ends, ArrayAttr):
        raise VerifyException(f"{op.name}: {ENDS} is an array of #loop.bounds, not {ends}")
    seen: set[int] = set()
    for entry in ends:
        _verify_bounds(op, entry, ENDS)
        assert isinstance(entry, BoundsAttr)
        dim, found = entry.dim.value.data, entry.bounds(op.extents)
        if dim in seen or not found:
            raise VerifyException(f"{op.name}: {ENDS}: d{dim} has one entry, with bounds")
        seen.add(dim)
        if not all(is_end(bound) for bound in found):
            raise VerifyException(
                f"{op.name}: {ENDS}: of d{dim} are upper bounds, each of one number of the call, "
                f"less positions of rows: not {entry}"
            )


def _verify_cut(op: GenericOp, cut: Attribute) -> None:
    _verify_bounds(op, cut, CUT)
    assert isinstance(cut, BoundsAttr)
    shape, dim, found = Contraction.of(op), cut.dim.value.data, cut.bounds(op.extents)
    if shape is None or shape.pairs is not None:
        raise VerifyException(f"{op.name}: {CUT} stands on no product, or on one in pairs")
    if [d for d in shape.summed if op.extents[d] != 1] != [dim]:
        raise VerifyException(f"{op.name}: {CUT} is of the dimension that is summed, not of d{dim}")
    numbers = [FIRST_COUNT + number for number in cut.arguments]
    if [bound.form for bound in found] != list(map(Linear.dim, numbers)) or not found[0].is_upper:
        raise VerifyException(
            f"{op.name}: {CUT} is one number of the call, an upper bound: not {cut}"
        )


def _verify_schedule(op: GenericOp, schedule: Attribute) -> None:
    """What a nest alone shows of its schedule: each dimension, read and result that it names."""
    if not isinstance(schedule, ScheduleAttr):
        raise VerifyException(f"{op.name}: {SCHEDULE} is a #{ScheduleAttr.name}, not {schedule}")
    data, rank = schedule.data, len(op.extents)
    for name, dims in data.dims().items():
        for dim in dims:
            if dim >= rank:
                legal = f"of a domain of {rank}, d0 to d{rank - 1}" if rank else "of a domain of 0"
                raise VerifyException(f"{op.name}: {SCHEDULE}: {name} names d{dim} {legal}")
    counts = {
        "cache_read": (data.cache_read, len(op.inputs), "reads"),
        "prefetch": (data.prefetch, len(op.inputs), "reads"),
        "nontemporal": (data.nontemporal, len(op.write_maps), "results"),
    }
    for name, (numbers, count, what) in counts.items():
        if any(not 0 <= number < count for number in numbers or ()):
            legal = f"of {count} {what}, 0 to {count - 1}" if count else f"of no {what}"
            raise VerifyException(f"{op.name}: {SCHEDULE}: {name} = {list(numbers or ())} {legal}")


def _verify_packing(op: GenericOp, packing: Attribute) -> None:
    if not isinstance(packing, PackingAttr):
        raise VerifyException(
            f"{op.name}: {PACKING} is a #{PackingAttr.name}, such as "
            f"#{PackingAttr.name}<panel = 16>: not {packing}"
        )
    if packing.data.pairs is not None:
        verify_pairs(op, packing.data.pairs)
    elif packing.data.panel is not None:
        _verify_panel(op, packing.data.panel)


def _verify_panel(op: GenericOp, width: int) -> None:
    shape = Contraction.of(op)
    if shape is None:
        raise VerifyException(f"{op.name}: {PACKING} stands on what is no matrix product")
    kind = op.inputs[shape.b].type
    assert isinstance(kind, TensorType | MemRefType)
    if shape.task_packed:
        _verify_task_packed(shape)
        return
    row = op.inputs[shape.a].type
    assert isinstance(row, TensorType | MemRefType)
    half = is_half(kind.element_type) and isinstance(row.element_type, Float32Type)
    if not (half or in_vectors(kind.element_type)):
        raise VerifyException(f"{op.name}: {PACKING} of {kind.element_type}, which is not packed")
    if op.pad_values != (None, None) or forms_of(op.read_maps[shape.a], op.extents) is None:
        raise VerifyException(f"{op.name}: {PACKING} needs reads without pads, one of them linear")
    if not _is_packed(shape, width) and not _is_read_in_runs(shape, width):
        extents, wanted = packed_layout(shape, width)
        raise VerifyException(
            f"{op.name}: {PACKING}: panel = {width}, and read {shape.b} is no operand in such "
            f"panels: that would be [{', '.join(map(str, wanted))}] of shape {list(extents)}, or "
            "whole runs of neighbouring elements"
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
    raise VerifyException(f"{op.name}: {PACKING}: pack_at = task {fault}")


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
