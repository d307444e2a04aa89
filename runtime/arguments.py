"""Arrays that users pass and get back: checks with messages that say what would be right."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from math import prod
from typing import Any, Protocol

import numpy as np

from lamina.dialects.errors import ArgumentError
from lamina.runtime.dispatch.layout import Layout
from lamina.runtime.entry import Slot
from lamina.runtime.free_memory import check_room
from lamina.runtime.nested_structure import NestedStructure

Reader = Callable[[Any], int]
"""Checks one argument and gives the address of its first element."""


class ArrayKind(Protocol):
    """A library's arrays: NumPy's, torch's."""

    name: str

    def viewed(self, value: Any, slot: Slot, position: int) -> Any:
        """An array of the library that stands for `value`: itself, or over its memory if it is of
        another library, or a new one if it is a number; ArgumentError if there is none."""
        ...

    def plain(self, array: Any, slot: Slot) -> Any:
        """The array itself or, if only its layout is not row-major, a copy that is."""
        ...

    def write_back(self, target: Any, source: Any) -> None:
        """Gives an array the elements of another of its shape."""
        ...

    def memory(self, array: Any) -> np.ndarray:
        """A NumPy array with the addresses of an array's elements; its dtype is of no meaning."""
        ...

    def reader(self, slot: Slot, position: int) -> Reader:
        """The check of the argument at `position`, which raises ArgumentError."""
        ...

    def native_api(self) -> Mapping[str, object]:
        """Fields of `Api` (see `dispatch.records`) that let native calls take these arrays."""
        ...

    def contiguous(self, array: Any) -> Any:
        """The array itself if it is row-major contiguous, else a copy that is."""
        ...

    def padded(self, array: Any, shape: Sequence[int], *, compact: bool = False) -> Any:
        """A row-major copy of a shape that is no smaller; what stands behind its elements is not
        defined. If it is `compact`, the elements are the first ones in memory, row-major."""
        ...


class Structure(Protocol):
    """How a call's arguments nest; see `FlatStructure` for the plain one.

    `is_flat` says that calls by position need no flattening.
    """

    native_kind: str

    @property
    def is_flat(self) -> bool: ...

    def flatten(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[Any]:
        """The arrays of a call, in the order of the compiled inputs."""
        ...

    def layout(self, outputs: int) -> Layout:
        """What a call returns, of a program with that many outputs."""
        ...

    def kept_by(self) -> str | None:
        """Why no program can be called without this object, by its flat inputs; None if it can."""
        ...

    def recorded(self) -> NestedStructure | None:
        """The same as data, for files; None where inputs and results of a file are flat."""
        ...


class FlatStructure:
    """Inputs by position, or by name after the last position; one output alone, else a tuple."""

    native_kind = "numpy"
    is_flat = True

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)

    def flatten(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[Any]:
        """The arguments in order; ArgumentError for unknown, doubled or missing names."""
        if not kwargs:
            return args
        by_name = dict(zip(self.names, args, strict=False))
        for name, value in kwargs.items():
            if name not in self.names:
                raise ArgumentError(f"no argument named '{name}'; there are: {_listed(self.names)}")
            if name in by_name:
                raise ArgumentError(f"argument '{name}' is given by position and by name")
            by_name[name] = value
        missing = [name for name in self.names if name not in by_name]
        if missing:
            raise ArgumentError(f"missing arguments: {_listed(missing)}")
        return [by_name[name] for name in self.names]

    def layout(self, outputs: int) -> Layout:
        """The one result, or a tuple of all."""
        form = "single" if outputs == 1 else "tuple"
        return Layout(form, tuple(range(outputs)), native_kind=self.native_kind)

    def kept_by(self) -> str | None:
        """Nothing: inputs are flat."""
        return None

    def recorded(self) -> None:
        """None: inputs are flat."""


_KINDS: dict[str, str] = {
    "numpy": "lamina.runtime.arguments:NumpyArrays",
    "torch": "lamina.frontends.torch_arrays:TorchArrays",
}
"""The kinds of arrays by the package that defines their type; each is loaded when first met."""

_loaded: dict[str, ArrayKind] = {}


def array_kind(package: str) -> ArrayKind:
    """The kind of arrays that `package` (numpy or torch) defines."""
    found = _loaded.get(package)
    if found is None:
        module, _, attribute = _KINDS[package].partition(":")
        found = _loaded.setdefault(package, getattr(import_module(module), attribute)())
    return found


def kind_name(value: object) -> str | None:
    """The package that defines the type of `value` or one of its bases, if Lamina knows it."""
    for base in type(value).__mro__:
        package = base.__module__.partition(".")[0]
        if package in _KINDS:
            return package
    return None


def is_number(value: object) -> bool:
    """Whether a value is a number of Python's or NumPy's."""
    return isinstance(value, bool | int | float | complex | np.generic)


def is_foreign(value: object) -> bool:
    """Whether a value offers its elements as arrays of libraries do that Lamina does not know."""
    if kind_name(value) is not None or isinstance(value, type):
        return False
    return hasattr(value, "__dlpack__") or hasattr(value, "__array__")


_RANKS = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}
"""How much of a number a dtype holds, by its kind: truth, integers, reals, complex numbers."""


def number_array(value: Any, slot: Slot, position: int) -> np.ndarray:
    """A number as an array of rank 0 of the program's dtype.

    Reals are rounded. ArgumentError if the program takes more than a number, or a number that
    the dtype has no place for: a fraction as an integer, an integer out of range.
    """
    if slot.shape != ():
        raise wrong_kind(position, slot, value, None)
    wanted, given = slot.numpy_dtype, np.asarray(value)
    where = describe(position, slot)
    if given.dtype == wanted:
        return given
    if _RANKS.get(given.dtype.kind, 2) > _RANKS.get(wanted.kind, 2):  # bf16 has a kind of its own
        raise ArgumentError(f"{where}: expected a number of dtype {wanted}, got {value!r}")
    if wanted.kind in "iu" and not np.iinfo(wanted).min <= int(value) <= np.iinfo(wanted).max:
        raise ArgumentError(f"{where}: {value!r} is out of the range of {wanted}")
    with np.errstate(all="ignore"):
        return given.astype(wanted)


def size_value(position: int, slot: Slot, value: Any) -> int:
    """A number that is a size; ArgumentError for what is no integer."""
    number = value.item() if getattr(value, "shape", None) == () else value
    if not isinstance(number, int) or isinstance(number, bool):
        given = f"{number!r}" if is_number(number) else f"a {type(value).__name__}"
        raise ArgumentError(f"{describe(position, slot)}: expected a size, got {given}")
    return number


def describe(position: int, slot: Slot) -> str:
    """How messages name an argument; constants are bound by name and have no position."""
    return f"constant '{slot.name}'" if position < 0 else f"argument {position} ('{slot.name}')"


def check_count(slots: Sequence[Slot], got: int) -> None:
    """Raises ArgumentError unless as many arguments came as there are inputs."""
    if got != len(slots):
        listed = _listed([f"{slot.name}: {slot.type_text}" for slot in slots])
        raise ArgumentError(f"expected {len(slots)} arguments, got {got}\n  inputs: {listed}")


def wrong_kind(position: int, slot: Slot, value: object, wanted: str | None) -> ArgumentError:
    """The error for what is no array, or an array of another library than the first one."""
    where = describe(position, slot)
    if kind_name(value) is not None and wanted not in (None, kind_name(value)):
        return ArgumentError(
            f"{where}: the arguments mix NumPy arrays and torch tensors; "
            f"pass all of them as {'torch tensors' if wanted == 'torch' else 'NumPy arrays'}"
        )
    return ArgumentError(
        f"{where}: expected {slot.type_text} as a NumPy array or a torch tensor, "
        f"got {type(value).__name__}"
    )


def shape_error(position: int, slot: Slot, shape: Sequence[int]) -> ArgumentError:
    """The error for a wrong rank or a wrong size, naming the dimension."""
    where = describe(position, slot)
    got = "x".join(map(str, shape)) or "a scalar"
    want = "x".join("?" if extent < 0 else str(extent) for extent in slot.shape) or "a scalar"
    if len(shape) != len(slot.shape):
        return ArgumentError(
            f"{where}: expected rank {len(slot.shape)} ({want}), got rank {len(shape)} ({got})"
        )
    pairs = enumerate(zip(shape, slot.shape, strict=True))
    wrong = next(dim for dim, (given, wanted) in pairs if given != wanted and wanted >= 0)
    return ArgumentError(
        f"{where}: expected shape {want}, got {got} "
        f"(dimension {wrong} is {shape[wrong]}, not {slot.shape[wrong]})"
    )


class NumpyArrays:
    """NumPy arrays; programs read those of native byte order, aligned and row-major contiguous."""

    name = "numpy"

    def viewed(self, value: Any, slot: Slot, position: int) -> Any:
        """Arrays themselves; arrays of other libraries without a copy, where they allow it."""
        if isinstance(value, np.ndarray):
            return value
        if is_number(value):
            return number_array(value, slot, position)
        if not is_foreign(value):
            raise wrong_kind(position, slot, value, "numpy")
        try:
            return np.asarray(value) if hasattr(value, "__array__") else np.from_dlpack(value)
        except (TypeError, ValueError, RuntimeError, BufferError) as error:
            raise ArgumentError(
                f"{describe(position, slot)}: a {type(value).__name__} gives no array: {error}"
            ) from error

    def plain(self, array: Any, slot: Slot) -> Any:
        """A copy of what is swapped, strided or not aligned; what does not fit stays as it is."""
        wanted = slot.numpy_dtype
        if array.shape != slot.shape or array.dtype.newbyteorder("=") != wanted:
            return array
        if array.dtype == wanted and array.flags.c_contiguous and array.flags.aligned:
            return array
        check_room(array.nbytes, f"a row-major copy of argument '{slot.name}'")
        return np.array(array, wanted, order="C", subok=False)

    def write_back(self, target: Any, source: Any) -> None:
        """NumPy's own copy, which swaps bytes too."""
        np.copyto(target, source)

    def memory(self, array: Any) -> np.ndarray:
        """The array."""
        return array

    def reader(self, slot: Slot, position: int) -> Reader:
        """Checks dtype, shape and strides of one array; no copy is made."""

        def read(array: Any) -> int:
            _check_array(array, slot, position)
            return array.__array_interface__["data"][0]

        return read

    def native_api(self) -> Mapping[str, object]:
        """Nothing: native calls know NumPy from the start."""
        return {}

    def contiguous(self, array: Any) -> Any:
        """NumPy's own rule; also makes arrays of Python numbers."""
        if isinstance(array, np.ndarray) and not array.flags.c_contiguous:
            check_room(array.nbytes, "a row-major copy of a constant")
        return np.asarray(array, order="C")

    def padded(self, array: Any, shape: Sequence[int], *, compact: bool = False) -> Any:
        """In memory of its own."""
        check_room(prod(shape) * array.itemsize, "a padded copy of an argument")
        made = np.empty(shape, array.dtype)
        if compact:
            made.reshape(-1)[: array.size] = array.reshape(-1)
        else:
            made[tuple(map(slice, array.shape))] = array
        return made


def _check_array(array: Any, slot: Slot, position: int) -> None:
    if not isinstance(array, np.ndarray):
        raise wrong_kind(position, slot, array, "numpy")
    where = describe(position, slot)
    wanted = slot.numpy_dtype
    if array.dtype != wanted:
        raise ArgumentError(
            f"{where}: expected dtype {wanted}, got {array.dtype}; "
            f"convert it with .astype({wanted.type.__module__.replace('numpy', 'np')}.{wanted})"
        )
    if array.shape != slot.shape:
        raise shape_error(position, slot, array.shape)
    if not array.flags.c_contiguous:
        raise ArgumentError(
            f"{where}: strides {array.strides} are not row-major contiguous; "
            "pass np.ascontiguousarray(...)"
        )
    if not array.flags.aligned:
        raise ArgumentError(f"{where}: the data is not aligned to its dtype; pass a copy")


def _listed(items: Sequence[str], limit: int = 8) -> str:
    shown = ", ".join(items[:limit])
    return f"{shown}, and {len(items) - limit} more" if len(items) > limit else shown or "none"
