"""Programs of the fuzzer: arguments, lines of torch, results; their text and their module."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

GLOBALS: dict[str, Any] = {"torch": torch, "F": torch.nn.functional, "inf": float("inf")}
"""What the lines of a program may use besides its own names."""

MOST_ELEMENTS = 1 << 17
"""Of any tensor: a case should take no longer than a second."""

GROWTHS = (1, 2, 7, 60)
"""By how much a size is larger in another call: next to it, and beyond vectors and tiles."""


@dataclass(frozen=True)
class Line:
    """`text` computes tensor `defines` from `uses`; one that writes in place defines nothing."""

    text: str
    defines: str | None
    uses: tuple[str, ...]

    def source(self) -> str:
        """A line of Python."""
        return f"{self.defines} = {self.text}" if self.defines else self.text


@dataclass(frozen=True)
class Program:
    """A straight line of torch calls over `arguments`, whose values and strides are part of it."""

    arguments: Mapping[str, torch.Tensor]
    lines: Sequence[Line]
    results: Sequence[str]

    def source(self) -> str:
        """The function as Python text."""
        body = [line.source() for line in self.lines]
        body.append(f"return ({', '.join(self.results)},)")
        names = ", ".join(self.arguments)
        return f"def program({names}):\n" + "".join(f"    {line}\n" for line in body)

    def function(self) -> Callable[..., tuple[torch.Tensor, ...]]:
        """The function itself."""
        names: dict[str, Any] = dict(GLOBALS)
        exec(self.source(), names)
        return names["program"]

    def module(self) -> torch.nn.Module:
        """A module that calls the function."""
        return _Module(self.function())

    def tensors(self) -> list[torch.Tensor]:
        """Copies of the arguments that have their strides."""
        return [same_layout(value) for value in self.arguments.values()]

    def grown(self, turn: int) -> Program | None:
        """The program on arguments of which one size is larger wherever it stands, by `turn`.

        What stands there is repeated, so that special values and indices stay what they were. None
        where eager mode does not take them, as numbers in the program go with the old size.
        """
        sizes = sorted({size for value in self.arguments.values() for size in value.shape} - {0})
        if not sizes:
            return None
        old = sizes[turn % len(sizes)]
        new = old + GROWTHS[turn % len(GROWTHS)]
        arguments = {name: _repeated(value, old, new) for name, value in self.arguments.items()}
        if any(value.numel() > MOST_ELEMENTS for value in arguments.values()):
            return None
        grown = replace(self, arguments=arguments)
        try:
            with torch.no_grad():
                grown.function()(*grown.tensors())
        except (RuntimeError, IndexError, ValueError):
            return None
        return grown

    def repro(self) -> str:
        """Text that makes the arguments and calls the program."""
        made = "".join(f"{name} = {literal(value)}\n" for name, value in self.arguments.items())
        return f"{self.source()}\n{made}print(program({', '.join(self.arguments)}))\n"


def _repeated(value: torch.Tensor, old: int, new: int) -> torch.Tensor:
    for dim, size in enumerate(value.shape):
        if size == old:
            value = value.index_select(dim, torch.arange(new) % old)
    return value


class _Module(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *tensors: torch.Tensor) -> Any:
        """The program's results."""
        return self.function(*tensors)


def same_layout(value: torch.Tensor) -> torch.Tensor:
    """A copy of `value` with its strides; dimensions of stride 0 stay shared."""
    span = 1 + sum((n - 1) * s for n, s in zip(value.shape, value.stride(), strict=True) if n)
    if value.numel() == 0:
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype)
    memory = torch.zeros(span, dtype=value.dtype)
    view = memory.as_strided(value.shape, value.stride())
    base = [slice(0, 1) if s == 0 else slice(None) for s in value.stride()]
    view[tuple(base)] = value[tuple(base)]
    return view


def literal(value: torch.Tensor) -> str:
    """A tensor as Python text; large ones as one that is like them."""
    if value.numel() > 256:
        return f"torch.randn({list(value.shape)}).to({value.dtype})  # one of this shape"
    elements = str(value.contiguous().view(-1).tolist())
    for name in ("nan", "inf"):
        elements = elements.replace(name, f"float('{name}')")
    text = f"torch.tensor({elements}, dtype={value.dtype}).view({list(value.shape)})"
    if value.is_contiguous():
        return text
    return f"{text}  # strides {list(value.stride())}"
