"""Whole models, batch 1 in f32: Lamina beside eager mode, Inductor, ONNX Runtime and OpenVINO.

    python -m bench.models                              # or: make bench-models
    python -m bench.models --models resnet-50 --engines eager lamina --rounds 5

Public configurations with random weights; batch norms scale by 1, their statistics come from one
forward pass in training mode, so that activations are as large as those of a trained network. Each
engine runs in a process of its own, the engines of a model in turn, with two threads. Printed are
the best and the median time of all rounds, time to the first result, and the norm of the difference
from the model in f64 as a part of the result's. Deep networks with random weights make an error of
rounding a hundred times as large: eager mode's own error is what others are to be judged by.
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

from bench.densenet import densenet_121
from bench.timing import format_seconds
from bench.unet import unet_block

Call = Callable[[], Any]


class _Logits(torch.nn.Module):
    """A model of transformers that gives its first tensor alone."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The logits, or the last hidden state."""
        return self.model(x, return_dict=False)[0]


class _Steps(torch.nn.Module):
    """A recurrent network that gives what its last layer makes of all steps."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """One vector a step."""
        return self.model(x)[0]


_IMAGES: dict[str, tuple[str, dict[str, Any]]] = {
    "resnet-50": ("ResNet", {}),
    "mobilenet-v2": ("MobileNetV2", {"tf_padding": False}),
    "convnext-tiny": ("ConvNext", {}),
    "regnet-y-040": ("RegNet", {}),
    "efficientnet-b0": (
        "EfficientNet",
        {"width_coefficient": 1.0, "depth_coefficient": 1.0, "hidden_dim": 1280, "image_size": 224},
    ),
    "vit-base": ("ViT", {}),
}
"""Names of models of images: class prefix in transformers, and what differs from its defaults."""

MODELS = (*_IMAGES, "densenet-121", "bert-base", "unet-block", "lstm")


def build(name: str) -> tuple[torch.nn.Module, torch.Tensor]:
    """A model in eval mode and an input: 1x3x224x224 f32, 1x128 token ids, a 1x320x64x64 image of
    a UNet, or 1x100x512 steps for two layers of an LSTM, 512 wide."""
    import transformers

    torch.manual_seed(0)
    if name == "unet-block":
        return unet_block()
    if name == "lstm":
        return _Steps(torch.nn.LSTM(512, 512, 2, batch_first=True)).eval(), torch.randn(1, 100, 512)
    if name == "bert-base":
        model: torch.nn.Module = transformers.BertModel(transformers.BertConfig())
        ids = torch.randint(1000, 30000, (1, 128))
        return _Logits(model).eval(), ids
    if name == "densenet-121":
        model = densenet_121()
    else:
        prefix, changed = _IMAGES[name]
        config = getattr(transformers, f"{prefix}Config")(num_labels=1000, **changed)
        model = _Logits(getattr(transformers, f"{prefix}ForImageClassification")(config))
    norms = [m for m in model.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    for norm in norms:
        norm.reset_parameters()  # EfficientNet begins with weights near 0: subnormal activations
        norm.momentum = 1.0
    if norms:
        with torch.no_grad():
            model.train()(torch.randn(4, 3, 224, 224))
    return model.eval(), torch.randn(1, 3, 224, 224)


def _eager(model: torch.nn.Module, x: torch.Tensor) -> Call:
    return lambda: model(x)


def _inductor(model: torch.nn.Module, x: torch.Tensor) -> Call:
    optimized = torch.compile(model)
    return lambda: optimized(x)


def _inductor_frozen(model: torch.nn.Module, x: torch.Tensor) -> Call:
    import torch._inductor.config as settings

    settings.freezing = True
    return _inductor(model, x)


def _lamina(model: torch.nn.Module, x: torch.Tensor) -> Call:
    import lamina

    compiled = lamina.compile(torch.export.export(model, (x,)), cache=False)
    return lambda: compiled(x)


def _onnx(model: torch.nn.Module, x: torch.Tensor, folder: Path) -> Path:
    path = folder / "model.onnx"
    if not path.exists():
        torch.onnx.export(model, (x,), str(path), dynamo=True, verbose=False)
    return path


def _onnxruntime(model: torch.nn.Module, x: torch.Tensor, folder: Path) -> Call:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(_onnx(model, x, folder), options)
    feeds = {session.get_inputs()[0].name: x.numpy()}
    return lambda: session.run(None, feeds)[0]


def _openvino(model: torch.nn.Module, x: torch.Tensor, folder: Path) -> Call:
    import openvino

    core = openvino.Core()
    settings = {
        "INFERENCE_NUM_THREADS": torch.get_num_threads(),
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
    }
    compiled = core.compile_model(core.read_model(_onnx(model, x, folder)), "CPU", settings)
    request, value = compiled.create_infer_request(), x.numpy()
    return lambda: request.infer([value])[0]


_IN_TORCH = {
    "eager": _eager,
    "inductor": _inductor,
    "inductor-freezing": _inductor_frozen,
    "lamina": _lamina,
}
_BY_ONNX = {"onnxruntime": _onnxruntime, "openvino": _openvino}
ENGINES = (*_IN_TORCH, *_BY_ONNX)


def _run(name: str, engine: str, folder: Path, seconds: float) -> dict[str, Any]:
    """What one process measures; the folder keeps what others share."""
    model, x = build(name)
    with torch.no_grad():
        if engine in _BY_ONNX:
            _onnx(model, x, folder)  # no part of the time to the first result
        start = time.perf_counter()
        if engine in _BY_ONNX:
            call = _BY_ONNX[engine](model, x, folder)
        else:
            call = _IN_TORCH[engine](model, x)
        result = np.asarray(call())
        first = time.perf_counter() - start
        kept = folder / "exact.npy"
        if not kept.exists():
            wide = x.double() if x.is_floating_point() else x
            np.save(kept, copy.deepcopy(model).double()(wide).numpy())
        exact = np.load(kept)
        error = float(np.linalg.norm(result - exact) / np.linalg.norm(exact))
        samples: list[float] = []
        end = time.perf_counter() + seconds
        while len(samples) < 5 or time.perf_counter() < end:
            start = time.perf_counter()
            call()
            samples.append(time.perf_counter() - start)
    return {"samples": samples, "first": first, "error": error}


def _in_process(arguments: list[str], threads: int) -> dict[str, Any] | str:
    """What a process of one engine says, or the last line of its complaint."""
    command = [sys.executable, "-m", "bench.models", *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["failed"])[-1]
    return json.loads(done.stdout.splitlines()[-1])


def compare(
    names: list[str], engines: list[str], rounds: int, seconds: float, threads: int
) -> None:
    """Prints a table for each model."""
    for name in names:
        samples: dict[str, list[float]] = {engine: [] for engine in engines}
        last: dict[str, dict[str, Any]] = {}
        failed: dict[str, str] = {}
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(rounds):
                for engine in engines:
                    if engine in failed:
                        continue
                    words = ["--process", name, engine, folder]
                    words += ["--seconds", str(seconds), "--threads", str(threads)]
                    said = _in_process(words, threads)
                    if isinstance(said, str):
                        failed[engine] = said
                    else:
                        last[engine] = said
                        samples[engine] += said["samples"]
        print(f"{name}, batch 1, f32, {threads} threads", flush=True)
        for engine in engines:
            if engine in failed:
                print(f"  {engine:18} {failed[engine]}")
                continue
            best, middle = min(samples[engine]), median(samples[engine])
            print(
                f"  {engine:18} best {format_seconds(best):>8}  median "
                f"{format_seconds(middle):>8}  first {format_seconds(last[engine]['first']):>7}"
                f"  error {last[engine]['error']:.1e}",
                flush=True,
            )
        peers = [e for e in ("onnxruntime", "openvino") if e in last]
        if "lamina" in last and peers:
            fastest = min(peers, key=lambda e: min(samples[e]))
            ratio = min(samples[fastest]) / min(samples["lamina"])
            print(f"  lamina is {ratio:.2f} times as fast as {fastest}", flush=True)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Whole models beside other engines.")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, help="default: all there are")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each engine in each round")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--process", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    if given.process:
        name, engine, folder = given.process
        print(json.dumps(_run(name, engine, Path(folder), given.seconds)))
        return
    no_compiler = shutil.which("g++") is None and shutil.which("clang++") is None
    engines = given.engines or [e for e in ENGINES if not (no_compiler and "inductor" in e)]
    compare(given.models, engines, given.rounds, given.seconds, given.threads)


if __name__ == "__main__":
    main()
