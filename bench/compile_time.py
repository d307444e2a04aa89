"""Where compiling spends its time: by pass, for chains of pointwise ops and for an encoder.

`python -m bench.compile_time` compiles chains of 10, 100, 1000 and 10000 aten ops and prints
microseconds an op for each step, the best of some runs; linear compile time means flat rows. The
last row leaves out what a program of one op takes. `--functions`: half of the ops are functions
like exp and sin. `--encoder LAYERS` profiles a transformer encoder as torch.export gives it
instead. `--models NAME ...` takes networks of `bench.models` from the exported program to the first
result, each run in a new process: seconds of the clock and of CPU time, of the thread that lowers
and of all, the least of `--rounds`, and how many functions the compiler calls, which no other load
changes. `--open` has a second row for each, of which batch and length are open: its version for a
range. Nothing comes from the disk cache.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from lamina.codegen.jit import compile_object, default_options, load_object
from lamina.codegen.llvm_emitter import emit_module
from lamina.codegen.target import Target
from lamina.dialects.compiling import compiling
from lamina.dialects.context import Context
from lamina.lowering.pipeline import pipeline, run_pipeline
from lamina.runtime.layers import layer_of, parse

MOST_BATCH, MOST_LENGTH = 16, 512
"""Ends of the ranges of open sizes."""
CHAINS = {1: 20, 10: 20, 100: 5, 1000: 2, 10000: 1}
"""Ops in a chain, and how often it is compiled."""
_ARITHMETIC = ("add.Tensor", "mul.Tensor", "sub.Tensor", "maximum.default", "minimum.default")
_FUNCTIONS = (
    *("add.Tensor", "sigmoid.default", "mul.Tensor", "tanh.default", "sub.Tensor"),
    *("relu.default", "exp.default", "neg.default", "div.Tensor", "sin.default"),
)
_UNARY = frozenset({"sigmoid", "tanh", "relu", "exp", "neg", "sin"})


class Times:
    """Seconds of each step, in the order of the first time it ran."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def of(self, step: str) -> Iterator[None]:
        """Adds the time that the block takes to `step`."""
        start = time.perf_counter()
        yield
        self.seconds[step] = self.seconds.get(step, 0.0) + time.perf_counter() - start

    @property
    def total(self) -> float:
        """Seconds of all steps."""
        return sum(self.seconds.values())


def chain(length: int, ops: Sequence[str] = _ARITHMETIC) -> str:
    """A program of `length` pointwise ops, each on the result before (and an input)."""
    kind = "tensor<64x64xf32>"
    lines = [f"func.func @main(%v0: {kind}, %b: {kind}) -> {kind} {{"]
    for i in range(length):
        op = ops[i % len(ops)]
        operands = [f"%v{i}"] if op.partition(".")[0] in _UNARY else [f"%v{i}", "%b"]
        kinds = ", ".join([kind] * len(operands))
        lines.append(f"  %v{i + 1} = aten.{op}({', '.join(operands)}) : ({kinds}) -> {kind}")
    return "\n".join([*lines, f"  func.return %v{length} : {kind}", "}"])


def profile(module: ModuleOp, times: Times) -> None:
    """Takes a module down to loaded machine code, a step at a time."""
    target, context = Target.host(), Context()
    with compiling():
        for text in pipeline(start=layer_of(module)):
            with times.of(text.partition("{")[0]):
                run_pipeline(module, [text], context)
        with times.of("emit LLVM IR"):
            emitted = emit_module(module, target, default_options())
        with times.of("LLVM"):
            code = compile_object(emitted.text, target)
        with times.of("load"):
            load_object(code, ["lamina_main"], target, emitted.needs_openmp)


def profile_chain(length: int, ops: Sequence[str] = _ARITHMETIC) -> Times:
    """Times of one chain."""
    times = Times()
    text = chain(length, ops)
    with times.of("parse"):
        module = parse(text)
    profile(module, times)
    return times


def profile_encoder(layers: int) -> Times:
    """Times of a transformer encoder of BERT's size a layer, 128 tokens."""
    import torch

    from lamina.frontends.exported_program import import_exported_program

    layer = torch.nn.TransformerEncoderLayer(768, 12, 3072, activation="gelu", batch_first=True)
    encoder = torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False).eval()
    with torch.no_grad():
        program = torch.export.export(encoder, (torch.zeros(1, 128, 768),))
    times = Times()
    with times.of("import"):
        module = import_exported_program(program).module
    profile(module, times)
    return times


def best_of(length: int, runs: int, ops: Sequence[str] = _ARITHMETIC) -> dict[str, float]:
    """Seconds of each step of one chain, the least of some runs."""
    found = [profile_chain(length, ops).seconds for _ in range(runs)]
    return {step: min(run[step] for run in found) for step in found[0]}


def report_chains(ops: Sequence[str]) -> None:
    """Prints microseconds an op of each step, a column for each length."""
    profile_chain(len(ops), ops)  # loads passes and LLVM
    one, *runs = [best_of(length, repeats, ops) for length, repeats in CHAINS.items()]
    _, *lengths = CHAINS
    totals = [sum(run.values()) for run in runs]
    rows = {
        step: [run[step] / n for run, n in zip(runs, lengths, strict=True)] for step in runs[-1]
    }
    rows["total"] = [total / n for total, n in zip(totals, lengths, strict=True)]
    rest = [total - sum(one.values()) for total in totals]
    rows["beyond one op's program"] = [r / (n - 1) for r, n in zip(rest, lengths, strict=True)]
    print(f"{'us an op':28}" + "".join(f"{length:>10}" for length in lengths))
    for step, row in rows.items():
        print(f"{step:28}" + "".join(f"{value * 1e6:10.1f}" for value in row))
    print(f"a program of one op: {sum(one.values()) * 1e3:.1f} ms")


def report_encoder(layers: int) -> None:
    """Prints milliseconds of each step, and its share."""
    profile_chain(1)
    times = profile_encoder(layers)
    for step, seconds in times.seconds.items():
        print(f"{step:28}{seconds * 1e3:10.1f} ms{seconds / times.total:8.1%}")
    print(f"{'total':28}{times.total * 1e3:10.1f} ms")


def report_models(names: Sequence[str], rounds: int, *, also_open: bool) -> None:
    """Prints a row for each network: times of runs in new processes, and calls of one."""
    columns = ("clock", "lowers", "all", "first call")
    print(f"{'s':30}" + "".join(f"{column:>12}" for column in (*columns, "calls")))
    for name in names:
        for sizes in ("known", "open") if also_open else ("known",):
            runs = [_in_process(name, sizes, "time") for _ in range(rounds)]
            least = "".join(f"{min(run[column] for run in runs):12.3f}" for column in columns)
            calls = _in_process(name, sizes, "calls")["calls"] / 1e6
            title = name if sizes == "known" else f"{name}, open sizes"
            print(f"{title:30}{least}{calls:10.1f} M", flush=True)


def _in_process(*what: str) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.compile_time", "--process", *what]
    return json.loads(subprocess.check_output(command, text=True).splitlines()[-1])


def _exported(name: str, *, is_open: bool) -> tuple[Any, Sequence[Any]]:
    """The program of a network, and inputs of it; open are the batch, and the length of texts."""
    import torch
    from torch.export import Dim

    from bench.model_table import MODELS, build

    network, inputs = build(MODELS[name])
    if not is_open:
        return torch.export.export(network, inputs), inputs
    batch, length = Dim("batch", min=1, max=MOST_BATCH), Dim("length", min=2, max=MOST_LENGTH)
    dims = tuple({0: batch, 1: length} if value.ndim == 2 else {0: batch} for value in inputs)
    examples = tuple(torch.cat([value, value]) for value in inputs)  # torch takes one for a number
    return torch.export.export(network, examples, dynamic_shapes=dims), inputs


def _compile_model(name: str, sizes: str, what: str) -> dict[str, float]:
    """What one process says of a network: seconds, or the number of calls, of its compilation."""
    import torch

    import lamina

    is_open = sizes == "open"
    with torch.no_grad():
        program, inputs = _exported(name, is_open=is_open)
        profiler = cProfile.Profile()
        if what == "calls":
            profiler.enable()
        clock, begin, begin_all = time.perf_counter(), time.thread_time(), time.process_time()
        compiled = lamina.compile(program, cache=False, versions="padded" if is_open else "auto")
        made = time.thread_time()
        if what == "calls":
            profiler.disable()
            return {"calls": pstats.Stats(profiler).total_calls}  # pyright: ignore
        compiled(*inputs)
    spent = time.perf_counter() - clock
    end, end_all = time.thread_time(), time.process_time()
    found = {"lowers": end - begin, "all": end_all - begin_all, "first call": end - made}
    return {"clock": spent, **found}


def main() -> None:
    """Reads the options and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--encoder", type=int, metavar="LAYERS")
    parser.add_argument("--functions", action="store_true")
    parser.add_argument("--models", nargs="+", metavar="NAME")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--open", action="store_true")
    parser.add_argument("--process", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.process:
        print(json.dumps(_compile_model(*options.process)))
    elif options.models:
        report_models(options.models, options.rounds, also_open=options.open)
    elif options.encoder:
        report_encoder(options.encoder)
    else:
        report_chains(_FUNCTIONS if options.functions else _ARITHMETIC)


if __name__ == "__main__":
    main()
