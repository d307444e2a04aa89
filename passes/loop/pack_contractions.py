"""`pack-contractions`: the column operand of a matrix product is laid out in panels.

A panel holds, for one group of `panel` neighbouring columns, all summed positions in order, so that
the inner loop of the product reads it as one stream of whole vectors. The packing is a copy nest
of its own: of a constant operand it moves into the setup function, of others it runs each call,
in parallel, with whatever producer `fuse-elementwise` finds for it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import (
    FloatAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    TensorType,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass

from lamina.codegen.target import Target
from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.access import (
    Forms,
    flatten,
    forms_of,
    map_of,
    row_major_strides,
    shape_of,
    substitute,
)
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.nest_attributes import in_vectors, packed_layout
from lamina.dialects.loop.packing import Packing, set_packing
from lamina.passes.cost.product_limits import (
    FEW_DOT_ROWS,
    FEW_ROWS,
    HALF_ROWS,
    LEAST_DOT_ROWS,
    LONG_DOT,
    MIN_ROWS,
    MIN_TURNED_BATCH_ROWS,
    MIN_TURNED_ROWS,
    MIN_WINDOW_ROWS,
    PANEL_VECTORS,
    ROW_PADDING_BYTES,
    WAY_BYTES,
)
from lamina.passes.cost.tile_cost import panel_vectors
from lamina.passes.defined_functions import defined_functions
from lamina.passes.loop.collapse_dims import join_dims
from lamina.passes.loop.in_place_panels import in_place_panel
from lamina.passes.loop.loop_cse import merge_equal
from lamina.passes.loop.loop_rewriting import change, erase_if_dead, rebuild
from lamina.passes.loop.own_axis import with_own_axis
from lamina.passes.loop.packing import copy_nest, copy_of_halves, is_constant, widen_read
from lamina.passes.loop.pad_windows import are_windows, padded_copy, reads_again, reads_often
from lamina.passes.loop.pair_packing import pack_pairs
from lamina.passes.loop.turn_constants import turn_constants
from lamina.passes.loop.widened_operands import dots_in_place
from lamina.passes.regions.region_functions import invariant_values


@dataclass(frozen=True)
class PackContractionsPass(ModulePass):
    """Give contractions a panel-packed column operand."""

    name = "pack-contractions"

    target: str = "host"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = Target.parse(self.target)
        invariants = invariant_values(op)
        for function in defined_functions(op):
            nests = [op for op in block_ops(function.body.block) if isinstance(op, GenericOp)]
            packed = [_pack(nest, target, invariants) for nest in nests]
            if packed.count(True) > 1:  # what several products read is packed once
                merge_equal(function)


def _pack(op: GenericOp, target: Target, invariants: Collection[SSAValue]) -> bool:
    """Whether the nest was a product, to be packed in vectors."""
    shape = Contraction.of(op)
    if (shape is None or not shape.rows) and turn_constants(op, invariants):
        return False
    if shape is None:
        return False
    if shape.panel is not None:
        return False
    if target.multiplies_tiles and pack_pairs(shape, invariants, least_rows=1):
        return False
    has_dots = dots_in_place(shape, invariants, target)
    if has_dots and shape.size(shape.rows) <= FEW_DOT_ROWS:
        return False
    if target.dots_pairs and pack_pairs(shape, invariants, least_rows=LEAST_DOT_ROWS):
        return False
    if has_dots:
        return False
    shape = _joined(shape)
    op = shape.op
    operand = op.inputs[shape.b]
    assert isinstance(operand.type, TensorType)
    element = operand.type.element_type
    if not in_vectors(element):
        return False
    stays = is_constant(operand, invariants)
    lanes = target.lanes(element.bitwidth)  # pyright: ignore[reportAttributeAccessIssue]
    in_place = None if stays else in_place_panel(shape, lanes, target)
    if not stays and in_place is None and shape.size(shape.rows) < _least_rows(shape):
        return False
    if forms_of(op.read_maps[shape.b], op.extents) is None or 0 in op.extents:
        return False
    columns = op.extents[shape.inner_column]
    panel = in_place or panel_width(columns, lanes)
    if stays and panel == lanes * PANEL_VECTORS:
        panel = lanes * panel_vectors(columns, lanes, target)
    step = 0 if stays or in_place else _line_step(shape)
    if step:
        if shape.size(shape.rows) < MIN_WINDOW_ROWS:
            return False
        op = _with_image(shape, -op.extents[shape.inner_column] % panel * step)
        shape = Contraction.of(op)
        assert shape is not None
    block = op.parent_block()
    assert block is not None
    inputs, maps, pads = list(op.inputs), list(op.read_maps), list(op.pad_values)
    if step != 1 and in_place is None:
        packed, maps[shape.b] = _packing_nest(shape, panel)
        if stays and shape.size(shape.rows) <= HALF_ROWS:
            packed = _kept_in_halves(packed)
        block.insert_op_before(packed, op)
        inputs[shape.b], pads[shape.b] = packed.res[0], None
    pad, forms = pads[shape.a], forms_of(maps[shape.a], op.extents)
    if pad is not None and forms and are_windows(op, forms) and reads_again(op, forms):
        # Of elements that several windows share, one copy; the border stands around them.
        image, maps[shape.a] = padded_copy(op, shape.a, forms, pad)
        block.insert_op_before(image, op)
        inputs[shape.a], pads[shape.a] = image.res[0], None
    elif pad is not None or _strays(shape, invariants):
        gap = _row_gap(shape) if is_constant(inputs[shape.a], invariants) else 0
        plain, maps[shape.a] = _plain_copy(op, shape.a, gap)
        block.insert_op_before(plain, op)
        inputs[shape.a], pads[shape.a] = plain.res[0], None
    new = change(op, reads=list(zip(inputs, maps, pads, strict=True)))
    widen_read(new, shape.b, inputs[shape.b])
    set_packing(new, Packing(panel, pack_at=None if stays else "call"))
    if isinstance(operand.owner, GenericOp):
        erase_if_dead(operand.owner)
    return True


def _kept_in_halves(packed: GenericOp) -> GenericOp:
    """What packs half floats rather than what they were widened to, if it does; not in a block."""
    halves = copy_of_halves(packed)
    if halves is None:
        return packed
    packed.erase()
    return halves


def _joined(shape: Contraction) -> Contraction:
    """The product with rows joined that lie behind one another, and columns too.

    So tiles are filled where their rows alone do not: those of a window, as of a transposed
    convolution. Only where what reads the result reads parts of it: other readers line up with its
    dimensions as they are.
    """
    op = shape.op
    if not shape.rows or op.extents[shape.rows[-1]] >= FEW_ROWS or 0 in op.extents:
        return shape
    made = prod(shape_of(op.res[0]))
    for use in op.res[0].uses:
        reader = use.operation
        if not isinstance(reader, GenericOp) or use.index >= len(reader.inputs):
            return shape
        forms = forms_of(reader.read_maps[use.index], reader.extents)
        if forms is None or 0 in reader.extents:
            return shape
        if prod(high - low + 1 for low, high in (f.range(reader.extents) for f in forms)) >= made:
            return shape
    while (joined := _join_once(shape)) is not None:
        shape = joined
    return shape


def _join_once(shape: Contraction) -> Contraction | None:
    for group in (shape.rows, shape.columns):
        for outer, inner in pairwise(group):
            if (op := join_dims(shape.op, outer, inner)) is not None:
                joined = Contraction.of(op)
                assert joined is not None
                return joined
    return None


def _least_rows(shape: Contraction) -> int:
    """Rows from which on packing the column operand in each call pays."""
    forms = forms_of(shape.op.read_maps[shape.b], shape.op.extents)
    if forms is None:
        return MIN_ROWS
    offset = flatten(forms, shape_of(shape.op.inputs[shape.b]))
    along = [d for d in shape.summed if offset.coefficient(d) == 1]
    longest = max((shape.op.extents[d] for d in along), default=0)
    if longest < LONG_DOT:
        return MIN_ROWS
    return MIN_TURNED_BATCH_ROWS if shape.batch else MIN_TURNED_ROWS


def _strays(shape: Contraction, invariants: Collection[SSAValue]) -> bool:
    """Whether the row operand needs a copy: walked in jumps, though one copy would do for good."""
    op, number = shape.op, shape.a
    forms = forms_of(op.read_maps[number], op.extents)
    if forms is None:
        return True
    along = next((d for d in reversed(shape.summed) if op.extents[d] > 1), None)
    if along is None or not is_constant(op.inputs[number], invariants):
        return False
    return flatten(forms, shape_of(op.inputs[number])).coefficient(along) != 1


def _line_step(shape: Contraction) -> int:
    """How far windows that overlap slide along the lines of an image; 0 if there are none.

    In steps of one, lines are panels as they stand: a panel row is a run of a line, wherever the
    window stands. Packed, each element would be stored once for each place of the window.
    """
    op, column = shape.op, shape.inner_column
    forms = forms_of(op.read_maps[shape.b], op.extents)
    if forms is None or not are_windows(op, forms) or not reads_often(op, forms):
        return 0
    steps = [form.coefficient(column) for form in forms]
    return 0 if any(steps[:-1]) else steps[-1]


def _with_image(shape: Contraction, room: int) -> GenericOp:
    """The product with a copy of its image to read: border, and room for a whole last panel.

    An image that has both is read as it is.
    """
    op, number = shape.op, shape.b
    operand, forms = op.inputs[number], forms_of(op.read_maps[number], op.extents)
    block = op.parent_block()
    assert isinstance(operand.type, TensorType) and forms is not None and block is not None
    inputs, maps, pads = list(op.inputs), list(op.read_maps), list(op.pad_values)
    line = operand.type.get_shape()[-1]
    if pads[number] is None and forms[-1].range(op.extents)[1] + room < line:
        return op
    pad = pads[number] or _zero(operand.type.element_type)
    copy, maps[number] = padded_copy(op, number, forms, pad, room)
    block.insert_op_before(copy, op)
    inputs[number], pads[number] = copy.res[0], None
    return rebuild(op, reads=list(zip(inputs, maps, pads, strict=True)))


def _zero(element: Attribute) -> Attribute:
    if isinstance(element, IntegerType):
        return IntegerAttr(0, element)
    return FloatAttr(0.0, element)  # pyright: ignore


def panel_width(columns: int, lanes: int) -> int:
    """Columns per panel: whole vectors, and no wider than the next power of two of the columns."""
    width = lanes * PANEL_VECTORS
    while width > 1 and width // 2 >= columns:
        width //= 2
    return width


def _packing_nest(shape: Contraction, panel: int) -> tuple[GenericOp, AffineMap]:
    """The copy nest, and the contraction's map into what it makes.

    The layout is that of `packed_layout`.
    """
    op, inner = shape.op, shape.inner_column
    outer = (*shape.batch, *shape.columns[:-1])
    extents, indices = packed_layout(shape, panel)
    domain = list(extents)
    position: list[Linear] = [Linear(())] * len(op.extents)
    for place, dim in enumerate(outer):
        position[dim] = Linear.dim(place)
    for place, dim in enumerate(shape.summed, start=len(outer) + 1):
        position[dim] = Linear.dim(place)
    position[inner] = Linear.of({len(outer): panel, len(domain) - 1: 1})

    operand, forms = _with_column_axis(shape, panel)
    assert isinstance(operand.type, TensorType)
    reads = [substitute(f, position) for f in forms]
    read = map_of(reads, len(domain))
    pad = op.pad_values[shape.b]
    ends = [form.range(domain)[1] for form in reads]
    if pad is None and any(e >= x for e, x in zip(ends, operand.type.get_shape(), strict=True)):
        pad = _zero(operand.type.element_type)
    nest = copy_nest(op, "pack", operand, read, domain, pad)
    return nest, AffineMap(len(op.extents), 0, indices)


def _with_column_axis(shape: Contraction, panel: int) -> tuple[SSAValue, Forms]:
    """The packed operand and its indices, in which columns that fill no whole panels are an axis
    of their own.

    Where they are a digit of an index, as positions of batches that lie behind one another, the
    last panel of one batch would read the next one, which calls need not have.
    """
    op, inner = shape.op, shape.inner_column
    operand, forms = op.inputs[shape.b], forms_of(op.read_maps[shape.b], op.extents)
    assert forms is not None
    if op.extents[inner] % panel == 0 or op.pad_values[shape.b] is not None:
        return operand, forms
    return with_own_axis(op, operand, forms, inner, shape.batch)


def _row_gap(shape: Contraction) -> int:
    """Elements left free behind each row of a copy whose rows would share sets of a cache."""
    op, number = shape.op, shape.a
    *outer, last = sorted(op.read_maps[number].used_dims())
    forms, operand = forms_of(op.read_maps[number], op.extents), op.inputs[number]
    if forms is None or last not in shape.summed:
        return 0
    axis = next((a for a, form in enumerate(forms) if form == Linear.dim(last)), None)
    if axis is None or shape_of(operand)[axis] != op.extents[last]:
        return 0  # what is read behind the last element would be none of the padding
    assert isinstance(operand.type, TensorType)
    size = operand.type.element_type.bitwidth // 8  # pyright: ignore[reportAttributeAccessIssue]
    strides = row_major_strides([op.extents[d] for d in (*outer, last)])
    steps = [s * size for d, s in zip(outer, strides, strict=False) if d in shape.rows]
    return 0 if all(step % WAY_BYTES for step in steps) else ROW_PADDING_BYTES // size


def _plain_copy(op: GenericOp, number: int, gap: int) -> tuple[GenericOp, AffineMap]:
    """A copy nest for a padded read: what it reads, with the domain's dims as axes, and its map.

    Behind each row of the last axis are `gap` elements of padding.
    """
    used = sorted(op.read_maps[number].used_dims())
    places = {dim: AffineExpr.dimension(place) for place, dim in enumerate(used)}
    replacements = [places.get(dim, AffineExpr.constant(0)) for dim in range(len(op.extents))]
    read = op.read_maps[number].replace_dims_and_symbols(replacements, [], len(used), 0)
    domain = [op.extents[dim] for dim in used]
    operand, pad = op.inputs[number], op.pad_values[number]
    assert isinstance(operand.type, TensorType)
    if gap:
        domain[-1] += gap
        pad = pad or _zero(operand.type.element_type)
    nest = copy_nest(op, "pad", operand, read, domain, pad)
    axes = tuple(AffineExpr.dimension(dim) for dim in used)
    return nest, AffineMap(len(op.extents), 0, axes)
