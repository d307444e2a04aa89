"""Fused kernels of rows of any length: none is refused for its scratch, and each is right.

Programs are random chains of steps that each need the whole row, as softmax and layer norm do; what
is between them stays in the kernel while a row is short, and must go somewhere when it is long.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import numpy as np
import pytest
from xdsl.utils.exceptions import DiagnosticException

import lamina
from lamina.dialects.context import Context
from lamina.dialects.errors import InputError
from lamina.lowering.pipeline import run_pipeline
from lamina.passes.cost.scratch_budget import SCRATCH_BYTES

LENGTHS = (7, 1000, 16_384, 50_257, 70_001, 128_256)


def softmax(x: np.ndarray) -> np.ndarray:
    raised = np.exp(x - x.max(axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)


def centre(x: np.ndarray) -> np.ndarray:
    return x - x.mean(axis=-1, keepdims=True)


def scale(x: np.ndarray) -> np.ndarray:
    return x / (1 + np.abs(x).max(axis=-1, keepdims=True))


STEPS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "softmax": softmax,
    "centre": centre,
    "scale": scale,
}


def program(steps: list[str], rows: int, length: int, keep: bool) -> str:
    """Steps one after the other; with `keep`, all that they make is added up in the end."""
    t, r = f"tensor<{rows}x{length}xf32>", f"tensor<{rows}x1xf32>"
    lines: list[str] = []
    names = ["%x"]
    for number, step in enumerate(steps):
        x, y = names[-1], f"%y{number}"
        if step == "softmax":
            lines.append(f"{y} = aten.softmax.int({x}, -1) : ({t}) -> {t}")
        elif step == "centre":
            lines.append(f"%m{number} = aten.mean.dim({x}, [-1], true) : ({t}) -> {r}")
            lines.append(f"{y} = aten.sub.Tensor({x}, %m{number}) : ({t}, {r}) -> {t}")
        else:
            lines.append(f"%a{number} = aten.abs.default({x}) : ({t}) -> {t}")
            lines.append(f"%m{number} = aten.amax.default(%a{number}, [-1], true) : ({t}) -> {r}")
            lines.append(f"%o{number} = aten.add.Scalar(%m{number}, 1) : ({r}) -> {r}")
            lines.append(f"{y} = aten.div.Tensor({x}, %o{number}) : ({t}, {r}) -> {t}")
        names.append(y)
    total = names[-1]
    for number, name in enumerate(names[1:-1] if keep else []):
        lines.append(f"%t{number} = aten.add.Tensor({total}, {name}) : ({t}, {t}) -> {t}")
        total = f"%t{number}"
    body = "\n".join(lines)
    return f"func.func @main(%x: {t}) -> {t} {{\n{body}\nfunc.return {total} : {t}\n}}"


def check(
    seed: int, length: int, rows: int = 9, pipeline: lamina.Pipeline = lamina.Pipeline()
) -> None:
    draw = random.Random(seed)
    steps = [draw.choice(list(STEPS)) for _ in range(draw.randint(2, 7))]
    keep = draw.random() < 0.5
    compiled = lamina.compile(program(steps, rows, length, keep), cache=False, pipeline=pipeline)
    x = np.random.default_rng(seed).standard_normal((rows, length)).astype(np.float32)
    made = [x.astype(np.float64)]
    for step in steps:
        made.append(STEPS[step](made[-1]))
    wanted = sum(made[1:]) if keep else made[-1]
    np.testing.assert_allclose(compiled(x), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("seed", range(2))
def test_chains(seed: int, length: int) -> None:
    check(seed * 100 + length, length)


@pytest.mark.parametrize("seed", range(3))
def test_everything_in_the_arena(seed: int) -> None:
    """With next to no stack, whatever kernels keep is in the parts of their threads."""
    mine = lamina.Pipeline().replace("plan-scratch", "plan-scratch{stack=64}")
    check(seed, 3000, rows=200, pipeline=mine)


PRODUCT = """
func.func @main(%x: tensor<5000x64xf32>, %y: tensor<64x4000xf32>) -> tensor<5000x4000xf32> {
  %0 = aten.mm.default(%x, %y) : (tensor<5000x64xf32>, tensor<64x4000xf32>) -> tensor<5000x4000xf32>
  %1 = aten.softmax.int(%0, dim = 1) : (tensor<5000x4000xf32>) -> tensor<5000x4000xf32>
  func.return %1 : tensor<5000x4000xf32>
}"""


def test_the_largest_block_that_fits_is_said() -> None:
    chosen = lamina.compile(PRODUCT, cache=False, target="x86-64-v3").kernels[1].schedule
    assert "block = 30" in chosen
    given = {"kernel_1": chosen.replace("block = 30", "block = 5000")}
    with pytest.raises(InputError, match=r"block = 5000: a task takes 80\d{6} bytes") as caught:
        lamina.compile(PRODUCT, cache=False, target="x86-64-v3", schedules=given)
    found = re.search(
        r"and there are (\d+); the largest that fits: block = (\d+)$", str(caught.value)
    )
    assert found is not None
    room, largest = map(int, found.groups())
    assert room == SCRATCH_BYTES
    assert room * 0.95 < largest * 4000 * 4 <= room
    given = {"kernel_1": chosen.replace("block = 30", f"block = {largest}")}
    taken = lamina.compile(PRODUCT, cache=False, target="x86-64-v3", schedules=given)
    assert f"block = {largest}" in taken.kernels[1].schedule


def test_scratch_that_nobody_planned_is_refused() -> None:
    kernel = """
    func.func private @kernel(%x: memref<8xf32>) attributes {lamina.kernel} {
      %0 = memref.alloca() {alignment = 64 : i64} : memref<400000xf32>
      func.return
    }"""
    with pytest.raises(
        DiagnosticException, match="1600000 bytes of stack, and there are 1048576: "
    ):
        run_pipeline(lamina.parse(kernel), ["verify-scheduled"], Context())


@pytest.mark.long
@pytest.mark.parametrize("length", [*LENGTHS, 300_000, 1_000_003])
@pytest.mark.parametrize("seed", range(20))
def test_all(seed: int, length: int) -> None:
    check(seed, length)
