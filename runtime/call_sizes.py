"""Checks, when a program is called, of the sizes that types of its arguments leave open."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import prod
from typing import Any

from xdsl.dialects.func import FuncOp

from lamina.dialects.errors import ArgumentError, ExecutionError, OutOfMemoryError
from lamina.dialects.sizes import MOST_SIZE, Extent, Size, SizeName, telling
from lamina.passes.contracts.argument_sizes import is_size, shape_of, size_names
from lamina.passes.contracts.declared import Declared, arguments_of, results_of
from lamina.runtime.arguments import (
    check_count,
    is_foreign,
    is_number,
    kind_name,
    shape_error,
    size_value,
    wrong_kind,
)
from lamina.runtime.entry import Slot

Shapes = Sequence[tuple[int, ...] | None]
"""Of the arguments or results of a call; None for a number, or that alone if it is a size."""


class SizeArgumentError(ArgumentError):
    """Sizes of a call's arguments that are out of their ranges, or contradict each other."""


class CallSizes:
    """The sizes of a function's arguments, as calls give them."""

    def __init__(self, function: FuncOp, arguments: Sequence[Declared] | None = None) -> None:
        arguments = arguments_of(function) if arguments is None else arguments
        self.names = size_names(arguments_of(function))
        self._results = [one for one in results_of(function) if one.kind == "output"]
        self._shapes = [shape_of(declared, self.names) for declared in arguments]
        self._open: list[tuple[int, int, str, Size]] = []
        self.numbers = {place for place, one in enumerate(arguments) if is_size(one)}
        """The positions of arguments that are sizes themselves."""
        for position, (declared, shape) in enumerate(zip(arguments, self._shapes, strict=True)):
            for dim, size in enumerate(shape):
                if isinstance(size, Size):
                    where = "" if position in self.numbers else f"dimension {dim} of "
                    place = f"{where}argument '{declared.name}'"
                    self._open.append((position, dim, place, size))
        order, _ = telling([size for _, _, _, size in self._open])
        self._telling = [self._open[place] for place in order]

    def of(self, shapes: Shapes) -> dict[SizeName, int]:
        """The value of each named size, by shapes of arguments, which fit their types.

        Raises SizeArgumentError naming argument, dimension, range and value where a size is out of
        its range, or where two dimensions contradict each other.
        """
        found: dict[SizeName, tuple[int, str]] = {}
        for position, dim, place, size in self._telling:
            shape = shapes[position]
            if shape is not None:
                _bind(size, shape[dim], place, found)
        return {name: found[name][0] for name in self.names.values()}

    def padded(
        self, shapes: Shapes, sizes: Mapping[SizeName, int], bounds: Mapping[str, int]
    ) -> Iterator[tuple[int, list[int]]]:
        """What arguments of these sizes become in a version for sizes up to `bounds`: positions and
        shapes of those that do not fill theirs."""
        if all(bounds[name.text] == size for name, size in sizes.items()):
            return
        most = {name: bounds[name.text] for name in sizes}
        wanted: dict[int, list[int]] = {}
        for position, dim, _, size in self._open:
            if position in self.numbers:
                continue
            shape, extent = shapes[position], size.at(most)
            assert shape is not None and isinstance(extent, int)
            if extent != shape[dim]:
                wanted.setdefault(position, list(shape))[dim] = extent
        yield from wanted.items()

    def place_of(self, name: str) -> str:
        """The argument, and its dimension, that tells a size."""
        alone = Size.of(self.names[name])
        places = [place for _, _, place, size in self._open if self.names[name] in size.names]
        return next((place for _, _, place, size in self._open if size == alone), places[0])

    def extents(self) -> Iterator[tuple[int, int, Size]]:
        """The open dimensions of arguments: position, dimension, and size. An argument that is a
        size itself has dimension 0."""
        for position, dim, _, size in self._open:
            yield position, dim, size

    def elements(self, sizes: Mapping[str, int], growing: Collection[str] = ()) -> int:
        """How many elements arguments with open dimensions have together, but for those that have
        sizes which are `growing`."""
        values = {name: sizes[text] for text, name in self.names.items()}
        shapes = [
            [size.at(values) if isinstance(size, Size) else size for size in shape]
            for position, shape in enumerate(self._shapes)
            if position not in self.numbers and self._is_open(shape, growing)
        ]
        return sum(prod(map(int, shape)) for shape in shapes)  # pyright: ignore

    @staticmethod
    def _is_open(shape: Sequence[Extent], growing: Collection[str]) -> bool:
        """Whether a shape has sizes, and none of those that grow."""
        names = {name.text for size in shape if isinstance(size, Size) for name in size.names}
        return bool(names) and names.isdisjoint(growing)

    def blamed(self, error: OutOfMemoryError, sizes: Mapping[SizeName, int]) -> OutOfMemoryError:
        """The error of a call for which there is no memory, with what makes that so much: the sizes
        of the result that it is of, or all."""
        names = set(self.names.values())
        if error.result is not None and error.result < len(self._results):
            shape = shape_of(self._results[error.result], self.names)
            own = {name for size in shape if isinstance(size, Size) for name in size.names}
            names = own & names or names
        lines = [
            f"  {self.place_of(name.text)} makes '{name.text}' {sizes[name]}, in {name.range}"
            for name in self.names.values()
            if name in names
        ]
        return OutOfMemoryError("\n".join([str(error), *lines]), error.result)

    def check_results(self, shapes: Shapes, sizes: Mapping[SizeName, int]) -> None:
        """Results have the sizes that `lamina.dims` says. Raises ExecutionError for another one."""
        # The random state that a program gives back, the last result, is not among the shapes.
        for declared, shape in zip(self._results, shapes, strict=False):
            said = shape_of(declared, self.names)
            for dim, (size, given) in enumerate(zip(said, shape or (), strict=shape is not None)):
                wanted: Extent = size.at(sizes) if isinstance(size, Size) else given
                if wanted != given:
                    raise ExecutionError(
                        f"dimension {dim} of result '{declared.name}' is {given}; it is {size}, "
                        f"which is {wanted}"
                    )


def call_shapes(
    values: Sequence[Any], slots: Sequence[Slot], numbers: Collection[int] = ()
) -> list[tuple[int, ...]]:
    """Shapes of a call's arrays, which fit their types, with -1 in slots for what is open.

    Of an argument that is a size itself, at the positions `numbers`, that is the only extent.
    Raises ArgumentError for others.
    """
    check_count(slots, len(values))
    shapes: list[tuple[int, ...]] = []
    for position, (value, slot) in enumerate(zip(values, slots, strict=True)):
        if kind_name(value) is None and not is_number(value) and not is_foreign(value):
            raise wrong_kind(position, slot, value, None)
        if position in numbers:
            shapes.append((size_value(position, slot, value),))
            continue
        shape = tuple(getattr(value, "shape", ()))
        pairs = zip(shape, slot.shape, strict=False)
        if len(shape) != len(slot.shape) or any(e >= 0 and g != e for g, e in pairs):
            raise shape_error(position, slot, shape)
        shapes.append(shape)
    return shapes


def _bind(size: Size, given: int, place: str, found: dict[SizeName, tuple[int, str]]) -> None:
    """Note the name that an extent tells, or check what follows from names that others tell."""
    told = {name: found[name][0] for name in size.names if name in found}
    is_told = len(told) == len(size.names)
    if is_told and size.at(told) == given:
        return
    if is_told and not size.is_linear:
        raise _contradiction(size, given, place, found)
    left = size if size.is_linear else size.at(told)
    solved = left.solve(given) if isinstance(left, Size) else None
    if solved is None:
        where = _because(size, found) if told and not is_told else ""
        left_out = sorted(size.names - told.keys(), key=lambda name: name.text)
        held = "".join(f"; '{name.text}' is in {name.range}" for name in left_out)
        raise SizeArgumentError(f"{place} is {given}: no integer makes it {size}{where}{held}")
    name, value = solved
    if is_told:
        raise _contradiction(size, given, place, found)
    if value > MOST_SIZE:
        raise SizeArgumentError(f"{place} is {given}: no size is above 2^59")
    if not name.range.holds(value):
        if size == Size.of(name):
            raise SizeArgumentError(f"{place} is {given}: '{name.text}' is in {name.range}")
        raise SizeArgumentError(
            f"{place} is {given}: it is {size}{_because(size, found)}, '{name.text}' is {value} "
            f"then, and not in {name.range}"
        )
    found[name] = value, place


def _contradiction(
    size: Size, given: int, place: str, found: Mapping[SizeName, tuple[int, str]]
) -> SizeArgumentError:
    """The error for an extent that sizes of others make another one."""
    because = _because(size, found)
    wanted = size.at({name: found[name][0] for name in size.names})
    (name, *others) = size.names
    if not others and size == Size.of(name):
        return SizeArgumentError(f"{place} is {given}; it is '{name.text}'{because}")
    return SizeArgumentError(f"{place} is {given}; it is {size}, which is {wanted}{because}")


def _because(size: Size, found: Mapping[SizeName, tuple[int, str]]) -> str:
    """Which arguments tell the names of a size."""
    names = sorted(size.names & found.keys(), key=lambda name: name.text)
    return "".join(f", and {found[n][1]} makes '{n.text}' {found[n][0]}" for n in names)
