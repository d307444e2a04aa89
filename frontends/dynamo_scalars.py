"""Writes to f64 tensors of one element, which a pass of torch's loses.

`tensorify_python_scalars` takes what Dynamo knows of such an argument for a Python number, begins
the analysis anew with that number as a constant, and the write is gone (torch 2.13, with every
back end above AOTAutograd). Sizes and numbers are static here: the pass has nothing to do.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

from torch._functorch._aot_autograd import graph_compile

_here: ContextVar[bool] = ContextVar("scalars_stay", default=False)


@contextmanager
def scalars_stay() -> Iterator[None]:
    """In this thread, AOTAutograd leaves scalars as they are."""
    _install()
    token = _here.set(True)
    try:
        yield
    finally:
        _here.reset(token)


@cache
def _install() -> None:
    torch_pass: Any = graph_compile
    tensorify = torch_pass.tensorify_python_scalars

    def unless_ours(*args: Any) -> None:
        if not _here.get():
            tensorify(*args)

    torch_pass.tensorify_python_scalars = unless_ours
