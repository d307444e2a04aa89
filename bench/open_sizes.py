"""Programs with open sizes, beside code for the same sizes alone and eager mode.

    python -m bench.open_sizes [--seconds S]

A decoder with open batch and length is called with sizes that fill a padded version and with some
that do not: once as a padded version, once as one for exactly these sizes. The last rows are calls
of a linear layer of 8 by 8, which are all dispatch. Runs take turns in one process; each row has
the padded version's best time over the exact one's, then best and median of all.
"""

import argparse
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.export import Dim

import lamina
from bench.timing import interleave

SHAPES = ((1, 128), (1, 100), (1, 66), (4, 64), (3, 50), (8, 128))
"""Batch and length: full, and not."""

WIDTH, HEADS, LAYERS, TOKENS = 256, 8, 4, 1000


class Decoder(nn.Module):
    """Causal layers over embedded tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(TOKENS, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, batch_first=True)
        self.layers = nn.ModuleList([layer for _ in range(LAYERS)])

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Scores of the tokens."""
        x = self.tokens(tokens)
        for layer in self.layers:
            x = layer(x)
        return x @ self.tokens.weight.T


def compare(seconds: float) -> None:
    """Prints a line for each shape, and one for each way to call a small program."""
    torch.manual_seed(0)
    model = Decoder().eval()
    dims = {"tokens": {0: Dim("batch", min=1, max=8), 1: Dim("length", min=2, max=512)}}
    given = (torch.zeros(2, 10, dtype=torch.long),)
    program = torch.export.export(model, given, dynamic_shapes=dims)
    functions = {**_policies(program), "eager": model}
    for shape in SHAPES:
        _row("x".join(map(str, shape)), functions, torch.randint(0, TOKENS, shape), seconds)
    layer = nn.Linear(8, 8).eval()
    rows = {"input": {0: Dim("rows", min=1, max=8)}}
    small = torch.export.export(layer, (torch.zeros(4, 8),), dynamic_shapes=rows)
    functions = {**_policies(small), "eager": layer}
    for count in (8, 7):
        x = torch.randn(count, 8)
        known = lamina.compile(torch.export.export(layer, (x,)))
        _row(f"call, {count} rows", {**functions, "known": known}, x, seconds)


def _policies(program: Any) -> dict[str, Callable[..., Any]]:
    return {name: lamina.compile(program, versions=name) for name in ("padded", "exact")}


def _row(
    name: str, functions: Mapping[str, Callable[..., Any]], x: torch.Tensor, seconds: float
) -> None:
    with torch.no_grad():
        taken = interleave({n: partial(f, x) for n, f in functions.items()}, seconds=seconds)
    shown = ", ".join(f"{function} {timing}" for function, timing in taken.items())
    ratio = taken["padded"].best / taken["exact"].best
    print(f"{name:14} {ratio:5.2f}  {shown}", flush=True)


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m bench.open_sizes", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3, help="for each row")
    compare(parser.parse_args().seconds)


if __name__ == "__main__":
    main()
