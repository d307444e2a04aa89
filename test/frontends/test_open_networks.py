"""Parts of networks whose loops end with a call through joined positions, pairs and equal sizes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch.nn import functional

import lamina

LAYER_COUNT = 3


class PairLayer(torch.nn.Module):
    """A layer, the same on other weights as others, that asks for an even batch."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(512, 512)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[2 b, l, 512] to the same."""
        made = self.linear(x)
        batch, length, width = made.shape
        pairs = torch.softmax(made.view(batch // 2, 2, length, width), 1)
        return x + pairs.view(-1, length, width)


class PixelAttention(torch.nn.Module):
    """Attention of all pixels of an image, in heads, beside the image."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (torch.nn.Linear(32, 32) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[b, 32, h, w] to the same."""
        batch, width, height, columns = x.shape
        rows = x.view(batch, width, height * columns).transpose(1, 2)
        q, k, v = (
            layer(rows).view(batch, -1, 4, 8).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        made = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2)
        made = made.reshape(batch, -1, 32).transpose(1, 2)
        return made.reshape(batch, width, height, columns) + x


class RowWindows(torch.nn.Module):
    """Depthwise windows over channels that a linear layer has made of pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(16, 48)
        self.windows = torch.nn.Conv2d(16, 16, 5, padding=2, groups=16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[b, 16, h, w] to [b, h, w, 48]."""
        gate, kept, part = self.linear(x.permute(0, 2, 3, 1)).split(16, -1)
        part = self.windows(part.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
        return functional.silu(gate) * torch.cat((kept, part), -1)[..., 8:24]


class HalvedAndDoubled(torch.nn.Module):
    """An image beside what is left of it when it was halved and doubled again."""

    def __init__(self) -> None:
        super().__init__()
        self.wide = torch.nn.Conv2d(16, 32, 3, padding=1)
        self.down = torch.nn.Conv2d(32, 32, 3, stride=2, padding=1)
        self.up = torch.nn.Conv2d(64, 16, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[b, 16, 2 h, 2 w] to the same."""
        wide = self.wide(x).relu()
        low = functional.interpolate(self.down(wide).relu(), scale_factor=2.0)
        return self.up(torch.cat((low, wide), 1))


def _tiles() -> torch.nn.Module:
    """Convolutions by many channels, of which 3x3 are Winograd's tiles."""
    layers = [torch.nn.Conv2d(64, 128, 3, stride=2, padding=1), torch.nn.ReLU()]
    layers += [torch.nn.Conv2d(128, 128, 3, padding=1), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers, torch.nn.Conv2d(128, 128, 3, padding=1))


IMAGES = ((2, 10, 12), (3, 17, 9), (1, 8, 8), (2, 33, 20))


@pytest.mark.parametrize(
    ("make", "channels", "images"),
    [
        (PixelAttention, 32, IMAGES),
        (RowWindows, 16, IMAGES),
        (HalvedAndDoubled, 16, ((2, 10, 12), (3, 18, 8), (1, 8, 8), (2, 32, 20))),
        (_tiles, 64, ((2, 18, 20), (1, 33, 27), (2, 29, 28), (1, 24, 40))),
    ],
)
def test_images_of_open_sizes(
    make: type[torch.nn.Module], channels: int, images: Sequence[tuple[int, int, int]]
) -> None:
    """What stands behind the image of a call, such as one before it left there, counts nowhere."""
    torch.manual_seed(0)
    torch._dynamo.reset()
    module = make().eval()
    fast = torch.compile(module, backend="lamina", dynamic=True)
    with torch.no_grad():
        for batch, height, width in (*images, *images[::-1]):
            x = torch.randn(batch, channels, height, width)
            torch.testing.assert_close(fast(x), module(x), rtol=1e-4, atol=1e-4)


def test_samples_of_a_number_of_positions_that_panels_do_not_divide() -> None:
    """Keys of one sample are read to the end of its last panel, and none of the next sample."""
    torch.manual_seed(0)
    torch._dynamo.reset()
    layer = torch.nn.TransformerEncoderLayer(32, 2, 64, batch_first=True)
    module = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    fast = torch.compile(module, backend="lamina", dynamic=True)
    with torch.no_grad():
        for batch, length in ((2, 19), (5, 37), (3, 64), (7, 33), (2, 5)):
            x = torch.randn(batch, length, 32)
            torch.testing.assert_close(fast(x), module(x), rtol=1e-4, atol=1e-4)


def test_a_check_that_equal_layers_make_is_one() -> None:
    """So that there is a version for all batches."""
    torch.manual_seed(0)
    torch._dynamo.reset()
    module = torch.nn.Sequential(*[PairLayer() for _ in range(LAYER_COUNT)]).eval()
    fast = torch.compile(module, backend="lamina", dynamic=True)
    counts: list[int] = []
    with torch.no_grad():
        for batch in (4, 8, 12, 20):
            x = torch.randn(batch, 7, 512)
            torch.testing.assert_close(fast(x), module(x), rtol=1e-4, atol=1e-4)
            counts.append(lamina.compile_count())
    assert counts[1] == counts[3]
