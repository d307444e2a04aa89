"""Programs with open sizes, beside code for the same sizes alone and eager mode.

    python -m bench.open_sizes [--seconds S] [--kernels [PATTERN ...] | --models [NAME ...]]
    python -m bench.open_sizes --kernels [PATTERN ...] --inductor     # or --models [NAME ...]
    python -m bench.open_sizes --threads 1 --clock cpu     # for cores that have other work

Decoders with open batch and length are called with sizes that fill a padded version and with some
that do not: once as a padded version, once as one for exactly these sizes. Torch's own layers put
positions in front of batches, the others (`batch first`) do not; images have an open batch alone.
The last rows are calls of a linear layer of 8 by 8, which are all dispatch. Versions take turns in
one process, eager mode runs behind them: its temporaries leave more or less of the caches to who
comes next, who would be judged by that. Each row has the padded version's best time over the exact
one's, then best and median of all.

With `--kernels` they are those of `bench.kernels` instead (see there for patterns), with the extent
of the first argument's first dimension open, of each argument that has it in front. Kernels that
torch.export does not leave open, or that take no padding, are named; behind them the geometric mean
and the worst. With `--inductor` they are compiled by `torch.compile(dynamic=True)` instead, which
leaves all sizes open, beside Inductor (`bench.dynamic_kernels`). With `--models` they are those of
`bench.models`: texts with open batch and length, images with an open batch; with `--inductor` all
sizes of these are open, too.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import geometric_mean
from typing import Any

import torch
from torch import nn
from torch._dynamo.exc import UserError
from torch.export import Dim
from torch.nn import functional

import lamina
from bench import dynamic_kernels
from bench.kernels import Function, named
from bench.model_table import MODELS, build
from bench.timing import CLOCKS, Clock, interleave

SHAPES = ((1, 128), (1, 100), (1, 66), (4, 64), (3, 50), (5, 70), (8, 128))
"""Batch and length: full, and not."""

OPEN_MODELS = ("bert-base", "smollm", "resnet-50")
MOST_BATCH, MOST_LENGTH = 16, 512
"""Of those models: ends of the ranges."""
TEXTS = ((1, 128), (1, 100), (3, 50), (4, 64), (1, 8))
BATCHES = (1, 3, 8)
"""Of those models: batches and lengths, and batches of images."""

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


class Layer(nn.Module):
    """A layer whose batches stand in front of positions all along."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)])
        self.inner, self.outer = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Causal attention, then two products."""
        batch, length, _ = x.shape
        parts = self.inner(self.norms[0](x)).split(WIDTH, -1)
        heads = (p.view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2) for p in parts)
        seen = functional.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.outer(seen.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.down(functional.gelu(self.up(self.norms[1](x))))


class BatchFirst(Decoder):
    """The decoder with such layers."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Layer() for _ in range(LAYERS)])


class Images(nn.Module):
    """Convolutions with norms over images of 64 by 64."""

    def __init__(self) -> None:
        super().__init__()
        sizes = ((3, 32), (32, 64), (64, 128))
        layers = ((nn.Conv2d(i, o, 3, 2, 1), nn.BatchNorm2d(o), nn.ReLU()) for i, o in sizes)
        self.layers = nn.Sequential(*(module for layer in layers for module in layer))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Means of channels."""
        return self.layers(images).mean((2, 3))


def compare(seconds: float, clock: Clock) -> None:
    """Prints a line for each shape, and one for each way to call a small program."""
    torch.manual_seed(0)
    batch = Dim("batch", min=1, max=8)
    dims = {"tokens": {0: batch, 1: Dim("length", min=2, max=512)}}
    given = (torch.zeros(2, 10, dtype=torch.long),)
    for suffix, kind in (("", Decoder), (" batch first", BatchFirst)):
        model = kind().eval()
        program = torch.export.export(model, given, dynamic_shapes=dims)
        functions = {**_policies(program), "eager": model}
        for shape in SHAPES:
            name = "x".join(map(str, shape)) + suffix
            _row(name, functions, [torch.randint(0, TOKENS, shape)], seconds, clock)
    model = Images().eval()
    pictures = torch.randn(8, 3, 64, 64)
    program = torch.export.export(model, (pictures,), dynamic_shapes={"images": {0: batch}})
    functions = {**_policies(program), "eager": model}
    for count in (8, 5, 3):
        _row(f"{count} images", functions, [pictures[:count]], seconds, clock)
    layer = nn.Linear(8, 8).eval()
    rows = {"input": {0: Dim("rows", min=1, max=8)}}
    small = torch.export.export(layer, (torch.zeros(4, 8),), dynamic_shapes=rows)
    functions = {**_policies(small), "eager": layer}
    for count in (8, 7):
        x = torch.randn(count, 8)
        known = lamina.compile(torch.export.export(layer, (x,)))
        _row(f"call, {count} rows", {**functions, "known": known}, [x], seconds, clock)


def compare_kernels(patterns: Sequence[str], seconds: float, clock: Clock) -> None:
    """Prints a line for each kernel that patterns name, then a summary."""
    ratios: dict[str, float] = {}
    for kernel in named(patterns):
        inputs = kernel.inputs()
        count = inputs[0].shape[0] if inputs[0].dim() else 0
        dims = tuple({0: Dim.AUTO} if x.dim() and x.shape[0] == count else None for x in inputs)
        try:
            program = torch.export.export(
                Function(kernel.torch), tuple(inputs), dynamic_shapes={"args": dims}
            )
            functions = {**_policies(program), "eager": kernel.torch}
            functions["padded"](*inputs)
        except (lamina.LaminaError, UserError) as error:
            print(f"{kernel.name:32} refused: {str(error).partition(chr(10))[0][:90]}", flush=True)
            continue
        if not getattr(functions["padded"], "sizes", ()):
            print(f"{kernel.name:32} has no open size", flush=True)
            continue
        ratios[kernel.name] = _row(kernel.name, functions, inputs, seconds, clock)
    _summary(ratios, "kernels")


def inputs_of(name: str) -> list[torch.Tensor]:
    """Inputs of the calls of a model of `bench.models`: texts, or batches of images."""
    _, (given,) = build(MODELS[name])
    if given.dtype == torch.long:
        return [torch.randint(1000, 30000, shape) for shape in TEXTS]
    return [torch.randn(batch, *given.shape[1:]) for batch in BATCHES]


def compare_models(names: Sequence[str], seconds: float, clock: Clock) -> None:
    """Prints lines for models of `bench.models`, then a summary."""
    ratios: dict[str, float] = {}
    for name in names:
        network, (given,) = build(MODELS[name])
        dims: dict[int, Any] = {0: Dim("batch", min=1, max=MOST_BATCH)}
        if given.dtype == torch.long:
            dims[1] = Dim("length", min=1, max=MOST_LENGTH)
        given = given.repeat(2, *[1] * (given.dim() - 1))
        with torch.no_grad():
            program = torch.export.export(network, (given,), dynamic_shapes=((dims),))
        functions = _policies(program)
        for x in inputs_of(name):
            title = f"{name} {'x'.join(map(str, x.shape))}"
            ratios[title] = _row(title, functions, [x], seconds, clock)
    _summary(ratios, "calls")


def _summary(ratios: Mapping[str, float], what: str) -> None:
    if ratios:
        worst = max(ratios, key=lambda name: ratios[name])
        mean = geometric_mean(ratios.values())
        print(f"{len(ratios)} {what}: {mean:.2f} in geometric mean, {worst} {ratios[worst]:.2f}")


def _policies(program: Any) -> dict[str, Callable[..., Any]]:
    return {name: lamina.compile(program, versions=name) for name in ("padded", "exact")}


def _row(
    name: str,
    functions: Mapping[str, Callable[..., Any]],
    inputs: Sequence[torch.Tensor],
    seconds: float,
    clock: Clock,
) -> float:
    calls = {n: partial(f, *inputs) for n, f in functions.items()}
    eager = {n: calls.pop(n) for n in ("eager",) if n in calls}
    with torch.no_grad():
        taken = interleave(calls, seconds=seconds, clock=clock)
        if eager:
            taken |= interleave(eager, seconds=seconds / 4, clock=clock)
    shown = ", ".join(f"{function} {timing}" for function, timing in taken.items())
    ratio = taken["padded"].best / taken["exact"].best
    print(f"{name:18} {ratio:5.2f}  {shown}", flush=True)
    return ratio


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m bench.open_sizes", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3, help="for each row")
    parser.add_argument("--kernels", nargs="*", metavar="PATTERN")
    parser.add_argument("--inductor", action="store_true", help="beside Inductor")
    parser.add_argument("--models", nargs="*", choices=sorted(OPEN_MODELS), metavar="NAME")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--clock", choices=sorted(CLOCKS), default="wall")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    clock = CLOCKS[given.clock]
    if given.inductor and given.models is not None:
        for name in given.models or OPEN_MODELS:
            network, sizes = build(MODELS[name])[0], inputs_of(name)
            dynamic_kernels.compare_calls(name, network, sizes, given.seconds, clock)
    elif given.inductor:
        if given.kernels is None:
            parser.error("--inductor goes with --kernels or --models")
        dynamic_kernels.compare(named(given.kernels), given.seconds, clock)
    elif given.kernels is not None:
        compare_kernels(given.kernels, given.seconds, clock)
    elif given.models is not None:
        compare_models(given.models or OPEN_MODELS, given.seconds, clock)
    else:
        compare(given.seconds, clock)


if __name__ == "__main__":
    main()
