"""What calls pass and get, by what a function declares, sizes that are open included."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Region

from lamina.dialects.errors import UnsupportedError
from lamina.passes.contracts.declared import Declared, arguments_of, results_of
from lamina.passes.contracts.entry_attributes import CONSTANT_KINDS, VALUE
from lamina.runtime.entry import Slot, element_name


def passed_arguments(main: FuncOp, bound: Collection[str]) -> list[Declared]:
    """The arguments that calls pass. Raises UnsupportedError for constants of open sizes."""
    passed: list[Declared] = []
    for declared in arguments_of(main):
        shape = declared.type.get_shape() if isinstance(declared.type, TensorType) else ()
        if declared.name not in bound:
            if declared.kind in ("input", *CONSTANT_KINDS) and VALUE not in declared.entries:
                passed.append(declared)
        elif DYNAMIC_INDEX in shape:
            raise UnsupportedError(
                f"'{declared.name}'",
                f"a constant of type {declared.type} has sizes that are not known",
                nearest="the type of what is bound to it",
            )
    return passed


def slot_of(declared: Declared) -> Slot:
    """What a call passes or gets; sizes that are open are -1."""
    kind = declared.type
    if not isinstance(kind, TensorType):
        return Slot(declared.name, declared.kind, str(kind), (), is_number=True)
    shape = tuple(-1 if extent < 0 else extent for extent in kind.get_shape())
    return Slot(declared.name, declared.kind, element_name(kind.element_type), shape)


def declaration_of(main: FuncOp, arguments: Sequence[Declared]) -> str:
    """The text of a program whose `@main` takes these arguments, gives what `main` does, and has
    no ops: what `passed_arguments`, `slot_of` and `CallSizes` ask of it is the same."""
    entries = [
        {
            **{name: entry for name, entry in one.entries.items() if name != VALUE},
            "lamina.name": StringAttr(one.name),
            "lamina.kind": StringAttr(one.kind),
        }
        for one in arguments
    ]
    function = FuncOp(
        "main",
        FunctionType.from_lists(
            [one.type for one in arguments], [one.type for one in results_of(main)]
        ),
        Region(Block(arg_types=[one.type for one in arguments])),
        arg_attrs=ArrayAttr([DictionaryAttr(one) for one in entries]),
        res_attrs=main.res_attrs,
    )
    return str(ModuleOp([function]))
