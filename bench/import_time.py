"""What it costs to read StableHLO and to make a program of `prims` of it, an op.

`python -m bench.import_time FILE...` prints, for each text, microseconds of processor time an op:
reading with verification, the conversion alone, and all passes down to `prims` with both contracts;
the least of some runs. Without a file, a transformer of JAX's and its gradient. The first row is
xDSL alone: its parser and verifier on as many ops of `arith`, in the generic form and the pretty
one, which read no tensor types.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.ir import Operation
from xdsl.parser import Parser

import lamina
from lamina.lowering.stablehlo_to_prims import ConvertStableHLOToPrimsPass

RUNS = 7
OPS = 3000


def seconds(run: Callable[[], object]) -> float:
    """Processor time of a run."""
    begin = time.process_time()
    run()
    return time.process_time() - begin


def count(root: Operation) -> int:
    """Ops under `root`, with it."""
    return sum(1 for _ in root.walk())


def arith_text(line: str) -> str:
    """A chain of additions; `line` is one, with its number and the one before."""
    lines = [line.format(n, n - 1) for n in range(1, OPS)]
    head = "func.func @main(%0: f32) -> f32 {"
    return "\n".join([head, *lines, f"  func.return %{OPS - 1} : f32", "}"])


def xdsl_alone(text: str) -> float:
    """Seconds an op of xDSL's own parser and verifier."""

    def read() -> ModuleOp:
        context = Context()
        for dialect in (Builtin, Func, Arith):
            context.load_dialect(dialect)
        module = Parser(context, text).parse_module()
        module.verify()
        return module

    return min(seconds(read) for _ in range(RUNS)) / count(read())


def stablehlo_row(text: str) -> tuple[int, list[float]]:
    """Ops of a program, and seconds an op: reading, converting, all down to `prims`."""
    ops = count(lamina.parse(text))
    found = [stablehlo_run(text) for _ in range(RUNS)]
    return ops, [min(column) / ops for column in zip(*found, strict=True)]


def stablehlo_run(text: str) -> tuple[float, float, float]:
    """Seconds of reading, converting, and all passes down to `prims`."""
    whole, alone = lamina.parse(text), lamina.parse(text)
    return (
        seconds(lambda: lamina.parse(text)),
        seconds(lambda: ConvertStableHLOToPrimsPass().apply(Context(), alone)),
        seconds(lambda: lamina.Pipeline().run(whole, start="stablehlo", stop="prims")),
    )


def transformer_texts(layers: int = 24) -> dict[str, str]:
    """A transformer of JAX's, and its gradient with a third of the layers."""
    import jax
    import jax.numpy as jnp

    width, heads, tokens = 64, 4, 32

    def norm(x: jax.Array, scale: jax.Array) -> jax.Array:
        centered = x - x.mean(-1, keepdims=True)
        return centered * jax.lax.rsqrt((centered**2).mean(-1, keepdims=True) + 1e-5) * scale

    def layer(x: jax.Array, w: dict[str, jax.Array]) -> jax.Array:
        y = norm(x, w["scale"])
        split = [(y @ w[n]).reshape(tokens, heads, -1).transpose(1, 0, 2) for n in "qkv"]
        scores = jnp.where(jnp.tri(tokens, dtype=bool), split[0] @ split[1].mT, -1e30)
        mixed = (jax.nn.softmax(scores) @ split[2]).transpose(1, 0, 2).reshape(tokens, width)
        x = x + mixed @ w["o"] + w["bias"]
        return x + jnp.tanh(jnp.maximum(norm(x, w["scale"]) @ w["up"], 0)) @ w["down"]

    def model(weights: list[dict[str, jax.Array]], x: jax.Array) -> jax.Array:
        for w in weights:
            x = layer(x, w)
        return x

    shapes = {
        **dict.fromkeys("qkvo", (width, width)),
        **dict.fromkeys(("scale", "bias"), (width,)),
        "up": (width, 4 * width),
        "down": (4 * width, width),
    }
    weights = [{name: jnp.zeros(shape) for name, shape in shapes.items()} for _ in range(layers)]
    x = jnp.zeros((tokens, width))
    gradient = jax.grad(lambda w, x: model(w, x).sum())
    return {
        "transformer": jax.jit(model).lower(weights, x).as_text(),
        "its gradient": jax.jit(gradient).lower(weights[: layers // 3], x).as_text(),
    }


def main() -> None:
    """Prints the table."""
    generic = arith_text('  %{0} = "arith.addf"(%{1}, %{1}) : (f32, f32) -> f32')
    pretty = arith_text("  %{0} = arith.addf %{1}, %{1} : f32")
    for title, text in (("generic", generic), ("pretty", pretty)):
        print(f"xDSL alone, arith.addf, {title}: {xdsl_alone(text) * 1e6:.0f} us an op")
    files = [Path(name) for name in sys.argv[1:]]
    texts = {file.name: file.read_text() for file in files} or transformer_texts()
    print(f"{'us an op':24}{'ops':>8}{'reading':>10}{'converting':>12}{'to prims':>10}{'all':>8}")
    for name, text in texts.items():
        ops, row = stablehlo_row(text)
        shown = [*row, row[0] + row[2]]
        columns = (f"{1e6 * value:{w}.0f}" for value, w in zip(shown, (10, 12, 10, 8), strict=True))
        print(f"{name:24}{ops:8}" + "".join(columns))


if __name__ == "__main__":
    main()
