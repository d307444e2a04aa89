"""`narrow-scatters`: a scatter of whose result only a part is read goes into that part alone.

Updates that do not count are often sent to a place that is cut off behind: a tensor gets room for
them, which copies it, and what is read of the result is a copy once more. Here they are masked
instead: `%r = loop.scatter ... into(%roomy)`, of which everything reads the first rows, becomes a
scatter into the first rows of `%roomy`, whose body says that updates of others are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, TensorType, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from lamina.dialects.loop import GenericOp, IndexOp, ScatterOp, YieldOp
from lamina.dialects.loop.access import is_copy, shape_of
from lamina.dialects.loop.linear import linear
from lamina.dialects.loop.open_nests import is_open
from lamina.dialects.loop.scalar_ops import compare_op
from lamina.dialects.loop.scatter import written_element
from lamina.dialects.op_list import instances_under
from lamina.passes.defined_functions import defined_functions
from lamina.passes.loop.loop_rewriting import rebuild
from lamina.passes.loop.position_choices import settle_choices

_Add = Callable[[Operation], SSAValue]
"""Puts an op into the body, and gives its result."""


class NarrowScattersPass(ModulePass):
    """Leave out the updates of a scatter that nothing reads."""

    name = "narrow-scatters"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            for inner in instances_under(function, ScatterOp):
                shape = _read_part(inner)
                if shape is not None and shape != list(shape_of(inner.into)):
                    _narrow(inner, shape)


def _read_part(op: ScatterOp) -> list[int] | None:
    """Ends of what is read of the result, along each dimension; None where that is not known, or
    nothing."""
    if is_open(op):  # what is read of it is known as numbers
        return None
    shape = shape_of(op.into)
    ends = [0] * len(shape)
    for use in op.res[0].uses:
        reader = use.operation
        if not isinstance(reader, GenericOp) or use.index >= len(reader.inputs):
            return None
        if is_open(reader):
            return None
        if 0 in reader.extents:
            continue
        for axis, expression in enumerate(reader.read_maps[use.index].results):
            form = linear(expression, reader.extents)
            last = shape[axis] if form is None else form.range(reader.extents)[1] + 1
            ends[axis] = max(ends[axis], min(last, shape[axis]))
    return ends if all(end > 0 for end in ends) and 0 not in op.extents else None


def _narrow(op: ScatterOp, shape: Sequence[int]) -> None:
    """Put a scatter into the first elements of the tensor in the place of one into all of them."""
    _mask(op, shape)
    narrow = ScatterOp(
        op.extents,
        list(op.inputs),
        op.read_maps,
        _part(op, shape),
        op.detach_region(op.body),
        sources=list(op.sources),
    )
    narrow.attributes.update(op.attributes)
    narrow.location = op.location
    made = narrow.res[0]
    made.name_hint = op.res[0].name_hint
    block = op.parent_block()
    assert block is not None
    block.insert_op_before(narrow, op)
    readers = [use.operation for use in op.res[0].uses]
    op.res[0].replace_all_uses_with(made)
    block.erase_op(op)
    match readers:
        case [GenericOp() as only] if _is_whole_copy(only, made):
            Rewriter.replace_op(only, [], [made])
        case _:
            pass


def _part(op: ScatterOp, shape: Sequence[int]) -> SSAValue:
    """The first elements of what a scatter goes into, in front of it."""
    element = written_element(op)
    kind = TensorType(element, shape)
    identity = AffineMap.identity(len(shape))
    maker = op.into.owner
    if (
        isinstance(maker, GenericOp)
        and maker.is_pointwise
        and op.into.has_one_use()
        and maker.write_maps == (identity,)
    ):
        pads = [
            None if _stays_inside(value, index_map, shape) else pad
            for value, index_map, pad in maker.reads
        ]
        made = rebuild(maker, domain=shape, result_types=[kind], pads=pads)
        settle_choices(made)
        return made.res[0]
    body = Block(arg_types=[element])
    body.add_op(YieldOp([body.args[0]]))
    part = GenericOp(shape, [op.into], [identity], [identity], ["store"], [kind], Region(body))
    part.location = op.location
    block = op.parent_block()
    assert block is not None
    block.insert_op_before(part, op)
    return part.res[0]


def _stays_inside(value: SSAValue, index_map: AffineMap, extents: Sequence[int]) -> bool:
    """Whether a read never leaves its tensor."""
    for expression, extent in zip(index_map.results, shape_of(value), strict=True):
        form = linear(expression, extents)
        low, high = (0, extent) if form is None else form.range(extents)
        if low < 0 or high >= extent:
            return False
    return True


def _is_whole_copy(reader: GenericOp, value: SSAValue) -> bool:
    """Whether a nest gives a value again as it is."""
    return (
        is_copy(reader)
        and reader.pad_values[0] is None
        and reader.read_maps == reader.write_maps
        and reader.res[0].type == value.type
    )


def _mask(op: ScatterOp, shape: Sequence[int]) -> None:
    """Have the body of a scatter leave out what goes behind these ends, as far as its own tensor
    reaches. Other places are checked against the ends from then on."""
    end = op.block.last_op
    assert isinstance(end, YieldOp)
    places, mask = op.places, op.mask

    def add(made: Operation) -> SSAValue:
        op.block.insert_op_before(made, end)
        return made.results[0]

    for place, before, after in zip(places, shape_of(op.into), shape, strict=True):
        if before == after or _is_below(op, place, after):
            continue
        kept = _kept(place, before, after, add)
        mask = kept if mask is None else add(arith.AndIOp(mask, kept))
    if mask is not None:
        op.block.add_op(YieldOp([*places, op.value, mask]))
        op.block.erase_op(end)


def _is_below(op: ScatterOp, place: SSAValue, end: int) -> bool:
    """Whether an index is a position that never reaches an end."""
    owner = place.owner
    return isinstance(owner, IndexOp) and op.extents[owner.dim.value.data] <= end


def _kept(place: SSAValue, before: int, after: int, add: _Add) -> SSAValue:
    """Whether an index is none of those from `after` to `before`."""
    owner = place.owner
    if isinstance(owner, arith.IndexCastOp) and owner.input.type == i64:
        place = owner.input

    def number(value: int) -> SSAValue:
        return add(arith.ConstantOp(IntegerAttr(value, place.type)))  # pyright: ignore

    if before - after == 1:
        return add(compare_op(place, number(after), "ne"))
    behind = add(arith.SubiOp(place, number(after)))
    return add(compare_op(behind, number(before - after), "uge"))
