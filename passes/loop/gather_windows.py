"""Windows of few channels are gathered, all elements of each behind one another, so that products
in pairs find neighbours along the sum; used by `pack-contractions` (im2col).

A first layer has three channels: no tile of terms is filled by them. The image is written with its
border and with channels innermost before, so that a line of a window is a run of memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, UnitAttr, bf16, f32
from xdsl.ir import Block, Region, SSAValue

from lamina.dialects.loop import GenericOp, YieldOp
from lamina.dialects.loop.access import (
    forms_of,
    map_of,
    row_major_strides,
    shape_of,
    substitute,
)
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.linear import Linear
from lamina.dialects.records import record
from lamina.passes.fusion.fusion_override import MATERIALIZED
from lamina.passes.loop.loop_rewriting import rebuild
from lamina.passes.loop.packing import copy_nest
from lamina.passes.loop.widened_operands import Operand


@record
class Windows:
    """How the rows of a product slide: `slid` are the axes of an image that a row and a summed
    dimension walk, with these two, outer ones first; `channels` the axis of the other summed one,
    if there is one.
    """

    slid: tuple[tuple[int, int, int], ...]
    channels: int | None
    summed: tuple[int, ...]
    """The summed dimensions in the order of a gathered row."""

    @staticmethod
    def of(shape: Contraction, rows: Operand) -> Windows | None:
        """None where lines of windows are no runs of pixels, or products have batches."""
        slid: list[tuple[int, int, int]] = []
        channels: list[tuple[int, int]] = []
        for axis, form in enumerate(rows.forms):
            dims = [d for d, _ in form.terms]
            summed = [d for d in dims if d in shape.summed]
            if len(dims) == 2 and len(summed) == 1 and min(c for _, c in form.terms) > 0:
                slid.append((axis, dims[1 - dims.index(summed[0])], summed[0]))
            elif len(dims) > 1 or (dims and form != Linear.dim(dims[0])):
                return None
            elif summed:
                channels.append((axis, summed[0]))
        order = (*(d for _, _, d in slid), *(d for _, d in channels))
        if not slid or len(channels) > 1 or sorted(order) != sorted(shape.summed):
            return None
        axis, _, along = slid[-1]
        if shape.batch or rows.forms[axis].coefficient(along) != 1:
            return None
        return Windows(tuple(slid), channels[0][0] if channels else None, order)

    def pixel(self, rows: Operand) -> int:
        """Channels of a pixel."""
        return 1 if self.channels is None else shape_of(rows.value)[self.channels]


def gather_windows(
    shape: Contraction, windows: Windows, operands: list[Operand]
) -> tuple[Contraction, list[Operand]]:
    """The product over one summed dimension, of gathered rows by weights in the same order.

    The copies of both stand in front of it; the operands are those of the new product.
    """
    op = shape.op
    kept = [d for d in range(len(op.extents)) if d not in shape.summed]
    place = {d: Linear.dim(n) for n, d in enumerate(kept)}
    own = {n: [d for d in kept if d in dims] for n, dims in _groups(shape).items()}
    made = {
        shape.a: _gathered(shape, windows, operands[shape.a], own[shape.a]),
        shape.b: _in_order(shape, windows, operands[shape.b], own[shape.b]),
    }
    term = Linear.dim(len(kept))
    found = [Operand(made[n], (*(place[d] for d in own[n]), term)) for n in (0, 1)]
    written = forms_of(op.write_maps[0], op.extents)
    assert written is not None
    position = [place.get(d, term) for d in range(len(op.extents))]
    op.detach_region(op.body)
    op.add_region(Region(widened_product()))
    new = rebuild(
        op,
        domain=[*(op.extents[d] for d in kept), prod(op.extents[d] for d in shape.summed)],
        inputs=[operand.value for operand in found],
        input_maps=[map_of(operand.forms, len(kept) + 1) for operand in found],
        output_maps=[map_of([substitute(f, position) for f in written], len(kept) + 1)],
        pads=[None, None],
    )
    # Not yet packed in pairs, it is none that `Contraction.of` knows.
    rows, columns = ([kept.index(d) for d in dims] for dims in (shape.rows, shape.columns))
    return Contraction(new, shape.a, shape.b, (), tuple(rows), tuple(columns), (len(kept),)), found


def widened_product() -> Block:
    """Widens two bf16, multiplies them."""
    body = Block(arg_types=[bf16, bf16])
    wide = [arith.ExtFOp(argument, f32) for argument in body.args]
    product = arith.MulfOp(wide[0], wide[1])
    body.add_ops([*wide, product, YieldOp([product.result])])
    return body


def _groups(shape: Contraction) -> dict[int, tuple[int, ...]]:
    """The dimensions that the reads do not share, by number."""
    return {shape.a: shape.rows, shape.b: shape.columns}


def _gathered(shape: Contraction, windows: Windows, rows: Operand, kept: Sequence[int]) -> SSAValue:
    """A row of all elements of its window for each place that `kept` dimensions walk."""
    extents, channels = shape.op.extents, windows.pixel(rows)
    image = _bordered(shape, windows, rows)
    window = windows.summed[: len(windows.slid)]
    lines = [*(extents[d] for d in window[:-1]), extents[window[-1]] * channels]
    place = {d: n for n, d in enumerate((*kept, *window))}
    read = [Linear.dim(place[d]) for d in _alone(rows, windows)]
    for axis, row, along in windows.slid:
        step = rows.forms[axis].coefficient(row)
        between = rows.forms[axis].coefficient(along)
        if axis == windows.slid[-1][0]:
            step, between = step * channels, 1
        read.append(Linear.of({place[row]: step, place[along]: between}))
    steps = enumerate(row_major_strides(lines), start=len(kept))
    made = [*map(Linear.dim, range(len(kept))), Linear.of(dict(steps))]
    size = [*(extents[d] for d in kept), prod(lines)]
    domain = [*size[:-1], *lines]
    return _copy(shape.op, "gather", image, (read, made), (domain, size))


def _bordered(shape: Contraction, windows: Windows, rows: Operand) -> SSAValue:
    """The image with zeros around, channels innermost, and a line in one dimension."""
    extents, channels = shape.op.extents, windows.pixel(rows)
    alone = _alone(rows, windows)
    ends = [rows.forms[axis].range(extents) for axis, _, _ in windows.slid]
    sizes = [high - low + 1 for low, high in ends]
    domain = [*(extents[d] for d in alone), *sizes, channels]
    read = list(rows.forms)
    for number, dim in enumerate(alone):
        read[rows.forms.index(Linear.dim(dim))] = Linear.dim(number)
    for number, (axis, _, _) in enumerate(windows.slid, start=len(alone)):
        low, _ = ends[number - len(alone)]
        read[axis] = Linear.dim(number).add(Linear((), low))
    last = len(domain) - 1
    if windows.channels is not None:
        read[windows.channels] = Linear.dim(last)
    made = [*map(Linear.dim, range(last - 1)), Linear.of({last - 1: channels, last: 1})]
    size = [*domain[:-2], domain[-2] * channels]
    return _copy(shape.op, "pad", rows.value, (read, made), (domain, size), FloatAttr(0.0, bf16))


def _in_order(
    shape: Contraction, windows: Windows, columns: Operand, kept: Sequence[int]
) -> SSAValue:
    """Weights whose summed elements follow one another as those of a gathered row."""
    extents, dims = shape.op.extents, (*kept, *windows.summed)
    position = [Linear(())] * len(extents)
    for number, dim in enumerate(dims):
        position[dim] = Linear.dim(number)
    read = [substitute(form, position) for form in columns.forms]
    domain = [extents[d] for d in dims]
    steps = enumerate(row_major_strides(domain[len(kept) :]), start=len(kept))
    made = [*map(Linear.dim, range(len(kept))), Linear.of(dict(steps))]
    size = [*domain[: len(kept)], prod(domain[len(kept) :])]
    return _copy(shape.op, "turn", columns.value, (read, made), (domain, size))


def _alone(rows: Operand, windows: Windows) -> list[int]:
    """Row dimensions that walk an axis by themselves, such as the images of a batch."""
    slid = {axis for axis, _, _ in windows.slid}
    others = [f for n, f in enumerate(rows.forms) if n not in slid and n != windows.channels]
    return [form.terms[0][0] for form in others if form.terms]


def _copy(
    op: GenericOp,
    name: str,
    value: SSAValue,
    indices: tuple[Sequence[Linear], Sequence[Linear]],
    extents: tuple[Sequence[int], Sequence[int]],
    pad: FloatAttr | None = None,
) -> SSAValue:
    """A copy in front of `op`: of a value from where the first indices say to the second ones, over
    the first extents, of a tensor of the second ones."""
    (read, made), (domain, size) = indices, extents
    maps = [map_of(forms, len(domain)) for forms in (read, made)]
    nest = copy_nest(op, name, value, maps[0], domain, pad, written=maps[1], shape=size)
    nest.attributes[MATERIALIZED] = UnitAttr()
    block = op.parent_block()
    assert block is not None
    block.insert_op_before(nest, op)
    return nest.res[0]
