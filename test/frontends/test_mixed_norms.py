"""Normalizations of half floats by parameters and statistics of f32, as autocast makes them."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

import lamina

pytestmark = pytest.mark.one_in(3)

KINDS = (torch.bfloat16, torch.float16)

LAYERS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "layer": (lambda: nn.LayerNorm(8), (4, 8)),
    "layer without bias": (lambda: nn.LayerNorm((3, 8), bias=False), (4, 3, 8)),
    "group": (lambda: nn.GroupNorm(2, 8), (4, 8, 3)),
    "batch of vectors": (lambda: nn.BatchNorm1d(8), (4, 8)),
    "batch": (lambda: nn.BatchNorm2d(8), (4, 8, 5, 5)),
    "batch without weights": (lambda: nn.BatchNorm2d(8, affine=False), (4, 8, 5, 5)),
    "batch without statistics": (
        lambda: nn.BatchNorm2d(8, track_running_stats=False),
        (4, 8, 5, 5),
    ),
    "rms": (lambda: nn.RMSNorm(8), (4, 8)),
    "instance": (lambda: nn.InstanceNorm2d(8, affine=True), (4, 8, 5, 5)),
    "instance with statistics": (
        lambda: nn.InstanceNorm2d(8, affine=True, track_running_stats=True),
        (4, 8, 5, 5),
    ),
}


def _layer(name: str, training: bool) -> nn.Module:
    torch.manual_seed(0)
    layer = LAYERS[name][0]().train(training).requires_grad_(False)
    for tensor in (*layer.parameters(), *layer.buffers()):
        if tensor.is_floating_point():
            tensor.uniform_(0.5, 1.5)
    return layer


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LAYERS)
def test_half_input(name: str, kind: torch.dtype, training: bool) -> None:
    x = torch.randn(LAYERS[name][1]).to(kind)
    expected_layer, layer = _layer(name, training), _layer(name, training)
    expected = expected_layer(x)
    torch._dynamo.reset()
    actual = torch.compile(layer, backend="lamina", fullgraph=True)(x)
    torch.testing.assert_close(actual, expected)
    for one, other in zip(layer.buffers(), expected_layer.buffers(), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("name", LAYERS)
def test_exported(name: str) -> None:
    x = torch.randn(LAYERS[name][1]).to(torch.bfloat16)
    expected = _layer(name, True)(x)
    program = lamina.compile(torch.export.export(_layer(name, True), (x,)))
    torch.testing.assert_close(program(x), expected)


@pytest.mark.parametrize("kind", KINDS[:1])
@pytest.mark.parametrize("name", [name for name in LAYERS if "statistics" not in name])
def test_gradients(name: str, kind: torch.dtype) -> None:
    """Of the input and of f32 parameters, under autocast."""
    layer = _layer(name, training=False)
    given = dict(layer.named_parameters())

    def loss(parameters: dict[str, Tensor], x: Tensor) -> Tensor:
        with torch.autocast("cpu", dtype=kind):
            made = torch.func.functional_call(layer, parameters, (x,))
        return (made * slope).float().sum()

    def gradients(parameters: dict[str, Tensor], x: Tensor) -> tuple[dict[str, Tensor], Tensor]:
        return torch.func.grad(loss, argnums=(0, 1))(parameters, x)

    slope, x = torch.randn(2, *LAYERS[name][1]).to(kind)
    torch._dynamo.reset()
    expected = gradients(given, x)
    actual = torch.compile(gradients, backend="lamina", fullgraph=True)(given, x)
    # Of f32 weights too, gradients are sums of half floats that eager mode has rounded on the way.
    wide = {"rtol": 0.016, "atol": 0.01}
    for path in given:
        torch.testing.assert_close(actual[0][path], expected[0][path], **wide)
    torch.testing.assert_close(actual[1], expected[1], **wide)


Kernel = Callable[..., tuple[Tensor, ...]]

_ATEN = torch.ops.aten


def _saved(kind: torch.dtype) -> dict[str, tuple[Kernel, tuple[object, ...]]]:
    image, rows = torch.randn(2, 4, 3, 3).to(kind), torch.randn(5, 4).to(kind)
    weight, mean, var = torch.rand(4), torch.rand(4), torch.rand(4)
    batch = (image, weight, weight)
    return {
        "layer": (_ATEN.native_layer_norm, (rows, [4], weight, None, 1e-5)),
        "group": (_ATEN.native_group_norm, (*batch, 2, 4, 9, 2, 1e-5)),
        "rms": (_ATEN._fused_rms_norm, (rows, [4], weight.to(kind), 1e-5)),
        "batch": (_ATEN._native_batch_norm_legit.no_stats, (*batch, True, 0.1, 1e-5)),
        "batch with statistics": (
            _ATEN._native_batch_norm_legit_functional,
            (image, None, None, mean, var, True, 0.1, 1e-5),
        ),
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", _saved(torch.bfloat16))
def test_saved_statistics(name: str, kind: torch.dtype) -> None:
    """Torch's graphs and kernels may not agree on their dtype; the graph's is what comes."""
    function, args = _saved(kind)[name]

    def program(*args: object) -> tuple[Tensor, ...]:
        return function(*args)

    torch._dynamo.reset()
    expected = program(*args)
    actual = torch.compile(program, backend="lamina", fullgraph=True)(*args)
    for one, other in zip(actual, expected, strict=True):
        torch.testing.assert_close(one, other.to(one.dtype))
