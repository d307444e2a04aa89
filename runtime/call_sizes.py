"""Checks, when a program is called, of the sizes that types of its arguments leave open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.func import FuncOp

from lamina.dialects.errors import ArgumentError, ExecutionError
from lamina.dialects.sizes import Extent, Size, SizeName
from lamina.passes.contracts.argument_sizes import shape_of, size_names
from lamina.passes.contracts.declared import arguments_of, results_of


def sizes_of_call(
    function: FuncOp, shapes: Sequence[tuple[int, ...] | None]
) -> dict[SizeName, int]:
    """The value of each named size, by the shapes of a call's arguments, which fit their types.

    A shape is None for a number. Raises ArgumentError naming argument, dimension, range and value
    where a size is out of its range, or where two dimensions contradict each other.
    """
    arguments = arguments_of(function)
    names = size_names(arguments)
    found: dict[SizeName, tuple[int, str]] = {}
    for declared, shape in zip(arguments, shapes, strict=True):
        if shape is None:
            continue
        for dim, (size, given) in enumerate(zip(shape_of(declared, names), shape, strict=True)):
            if isinstance(size, Size):
                _bind(size, given, f"dimension {dim} of argument '{declared.name}'", found)
    return {name: value for name, (value, _) in found.items()}


def _bind(size: Size, given: int, place: str, found: dict[SizeName, tuple[int, str]]) -> None:
    solved = size.solve(given)
    if solved is None:
        raise ArgumentError(f"{place} is {given}: no integer makes it {size}")
    name, value = solved
    known, first = found.setdefault(name, (value, place))
    if known != value:
        is_name = size == Size.of(name)
        wanted = size.at({name: known})
        because = f"and {first} makes '{name.text}' {known}"
        raise ArgumentError(
            f"{place} is {given}; it is '{name.text}', {because}"
            if is_name
            else f"{place} is {given}; it is {size}, which is {wanted}, {because}"
        )
    if not name.range.holds(value):
        if size == Size.of(name):
            raise ArgumentError(f"{place} is {given}: '{name.text}' is in {name.range}")
        raise ArgumentError(
            f"{place} is {given}: it is {size}, '{name.text}' is {value} then, and not in "
            f"{name.range}"
        )


def check_results(
    function: FuncOp,
    shapes: Sequence[tuple[int, ...] | None],
    sizes: Mapping[SizeName, int],
) -> None:
    """Results have the sizes that `lamina.dims` says. Raises ExecutionError for another one."""
    names = size_names(arguments_of(function))
    # The random state that a program gives back, the last result, is not among the shapes.
    for declared, shape in zip(results_of(function), shapes, strict=False):
        if shape is None:
            continue
        for dim, (said, given) in enumerate(zip(shape_of(declared, names), shape, strict=True)):
            wanted: Extent = said.at(sizes) if isinstance(said, Size) else given
            if wanted != given:
                raise ExecutionError(
                    f"dimension {dim} of result '{declared.name}' is {given}; it is {said}, which "
                    f"is {wanted}"
                )
