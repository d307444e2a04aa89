"""Training on open batches and images: gradients, and norms by the statistics of a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import lamina

pytestmark = pytest.mark.one_in(2)

Dim = torch.export.Dim
aten = torch.ops.aten
functional = torch.nn.functional

SHAPES = ((3, 9, 12), (1, 5, 5), (6, 17, 8), (64, 6, 7), (2, 64, 64), (0, 9, 12))
"""Batches, heights and widths; the bound of each among them."""


class _Module(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def _convolution(*, stride: int = 1, padding: int = 0, dilation: int = 1, groups: int = 1) -> Any:
    weight = torch.randn(4, 4 // groups, 3, 3)
    options = (stride, padding, dilation, groups)

    def backward(g: Any, x: Any) -> Any:
        pair = [[n, n] for n in (stride, padding, dilation)]
        mask = [True, True, True]
        return aten.convolution_backward(g, x, weight, [4], *pair, False, [0, 0], groups, mask)

    return (lambda x: functional.conv2d(x, weight, None, *options)), backward


def _transposed() -> Any:
    weight = torch.randn(4, 5, 3, 3)

    def backward(g: Any, x: Any) -> Any:
        pair = [[2, 2], [1, 1], [1, 1], True, [1, 0], 1, [True, True, True]]
        return aten.convolution_backward(g, x, weight, [5], *pair)

    return (lambda x: functional.conv_transpose2d(x, weight, None, 2, 1, (1, 0))), backward


def _max_pool(*, ceil: bool) -> Any:
    options = ([3, 3], [2, 2], [1, 1], [1, 1], ceil)

    def backward(g: Any, x: Any) -> Any:
        indices = aten.max_pool2d_with_indices(x, *options)[1]
        return aten.max_pool2d_with_indices_backward(g, x, *options, indices)

    return (lambda x: aten.max_pool2d_with_indices(x, *options)[0]), backward


def _mean_pool(*, ceil: bool, padding: int, counted: bool = True) -> Any:
    options = ([3, 3], [2, 2], [padding, padding], ceil, counted)

    def backward(g: Any, x: Any) -> Any:
        return aten.avg_pool2d_backward(g, x, *options, None)

    return (lambda x: aten.avg_pool2d(x, *options)), backward


def _adaptive() -> Any:
    return (lambda x: functional.adaptive_avg_pool2d(x, (3, 2))), aten._adaptive_avg_pool2d_backward


def _batch_norm(*, train: bool, weighted: bool) -> Any:
    weight, mean, var = torch.rand(4) if weighted else None, torch.randn(4), torch.rand(4)

    def backward(g: Any, x: Any) -> Any:
        rows = x.transpose(0, 1).flatten(1)
        saved = rows.mean(1), (rows.var(1, correction=0) + 1e-5).rsqrt()
        running = (None, None) if train else (mean, var)
        mask = [True, True, True]
        return aten.native_batch_norm_backward(g, x, weight, *running, *saved, train, 1e-5, mask)

    # Gradients in proportion to the images would leave nothing but errors of rounding.
    return (lambda x: x.square()), backward


CASES: dict[str, Callable[[], Any]] = {
    "convolution": _convolution,
    "padded": lambda: _convolution(padding=1),
    "strided": lambda: _convolution(stride=2, padding=1),
    "dilated": lambda: _convolution(dilation=2, padding=2),
    "groups": lambda: _convolution(groups=2, stride=3, padding=1),
    "transposed": _transposed,
    "max_pool": lambda: _max_pool(ceil=False),
    "mean_pool": lambda: _mean_pool(ceil=False, padding=1),
    "mean_pool_ceil": lambda: _mean_pool(ceil=True, padding=1, counted=False),
    "adaptive": _adaptive,
    "max_pool_ceil": lambda: _max_pool(ceil=True),
    "batch_norm": lambda: _batch_norm(train=True, weighted=True),
    "batch_norm_plain": lambda: _batch_norm(train=True, weighted=False),
    "batch_norm_eval": lambda: _batch_norm(train=False, weighted=True),
}


ONLY_BATCHES = ("adaptive", "max_pool_ceil", "mean_pool_ceil")
"""Of images of 9 by 12: torch exports no others, or they have a version for each size."""


def _check(found: Any, wanted: Any, what: str) -> None:
    """Sums of up to 10^5 terms in f32: near by 2e-5 of the largest of them."""
    largest = float(wanted.nan_to_num().abs().max()) if wanted.numel() else 0.0
    torch.testing.assert_close(
        found, wanted, rtol=0.0, atol=2e-5 * largest, equal_nan=True, msg=lambda m: f"{what}: {m}"
    )


@pytest.mark.parametrize("case", CASES)
def test_gradients(case: str) -> None:
    torch.manual_seed(0)
    forward, backward = CASES[case]()

    def both(seed: Any, x: Any) -> Any:
        found = backward(forward(x) * seed, x)
        return found if isinstance(found, tuple) else (found,)

    dims = {0: Dim("batch", max=64)}
    if case not in ONLY_BATCHES:
        dims |= {2: Dim("height", min=5, max=64), 3: Dim("width", min=5, max=64)}
    seed = torch.randn(1)
    example = torch.randn(3, 4, 9, 12)
    program = torch.export.export(_Module(both), (seed, example), dynamic_shapes=((None, dims),))
    compiled = lamina.compile(program, versions="padded")
    for batch, *extents in SHAPES:
        if not batch and ("pool" in case or "norm" in case):
            continue  # torch's own gradients divide integers by how many samples there are
        x = torch.randn(batch, 4, *([9, 12] if case in ONLY_BATCHES else extents))
        made = compiled(seed, x)
        made = made if isinstance(made, tuple) else (made,)
        for found, wanted in zip(made, both(seed, x), strict=True):
            _check(found, wanted, f"{batch}, {extents}")
    assert len(compiled.sizes) == 1


def test_norms_by_the_statistics_of_a_batch() -> None:
    torch.manual_seed(0)
    weight, bias = torch.rand(4), torch.randn(4)

    def norms(x: Any, mean: Any, var: Any) -> Any:
        one = aten._native_batch_norm_legit_functional(x, weight, bias, mean, var, True, 0.1, 1e-5)
        plain = functional.batch_norm(x, None, None, None, None, True)
        return *one, plain

    dims = {0: Dim("batch", max=64), 2: Dim("length", max=64)}
    example = torch.randn(3, 4, 9), torch.randn(4), torch.rand(4)
    program = torch.export.export(_Module(norms), example, dynamic_shapes=((dims, None, None),))
    compiled = lamina.compile(program, versions="padded")
    for batch, length in ((3, 9), (64, 64), (2, 1), (1, 7), (33, 5)):
        args = torch.randn(batch, 4, length) * 3 + 1, torch.randn(4), torch.rand(4)
        for found, wanted in zip(compiled(*args), norms(*args), strict=True):
            torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)
    assert len(compiled.sizes) == 1


def _train(x: Any, tokens: Any, target: Any, weights: Any) -> Any:
    def loss(given: Any) -> Any:
        image = functional.conv2d(x, given["kernel"], given["shift"], padding=1)
        image = functional.batch_norm(image, None, None, given["scale"], given["shift"], True)
        rows = functional.max_pool2d(image.relu(), 2).flatten(1)
        words = functional.layer_norm(given["table"][tokens].softmax(-1), [4], given["scale"])
        scores = rows @ given["last"] + words.mean(1)
        return functional.cross_entropy(scores, target)

    return torch.func.grad_and_value(loss)(weights)


def test_steps_of_training_on_batches_of_any_size() -> None:
    torch.manual_seed(0)
    torch._dynamo.reset()
    shapes = {
        "kernel": (4, 3, 3, 3),
        "shift": (4,),
        "scale": (4,),
        "table": (9, 4),
        "last": (36, 4),
    }
    weights = {name: torch.randn(shape) for name, shape in shapes.items()}
    compiled = torch.compile(_train, backend="lamina", fullgraph=True)
    before = lamina.compile_count()
    for batch in (6, 7, 2, 33, 256, 5):
        args = torch.randn(batch, 3, 6, 6), torch.randint(9, (batch, 3)), torch.randint(4, (batch,))
        for value in args:
            torch._dynamo.mark_dynamic(value, 0)
        wanted = _train(*args, weights)
        made, loss = compiled(*args, weights)
        _check(loss, wanted[1], f"loss, {batch}")
        for name, gradient in wanted[0].items():
            _check(made[name], gradient, f"{name}, {batch}")
    # Torch's guards keep batches below 16 apart: one version each.
    assert lamina.compile_count() <= before + 2
