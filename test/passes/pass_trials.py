"""Passes tried on IR of every layer: each is refused with a message, or keeps the meaning.

Programs are small and their numbers small integers where that is possible, so that results are
compared at a tolerance that only leaves room for another order of summation.
"""

# ruff: noqa: E501 - an op on one line

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException

import lamina
from lamina.dialects.context import Context
from lamina.dialects.errors import LaminaError
from lamina.lowering.pipeline import pipeline, run_pipeline
from lamina.runtime.interpreters import run_module

PROGRAMS: dict[str, str] = {
    "product": """
func.func @main(%a: tensor<9x6xf32>, %b: tensor<6x20xf32>, %c: tensor<20xf32>) -> (tensor<9x20xf32>) {
  %0 = aten.mm.default(%a, %b) : (tensor<9x6xf32>, tensor<6x20xf32>) -> tensor<9x20xf32>
  %1 = aten.add.Tensor(%0, %c) : (tensor<9x20xf32>, tensor<20xf32>) -> tensor<9x20xf32>
  %2 = aten._softmax.default(%1, 1, false) : (tensor<9x20xf32>) -> tensor<9x20xf32>
  func.return %2 : tensor<9x20xf32>
}""",
    "pieces": """
func.func @main(%x: tensor<4x9xf32>, %y: tensor<3x4xf32>) -> (tensor<9x7xf32>, tensor<9xf32>) {
  %0 = aten.permute.default(%x, [1, 0]) : (tensor<4x9xf32>) -> tensor<9x4xf32>
  %1 = aten.constant_pad_nd.default(%y, [0, 0, 2, 4], 1.0) : (tensor<3x4xf32>) -> tensor<9x4xf32>
  %2 = aten.sin.default(%1) : (tensor<9x4xf32>) -> tensor<9x4xf32>
  %3 = aten.slice.Tensor(%2, 1, 0, 3) : (tensor<9x4xf32>) -> tensor<9x3xf32>
  %4 = aten.cat.default([%0, %3], dim = 1) : (tensor<9x4xf32>, tensor<9x3xf32>) -> tensor<9x7xf32>
  %5 = aten.sum.dim_IntList(%4, [1]) : (tensor<9x7xf32>) -> tensor<9xf32>
  func.return %4, %5 : tensor<9x7xf32>, tensor<9xf32>
}""",
    "mutation": """
func.func @main(%x: tensor<4x6xf32>, %y: tensor<6xf32>) -> (tensor<4x6xf32>) {
  %0 = aten.clone.default(%x) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = aten.select.int(%0, 0, 1) : (tensor<4x6xf32>) -> tensor<6xf32>
  %2 = aten.add_.Tensor(%1, %y) : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
  %3 = aten.mul.Tensor(%0, %2) : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  func.return %3 : tensor<4x6xf32>
}""",
    "complex": """
func.func @main(%x: tensor<4x6xcomplex<f32>>) -> (tensor<4x6xcomplex<f32>>, tensor<4x6xf32>) {
  %0 = aten.mul.Tensor(%x, %x) : (tensor<4x6xcomplex<f32>>, tensor<4x6xcomplex<f32>>) -> tensor<4x6xcomplex<f32>>
  %1 = aten.abs.default(%0) : (tensor<4x6xcomplex<f32>>) -> tensor<4x6xf32>
  func.return %0, %1 : tensor<4x6xcomplex<f32>>, tensor<4x6xf32>
}""",
    "sorted": """
func.func @main(%x: tensor<5x7xf32>) -> (tensor<5x7xf32>, tensor<5x7xi64>, tensor<5x7xf32>) {
  %0, %1 = aten.sort.default(%x) : (tensor<5x7xf32>) -> (tensor<5x7xf32>, tensor<5x7xi64>)
  %2 = aten.cumsum.default(%0, 1) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  func.return %0, %1, %2 : tensor<5x7xf32>, tensor<5x7xi64>, tensor<5x7xf32>
}""",
    "half": """
func.func @main(%x: tensor<8x6xbf16>) -> (tensor<8xbf16>) {
  %0 = aten.exp.default(%x) : (tensor<8x6xbf16>) -> tensor<8x6xbf16>
  %1 = aten.sum.dim_IntList(%0, [1]) : (tensor<8x6xbf16>) -> tensor<8xbf16>
  func.return %1 : tensor<8xbf16>
}""",
    "branch": """
func.func @main(%p: tensor<i1>, %x: tensor<5xf32>) -> (tensor<5xf32>) {
  %0 = aten.neg.default(%x) : (tensor<5xf32>) -> tensor<5xf32>
  %r = control.cond if(%p) with(%x, %0) : (tensor<i1>, tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32> then {
  ^bb0(%a: tensor<5xf32>, %b: tensor<5xf32>):
    %1 = aten.add.Tensor(%a, %b) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    control.yield %1 : tensor<5xf32>
  } else {
  ^bb0(%a: tensor<5xf32>, %b: tensor<5xf32>):
    %1 = aten.sin.default(%a) : (tensor<5xf32>) -> tensor<5xf32>
    control.yield %1 : tensor<5xf32>
  }
  func.return %r : tensor<5xf32>
}""",
    "inverse": """
func.func @main(%x: tensor<3x3xf32>) -> (tensor<3x3xf32>) {
  %q, %r = aten.linalg_qr.default(%x) : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3x3xf32>)
  %0 = aten.mm.default(%q, %r) : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  func.return %0 : tensor<3x3xf32>
}""",
}
"""Programs at the aten layer that between them use what passes treat in ways of its own."""

STATES: tuple[str, ...] = ("start", *pipeline())
"""Where IR may stand: before the first pass, or behind a pass of the pipeline."""


class Trial:
    """One program: its arguments, what it computes, and its IR at every state."""

    def __init__(self, name: str) -> None:
        module = lamina.parse(PROGRAMS[name])
        numbers = np.random.default_rng(3)
        main = next(iter(module.ops))
        types = [str(a.type) for a in main.body.block.args]  # pyright: ignore
        self.arguments = [sample(kind, numbers) for kind in types]
        self.wanted = run_module(module.clone(), self.copies())
        self.texts: dict[str, str] = {"start": str(module)}
        for spec in pipeline():
            run_pipeline(module, [spec], Context())
            self.texts[spec] = str(module)

    def copies(self) -> list[np.ndarray]:
        """The arguments, for a run that may write them."""
        return [argument.copy() for argument in self.arguments]

    def module(self, state: str) -> ModuleOp:
        """The program as it stands behind a pass of the pipeline."""
        return lamina.parse(self.texts[state])

    def check(self, module: ModuleOp, *, native: bool = False) -> str | None:
        """Why a module is not this program; None if it is, or is refused with a message."""
        try:
            if native:
                found = lamina.compile(module, cache=False)(*self.copies())
                results = list(found) if isinstance(found, tuple) else [found]
            else:
                results = run_module(module, self.copies())
        except LaminaError as error:
            return None if native else f"does not run: {error}"
        if len(results) < len(self.wanted):
            return f"gives {len(results)} results"
        for got, wanted in zip(results, self.wanted, strict=False):
            # Passes move where half floats are rounded: by one unit in the last place of bf16.
            if np.shape(got) != np.shape(wanted) or not np.allclose(
                _wide(got), _wide(wanted), rtol=1e-2 if _is_half(wanted) else 1e-4, atol=1e-4
            ):
                return f"gives {got}, not {wanted}"
        return None


@cache
def trial(name: str) -> Trial:
    """The program of that name, lowered once."""
    return Trial(name)


def sample(kind: str, numbers: np.random.Generator) -> np.ndarray:
    """Small whole numbers of a tensor type."""
    *extents, element = kind.removeprefix("tensor<").removesuffix(">").split("x", kind.count("x"))
    if "complex" in kind:
        extents, element = kind.removeprefix("tensor<").split("xcomplex")[0].split("x"), "c"
    values = numbers.integers(-3, 4, [int(e) for e in extents])
    if element == "c":
        return (values + 1j * values[::-1]).astype(np.complex64)
    if element == "i1":
        return values > 0
    if element == "bf16":
        import ml_dtypes

        return values.astype(ml_dtypes.bfloat16)
    return values.astype(np.float32)


def _is_half(array: np.ndarray) -> bool:
    return array.dtype.itemsize == 2


def _wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.complex128)


def run(module: ModuleOp, passes: Sequence[str]) -> str | None:
    """Run passes, and verify behind each: the message of a refusal, None without one."""
    for spec in passes:
        try:
            run_pipeline(module, [spec], Context())
            module.verify()
        except (LaminaError, DiagnosticException) as error:
            return str(error) or "no message"
    return None
