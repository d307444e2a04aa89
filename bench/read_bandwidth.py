"""Bytes a second that a thread or a team reads from memory: `python -m bench.read_bandwidth`.

The best of sums over a buffer larger than caches, by torch and by Lamina: nothing is stored, and
arithmetic is far below what memory gives.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch

import lamina

BUFFER_BYTES = 512 << 20
"""What is read: as large as the weights of a small model of language."""


def read_bandwidth(clock: Callable[[], float] = time.perf_counter, repeats: int = 15) -> float:
    """Bytes a second, on as many threads as torch has been given."""
    buffer = torch.ones(BUFFER_BYTES // 4)
    kind = f"tensor<{buffer.numel()}xf32>"
    ours = lamina.compile(
        f"func.func @main(%x: {kind}) -> tensor<f32> {{\n"
        f"  %y = aten.sum.default(%x) : ({kind}) -> tensor<f32>\n"
        "  func.return %y : tensor<f32>\n}"
    )
    sums: tuple[Callable[[torch.Tensor], object], ...] = (torch.sum, ours)
    least = float("inf")
    for _ in range(repeats):
        for function in sums:
            start = clock()
            function(buffer)
            least = min(least, clock() - start)
    return BUFFER_BYTES / least


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    threads: int = parser.parse_args().threads
    torch.set_num_threads(threads)
    print(f"{read_bandwidth() / 1e9:.1f} GB/s are read on {threads} threads")


if __name__ == "__main__":
    main()
