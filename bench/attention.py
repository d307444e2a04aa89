"""Attention of 8 heads of 64 from 512 keys to 16,384, plain and causal, beside peers.

    python -m bench.attention [KEYS ...] [--bf16] [--seconds S] [--threads N] [--clock cpu]

One process, two threads unless told otherwise, interleaved calls, the best of each. Prints the
share of the peak of f32 multiply-adds, measured before, that the two products take (a causal one
counts half), the time of causal attention in parts of plain, and the fastest peer (torch; by the
wall clock XLA through jax, where it is installed) over ours.
"""

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention

import lamina
from bench.kernels import Function
from bench.timing import CLOCKS, Clock, Comparison, format_seconds, interleave

KEYS = (512, 1024, 2048, 4096, 8192, 16384)
HEADS, FEATURES = 8, 64


@dataclass(frozen=True)
class Row(Comparison):
    """What attention of so many keys took, ours and the peers', and our error."""

    keys: int
    causal: bool
    error: float

    @property
    def rate(self) -> float:
        """Of ours, in GF/s: products of queries and keys, of weights and values."""
        whole = 4 * HEADS * self.keys * self.keys * FEATURES
        return whole / (1 + self.causal) / self.ours.best / 1e9


def measure(keys: int, causal: bool, kind: torch.dtype, seconds: float, clock: Clock) -> Row:
    """Times one length beside the peers; errors are of the largest element."""
    generator = torch.Generator().manual_seed(0)
    shape = (1, HEADS, keys, FEATURES)
    inputs = [torch.randn(shape, generator=generator).to(kind) for _ in range(3)]

    def attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        return scaled_dot_product_attention(query, key, value, is_causal=causal)

    with torch.no_grad():
        compiled = lamina.compile(torch.export.export(Function(attend), tuple(inputs)))
        functions: dict[str, Callable[[], Any]] = {
            "lamina": partial(compiled, *inputs),
            "eager": partial(attend, *inputs),
        }
        if find_spec("jax") is not None and clock is CLOCKS["wall"]:  # see bench.kernels
            functions["xla"] = _by_xla(inputs, causal)
        error = (compiled(*inputs).double() - attend(*inputs).double()).abs().max().item()
        timings = interleave(functions, seconds=seconds, clock=clock)
    return Row(timings.pop("lamina"), timings, keys, causal, error)


def _by_xla(inputs: Sequence[torch.Tensor], causal: bool) -> Callable[[], Any]:
    import jax
    import jax.numpy

    # heads stand behind positions there
    held = [jax.numpy.asarray(x.float().transpose(1, 2).numpy()) for x in inputs]
    if inputs[0].dtype == torch.bfloat16:
        held = [x.astype(jax.numpy.bfloat16) for x in held]
    attend = jax.jit(partial(jax.nn.dot_product_attention, is_causal=causal))
    return lambda: jax.block_until_ready(attend(*held))


def compare(
    lengths: Sequence[int], kind: torch.dtype, seconds: float, threads: int, clock: str
) -> None:
    """Prints a line for each length, plain and causal."""
    from bench.fma_peak import fma_peak

    torch.set_num_threads(threads)
    peak = fma_peak(threads)
    print(f"on {threads} threads, {clock} time: {peak:.0f} GF/s of multiply-adds of f32 at peak")
    for keys in lengths:
        plain = 0.0
        for causal in (False, True):
            row = measure(keys, causal, kind, seconds, CLOCKS[clock])
            peers = "  ".join(f"{n} {format_seconds(t.best):>7}" for n, t in row.peers.items())
            said = f"{row.ours.best / plain:4.2f} of plain" if causal else ""
            plain = row.ours.best
            print(
                f"{keys:6} {'causal' if causal else 'plain':6} {format_seconds(plain):>7}"
                f" {row.rate:6.0f} GF/s, {row.rate / peak:4.0%} of peak  {said:13}"
                f"  {row.ratio:5.2f}x  {peers}  error {row.error:.0e}",
                flush=True,
            )


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Attention: Lamina beside its peers.")
    parser.add_argument("keys", nargs="*", type=int, help="how many; by default 512 to 16384")
    parser.add_argument("--bf16", action="store_true", help="instead of f32")
    parser.add_argument("--seconds", type=float, default=2.0, help="for each row")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    given = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(given.threads)
    kind = torch.bfloat16 if given.bf16 else torch.float32
    compare(given.keys or KEYS, kind, given.seconds, given.threads, given.clock)


if __name__ == "__main__":
    main()
