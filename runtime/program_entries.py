"""The public functions of a program, each an entry that is compiled on its own."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp, StringAttr

from lamina.dialects.errors import InputError
from lamina.lowering.linalg_to_loop.linalg_number_arguments import held_numbers
from lamina.lowering.pipeline import ENTERING
from lamina.passes.calls.outline_callees import leave_called, outline_callees
from lamina.passes.functionalize.inline_calls import (
    inline_calls,
    inlined_functions,
    public_functions,
)
from lamina.passes.functionalize.number_arguments import numbers_as_tensors
from lamina.runtime.entry import function_named
from lamina.runtime.layers import layer_of

MAIN = "main"

_NUMBERS: dict[str, Callable[[ModuleOp], object]] = {
    "aten": numbers_as_tensors,
    "linalg": held_numbers,
}
"""By layer, what puts tensors in the place of numbers that public functions take and give."""


def split_entries(module: ModuleOp) -> dict[str, ModuleOp]:
    """Leaves `@main` and what it calls in a module; gives a module for each other public function.

    In those the function is called `@main`. At layers whose functions are kernels nothing happens.
    Raises as `inline_calls`.
    """
    layer = layer_of(module)
    if layer not in ENTERING:
        return {}
    names = [name for name in public_functions(module) if name != MAIN]
    inline_calls(module)
    outline_callees(module)
    if layer in _NUMBERS:
        _NUMBERS[layer](module)
    others = {name: only_entry(module.clone(), name) for name in names}
    _leave_only(module, MAIN)
    return others


def with_main(module: ModuleOp, verb: str = "compile") -> ModuleOp:
    """The module, whose only public function becomes `@main` where none is called so.

    Raises InputError, saying what was to be done with `@main`, where there are several or none.
    """
    if function_named(module, MAIN) is not None:
        return module
    names = public_functions(module)
    if len(names) == 1 and layer_of(module) in ENTERING:
        return only_entry(module, names[0])
    others = f"; public are {', '.join(f'@{name}' for name in names)}" if names else ""
    raise InputError(f"there is no function @main to {verb}{others}")


def only_entry(module: ModuleOp, name: str) -> ModuleOp:
    """The module, with the public function of that name as `@main` and no other entry.

    Raises InputError if there is none.
    """
    found = public_functions(module)
    if name not in found:
        raise InputError(f"no public function is called @{name}; there are {', '.join(found)}")
    inline_calls(module)
    outline_callees(module)
    _leave_only(module, name)
    inlined_functions(module)[name].properties["sym_name"] = StringAttr(MAIN)
    return module


def _leave_only(module: ModuleOp, name: str) -> None:
    for other, function in inlined_functions(module).items():
        if other != name:
            function.detach()
            function.erase()
    leave_called(module)
