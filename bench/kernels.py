"""Over seventy kernels beside torch eager, Inductor, XLA (through jax) and NumPy.

    python -m bench.kernels [PATTERN ...] [--seconds S] [--without inductor,xla,numpy]
    python -m bench.kernels --threads 1 --clock cpu     # for cores that have other work

One process, two threads unless told otherwise, interleaved calls; best and median. Prints each
kernel's ratio to the fastest peer (above 1: Lamina is faster), its share of a copy's bandwidth
where memory bounds it (beyond the caches, of copies interleaved with it), all losses, and the
geometric mean. XLA is left out where jax is missing, and by `--clock cpu`, which hears of what
threads of its own do only now and then.
"""

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from importlib.util import find_spec
from statistics import geometric_mean
from typing import Any

import torch

import lamina
from bench.kernel_table import KERNELS, Kernel
from bench.network_kernel_table import NETWORK_KERNELS
from bench.timing import CLOCKS, Clock, Comparison, format_seconds, interleave

PEERS = ("eager", "inductor", "xla", "numpy")


@dataclass(frozen=True)
class Result(Comparison):
    """What one kernel took, ours and the peers' (by name), and the largest relative difference.

    `bandwidth` is that of a copy: measured beside the kernel if its data are beyond the caches.
    """

    kernel: Kernel
    traffic: int
    bandwidth: float
    difference: float

    @property
    def share(self) -> float:
        """The kernel's traffic a second in parts of the bandwidth of a copy."""
        return self.traffic / self.ours.best / self.bandwidth

    @property
    def is_beyond_caches(self) -> bool:
        """Whether memory bounds the kernel, and its data are in no cache."""
        return _is_beyond_caches(self.kernel, self.traffic)


class Function(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: torch.Tensor) -> Any:
        """What the function gives."""
        return self.function(*args)


def exported(kernel: Kernel, inputs: Sequence[torch.Tensor]) -> torch.export.ExportedProgram:
    """The kernel as torch exports it."""
    return torch.export.export(Function(kernel.torch), tuple(inputs))


def ours(kernel: Kernel, inputs: Sequence[torch.Tensor]) -> Callable[[], Any]:
    """The kernel compiled by Lamina, on torch tensors."""
    compiled = lamina.compile(exported(kernel, inputs))
    return partial(compiled, *inputs)


def peer(name: str, kernel: Kernel, inputs: Sequence[torch.Tensor]) -> Callable[[], Any]:
    """The kernel as the peer of that name runs it, on arrays of its own kind."""
    if name == "eager":
        return partial(kernel.torch, *inputs)
    if name == "inductor":
        torch._dynamo.reset()
        return partial(torch.compile(kernel.torch, dynamic=False), *inputs)
    assert kernel.array is not None
    arrays = [tensor.numpy() for tensor in inputs]
    if name == "numpy":
        import numpy

        return partial(kernel.array, numpy, *arrays)
    import jax
    import jax.numpy

    compiled = jax.jit(partial(kernel.array, jax.numpy))
    held = [jax.numpy.asarray(array) for array in arrays]
    return lambda: jax.block_until_ready(compiled(*held))


def available(without: Sequence[str]) -> tuple[str, ...]:
    """The peers that are installed and wanted."""
    here = {"xla": find_spec("jax") is not None}
    return tuple(name for name in PEERS if name not in without and here.get(name, True))


def measure(
    kernel: Kernel,
    peers: Sequence[str],
    seconds: float,
    bandwidth: float,
    clock: Clock = CLOCKS["wall"],
) -> Result:
    """Times one kernel beside the peers, and beside copies if it is beyond the caches."""
    inputs = kernel.inputs()
    wanted = [name for name in peers if _has(kernel, name)]
    with torch.no_grad():
        functions = {"lamina": ours(kernel, inputs)}
        functions |= {name: peer(name, kernel, inputs) for name in wanted}
        expected, actual = _tensors(functions["eager"]()), _tensors(functions["lamina"]())
        traffic = kernel.traffic or sum(t.nbytes for t in [*inputs, *expected])
        copied, copies = copy_functions() if _is_beyond_caches(kernel, traffic) else (0, {})
        timings = interleave(functions | copies, seconds=seconds, clock=clock)
    if copies:
        bandwidth = copied / min(timings.pop(name).best for name in copies)
    difference = max(_difference(a, e) for a, e in zip(actual, expected, strict=True))
    return Result(timings.pop("lamina"), timings, kernel, traffic, bandwidth, difference)


def _has(kernel: Kernel, peer_name: str) -> bool:
    """Whether a peer has such a kernel."""
    if peer_name in ("eager", "inductor"):
        return True
    return kernel.array is not None and (peer_name != "numpy" or kernel.numpy)


def _is_beyond_caches(kernel: Kernel, traffic: int) -> bool:
    return kernel.limit == "memory" and traffic > _BEYOND_CACHES


def _tensors(value: Any) -> list[torch.Tensor]:
    return [value] if isinstance(value, torch.Tensor) else list(value)


def _difference(actual: torch.Tensor, expected: torch.Tensor) -> float:
    scale = expected.double().abs().max().clamp(min=1e-30)
    return ((actual.double() - expected.double()).abs().max() / scale).item()


def copy_functions() -> tuple[int, dict[str, Callable[[], object]]]:
    """Bytes read and written by a copy of 256 MB, and the ways to make it, by name."""
    source = torch.randn(64 << 20)
    target = torch.empty_like(source)
    source_array, target_array = source.numpy(), target.numpy()
    return 2 * source.nbytes, {
        "copy by torch": lambda: target.copy_(source),
        "copy by numpy": lambda: target_array.__setitem__(..., source_array),
    }


def copy_bandwidth(seconds: float = 2.0, clock: Clock = CLOCKS["wall"]) -> float:
    """Bytes a second, read and written, of the fastest copy in this process."""
    copied, copies = copy_functions()
    timings = interleave(copies, seconds=seconds, clock=clock)
    return copied / min(timing.best for timing in timings.values())


def print_result(result: Result) -> None:
    """One line: times, ratio, share of the bandwidth."""
    note = f"{result.share:4.0%} of copy" if result.kernel.limit == "memory" else ""
    peers = "  ".join(f"{n} {format_seconds(t.best):>7}" for n, t in result.peers.items())
    print(
        f"{result.kernel.name:42} {format_seconds(result.ours.best):>7} /"
        f" {format_seconds(result.ours.median):>7}  {result.ratio:5.2f}x  {note:12}  {peers}"
        f"  diff {result.difference:.0e}",
        flush=True,
    )


def print_summary(results: Sequence[Result]) -> None:
    """The geometric mean of each table, and every loss."""
    print()
    for title, table in (("kernels", KERNELS), ("kernels of networks", NETWORK_KERNELS)):
        ratios = [result.ratio for result in results if result.kernel in table]
        if ratios:
            mean = geometric_mean(ratios)
            print(f"geometric mean over {len(ratios)} {title}, fastest peer over ours: {mean:.2f}")
    losses = sorted((r for r in results if r.ratio < 1), key=lambda result: result.ratio)
    print(f"losses: {len(losses)}")
    for result in losses:
        best, theirs = result.ours.best, result.peers[result.fastest].best
        print(
            f"  {result.kernel.name}: {format_seconds(best)}, {result.fastest}"
            f" {format_seconds(theirs)} ({best / theirs - 1:+.0%})"
        )
    beyond = [r for r in results if r.is_beyond_caches]
    slow = [r for r in beyond if r.share < 0.9]
    print(f"under 90 % of the copy bandwidth beyond cache: {len(slow)} of {len(beyond)}")
    for result in slow:
        print(f"  {result.kernel.name}: {result.share:.0%}")


_BEYOND_CACHES = 48 << 20
"""More bytes than this are beyond the caches of the machines measured so far, which hold 32 MB."""


def named(patterns: Sequence[str]) -> list[Kernel]:
    """The kernels whose names have one of the patterns in them, all if there are none."""
    kernels = (*KERNELS, *NETWORK_KERNELS)
    return [k for k in kernels if not patterns or any(fnmatch(k.name, f"*{p}*") for p in patterns)]


def compare(
    patterns: Sequence[str] = (),
    seconds: float = 2.0,
    without: Sequence[str] = (),
    threads: int = 2,
    clock: Clock = CLOCKS["wall"],
) -> None:
    """Measures the kernels that patterns name (see `named`)."""
    torch.set_num_threads(threads)
    bandwidth = copy_bandwidth(clock=clock)
    print(f"copy bandwidth, read and written: {bandwidth / 1e9:.1f} GB/s; best / median of ours")
    peers = available(without)
    results: list[Result] = []
    for kernel in named(patterns):
        results.append(measure(kernel, peers, seconds, bandwidth, clock))
        print_result(results[-1])
    if results:
        print_summary(results)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Kernels: Lamina beside its peers.")
    parser.add_argument("patterns", nargs="*", help="parts of kernels' names, with * and ?")
    parser.add_argument("--seconds", type=float, default=2.0, help="for each kernel")
    parser.add_argument("--without", default="", help="peers to leave out, with commas")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    given = parser.parse_args()
    without = given.without.split(",") + ["xla"] * (given.clock == "cpu")
    os.environ["OMP_NUM_THREADS"] = str(given.threads)
    compare(given.patterns, given.seconds, without, given.threads, CLOCKS[given.clock])


if __name__ == "__main__":
    main()
