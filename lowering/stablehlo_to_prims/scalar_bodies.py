"""Regions on tensors of rank 0, as the bodies of nests: what a reduction, sort or scatter does."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Block, Operation, SSAValue

from lamina.dialects.stablehlo.op import HloOp
from lamina.lowering.prims_to_loop.table import Body
from lamina.lowering.scalar import NotDefinedError
from lamina.lowering.stablehlo_to_prims.scalar_functions import computed
from lamina.lowering.tensor_types import element_of
from lamina.passes.refusal import unsupported

_SAME = ("reshape", "broadcast_in_dim", "optimization_barrier")
"""Ops that leave a tensor of rank 0 as it is."""


def body_ops(block: Block) -> list[HloOp]:
    """What a region computes, without its end. Raises UnsupportedError for other dialects."""
    ops: list[HloOp] = []
    for op in block.ops:
        if not isinstance(op, HloOp):
            raise unsupported(op, "in a body of scalars", "elementwise ops of stablehlo")
        ops.append(op)
    return ops[:-1]


def yielded(block: Block) -> list[SSAValue]:
    """What a region gives."""
    end = block.last_op
    return list(end.operands) if end is not None else []


def scalar_body(
    b: Body,
    block: Block,
    args: Sequence[SSAValue],
    outside: dict[SSAValue, SSAValue] | None = None,
    wanted: Sequence[SSAValue] | None = None,
) -> list[SSAValue]:
    """What a region gives for these scalars, one for each argument of its block.

    `outside` are the scalars of values that the region sees, `wanted` other values of it to give.
    Raises UnsupportedError for what is not computed element by element.
    """
    known: dict[SSAValue, SSAValue] = dict(zip(block.args, args, strict=True))
    known.update(outside or {})
    asked = yielded(block) if wanted is None else list(wanted)
    needed = set(asked)
    ops: list[HloOp] = []
    for op in reversed(body_ops(block)):
        if any(result in needed for result in op.results):
            needed.update(op.operands)
            ops.append(op)
    for op in reversed(ops):
        known[op.results[0]] = _computed(b, op, known)
    return [_known(b, value, known) for value in asked]


def _computed(b: Body, op: HloOp, known: dict[SSAValue, SSAValue]) -> SSAValue:
    name = op.name.partition(".")[2]
    if name == "constant":
        return _literal(b, op, op.attr("value"))
    args = [_known(b, operand, known) for operand in op.operands]
    if name in _SAME:
        return args[0]
    try:
        return computed(b, op, args)
    except NotDefinedError as error:
        raise unsupported(op, str(error), "elementwise ops of real numbers") from None


def _known(b: Body, value: SSAValue, known: dict[SSAValue, SSAValue]) -> SSAValue:
    """The scalar of a value; a literal outside of the region is written out in the body."""
    if value not in known:
        owner = value.owner
        literal = owner.value if isinstance(owner, arith.ConstantOp) else None
        if not isinstance(owner, Operation) or literal is None:
            name = owner.name if isinstance(owner, Operation) else "argument"
            raise NotDefinedError(f"a body that sees a value from outside ({name})")
        known[value] = _literal(b, owner, literal)
    return known[value]


def _literal(b: Body, op: Operation, value: object) -> SSAValue:
    if not isinstance(value, DenseIntOrFPElementsAttr) or not len(value):
        raise unsupported(op, f"{value} in a body of scalars", "dense<...>")
    number = next(iter(value.iter_values()))
    if isinstance(number, tuple):
        raise NotDefinedError("complex numbers in a body of scalars")
    return b.constant(number, element_of(op.results[0]))


def one_op(block: Block) -> str | None:
    """The name, without the dialect, of the one op that a region is on its two arguments."""
    ops = list(block.ops)
    if len(ops) != 2 or len(block.args) != 2 or len(ops[0].operands) != 2:
        return None
    if set(ops[0].operands) != set(block.args) or list(ops[1].operands) != list(ops[0].results):
        return None
    return ops[0].name.partition(".")[2]
