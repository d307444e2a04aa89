"""A whole program: its functions, what is said of them, and op by op what they hold."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from lamina.dialects.control import RepeatOp
from lamina.dialects.loop import GenericOp, KernelOp, ReshapeOp
from lamina.dialects.op_list import list_ops
from lamina.lowering.loop_to_linalg.nests import nest_as_linalg
from lamina.lowering.loop_to_linalg.reshapes import reshape_as_tensor_ops
from lamina.lowering.upstream_text import drop_own_attributes, make_signless
from lamina.passes.contracts.declared import arguments_of
from lamina.passes.contracts.entry_attributes import VALUE
from lamina.passes.defined_functions import defined_functions
from lamina.passes.refusal import unsupported
from lamina.passes.regions.inline_regions import inline_regions
from lamina.passes.regions.unroll_layers import unroll_in

CONVERTED: dict[type[Operation], Callable[..., list[SSAValue]]] = {
    GenericOp: nest_as_linalg,
    ReshapeOp: reshape_as_tensor_ops,
}

_KEPT = ("arith.constant", "func.call", "func.return")

_REASONS = {
    "loop.scan": "linalg has no op whose points depend on one another",
    "loop.scatter": "linalg has no op that writes where the data say",
    "loop.segment_reduce": "linalg has no op over segments that the data say",
    "loop.sort": "linalg has no sort",
    "loop.fourier": "linalg has no Fourier transform",
    "loop.extern": "calls a kernel of Lamina's own run time",
}


def convert(module: ModuleOp) -> None:
    """Change a program of the `loop` or `fused` layer in place.

    Steps of repeats are written out. Raises UnsupportedError, with the op and its place, for what
    has no form in MLIR.
    """
    if any(isinstance(op, RepeatOp) for op in list_ops(module)):
        inline_regions(module)
        for function in defined_functions(module):
            unroll_in(function.body.block)
    for function in list(module.body.block.ops):
        if not isinstance(function, func.FuncOp):
            raise unsupported(function, "stands at module level", "functions alone")
        if function.is_declaration:
            continue
        literals_as_constants(function)
        _convert_block(function.body.block)
    drop_own_attributes(module)
    make_signless(module)


def literals_as_constants(function: func.FuncOp) -> None:
    """Arguments whose values stand beside them become constants again."""
    given = arguments_of(function)
    block = function.body.block
    for argument in reversed(given):
        value = argument.entries.get(VALUE)
        if not isinstance(value, DenseIntOrFPElementsAttr):
            continue
        constant = arith.ConstantOp(value)
        first = block.first_op
        assert first is not None, "a function ends in an op"
        block.insert_op_before(constant, first)
        constant.location = function.location
        held = block.args[argument.number]
        constant.result.name_hint = held.name_hint
        held.replace_all_uses_with(constant.result)
        block.erase_arg(held)
        function.properties.pop("arg_attrs", None)
    function.update_function_type()


def _convert_block(block: Block) -> None:
    for op in list(block.ops):
        if isinstance(op, KernelOp):
            _inline(op)
    for op in list(block.ops):
        convert_one = CONVERTED.get(type(op))
        if isinstance(op, GenericOp) and not op.res:
            raise unsupported(op, "stands on memory", "a program in front of bufferize")
        if convert_one is not None:
            for result, made in zip(op.results, convert_one(op), strict=True):
                made.name_hint = made.name_hint or result.name_hint
                result.replace_all_uses_with(made)
            op.detach()
            op.erase()
        elif op.name not in _KEPT:
            reason = _REASONS.get(op.name, "has no form in linalg and tensor")
            raise unsupported(op, reason, "loop.generic and loop.reshape")


def _inline(kernel: KernelOp) -> None:
    """The ops of a kernel in its place."""
    block, outer = kernel.block, kernel.parent
    assert outer is not None
    for argument, value in zip(list(block.args), kernel.inputs, strict=True):
        argument.replace_all_uses_with(value)
    *ops, end = block.ops
    for op in ops:
        op.detach()
        outer.insert_op_before(op, kernel)
    for result, value in zip(kernel.res, list(end.operands), strict=True):
        result.replace_all_uses_with(value)
    end.detach()
    end.erase()
    kernel.detach()
    kernel.erase()
