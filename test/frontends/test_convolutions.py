"""Convolutions of the sizes that networks have, with what follows them, against eager mode."""

import pytest
import torch
from torch import nn

import lamina

pytestmark = pytest.mark.one_in(2)

LAYERS: dict[str, tuple[nn.Module, tuple[int, ...]]] = {
    "several images": (nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.ReLU()), (8, 16, 56, 56)),
    "large image": (nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU()), (1, 3, 224, 224)),
    "batch norm": (nn.Sequential(nn.Conv2d(3, 24, 7, 2, 3), nn.BatchNorm2d(24)), (2, 3, 97, 131)),
    "norm of images": (nn.Sequential(nn.Conv2d(8, 8, 3), nn.InstanceNorm2d(8)), (3, 8, 100, 120)),
    "norm of groups": (nn.Sequential(nn.Conv2d(8, 16, 3), nn.GroupNorm(4, 16)), (4, 8, 64, 64)),
    "softmax of channels": (nn.Sequential(nn.Conv2d(8, 6, 3), nn.Softmax(1)), (4, 8, 66, 70)),
    "softmax of long rows": (nn.Sequential(nn.Conv2d(4, 3, 1), nn.Softmax(-1)), (2, 4, 3, 20_001)),
    "pooled": (nn.Sequential(nn.Conv2d(4, 12, 3), nn.ReLU(), nn.MaxPool2d(2)), (4, 4, 34, 34)),
    "one channel": (nn.Sequential(nn.Conv2d(8, 1, 3, dilation=2), nn.Sigmoid()), (3, 8, 57, 61)),
    "depthwise": (nn.Sequential(nn.Conv2d(12, 12, 3, groups=12), nn.Hardswish()), (4, 12, 60, 60)),
    "grouped": (nn.Sequential(nn.Conv2d(12, 24, 3, groups=3), nn.ReLU()), (4, 12, 30, 30)),
    "groups, pooled": (
        nn.Sequential(nn.Conv2d(12, 12, 3, 1, 1, groups=3), nn.ReLU(), nn.AdaptiveAvgPool2d(1)),
        (2, 12, 20, 24),
    ),
    "groups between others": (
        nn.Sequential(nn.Conv2d(5, 8, 1), nn.Conv2d(8, 8, 3, groups=2), nn.Conv2d(8, 8, 3)),
        (2, 5, 20, 24),
    ),
    "norm of those groups": (
        nn.Sequential(nn.Conv2d(8, 8, 3, 1, 1, groups=2), nn.GroupNorm(2, 8)),
        (2, 8, 20, 24),
    ),
    "transposed": (nn.Sequential(nn.ConvTranspose2d(8, 4, 4, 2, 1), nn.ReLU()), (4, 8, 40, 40)),
    "transposed, windows of 3 MB": (
        nn.Sequential(nn.ConvTranspose3d(8, 12, 4, 2, 1), nn.ReLU()),
        (1, 8, 8, 10, 12),
    ),
    "transposed, wide windows": (
        nn.ConvTranspose2d(6, 10, 6, 2, 2, 1),
        (2, 6, 40, 30),
    ),
    "windows side by side, 1-d": (nn.ConvTranspose1d(256, 33, 5, 5, bias=False), (2, 256, 131)),
    "windows side by side": (nn.ConvTranspose2d(256, 35, 2, 2, bias=False), (1, 256, 15, 14)),
    "windows side by side, biased": (
        nn.Sequential(nn.ConvTranspose2d(256, 40, (3, 2), (3, 2)), nn.ReLU()),
        (2, 256, 7, 13),
    ),
    "windows side by side, 3-d": (nn.ConvTranspose3d(64, 17, 2, 2, bias=False), (1, 64, 5, 8, 7)),
    "one dimension": (nn.Sequential(nn.Conv1d(20, 32, 3, 2), nn.GELU()), (2, 20, 3000)),
    "three dimensions": (nn.Sequential(nn.Conv3d(3, 5, 3), nn.LayerNorm(18)), (2, 3, 16, 20, 20)),
    "images of powers of two": (
        nn.Sequential(nn.Conv2d(16, 64, 1), nn.ReLU()),
        (2, 16, 64, 64),
    ),
    "bare, of odd lines": (nn.Conv2d(16, 40, 3, padding=1, bias=False), (2, 16, 17, 19)),
    "bare, three dimensions": (nn.Conv3d(32, 24, 3, padding=1, bias=False), (2, 32, 4, 4, 4)),
    "transposed, in phases": (nn.ConvTranspose2d(6, 10, 13, 2, 5, 1), (2, 6, 9, 14)),
    "transposed, phases of nothing": (
        nn.ConvTranspose3d(4, 6, 4, 2, 1, 1, groups=2, dilation=2),
        (2, 4, 5, 3, 4),
    ),
    "transposed, phases apart": (
        nn.ConvTranspose2d(4, 6, (9, 11), (4, 3), (1, 2), dilation=(6, 2)),
        (1, 4, 5, 7),
    ),
    "narrow images": (nn.Sequential(nn.Conv2d(64, 80, 3, padding=1), nn.ReLU()), (2, 64, 7, 7)),
}


@pytest.mark.parametrize("layer", LAYERS)
def test_layer(layer: str) -> None:
    module, shape = LAYERS[layer]
    torch.manual_seed(0)
    x = torch.randn(shape)
    module = module.eval()
    with torch.no_grad():
        wanted = module(x)
        got = lamina.compile(torch.export.export(module, (x,)), cache=False)(x)
    scale = wanted.abs().max().item()
    torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-5 * scale)


@pytest.mark.parametrize("channels", [8, 32])
def test_groups_make_one_kernel_with_their_bias(channels: int) -> None:
    """Two channels of a group are summed beside their padded image, eight are a product."""
    layer = nn.Sequential(nn.Conv2d(channels, channels, 3, 1, 1, groups=4), nn.ReLU()).eval()
    x = torch.randn(2, channels, 20, 24)
    with torch.no_grad():
        compiled = lamina.compile(torch.export.export(layer, (x,)), cache=False)
        torch.testing.assert_close(compiled(x), layer(x), rtol=1e-5, atol=1e-5)
    assert len(compiled.kernels) == (1 if channels == 8 else 2)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_an_image_of_no_channels_has_a_result_of_none(dims: int) -> None:
    """As in torch, whatever the weight and the bias have."""
    layer = (nn.functional.conv1d, nn.functional.conv2d, nn.functional.conv3d)[dims - 1]

    class Module(nn.Module):
        def forward(self, *given: torch.Tensor) -> torch.Tensor:
            return layer(*given, padding=1) + 1

    given = torch.ones([2, 0] + [5] * dims), torch.ones([4, 0] + [3] * dims), torch.ones(4)
    made = lamina.compile(torch.export.export(Module(), given), cache=False)(*given)
    assert made.shape == Module()(*given).shape == (2, 0, *[5] * dims)
