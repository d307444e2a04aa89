"""Running a module under the interpreters of its layers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from xdsl.dialects.builtin import MemRefType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.interpreter import Interpreter

from lamina.codegen.target import Target
from lamina.dialects.errors import ArgumentError, InputError, LaminaError, UnsupportedError
from lamina.dialects.loop.open_nests import is_open
from lamina.dialects.narrow_types import CODES
from lamina.dialects.sizes import SizeName
from lamina.lowering.pipeline import SOURCE_LAYERS
from lamina.passes.contracts.argument_sizes import has_open_sizes
from lamina.passes.contracts.declared import arguments_of
from lamina.passes.contracts.entry_attributes import verify_entries
from lamina.passes.sizes.bind_sizes import bind_sizes
from lamina.runtime.call_sizes import CallSizes
from lamina.runtime.dynamic_results import Cutter
from lamina.runtime.entry import as_codes, as_numbers, result_slots
from lamina.runtime.interpreters.philox import stream
from lamina.runtime.interpreters.providers import register_functions
from lamina.runtime.interpreters.values import as_type
from lamina.runtime.layers import layer_of, lower
from lamina.runtime.literals import given_literals
from lamina.runtime.random_state import make_state


def interpreter_for(module: ModuleOp) -> Interpreter:
    """An xDSL interpreter with implementations for the op classes that occur in `module`."""
    from lamina.runtime.interpreters.call_extents import KernelFunctions

    interpreter = Interpreter(module)
    interpreter.register_implementations(KernelFunctions())
    register_functions(interpreter, {type(op) for op in module.walk()})
    return interpreter


def run_module(
    module: ModuleOp,
    args: Sequence[Any] | Mapping[str, Any],
    entry: str = "main",
    *,
    seed: int = 0,
) -> list[Any]:
    """Run function `entry` on NumPy arrays; returns its results in order.

    Works at every layer from aten to scheduled loops. Raises `ArgumentError` for wrong arguments
    and `UnsupportedError` for an op no interpreter knows. Ops that mutate are run in their
    functional form; what they did to arguments is not returned. Arguments go by name if `args` is
    a mapping, else in order: that of `loop_entry.given_slots`, once constants are hoisted or values
    are in memory. Random numbers are those of `seed` at the start of its sequence at every
    layer; the state they come from is neither among the arguments nor among the results.
    """
    verify_entries(module, layer_of(module))
    if _is_lowered(_entry(module, entry)):
        from lamina.runtime.interpreters.loop_entry import run_lowered

        with _errors(), np.errstate(all="ignore"):
            return run_lowered(module, interpreter_for(module), args, seed)
    count = len(_entry(module, entry).function_type.outputs)
    layer = layer_of(module)
    if layer in SOURCE_LAYERS:  # what they mean is said by the layer that they join
        module = module.clone()
        lower(module, layer, SOURCE_LAYERS[layer].joins, Target.host())
    module = _functional(module)
    function = _entry(module, entry)
    types = function.function_type.inputs.data
    literals = given_literals(function)
    if isinstance(args, Mapping):
        args = {**literals, **args}
        args = [args[slot.name] for slot in arguments_of(function) if slot.name in args]
    elif literals:
        rest = iter(args)
        slots = [slot for slot in arguments_of(function) if slot.kind != "seed"]
        filled = [literals[s.name] if s.name in literals else next(rest, None) for s in slots]
        args = [value for value in [*filled, *rest] if value is not None]
    if _takes_state(function):  # always last, and last of the results
        args, count = [*args, make_state(seed)], count - 1
    if len(types) != len(args):
        raise ArgumentError(f"@{entry} takes {len(types)} arguments, {len(args)} given")
    values: list[Any] = []
    for index, (value, declared) in enumerate(zip(args, types, strict=True)):
        try:
            values.append(as_type(as_codes(value), declared))
        except ValueError as error:
            raise ArgumentError(f"argument {index} of @{entry}: {error}") from error
    open_sizes = CallSizes(function) if has_open_sizes(function) else None
    sizes: Mapping[SizeName, int] = {}
    if open_sizes is not None:
        shapes = _shapes(values)
        for place in open_sizes.numbers:
            shapes[place] = (int(values[place]),)
        sizes = open_sizes.of(shapes)
        if layer in ("prims", "loop") or _has_open_nests(function):
            module = module.clone()
            bind_sizes(module, {name.text: value for name, value in sizes.items()})
            function = _entry(module, entry)
    with _errors(), np.errstate(all="ignore"), stream(seed):
        results = list(interpreter_for(module).call_op(function, tuple(values)))[:count]
    if open_sizes is not None:
        open_sizes.check_results(_shapes(results), sizes)
    return _as_given(function, results)


def _has_open_nests(function: FuncOp) -> bool:
    return any(map(is_open, function.walk()))


def _shapes(values: Sequence[Any]) -> list[tuple[int, ...] | None]:
    return [value.shape if isinstance(value, np.ndarray) else None for value in values]


def _as_given(function: FuncOp, results: list[Any]) -> list[Any]:
    """Results as callers get them: of narrow types in place of their codes, and cut to sizes that
    depend on data, where the program returns them padded."""
    attributes = function.res_attrs.data if function.res_attrs is not None else ()
    marks = {"lamina.sizes", "lamina.number", CODES}
    hidden = any(
        a.data.get("lamina.kind") in (StringAttr("size"), StringAttr("check"))
        or marks & set(a.data)
        for a in attributes
    )
    if not hidden:
        return results
    slots = tuple(result_slots(function)[: len(results)])
    return Cutter(slots).cut([as_numbers(*pair) for pair in zip(results, slots, strict=True)])


def _entry(module: ModuleOp, entry: str) -> FuncOp:
    for op in module.ops:
        if isinstance(op, FuncOp) and op.sym_name.data == entry:
            return op
    raise InputError(f"no function @{entry} in the module")


def _is_lowered(function: FuncOp) -> bool:
    """Whether a function is below the structured layer."""
    if any(isinstance(kind, MemRefType) for kind in function.function_type.inputs):
        return True
    return _has_argument(function, "prepared")


def _takes_state(function: FuncOp) -> bool:
    return _has_argument(function, "seed")


def _has_argument(function: FuncOp, kind: str) -> bool:
    attributes = function.arg_attrs.data if function.arg_attrs is not None else ()
    return any(a.data.get("lamina.kind") == StringAttr(kind) for a in attributes)


@contextmanager
def _errors() -> Iterator[None]:
    """The interpreter's errors as Lamina's."""
    from xdsl.utils.exceptions import InterpretationError

    try:
        yield
    except LaminaError as error:
        # xDSL adds the whole program to the error as notes; the message names the place.
        if hasattr(error, "__notes__"):
            error.__notes__.clear()
        raise
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        error.__notes__ = []
        raise InputError("the program writes into an argument that is no result of it") from error
    except InterpretationError as error:
        raise UnsupportedError("interpreter", str(error)) from error


def _functional(module: ModuleOp) -> ModuleOp:
    """`module`, or a functionalized copy if an op of it writes an argument."""
    from lamina.passes.calls.outline_callees import outline_callees
    from lamina.passes.functionalize.functional_forms import written_arguments
    from lamina.passes.functionalize.functionalize import functionalize
    from lamina.passes.functionalize.inline_calls import inline_calls
    from lamina.passes.functionalize.number_arguments import numbers_as_tensors, takes_numbers

    writes = any(op.name.startswith("aten.") and written_arguments(op) for op in module.walk())
    if not writes and not takes_numbers(module):
        return module
    copy = module.clone()
    inline_calls(copy)
    outline_callees(copy)
    numbers_as_tensors(copy)
    if not writes:
        return copy
    for function in copy.ops:
        if isinstance(function, FuncOp) and function.body.blocks:
            functionalize(function)
    return copy
