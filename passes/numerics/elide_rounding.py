"""`elide-rounding`: half floats are rounded where they leave a kernel, and only there.

Roundings marked `lamina.implicit` are what torch's eager mode does to store a result. Inside a body
they go; values that pass from nest to nest inside one kernel are kept in f32. What a kernel returns
is rounded once. Without this pass, every op rounds as in eager mode.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, ModuleOp, TensorType, UnitAttr, bf16, f32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, KernelOp, ReturnOp, YieldOp
from lamina.dialects.loop.packing import in_matrix_tiles
from lamina.dialects.loop.rounding import FLUSHED, is_half, is_implicit, mark_implicit
from lamina.dialects.op_list import list_ops
from lamina.passes.loop.body_folding import simplify_body
from lamina.passes.loop.loop_rewriting import rebuild


class ElideRoundingPass(ModulePass):
    """Drop implicit roundings to half floats inside bodies and between the nests of a kernel."""

    name = "elide-rounding"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels: list[KernelOp] = []
        for inner in list_ops(op):
            if type(inner) is GenericOp:
                elide_in_body(inner.block)
            elif type(inner) is KernelOp:
                kernels.append(inner)
        for kernel in kernels:
            # By place: nests are built anew as their types change.
            for place in range(len(kernel.block.ops)):
                nest = block_ops(kernel.block)[place]
                if isinstance(nest, GenericOp):
                    _flush_for_tiles(nest)
                    _keep_wide(nest)


def elide_in_body(block: Block) -> None:
    """Let what widens an implicitly rounded value take the value before its rounding."""
    changed = False
    for op in block_ops(block):
        if isinstance(op, arith.ExtFOp) and op.result.type == f32:
            exact = _exact(op.input, op)
            if exact is not None:
                Rewriter.replace_op(op, [], [exact])
                changed = True
    if changed:
        simplify_body(block)


def _exact(value: SSAValue, before: Operation) -> SSAValue | None:
    """The f32 value that was rounded implicitly to give `value`, or None if there is none.

    A choice between such values is made in front of `before` from the exact ones.
    """
    owner = value.owner
    if isinstance(owner, arith.TruncFOp) and is_implicit(owner) and owner.input.type == f32:
        return owner.input
    if not isinstance(owner, arith.SelectOp):
        return None
    sides = [_exact(side, before) for side in (owner.lhs, owner.rhs)]
    if sides == [None, None]:
        return None
    block = before.parent
    assert block is not None
    chosen: list[SSAValue] = []
    for side, exact in zip((owner.lhs, owner.rhs), sides, strict=True):
        if exact is None:
            widened = arith.ExtFOp(side, f32)
            block.insert_op_before(widened, before)
            exact = widened.result
        chosen.append(exact)
    select = arith.SelectOp(owner.cond, chosen[0], chosen[1])
    block.insert_op_before(select, before)
    return select.result


def _keep_wide(nest: GenericOp) -> None:
    """Give f32 those results of a nest that stay in its kernel and were rounded implicitly."""
    kinds = [r.type for r in nest.res]
    terminator = nest.block.last_op
    assert isinstance(terminator, YieldOp)
    for number, result in enumerate(nest.res):
        if nest.combiner_names[number] != "store" or not _stays(result):
            continue
        exact = _exact(terminator.values[number], terminator)
        kind = kinds[number]
        if exact is None or not isinstance(kind, TensorType):
            continue
        terminator.operands[number] = exact
        kinds[number] = TensorType(f32, kind.get_shape(), kind.encoding)
    if kinds == [r.type for r in nest.res]:
        return
    simplify_body(nest.block)
    new = rebuild(nest, result_types=kinds)
    readers = dict.fromkeys(use.operation for result in new.res for use in result.uses)
    for reader in readers:
        if isinstance(reader, GenericOp):
            _read_wide(reader)


def _stays(result: SSAValue) -> bool:
    """Whether a half float tensor is only read, by index maps, inside its kernel.

    Matrix tiles multiply half floats: what they read stays one.
    """
    kind = result.type
    if not isinstance(kind, TensorType) or not is_half(kind.element_type):
        return False
    for use in result.uses:
        reader = use.operation
        if isinstance(reader, ReturnOp) or not isinstance(reader, GenericOp):
            return False
        if use.index >= len(reader.inputs) or in_matrix_tiles(reader):
            return False
    return True


def _flush_for_tiles(nest: GenericOp) -> None:
    """Note roundings to bf16 that matrix tiles alone read."""
    for value, result in zip(nest.yielded, nest.res, strict=True):
        rounding = value.owner
        readers = {use.operation for use in result.uses}
        if not isinstance(rounding, arith.TruncFOp) or rounding.result.type != bf16 or not readers:
            continue
        if rounding.result.has_one_use() and all(in_matrix_tiles(reader) for reader in readers):
            rounding.attributes[FLUSHED] = UnitAttr()


def _read_wide(reader: GenericOp) -> None:
    """Bring the body of a reader in line with its operands, some of which are f32 now."""
    pads = list(reader.pad_values)
    for number, value in enumerate(reader.inputs):
        argument = reader.block.args[number]
        kind = value.type
        assert isinstance(kind, TensorType)
        if argument.type == kind.element_type:
            continue
        given = argument.type
        wide = Rewriter.replace_value_with_new_type(argument, f32)
        pad = pads[number]
        if isinstance(pad, FloatAttr):
            pads[number] = FloatAttr(pad.value.data, f32)
        rounded = arith.TruncFOp(wide, given)  # pyright: ignore[reportArgumentType]
        mark_implicit(rounded)
        first = reader.block.first_op
        assert first is not None
        reader.block.insert_op_before(rounded, first)
        wide.replace_uses_with_if(rounded.result, lambda use, r=rounded: use.operation is not r)
    if pads != list(reader.pad_values):
        reader = rebuild(reader, pads=pads)
    elide_in_body(reader.block)
