"""`number-arguments`: numbers that an entry takes become tensors of rank 0, which memory can hold.

Public functions of tensor layers may take numbers (`f32`, `i64`, ...). In their place stand tensors
of those types, and `aten.item` reads them, in the precision of ATen's numbers: f64 and i64. An op
of `core_aten` or `prims` that reads one becomes the op of `aten` that it is. Numbers that are sizes
(`lamina.dims`) stay until sizes are bound or bounded.
"""

from __future__ import annotations

from typing import Any

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    AnyFloat,
    IndexType,
    IntegerType,
    ModuleOp,
    TensorType,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from lamina.dialects import aten
from lamina.dialects.schema.op import SchemaOp
from lamina.passes.contracts.argument_sizes import sizes_among
from lamina.passes.functionalize.inline_calls import inlined_functions, public_functions
from lamina.passes.refusal import unsupported

ATEN_NUMBERS: tuple[Attribute, ...] = (f64, i64, i1)
"""Types of numbers that ATen's ops give and take."""


class NumberArgumentsPass(ModulePass):
    """Take tensors of rank 0 in the place of numbers, in public functions."""

    name = "number-arguments"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        numbers_as_tensors(op)


def numbers_as_tensors(module: ModuleOp) -> None:
    """Changes the public functions of a program. Raises UnsupportedError for a number of another
    width than ATen's that something else than an op of ATen reads."""
    functions = inlined_functions(module)
    for name in public_functions(module):
        function = functions[name]
        sizes = sizes_among(function)
        arguments = function.body.block.args
        numbers = [a for a in arguments if is_number(a.type) and a.index not in sizes]
        for argument in numbers:
            _change(function, argument)
        if numbers:
            function.update_function_type()


def takes_numbers(module: ModuleOp) -> bool:
    """Whether a public function of a program takes a number."""
    functions = inlined_functions(module)
    return any(
        is_number(kind) and place not in sizes_among(functions[name])
        for name in public_functions(module)
        for place, kind in enumerate(functions[name].function_type.inputs)
    )


def is_number(kind: Attribute) -> bool:
    """Whether a type is that of a float or an integer."""
    return not isinstance(kind, TensorType) and isinstance(kind, AnyFloat | IntegerType | IndexType)


def _change(function: func.FuncOp, argument: BlockArgument) -> None:
    block = function.body.block
    uses = list(argument.uses)
    given = argument.type
    held = i64 if isinstance(given, IndexType) else given
    wide = given if given in ATEN_NUMBERS else f64 if isinstance(given, AnyFloat) else i64
    for use in uses:
        if wide != given and not isinstance(use.operation, SchemaOp):
            raise unsupported(use.operation, f"reads a number of {given}", f"a number of {wide}")
    for reader in dict.fromkeys(use.operation for use in uses):
        _raise_to_aten(reader)
    uses = list(argument.uses)
    tensor: Any = block.insert_arg(TensorType(held, []), argument.index)
    tensor.name_hint = argument.name_hint
    if uses:
        number = _read(block, tensor, held, wide)
        for use in uses:
            use.operation.operands[use.index] = number
    block.erase_arg(argument)


_PRIMITIVES: dict[str, tuple[str, tuple[str, ...]]] = {
    "prims.full": ("full.default", ("shape", "fill_value")),
    "prims.full_like": ("full_like.default", ("a", "fill_value")),
    "prims.fill": ("fill.Scalar", ("self", "value")),
    "prims.scalar_tensor": ("scalar_tensor.default", ("s",)),
}
"""Primitives that take numbers, as ops of ATen, and their arguments in its order."""


def _raise_to_aten(op: Operation) -> None:
    """Puts the op of `aten` in the place of one of a layer below, which reads a number.

    Raises UnsupportedError where `aten` has none.
    """
    dialect, _, name = op.name.partition(".")
    if not isinstance(op, SchemaOp) or dialect == "aten":
        return
    if dialect == "core_aten":
        same = aten.op(name)
        made = same.create(
            operands=op.operands,
            result_types=[result.type for result in op.results],
            properties=op.properties,
            attributes=op.attributes,
        )
    elif op.name in _PRIMITIVES:
        name, arguments = _PRIMITIVES[op.name]
        build: Any = aten.op(name)
        kind = op.results[0].type
        assert isinstance(kind, TensorType)
        options = {} if name == "fill.Scalar" else {"dtype": kind.element_type}
        made = build(*map(op.arg, arguments), result_types=[kind], **options)
    else:
        raise unsupported(op, "reads a number", f"{', '.join(_PRIMITIVES)} of it")
    made.location = op.location
    Rewriter.replace_op(op, made)


def _read(block: Any, tensor: SSAValue, held: Attribute, wide: Attribute) -> SSAValue:
    made: list[Operation] = []
    if held != wide:
        convert: Any = aten.op("_to_copy.default")
        made.append(convert(tensor, dtype=wide))
    item: Any = aten.op("item.default")
    made.append(item(made[-1].results[0] if made else tensor, result_types=[wide]))
    first = block.first_op
    for op in made:
        if first is None:
            block.add_op(op)
        else:
            block.insert_op_before(op, first)
    return made[-1].results[0]
