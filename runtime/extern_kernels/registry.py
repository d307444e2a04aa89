"""The registry of extern kernels: which function stands behind each name.

A kernel is a Python function from NumPy arrays and options to one array or a tuple of arrays of
the shapes and dtypes that the program declares. Names are dotted; the part before the dot is the
library. Lamina's own libraries are imported when one of their names is first needed.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from dataclasses import replace as replaced
from importlib import import_module
from typing import Any, Literal, TypeVar

from lamina.dialects.errors import InputError, UnsupportedError
from lamina.dialects.extension_entries import Entry
from lamina.dialects.extension_tables import extended
from lamina.dialects.nearest_ops import nearest
from lamina.dialects.records import record
from lamina.dialects.schema.grammar import ELEMENT_NAMES

LIBRARIES = {
    "linalg": ("linear_algebra", "triangular", "spectral"),
    "fft": ("fourier",),
    "partition": ("partitions",),
}
"""Libraries that Lamina brings, by the first part of their kernels' names: modules beside this."""

Layout = Literal["row", "column"]


@record
class ExternKernel:
    """A kernel and what it takes.

    `dtypes` are the element types that its inputs may have, as IR spells them; None is any.
    With layout "column" inputs of rank 2 and more come with each matrix in column-major order.
    `specialize` gives the function of one call instead, or its `NativeCode`, from the call with its
    options and types; that function takes no options.
    """

    name: str
    function: Callable[..., Any] | None = None
    dtypes: tuple[str, ...] | None = None
    layout: Layout = "row"
    specialize: Callable[[Any], Any] | None = None
    entry: Entry | None = None
    """Of the extension that brings it."""
    covers: Callable[[Any], str] | None = None
    """What part of a program a call computes, where a call stands for several ops."""


_FUNCTION: Any = type(ctypes.pythonapi.Py_IncRef).__mro__[-3]
"""The type of all functions of ctypes."""


@dataclass(frozen=True)
class NativeCode:
    """C code that an extern kernel is: `int32_t kernel(void **operands)` at an address.

    `operands` points at the data of the inputs and then of the results, row-major, which it writes;
    a result other than 0 ends the program as an ExecutionError. It must not write its inputs, and
    is called with or without the GIL. `keep` lives as long as programs that call it.

        library = ctypes.CDLL("libmine.so")
        lamina.native_kernel("mine.f", lamina.NativeCode(address, keep=library))
    """

    address: int
    keep: object = None

    @classmethod
    def of(cls, value: object, name: str) -> NativeCode:
        """Of `value`, an address, a function of ctypes, or such an object, which is given back.

        Raises InputError for anything else, as said of the extern kernel `name`.
        """
        if isinstance(value, cls):
            return value
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return cls(value)
        if isinstance(value, _FUNCTION):
            function: Any = value
            return cls(ctypes.cast(function, ctypes.c_void_p).value or 0, function)
        raise InputError(
            f"extern kernel '{name}': {value!r} is no address of C code, nor a function of ctypes"
        )


_NAME = re.compile(r"[^\W\d]\w*\.\w+|torch(\.\w+){3}")
_kernels: dict[str, ExternKernel] = {}

Provider = Callable[[str], ExternKernel | None]
_providers: dict[str, Provider] = {}

F = TypeVar("F", bound=Callable[..., Any])


def extern_kernel(
    name: str,
    *,
    dtypes: Sequence[str] | None = None,
    layout: Layout = "row",
    replace: bool = False,
) -> Callable[[F], F]:
    """Decorator: registers a function as the extern kernel `name`.

    The function gets the inputs as read-only arrays and the options as keywords, and gives an array
    or a tuple of arrays of the types that the program says. It may raise; the
    call of the program then raises ExecutionError with the same message, or what is no `Exception`,
    such as KeyboardInterrupt, as it is.

    `dtypes` are the element types that inputs may have, as IR spells them; any without. With
    `layout="column"` each matrix of the inputs comes in column-major order. Raises InputError for a
    name that is not a library and a kernel, a dtype that IR does not have, no dtype at all, an
    unknown layout, what cannot be called, or a name that is taken, unless `replace`.

        @lamina.extern_kernel("mine.median", dtypes=("f32",))
        def median(x):
            return np.median(x).astype(np.float32)
    """
    kinds = _checked(name, dtypes, layout)

    def register(function: F) -> F:
        made = _kernel(name, function, kinds, layout)
        if replace:
            _kernels[name] = made
            return function
        own = str(getattr(function, "__module__", "")).rpartition(".")[0] == __package__
        if not own:
            _load(name)
        if _kernels.setdefault(name, made) is not made and not own:
            raise InputError(
                f"extern kernel '{name}' is registered already; pass replace=True to take its place"
            )
        return function

    return register


def native_kernel(
    name: str,
    code: object,
    *,
    dtypes: Sequence[str] | None = None,
    replace: bool = False,
) -> None:
    """Registers C code as the extern kernel `name`; see `NativeCode` for how it is called.

    `code` is a `NativeCode`, an address or a function of ctypes for a kernel without options, or a
    Python function that gives one of these for a call, which has `options` and, for each of
    `inputs` and `results`, `dtype` and `shape`: the code is told nothing else. The name
    `torch.mine.f.default` is the custom op `mine::f` of torch, called instead of its own kernel.
    `dtypes` are the element types that inputs may have; with `replace` a kernel of that name goes.
    Raises InputError as `extern_kernel`.

        lamina.native_kernel("mine.f", ctypes.CDLL("libmine.so").f, dtypes=("f32",))
    """
    kernel = made_native_kernel(name, code, dtypes)
    _load(name)
    if not replace and name in _kernels:
        raise InputError(
            f"extern kernel '{name}' is registered already; pass replace=True to take its place"
        )
    _kernels[name] = kernel


def made_native_kernel(name: str, code: object, dtypes: Sequence[str] | None) -> ExternKernel:
    """A kernel of C code that is not registered; InputError as `native_kernel`."""
    kinds = _checked(name, dtypes, "row")
    if callable(code) and not isinstance(code, _FUNCTION):
        choose = code
        return ExternKernel(
            name, None, kinds, "row", lambda call: NativeCode.of(choose(call), name)
        )
    native = NativeCode.of(code, name)

    def specialize(call: Any) -> NativeCode:
        if list(call.options.values()) != list(range(len(call.options))):
            raise UnsupportedError(
                name,
                f"C code is not told the options {call.options}",
                nearest="a Python function that gives the code for a call",
            )
        return native

    return ExternKernel(name, None, kinds, "row", specialize)


def made_kernel(
    name: str, function: Callable[..., Any], dtypes: Sequence[str] | None, layout: Layout
) -> ExternKernel:
    """A kernel that is not registered; InputError as `extern_kernel`."""
    return _kernel(name, function, _checked(name, dtypes, layout), layout)


def _checked(name: str, dtypes: Sequence[str] | None, layout: Layout) -> tuple[str, ...] | None:
    _check_name(name)
    if layout not in ("row", "column"):
        raise InputError(f"extern kernel '{name}': layout '{layout}' is neither 'row' nor 'column'")
    return None if dtypes is None else _checked_dtypes(name, dtypes)


def _kernel(
    name: str, function: Callable[..., Any], dtypes: tuple[str, ...] | None, layout: Layout
) -> ExternKernel:
    if not callable(function):
        raise InputError(f"extern kernel '{name}': {function!r} cannot be called")
    return ExternKernel(name, function, dtypes, layout)


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        shown = f"'{name}'" if isinstance(name, str) else f"{name!r}"
        raise InputError(
            f"extern kernel {shown}: a name is a library and a kernel, as in "
            "@lamina.extern_kernel('mine.f')"
        )


def _checked_dtypes(name: str, dtypes: Sequence[str]) -> tuple[str, ...]:
    """The dtypes, which must be a list of names as IR spells them."""
    given: list[object] = [] if isinstance(dtypes, str) else list(dtypes)
    if not given:
        raise InputError(
            f"extern kernel '{name}': dtypes={dtypes!r} is no list of element types, as in "
            "('f32', 'f64'); without dtypes it takes any"
        )
    for dtype in given:
        if not isinstance(dtype, str) or dtype not in ELEMENT_NAMES:
            known = ", ".join(ELEMENT_NAMES)
            raise InputError(
                f"extern kernel '{name}': {dtype!r} is no element type; they are {known}"
            )
    return tuple(str(dtype) for dtype in given)


def find_kernel(name: str, dtypes: Sequence[str], *, location: str | None = None) -> ExternKernel:
    """The kernel of that name; UnsupportedError if there is none or it does not take `dtypes`."""
    entry = extended("extern kernel", name)
    kernel = (
        replaced(entry.value, entry=entry)
        if entry is not None
        else registered_kernel(name) or _provided(name)
    )
    if kernel is None:
        near = nearest(name, _kernels) or sorted(_kernels)[:8]
        raise UnsupportedError(
            "loop.extern",
            f"no extern kernel is registered as '{name}'",
            location=location,
            nearest=", ".join(near) or None,
        )
    for dtype in dtypes:
        if kernel.dtypes is not None and dtype not in kernel.dtypes:
            raise UnsupportedError(
                "loop.extern",
                f"the extern kernel '{name}' does not take {dtype}",
                location=location,
                nearest=", ".join(kernel.dtypes),
            )
    return kernel


def registered_kernel(name: str) -> ExternKernel | None:
    """The kernel that was registered under a name for the whole process, or None."""
    _load(name)
    return _kernels.get(name)


def provide(library: str, find: Provider) -> None:
    """Has kernels of a library found by their names, each time that a program is bound.

    `find` gives None for a name that is none of its own; its UnsupportedErrors go to the caller.
    A kernel that is registered under the name comes first.
    """
    _providers[library] = find


def _provided(name: str) -> ExternKernel | None:
    find = _providers.get(name.partition(".")[0])
    return None if find is None else find(name)


def kernel_names() -> list[str]:
    """All registered names, with those of Lamina's libraries."""
    for library in LIBRARIES:
        _load(f"{library}.")
    return sorted(_kernels)


def _load(name: str) -> None:
    """Imports the library that brings `name`; threads wait for each other in the imports."""
    for module in LIBRARIES.get(name.partition(".")[0], ()):
        import_module(f"{__package__}.{module}")
