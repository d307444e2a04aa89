"""`out=` of another dtype than the op's result: computed in the dtype that eager mode takes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import lamina
from lamina.dialects.errors import UnsupportedError
from lamina.runtime.interpreters import run_module

pytestmark = pytest.mark.one_in(2)

NAMES = {
    torch.float16: "f16",
    torch.float32: "f32",
    torch.float64: "f64",
    torch.int32: "i32",
    torch.int64: "i64",
}
REDUCTIONS = {
    "sum.IntList_out": "dim = [0]",
    "nansum.out": "dim = [0]",
    "mean.out": "dim = [0]",
    "prod.int_out": "dim = 0",
    "cumsum.out": "dim = 0",
    "cumprod.out": "dim = 0",
    "softmax.int_out": "dim = 0",
    "linalg_vector_norm.out": "dim = [0]",
    "exp.out": "",
    "eq.Tensor_out": "%x",
    "add.out": "%x",
    "div.out": "%x",
    "logsumexp.out": "dim = [0]",
}
REDUCED = ("sum", "nansum", "mean", "prod", "linalg", "logsumexp")


def given(dtype: torch.dtype) -> torch.Tensor:
    """Numbers whose sums and products in narrower types differ from those in wider ones."""
    values = torch.linspace(0.7, 1.9, 36, dtype=torch.float64).view(12, 3)
    return (values * (1 if dtype.is_floating_point else 3)).to(dtype)


def in_eager_mode(op: str, x: torch.Tensor, out: torch.Tensor) -> torch.Tensor | None:
    """What torch writes, or None where it refuses."""
    packet, _, overload = op.partition(".")
    function = getattr(getattr(torch.ops.aten, packet), overload)
    arguments = {"dim = [0]": {"dim": [0]}, "dim = 0": {"dim": 0}, "": {}, "%x": {"other": x}}
    try:
        return function(x, **arguments[REDUCTIONS[op]], out=out)
    except (RuntimeError, NotImplementedError):
        return None


@pytest.mark.parametrize("target", NAMES)
@pytest.mark.parametrize("source", [torch.float16, torch.float32, torch.int32])
@pytest.mark.parametrize("op", REDUCTIONS)
def test_of_tensors(op: str, source: torch.dtype, target: torch.dtype) -> None:
    x = given(source)
    shape = [3] if op.startswith(REDUCED) else [12, 3]
    expected = in_eager_mode(op, x, torch.empty(shape, dtype=target))
    kind = f"tensor<12x3x{NAMES[source]}>"
    found = f"tensor<{'x'.join(map(str, shape))}x{NAMES[target]}>"
    other = REDUCTIONS[op]
    types = f"{kind}, {kind}, {found}" if other == "%x" else f"{kind}, {found}"
    text = f"""
func.func @main(%x: {kind}) -> {found} {{
  %e = aten.empty.memory_format(size = {shape}, dtype = {NAMES[target]}) : () -> {found}
  %0 = aten.{op}(%x, {other + ", " if other else ""}out = %e) : ({types}) -> {found}
  func.return %e : {found}
}}"""
    if expected is None:
        with pytest.raises(lamina.LaminaError):
            run_module(lamina.parse(text), [x.numpy()])
        return
    computed = target
    if op.startswith(("exp", "logsumexp", "div")):  # computed in their own dtype, then converted
        own = source if source.is_floating_point else torch.float32
        computed = min(own, target, key=lambda dtype: TOLERANCE.get(dtype, 0) * -1)
    check(text, [x.numpy()], expected, TOLERANCE.get(computed, 0))


TOLERANCE = {torch.float16: 2e-3, torch.float32: 1e-6, torch.float64: 1e-13}


def check(text: str, arguments: list[np.ndarray], expected: torch.Tensor, tolerance: float) -> None:
    """The interpreter's result and the compiled one."""
    native = lamina.compile(text, cache=False)(*arguments)
    for result in (run_module(lamina.parse(text), arguments)[0], native):
        result = torch.as_tensor(np.asarray(result))
        torch.testing.assert_close(result, expected, rtol=tolerance, atol=tolerance / 10)


FACTORIES = {
    "linspace.out(start = 0, end = 1, steps = 7": "linspace(0, 1, 7)",
    "logspace.out(start = 0.0, end = 1.0, steps = 7": "logspace(0, 1, 7)",
    "arange.start_out(start = 0, end = 0.7, step = 0.1": "arange(0, 0.7, 0.1)",
    "hann_window.out(window_length = 7": "hann_window(7)",
    "hamming_window.periodic_out(window_length = 7, periodic = false": "hamming_window(7, False)",
    "blackman_window.out(window_length = 7": "blackman_window(7)",
    "bartlett_window.out(window_length = 7": "bartlett_window(7)",
    "kaiser_window.periodic_out(window_length = 7, periodic = true": "kaiser_window(7, True)",
    "fft_fftfreq.out(n = 7, d = 0.3": "fft.fftfreq(7, 0.3)",
    "full.out(size = [7], fill_value = 0.1": "full((7,), 0.1)",
    "ones.out(size = [7]": "ones(7)",
    "zeros_like.out(%x": "zeros_like(x)",
    "ones_like.out(%x": "ones_like(x)",
    "full_like.out(%x, fill_value = 0.1": "full_like(x, 0.1)",
    "new_full.out(%x, size = [7], fill_value = 0.1": "full((7,), 0.1)",
    "_to_copy.out(%x": "clone(x)",
}


@pytest.mark.parametrize("target", [torch.float32, torch.float64])
@pytest.mark.parametrize("op", FACTORIES)
def test_of_new_tensors(op: str, target: torch.dtype) -> None:
    """In the dtype of `out`, as torch computes with that as `dtype`."""
    x = torch.linspace(0.7, 1.9, 7)
    call = FACTORIES[op]
    if call == "clone(x)":
        expected = x.to(target)
    else:
        expected = eval(
            f"torch.{call[:-1]}, dtype=target)", {"torch": torch, "x": x, "target": target}
        )
    found = f"tensor<7x{NAMES[target]}>"
    types = f"tensor<7xf32>, {found}" if "%x" in op else found
    text = f"""
func.func @main(%x: tensor<7xf32>) -> {found} {{
  %e = aten.empty.memory_format(size = [7], dtype = {NAMES[target]}) : () -> {found}
  %0 = aten.{op}, out = %e) : ({types}) -> {found}
  func.return %e : {found}
}}"""
    check(text, [x.numpy()], expected, TOLERANCE[target])


def test_windows_of_integers_are_refused() -> None:
    text = """
func.func @main() -> tensor<5xi64> {
  %e = aten.empty.memory_format(size = [5], dtype = i64) : () -> tensor<5xi64>
  %0 = aten.hann_window.out(window_length = 5, out = %e) : (tensor<5xi64>) -> tensor<5xi64>
  func.return %e : tensor<5xi64>
}"""
    with pytest.raises(UnsupportedError, match="a window of integers"):
        lamina.compile(text, cache=False)


@pytest.mark.parametrize("packet", ["cumsum_", "cumprod_"])
def test_running_sums_in_place_keep_their_dtype(packet: str) -> None:
    x = torch.tensor([100, 90, 77], dtype=torch.int8)
    text = f"""
func.func @main(%x: tensor<3xi8>) -> tensor<3xi8> {{
  %0 = aten.{packet}.default(%x, dim = 0) : (tensor<3xi8>) -> tensor<3xi8>
  func.return %0 : tensor<3xi8>
}}"""
    native = lamina.compile(text, cache=False)(x.numpy().copy())
    np.testing.assert_array_equal(native, getattr(x.clone(), packet)(0).numpy())
