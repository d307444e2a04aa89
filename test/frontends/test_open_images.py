"""Images of any size: convolutions, pooling, resampling, edges, windows, norms in one version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import lamina
from lamina.dialects.errors import ExecutionError

torch: Any = pytest.importorskip("torch")

pytestmark = pytest.mark.one_in(2)
nn, F, DYNAMIC = torch.nn, torch.nn.functional, torch.export.Dim.DYNAMIC

SIZES = ((16, 16), (4, 4), (5, 7), (31, 17), (64, 33), (9, 63))


class Made(nn.Module):
    """A function of an image and of modules."""

    def __init__(self, function: Callable[..., Any], *modules: Any) -> None:
        super().__init__()
        self.function, self.parts = function, nn.ModuleList(modules)

    def forward(self, x: Any) -> Any:
        return self.function(x, *self.parts)


def _first(x: Any, layer: Any) -> Any:
    return layer(x)


def conv(*args: Any, **options: Any) -> Made:
    return Made(_first, nn.Conv2d(3, *args, **options))


def function(call: Callable[..., Any], *args: Any, **options: Any) -> Made:
    return Made(lambda x: call(x, *args, **options))


def resized(*args: Any, **options: Any) -> Made:
    return function(F.interpolate, *args, **options)


def pooled(**options: Any) -> Made:
    return function(F.avg_pool2d, 3, 2, 1, **options)


def _unet(x: Any, down: Any, up: Any) -> Any:
    small = F.max_pool2d(down(x).relu(), 2)
    large = F.interpolate(small, size=x.shape[2:], mode="bilinear")
    return up(torch.cat([large, x], 1))


def _unet_that_pads(x: Any, down: Any, up: Any, mix: Any) -> Any:
    large = up(F.max_pool2d(down(x).relu(), 2))
    more = [x.shape[dim] - large.shape[dim] for dim in (3, 2)]
    large = F.pad(
        large, [more[0] // 2, more[0] - more[0] // 2, more[1] // 2, more[1] - more[1] // 2]
    )
    return mix(torch.cat([large, x], 1))


def _to_multiple(x: Any) -> Any:
    return F.pad(x, (0, (4 - x.shape[3] % 4) % 4), value=3.0).exp()


def _padded_to_square(x: Any) -> Any:
    side = torch.sym_max(x.shape[2], x.shape[3])
    more = [side - x.shape[3], side - x.shape[2]]
    return F.pad(x, [more[0] // 2, more[0] - more[0] // 2, more[1] // 2, more[1] - more[1] // 2])


MADE: dict[str, Callable[[], Made]] = {
    "convolution": lambda: conv(8, 3, padding=1),
    "strides": lambda: conv(8, 3, stride=2, padding=1),
    "dilated": lambda: conv(8, 3, dilation=2, padding=2),
    "no padding": lambda: conv(4, (2, 3)),
    "one element": lambda: conv(8, 1),
    "one element, strides": lambda: conv(8, 1, stride=2),
    "same": lambda: conv(8, 5, padding="same"),
    "groups": lambda: conv(3, 3, padding=1, groups=3),
    "behind each other": lambda: Made(
        lambda x, a, c: c(a(x).relu() + 1),
        nn.Conv2d(3, 8, 3, padding=1),
        nn.Conv2d(8, 4, 5, padding=2, stride=2),
    ),
    "two ways": lambda: Made(
        lambda x, a, c: a(x) + c(x),
        nn.Conv2d(3, 4, 3, stride=2, padding=1),
        nn.Conv2d(3, 4, 1, stride=2),
    ),
    "transposed": lambda: Made(
        _first, nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1)
    ),
    "maxima": lambda: function(F.max_pool2d, 3, 2, 1),
    "maxima, ceil": lambda: function(F.max_pool2d, 2, 2, ceil_mode=True),
    "maxima of negatives": lambda: Made(lambda x: F.max_pool2d(x - 100, 3, 2, 1, ceil_mode=True)),
    "maxima and places": lambda: function(F.max_pool2d, 3, 2, 1, return_indices=True),
    "means": lambda: pooled(),
    "means, ceil": lambda: pooled(ceil_mode=True),
    "means of elements": lambda: pooled(count_include_pad=False),
    "means of elements, ceil": lambda: pooled(count_include_pad=False, ceil_mode=True),
    "means, a divisor": lambda: pooled(divisor_override=5, ceil_mode=True),
    "one mean": lambda: function(F.adaptive_avg_pool2d, 1),
    "means of parts": lambda: function(F.adaptive_avg_pool2d, (7, 5)),
    "maxima of parts": lambda: function(F.adaptive_max_pool2d, (3, 5), return_indices=True),
    "nearest": lambda: resized(scale_factor=2),
    "nearest, 1.5": lambda: resized(scale_factor=1.5),
    "nearest, exact": lambda: resized(scale_factor=1.7, mode="nearest-exact"),
    "nearest, a size": lambda: resized(size=(20, 9)),
    "linear": lambda: resized(scale_factor=2, mode="bilinear"),
    "linear, corners": lambda: resized(scale_factor=2, mode="bilinear", align_corners=True),
    "linear, a size": lambda: resized(size=(20, 9), mode="bilinear"),
    "linear, half": lambda: resized(scale_factor=0.5, mode="bilinear"),
    "linear, computed": lambda: Made(
        lambda x: F.interpolate(x, size=(x.shape[2] * 2, x.shape[3] + 3), mode="bilinear")
    ),
    "cubic": lambda: resized(scale_factor=1.5, mode="bicubic"),
    "pad": lambda: function(F.pad, (1, 2, 3, 4), value=2.0),
    "pad, less": lambda: function(F.pad, (-1, 2, 0, -1), value=2.0),
    "pad to a square": lambda: Made(_padded_to_square),
    "pad to a multiple": lambda: Made(_to_multiple),
    "reflect": lambda: function(F.pad, (1, 2, 0, 1), mode="reflect"),
    "replicate": lambda: function(F.pad, (1, 2, 3, 4), mode="replicate"),
    "circular": lambda: function(F.pad, (1, 2, 0, 1), mode="circular"),
    "shuffle": lambda: Made(lambda x: F.pixel_shuffle(x.repeat(1, 4, 1, 1), 2)),
    "unshuffle": lambda: Made(lambda x: F.pixel_unshuffle(F.interpolate(x, scale_factor=2), 2)),
    "groups of channels": lambda: Made(_first, nn.GroupNorm(3, 3)),
    "channels": lambda: Made(_first, nn.InstanceNorm2d(3, affine=True)),
    "windows": lambda: Made(lambda x: x.unfold(2, 3, 1).unfold(3, 2, 2)),
    "columns": lambda: function(F.unfold, 3, padding=1, stride=2),
    "down and up": lambda: Made(
        _unet, nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(7, 4, 3, padding=1)
    ),
    "down and up, padded": lambda: Made(
        _unet_that_pads,
        nn.Conv2d(3, 4, 3, padding=1),
        nn.ConvTranspose2d(4, 4, 2, 2),
        nn.Conv2d(7, 4, 3, padding=1),
    ),
}


def check(found: Any, wanted: Any) -> None:
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", MADE)
def test_one_version_is_for_all_sizes(name: str) -> None:
    torch.manual_seed(0)
    module = MADE[name]().eval()
    given = torch.export.export(
        module, (torch.randn(2, 3, 16, 16),), dynamic_shapes={"x": {2: DYNAMIC, 3: DYNAMIC}}
    )
    compiled = lamina.compile(given, versions="padded")
    for size in SIZES:
        x = torch.randn(2, 3, *size)
        with torch.no_grad():
            check(compiled(x), module(x))
    assert len(compiled.sizes) == 1


ONE = """
func.func @main(%x: IMAGE {lamina.dims = [#lamina.size<h in [1, 40]>, #lamina.size<w in [1, 40]>]},
                %w: WEIGHT) -> (RESULTS) {
  %0 = aten.conv2d.default(%x, %w, padding = [1, 1]) : (IMAGE, WEIGHT) -> IMAGE
  %1 = aten.conv2d.default(%0, %w, stride = [2, 2], padding = [1, 1]) : (IMAGE, WEIGHT) -> IMAGE
  %2 = aten.max_pool2d.default(%0, [3, 3], [2, 2], [1, 1]) : (IMAGE) -> IMAGE
  %3 = aten.avg_pool2d.default(%0, [3, 3], [2, 2], [1, 1], true, false) : (IMAGE) -> IMAGE
  %4 = aten.upsample_bilinear2d.vec(%x, none, true, [2.0, 2.0]) : (IMAGE) -> IMAGE
  %5 = aten.upsample_bicubic2d.vec(%x, none, false, [1.5, 0.5]) : (IMAGE) -> IMAGE
  %6 = aten.replication_pad2d.default(%x, [2, 1, 0, 3]) : (IMAGE) -> IMAGE
  func.return %1, %2, %3, %4, %5, %6 : RESULTS
}
"""
ONE = ONE.replace("RESULTS", ", ".join(["IMAGE"] * 6)).replace("IMAGE", "tensor<1x2x?x?xf32>")
ONE = ONE.replace("WEIGHT", "tensor<2x2x3x3xf32>")


def _results_of_one(x: Any, w: Any) -> list[Any]:
    once = F.conv2d(x, w, padding=1)
    return [
        F.conv2d(once, w, stride=2, padding=1),
        F.max_pool2d(once, 3, 2, 1),
        F.avg_pool2d(once, 3, 2, 1, True, False),
        torch.ops.aten.upsample_bilinear2d.vec(x, None, True, [2.0, 2.0]),
        torch.ops.aten.upsample_bicubic2d.vec(x, None, False, [1.5, 0.5]),
        F.pad(x, (2, 1, 0, 3), mode="replicate"),
    ]


def test_sizes_of_one_and_values_that_are_not_finite() -> None:
    torch.manual_seed(1)
    compiled = lamina.compile(ONE, versions="padded")
    w = torch.randn(2, 2, 3, 3)
    for size in ((40, 40), (1, 2), (2, 5), (7, 3), (39, 2)):
        x = torch.randn(1, 2, *size)
        for found, wanted in zip(compiled(x, w), _results_of_one(x, w), strict=True):
            check(found, wanted)
    x = torch.randn(1, 2, 6, 8)
    x[0, 0, 5, 7], x[0, 1, 2, 2] = float("inf"), float("nan")
    for found, wanted in zip(compiled(x, w), _results_of_one(x, w), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4, equal_nan=True)
    assert len(compiled.sizes) == 1


def test_batches_by_a_kernel_that_is_an_argument() -> None:
    """Samples that do not count are not multiplied: their memory holds what nobody wrote."""
    text = """
func.func @main(%x: tensor<?x6x?xf32> {lamina.dims = [#lamina.size<b in [1, 9]>, #lamina.size<n in [1, 256]>]},
                %w: tensor<128x6x3xf32>) -> tensor<?x128x?xf32> {
  %0 = aten.convolution.default(%x, %w, none, [1], [1], [1], false, [0], 1) : (tensor<?x6x?xf32>, tensor<128x6x3xf32>) -> tensor<?x128x?xf32>
  func.return %0 : tensor<?x128x?xf32>
}"""  # noqa: E501 - an op on one line
    compiled = lamina.compile(text, versions="padded")
    w = torch.randn(128, 6, 3)
    compiled(torch.full((9, 6, 256), torch.nan), w)
    assert "outer_columns = loops" in compiled.sizes[0].compiled.ir("bufferized")
    for batch, length in ((1, 1), (2, 31), (9, 33), (3, 256), (5, 64)):
        x = torch.randn(batch, 6, length)
        x[-1, 0, -1], x[0, 1, 0] = torch.inf, torch.nan
        wanted = F.conv1d(x, w, padding=1)
        torch.testing.assert_close(compiled(x, w), wanted, rtol=1e-4, atol=1e-4, equal_nan=True)
    assert len(compiled.sizes) == 1


def test_a_window_that_does_not_fit_is_an_error() -> None:
    text = """
func.func @main(%x: tensor<1x2x?xf32> {lamina.dims = [#lamina.size<n in [1, 40]>]},
                %w: tensor<2x2x5xf32>) -> tensor<1x2x?xf32> {
  %0 = aten.conv1d.default(%x, %w) : (tensor<1x2x?xf32>, tensor<2x2x5xf32>) -> tensor<1x2x?xf32>
  func.return %0 : tensor<1x2x?xf32>
}"""
    compiled = lamina.compile(text, versions="padded")
    w = torch.randn(2, 2, 5)
    check(compiled(torch.ones(1, 2, 5), w), F.conv1d(torch.ones(1, 2, 5), w))
    with pytest.raises(ExecutionError, match="a window of 5 does not fit"):
        compiled(torch.ones(1, 2, 4), w)
