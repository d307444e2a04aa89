"""LLVM pass pipelines side by side: what they cost to run, and how fast the code is, one thread.

`python -m bench.llvm_pipelines` compiles ten kernels of `bench.kernel_table` with each pipeline,
then runs the versions of a kernel in turn. Times are relative to the pipeline in use.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"  # the question is code, not threads

import torch
from llvmlite import binding

from bench.kernel_table import KERNELS, Kernel
from lamina.codegen.jit import compile_object, default_options, load_object, target_machine
from lamina.codegen.llvm_emitter import emit_module
from lamina.codegen.target import Target
from lamina.dialects.context import Context
from lamina.frontends.exported_program import import_exported_program
from lamina.lowering.pipeline import pipeline, run_pipeline

NAMES = (
    "gelu(x+b)*tanh(x)+exp(-x*x) 1024x4096",
    "sin(x)*cos(x)+sigmoid(x) 1024x1024",
    "atan2(x, y) 1024x1024",
    "silu(x) * y 2048x2048",
    "batch norm + relu 8x64x56x56",
    "NCHW to NHWC 8x64x56x56",
    "softmax over dim 0 1024x1024",
    "variance of rows 4096x1024",
    "three pointwise ops on 16",
    "softmax 8x64",
)

Optimise = Callable[[binding.ModuleRef, binding.TargetMachine], None]


@dataclass(frozen=True)
class Pipeline:
    """LLVM passes over a module, then instruction selection with effort `level`."""

    name: str
    optimise: Optimise
    level: int


def standard(speed: int, *, vectorize: bool = False) -> Optimise:
    """LLVM's own pipeline, with or without its vectorisers and unroller."""

    def run(module: binding.ModuleRef, machine: binding.TargetMachine) -> None:
        tuning = binding.create_pipeline_tuning_options(speed_level=speed)
        tuning.loop_vectorization = tuning.slp_vectorization = vectorize
        tuning.loop_unrolling = tuning.loop_interleaving = vectorize
        builder = binding.create_pass_builder(machine, tuning)
        builder.getModulePassManager().run(module, builder)

    return run


def chosen(*names: str) -> Optimise:
    """Passes by llvmlite's names."""

    def run(module: binding.ModuleRef, machine: binding.TargetMachine) -> None:
        tuning = binding.create_pipeline_tuning_options(speed_level=1)
        builder = binding.create_pass_builder(machine, tuning)
        manager = binding.create_new_module_pass_manager()
        for name in names:
            getattr(manager, f"add_{name}_pass")()
        manager.run(module, builder)

    return run


_CLEAN = ("always_inliner", "sroa", "instruction_combine", "simplify_cfg")
PIPELINES = (
    Pipeline("inlining", chosen("always_inliner"), 3),
    Pipeline("inlining, selection 2", chosen("always_inliner"), 2),
    Pipeline("inlining, selection 1", chosen("always_inliner"), 1),
    Pipeline("inlining, selection 0", chosen("always_inliner"), 0),
    Pipeline("clean-up", chosen(*_CLEAN), 3),
    Pipeline("clean-up and GVN", chosen(*_CLEAN, "new_gvn", "simplify_cfg"), 3),
    Pipeline("O1", standard(1), 3),
    Pipeline("O2", standard(2), 3),
    Pipeline("O3", standard(3), 3),
    Pipeline("O3, vectorisers", standard(3, vectorize=True), 3),
)
"""The first is the one in use."""


def scheduled_text(kernel: Kernel) -> tuple[str, bool, list[int]]:
    """LLVM IR of a kernel, whether it calls OpenMP, and the bytes behind each pointer."""

    class Program(torch.nn.Module):
        def forward(self, *inputs: torch.Tensor) -> Any:
            return kernel.torch(*inputs)

    with torch.no_grad():
        exported = torch.export.export(Program(), kernel.inputs())
    module = import_exported_program(exported).module
    run_pipeline(module, pipeline(), Context())
    from lamina.runtime.entry import entry_of, function_named

    main = function_named(module, "main")
    assert main is not None
    emitted = emit_module(module, Target.host(), default_options())
    return emitted.text, emitted.needs_openmp, [slot.size for slot in entry_of(main).slots]


def build(text: str, chosen_pipeline: Pipeline, openmp: bool) -> tuple[Any, float]:
    """Loaded code and the seconds that LLVM took, the better of two."""
    target, best = Target.host(), float("inf")
    code = b""
    for _ in range(2):
        start = time.perf_counter()
        machine = target_machine(target, chosen_pipeline.level)
        module = binding.parse_assembly(text)
        module.data_layout = str(machine.target_data)
        chosen_pipeline.optimise(module, machine)
        code = machine.emit_object(module)
        best = min(best, time.perf_counter() - start)
    return load_object(code, ["lamina_main"], target, openmp), best


def measure(kernel: Kernel, seconds: float = 4.0) -> dict[str, tuple[float, float]]:
    """(LLVM's seconds, the best run's) of each pipeline."""
    text, openmp, sizes = scheduled_text(kernel)
    memory = [torch.zeros(max(size, 1) + 64, dtype=torch.uint8) for size in sizes]
    floats = [torch.rand(m.numel() // 4 + 16) + 0.5 for m in memory]
    pointers = (ctypes.c_void_p * len(memory))(*(-(-f.data_ptr() // 64) * 64 for f in floats))
    built = {p.name: build(text, p, openmp) for p in PIPELINES}
    runs = {
        name: ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(loaded.addresses["lamina_main"])
        for name, (loaded, _) in built.items()
    }
    best = dict.fromkeys(runs, float("inf"))
    start = time.perf_counter()
    runs[PIPELINES[0].name](pointers)
    repeats = max(1, int(1e-4 / (time.perf_counter() - start)))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for name, run in runs.items():
            run(pointers)  # brings back what the version before has pushed out of the caches
            start = time.perf_counter()
            for _ in range(repeats):
                run(pointers)
            best[name] = min(best[name], (time.perf_counter() - start) / repeats)
    return {name: (built[name][1], best[name]) for name in runs}


def main() -> None:
    """Prints LLVM's time and the geometric mean and worst of the runs, by pipeline."""
    compile_object("define void @warm() {\n  ret void\n}\n", Target.host())
    table = [measure(kernel) for kernel in KERNELS if kernel.name in NAMES]
    base = PIPELINES[0].name
    print(f"{'pipeline':24}{'LLVM, ms a kernel':>18}{'run, mean':>12}{'run, worst':>12}")
    for p in PIPELINES:
        cost = sum(row[p.name][0] for row in table) / len(table) * 1e3
        ratios = [row[p.name][1] / row[base][1] for row in table]
        mean = exp(sum(map(log, ratios)) / len(ratios))
        print(f"{p.name:24}{cost:18.1f}{mean:12.3f}{max(ratios):12.3f}")


if __name__ == "__main__":
    main()
