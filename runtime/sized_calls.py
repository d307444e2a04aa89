"""Calls of a program that leaves sizes of its arguments open: each runs the version for its own."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from operator import index
from typing import Any, Protocol

from xdsl.dialects.func import FuncOp

from lamina.dialects.errors import InputError, OutOfMemoryError
from lamina.dialects.records import record
from lamina.dialects.sizes import MOST_SIZE, SizeName
from lamina.passes.contracts.argument_sizes import refuse_unknown_names
from lamina.runtime.arguments import Structure, array_kind, kind_name
from lamina.runtime.call_sizes import call_shapes
from lamina.runtime.compiled import Compiled
from lamina.runtime.declared_slots import declaration_of
from lamina.runtime.dispatch.layout import Layout
from lamina.runtime.entry import Slot
from lamina.runtime.kernels import Kernels
from lamina.runtime.memory_use import MemoryUse
from lamina.runtime.native_choice import native_call
from lamina.runtime.padded_writes import check_writes, write_back
from lamina.runtime.saved import save
from lamina.runtime.several_programs import SeveralPrograms
from lamina.runtime.size_versions import Sizes, Version


class KnownVersions(Protocol):
    """Finds, or makes, the version for sizes by their names, such as `Versions`."""

    sizes: Sizes

    def find(self, sizes: Mapping[str, int]) -> Version: ...

    def exact(self, sizes: Mapping[str, int]) -> Version: ...


class SizedCalls(SeveralPrograms):
    """A program for any sizes in a range: calls choose the version for theirs.

    What stands for one version only, such as `native`, is asked of `version(batch=4)`.
    """

    _versions: KnownVersions

    def __init__(
        self,
        main: FuncOp,
        bound: Collection[str],
        structure: Structure | None,
        render: Callable[[str], str],
        *,
        runs_here: bool,
    ) -> None:
        super().__init__(main, bound, structure, render, runs_here=runs_here)
        self._names = self._call_sizes.names
        self._says_more = False  # whether results have sizes that do not follow from arguments
        self._state: Any = None
        # A builtin function as `__call__` of the object's own type is what Python calls fastest.
        self._own_type: Any = type(type(self).__name__, (type(self),), {})
        self.__class__ = self._own_type

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the version for the sizes of these arguments; see `Compiled` for the rest.

        Raises ArgumentError for sizes out of their ranges, or that contradict each other, and
        OutOfMemoryError for those that take more memory than there is.
        """
        return self._called(args, kwargs)

    def __del__(self) -> None:
        # As `Compiled` does, where the type of this object is its own.
        own = self.__class__
        if own is self.__dict__.get("_own_type"):
            own.__call__ = SizedCalls.__call__

    def _called(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """A call that native code does not take, or has no memory for."""
        try:
            return self._checked_call(args, kwargs)
        except OutOfMemoryError as error:
            values = self.structure.flatten(args, kwargs)
            sizes = self._call_sizes.of(self._shapes(values))
            raise self._call_sizes.blamed(error, sizes) from None

    def _checked_call(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if not kwargs and (run := self._runs.find(args)) is not None:
            return run(args)
        values = self.structure.flatten(args, kwargs)
        shapes = self._shapes(values)
        sizes = self._call_sizes.of(shapes)
        version = self._version_for({name.text: value for name, value in sizes.items()})
        if self.structure.is_flat and not kwargs and not self._says_more:
            self._runs.keep(args, self._run(version, values, shapes, sizes))
        version.count()
        if version.is_exact:
            made = version.compiled(*args, **kwargs)
        else:
            made = self._padded_call(version, _Given(values, shapes, sizes))
        if self._says_more:
            results = made if isinstance(made, tuple) else (made,)
            self._call_sizes.check_results([tuple(result.shape) for result in results], sizes)
        return made

    @property
    def sizes(self) -> Sizes:
        """Its open sizes, and the versions that calls have made so far; prints as a table."""
        return self._versions.sizes

    def version(self, **sizes: int) -> Compiled:
        """The program for exactly these sizes, by name, compiled if it is not there yet.

        Raises InputError for sizes that it has not, that are missing or out of their ranges.
        """
        return self._versions.exact(self._checked(sizes)).compiled

    def _checked(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """The sizes in the order of their names."""
        refuse_unknown_names(sizes, self._names)
        checked: dict[str, int] = {}
        for text, name in self._names.items():
            if text not in sizes:
                raise InputError(f"the size '{text}' is missing, in {name.range}")
            try:
                checked[text] = index(sizes[text])
            except TypeError:
                raise InputError(
                    f"'{text}' is in {name.range}, an integer, and cannot be {sizes[text]!r}"
                ) from None
            if not name.range.holds(checked[text]):
                raise InputError(f"'{text}' is in {name.range}, and cannot be {checked[text]}")
            if checked[text] > MOST_SIZE:
                raise InputError(f"'{text}' cannot be {checked[text]}: no size is above 2^59")
        return checked

    def _version_for(self, sizes: Mapping[str, int]) -> Version:
        """What calls with these sizes run; native code chooses it from then on."""
        known = len(self.sizes)
        version = self._versions.find(sizes)
        if len(self.sizes) != known:
            self._bind_native()
        return version

    # Files

    def save(
        self, path: str | os.PathLike[str], *, sizes: Sequence[Mapping[str, int]] = ()
    ) -> None:
        """As `Compiled.save`, with all versions that there are, and those that calls with `sizes`
        run. Raises InputError where there is none."""
        for one in sizes:
            self._version_for(self._checked(one))
        if not len(self.sizes):
            raise InputError(
                f"cannot save '{path}': no version is compiled; call the program, or name sizes: "
                f"save(path, sizes=[{{{', '.join(f'{name!r}: ...' for name in self._names)}}}])"
            )
        save(self.entries, path)

    def sized_head(self, program_head: Callable[[Compiled], dict[str, Any]]) -> dict[str, Any]:
        """What a file has of it beside its programs, whose heads `program_head` makes."""
        if reason := self.structure.kept_by():
            raise InputError(f"the program cannot be saved: {reason}")
        nested = self.structure.recorded()
        return {
            "declaration": declaration_of(self._main, self._arguments),
            "says_more": self._says_more,
            "nesting": None if nested is None else nested.to_json(),
            "versions": [
                {
                    "sizes": dict(version.sizes),
                    "is_exact": version.is_exact,
                    "numbers": list(version.numbers),
                    "least": dict(version.least),
                    "program": program_head(version.compiled),
                }
                for version in self.sizes
            ],
        }

    # One version each

    @property
    def kernels(self) -> Kernels:
        """Those of the version that was made last; UnsupportedError before the first call."""
        return self._last("kernels").kernels

    @property
    def memory(self) -> MemoryUse:
        """That of the version that was made last; UnsupportedError before the first call."""
        return self._last("memory").memory

    def measure(self, *args: Any, repeats: int = 20, **kwargs: Any) -> Kernels:
        """Measures the version for exactly the sizes of these arguments; see `Compiled`."""
        values = self.structure.flatten(args, kwargs)
        version = self._versions.exact(self._sizes_of(values))
        return version.compiled.measure(*args, repeats=repeats, **kwargs)

    def take_state(self, state: Any) -> None:
        """As `Compiled.take_state`, for all versions, which go on in one sequence."""
        self._state = state
        for version in self.sizes:
            version.compiled.take_state(state)

    @property
    def _count(self) -> str:
        return f"{len(self.sizes)} versions"

    @property
    def _one(self) -> tuple[str, str]:
        names = ", ".join(f"{name}=..." for name in self._names)
        return "the program leaves sizes of its arguments open", f"compiled.version({names})"

    def _last(self, what: str) -> Compiled:
        if not len(self.sizes):
            raise self._refuse(what)
        return self.sizes[-1].compiled

    def _bind_native(self) -> None:
        """Has native code choose among the versions that there are."""
        found = native_call(self._versions.sizes, self._call_sizes, self._inputs, self.structure)
        if found is None or self._says_more:
            return
        own = weakref.ref(self)

        def slow(*args: Any, **kwargs: Any) -> Any:
            program = own()
            assert program is not None  # who calls it holds it
            return program._called(args, kwargs)

        self._own_type.__call__ = staticmethod(found(slow))

    # Arguments

    def _sizes_of(self, values: Sequence[Any]) -> dict[str, int]:
        found = self._call_sizes.of(self._shapes(values))
        return {name.text: value for name, value in found.items()}

    def _shapes(self, values: Sequence[Any]) -> list[tuple[int, ...]]:
        """Shapes of a call's arrays, which fit their types. Raises ArgumentError for others."""
        return call_shapes(values, self._inputs, self._call_sizes.numbers)

    def _run(
        self,
        version: Version,
        values: Sequence[Any],
        shapes: list[tuple[int, ...]],
        sizes: Mapping[SizeName, int],
    ) -> Callable[[Sequence[Any]], Any]:
        """What runs a version for more arguments of these types and shapes."""
        compiled = version.compiled
        if version.is_exact:

            def exact(args: Sequence[Any]) -> Any:
                version.count()
                return compiled(*args)

            return exact
        added = self._pad(_Given(values, shapes, sizes), version)[len(values) :]
        is_full = not list(self._call_sizes.padded(shapes, sizes, version.sizes))

        def padded(args: Sequence[Any]) -> Any:
            version.count()
            if is_full:
                return compiled(*args, *added)
            return self._padded_call(version, _Given(args, shapes, sizes))

        return padded

    def _padded_call(self, version: Version, given: _Given) -> Any:
        """Runs a version on padded copies; what it writes to these goes into the arguments."""
        bound = version.compiled.bound
        check_writes(bound, given.values)
        padded = self._pad(given, version)
        made = version.compiled(*padded)
        write_back(bound, given.values, padded)
        return made

    def ready(self, args: Sequence[Any], kwargs: Mapping[str, Any], version: Room) -> Sequence[Any]:
        """The inputs of a version: these are, or a call's arguments."""
        if len(args) == len(self._inputs) + len(self._names) - len(version.numbers):
            return args
        values = self.structure.flatten(args, kwargs)
        shapes = self._shapes(values)
        return self._pad(_Given(values, shapes, self._call_sizes.of(shapes)), version)

    def _pad(self, given: _Given, version: Room) -> list[Any]:
        """The inputs of a version: padded arrays, and their sizes."""
        made = list(given.values)
        library = None
        for position, shape in self._call_sizes.padded(given.shapes, given.sizes, version.sizes):
            value = made[position]
            library = library or kind_name(value)
            kind = array_kind(kind_name(value) or "numpy")
            made[position] = kind.padded(
                kind.viewed(value, self._inputs[position], position),
                shape,
                compact=position in version.compact,
            )
        if library is None:
            library = next(filter(None, map(kind_name, made)), "numpy")
        for position in self._call_sizes.numbers:
            made[position] = size_array(library, *given.shapes[position])
        sizes = ((name.text, size) for name, size in given.sizes.items())
        added = (size_array(library, s) for name, s in sizes if name not in version.numbers)
        return [*made, *added]


class Room(Protocol):
    """The sizes of a version: up to `sizes`, but for single numbers of some; and its layouts."""

    @property
    def sizes(self) -> Mapping[str, int]: ...

    @property
    def numbers(self) -> Collection[str]: ...

    @property
    def compact(self) -> Collection[int]:
        """Positions of the arguments that lie in memory row-major over their own extents."""
        ...


@record
class _Given:
    """The arrays of a call, their shapes, and the sizes that these are."""

    values: Sequence[Any]
    shapes: list[tuple[int, ...]]
    sizes: Mapping[SizeName, int]


@lru_cache(maxsize=4096)
def size_array(library: str, size: int) -> Any:
    """A size as native calls read it without a check in Python; nobody writes to it."""
    return array_kind(library).viewed(size, _SIZE, 0)


_SIZE = Slot("size", "input", "i64", ())


class Padded:
    """A structure whose arguments are padded behind being flattened, but for calls that have the
    sizes behind their arguments: those have the inputs of the version."""

    is_flat = True

    def __init__(
        self, program: SizedCalls, sizes: Mapping[str, int], numbers: Collection[str]
    ) -> None:
        self._program, self.sizes, self.numbers = program, sizes, numbers
        self.compact: Collection[int] = ()
        self._own = program.structure
        self.native_kind = self._own.native_kind

    def flatten(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[Any]:
        """The arrays of a call, padded, and its sizes."""
        return self._program.ready(args, kwargs, self)

    def layout(self, outputs: int) -> Layout:
        """That of the program itself."""
        return self._own.layout(outputs)

    def kept_by(self) -> str | None:
        """Arguments are padded in Python."""
        return "its arguments are padded in this process; the program with all its versions can"

    def recorded(self) -> None:
        """None: nothing keeps it."""
