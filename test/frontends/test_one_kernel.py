"""Row-wise models become one kernel, which reads its input and writes its output once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import lamina  # noqa: E402

ROWS, COLUMNS = 64, 512
FLOATS = 4


class Module(torch.nn.Module):
    def __init__(self, function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *arguments: torch.Tensor) -> torch.Tensor:
        return self.function(*arguments)


CASES = {
    "softmax": (lambda x: torch.softmax(x, -1), 0),
    "log_softmax": (lambda x: torch.log_softmax(x, -1), 0),
    "layer_norm": (lambda x, w, b: torch.nn.functional.layer_norm(x, (COLUMNS,), w, b), 2),
    "rms_norm": (lambda x, w: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * w, 1),
}


@pytest.mark.parametrize("name", CASES)
def test_one_pass_over_memory(name: str) -> None:
    function, vectors = CASES[name]
    arguments = (torch.randn(ROWS, COLUMNS), *(torch.randn(COLUMNS) for _ in range(vectors)))
    compiled = lamina.compile(torch.export.export(Module(function), arguments), cache=False)
    assert len(compiled.kernels) == 1, compiled.kernels
    (kernel,) = compiled.kernels
    assert kernel.calls == 1
    assert kernel.bytes == FLOATS * (2 * ROWS * COLUMNS + vectors * COLUMNS)
    torch.testing.assert_close(compiled(*arguments), function(*arguments))


def test_a_product_stays_apart_from_one_that_reads_it_by_columns() -> None:
    """The other way round: what cannot share rows is two kernels, and the reason is kept."""
    x = torch.randn(ROWS, COLUMNS)
    module = Module(lambda x: torch.softmax(torch.softmax(x, -1), 0))
    compiled = lamina.compile(torch.export.export(module, (x,)), cache=False)
    assert len(compiled.kernels) == 2, compiled.kernels
    assert any(kernel.not_fused for kernel in compiled.kernels)


def _layer_norm_backward() -> tuple[Callable[..., object], tuple[torch.Tensor, ...]]:
    x, gradient = torch.randn(ROWS, COLUMNS), torch.randn(ROWS, COLUMNS)
    weight, bias = torch.randn(COLUMNS), torch.randn(COLUMNS)
    aten = torch.ops.aten
    _, mean, deviation = aten.native_layer_norm(x, [COLUMNS], weight, bias, 1e-5)

    def function(*a: torch.Tensor) -> object:
        g, x, *rest = a
        return aten.native_layer_norm_backward(g, x, [COLUMNS], *rest, [True] * 3)

    return function, (gradient, x, mean, deviation, weight, bias)


def _group_norm_backward() -> tuple[Callable[..., object], tuple[torch.Tensor, ...]]:
    x, gradient, weight = torch.randn(4, 32, 8, 8), torch.randn(4, 32, 8, 8), torch.randn(32)
    aten = torch.ops.aten
    _, mean, deviation = aten.native_group_norm(x, weight, weight, 4, 32, 64, 8, 1e-5)

    def function(*a: torch.Tensor) -> object:
        return aten.native_group_norm_backward(*a, 4, 32, 64, 8, [True] * 3)

    return function, (gradient, x, mean, deviation, weight)


def _rms_norm_backward() -> tuple[Callable[..., object], tuple[torch.Tensor, ...]]:
    def function(g: torch.Tensor, x: torch.Tensor, w: torch.Tensor) -> object:
        factor = torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5)
        scaled, weighted = x * factor, g * w
        mean = (weighted * scaled).mean(-1, keepdim=True)
        return factor * (weighted - scaled * mean), (g * scaled).sum(0)

    return function, (torch.randn(ROWS, COLUMNS), torch.randn(ROWS, COLUMNS), torch.randn(COLUMNS))


def _gelu_and_bias_backward() -> tuple[Callable[..., object], tuple[torch.Tensor, ...]]:
    def function(g: torch.Tensor, x: torch.Tensor) -> object:
        made = torch.ops.aten.gelu_backward(g, x)
        return made, made.sum(0)

    return function, (torch.randn(ROWS, COLUMNS), torch.randn(ROWS, COLUMNS))


BACKWARD = (
    _layer_norm_backward,
    _group_norm_backward,
    _rms_norm_backward,
    _gelu_and_bias_backward,
)


@pytest.mark.parametrize("case", BACKWARD)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gradients_of_inputs_and_weights_walk_memory_once(
    case: Callable[[], tuple[Callable[..., object], tuple[torch.Tensor, ...]]], dtype: torch.dtype
) -> None:
    function, arguments = case()
    arguments = tuple(a.to(dtype) for a in arguments)
    compiled = lamina.compile(torch.export.export(Module(function), arguments), cache=False)  # pyright: ignore
    if dtype == torch.float32:
        assert len(compiled.kernels) == 1, compiled.kernels
    wide = tuple(a.double() for a in arguments)
    tolerance = 1e-4 if dtype == torch.float32 else 2e-2
    results: Any = [function(*wide), function(*arguments), compiled(*arguments)]
    for truth, one, made in zip(*results, strict=True):
        # As torch's tests of decompositions: within the tolerance, or no further off than eager.
        if (made.double() - truth).abs().max() > (one.double() - truth).abs().max():
            wanted = truth.to(dtype)
            torch.testing.assert_close(made, wanted, rtol=tolerance, atol=tolerance)
