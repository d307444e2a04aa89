"""`SizedCompiled`: a program that leaves sizes of its arguments open, compiled as calls need it."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from threading import RLock
from typing import Any, NoReturn, Protocol

from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp

from lamina.codegen.target import Target
from lamina.dialects.errors import InputError, UnsupportedError
from lamina.dialects.logs import topic
from lamina.dialects.sizes import SizeName
from lamina.passes.contracts.argument_sizes import refuse_unknown_names
from lamina.passes.contracts.declared import Declared, arguments_of, results_of
from lamina.passes.contracts.entry_attributes import CONSTANT_KINDS, VALUE
from lamina.passes.sizes.bind_sizes import bind_sizes
from lamina.passes.sizes.limit_sizes import limit_sizes
from lamina.runtime.arguments import (
    Structure,
    array_kind,
    check_count,
    is_foreign,
    is_number,
    kind_name,
    shape_error,
    wrong_kind,
)
from lamina.runtime.call_sizes import CallSizes
from lamina.runtime.compiled import Compiled
from lamina.runtime.dispatch.layout import Layout
from lamina.runtime.entry import Slot, element_name, function_named
from lamina.runtime.kernels import Kernels
from lamina.runtime.layers import layer_of, lower
from lamina.runtime.memory_use import MemoryUse
from lamina.runtime.random_state import make_state
from lamina.runtime.size_versions import MOST_EXACT, MOST_SETS, Sizes, Version, bound_of


class CompileVersion(Protocol):
    """Compiles a program of known sizes, whose calls nest as the structure says."""

    def __call__(self, module: ModuleOp, *, structure: Structure) -> Compiled: ...


class SizedCompiled(Compiled):
    """A program for any sizes in a range: calls choose, and compile, the version for theirs.

    The first sizes that come get code of their own. Others get a version for all sizes up to the
    next power of two, whose arguments are padded; where the program has an op that cannot be
    padded, each set of sizes gets its own code, and `sizes` says why. What stands for one version
    only, such as `native`, is asked of `version(batch=4)`.
    """

    def __init__(
        self,
        module: ModuleOp,
        structure: Structure,
        bound: Collection[str],
        compile_version: CompileVersion,
        render: Callable[[str], str],
        policy: str,
    ) -> None:
        main = function_named(module, "main")
        assert main is not None
        self.others = {}
        self.structure = structure
        self._render = render
        self._module = module
        self._compile, self._policy = compile_version, policy
        self._arguments = passed_arguments(main, bound)
        self._inputs = tuple(map(_slot, self._arguments))
        self._outputs = tuple(map(_slot, results_of(main)))
        self._call_sizes = CallSizes(main, self._arguments)
        self._names = self._call_sizes.names
        self._sizes = Sizes({text: str(name.range) for text, name in self._names.items()})
        self._found: dict[tuple[int, ...], Version] = {}
        self._padded: dict[tuple[int, ...], Version] = {}
        self._state: Any = None
        self._lock = RLock()
        layer = layer_of(module)
        lower(module.clone(), layer, layer, Target.host())  # what its contract refuses

    def __del__(self) -> None:
        """Nothing: versions free what they have."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the version for the sizes of these arguments; see `Compiled` for the rest.

        Raises ArgumentError for sizes out of their ranges, or that contradict each other.
        """
        values = self.structure.flatten(args, kwargs)
        sizes = self._call_sizes.of(self._shapes(values))
        version = self._version_for(sizes)
        version.calls += 1
        return version.compiled(*args, **kwargs)

    @property
    def sizes(self) -> Sizes:
        """Its open sizes, and the versions that calls have made so far; prints as a table."""
        return self._sizes

    def version(self, **sizes: int) -> Compiled:
        """The program for exactly these sizes, by name, compiled if it is not there yet.

        Raises InputError for sizes that it has not, that are missing or out of their ranges.
        """
        refuse_unknown_names(sizes, self._names)
        for text, name in self._names.items():
            if text not in sizes:
                raise InputError(f"the size '{text}' is missing, in {name.range}")
        with self._lock:
            return self._exact(sizes).compiled

    # One version each

    @property
    def native(self) -> NoReturn:
        """UnsupportedError: a C function is for known sizes."""
        raise self._refuse("native")

    @property
    def bound(self) -> NoReturn:
        """UnsupportedError: memory is that of a version."""
        raise self._refuse("bound")

    @property
    def kernels(self) -> Kernels:
        """Those of the version that was made last; UnsupportedError before the first call."""
        return self._last("kernels").kernels

    @property
    def memory(self) -> MemoryUse:
        """That of the version that was made last; UnsupportedError before the first call."""
        return self._last("memory").memory

    @property
    def runs_here(self) -> bool:
        """Whether it can be called; see `Compiled`."""
        return self._last("runs_here").runs_here

    def measure(self, *args: Any, repeats: int = 20, **kwargs: Any) -> Kernels:
        """Measures the version for exactly the sizes of these arguments; see `Compiled`."""
        values = self.structure.flatten(args, kwargs)
        found = self._call_sizes.of(self._shapes(values))
        sizes = {name.text: value for name, value in found.items()}
        return self.version(**sizes).measure(*args, repeats=repeats, **kwargs)

    def save(self, path: str | os.PathLike[str]) -> None:
        """UnsupportedError: a version is saved."""
        raise self._refuse("save")

    def explain_schedules(self) -> str:
        """UnsupportedError: schedules are those of a version."""
        raise self._refuse("explain_schedules")

    def seed(self, number: int) -> None:
        """As `Compiled.seed`, for all versions, which go on in one sequence."""
        self._state = make_state(number)
        for version in self._sizes:
            version.compiled.take_state(self._state)

    def __repr__(self) -> str:
        takes = ", ".join(f"{slot.name}: {slot.type_text}" for slot in self._inputs)
        gives = ", ".join(slot.type_text for slot in self._outputs)
        return f"<lamina.Compiled ({takes}) -> ({gives}), {len(self._sizes)} versions>"

    def _last(self, what: str) -> Compiled:
        if not len(self._sizes):
            raise self._refuse(what)
        return self._sizes[-1].compiled

    def _refuse(self, what: str) -> UnsupportedError:
        names = ", ".join(f"{name}=..." for name in self._names)
        reason = "the program leaves sizes of its arguments open"
        return UnsupportedError(
            f"Compiled.{what}", reason, nearest=f"compiled.version({names}).{what}"
        )

    # Versions

    def _version_for(self, sizes: Mapping[SizeName, int]) -> Version:
        key = tuple(sizes.values())
        found = self._found.get(key)
        if found is None:
            with self._lock:
                found = self._made_for(sizes)
                self._found[key] = found
        return found

    def _made_for(self, sizes: Mapping[SizeName, int]) -> Version:
        exact = {name.text: value for name, value in sizes.items()}
        is_first = self._policy == "auto" and not len(self._sizes)
        if is_first or self._policy == "exact" or self._sizes.reason is not None:
            return self._exact(exact)
        bounds = {name.text: bound_of(value, name) for name, value in sizes.items()}
        key = tuple(bounds.values())
        if key in self._padded:
            return self._padded[key]
        try:
            made = self._padded[key] = self._add(bounds, is_exact=False)
        except UnsupportedError as error:
            if self._policy == "padded":
                raise
            self._sizes.reason = str(error).partition("\n")[0]
            topic("sizes").info("each set of sizes is compiled: %s", self._sizes.reason)
            return self._exact(exact)
        return made

    def _exact(self, sizes: Mapping[str, int]) -> Version:
        key = tuple(sizes[name] for name in self._names)
        found = self._found.get(key)
        if found is None or not found.is_exact:
            found = self._add(sizes, is_exact=True)
            self._forget()
            self._found[key] = found
        return found

    def _forget(self) -> None:
        """Lets go of the oldest version for one set of sizes, where there are too many."""
        kept = [version for version in self._sizes if version.is_exact]
        if len(kept) > MOST_EXACT:
            self._sizes.versions.remove(kept[0])
        if len(kept) > MOST_EXACT or len(self._found) > MOST_SETS:
            self._found = {k: v for k, v in self._found.items() if v.is_exact and v is not kept[0]}

    def _add(self, sizes: Mapping[str, int], *, is_exact: bool) -> Version:
        module = self._module.clone()
        if is_exact:
            bind_sizes(module, sizes)
            structure = self.structure
        else:
            limit_sizes(module, sizes)
            _pad(module)
            structure = _Padding(self, sizes)
        version = Version(self._compile(module, structure=structure), dict(sizes), is_exact)
        if self._state is not None:
            version.compiled.take_state(self._state)
        self._sizes.versions.append(version)
        topic("sizes").info("a version for %s", str(version).partition(":")[0])
        return version

    # Arguments

    def _shapes(self, values: Sequence[Any]) -> list[tuple[int, ...]]:
        """Shapes of a call's arrays, which fit their types. Raises ArgumentError for others."""
        check_count(self._inputs, len(values))
        shapes: list[tuple[int, ...]] = []
        for position, (value, slot) in enumerate(zip(values, self._inputs, strict=True)):
            if kind_name(value) is None and not is_number(value) and not is_foreign(value):
                raise wrong_kind(position, slot, value, None)
            shape = tuple(getattr(value, "shape", ()))
            pairs = zip(shape, slot.shape, strict=False)
            if len(shape) != len(slot.shape) or any(e >= 0 and g != e for g, e in pairs):
                raise shape_error(position, slot, shape)
            shapes.append(shape)
        return shapes

    def pad(self, values: Sequence[Any], bounds: Mapping[str, int]) -> list[Any]:
        """The inputs of a version for sizes up to `bounds`: padded arrays, and their sizes."""
        sizes = self._call_sizes.of(self._shapes(values))
        most = {name: bounds[name.text] for name in sizes}
        made: list[Any] = []
        for position, (value, slot) in enumerate(zip(values, self._inputs, strict=True)):
            shape = self._call_sizes.shape(position, most)
            if shape == tuple(getattr(value, "shape", ())):
                made.append(value)
                continue
            kind = array_kind(kind_name(value) or "numpy")
            extents = [int(extent) for extent in shape if isinstance(extent, int)]
            made.append(kind.padded(kind.viewed(value, slot, position), extents))
        return [*made, *sizes.values()]


class _Padding:
    """A structure whose arguments are padded behind being flattened."""

    is_flat = False

    def __init__(self, program: SizedCompiled, bounds: Mapping[str, int]) -> None:
        self._program, self._bounds = program, bounds
        self._own = program.structure
        self.native_kind = self._own.native_kind

    def flatten(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[Any]:
        """The arrays of a call, padded, and its sizes."""
        return self._program.pad(self._own.flatten(args, kwargs), self._bounds)

    def layout(self, outputs: int) -> Layout:
        """That of the program itself."""
        return self._own.layout(outputs)

    def kept_by(self) -> str | None:
        """Arguments are padded in Python."""
        return "its arguments are padded in this process"


def _pad(module: ModuleOp) -> None:
    """Takes a program of limited sizes to one whose arguments are padded, and have counts."""
    layer = layer_of(module)
    if layer != "aten":
        raise UnsupportedError(
            f"a program at {layer}", "sizes are padded at aten only", nearest="versions='exact'"
        )
    lower(module, "aten", "functional", Target.host())


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


def _slot(declared: Declared) -> Slot:
    """What a call passes or gets; sizes that are open are -1."""
    kind = declared.type
    if not isinstance(kind, TensorType):
        return Slot(declared.name, declared.kind, str(kind), (), is_number=True)
    shape = tuple(-1 if extent < 0 else extent for extent in kind.get_shape())
    return Slot(declared.name, declared.kind, element_name(kind.element_type), shape)
