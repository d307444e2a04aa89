"""`-t mlir-linalg`, `-t mlir-llvm`: the text gives the same results, here and by MLIR's own tools.

MLIR's tools come from wheels of the extra `mlir`; without them only the first half is run.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.codegen.target import Target
from lamina.dialects.context import Context
from lamina.runtime.layers import lower
from lamina.tools.targets import LinalgTarget, MlirTarget

Array = np.ndarray[Any, Any]
WORKER = Path(__file__).with_name("mlir_worker.py")
DTYPES: dict[str, Any] = {
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "i1": np.bool_,
    "i32": np.int32,
    "i64": np.int64,
    "ui8": np.uint8,
}

F16_TOLERANCE = 2.0**-9
"""Two units in the last place: MLIR's text computes in f16 throughout, kernels in f32."""


def t(*shape: int, kind: str = "f32") -> str:
    """A tensor type."""
    return f"tensor<{''.join(f'{extent}x' for extent in shape)}{kind}>"


PROGRAMS: dict[str, tuple[str, list[str], str]] = {
    "pointwise": ("add.Tensor(%a0, %a1)", [t(3, 5), t(5)], t(3, 5)),
    "functions": ("gelu.default(%a0)", [t(3, 5)], t(3, 5)),
    "product": ("mm.default(%a0, %a1)", [t(3, 5), t(5, 4)], t(3, 4)),
    "halves": (
        "mm.default(%a0, %a1)",
        [t(3, 5, kind="f16"), t(5, 4, kind="f16")],
        t(3, 4, kind="f16"),
    ),
    "softmax": ("_softmax.default(%a0, dim = 1, half_to_float = false)", [t(3, 5)], t(3, 5)),
    "concatenation": ("cat.default([%a0, %a1], dim = 1)", [t(2, 3), t(2, 4)], t(2, 7)),
    "grouped convolution": (
        "convolution.default(%a0, %a1, %a2, stride = [2, 1], padding = [1, 2], dilation = [1, 2], "
        "transposed = false, output_padding = [0, 0], groups = 2)",
        [t(2, 4, 9, 8), t(6, 2, 3, 3), t(6)],
        t(2, 6, 5, 8),
    ),
    "largest of windows": (
        "max_pool2d.default(%a0, kernel_size = [3, 3], stride = [2, 2], padding = [1, 1])",
        [t(1, 2, 9, 9)],
        t(1, 2, 5, 5),
    ),
    "argmax": ("argmax.default(%a0, dim = 1)", [t(4, 9)], t(4, kind="i64")),
    "layer norm": (
        "layer_norm.default(%a0, normalized_shape = [5], %a1, %a2)",
        [t(3, 5), t(5), t(5)],
        t(3, 5),
    ),
    "rows of a table": ("embedding.default(%a0, %a1)", [t(9, 4), t(5, kind="i64")], t(5, 4)),
    "gather": ("gather.default(%a0, dim = 1, %a1)", [t(4, 5), t(4, 3, kind="i64")], t(4, 3)),
    "reversed": ("flip.default(%a0, dims = [1])", [t(3, 5)], t(3, 5)),
    "strided slice": (
        "slice.Tensor(%a0, dim = 1, start = 0, end = 5, step = 2)",
        [t(3, 5)],
        t(3, 3),
    ),
    "padding and cutting": (
        "constant_pad_nd.default(%a0, pad = [1, 2, -1, 3], value = 0.5)",
        [t(4, 5)],
        t(6, 8),
    ),
    "reshape": ("view.default(%a0, size = [5, 6])", [t(3, 10)], t(5, 6)),
    "transpose": ("permute.default(%a0, dims = [2, 0, 1])", [t(3, 4, 5)], t(5, 3, 4)),
    "sum of integers": (
        "sum.dim_IntList(%a0, dim = [0])",
        [t(3, 4, kind="i32")],
        t(4, kind="i64"),
    ),
    "number": ("sum.default(%a0)", [t(4, 5)], t()),
    "variance": ("var.correction(%a0, dim = [1])", [t(3, 7)], t(3)),
    "bytes": ("add.Tensor(%a0, %a1)", [t(7, kind="ui8"), t(7, kind="ui8")], t(7, kind="ui8")),
    "remainder": ("fmod.Tensor(%a0, %a1)", [t(3, 5), t(3, 5)], t(3, 5)),
    "enlarged": (
        "upsample_nearest2d.default(%a0, output_size = [8, 10])",
        [t(1, 2, 4, 5)],
        t(1, 2, 8, 10),
    ),
    "attention": (
        "scaled_dot_product_attention.default(%a0, %a1, %a2)",
        [t(2, 3, 7, 8)] * 3,
        t(2, 3, 7, 8),
    ),
    "choice": (
        "where.self(%a0, %a1, %a2)",
        [t(3, 70, kind="i1"), t(3, 70), t(3, 70)],
        t(3, 70),
    ),
    "any": ("any.dim(%a0, dim = 1)", [t(3, 7, kind="i1")], t(3, kind="i1")),
}
"""Calls of aten on arguments, and the type of the result."""

ORDERED: dict[str, tuple[str, list[str], str]] = {
    "running sums": ("cumsum.default(%a0, dim = 1)", [t(4, 5)], t(4, 5)),
    "scatter": (
        "scatter.src(%a0, dim = 1, %a1, %a2)",
        [t(4, 5), t(4, 2, kind="i64"), t(4, 2)],
        t(4, 5),
    ),
    "order": ("median.default(%a0)", [t(41)], t()),
}
"""Programs whose points depend on one another."""

NOT_RUN = {
    "any": "MLIR has no code for memory of i1",
    "choice": "MLIR has no code for memory of i1",
    "bytes": None,
}


def source(name: str) -> str:
    """A program of one op."""
    call, given, result = (PROGRAMS | ORDERED)[name]
    taken = ", ".join(f"%a{n}: {kind}" for n, kind in enumerate(given))
    return f"""func.func @main({taken}) -> {result} {{
      %r = aten.{call} : ({", ".join(given)}) -> {result}
      func.return %r : {result}
    }}"""


def empty(kind: str) -> Array:
    """Zeros of a type."""
    *shape, element = kind.removeprefix("tensor<").removesuffix(">").split("x")
    return np.zeros([int(extent) for extent in shape], DTYPES[element])


def sample(kind: str, seed: int) -> Array:
    """Numbers of a type; integers are small enough to be places."""
    array, rng = empty(kind), np.random.default_rng(seed)
    if array.dtype.kind == "f":
        return np.asarray(rng.standard_normal(array.shape)).astype(array.dtype)
    return rng.integers(0, 2 if array.dtype.kind == "b" else 4, array.shape).astype(array.dtype)


def text_at(program: str, layer: str) -> str:
    """The program as MLIR's text, from a layer."""
    module = lamina.parse(program)
    lower(module, "aten", layer, Target.host())
    written = io.StringIO()
    LinalgTarget().emit(Context(), module, written)
    return written.getvalue()


def signless(array: Array) -> Array:
    """Bytes as MLIR has them."""
    return array.view(np.int8) if array.dtype == np.uint8 else array


def skip_without_mlir() -> None:
    """Skip what MLIR's own tools are needed for, where they are not installed."""
    if find_spec("mlir") is None or find_spec("mlir.execution_engine") is None:
        pytest.skip("MLIR's tools are not installed: the extra `mlir`")


@pytest.mark.parametrize("layer", ["loop", "fused"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_round_trip(name: str, layer: str, tmp_path: Path) -> None:
    program = source(name)
    _, given, result = PROGRAMS[name]
    arrays = [sample(kind, n) for n, kind in enumerate(given)]
    wanted = np.asarray(lamina.compile(program)(*arrays))
    text = text_at(program, layer)
    assert not re.search(r"lamina|loop\.|aten\.|prims\.", text)
    made = np.asarray(lamina.compile(text)(*map(signless, arrays))).view(wanted.dtype)
    tolerance = F16_TOLERANCE if wanted.dtype == np.float16 else 1e-5
    np.testing.assert_allclose(made, wanted, rtol=tolerance, atol=1e-6)
    skip_without_mlir()
    if NOT_RUN.get(name):
        pytest.skip(str(NOT_RUN[name]))
    theirs = run_by_mlir(text, arrays, [empty(result)], tmp_path)
    if isinstance(theirs, str):
        assert layer == "fused" and "getWidth() >= 8" in theirs, theirs  # bools between kernels
        pytest.skip(str(NOT_RUN["any"]))
    np.testing.assert_allclose(theirs[0], wanted, rtol=tolerance, atol=1e-6)


def in_memory(array: Array) -> Array:
    """Bools are bytes."""
    return array.view(np.int8) if array.dtype == np.bool_ else array


@pytest.mark.parametrize("name", PROGRAMS | ORDERED)
def test_scheduled_programs(name: str, tmp_path: Path) -> None:
    program = source(name)
    _, given, result = (PROGRAMS | ORDERED)[name]
    arrays = [sample(kind, n) for n, kind in enumerate(given)]
    wanted = np.asarray(lamina.compile(program)(*arrays))
    written = io.StringIO()
    MlirTarget(cpu="x86-64-v3").emit(Context(), lamina.parse(program), written)
    text = written.getvalue()
    assert not re.search(r"lamina|loop\.|aten\.|prims\.", text)
    skip_without_mlir()
    arena = re.search(r"memref<(\d+)xi8>\) \{", text)
    assert arena is not None
    held = [empty(result), np.zeros(int(arena[1]), np.int8)]
    made = run_by_mlir(text, [*map(in_memory, arrays)], [*map(in_memory, held)], tmp_path)
    assert not isinstance(made, str), made
    tolerance = F16_TOLERANCE if wanted.dtype == np.float16 else 1e-5
    np.testing.assert_allclose(made[0], in_memory(wanted), rtol=tolerance, atol=1e-6)


def run_by_mlir(
    text: str, arrays: list[Array], results: list[Array], folder: Path
) -> list[Array] | str:
    """What MLIR's passes and execution engine make of a text; what they say if they fail."""
    (folder / "program.mlir").write_text(text)
    named = {f"a{n}": array for n, array in enumerate([*arrays, *results])}
    np.savez(folder / "arguments.npz", results=np.array(len(results)), **named)  # pyright: ignore
    paths = [str(folder / name) for name in ("program.mlir", "arguments.npz", "results.npz")]
    run = subprocess.run(
        [sys.executable, str(WORKER), *paths], capture_output=True, text=True, check=False
    )
    if run.returncode:
        return run.stderr[-2000:]
    made = np.load(folder / "results.npz")
    return [made[str(n)] for n in range(len(results))]
