"""Windows of images, experts, levels of a pyramid, attention: of open sizes, called with many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import lamina

torch: Any = pytest.importorskip("torch")
from dynamo_calls import check_sizes  # noqa: E402

F = torch.nn.functional
SHAPES = (
    *((3, 2, 3), (2, 4, 5), (5, 3, 2), (2, 9, 2), (4, 3, 3), (3, 2, 2)),
    *((2, 1, 3), (1, 2, 2), (0, 2, 2)),
)
"""Sizes of 1 and 0 are graphs of their own."""


def _image(side: int) -> Callable[..., tuple[Any, ...]]:
    return lambda b, h, w: (torch.randn(b, side * h, side * w, 8),)


def _channels_first(side: int, more: int) -> Callable[..., tuple[Any, ...]]:
    return lambda b, h, w: (torch.randn(b, 8, side * h + more, side * w + more),)


def _windows(x: Any, side: int) -> Any:
    b, h, w, c = x.shape
    apart = x.view(b, h // side, side, w // side, side, c)
    return apart.permute(0, 1, 3, 2, 4, 5).reshape(-1, side * side, c)


def _and_back(x: Any, side: int) -> Any:
    b, h, w, c = x.shape
    scores = _windows(x, side)
    mixed = (scores @ scores.transpose(1, 2)).softmax(-1) @ scores
    apart = mixed.view(b, h // side, w // side, side, side, c)
    return x + apart.permute(0, 1, 3, 2, 4, 5).reshape(b, h, w, c)


def _patches(x: Any) -> Any:
    """Of images of channels in front, by a row for each patch."""
    b, c, h, w = x.shape
    apart = x.reshape(b, c, h // 4, 4, w // 4, 4).permute(0, 2, 4, 3, 5, 1)
    return apart.reshape(b, -1, 16 * c)


def _patches_of_one(x: Any) -> Any:
    patches = x[0].unfold(1, 4, 4).unfold(2, 4, 4)
    rows = patches.permute(1, 2, 0, 3, 4).reshape(-1, 16 * x.shape[1])
    return patches.reshape(x.shape[1], -1, 16), rows


def _columns(x: Any) -> Any:
    """Of windows that overlap, and of some that leave lines out."""
    weight = torch.arange(5 * 27).view(5, 27) / 100
    product = weight @ F.unfold(x[:, :3], 3, padding=1)
    return F.unfold(x, 2), F.unfold(x, (2, 3), dilation=(2, 1), padding=1, stride=(1, 3)), product


def _of_pixels(x: Any) -> Any:
    """Sums, extremes and products of the pixels of all images."""
    pixels = x.reshape(-1, x.shape[-1])[:, :5]
    centered = x.reshape(-1, x.shape[-1]) - x.mean((0, 1, 2))
    return pixels.mean(0), pixels.amax(0), centered.t() @ centered, pixels.t() @ centered


def _experts(x: Any) -> Any:
    """Two of four experts for each token, which are in the rows of a table."""
    tokens = x.reshape(-1, x.shape[-1])
    weights, chosen = tokens[:, :4].softmax(-1).topk(2)
    gates = torch.zeros(tokens.shape[0], 4).scatter(1, chosen, weights)
    tables = torch.arange(4 * 8 * 8).view(4, 8, 8) / 100
    made = torch.einsum("td,edf->etf", tokens, tables).relu()
    return (made * gates.t()[..., None]).sum(0).view(x.shape)


class Pyramid(torch.nn.Module):
    """A level, and the next one at its size."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(8, 6, 3, 2, 1)
        self.second = torch.nn.Conv2d(6, 5, 3, 2, 1)
        self.last = torch.nn.Conv2d(11, 4, 3, 1, 1)

    def forward(self, x: Any) -> Any:
        level = self.first(x.permute(0, 3, 1, 2)).relu()
        above = self.second(level).relu()
        near = F.interpolate(above, size=level.shape[-2:], mode="nearest")
        exact = F.interpolate(above, size=level.shape[-2:], mode="nearest-exact")
        return self.last(torch.cat([level, near], 1)), exact


CASES: dict[str, tuple[Callable[..., Any], Callable[..., tuple[Any, ...]]]] = {
    "windows of 4": (lambda x: _windows(x, 4), _image(4)),
    "windows of 7": (lambda x: _windows(x, 7), _image(7)),
    "windows of 4 and back": (lambda x: _and_back(x, 4), _image(4)),
    "windows of 7 and back": (lambda x: _and_back(x, 7), _image(7)),
    "patches": (_patches, _channels_first(4, 0)),
    "patches of one": (_patches_of_one, _channels_first(4, 1)),
    "columns of windows": (_columns, _channels_first(3, 1)),
    "of pixels": (_of_pixels, _image(9)),
    "experts": (_experts, _image(1)),
    "pyramid": (Pyramid().eval(), _image(5)),
}


NEVER_EMPTY = (
    *("patches", "patches of one", "columns of windows", "of pixels"),
    *("experts", "pyramid"),
)
"""What torch refuses of no images."""


@pytest.mark.parametrize("name", CASES)
def test_open_sizes(name: str) -> None:
    shapes = [s for s in SHAPES if s[0] or name not in NEVER_EMPTY]
    check_sizes(*CASES[name], shapes, 1e-4)


def test_numbers_that_equal_sizes() -> None:
    """A graph that takes numbers, which are sizes of another one, beside a tensor of such sizes."""
    weight = torch.nn.Parameter(torch.randn(8, 8))

    def mixed(x: Any) -> Any:
        b, h, w, c = x.shape
        apart = _windows(x, 4)
        torch._dynamo.graph_break()
        apart = (apart @ weight).view(b, h // 4, w // 4, 4, 4, c)
        return x + apart.permute(0, 1, 3, 2, 4, 5).reshape(b, h, w, c)

    torch.compiler.reset()
    compiled = torch.compile(mixed, backend="lamina", dynamic=True)
    with torch.no_grad():
        for shape in ((3, 20, 24), (2, 32, 28), (4, 8, 8), (2, 12, 20)):
            x = torch.randn(*shape, 8)
            torch.testing.assert_close(compiled(x), mixed(x), rtol=1e-4, atol=1e-4)


def test_windows_that_do_not_fit() -> None:
    """Elements are counted in each call, though nothing is moved."""
    torch.compiler.reset()
    compiled = torch.compile(
        lambda x, y: x.view(x.shape[0], y.shape[0], 4, 8), backend="lamina", dynamic=True
    )
    with torch.no_grad():
        compiled(torch.randn(3, 20, 8), torch.randn(5))
        compiled(torch.randn(2, 12, 8), torch.randn(3))
        with pytest.raises((lamina.LaminaError, RuntimeError)):
            compiled(torch.randn(2, 12, 8), torch.randn(2))


def test_upsampled_images_keep_their_op() -> None:
    """Torch's decompositions would look elements up by tables that end nowhere."""
    seen: list[str] = []

    def backend(graph: Any, inputs: Any) -> Any:
        from lamina.frontends.kept_composites import composites_kept

        with composites_kept():
            made = torch.fx.experimental.proxy_tensor.make_fx(graph, tracing_mode="symbolic")
            seen.extend(str(node.target) for node in made(*inputs).graph.nodes)
        return graph

    x = torch.randn(1, 2, 6, 5)
    for mode in ("nearest", "nearest-exact"):
        torch.compiler.reset()
        found = torch.compile(lambda x, m=mode: F.interpolate(x, (9, 7), mode=m), backend=backend)
        found(x)
    assert "aten.upsample_nearest2d.default" in seen
    assert "aten._upsample_nearest_exact2d.default" in seen


@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16))
def test_scores_of_attention_stay_in_its_kernel(dtype: Any) -> None:
    """A version for any number of heads and keys has no memory for scores of all."""
    heads, length = torch.export.Dim("heads", max=8), torch.export.Dim("length", max=512)
    given = tuple(torch.randn(1, 3, 40, 16).to(dtype) for _ in range(3))
    dims = {name: {1: heads, 2: length} for name in ("query", "key", "value")}
    program = torch.export.export(_Attention(), given, dynamic_shapes=dims)
    compiled = lamina.compile(program, versions="padded")
    tolerance = 1e-5 if dtype is torch.float32 else 2e-2
    for count, keys in ((3, 40), (8, 512), (2, 1), (5, 77)):
        given = tuple(torch.randn(1, count, keys, 16).to(dtype) for _ in range(3))
        wanted = F.scaled_dot_product_attention(*given)
        torch.testing.assert_close(compiled(*given), wanted, rtol=tolerance, atol=tolerance)
    assert compiled.memory.arena < 8 * 512 * 512


class _Attention(torch.nn.Module):
    def forward(self, query: Any, key: Any, value: Any) -> Any:
        return F.scaled_dot_product_attention(query, key, value)
