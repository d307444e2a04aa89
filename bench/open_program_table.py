"""What a row of `bench.open_programs` is, with the sizes that rows share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import nn

Sizes = tuple[int, ...]
Inputs = tuple[torch.Tensor, ...]
MakeInputs = Callable[[Sizes], Inputs]


@dataclass(frozen=True)
class OpenProgram:
    """A program by name, whose sizes are open.

    `module` makes it, with weights that are bound when it is compiled; `inputs` makes the arguments
    of a call with these sizes. It is called with the sizes `first`, then timed at `sizes`.
    """

    name: str
    module: Callable[[], nn.Module]
    inputs: MakeInputs
    sizes: Sequence[Sizes]
    first: Sequence[Sizes]


class ProgramTable(list[OpenProgram]):
    """Programs in the order in which they are written."""

    def add(
        self, name: str, inputs: MakeInputs, sizes: Sequence[Sizes], first: Sequence[Sizes]
    ) -> Callable[[type[nn.Module]], type[nn.Module]]:
        """A decorator that adds a class of modules, which are made without arguments."""

        def decorate(module: type[nn.Module]) -> type[nn.Module]:
            self.append(OpenProgram(name, lambda: module().eval(), inputs, sizes, first))
            return module

        return decorate


TEXTS = ((2, 10), (4, 100), (4, 200), (1, 30))
FIRST_TEXTS = ((3, 40), (2, 60))
"""Batches and lengths."""

IMAGES = ((1, 33, 47), (4, 56, 56), (2, 32, 48), (1, 100, 60))
FIRST_IMAGES = ((3, 40, 50), (2, 44, 38))
EVEN_IMAGES = ((1, 32, 48), (4, 56, 56), (2, 32, 48), (1, 100, 60))
"""Batches, heights and widths."""

PATCHED_IMAGES = ((1, 32, 48), (4, 64, 64), (2, 32, 48), (1, 112, 64))
FIRST_PATCHED_IMAGES = ((3, 48, 64), (2, 80, 32))
"""The same in patches of 16."""

SOUNDS = ((1, 1600), (2, 8000), (4, 4000), (1, 16000))
FIRST_SOUNDS = ((3, 3000), (2, 5000))
"""Batches and samples."""

ROWS = ((2,), (30,), (100,), (500,))
FIRST_ROWS = ((40,), (60,))

FEW_ROWS = ((1,), (3,), (16,), (64,))
FIRST_FEW_ROWS = ((5,), (30,))

GRAPHS = ((10, 40), (100, 500), (500, 3000), (30, 60))
FIRST_GRAPHS = ((40, 100), (60, 200))
"""Nodes and edges."""


def sequences(features: int, dtype: torch.dtype = torch.float32) -> MakeInputs:
    """Normal numbers, of batches by lengths by features."""
    return lambda s: (torch.randn(s[0], s[1], features, dtype=dtype),)


def images(channels: int) -> MakeInputs:
    """Normal numbers, of batches by channels by heights by widths."""
    return lambda s: (torch.randn(s[0], channels, s[1], s[2]),)


def distinct(height: int, width: int) -> torch.Tensor:
    """Numbers in random order of which no two are equal, whose places are compared."""
    return torch.randperm(height * width).view(height, width).float()


def rows(*features: int) -> MakeInputs:
    """For each number of features, as many rows of normal numbers."""
    return lambda s: tuple(torch.randn(s[0], f) for f in features)


def graph(features: int) -> MakeInputs:
    """Rows of normal numbers for nodes, and pairs of nodes."""
    return lambda s: (torch.randn(s[0], features), torch.randint(0, s[0], (2, s[1])))
