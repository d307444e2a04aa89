"""`canonicalize-loop`: constants move into the bodies that read them, and bodies are simplified.

Powers with small constant exponents become products, reshapes that change nothing go, and nests
that nobody reads are dropped. Nothing here may change a result, signed zeros and NaN included.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, func, math
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from lamina.dialects.loop import GenericOp, ReshapeOp
from lamina.passes.loop_rewriting import erase_if_dead


@dataclass(frozen=True)
class CanonicalizeLoopPass(ModulePass):
    """Fold constants into loop nests and simplify their bodies."""

    name = "canonicalize-loop"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, func.FuncOp) and function.body.blocks:
                _canonicalize(function.body.block)


def _canonicalize(block: Block) -> None:
    for op in list(block.ops):
        if isinstance(op, GenericOp):
            op = _fold_constant_reads(op)
            for inner in list(op.block.ops):
                _simplify(inner)
        elif isinstance(op, ReshapeOp) and op.source.type == op.result.type:
            op.result.replace_all_uses_with(op.source)
    for op in reversed(list(block.ops)):
        erase_if_dead(op)


def splat_value(value: SSAValue) -> Attribute | None:
    """The number that a tensor holds everywhere, if it comes from a constant nest."""
    while isinstance(value.owner, ReshapeOp):
        value = value.owner.source
    producer = value.owner
    if not isinstance(producer, GenericOp) or producer.inputs or producer.sources:
        return None
    if not producer.is_pointwise or len(producer.res) != 1:
        return None
    yielded = producer.yielded[0].owner
    return yielded.value if isinstance(yielded, arith.ConstantOp) else None


def _fold_constant_reads(op: GenericOp) -> GenericOp:
    constants = [splat_value(v) for v in op.inputs]
    # A copy of a constant is a constant nest already worth as much as the original.
    constants = [
        c if pad is None else None for c, pad in zip(constants, op.pad_values, strict=True)
    ]
    if all(c is None for c in constants):
        return op
    body = op.detach_region(op.body)
    block = body.block
    first = block.first_op
    assert first is not None
    kept = [n for n, c in enumerate(constants) if c is None]
    for number in reversed(range(len(constants))):
        value = constants[number]
        if value is None:
            continue
        constant = arith.ConstantOp(value)
        block.insert_op_before(constant, first)
        argument = block.args[number]
        argument.replace_all_uses_with(constant.result)
        block.erase_arg(argument)
    new = GenericOp(
        op.extents,
        [op.inputs[n] for n in kept],
        [op.read_maps[n] for n in kept],
        op.write_maps,
        op.combiner_names,
        [r.type for r in op.res],
        body,
        sources=list(op.sources),
        pads=[op.pad_values[n] for n in kept],
    )
    new.attributes.update(op.attributes)
    new.location = op.location
    Rewriter.replace_op(op, new)
    return new


# Bodies


def _simplify(op: Operation) -> None:
    if isinstance(op, math.PowFOp):
        _expand_power(op, op.lhs, _number(op.rhs))
    elif isinstance(op, math.IPowIOp):
        exponent = _number(op.rhs)
        if exponent is not None and 1 <= exponent <= 3:
            _expand_power(op, op.lhs, exponent)


def _number(value: SSAValue) -> float | None:
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, FloatAttr | IntegerAttr):
        return owner.value.value.data
    return None


def _expand_power(op: Operation, base: SSAValue, exponent: float | None) -> None:
    """x**1, 2, 3, -1, -2 and 0.5 as torch's own fast paths compute them."""
    block = op.parent_block()
    assert block is not None

    def add(new: Operation) -> SSAValue:
        block.insert_op_before(new, op)
        return new.results[0]

    times = arith.MulfOp if isinstance(op, math.PowFOp) else arith.MuliOp
    if exponent == 1:
        result = base
    elif exponent in (2, -2):
        result = add(times(base, base))
    elif exponent == 3:
        result = add(times(add(times(base, base)), base))
    elif exponent == -1:
        result = base
    elif exponent == 0.5:
        result = add(math.SqrtOp(base))
    else:
        return
    if exponent is not None and exponent < 0:
        one = add(arith.ConstantOp(FloatAttr(1.0, base.type)))  # pyright: ignore
        result = add(arith.DivfOp(one, result))
    Rewriter.replace_op(op, [], [result])
