"""Running programs below the structured layer: `@setup`, prepared arguments, results in memory.

After `hoist-constants` the main function takes what `@setup` prepares; after `bufferize` results
are arguments too, and after `plan-memory` so is scratch memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.interpreter import Interpreter

from lamina.dialects.errors import ArgumentError
from lamina.runtime.dynamic_results import Cutter
from lamina.runtime.entry import (
    OUTPUT_KINDS,
    Slot,
    argument_slots,
    as_codes,
    as_numbers,
    function_named,
    result_slots,
)
from lamina.runtime.interpreters.call_extents import compact
from lamina.runtime.interpreters.loop_memory import allocate
from lamina.runtime.literals import given_literals
from lamina.runtime.random_state import make_state

_RESULTS = (*OUTPUT_KINDS, "mutation")
_MEMORY = (*_RESULTS, "arena", "extern", "poll")
"""Kinds of arguments that are new memory in every call, whatever their names."""

MADE_KINDS = ("prepared", *_MEMORY, "seed")
"""Kinds of arguments that a caller of the program does not give."""


def given_slots(module: ModuleOp) -> list[Slot]:
    """The program's own arguments: those of `@main`, then what only `@setup` takes; no literals."""
    found: dict[str, Slot] = {}
    for function in _entries(module):
        literals = given_literals(function)
        for slot in argument_slots(function):
            if slot.kind not in MADE_KINDS and slot.name not in literals:
                found.setdefault(slot.name, slot)
    return list(found.values())


def _entries(module: ModuleOp) -> list[FuncOp]:
    found = [function_named(module, name) for name in ("main", "setup")]
    return [function for function in found if function is not None]


def run_lowered(
    module: ModuleOp,
    interpreter: Interpreter,
    args: Sequence[Any] | Mapping[str, Any],
    seed: int = 0,
) -> list[Any]:
    """Run `@setup`, then `@main`; returns the results of `@main` in order.

    The random state starts the sequence of `seed`, and its new value is no result.

    Arguments go by name, or in the order of `given_slots`. Raises `ArgumentError` if their count,
    names or shapes are wrong and `ExecutionError` for an access outside a buffer.
    """
    slots = given_slots(module)
    if not isinstance(args, Mapping):
        if len(args) != len(slots):
            raise ArgumentError(f"the program takes {len(slots)} arguments, {len(args)} given")
        args = dict(zip((s.name for s in slots), args, strict=True))
    values = {slot.name: _checked(slot, args) for slot in slots}
    values |= {n: v for function in _entries(module) for n, v in given_literals(function).items()}
    setup = function_named(module, "setup")
    if setup is not None:
        made = _call(interpreter, setup, values)
        values |= {slot.name: value for slot, value in made if slot.kind == "prepared"}
    main = function_named(module, "main")
    assert main is not None
    states = [slot.name for slot in argument_slots(main) if slot.kind == "seed"]
    values |= {name: make_state(seed) for name in states}
    for slot in argument_slots(main):
        if slot.in_place:
            values[slot.target or ""].flags.writeable = True
    made = [
        (slot, value)
        for slot, value in _call(interpreter, main, values)
        if slot.kind in _RESULTS and slot.target not in states
    ]
    results = [as_numbers(value, slot) for slot, value in made]
    return Cutter(tuple(slot for slot, _ in made)).cut(results)


def _checked(slot: Slot, args: Mapping[str, Any]) -> Any:
    if slot.name not in args:
        raise ArgumentError(f"no argument '{slot.name}' ({slot.type_text})")
    value = as_codes(np.array(args[slot.name], slot.numpy_dtype, order="C"))
    if value.shape != slot.shape:
        raise ArgumentError(f"argument '{slot.name}': {slot.type_text} expected, not {value.shape}")
    # A program that writes its inputs is wrong: NumPy refuses then.
    value.flags.writeable = False
    return value


def _call(
    interpreter: Interpreter, function: FuncOp, values: Mapping[str, Any]
) -> list[tuple[Slot, Any]]:
    """What a function makes, in order, whether it writes it or returns it.

    Arguments are given by name; results may be named as one of these, or as each other.
    """
    given: list[Any] = []
    made: list[tuple[Slot, Any]] = []
    slots = argument_slots(function)
    for slot, kind in zip(slots, function.function_type.inputs, strict=True):
        if slot.kind not in _MEMORY and slot.name in values:
            given.append(compact(slots, slot, values))
        else:
            given.append(allocate(kind))
            made.append((slot, given[-1]))
            if slot.in_place:
                made[-1] = (slot, values[slot.target or ""])
    returned = interpreter.call_op(function, tuple(given))
    made += zip(result_slots(function), returned, strict=True)
    return made
