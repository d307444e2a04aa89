"""What makes a program one of MLIR's own dialects: no attributes of ours, signless integers."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    Signedness,
    TensorType,
    VectorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from lamina.passes.refusal import unsupported

OWN = ("aten", "core_aten", "prims", "loop", "control")
"""Dialects of Lamina's own; attributes of theirs, and of `lamina`, are dropped."""


def drop_own_attributes(module: ModuleOp) -> None:
    """Drop `lamina.*` and `loop.*` attributes of ops, arguments and results."""
    for op in module.walk():
        for name in [n for n in op.attributes if _is_own(n)]:
            del op.attributes[name]
        if isinstance(op, FuncOp):
            for held in ("arg_attrs", "res_attrs"):
                _drop_entries(op, held)


def _is_own(name: str) -> bool:
    return name.partition(".")[0] in ("lamina", *OWN)


def _drop_entries(function: FuncOp, held: str) -> None:
    given = function.properties.get(held)
    if not isinstance(given, ArrayAttr):
        return
    entries = [
        {name: value for name, value in entry.data.items() if not _is_own(name)}
        for entry in given
        if isinstance(entry, DictionaryAttr)
    ]
    if any(entries):
        function.properties[held] = ArrayAttr([DictionaryAttr(entry) for entry in entries])
    else:
        del function.properties[held]


def signless(kind: Attribute) -> Attribute:
    """A type with signless integers: MLIR's ops say themselves what is unsigned."""
    if isinstance(kind, IntegerType):
        is_signless = kind.signedness.data == Signedness.SIGNLESS
        return kind if is_signless else IntegerType(kind.width.data)
    if isinstance(kind, TensorType):
        return TensorType(signless(kind.element_type), kind.get_shape(), kind.encoding)
    if isinstance(kind, MemRefType):
        element = signless(kind.element_type)
        return MemRefType(element, kind.get_shape(), kind.layout, kind.memory_space)
    if isinstance(kind, VectorType):
        return VectorType(signless(kind.element_type), kind.get_shape(), kind.scalable_dims)
    if isinstance(kind, FunctionType):
        return FunctionType.from_lists(
            list(map(signless, kind.inputs)), list(map(signless, kind.outputs))
        )
    if isinstance(kind, DenseIntOrFPElementsAttr):
        made = signless(kind.type)
        return kind if made == kind.type else DenseIntOrFPElementsAttr(made, kind.data)  # pyright: ignore
    if isinstance(kind, IntegerAttr):
        made = signless(kind.type)
        return kind if made == kind.type else IntegerAttr(kind.value.data, made)  # pyright: ignore
    return kind


def make_signless(module: ModuleOp) -> None:
    """Give every value and attribute of a program its signless type."""
    for op in module.walk():
        for value in (*op.results, *_arguments(op)):
            made = signless(value.type)
            if made != value.type:
                Rewriter.replace_value_with_new_type(value, made)
        for held in (op.properties, op.attributes):
            for name, attribute in held.items():
                held[name] = signless(attribute)
    for op in list(module.walk()):
        if isinstance(op, arith.BitcastOp) and op.input.type == op.result.type:
            op.result.replace_all_uses_with(op.input)
            op.detach()
            op.erase()


def _arguments(op: Operation) -> Iterable[SSAValue]:
    return [argument for region in op.regions for b in region.blocks for argument in b.args]


def verify_pure(module: ModuleOp) -> None:
    """Raises UnsupportedError for an op of Lamina's own that is left."""
    for op in module.walk():
        if op.name.partition(".")[0] in OWN:
            raise unsupported(op, "has no form in MLIR's own dialects")
