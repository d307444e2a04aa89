"""`canonicalize-loop`: constants move into the bodies that read them, and bodies are simplified.

Reads that no body uses go, and so do stores and nests that nobody reads, and copies and reshapes
that change nothing. Rearrangements are composed by `fold-layout`. Nothing here may change a result,
signed zeros and NaN included. One walk down and one up: linear time.
"""

from __future__ import annotations

from typing import TypeGuard

from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType, ModuleOp, Signedness
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.passes import ModulePass

from lamina.dialects.control import RegionOp
from lamina.dialects.ir_links import block_ops, replace_uses
from lamina.dialects.loop import GenericOp, KernelOp, ReshapeOp, YieldOp
from lamina.dialects.loop.access import is_copy, shape_of
from lamina.dialects.loop.kernel import ReturnOp
from lamina.dialects.loop.monoid import kept_monoids, needed_together
from lamina.dialects.loop.nest import OrderedNest
from lamina.dialects.loop.scalar_ops import constant_op
from lamina.passes.loop.body_folding import Number, constant_of, simplify_body
from lamina.passes.loop.loop_rewriting import change, erase_if_dead


class CanonicalizeLoopPass(ModulePass):
    """Fold constants into loop nests, simplify their bodies and drop what is not needed."""

    name = "canonicalize-loop"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, func.FuncOp):
                for block in function.body.blocks:
                    _canonicalize(block)


def _canonicalize(block: Block) -> None:
    for op in block_ops(block):
        match op:
            case GenericOp() if op.sizes:  # what is rebuilt has numbers for extents
                simplify_body(op.block)
            case GenericOp():
                _fold_constant_reads(op)
                op = _drop_unused_results(op)
                simplify_body(op.block)
                op = drop_unused_operands(op)
                if _changes_nothing(op) and not _is_returned(op.res[0]):
                    replace_uses(op.res[0], op.inputs[0])
            case ReshapeOp():
                if isinstance(op.source.owner, ReshapeOp):
                    op.operands[0] = op.source.owner.source
                if op.source.type == op.result.type and not op.sizes:
                    replace_uses(op.result, op.source)
            case OrderedNest():
                simplify_body(op.block)
            case KernelOp():
                _canonicalize(op.block)
            case RegionOp():
                for inner in op.blocks:
                    _canonicalize(inner)
            case _:
                pass
    for op in reversed(block_ops(block)):
        erase_if_dead(op)


def splat_value(value: SSAValue) -> Number | None:
    """The number that a tensor holds everywhere, if it comes from a constant nest."""
    while True:
        producer = value.owner
        if isinstance(producer, ReshapeOp):
            value = producer.source
        elif isinstance(producer, GenericOp) and is_copy(producer) and not _is_padded(producer, 0):
            value = producer.inputs[0]
        else:
            break
    if not isinstance(producer, GenericOp) or producer.inputs or producer.sources:
        return None
    if not producer.is_pointwise or len(producer.res) != 1:
        return None
    return constant_of(producer.yielded[0])


def _is_padded(op: GenericOp, read: int) -> bool:
    return op.pad_values[read] is not None


def _fold_constant_reads(op: GenericOp) -> None:
    """Constants in place of what is read from tensors that hold one number everywhere, or none."""
    first = op.block.first_op
    assert first is not None
    for number, value in enumerate(op.inputs):
        if not op.block.args[number].first_use:
            continue
        pad = op.pad_values[number]
        new: arith.ConstantOp | None = None
        if pad is None:
            constant = splat_value(value)
            new = None if constant is None else constant_op(constant)
        elif 0 in shape_of(value) and _is_constant(pad):
            new = arith.ConstantOp(pad)  # nothing lies inside of an empty tensor
        if new is not None:
            op.block.insert_op_before(new, first)
            replace_uses(op.block.args[number], new.result)


def _is_constant(pad: Attribute) -> TypeGuard[FloatAttr | IntegerAttr]:
    """Whether there are constants of its type: not of unsigned ones."""
    if isinstance(pad, IntegerAttr) and isinstance(pad.type, IntegerType):
        return pad.type.signedness.data is Signedness.SIGNLESS
    return isinstance(pad, FloatAttr)


def drop_unused_operands(op: GenericOp) -> GenericOp:
    """Remove the reads and sources whose block argument has no use."""
    arguments = list(op.block.args)
    reads, sources = arguments[: len(op.inputs)], arguments[len(op.inputs) :]
    kept = [n for n, a in enumerate(reads) if a.first_use]
    kept_sources = [n for n, a in enumerate(sources) if a.first_use]
    if len(kept) == len(reads) and len(kept_sources) == len(sources):
        return op
    for argument in arguments:
        if not argument.first_use:
            op.block.erase_arg(argument)
    own = op.reads
    return change(
        op,
        reads=[own[n] for n in kept],
        sources=[op.sources[n] for n in kept_sources],
    )


def _drop_unused_results(op: GenericOp) -> GenericOp:
    """Remove the stores that nobody reads, if somebody reads others."""
    names, monoids = op.combiner_names, op.monoids
    kept = needed_together(names, monoids, [n for n, r in enumerate(op.res) if r.first_use])
    if len(kept) == len(op.res) or not kept:
        return op
    end = op.block.last_op
    assert isinstance(end, YieldOp)
    op.block.add_op(YieldOp([end.values[n] for n in kept]))
    op.block.erase_op(end)
    new = GenericOp(
        op.extents,
        list(op.inputs),
        op.read_maps,
        [op.write_maps[n] for n in kept],
        [names[n] for n in kept],
        [op.res[n].type for n in kept],
        op.detach_region(op.body),
        sources=list(op.sources),
        pads=op.pad_values,
        monoids=kept_monoids(names, monoids, kept),
    )
    new.attributes.update(op.attributes)
    new.location = op.location
    block = op.parent_block()
    assert block is not None
    block.insert_op_before(new, op)
    for number, result in zip(kept, new.res, strict=True):
        result.name_hint = op.res[number].name_hint
        replace_uses(op.res[number], result)
    block.erase_op(op)
    return new


def _changes_nothing(op: GenericOp) -> bool:
    """Whether a nest copies its one read, element by element, to the same place."""
    return (
        is_copy(op)
        and op.inputs[0].type == op.res[0].type
        and op.read_maps == op.write_maps
        and not _is_padded(op, 0)
    )


def _is_returned(value: SSAValue) -> bool:
    """Whether a function or a kernel gives the value back: it must then have a place of its own."""
    return any(isinstance(use.operation, func.ReturnOp | ReturnOp) for use in value.uses)
