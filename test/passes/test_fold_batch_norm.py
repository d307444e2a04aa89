"""`fold-batch-norm` keeps the meaning, and the result is no less exact for it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from xdsl.dialects.builtin import ModuleOp

import lamina
from lamina.dialects.context import Context
from lamina.lowering.pipeline import run_pipeline
from lamina.runtime.interpreters import run_module

pytestmark = pytest.mark.one_in(3)

NORM = """
func.func @main(%x: tensor<2x5x9x8xf32> {lamina.name = "x"}, %w: tensor<6x5x3x3xf32> {lamina.kind = "parameter", lamina.name = "w"}, BIAS%g: tensor<6xf32> {lamina.kind = "parameter", lamina.name = "g"}, %h: tensor<6xf32> {lamina.kind = "parameter", lamina.name = "h"}, %m: tensor<6xf32> {lamina.kind = "buffer", lamina.name = "m"}, %v: tensor<6xf32> {lamina.kind = "buffer", lamina.name = "v"}) -> tensor<2x6x5x3xf32> {
  %c = core_aten.convolution.default(%x, %w, GIVEN, [2, 2], [1, 1], [1, 2], false, [0, 0], 1) : (tensor<2x5x9x8xf32>, tensor<6x5x3x3xf32>KIND) -> tensor<2x6x5x3xf32>
  %n, %s, %r = core_aten._native_batch_norm_legit_no_training.default(%c, AFFINE, %m, %v, 0.1, 1e-05) : (tensor<2x6x5x3xf32>, KINDStensor<6xf32>, tensor<6xf32>) -> (tensor<2x6x5x3xf32>, tensor<0xf32>, tensor<0xf32>)
  func.return %n : tensor<2x6x5x3xf32>
}"""  # noqa: E501 - an op on one line


def program(*, biased: bool, affine: bool) -> str:
    """A convolution and its norm; a bias and the norm's parameters may be left out."""
    bias = '%b: tensor<6xf32> {lamina.kind = "parameter", lamina.name = "b"}, ' if biased else ""
    text = NORM.replace("BIAS", bias).replace("GIVEN", "%b" if biased else "none")
    text = text.replace("KINDS", "tensor<6xf32>, tensor<6xf32>, " if affine else "")
    text = text.replace("KIND", ", tensor<6xf32>" if biased else "")
    return text.replace("AFFINE", "%g, %h" if affine else "none, none")


def arguments(seed: int) -> dict[str, np.ndarray]:
    """By name, with statistics as of activations whose mean is large against their deviation."""
    random = np.random.default_rng(seed)
    shapes = {"x": (2, 5, 9, 8), "w": (6, 5, 3, 3), "b": 6, "g": 6, "h": 6, "m": 6}
    made = {name: random.standard_normal(shape) for name, shape in shapes.items()}
    made["v"] = random.random(6) * 10.0 ** random.integers(-4, 3, 6)
    return {name: value.astype(np.float32) for name, value in made.items()}


def folded(text: str) -> ModuleOp:
    """The program behind the pass."""
    module = lamina.parse(text)
    run_pipeline(module, ["fold-batch-norm"], Context())
    assert "batch_norm" not in str(module)
    return module


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_interpreted_before_and_after(seed: int, biased: bool, affine: bool) -> None:
    """Against the same program in f64: as exact as before, within the rounding of the weights."""
    text = program(biased=biased, affine=affine)
    names = {"x", "w", "m", "v", *(["b"] if biased else []), "g", "h"}
    given = {name: value for name, value in arguments(seed).items() if name in names}
    wide = {name: value.astype(np.float64) for name, value in given.items()}
    (exact,) = run_module(lamina.parse(text.replace("f32", "f64")), wide)
    (before,) = run_module(lamina.parse(text), given)
    (after,) = run_module(folded(text), given)
    largest = np.abs(exact).max()
    assert np.abs(after - exact).max() <= 2 * np.abs(before - exact).max() + 2.0**-23 * largest
    (in_f64,) = run_module(folded(text.replace("f32", "f64")), wide)
    np.testing.assert_allclose(in_f64, exact, rtol=0, atol=1e-13 * largest)


@pytest.mark.parametrize("groups", [1, 4, 16])
def test_compiled_network_is_as_exact_as_eager_mode(groups: int) -> None:
    """Ten layers, each with statistics of its own: errors do not grow beyond eager mode's."""
    torch.manual_seed(groups)
    layers: list[nn.Module] = []
    for _ in range(10):
        conv = nn.Conv2d(32, 32, 3, padding=1, groups=groups, bias=False)
        layers += [conv, nn.BatchNorm2d(32, momentum=1.0), nn.SiLU()]
    network = nn.Sequential(*layers)
    with torch.no_grad():
        network(torch.randn(4, 32, 14, 14) * 5 + 3)
        network.eval()
        x = torch.randn(1, 32, 14, 14)
        eager = network(x)
        compiled = lamina.compile(torch.export.export(network, (x,)), cache=False)
        found = torch.from_numpy(np.asarray(compiled(x)))
        exact = network.double()(x.double())

    def error(value: torch.Tensor) -> float:
        return float((value.double() - exact).norm() / exact.norm())

    assert "rsqrt" not in str(compiled.kernels)
    assert error(found) <= 2 * error(eager)


@pytest.mark.parametrize("groups", [1, 32])
def test_folded_bf16_is_as_exact_as_eager_mode(groups: int) -> None:
    """The weights are rounded once more, what is between the ops is not: against the f64 run of the
    same bf16 parameters, errors are no larger than twice eager mode's."""
    torch.manual_seed(groups)
    layers: list[nn.Module] = []
    for _ in range(8):
        conv = nn.Conv2d(32, 32, 3, padding=1, groups=groups, bias=False)
        layers += [conv, nn.BatchNorm2d(32, momentum=1.0), nn.SiLU()]
    network = nn.Sequential(*layers)
    with torch.no_grad():
        network(torch.randn(4, 32, 14, 14) * 5 + 3)
        network.eval().bfloat16()
        x = torch.randn(1, 32, 14, 14).bfloat16()
        eager = network(x)
        program = torch.export.export(network, (x,))
        found = torch.as_tensor(lamina.compile(program, cache=False)(x))
        kept = lamina.compile(program, cache=False, rounding="eager")
        exact = network.double()(x.double())

    def error(value: torch.Tensor) -> float:
        return float((value.double() - exact).norm() / exact.norm())

    assert found.dtype == torch.bfloat16
    assert error(found) <= 2 * error(eager)
    assert 'fold-batch-norm{rounding="eager"}' in lamina.pipeline(rounding="eager")
    assert error(torch.as_tensor(kept(x))) <= 2 * error(eager)


def test_weights_with_infinite_elements_and_statistics_of_zero() -> None:
    """A variance of 0 leaves a scale of 1 / sqrt(eps), finite; infinities go where they went."""
    text = program(biased=True, affine=True)
    given = arguments(5)
    given["v"][2] = 0
    given["h"][3] = np.inf
    given["b"][4] = np.nan
    (before,) = run_module(lamina.parse(text), given)
    (after,) = run_module(folded(text), given)
    np.testing.assert_array_equal(np.isnan(before), np.isnan(after))
    np.testing.assert_allclose(after, before, rtol=1e-4, atol=1e-4)
