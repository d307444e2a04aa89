"""Parts of networks at the sizes they have in use, several images at once, against eager mode."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import lamina

pytestmark = pytest.mark.one_in(2)


class Residual(nn.Module):
    """A residual block of a ResNet, halving the image."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels, 2 * channels, 3, 2, 1, bias=False),
            nn.BatchNorm2d(2 * channels),
            nn.ReLU(),
            nn.Conv2d(2 * channels, 2 * channels, 3, 1, 1, bias=False),
            nn.BatchNorm2d(2 * channels),
        )
        self.short = nn.Conv2d(channels, 2 * channels, 1, 2)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.body(x) + self.short(x))


class Dense(nn.Module):
    """A dense block: each layer reads the concatenation of all before it."""

    def __init__(self, channels: int, growth: int, layers: int) -> None:
        super().__init__()
        sizes = [channels + i * growth for i in range(layers)]
        self.layers = nn.ModuleList(
            nn.Sequential(nn.BatchNorm2d(n), nn.ReLU(), nn.Conv2d(n, growth, 3, 1, 1))
            for n in sizes
        )

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = torch.cat([x, layer(x)], 1)
        return x


class Inverted(nn.Module):
    """MobileNet's block, with squeeze and excitation."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        wide = 4 * channels
        self.expand = nn.Sequential(nn.Conv2d(channels, wide, 1), nn.BatchNorm2d(wide), nn.SiLU())
        self.depth = nn.Sequential(nn.Conv2d(wide, wide, 5, 1, 2, groups=wide), nn.Hardswish())
        self.squeeze = nn.Sequential(nn.Conv2d(wide, 8, 1), nn.ReLU(), nn.Conv2d(8, wide, 1))
        self.project = nn.Conv2d(wide, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        y = self.depth(self.expand(x))
        return x + self.project(y * self.squeeze(y.mean((2, 3), keepdim=True)).sigmoid())


class Shifted(nn.Module):
    """Attention in shifted windows, as in Swin."""

    def __init__(self, width: int, heads: int, window: int) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.heads, self.window = heads, window

    def forward(self, x: Tensor) -> Tensor:
        n, h, w, c = x.shape
        s = self.window
        x = torch.roll(x, (-(s // 2), -(s // 2)), (1, 2))
        x = x.view(n, h // s, s, w // s, s, c).transpose(2, 3).reshape(-1, s * s, c)
        q, k, v = self.qkv(x).view(-1, s * s, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        x = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(-1, s * s, c)
        x = self.out(x).view(n, h // s, w // s, s, s, c).transpose(2, 3).reshape(n, h, w, c)
        return torch.roll(x, (s // 2, s // 2), (1, 2))


class UNet(nn.Module):
    """One level down and up again, with a skip."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(channels, 2 * channels, 3, 1, 1))
        self.up = nn.ConvTranspose2d(2 * channels, channels, 2, 2)
        self.merge = nn.Sequential(nn.Conv2d(2 * channels, channels, 3, 1, 1), nn.GroupNorm(2, 8))

    def forward(self, x: Tensor) -> Tensor:
        return self.merge(torch.cat([x, self.up(functional.gelu(self.down(x)))], 1))


NETWORKS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "residual block": (lambda: Residual(32), (4, 32, 56, 56)),
    "dense block": (lambda: Dense(24, 12, 8), (2, 24, 28, 28)),
    "inverted residual block": (lambda: Inverted(16), (2, 16, 56, 56)),
    "shifted windows": (lambda: Shifted(48, 3, 7), (2, 28, 28, 48)),
    "U-Net level": (lambda: UNet(8), (2, 8, 128, 128)),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_network(name: str) -> None:
    make, shape = NETWORKS[name]
    torch.manual_seed(0)
    network, x = make().eval(), torch.randn(shape)
    with torch.no_grad():
        wanted = network(x)
        got = lamina.compile(torch.export.export(network, (x,)), cache=False)(x)
        dynamic = torch.compile(network, backend="lamina", options={"cache": False})(x)
    scale = wanted.abs().max().item()
    torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-5 * scale)
    torch.testing.assert_close(dynamic, wanted, rtol=1e-5, atol=1e-5 * scale)
