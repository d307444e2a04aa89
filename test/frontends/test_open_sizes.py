"""Exported programs whose sizes torch leaves open, called with many sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import lamina
from lamina.dialects.errors import ArgumentError

torch: Any = pytest.importorskip("torch")
nn, Dim = torch.nn, torch.export.Dim


class Block(nn.Module):
    """A transformer's layer, causal or with a mask of data."""

    def __init__(self, width: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.norm, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Any, mask: Any = None) -> Any:
        batch, length, width = x.shape
        qkv = self.qkv(self.norm(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        made = nn.functional.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=mask is None
        )
        x = x + self.out(made.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Decoder(nn.Module):
    """Tokens to logits."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(50, 32), nn.Embedding(128, 32)
        self.blocks = nn.ModuleList([Block(), Block()])

    def forward(self, tokens: Any) -> Any:
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return x @ self.tokens.weight.T


class Encoder(nn.Module):
    """The mean of what attention sees of padded sentences."""

    def __init__(self) -> None:
        super().__init__()
        self.block = Block()

    def forward(self, x: Any, seen: Any) -> Any:
        mask = seen[:, None, None, :]
        made = self.block(x, mask)
        weights = seen.to(x.dtype)[:, :, None]
        return (made * weights).sum(1) / weights.sum(1)


class Images(nn.Module):
    """Convolutions, batch norm, pooling."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 8, 3, padding=1, groups=8),
            nn.GroupNorm(2, 8),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(8, 5),
        )

    def forward(self, x: Any) -> Any:
        return self.layers(x)


class Joined(nn.Module):
    """Rows of a batch of sequences, as one list of them."""

    def forward(self, x: Any) -> Any:
        return torch.cat([x.flatten(0, 1), x.flatten(0, 1) * 2]).cumsum(0)


def check(module: Any, dims: Any, calls: Sequence[tuple[Any, ...]], **options: Any) -> Any:
    module = module.eval()
    program = torch.export.export(module, calls[0], dynamic_shapes=dims)
    compiled = lamina.compile(program, **options)
    with torch.no_grad():
        for args in calls:
            found, wanted = compiled(*args), module(*args)
            assert found.shape == wanted.shape
            torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)
    return compiled


@pytest.mark.parametrize("policy", ["auto", "exact", "padded"])
def test_a_decoder_of_any_batch_and_length(policy: str) -> None:
    torch.manual_seed(0)
    dims = {"tokens": {0: Dim("batch", min=1, max=8), 1: Dim("length", min=2, max=128)}}
    shapes = [(2, 10), (2, 11), (1, 5), (3, 17), (8, 128), (1, 2)]
    calls = [(torch.randint(0, 50, shape),) for shape in shapes]
    compiled = check(Decoder(), dims, calls, versions=policy)
    assert compiled.sizes.reason is None
    with pytest.raises(ArgumentError, match=r"dimension 1 of argument 'tokens' is 129: .* 128\]"):
        compiled(torch.zeros(1, 129, dtype=torch.long))


def test_an_encoder_with_a_mask_of_data() -> None:
    torch.manual_seed(1)
    batch, length = Dim("batch", min=1, max=8), Dim("length", min=2, max=64)
    dims = {"x": {0: batch, 1: length}, "seen": {0: batch, 1: length}}
    calls = []
    for shape in ((2, 10), (3, 9), (1, 33), (8, 16)):
        seen = torch.rand(*shape) > 0.3
        seen[:, 0] = True
        calls.append((torch.randn(*shape, 32), seen))
    compiled = check(Encoder(), dims, calls)
    assert compiled.sizes.reason is None
    with pytest.raises(ArgumentError, match=r"argument 'seen' is 9; it is 's\d+', and dimension 1"):
        compiled(torch.randn(2, 10, 32), torch.ones(2, 9, dtype=torch.bool))


def test_batches_of_images() -> None:
    torch.manual_seed(2)
    calls = [(torch.randn(batch, 3, 16, 16),) for batch in (2, 1, 3, 7, 16)]
    compiled = check(Images(), {"x": {0: Dim("batch", min=1, max=16)}}, calls)
    assert compiled.sizes.reason is None


def test_dimensions_are_joined() -> None:
    calls = [(torch.randn(*shape, 3),) for shape in ((2, 5), (3, 4), (1, 7), (4, 1))]
    dims = {"x": {0: Dim("batch", min=1, max=4), 1: Dim("length", min=1, max=9)}}
    compiled = check(Joined(), dims, calls, versions="padded")
    assert compiled.sizes.reason is None


def test_sizes_that_follow_from_another() -> None:
    class Pairs(nn.Module):
        def forward(self, x: Any, y: Any) -> Any:
            return x + y[::2] - y[1::2]

    batch = Dim("batch", min=2, max=64)
    calls = [(torch.randn(n, 3), torch.randn(2 * n, 3)) for n in (4, 5, 3, 64)]
    compiled = check(Pairs(), {"x": {0: batch}, "y": {0: 2 * batch}}, calls)
    with pytest.raises(ArgumentError, match=r"'y' is 9: no integer makes it 2 \* s\d+"):
        compiled(torch.randn(4, 3), torch.randn(9, 3))


def test_torch_may_find_the_dimensions() -> None:
    class Scaled(nn.Module):
        def forward(self, x: Any, y: Any) -> Any:
            return x.softmax(-1) * y.amax(0)

    calls = [(torch.randn(n, 6), torch.randn(m, 6)) for n, m in ((4, 3), (5, 9), (3, 20))]
    auto = {0: Dim.AUTO}
    compiled = check(Scaled(), {"x": auto, "y": auto}, calls)
    assert len(compiled.sizes.names) == 2 and compiled.sizes.reason is None


def test_a_layer_of_torch() -> None:
    torch.manual_seed(4)
    layer = nn.TransformerEncoderLayer(16, 2, 32)
    calls = [(torch.randn(*shape, 16),) for shape in ((10, 2), (33, 3), (40, 4))]
    dims = {"src": {0: Dim("length", min=2, max=64), 1: Dim("batch", min=1, max=8)}}
    assert check(layer, dims, calls).sizes.reason is None


def test_a_number_of_the_call_fills_a_size_of_the_call() -> None:
    compiled = lamina.compile("""
      func.func @main(%n: i64, %a: f32) -> tensor<?xf32> {
        %0 = aten.full.default([%n], %a) : (i64, f32) -> tensor<?xf32>
        %1 = aten.add.Scalar(%0, %a) : (tensor<?xf32>, f32) -> tensor<?xf32>
        func.return %1 : tensor<?xf32>
      }""")
    assert compiled(3, 2.5).tolist() == [5.0] * 3
    assert compiled(0, -1.0).tolist() == []


class Filled(nn.Module):
    """Tensors of one number, as large as another."""

    def forward(self, x: Any) -> Any:
        cleared = (x + 1).zero_()
        return cleared + x.new_full(x.shape, 2.0) * x + torch.full_like(x, x.shape[0])


def test_tensors_of_one_number_are_padded() -> None:
    calls = [(torch.randn(n, 3),) for n in (2, 5, 40)]
    compiled = check(Filled(), {"x": {0: Dim.DYNAMIC}}, calls)
    assert compiled.sizes.reason is None


class Smallest(nn.Module):
    """A mean, and a row that is a tensor of one dimension less where the batch is 1."""

    def forward(self, x: Any, y: Any) -> tuple[Any, Any]:
        return x.mean(1) + 1, y.squeeze(0)


def test_sizes_without_a_least_one_may_be_0_and_1() -> None:
    """Torch says that they are 2 at least, and takes smaller ones in calls."""
    x, y = torch.randn(4, 3), torch.randn(5, 3)
    dims = {"x": {0: Dim.DYNAMIC}, "y": {0: Dim.DYNAMIC}}
    program = torch.export.export(Smallest(), (x, y), dynamic_shapes=dims)
    compiled = lamina.compile(program)
    assert sorted(compiled.sizes.names.values()) == ["[0, ?]", "[2, ?]"]
    for size in (4, 0, 1, 2, 70):
        x = torch.randn(size, 3)
        torch.testing.assert_close(compiled(x, y)[0], x.mean(1) + 1)
    with pytest.raises(lamina.ArgumentError, match=r"dimension 0 of argument 'y' is 1"):
        compiled(x, y[:1])
    assert len(compiled.sizes) == 2


def test_a_dim_without_a_least_size_has_that_of_its_ops() -> None:
    """Torch says 0, of which there is no maximum; eager mode refuses such a call, too."""

    class Extremes(nn.Module):
        def forward(self, x: Any, y: Any) -> tuple[Any, Any]:
            return x.amax(1), y.sum(1)

    x, y = torch.randn(3, 4), torch.randn(3, 5)
    dims = {"x": {1: Dim("n", max=90)}, "y": {1: Dim("m", max=90)}}
    program = torch.export.export(Extremes(), (x, y), dynamic_shapes=dims)
    compiled = lamina.compile(program, versions="padded")
    assert sorted(compiled.sizes.names.values()) == ["[0, 90]", "[1, 90]"]
    for size in (4, 1, 70):
        x = torch.randn(3, size)
        torch.testing.assert_close(compiled(x, y[:, :0])[0], x.amax(1))
    with pytest.raises(
        lamina.ArgumentError, match=r"dimension 1 of argument 'x' is 0: .* \[1, 90\]"
    ):
        compiled(x[:, :0], y)


def test_powers_of_sizes() -> None:
    """Torch writes so the product of equal sizes, as of a matrix that is flattened."""

    class Squares(nn.Module):
        def forward(self, x: Any) -> tuple[Any, Any]:
            return (x @ x.mT).flatten()[torch.arange(x.shape[0])], x.new_ones(x.shape[0] ** 3)

    size = Dim("n", max=40)
    program = torch.export.export(
        Squares(), (torch.randn(6, 6),), dynamic_shapes={"x": {0: size, 1: size}}
    )
    compiled = lamina.compile(program, versions="padded")
    for n in (6, 3, 17, 1):
        x = torch.randn(n, n)
        for found, wanted in zip(compiled(x), Squares()(x), strict=True):
            torch.testing.assert_close(found, wanted)
