"""Calls of functions through torch.compile, beside eager mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._dynamo.testing import CompileCounterWithBackend

import lamina


def check(
    function: Callable[..., Any],
    calls: Sequence[tuple[Any, ...]],
    *,
    graphs: int,
    dynamic: bool | None = True,
    **options: Any,
) -> None:
    """Each call gives, and writes to its arguments, what eager mode does; so many graphs are made
    of the function, which is not asked with options."""
    counter = CompileCounterWithBackend("lamina")
    backend = counter if not options else "lamina"
    compiled = torch.compile(function, backend=backend, dynamic=dynamic, options=options or None)
    with torch.no_grad():
        for args in calls:
            own = [a.clone() if isinstance(a, torch.Tensor) else a for a in args]
            found, wanted = compiled(*args), function(*own)
            torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
            for given, written in zip(args, own, strict=True):
                if isinstance(given, torch.Tensor):
                    torch.testing.assert_close(given, written, rtol=1e-4, atol=1e-5)
    if not options:
        assert counter.frame_count == graphs


def check_sizes(
    function: Callable[..., Any],
    inputs: Callable[..., tuple[Any, ...]],
    shapes: Sequence[tuple[int, ...]],
    tolerance: float,
) -> None:
    """Of inputs of each shape a function gives what eager mode does, by fewer versions than shapes:
    else none is padded."""
    torch.manual_seed(0)
    torch.compiler.reset()
    compiled = torch.compile(function, backend="lamina", dynamic=True)
    before = lamina.compile_count()
    with torch.no_grad():
        for shape in shapes:
            given = inputs(*shape)
            made, wanted = compiled(*given), function(*given)
            torch.testing.assert_close(made, wanted, rtol=tolerance, atol=tolerance, equal_nan=True)
    assert lamina.compile_count() - before < len(shapes)
