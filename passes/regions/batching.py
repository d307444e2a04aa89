"""Ops of the loop layer on many tensors at once, stacked along a new first dimension."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import IntegerAttr, TensorType, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from lamina.dialects.control.scan import stacked
from lamina.dialects.loop import GenericOp, IndexOp, ReadOp, ReshapeOp, YieldOp
from lamina.dialects.records import record

BATCHABLE = (GenericOp, ReshapeOp)
"""Ops that `batched` knows."""


@record
class Batch:
    """A value that stands for another: the same for all, or one for each, stacked."""

    value: SSAValue
    is_stacked: bool


def batched(op: Operation, values: Mapping[SSAValue, Batch], length: int) -> Operation:
    """`op` on what its operands stand for; its results are stacked if any operand is."""
    operands = [values[operand] for operand in op.operands]
    if not any(batch.is_stacked for batch in operands):
        return op.clone(
            {old: batch.value for old, batch in zip(op.operands, operands, strict=True)}
        )
    if isinstance(op, ReshapeOp):
        new: Operation = ReshapeOp(operands[0].value, stacked(op.result.type, length))
    else:
        assert isinstance(op, GenericOp)
        new = _generic(op, values, length)
    new.attributes.update(op.attributes)
    new.location = op.location
    for result, old in zip(new.results, op.results, strict=True):
        result.name_hint = old.name_hint
    return new


def broadcast(value: SSAValue, length: int) -> GenericOp:
    """A nest that stacks `length` times the same tensor."""
    kind = value.type
    assert isinstance(kind, TensorType)
    rank = len(kind.get_shape())
    body = Block(arg_types=[kind.element_type])
    body.add_op(YieldOp([body.args[0]]))
    return GenericOp(
        [length, *kind.get_shape()],
        [value],
        [_shifted(AffineMap.identity(rank), is_stacked=False)],
        [AffineMap.identity(rank + 1)],
        ["store"],
        [stacked(kind, length)],
        Region(body),
    )


def _generic(op: GenericOp, values: Mapping[SSAValue, Batch], length: int) -> GenericOp:
    inputs = [values[value] for value in op.inputs]
    sources = [values[value] for value in op.sources]
    body = op.body.clone()
    for inner in body.block.ops:
        if isinstance(inner, IndexOp):
            inner.properties["dim"] = IntegerAttr(inner.dim.value.data + 1, i64)
    for argument, source in zip(body.block.args[len(inputs) :], sources, strict=True):
        if source.is_stacked:
            _stack_source(body.block, argument, source.value.type)
    return GenericOp(
        [length, *op.extents],
        [batch.value for batch in inputs],
        [_shifted(m, b.is_stacked) for m, b in zip(op.read_maps, inputs, strict=True)],
        [_shifted(m, is_stacked=True) for m in op.write_maps],
        op.combiner_names,
        [stacked(result.type, length) for result in op.res],
        body,
        sources=[batch.value for batch in sources],
        pads=op.pad_values,
        monoids=op.monoids,
    )


def _shifted(index_map: AffineMap, is_stacked: bool) -> AffineMap:
    """The map for a domain with one more dimension in front, which leads to the stacked tensor."""
    dims = [AffineExpr.dimension(n + 1) for n in range(index_map.num_dims)]
    results = [expr.replace_dims_and_symbols(dims, []) for expr in index_map.results]
    lead = [AffineExpr.dimension(0)] if is_stacked else []
    return AffineMap(index_map.num_dims + 1, 0, (*lead, *results))


def _stack_source(block: Block, argument: SSAValue, kind: Attribute) -> None:
    """Let a body read a source that is stacked: at the number of the tensor first."""
    reads = [use.operation for use in list(argument.uses)]
    new = block.insert_arg(kind, argument.index)  # pyright: ignore - a block argument
    first = block.first_op
    assert first is not None
    lead = IndexOp(0)
    block.insert_op_before(lead, first)
    for read in reads:
        assert isinstance(read, ReadOp)
        made = ReadOp(new, [lead.result, *read.indices], [None, *read.limit_of_each])
        made.attributes.update(read.attributes)
        block.insert_op_before(made, read)
        read.result.replace_all_uses_with(made.result)
        block.erase_op(read)
    block.erase_arg(argument)  # pyright: ignore - a block argument
