"""All benchmarks one after another, side by side with torch: `python -m bench`."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "2")

import torch

from bench import matmul, minilm


def main() -> None:
    """Runs every benchmark with its default time."""
    torch.set_num_threads(2)
    print(f"torch {torch.__version__}, two threads; best and median of interleaved calls\n")
    matmul.compare()
    print()
    minilm.compare()


if __name__ == "__main__":
    main()
