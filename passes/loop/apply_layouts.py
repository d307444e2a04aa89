"""`apply-layouts`: tensors are stored in the order of axes that `lamina.layout` of their nest says.

Index maps of the nest and of the nests that read its results are composed with the order, so that
nothing is copied between nests. What is no nest (a reshape, a result of the program) reads a
rearranged copy, or a free reshape where only axes of one element move. Inputs for which
`lamina.input_layouts` has an order are read from a copy in it, one for all nests.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, TensorType, UnitAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass

from lamina.dialects.ir_links import block_ops, replace_uses
from lamina.dialects.loop import GenericOp, IndexOp, ReshapeOp
from lamina.dialects.loop.access import is_copy, shape_of
from lamina.dialects.loop.contraction import is_product
from lamina.dialects.loop.input_layouts import INPUT_LAYOUTS, input_layouts
from lamina.dialects.loop.nest_attributes import LAYOUT, LAYOUT_COPY
from lamina.dialects.loop.segments import used_dims_of, walked_dims
from lamina.dialects.op_disposal import erase
from lamina.dialects.schema.result_rules.shapes import tensor
from lamina.passes.defined_functions import defined_functions
from lamina.passes.fusion.fusion_override import MATERIALIZED
from lamina.passes.loop.looked_up import look_up_in_order, reads_of
from lamina.passes.loop.loop_rewriting import change, rebuild
from lamina.passes.loop.packing import copy_nest
from lamina.passes.loop.reshaped_axes import axis_beside
from lamina.passes.refusal import invalid


class ApplyLayoutsPass(ModulePass):
    """Store the results of nests in the layouts that were chosen for them."""

    name = "apply-layouts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            _apply(function)


def _apply(function: func.FuncOp) -> None:
    """Readers stand behind what they read, and are rebuilt before their own turn."""
    moved = False
    copies: dict[tuple[SSAValue, tuple[int, ...]], SSAValue] = {}
    nest = function.body.block.first_op
    while nest is not None:
        if INPUT_LAYOUTS in nest.attributes and isinstance(nest, GenericOp):
            _read_copies(nest, copies)
            moved = True
        if LAYOUT in nest.attributes:
            if isinstance(nest, GenericOp):
                nest = _stored_as(nest, layout_of(nest))
                moved = True
            elif isinstance(nest, ReshapeOp):
                nest = _reshaped_as(nest, layout_of(nest))
                moved = True
        nest = nest.next_op
    for op in block_ops(function.body.block) if moved else ():
        if isinstance(op, GenericOp):
            _in_order_of_memory(op)


def layout_of(nest: GenericOp | ReshapeOp) -> tuple[int, ...]:
    """The axes of its results in the order in which they are to be stored."""
    layout = nest.attributes[LAYOUT]
    assert isinstance(layout, DenseArrayBase)
    return tuple(layout.get_values())  # pyright: ignore[reportReturnType]


def _read_copies(nest: GenericOp, copies: dict[tuple[SSAValue, tuple[int, ...]], SSAValue]) -> None:
    """Have a nest read inputs from copies (in place), those of `copies` or new ones in front."""
    inputs, read_maps = list(nest.inputs), list(nest.read_maps)
    for number, order in enumerate(input_layouts(nest)):
        if order is None:
            continue
        value = inputs[number]
        if (value, order) not in copies:
            copies[value, order] = _copy_in_front(nest, value, order, kept=True)
        inputs[number] = copies[value, order]
        read_maps[number] = _permuted(read_maps[number], order)
    del nest.attributes[INPUT_LAYOUTS]
    change(nest, inputs=inputs, input_maps=read_maps)


def _stored_as(nest: GenericOp, order: Sequence[int]) -> GenericOp:
    """The nest with its results in that order, which its readers know."""
    del nest.attributes[LAYOUT]
    copied = nest.attributes.pop(LAYOUT_COPY, None) is not None
    kinds = [_permuted_type(r.type, order) for r in nest.res]
    maps = [_permuted(m, order) for m in nest.write_maps]
    old = list(nest.res)
    new = rebuild(nest, output_maps=maps, result_types=kinds, replace_results=False)
    for before, after in zip(old, new.res, strict=True):
        _hand_on(before, after, order, copied=copied)
    erase(nest)
    return new


def _reshaped_as(reshape: ReshapeOp, order: Sequence[int]) -> ReshapeOp:
    """The reshape of what is stored with the same axis innermost. Raises InputError for an order
    that asks for more than an axis that the reshape leaves alone to be there."""
    del reshape.attributes[LAYOUT]
    before, rank = reshape.result, len(shape_of(reshape.result))
    axes = [axis for axis in range(rank) if list(order) == with_innermost(axis, rank)]
    beside = axis_beside(reshape, before, axes[0]) if axes else None
    if beside is None:
        legal = "an axis innermost that is neither split nor joined, all others as they were"
        raise invalid(reshape, f"{LAYOUT} = {list(order)}: of a reshape, {legal}")
    source, axis = beside
    given = _stored_in(reshape, source, with_innermost(axis, len(shape_of(source))))
    new = ReshapeOp(given, _permuted_type(before.type, order))
    new.location = reshape.location
    block = reshape.parent_block()
    assert block is not None
    block.insert_op_before(new, reshape)
    _hand_on(before, new.result, order)
    erase(reshape)
    if isinstance(source.owner, Operation) and source.first_use is None:
        erase(source.owner)
    return new


def with_innermost(axis: int, rank: int) -> list[int]:
    """The order of `rank` axes in which one is the last, and all others as they were."""
    return [a for a in range(rank) if a != axis] + [axis]


def _stored_in(reader: ReshapeOp, value: SSAValue, order: Sequence[int]) -> SSAValue:
    """A value in that order of its axes: what it is a copy of, or a copy in front of its reader."""
    maker, kind = value.owner, _permuted_type(value.type, order)
    if isinstance(maker, ReshapeOp) and moves_nothing(shape_of(value), order):
        if maker.source.type == kind:
            return maker.source
    elif isinstance(maker, GenericOp) and is_copy(maker):
        same = tuple(AffineExpr.dimension(axis) for axis in order)
        if maker.read_maps[0].results == same and maker.inputs[0].type == kind:
            return maker.inputs[0]
    return _copy_in_front(reader, value, order)


def _copy_in_front(
    reader: Operation, value: SSAValue, order: Sequence[int], *, kept: bool = False
) -> SSAValue:
    """A copy of a value in that order of its axes; one that is `kept` is never read through."""
    places = [AffineExpr.dimension(order.index(axis)) for axis in range(len(order))]
    read = AffineMap(len(order), 0, tuple(places))
    shape = [shape_of(value)[axis] for axis in order]
    copy = copy_nest(reader, "layout", value, read, shape)
    if kept:
        copy.attributes[MATERIALIZED] = UnitAttr()
    block = reader.parent_block()
    assert block is not None
    block.insert_op_before(copy, reader)
    return copy.results[0]


def _hand_on(
    before: SSAValue, after: SSAValue, order: Sequence[int], *, copied: bool = False
) -> None:
    """Have readers of a value read it in that order of its axes, or a copy that is as it was."""
    maker = after.owner
    assert isinstance(maker, Operation)
    for reader in list(dict.fromkeys(use.operation for use in before.uses)):
        if isinstance(reader, GenericOp) and before not in reader.outs:
            _read_as(reader, before, after, order)
    if before.first_use is not None:
        back = _restored(before, after, order, copied=copied)
        block = maker.parent_block()
        assert block is not None
        block.insert_op_after(back, maker)
        replace_uses(before, back.results[0])


def _read_as(reader: GenericOp, before: SSAValue, after: SSAValue, order: Sequence[int]) -> None:
    """Have a nest read, or look up, a value whose axes lie in that order (in place); a source that
    its body takes whole stays."""
    inputs, read_maps, sources = list(reader.inputs), list(reader.read_maps), list(reader.sources)
    for number, value in enumerate(inputs):
        if value is before:
            inputs[number] = after
            read_maps[number] = _permuted(read_maps[number], order)
    for number, value in enumerate(sources):
        if value is before and reads_of(reader, number):
            look_up_in_order(reader, number, after, order)
            sources[number] = after
    change(reader, inputs=inputs, input_maps=read_maps, sources=sources)


def _permuted(index_map: AffineMap, order: Sequence[int]) -> AffineMap:
    results = tuple(index_map.results[axis] for axis in order)
    return AffineMap(index_map.num_dims, index_map.num_symbols, results)


def _permuted_type(kind: object, order: Sequence[int]) -> TensorType:
    assert isinstance(kind, TensorType)
    shape = kind.get_shape()
    return tensor([shape[axis] for axis in order], kind.element_type)


def _restored(
    before: SSAValue, after: SSAValue, order: Sequence[int], *, copied: bool
) -> Operation:
    """What has the elements in the order that they had: a reshape, or a copy, which a product may
    write instead of its own result unless it is to be `copied`."""
    assert isinstance(before.type, TensorType)
    shape = shape_of(before)
    if moves_nothing(shape, order):
        return ReshapeOp(after, before.type)
    maker = after.owner
    assert isinstance(maker, Operation)
    read = AffineMap(len(shape), 0, tuple(AffineExpr.dimension(axis) for axis in order))
    copy = copy_nest(maker, "layout", after, read, shape, None)
    if copied or not (isinstance(maker, GenericOp) and is_product(maker)):
        copy.attributes[MATERIALIZED] = UnitAttr()
    return copy


def moves_nothing(shape: Sequence[int], order: Sequence[int]) -> bool:
    """Whether only axes of one element change places."""
    wide = [axis for axis in order if shape[axis] != 1]
    return wide == sorted(wide)


def _in_order_of_memory(nest: GenericOp) -> None:
    """Lets the domain of a nest follow its first result, then what it reduces its first read."""
    rank = len(nest.extents)
    named: dict[int, None] = {}
    for index_map in (nest.write_maps[0], *nest.read_maps):
        for walked in walked_dims(index_map):
            named.update(dict.fromkeys(walked))
    kept = used_dims_of(nest.properties["output_maps"])[0]
    dims = [*named, *(d for d in range(rank) if d not in named)]
    order = [d for d in dims if d in kept] + [d for d in dims if d not in kept]
    if order == list(range(rank)) or nest.monoids:
        return
    places = [AffineExpr.dimension(order.index(d)) for d in range(rank)]

    def moved(index_map: AffineMap) -> AffineMap:
        return index_map.replace_dims_and_symbols(places, [], rank, 0)

    new = change(
        nest,
        domain=[nest.extents[d] for d in order],
        input_maps=[moved(m) for m in nest.read_maps],
        output_maps=[moved(m) for m in nest.write_maps],
    )
    for op in block_ops(new.block):
        if isinstance(op, IndexOp) and order.index(op.dim.value.data) != op.dim.value.data:
            position = IndexOp(order.index(op.dim.value.data))
            new.block.insert_op_before(position, op)
            replace_uses(op.result, position.results[0])
            new.block.erase_op(op)
