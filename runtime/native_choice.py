"""Calls of programs with open sizes for which native code chooses the version."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from lamina.dialects.sizes import MOST_SIZE, Size, SizeName
from lamina.runtime.arguments import Structure
from lamina.runtime.call_sizes import CallSizes
from lamina.runtime.dispatch.binding import BoundProgram, one_of
from lamina.runtime.dispatch.layout import Layout
from lamina.runtime.dispatch.open_inputs import OpenExtent, OpenInputs, OpenSize, OpenTerm
from lamina.runtime.entry import Slot
from lamina.runtime.size_versions import Version

MOST_TRIED = 16
"""Versions that native code tries one after the other, the newest first: each that does not fit
takes some ten nanoseconds."""

Call = Callable[..., Any]


def native_call(
    versions: Iterable[Version],
    sizes: CallSizes,
    inputs: Sequence[Slot],
    structure: Structure,
) -> Callable[[Call], Call] | None:
    """What calls the first of the versions that is for the sizes of its arguments, given what takes
    calls that fit none; None where calls cannot be native.

    Versions for exactly these sizes come first. A version is not native if it draws random numbers,
    or pads arguments that it writes to.
    """
    if not inputs:
        return None
    programs: list[tuple[BoundProgram, Layout, OpenInputs]] = []
    newest = reversed(list(versions))
    for version in sorted(newest, key=lambda one: not one.is_exact):
        compiled = version.compiled
        if not compiled.is_one_native_call:
            continue
        bound: BoundProgram = compiled.bound
        opened = _opened(version, sizes, len(inputs))
        slots = [slot for slot in bound.slots if slot.kind == "input"]
        if (any(s.is_passed for s in opened.sizes) and bound.copies) or not opened.fits(slots):
            continue
        layout = structure.layout(len(compiled.outputs))
        programs.append((bound, layout, opened))
    if not programs:
        return None

    def made(slow: Call) -> Call:
        if structure.is_flat:
            return one_of(programs[:MOST_TRIED], slow)

        def unfit(*values: Any) -> Any:
            raise _UnfitError

        direct, flatten = one_of(programs[:MOST_TRIED], unfit), structure.flatten

        def nested(*args: Any, **kwargs: Any) -> Any:
            try:
                return direct(*flatten(args, kwargs))
            except _UnfitError:
                return slow(*args, **kwargs)

        return nested

    return made


class _UnfitError(Exception):
    """No version takes the arguments of a call natively."""


def _opened(version: Version, sizes: CallSizes, count: int) -> OpenInputs:
    """How calls tell the sizes of a version."""
    single = set(version.sizes if version.is_exact else version.numbers)
    numbers = {
        s for place, _, size in sizes.extents() if place in sizes.numbers for s in size.names
    }
    names = [name for name in sizes.names.values() if name.text not in single or name in numbers]
    told = [_size(name, version, is_passed=name.text not in single) for name in names]
    fixed = {n: version.sizes[n.text] for n in sizes.names.values() if n not in names}
    extents, following = open_extents(sizes, names, fixed)
    return OpenInputs(count, [*told, *following], extents, sizes.numbers, version.native_calls)


def open_extents(
    sizes: CallSizes, names: Sequence[SizeName], fixed: Mapping[SizeName, int]
) -> tuple[dict[int, dict[int, OpenExtent]], list[OpenSize]]:
    """The extents of arguments, by position and dimension, that tell sizes of these names, where
    others are `fixed`; and the sizes, behind those of the names, that follow from several."""
    places = {name: place for place, name in enumerate(names)}
    following: dict[Size, int] = {}
    extents: dict[int, dict[int, OpenExtent]] = {}
    for position, dim, said in sizes.extents():
        size = said.at(fixed)
        if not isinstance(size, Size):
            continue  # the program has the number
        if size.is_linear:
            (name,) = size.names
            offset = dict(size.terms).get((), 0)
            extent = OpenExtent(places[name], dict(size.terms)[(name,)], offset)
        else:
            extent = OpenExtent(following.setdefault(size, len(names) + len(following)), 1, 0)
        extents.setdefault(position, {})[dim] = extent
    return extents, [_following(size, places) for size in following]


def _following(size: Size, places: Mapping[SizeName, int]) -> OpenSize:
    terms = [
        OpenTerm(factor, tuple(places[name] for name in names))
        for names, factor in size.terms
        if names
    ]
    offset = dict(size.terms).get((), 0)
    return OpenSize(0, MOST_SIZE, is_passed=False, terms=terms, offset=offset)


def _size(name: SizeName, version: Version, *, is_passed: bool) -> OpenSize:
    most = min(version.sizes[name.text], MOST_SIZE)
    if not is_passed:
        return OpenSize(most, most, is_passed=False)
    least = max(name.range.least, version.least.get(name.text, 0))
    return OpenSize(least, most, name.range.least, name.range.step)
