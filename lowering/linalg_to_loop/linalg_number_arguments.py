"""`linalg-number-arguments`: numbers of a program, outside of bodies; tensors of rank 0 hold them.

Where a number stands in the text of the program, a cast from the tensor stands for it
(`builtin.unrealized_conversion_cast`) until all that reads it is lowered.
"""

from __future__ import annotations

from typing import Any

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    IndexType,
    ModuleOp,
    TensorType,
    UnrealizedConversionCastOp,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, SSAValue
from xdsl.passes import ModulePass

from lamina.passes.functionalize.inline_calls import inlined_functions, public_functions
from lamina.passes.functionalize.number_arguments import is_number


class LinalgNumberArgumentsPass(ModulePass):
    """Take and give tensors of rank 0 in the place of numbers, in public functions."""

    name = "linalg-number-arguments"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        held_numbers(op)


def held_type(kind: Attribute) -> TensorType:
    """The tensor that holds a number; positions are held as i64."""
    return TensorType(i64 if isinstance(kind, IndexType) else kind, [])


def tensor_behind(value: SSAValue) -> SSAValue | None:
    """The tensor of rank 0 that holds a number which is computed; None for any other value."""
    owner = value.owner
    return owner.operands[0] if isinstance(owner, UnrealizedConversionCastOp) else None


def held_numbers(module: ModuleOp) -> None:
    """Public functions of a program take and give tensors in the place of numbers."""
    functions = inlined_functions(module)
    for name in public_functions(module):
        function = functions[name]
        block = function.body.block
        for argument in [a for a in block.args if is_number(a.type)]:
            _hold(function, block, argument)
        end = block.last_op
        for index, value in enumerate(end.operands if end is not None else ()):
            if is_number(value.type):
                assert end is not None
                held = UnrealizedConversionCastOp.get([value], [held_type(value.type)])
                held.location = end.location
                block.insert_op_before(held, end)
                end.operands[index] = held.results[0]
        function.update_function_type()


def _hold(function: func.FuncOp, block: Block, argument: BlockArgument) -> None:
    tensor: Any = block.insert_arg(held_type(argument.type), argument.index)
    tensor.name_hint = argument.name_hint
    cast = UnrealizedConversionCastOp.get([tensor], [argument.type])
    cast.location = function.location
    first = block.first_op
    assert first is not None, "a function ends in an op"
    block.insert_op_before(cast, first)
    argument.replace_all_uses_with(cast.results[0])
    block.erase_arg(argument)
