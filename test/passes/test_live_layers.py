"""Programs of open sizes with scans, sorts and scatters: interpreters agree before and after each
stage, in what a call's sizes leave of the results."""

from __future__ import annotations

import re

import numpy as np
import pytest

from lamina.codegen.target import Target
from lamina.runtime.compile import compile_module
from lamina.runtime.interpreters.run import run_module
from lamina.runtime.layers import lower, parse
from lamina.runtime.sized import padded_program

pytestmark = pytest.mark.one_in(2)

BOUND = 32
X = "tensor<?x?xf32>"
ARGUMENTS = f"""%x: {X} {{lamina.dims = [#lamina.size<b in [0, {BOUND}]>, #lamina.size<n in [0, {BOUND}]>]}},
    %i: tensor<?x?xi64> {{lamina.dims = [#lamina.size<b>, #lamina.size<n>]}},
    %t: tensor<20x6xf32>, %w: tensor<?x6xf32> {{lamina.dims = [#lamina.size<n>]}},
    %j: tensor<?xi64> {{lamina.dims = [#lamina.size<n>]}}"""  # noqa: E501 - an argument on one line
PROGRAMS = {
    "scan": (
        f"%1 = aten.cumsum.default(%x, 1) : ({X}) -> {X}",
        "live = [arg1 of 32, arg2 of 32]",
        X,
    ),
    "sort": (
        f"%1, %2 = aten.sort.default(%x, 1) : ({X}) -> ({X}, tensor<?x?xi64>)",
        "live = [arg1 of 32, arg2 of 32]",
        X,
    ),
    "scatter": (
        f"%1 = aten.scatter_add.default(%x, 1, %i, %x) : ({X}, tensor<?x?xi64>, {X}) -> {X}",
        "copied = [arg",
        X,
    ),
    "updates": (
        "%1 = aten.index_add.default(%t, 0, %j, %w) : "
        "(tensor<20x6xf32>, tensor<?xi64>, tensor<?x6xf32>) -> tensor<20x6xf32>",
        "live = [arg4 of 32, 6]",
        "tensor<20x6xf32>",
    ),
}


def _arguments(rows: int, length: int) -> list[np.ndarray]:
    """As a call hands them on: padding holds what it did before, be it no place at all."""
    rng = np.random.default_rng(0)
    x = np.full((BOUND, BOUND), np.nan, np.float32)
    x[:rows, :length] = rng.standard_normal((rows, length), np.float32)
    i = np.full((BOUND, BOUND), 1 << 40)
    i[:rows, :length] = rng.integers(0, max(length, 1), (rows, length))
    w = np.full((BOUND, 6), np.nan, np.float32)
    w[:length] = rng.standard_normal((length, 6), np.float32)
    j = np.full(BOUND, -7)
    j[:length] = rng.integers(0, 20, length)
    t = rng.standard_normal((20, 6), np.float32)
    return [x, i, t, w, j, np.array(rows), np.array(length)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_layers_agree(name: str) -> None:
    op, live, kind = PROGRAMS[name]
    text = f"func.func @main({ARGUMENTS}) -> {kind} {{\n{op}\nfunc.return %1 : {kind}\n}}"
    module = padded_program(parse(text), {"b": BOUND, "n": BOUND})
    given = [
        name
        for name in re.findall(r"lamina.name = \"size\((\w)\)\"", str(module))
        if name in ("b", "n")
    ]
    layers = [str(module)]
    for below, to in (
        ("functional", "fused"),
        ("fused", "bufferized"),
        ("bufferized", "scheduled"),
    ):
        lower(module, below, to, Target.host())
        layers.append(str(module))
    (found,) = {line for line in layers[1].splitlines() if re.search(r"loop\.(sc|so)\w+ ", line)}
    assert live in found, found
    by_itself = layers[0].replace("lamina.compact", "lamina.by_itself")  # its types say its layouts
    compiled = compile_module(parse(by_itself))
    for rows, length in ((0, 0), (1, 1), (3, 0), (0, 3), (5, 17), (7, 9), (BOUND, BOUND)):
        *arguments, b, n = _arguments(rows, length)
        numbers = [{"b": b, "n": n}[size] for size in given]
        cut = (slice(rows), slice(length)) if kind == X else (slice(None),)
        wanted, *others = (run_module(parse(t), [*arguments, *numbers])[0] for t in layers)
        for made in (*others, compiled(*arguments, *numbers)):
            made = np.asarray(made[0] if isinstance(made, tuple) else made)
            np.testing.assert_allclose(made[cut], np.asarray(wanted)[cut], 1e-5, 1e-5)
