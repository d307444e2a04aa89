"""Kernels that programs call by name: registration, calls at every layer, failures, messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.codegen.target import Target
from lamina.dialects.errors import ExecutionError, InputError, UnsupportedError
from lamina.lowering.pipeline import LAYERS
from lamina.runtime.extern_kernels import registry
from lamina.runtime.extern_kernels.registry import extern_kernel, kernel_names
from lamina.runtime.interpreters import run_module
from lamina.runtime.layers import lower, parse

PROGRAM = """
func.func @main(%a: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3x3xf32>) {
  %b = prims.mul(%a, %a) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %q, %r = prims.extern([%b], "linalg.qr", "{\\22mode\\22: \\22reduced\\22}")
    : (tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3x3xf32>)
  %c = prims.exp(%r) : (tensor<3x3xf32>) -> tensor<3x3xf32>
  func.return %q, %c : tensor<4x3xf32>, tensor<3x3xf32>
}"""

ONE = """
func.func @main(%a: tensor<2x3xf32>) -> tensor<3x2xf32> {{
  %b = prims.extern([%a], "{name}", "{{}}") : (tensor<2x3xf32>) -> (tensor<3x2xf32>)
  func.return %b : tensor<3x2xf32>
}}"""


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    kernel_names()
    monkeypatch.setattr(registry, "_kernels", dict(registry._kernels))
    yield


def _input(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def test_results_feed_generated_kernels() -> None:
    a = _input(4, 3)
    q, r = lamina.compile(PROGRAM)(a)
    expected_q, expected_r = np.linalg.qr(a * a)
    np.testing.assert_array_equal(q, expected_q)
    np.testing.assert_allclose(r, np.exp(expected_r), rtol=1e-6)


@pytest.mark.parametrize("layer", LAYERS[LAYERS.index("prims") :])
def test_interpreted_at_every_layer(layer: str) -> None:
    module = parse(PROGRAM)
    lower(module, "prims", layer, Target.host())
    a = _input(4, 3)
    expected_q, expected_r = np.linalg.qr(a * a)
    q, r = run_module(module, [a])
    np.testing.assert_array_equal(q, expected_q)
    np.testing.assert_allclose(r, np.exp(expected_r), rtol=1e-6)


def test_a_kernel_of_ones_own() -> None:
    seen: list[Any] = []

    @extern_kernel("mine.transposed", dtypes=("f32",), layout="column")
    def transposed(a: np.ndarray) -> np.ndarray:
        seen.append((a.flags.f_contiguous, a.flags.writeable))
        return a.T

    a = _input(2, 3)
    compiled = lamina.compile(ONE.format(name="mine.transposed"))
    np.testing.assert_array_equal(compiled(a), a.T)
    assert seen == [(True, False)]


def test_names_are_taken_once() -> None:
    extern_kernel("mine.f")(lambda a: a.T)
    with pytest.raises(InputError, match=r"'mine\.f' is registered already"):
        extern_kernel("mine.f")(lambda a: a.T)
    with pytest.raises(InputError, match=r"'linalg\.qr' is registered already"):
        extern_kernel("linalg.qr")(lambda a: a.T)
    extern_kernel("mine.f", replace=True)(lambda a: a.T + 1)
    a = _input(2, 3)
    np.testing.assert_array_equal(lamina.compile(ONE.format(name="mine.f"))(a), a.T + 1)


@pytest.mark.parametrize("name", ["f", ".f", "mine.", "a.b.c", None, lambda a: a])
def test_names_have_a_library(name: Any) -> None:
    with pytest.raises(InputError, match="a name is a library and a kernel"):
        extern_kernel(name)


def test_layouts_are_two() -> None:
    with pytest.raises(InputError, match="neither 'row' nor 'column'"):
        extern_kernel("mine.f", layout="diagonal")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("dtypes", "message"),
    [
        ("f32", "no list of element types"),
        ((), "no list of element types"),
        (("float32",), "'float32' is no element type; they are f32, "),
        ((np.float32,), "float32'> is no element type; they are f32, "),
    ],
)
def test_dtypes_are_element_types(dtypes: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        extern_kernel("mine.typed", dtypes=dtypes)


def test_kernels_can_be_called() -> None:
    with pytest.raises(InputError, match="3 cannot be called"):
        extern_kernel("mine.three")(3)  # pyright: ignore[reportArgumentType]


def test_missing_kernels_are_found_when_compiling() -> None:
    with pytest.raises(UnsupportedError, match=r"registered as 'linalg\.rq'") as caught:
        lamina.compile(ONE.format(name="linalg.rq"))
    assert "linalg.qr" in str(caught.value)
    assert caught.value.location is not None and caught.value.types


def test_a_dtype_that_a_kernel_does_not_take() -> None:
    text = ONE.format(name="linalg.inv").replace("f32", "i64")
    with pytest.raises(UnsupportedError, match=r"'linalg\.inv' does not take i64"):
        lamina.compile(text)


def _raising(a: np.ndarray) -> np.ndarray:
    raise RuntimeError("no such thing")


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (_raising, "RuntimeError: no such thing"),
        (lambda a: a, r"shape \(2, 3\), the program says \(3, 2\)"),
        (lambda a: a.T.astype(complex), "dtype complex128, the program says f32"),
        (lambda a: (a.T, a.T), "made 2 results, not 1"),
        (lambda a: a.__setitem__(0, 0), "read-only"),
    ],
)
def test_failures_are_errors_of_the_call(kernel: Any, message: str) -> None:
    extern_kernel("mine.broken")(kernel)
    compiled = lamina.compile(ONE.format(name="mine.broken"))
    with pytest.raises(ExecutionError, match=f"extern kernel failed: mine.broken: .*{message}"):
        compiled(_input(2, 3))


def test_options_must_be_an_object() -> None:
    text = ONE.format(name="linalg.inv").replace("{}", "[]")
    with pytest.raises(UnsupportedError, match="options are no JSON object"):
        lamina.compile(text)


@pytest.mark.parametrize("dtype", ["f16", "f32", "f64"])
@pytest.mark.parametrize("made", ["float16", "float32", "float64"])
def test_a_result_of_another_width_is_refused(dtype: str, made: str) -> None:
    @extern_kernel("mine.widened")
    def widened(a: np.ndarray) -> np.ndarray:
        return a.T.astype(made)

    text = ONE.format(name="mine.widened").replace("f32", dtype)
    compiled = lamina.compile(text, cache=False)
    wanted = np.dtype(f"float{dtype[1:]}")
    given = np.ones((2, 3), wanted)
    if made == wanted.name:
        np.testing.assert_array_equal(compiled(given), given.T)
        return
    message = f"made a result of dtype {made}, the program says {dtype}.*astype"
    with pytest.raises(ExecutionError, match=message):
        compiled(given)
    with pytest.raises(ExecutionError, match=message):
        run_module(parse(text), [given])


def test_a_python_number_takes_the_width_that_is_declared() -> None:
    @extern_kernel("mine.number")
    def number(a: np.ndarray) -> float:
        return 0.25

    text = ONE.format(name="mine.number").replace("tensor<3x2xf32>", "tensor<f32>")
    result = lamina.compile(text, cache=False)(np.ones((2, 3), np.float32))
    assert result.dtype == np.float32 and result == 0.25
