"""The registry of extern kernels: which function stands behind each name.

A kernel is a Python function from NumPy arrays and options to one array or a tuple of arrays of
the shapes and dtypes that the program declares. Names are dotted; the part before the dot is the
library. Lamina's own libraries are imported when one of their names is first needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, TypeVar

from lamina.dialects.errors import InputError, UnsupportedError
from lamina.dialects.extension_tables import extended
from lamina.dialects.schema.grammar import ELEMENT_NAMES
from lamina.dialects.source import nearest

LIBRARIES = {
    "linalg": ("linear_algebra", "spectral"),
    "fft": ("fourier",),
}
"""Libraries that Lamina brings, by the first part of their kernels' names: modules beside this."""

Layout = Literal["row", "column"]


@dataclass(frozen=True)
class ExternKernel:
    """A kernel and what it takes.

    `dtypes` are the element types that its inputs may have, as IR spells them; None is any.
    With layout "column" inputs of rank 2 and more come with each matrix in column-major order.
    """

    name: str
    function: Callable[..., Any]
    dtypes: tuple[str, ...] | None = None
    layout: Layout = "row"


_NAME = re.compile(r"[^\W\d]\w*\.\w+")
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

    The function gets the inputs as read-only arrays and the options as keywords. It may raise; the
    call of the program then raises ExecutionError with the same message, or what is no `Exception`,
    such as KeyboardInterrupt, as it is. Raises InputError for a
    name that is not a library and a kernel, a dtype that IR does not have, no dtype at all, an
    unknown layout, what cannot be called, or a name that is taken, unless `replace`.
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
    kernel = entry.value if entry is not None else registered_kernel(name) or _provided(name)
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
