"""The registry of extern kernels: which function stands behind each name.

A kernel is a Python function from NumPy arrays and options to one array or a tuple of arrays of
the shapes and dtypes that the program declares. Names are dotted; the part before the dot is the
library. Lamina's own libraries are imported when one of their names is first needed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, TypeVar

from lamina.dialects.errors import InputError, UnsupportedError
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


_kernels: dict[str, ExternKernel] = {}
_lock = threading.RLock()

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
    call of the program then raises ExecutionError with the same message. Raises InputError for a
    name without a library part, an unknown layout, or a name that is taken, unless `replace`.
    """
    library, _, rest = name.partition(".")
    if not library or not rest:
        raise InputError(
            f"extern kernel '{name}': a name is a library and a kernel, as in 'mine.f'"
        )
    if layout not in ("row", "column"):
        raise InputError(f"extern kernel '{name}': layout '{layout}' is neither 'row' nor 'column'")

    def register(function: F) -> F:
        with _lock:
            if not replace:
                _load(name)
                if name in _kernels:
                    raise InputError(
                        f"extern kernel '{name}' is registered already; pass replace=True to "
                        "take its place"
                    )
            kinds = None if dtypes is None else tuple(dtypes)
            _kernels[name] = ExternKernel(name, function, kinds, layout)
        return function

    return register


def find_kernel(name: str, dtypes: Sequence[str], *, location: str | None = None) -> ExternKernel:
    """The kernel of that name; UnsupportedError if there is none or it does not take `dtypes`."""
    with _lock:
        _load(name)
        kernel = _kernels.get(name)
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


def kernel_names() -> list[str]:
    """All registered names, with those of Lamina's libraries."""
    with _lock:
        for library in LIBRARIES:
            _load(f"{library}.")
        return sorted(_kernels)


_loaded: set[str] = set()


def _load(name: str) -> None:
    """Imports the library that brings `name`, once."""
    library = name.partition(".")[0]
    if library in LIBRARIES and library not in _loaded:
        _loaded.add(library)
        for module in LIBRARIES[library]:
            import_module(f"{__package__}.{module}")
