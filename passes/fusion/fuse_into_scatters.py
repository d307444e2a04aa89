"""`fuse-into-scatters`: what a scatter alone reads is computed in its body.

Places and updates are mostly made of an index and a few operations: those that count are computed
where they are read, and none of the others.
"""

from __future__ import annotations

from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass

from lamina.dialects.loop import GenericOp, IndexOp, ScatterOp, YieldOp
from lamina.dialects.loop.access import Forms, forms_of, map_of
from lamina.dialects.loop.labels import names_of, set_names
from lamina.dialects.op_list import instances_under
from lamina.passes.cost.fusion_cost import body_cost
from lamina.passes.cost.fusion_limits import MOST_POINT_WORK
from lamina.passes.defined_functions import defined_functions
from lamina.passes.fusion.fusion_override import MATERIALIZED, override
from lamina.passes.fusion.nest_inlining import composed_reads
from lamina.passes.fusion.padded_inlining import index_value
from lamina.passes.loop.body_folding import simplify_body
from lamina.passes.loop.loop_rewriting import erase_if_dead


class FuseIntoScattersPass(ModulePass):
    """Inline pointwise producers into the scatter that alone reads them."""

    name = "fuse-into-scatters"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            for inner in instances_under(function, ScatterOp):
                _fuse(inner)


def _fuse(op: ScatterOp) -> None:
    number = 0
    before = op
    while number < len(op.inputs):
        fused = _with_producer(op, number)
        number, op = (number + 1, op) if fused is None else (number, fused)
    if op is not before:
        simplify_body(op.block)


def _with_producer(op: ScatterOp, number: int) -> ScatterOp | None:
    """The scatter that computes a read by itself; None where it is better read."""
    value = op.inputs[number]
    producer = value.owner
    if not isinstance(producer, GenericOp) or not producer.is_pointwise or len(producer.res) != 1:
        return None
    if not value.has_one_use() or producer.sources or MATERIALIZED in producer.attributes:
        return None
    if any(pad is not None for pad in producer.pad_values) or override(producer) is False:
        return None
    if body_cost(producer) > MOST_POINT_WORK or _points(op, number) > prod(producer.extents):
        return None
    forms = forms_of(op.read_maps[number], op.extents)
    places = None if forms is None else composed_reads(producer, forms)
    if places is None:
        return None
    position, composed = places
    maps = [map_of(read, len(op.extents)) for read in composed]
    return _inlined(op, number, producer, position, maps)


def _points(op: ScatterOp, number: int) -> int:
    """How often a read is evaluated: what is the same along a row once for each row."""
    forms = forms_of(op.read_maps[number], op.extents)
    assert forms is not None, "a read of a scatter has a linear index"
    last = len(op.extents) - 1
    along = any(last in form.coefficients for form in forms)
    return prod(op.extents) if along else prod(op.extents[:-1])


def _inlined(
    op: ScatterOp, number: int, producer: GenericOp, position: Forms, composed: list[AffineMap]
) -> ScatterOp:
    """The producer's body at a position in front of the scatter's."""
    reader, count = op.block, len(op.inputs)
    reads = list(zip(op.inputs, op.read_maps, strict=True))
    taken = list(zip(producer.inputs, composed, strict=True))
    kept = [n for n in range(count) if n != number]
    arguments = [reader.args[n] for n in kept]
    merged = Block(
        arg_types=[
            *(argument.type for argument in arguments),
            *(argument.type for argument in producer.block.args),
            *(argument.type for argument in reader.args[count:]),
        ]
    )
    first, last = len(kept), len(kept) + len(taken)
    inner: dict[SSAValue, SSAValue] = dict(
        zip(producer.block.args, merged.args[first:last], strict=True)
    )
    for body_op in producer.block.ops:
        if isinstance(body_op, YieldOp):
            reader.args[number].replace_all_uses_with(inner[body_op.values[0]])
        elif isinstance(body_op, IndexOp):
            inner[body_op.result] = index_value(merged, position[body_op.dim.value.data])
        else:
            merged.add_op(body_op.clone(inner))
    others = [*merged.args[:first], *merged.args[last:]]
    for old, new in zip([*arguments, *reader.args[count:]], others, strict=True):
        old.replace_all_uses_with(new)
    for body_op in list(reader.ops):
        body_op.detach()
        merged.add_op(body_op)
    every = [*(reads[n] for n in kept), *taken]
    fused = ScatterOp(
        op.extents,
        [value for value, _ in every],
        [index_map for _, index_map in every],
        op.into,
        Region(merged),
        sources=list(op.sources),
    )
    fused.attributes.update(op.attributes)
    fused.location = op.location
    set_names(fused, [*names_of(producer), *names_of(op)])
    block = op.parent_block()
    assert block is not None
    block.insert_op_before(fused, op)
    fused.res[0].name_hint = op.res[0].name_hint
    op.res[0].replace_all_uses_with(fused.res[0])
    block.erase_op(op)
    erase_if_dead(producer)
    return fused
