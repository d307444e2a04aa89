"""Where compiling spends its time: by pass, for chains of pointwise ops and for an encoder.

`python -m bench.compile_time` compiles chains of 10, 100, 1000 and 10000 ops and prints
microseconds an op for each step; linear compile time means flat rows. `--encoder LAYERS` profiles a
transformer encoder as torch.export gives it instead. Nothing comes from the disk cache.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.arg_spec import parse_spec

from lamina.codegen.jit import compile_object, default_options, load_object
from lamina.codegen.llvm_emitter import emit_module
from lamina.codegen.target import Target
from lamina.dialects.context import Context
from lamina.lowering.pipeline import pipeline
from lamina.passes.registry import load_pass
from lamina.runtime.compile import collector_paused
from lamina.runtime.layers import layer_of, parse

CHAINS = (10, 100, 1000, 10000)
_OPS = ("add", "mul", "sub", "maximum", "minimum")


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


def chain(length: int) -> str:
    """A program of `length` pointwise ops, each on the result before and an input."""
    kind = "tensor<64x64xf32>"
    lines = [f"func.func @main(%v0: {kind}, %b: {kind}) -> {kind} {{"]
    for i in range(length):
        op = f"prims.{_OPS[i % len(_OPS)]}(%v{i}, %b)"
        lines.append(f"  %v{i + 1} = {op} : ({kind}, {kind}) -> {kind}")
    return "\n".join([*lines, f"  func.return %v{length} : {kind}", "}"])


def profile(module: ModuleOp, times: Times) -> None:
    """Takes a module down to loaded machine code, a step at a time."""
    target, context = Target.host(), Context()
    with collector_paused():
        for text in pipeline(start=layer_of(module)):
            spec = parse_spec(text)
            with times.of(spec.name):
                load_pass(spec.name).from_spec(spec).apply(context, module)
        with times.of("emit LLVM IR"):
            emitted = emit_module(module, target, default_options())
        with times.of("LLVM"):
            code = compile_object(emitted.text, target)
        with times.of("load"):
            load_object(code, ["lamina_main"], target, emitted.needs_openmp)


def profile_chain(length: int) -> Times:
    """Times of one chain."""
    times = Times()
    text = chain(length)
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


def report_chains() -> None:
    """Prints microseconds an op of each step, a column for each length."""
    profile_chain(CHAINS[0])  # loads passes and LLVM
    runs = [profile_chain(length) for length in CHAINS]
    print(f"{'us an op':28}" + "".join(f"{length:>10}" for length in CHAINS))
    for step in runs[-1].seconds:
        row = [run.seconds[step] / n * 1e6 for run, n in zip(runs, CHAINS, strict=True)]
        print(f"{step:28}" + "".join(f"{value:10.1f}" for value in row))
    row = [run.total / n * 1e6 for run, n in zip(runs, CHAINS, strict=True)]
    print(f"{'total':28}" + "".join(f"{value:10.1f}" for value in row))


def report_encoder(layers: int) -> None:
    """Prints milliseconds of each step, and its share."""
    profile_chain(CHAINS[0])
    times = profile_encoder(layers)
    for step, seconds in times.seconds.items():
        print(f"{step:28}{seconds * 1e3:10.1f} ms{seconds / times.total:8.1%}")
    print(f"{'total':28}{times.total * 1e3:10.1f} ms")


def main() -> None:
    """Reads the options and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--encoder", type=int, metavar="LAYERS")
    options = parser.parse_args()
    if options.encoder:
        report_encoder(options.encoder)
    else:
        report_chains()


if __name__ == "__main__":
    main()
