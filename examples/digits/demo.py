"""`make demo`: a small convolutional network through every layer, to native code, without torch.

Reads the program as textual `aten` IR, prints it at each layer (shortened) and the kernels that
fusion formed, then classifies the held-out handwritten digits, beside plain NumPy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np

import lamina

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from plain_numpy import digits as digits_in_numpy  # noqa: E402  (after the path is set)

BATCH = 50
LAYERS = {
    "aten": "what the program said",
    "functional": "no op mutates or aliases an input",
    "core_aten": "only ops that torch tags core",
    "prims": "type promotion and broadcasting are explicit",
    "loop": "iteration domains, index maps and scalar bodies",
    "fused": "one loop.kernel is one native kernel",
    "bufferized": "buffers in one arena, and how each kernel runs: its schedule",
    "scheduled": "tiles, vectors, parallel regions",
    "llvm": "LLVM IR",
    "asm": "machine code",
}


def shorten(text: str, lines: int = 9, columns: int = 118) -> str:
    """The first non-blank lines of `text`, cut to the width of a screen."""
    everything = [line for line in text.splitlines() if line.strip()]
    shown = [
        line if len(line) <= columns else line[: columns - 4] + " ..."
        for line in everything[:lines]
    ]
    if len(everything) > lines:
        shown.append(f"  ... {len(everything) - lines} more lines")
    return "\n".join("    " + line for line in shown)


def seconds_of(runs: dict[str, Callable[[], object]], rounds: int = 300) -> dict[str, list[float]]:
    """Sorted times of each, measured in turns so that all meet the same state of the machine."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            start = perf_counter()
            run()
            times[name].append(perf_counter() - start)
    return {name: sorted(values) for name, values in times.items()}


def main() -> int:
    """Run the demonstration; the exit code is 1 if the two implementations disagree."""
    weights = dict(np.load(HERE / "weights.npz"))
    held_out = np.load(HERE / "heldout.npz")
    images = held_out["images"][:, None].astype(np.float32)
    batches = np.split(images, len(images) // BATCH)

    start = perf_counter()
    network = lamina.compile(HERE / "digits.mlir", constants=weights, cache=False)
    compile_seconds = perf_counter() - start

    for layer, contract in LAYERS.items():
        print(f"== {layer}: {contract}\n{shorten(network.ir(layer))}\n")
    print(f"== kernels\n{network.kernels}\n")

    def accuracy(scores: list[np.ndarray]) -> str:
        right = np.concatenate(scores).argmax(1) == held_out["labels"]
        return f"{right.mean():.2%} ({right.sum()} of {right.size} held-out images)"

    native = [np.asarray(network(batch)) for batch in batches]
    plain = [digits_in_numpy(batch, weights) for batch in batches]
    difference = max(float(np.abs(a - b).max()) for a, b in zip(native, plain, strict=True))
    times = seconds_of(
        {
            "Lamina": lambda: network(batches[0]),
            "NumPy": lambda: digits_in_numpy(batches[0], weights),
        }
    )
    print(f"== result\ncompiled in      {compile_seconds:.2f} s")
    print(f"Lamina accuracy  {accuracy(native)}")
    print(f"NumPy accuracy   {accuracy(plain)}; largest difference of a score {difference:.1e}")
    for name, values in times.items():
        best, middle = (values[rank] / BATCH * 1e6 for rank in (0, len(values) // 2))
        print(
            f"{name:16} {best:6.2f} us an image at best, median {middle:.2f} (batches of {BATCH})"
        )
    print(
        f"{times['NumPy'][0] / times['Lamina'][0]:.1f} times as fast as plain NumPy, best to best"
    )
    if difference > 1e-4:
        print("the two implementations disagree", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
