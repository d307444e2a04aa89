"""Whole models: Lamina beside eager mode, Inductor, ONNX Runtime and OpenVINO.

    python -m bench.models                              # or: make bench-models
    python -m bench.models --models resnet-50 --engines eager lamina --rounds 5
    python -m bench.models --threads 1 --clock cpu      # for cores that have other work

Rows are those of `bench/model_table.py`. Each engine runs in a process of its own, the engines of a
model in turn, with two threads. Printed are the best and the median time of all rounds, time to the
first result (from the exported program or the ONNX file, for Inductor the module), and the norm of
the difference from the model in f64 as a part of the result's. Deep networks with random weights
make an error of rounding a hundred times as large: eager mode's own error is what others are to be
judged by. For decoding there is a rate, and its share of what the
bandwidth allows that is measured in the same process.

In bf16 eager mode, Inductor and Lamina take weights of bf16; OpenVINO takes those of f32 and the
hint to compute in bf16. ONNX Runtime has no such kernels for CPUs.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

from bench.model_table import MODELS, Inputs, Made, Model, build, rounded
from bench.read_bandwidth import read_bandwidth
from bench.timing import CLOCKS, format_seconds

Call = Callable[[], Any]


def _eager(model: torch.nn.Module, inputs: Inputs) -> Call:
    return lambda: model(*inputs)


def _inductor(model: torch.nn.Module, inputs: Inputs) -> Call:
    optimized = torch.compile(model)
    return lambda: optimized(*inputs)


def _inductor_frozen(model: torch.nn.Module, inputs: Inputs) -> Call:
    import torch._inductor.config as settings

    settings.freezing = True
    return _inductor(model, inputs)


def _lamina(program: torch.export.ExportedProgram, inputs: Inputs) -> Call:
    import lamina

    compiled = lamina.compile(program, cache=False)
    return lambda: compiled(*inputs)


def _onnx(made: Made, folder: Path) -> Path:
    path = folder / "model.onnx"
    if not path.exists():
        model, inputs = made
        torch.onnx.export(model, inputs, str(path), dynamo=True, verbose=False)
    return path


def _onnxruntime(path: Path, inputs: Inputs, dtype: torch.dtype) -> Call:
    import onnxruntime

    if dtype != torch.float32:
        raise SystemExit(f"no kernels of {dtype} for CPUs")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(path, options)
    feeds = {given.name: x.numpy() for given, x in zip(session.get_inputs(), inputs, strict=True)}
    return lambda: session.run(None, feeds)[0]


def _openvino(path: Path, inputs: Inputs, dtype: torch.dtype) -> Call:
    import openvino

    core = openvino.Core()
    settings = {
        "INFERENCE_NUM_THREADS": torch.get_num_threads(),
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "bf16" if dtype == torch.bfloat16 else "f32",
    }
    compiled = core.compile_model(core.read_model(path), "CPU", settings)
    request, values = compiled.create_infer_request(), [x.numpy() for x in inputs]
    return lambda: request.infer(values)[0]


_IN_TORCH = {"eager": _eager, "inductor": _inductor, "inductor-freezing": _inductor_frozen}
_BY_EXPORT = {"lamina": _lamina}
_BY_ONNX = {"onnxruntime": _onnxruntime, "openvino": _openvino}
ENGINES = (*_IN_TORCH, *_BY_EXPORT, *_BY_ONNX)


def _exact(made: Made, folder: Path) -> Any:
    """The result in f64, of weights and inputs of f32."""
    kept = folder / "exact.npy"
    if not kept.exists():
        wide, inputs = rounded(copy.deepcopy(made), torch.float64)
        np.save(kept, wide(*inputs).numpy())
    return np.load(kept)


def _run(model: Model, engine: str, folder: Path, seconds: float, clock: str) -> dict[str, Any]:
    """What one process measures; the folder keeps what others share."""
    now = CLOCKS[clock]
    made = build(model)
    with torch.no_grad():
        exact = _exact(made, folder)
        if engine in _BY_ONNX:
            path = _onnx(made, folder)  # no part of the time to the first result
            start = now()
            call = _BY_ONNX[engine](path, made[1], model.dtype)
        else:
            network, inputs = rounded(made, model.dtype)
            if engine in _BY_EXPORT:
                program = torch.export.export(network, inputs)  # no part of it either
                start = now()
                call = _BY_EXPORT[engine](program, inputs)
            else:
                start = now()
                call = _IN_TORCH[engine](network, inputs)
        result = _array(call())
        first = now() - start
        error = float(np.linalg.norm(result - exact) / np.linalg.norm(exact))
        samples: list[float] = []
        end = time.perf_counter() + seconds
        while len(samples) < 5 or time.perf_counter() < end:
            start = now()
            call()
            samples.append(now() - start)
    found: dict[str, Any] = {"samples": samples, "first": first, "error": error}
    if model.decodes:
        weights = sum(p.nbytes for p in made[0].parameters())
        found["bound"] = weights / read_bandwidth(now)
    return found


def _array(result: Any) -> Any:
    return result.float().numpy() if isinstance(result, torch.Tensor) else np.asarray(result)


def _in_process(arguments: list[str], threads: int) -> dict[str, Any] | str:
    """What a process of one engine says, or the last line of its complaint."""
    command = [sys.executable, "-m", "bench.models", *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["failed"])[-1]
    return json.loads(done.stdout.splitlines()[-1])


def compare(
    names: list[str], engines: list[str], rounds: int, seconds: float, threads: int, clock: str
) -> None:
    """Prints a table for each model."""
    for name in names:
        said: dict[str, list[dict[str, Any]]] = {engine: [] for engine in engines}
        failed: dict[str, str] = {}
        with tempfile.TemporaryDirectory() as folder:
            words = ["--seconds", str(seconds), "--threads", str(threads), "--clock", clock]
            for _ in range(rounds):
                for engine in engines:
                    if engine in failed:
                        continue
                    answer = _in_process(["--process", name, engine, folder, *words], threads)
                    if isinstance(answer, str):
                        failed[engine] = answer
                    else:
                        said[engine].append(answer)
        print(f"{MODELS[name].title}, {threads} threads, {clock} time", flush=True)
        for engine in engines:
            if engine in failed:
                print(f"  {engine:18} {failed[engine]}", flush=True)
            else:
                print(f"  {engine:18} {_described(said[engine])}", flush=True)
        best = {engine: min(_samples(said[engine])) for engine in engines if said[engine]}
        peers = [engine for engine in best if engine != "lamina"]
        if "lamina" in best and peers:
            fastest = min(peers, key=best.__getitem__)
            ratio = best[fastest] / best["lamina"]
            print(f"  lamina is {ratio:.2f} times as fast as {fastest}", flush=True)


def _samples(runs: list[dict[str, Any]]) -> list[float]:
    return [sample for run in runs for sample in run["samples"]]


def _described(runs: list[dict[str, Any]]) -> str:
    """A line of figures: seconds of a call, of the first one, error, and the rate of a decoder."""
    samples = _samples(runs)
    line = (
        f"best {format_seconds(min(samples)):>8}  median {format_seconds(median(samples)):>8}"
        f"  first {format_seconds(min(run['first'] for run in runs)):>7}"
        f"  error {runs[-1]['error']:.1e}"
    )
    if "bound" in runs[-1]:
        bound = min(run["bound"] for run in runs)
        line += f"  {1 / min(samples):.1f} tokens/s, {bound / min(samples):.0%} of {1 / bound:.1f}"
    return line


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Whole models beside other engines.")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, help="default: all there are")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each engine in each round")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--process", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    if given.process:
        name, engine, folder = given.process
        found = _run(MODELS[name], engine, Path(folder), given.seconds, given.clock)
        print(json.dumps(found))
        return
    no_compiler = shutil.which("g++") is None and shutil.which("clang++") is None
    engines = given.engines or [e for e in ENGINES if not (no_compiler and "inductor" in e)]
    compare(given.models, engines, given.rounds, given.seconds, given.threads, given.clock)


if __name__ == "__main__":
    main()
