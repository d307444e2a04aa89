"""`outline-literals`: tensors that a program writes out become nests, or constants that are bound.

A literal of one value all over is a nest that stores it, and so costs nothing where it is read. Any
other becomes an argument of the entry, of kind `constant`, whose value stands beside its name
(`lamina.value`): the program holds it as it holds weights, packed or folded once. One in a region
of a branch or a loop is handed in.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from xdsl.context import Context
from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import (
    ArrayAttr,
    Builtin,
    BytesAttr,
    ComplexType,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    DictionaryAttr,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from lamina.dialects.control import RegionOp
from lamina.dialects.op_list import list_ops
from lamina.dialects.stablehlo.op import HloOp
from lamina.passes.contracts.declared import arguments_of
from lamina.passes.contracts.entry_attributes import VALUE
from lamina.passes.refusal import invalid, unsupported

NAME = "lamina.name"
_STEM = "literal"
_ALIGNMENT_BYTES = 4
"""In front of a resource's data stands how it is aligned."""


class OutlineLiteralsPass(ModulePass):
    """Make nests and bound arguments of `arith.constant` on tensors."""

    name = "outline-literals"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        name_literals(op)
        for literal in list(literals(op)):
            value = value_of(literal)
            if _is_nest(literal, value):
                _make_nest(literal, value)
            else:
                _make_argument(literal, value)


Literal = arith.ConstantOp | HloOp
"""A tensor that a program writes out, of `arith`, or of StableHLO before it is lowered."""


def literals(module: ModuleOp) -> Iterator[Literal]:
    """The constants of a program that are tensors."""
    for op in list_ops(module):
        is_literal = type(op) is arith.ConstantOp or op.name == "stablehlo.constant"
        if is_literal and isinstance(op.results[0].type, TensorType):
            assert isinstance(op, arith.ConstantOp | HloOp)
            yield op


def _written(literal: Literal) -> Attribute:
    value = literal.properties.get("value", literal.attributes.get("value"))
    if value is None:
        raise invalid(literal, "has no value")
    return value


def name_literals(module: ModuleOp) -> dict[str, DenseIntOrFPElementsAttr]:
    """Gives literals that become arguments names of their own; their values by name.

    Raises InputError for a resource that the text does not have, or not in full.
    """
    written = list(literals(module))
    if not written:
        return {}
    functions = [op for op in module.body.block.ops if isinstance(op, func.FuncOp)]
    taken = {argument.name for function in functions for argument in arguments_of(function)}
    found: dict[str, DenseIntOrFPElementsAttr] = {}
    number = 0
    for literal in written:
        value = value_of(literal)
        if _is_nest(literal, value):
            continue
        given = literal.attributes.get(NAME)
        if not isinstance(given, StringAttr) or given.data in taken:
            while f"{_STEM}{number}" in taken:
                number += 1
            given = literal.attributes[NAME] = StringAttr(f"{_STEM}{number}")
        taken.add(given.data)
        found[given.data] = value
    return found


def value_of(literal: Literal) -> DenseIntOrFPElementsAttr:
    """The elements of a literal; InputError for one that has none."""
    value = _written(literal)
    if isinstance(value, DenseIntOrFPElementsAttr):
        return value
    if not isinstance(value, DenseResourceAttr):
        raise invalid(literal, f"{value} is no literal of a tensor")
    kind = literal.results[0].type
    assert isinstance(kind, TensorType)
    storage = Builtin.get_interface(OpAsmDialectInterface)
    handle = value.resource_handle.data
    text = storage.lookup(handle) if storage is not None else None
    try:
        data = bytes.fromhex((text or "").removeprefix("0x"))[_ALIGNMENT_BYTES:]
        made = DenseIntOrFPElementsAttr(kind, BytesAttr(data))
        made.verify()
        if len(data) != prod(kind.get_shape()) * kind.element_type.compile_time_size:
            raise ValueError(f"{len(data)} bytes for {kind}")
    except Exception as error:
        raise invalid(literal, f"resource '{handle}' does not hold the tensor: {error}") from error
    return made


def _is_nest(literal: Literal, value: DenseIntOrFPElementsAttr) -> bool:
    if isinstance(_written(literal), DenseResourceAttr) or not len(value):
        return False
    return not isinstance(value.get_element_type(), ComplexType) and value.is_splat()


def _make_nest(literal: Literal, value: DenseIntOrFPElementsAttr) -> None:
    from lamina.lowering.prims_to_loop.table import LoopBuilder

    element, shape = value.get_element_type(), list(value.get_shape())
    b = LoopBuilder(literal)
    first = next(iter(value.iter_values()))
    assert isinstance(first, int | float)
    made = b.pointwise([], element, lambda body, _: body.constant(first, element), shape)
    made.name_hint = literal.results[0].name_hint
    Rewriter.replace_op(literal, [], [made])


def _make_argument(literal: Literal, value: DenseIntOrFPElementsAttr) -> None:
    while isinstance(holder := literal.parent_op(), RegionOp):
        _hoist(literal, holder)
    function = literal.parent_op()
    if not isinstance(function, func.FuncOp) or _is_private(function):
        raise unsupported(
            literal,
            "a literal of several values inside a function that is no entry",
            "the literal outside of it, as an operand of its calls",
        )
    arguments = arguments_of(function)
    place = next((a.number for a in arguments if a.kind == "seed"), len(arguments))
    entries = [DictionaryAttr(argument.entries) for argument in arguments]
    entries.insert(
        place,
        DictionaryAttr(
            {"lamina.kind": StringAttr("constant"), NAME: literal.attributes[NAME], VALUE: value}
        ),
    )
    argument = function.body.block.insert_arg(literal.results[0].type, place)
    argument.name_hint = literal.results[0].name_hint or _text(literal.attributes[NAME])
    Rewriter.replace_op(literal, [], [argument])
    function.properties["arg_attrs"] = ArrayAttr(entries)
    function.update_function_type()


def _hoist(literal: Literal, holder: RegionOp) -> None:
    """Moves a literal in front of the branch or loop in whose region it stands, which takes it."""
    result, inside = literal.results[0], literal.parent
    regions = [holder.detach_region(region) for region in list(holder.regions)]
    for region in regions:
        taken = region.block.insert_arg(result.type, len(region.block.args))
        taken.name_hint = result.name_hint
        if region.block is inside:
            result.replace_all_uses_with(taken)
    literal.detach()
    *others, given = holder.groups
    made = holder.build_from([*others, [*given, result]], list(holder.result_types), regions)
    made.attributes.update(holder.attributes)
    made.location = holder.location
    Rewriter.insert_op(literal, InsertPoint.before(holder))
    Rewriter.replace_op(holder, made)


def _is_private(function: func.FuncOp) -> bool:
    visibility = function.sym_visibility
    return visibility is not None and visibility.data == "private"


def _text(name: Attribute) -> str:
    assert isinstance(name, StringAttr)
    return name.data
