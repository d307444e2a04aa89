"""f32 matrix products of many shapes, both operands changing from call to call, beside peers.

    python -m bench.matmul [MxKxN ...] [--seconds S] [--threads N] [--clock cpu]

One process, two threads unless told otherwise, interleaved calls, the best of each. Prints GF/s,
the share of the peak of multiply-adds measured before, the fastest peer (torch, XLA through jax
where it is installed) over ours (above 1: Lamina is faster), the error against f64, and the losses.
Of one row, also the share of the bandwidth at which memory is read, measured before.
"""

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import cycle
from typing import Any

import torch

import lamina
from bench.read_bandwidth import read_bandwidth
from bench.timing import CLOCKS, Comparison, format_seconds, interleave

SQUARES = (64, 128, 256, 512, 1024, 2048)
LONG = (4096, 16384, 65536)
SHAPES: tuple[tuple[int, int, int], ...] = (
    *((n, n, n) for n in SQUARES),
    *((64, k, 64) for k in LONG),
    *((512, k, 512) for k in LONG),
    (1, 4096, 4096),
    (8, 4096, 4096),
    (32, 2048, 2048),
    (128, 768, 3072),
    (4096, 64, 4096),
    (4096, 512, 16),
    (1000, 1000, 1000),
)
"""Rows, summed elements, columns: squares, long sums, and those of networks."""

NEAR = 0.95
"""Share of the fastest peer's speed from which on a product is no loss."""

_PAIRS = 4
_Product = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Row(Comparison):
    """What one shape took, ours and the peers', and our largest error by the largest element."""

    shape: tuple[int, int, int]
    error: float

    @property
    def name(self) -> str:
        """As on the command line."""
        return "x".join(map(str, self.shape))

    def bytes_a_second(self) -> float:
        """At which ours reads the second operand."""
        _, summed, columns = self.shape
        return 4 * summed * columns / self.ours.best

    def rate(self) -> float:
        """Of ours, in GF/s."""
        rows, summed, columns = self.shape
        return 2 * rows * summed * columns / self.ours.best / 1e9


def program(rows: int, summed: int, columns: int) -> str:
    """The product of two matrices as textual IR."""
    a, b, c = (
        f"tensor<{n}x{m}xf32>" for n, m in ((rows, summed), (summed, columns), (rows, columns))
    )
    return f"""
func.func @main(%a: {a} {{lamina.name = "a", lamina.kind = "input"}},
                %b: {b} {{lamina.name = "b", lamina.kind = "input"}}) -> {c} {{
  %c = aten.mm.default(%a, %b) : ({a}, {b}) -> {c}
  func.return %c : {c}
}}"""


def measure(shape: tuple[int, int, int], seconds: float, clock: str = "wall") -> Row:
    """Times one shape beside the peers."""
    rows, summed, columns = shape
    generator = torch.Generator().manual_seed(0)
    pairs = [
        (
            torch.randn(rows, summed, generator=generator),
            torch.randn(summed, columns, generator=generator),
        )
        for _ in range(_PAIRS)
    ]
    compiled = lamina.compile(program(*shape))
    a, b = pairs[0]
    exact = a.double() @ b.double()
    error = ((compiled(a, b) - exact).abs().max() / exact.abs().max()).item()
    functions = {"lamina": _rotating(compiled, pairs), "torch": _rotating(torch.mm, pairs)}
    if find_spec("jax") is not None:
        functions["xla"] = _by_xla(pairs)
    timings = interleave(functions, seconds=seconds, clock=CLOCKS[clock])
    return Row(timings.pop("lamina"), timings, shape, error)


def _by_xla(pairs: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> Callable[[], Any]:
    import jax
    import jax.numpy

    held = [(jax.numpy.asarray(a.numpy()), jax.numpy.asarray(b.numpy())) for a, b in pairs]
    compiled = jax.jit(jax.numpy.matmul)
    return _rotating(lambda a, b: jax.block_until_ready(compiled(a, b)), held)


def _rotating(product: _Product, pairs: Sequence[tuple[Any, Any]]) -> Callable[[], Any]:
    following = cycle(pairs)
    return lambda: product(*next(following))


def compare(
    shapes: Sequence[tuple[int, int, int]] = SHAPES,
    seconds: float = 2.0,
    threads: int = 2,
    clock: str = "wall",
) -> list[Row]:
    """Prints a line for each shape, and the losses."""
    from bench.fma_peak import fma_peak

    torch.set_num_threads(threads)
    peak = fma_peak(threads)
    read = read_bandwidth(CLOCKS[clock])
    print(
        f"on {threads} threads, {clock} time: {peak:.0f} GF/s of multiply-adds at peak, "
        f"{read / 1e9:.1f} GB/s are read"
    )
    found: list[Row] = []
    for shape in shapes:
        row = measure(shape, seconds, clock)
        found.append(row)
        peers = "  ".join(f"{n} {format_seconds(t.best):>7}" for n, t in row.peers.items())
        print(
            f"{row.name:18} {format_seconds(row.ours.best):>7}  {row.rate():5.0f} GF/s"
            f" {row.rate() / peak:4.0%} of peak  {row.ratio:5.2f}x  {peers}"
            f"  error {row.error:.0e}",
            flush=True,
        )
        if shape[0] == 1:
            bandwidth = row.bytes_a_second()
            share = bandwidth / read
            print(f"{'':18} {bandwidth / 1e9:.1f} GB/s, {share:.0%} of what is read", flush=True)
    losses = [row for row in found if row.ratio < NEAR]
    print(f"behind the fastest peer by more than {1 - NEAR:.0%}: {len(losses)} of {len(found)}")
    for row in losses:
        print(f"  {row.name}: {row.ratio:.2f} of {row.fastest}")
    return found


def _shape(text: str) -> tuple[int, int, int]:
    sizes = [int(size) for size in text.split("x")]
    if len(sizes) == 1:
        sizes *= 3
    if len(sizes) != 3 or min(sizes) < 1:
        raise argparse.ArgumentTypeError(f"{text} is no MxKxN, such as 64x4096x64")
    return sizes[0], sizes[1], sizes[2]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Products: Lamina beside its peers.")
    parser.add_argument("shapes", nargs="*", type=_shape, help="MxKxN, or N for a square")
    parser.add_argument("--seconds", type=float, default=2.0, help="for each shape")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)
    compare(arguments.shapes or SHAPES, arguments.seconds, arguments.threads, arguments.clock)


if __name__ == "__main__":
    main()
