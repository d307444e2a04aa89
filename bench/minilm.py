"""all-MiniLM-L6-v2, batch 1, 128 tokens: Lamina, torch eager and Inductor in one process.

    python -m bench.minilm

Also: time from ExportedProgram to first result, cold and from the disk cache in a new process.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("OMP_NUM_THREADS", "2")

import torch

import lamina
from bench.sentence_embeddings import TOKENS, export_encoder, load_encoder
from bench.timing import format_seconds, interleave, print_table


def example_inputs() -> tuple[torch.Tensor, torch.Tensor]:
    """Random token ids and a full mask."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(1000, 30000, (1, TOKENS), generator=generator)
    return ids, torch.ones_like(ids)


def first_result(*, cache: bool) -> float:
    """Seconds from ExportedProgram to the first embedding, `import lamina` done."""
    program = export_encoder(load_encoder())
    inputs = example_inputs()
    start = time.perf_counter()
    lamina.compile(program, cache=cache)(*inputs)
    return time.perf_counter() - start


def first_result_in_new_process(cache_folder: str) -> float:
    """The same in a new process that uses the disk cache in `cache_folder`."""
    command = [sys.executable, "-m", "bench.minilm", "--first-result"]
    environment = {**os.environ, "LAMINA_CACHE_DIR": cache_folder}
    output = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout
    return float(output.split()[-1])


def compare(seconds: float = 20.0, inductor: bool = True) -> None:
    """Prints compile times and the table of call times."""
    with tempfile.TemporaryDirectory() as folder:
        cold = first_result_in_new_process(folder)
        warm = first_result_in_new_process(folder)
    print(f"to the first result: cold {cold:.2f} s, from the disk cache {warm:.2f} s")
    encoder, inputs = load_encoder(), example_inputs()
    compiled = lamina.compile(export_encoder(encoder))
    functions = {
        "lamina": lambda: compiled(*inputs),
        "torch eager": lambda: encoder(*inputs),
    }
    with torch.no_grad():
        if inductor:
            start = time.perf_counter()
            with tempfile.TemporaryDirectory() as folder:
                os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
                optimized = torch.compile(encoder)
                optimized(*inputs)
            print(f"Inductor to the first result: {format_seconds(time.perf_counter() - start)}")
            functions["Inductor"] = lambda: optimized(*inputs)
        difference = (functions["lamina"]() - functions["torch eager"]()).abs().max().item()
        print(f"largest difference from eager: {difference:.1e}")
        timings = interleave(functions, seconds=seconds)
    print_table(f"MiniLM, batch 1, {TOKENS} tokens", timings, "torch eager")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="MiniLM: Lamina, torch eager, Inductor.")
    parser.add_argument("--first-result", action="store_true", help="only time the first result")
    parser.add_argument("--no-inductor", action="store_true", help="leave Inductor out")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long to measure")
    arguments = parser.parse_args()
    torch.set_num_threads(2)
    if arguments.first_result:
        print(first_result(cache=True))
    else:
        compare(arguments.seconds, inductor=not arguments.no_inductor)


if __name__ == "__main__":
    main()
