"""Why results may differ that are not wrong: the program does not say what they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from xdsl.dialects.builtin import AnyFloat, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import SSAValue

from lamina.dialects.errors import InputError
from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.kernel_nests import live_rows_of
from lamina.dialects.loop.monoid import Monoid
from lamina.dialects.places import place_of
from lamina.runtime.entry import argument_slots, function_named
from lamina.runtime.interpreters import run_module
from lamina.runtime.interpreters.loop_memory import new_memory_of
from lamina.runtime.interpreters.monoid_laws import verify_laws
from lamina.runtime.interpreters.values import numpy_dtype

_SAMPLES = 8
_TOLERANCES = {"f64": 1e-12, "f32": 1e-5, "bf16": 5e-2, "f16": 1e-2}
"""How far the laws of a monoid may be missed by rounding, by the element type of a value."""

_FILLINGS = (0, 255, 63, 191)
"""Bytes of new memory: zeros, NaN and all bits of integers, positive and negative floats near 1."""


def refuse_undefined(
    module: ModuleOp, arguments: Mapping[str, np.ndarray], difference: InputError
) -> None:
    """InputError, because of a `difference`, if the program does not define its results."""
    _refuse_orders(module, difference)
    refuse_unwritten(module, arguments, difference)


def refuse_uncounted(
    module: ModuleOp,
    arguments: Mapping[str, np.ndarray],
    compare: Callable[[dict[str, np.ndarray]], object],
    difference: InputError,
) -> None:
    """InputError, because of a `difference`, if only rows that do not count in the call differ.

    Code need not write those (`live` of `#loop.nest`), and the interpreter does. `compare` is asked
    once more, with arguments by which all rows count: it raises InputError if results differ there.
    """
    counting = _counting_all(module, arguments)
    if counting is None:
        return
    try:
        compare(counting)
    except InputError:
        return
    raise InputError(
        "check failed: rows that do not count in the call (live of #loop.nest) are not written; "
        "where all of them count, results are equal"
    ) from difference


def _counting_all(
    module: ModuleOp, arguments: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray] | None:
    """Arguments by which all rows of kernels count; None if they do already."""
    function = function_named(module, "main")
    if function is None:
        return None
    slots = zip(function.args, argument_slots(function), strict=True)
    names: dict[SSAValue, str] = {arg: slot.name for arg, slot in slots}
    kernels = {f.sym_name.data: f for f in module.body.block.ops if isinstance(f, FuncOp)}
    changed = {name: array.copy() for name, array in arguments.items()}
    for call in function.walk():
        if not isinstance(call, CallOp) or call.callee.string_value() not in kernels:
            continue
        for nest in kernels[call.callee.string_value()].walk():
            live = live_rows_of(nest) if isinstance(nest, GenericOp) else None
            for digit in () if live is None else live.digits:
                if digit.count is None:
                    continue
                held = changed.get(names.get(call.operands[digit.count], ""))
                if held is not None:
                    needed = -(-digit.extent // digit.factor) * digit.panel
                    np.maximum(held, needed, out=held)
    same = all(np.array_equal(changed[name], array) for name, array in arguments.items())
    return None if same else changed


def _refuse_orders(module: ModuleOp, difference: InputError) -> None:
    """Combining regions that are no monoids: what they give depends on the order."""
    for op in module.walk():
        if not isinstance(op, GenericOp):
            continue
        for monoid in op.monoids:
            tolerance = max(_TOLERANCES.get(str(i.type), 0.0) for i in monoid.identities)  # pyright: ignore
            try:
                verify_laws(monoid, _samples(monoid), tolerance)
            except InputError as error:
                place = place_of(op)
                where = f"{place}: " if place else ""
                raise InputError(f"check failed: {where}the combining region is {error}") from (
                    difference
                )


def _samples(monoid: Monoid) -> list[Any]:
    """Tuples of small positive numbers, of which counts and sums may be made."""
    random = np.random.default_rng(0)
    found: list[Any] = []
    for identity in monoid.identities:
        kind: Any = identity.type  # pyright: ignore[reportAttributeAccessIssue]
        drawn = random.uniform(0.5, 2, _SAMPLES)
        values = drawn if isinstance(kind, AnyFloat) else random.integers(0, 8, _SAMPLES)
        found.append(values.astype(numpy_dtype(kind)))
    return found


def refuse_unwritten(
    module: ModuleOp, arguments: Mapping[str, np.ndarray], difference: InputError | None = None
) -> None:
    """InputError, because of a `difference`, if results depend on memory that nothing has written.

    The interpreter runs the program with other bytes in new memory each time, until results differ:
    a program that counts from such memory may not end for the next ones.
    """
    first = _results(module, arguments, _FILLINGS[0])
    for byte in _FILLINGS[1:]:
        found = _results(module, arguments, byte)
        for number, (one, other) in enumerate(zip(first, found, strict=True)):
            apart = _apart(one, other)
            if apart:
                raise InputError(
                    f"check failed: result {number} depends on memory that nothing has written: "
                    f"{apart[0]} where bytes of new memory are {_FILLINGS[0]}, and "
                    f"{apart[1]} where they are {byte}"
                ) from difference


def _results(module: ModuleOp, arguments: Mapping[str, np.ndarray], byte: int) -> list[np.ndarray]:
    with new_memory_of(byte):
        made = run_module(module, {name: array.copy() for name, array in arguments.items()})
    return [np.asarray(value) for value in made]


def _apart(one: np.ndarray, other: np.ndarray) -> tuple[str, str] | None:
    """What one result says, and the other, where they differ."""
    if one.shape != other.shape:
        return f"it has shape {one.shape}", str(other.shape)
    apart = np.argwhere(~np.isclose(one, other, rtol=0, atol=0, equal_nan=True))
    if not len(apart):
        return None
    place = tuple(apart[0].tolist())
    return f"{list(place)} is {one[place]}", str(other[place])
