"""`pack-contractions`: the column operand of a matrix product is laid out in panels.

A panel holds, for one group of `panel` neighbouring columns, all summed positions in order, so that
the inner loop of the product reads it as one stream of whole vectors. The packing is a copy nest
of its own: of a constant operand it moves into the setup function, of others it runs each call,
in parallel, with whatever producer `fuse-elementwise` finds for it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    Signedness,
    StringAttr,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass

from lamina.codegen.target import Target
from lamina.dialects.loop import GenericOp, ReshapeOp, YieldOp
from lamina.dialects.loop.access import forms_of, map_of, substitute
from lamina.dialects.loop.contraction import PANEL, REPACKED, Contraction
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.rounding import is_widening
from lamina.passes.loop_rewriting import rebuild
from lamina.passes.region_functions import invariant_arguments

MIN_ROWS = 4
"""Below this many rows, packing an operand anew in each call costs more than it saves."""

PANEL_VECTORS = 2
"""Vectors per panel row: with two, a register tile needs few loads per multiply-add."""


@dataclass(frozen=True)
class PackContractionsPass(ModulePass):
    """Give contractions a panel-packed column operand."""

    name = "pack-contractions"

    target: str = "host"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = Target.parse(self.target)
        invariants = invariant_arguments(op)
        for function in op.body.block.ops:
            if isinstance(function, func.FuncOp) and function.body.blocks:
                for generic in list(function.body.block.ops):
                    if isinstance(generic, GenericOp):
                        _pack(generic, target, invariants)


def _pack(op: GenericOp, target: Target, invariants: Collection[SSAValue]) -> None:
    shape = Contraction.of(op)
    if shape is None or shape.panel is not None:
        return
    operand = op.inputs[shape.b]
    assert isinstance(operand.type, TensorType)
    element = operand.type.element_type
    if not _in_vectors(element):
        return
    stays = is_constant(operand, invariants)
    if shape.size(shape.rows) < MIN_ROWS and not stays:
        return
    if forms_of(op.read_maps[shape.b], op.extents) is None or 0 in op.extents:
        return
    lanes = target.lanes(element.bitwidth)  # pyright: ignore[reportAttributeAccessIssue]
    panel = panel_width(op.extents[shape.inner_column], lanes)
    packed, packed_map = _packing_nest(shape, panel)
    block = op.parent_block()
    assert block is not None
    block.insert_op_before(packed, op)
    inputs, maps, pads = list(op.inputs), list(op.read_maps), list(op.pad_values)
    inputs[shape.b], maps[shape.b], pads[shape.b] = packed.res[0], packed_map, None
    if pads[shape.a] is not None or forms_of(maps[shape.a], op.extents) is None:
        plain, maps[shape.a] = _plain_copy(op, shape.a)
        block.insert_op_before(plain, op)
        inputs[shape.a], pads[shape.a] = plain.res[0], None
    new = rebuild(op, inputs=inputs, input_maps=maps, pads=pads)
    new.attributes[PANEL] = IntegerAttr(panel, i64)
    if not stays:
        new.attributes[REPACKED] = UnitAttr()


def _in_vectors(element: Attribute) -> bool:
    """Whether vectors multiply and add such elements: f32, f64 and signed integers."""
    if isinstance(element, IntegerType):
        return element.width.data >= 8 and element.signedness.data == Signedness.SIGNLESS
    return isinstance(element, Float32Type | Float64Type)


def panel_width(columns: int, lanes: int) -> int:
    """Columns per panel: whole vectors, and no wider than the next power of two of the columns."""
    width = lanes * PANEL_VECTORS
    while width > 1 and width // 2 >= columns:
        width //= 2
    return width


def is_constant(value: SSAValue, invariants: Collection[SSAValue]) -> bool:
    """Whether a value stays the same from call to call or round to round (see `invariants`)."""
    while isinstance(value.owner, ReshapeOp) or is_widening(value.owner):
        value = value.owner.operands[0]
    return value in invariants


def _packing_nest(shape: Contraction, panel: int) -> tuple[GenericOp, AffineMap]:
    """The copy nest, and the contraction's map into what it makes.

    Layout: batch, outer columns, panel number, summed dims, column within the panel.
    """
    op, inner = shape.op, shape.inner_column
    panels = -(-op.extents[inner] // panel)
    outer = (*shape.batch, *shape.columns[:-1])
    domain = [op.extents[d] for d in outer] + [panels]
    domain += [op.extents[d] for d in shape.summed] + [panel]
    position: list[Linear] = [Linear(())] * len(op.extents)
    for place, dim in enumerate(outer):
        position[dim] = Linear.dim(place)
    for place, dim in enumerate(shape.summed, start=len(outer) + 1):
        position[dim] = Linear.dim(place)
    position[inner] = Linear.of({len(outer): panel, len(domain) - 1: 1})

    operand = op.inputs[shape.b]
    assert isinstance(operand.type, TensorType)
    element = operand.type.element_type
    forms = forms_of(op.read_maps[shape.b], op.extents)
    assert forms is not None
    read = map_of([substitute(f, position) for f in forms], len(domain))
    pad = op.pad_values[shape.b]
    if pad is None and op.extents[inner] % panel:
        integers = isinstance(element, IntegerType)
        pad = IntegerAttr(0, element) if integers else FloatAttr(0.0, element)  # pyright: ignore
    nest = _copy(op, "pack", operand, read, domain, pad)
    column = AffineExpr.dimension(inner)
    exprs = [AffineExpr.dimension(d) for d in outer] + [column // panel]
    exprs += [AffineExpr.dimension(d) for d in shape.summed] + [column % panel]
    return nest, AffineMap(len(op.extents), 0, tuple(exprs))


def _copy(
    op: GenericOp,
    name: str,
    operand: SSAValue,
    read: AffineMap,
    domain: list[int],
    pad: Attribute | None,
) -> GenericOp:
    """A nest in front of `op` that copies an operand into the order of `domain`."""
    assert isinstance(operand.type, TensorType)
    element = operand.type.element_type
    body = Block(arg_types=[element])
    body.add_op(YieldOp([body.args[0]]))
    order = [AffineMap.identity(len(domain))]
    kind = TensorType(element, domain)
    nest = GenericOp(domain, [operand], [read], order, ["store"], [kind], Region(body), pads=[pad])
    nest.attributes["lamina.op"] = StringAttr(name)
    nest.location = op.location
    return nest


def _plain_copy(op: GenericOp, number: int) -> tuple[GenericOp, AffineMap]:
    """A copy nest for a padded read: what it reads, with the domain's dims as axes, and its map."""
    used = sorted(op.read_maps[number].used_dims())
    places = {dim: AffineExpr.dimension(place) for place, dim in enumerate(used)}
    replacements = [places.get(dim, AffineExpr.constant(0)) for dim in range(len(op.extents))]
    read = op.read_maps[number].replace_dims_and_symbols(replacements, [], len(used), 0)
    domain = [op.extents[dim] for dim in used]
    nest = _copy(op, "pad", op.inputs[number], read, domain, op.pad_values[number])
    axes = tuple(AffineExpr.dimension(dim) for dim in used)
    return nest, AffineMap(len(op.extents), 0, axes)


def packed_bytes(shape: Contraction, panel: int, element_bytes: int) -> int:
    """Size of the packed operand."""
    panels = -(-shape.op.extents[shape.inner_column] // panel)
    outer = prod(shape.op.extents[d] for d in (*shape.batch, *shape.columns[:-1]))
    return outer * panels * shape.size(shape.summed) * panel * element_bytes
