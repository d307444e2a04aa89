"""The programs that `bench.cliffs` times beside eager: a module or function, and its inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - its usual name

Inputs = tuple[torch.Tensor, ...]


@dataclass(frozen=True)
class Cliff:
    """A program by name, with what its inputs are.

    `program` makes the module or function (weights of a module are bound when it is compiled);
    `inputs` makes the arguments of each call.
    """

    name: str
    sizes: str
    program: Callable[[], Callable[..., Any]]
    inputs: Callable[[], Inputs]


def randn(*shapes: tuple[int, ...], dtype: torch.dtype = torch.float32) -> Callable[[], Inputs]:
    """Makes standard normal tensors of these shapes."""

    def make() -> Inputs:
        generator = torch.Generator().manual_seed(0)
        return tuple(torch.randn(shape, generator=generator).to(dtype) for shape in shapes)

    return make


def _function(function: Callable[..., Any]) -> Callable[[], Callable[..., Any]]:
    return lambda: function


CONVOLUTIONS: dict[int, type[nn.Module]] = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}


def _depthwise(channels: int, kernel: int, extents: tuple[int, ...], stride: int = 1) -> Cliff:
    """A convolution of each channel alone, padded to keep the extents."""
    dims = len(extents)
    sizes = f"1x{channels}x{'x'.join(map(str, extents))}"

    def make() -> Callable[..., Any]:
        kind = CONVOLUTIONS[dims]
        return kind(channels, channels, kernel, stride, kernel // 2, groups=channels).eval()

    window = "x".join([str(kernel)] * dims)
    name = f"depthwise {window}, stride {stride}"
    return Cliff(name, sizes, make, randn((1, channels, *extents)))


def _grouped(channels: int, groups: int, extent: int, stride: int = 1) -> Cliff:
    def make() -> Callable[..., Any]:
        return nn.Conv2d(channels, channels, 3, stride, 1, groups=groups).eval()

    name = f"{groups} groups 3x3, stride {stride}"
    shape = (1, channels, extent, extent)
    return Cliff(name, "x".join(map(str, shape)), make, randn(shape))


def _transposed(
    shape: tuple[int, ...],
    out: int,
    kernel: int,
    stride: int,
    padding: int,
    groups: int = 1,
    *,
    bias: bool = True,
) -> Cliff:
    def make() -> Callable[..., Any]:
        kinds = {3: nn.ConvTranspose1d, 4: nn.ConvTranspose2d, 5: nn.ConvTranspose3d}
        kind = kinds[len(shape)]
        return kind(shape[1], out, kernel, stride, padding, groups=groups, bias=bias).eval()

    name = f"transposed {kernel}x{kernel} to {out}, stride {stride}"
    name += f", {groups} groups" if groups > 1 else ""
    name += "" if bias else ", no bias"
    return Cliff(name, "x".join(map(str, shape)), make, randn(shape))


def _backward(shape: tuple[int, ...], out: int, kernel: int, stride: int, groups: int) -> Cliff:
    """Gradients of the input and the weight."""
    extent = (shape[2] + 2 * (kernel // 2) - kernel) // stride + 1

    def gradients(grad: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> Any:
        made = torch.ops.aten.convolution_backward.default(
            grad,
            x,
            weight,
            None,
            [stride] * 2,
            [kernel // 2] * 2,
            [1, 1],
            False,
            [0, 0],
            groups,
            [True, True, False],
        )
        return made[0], made[1]

    name = f"backward of {kernel}x{kernel}, stride {stride}, {groups} groups"
    grad = (shape[0], out, extent, extent)
    weight = (out, shape[1] // groups, kernel, kernel)
    return Cliff(name, "x".join(map(str, shape)), _function(gradients), randn(grad, shape, weight))


def _plain(name: str, shape: tuple[int, ...], function: Callable[..., Any]) -> Cliff:
    return Cliff(name, "x".join(map(str, shape)), _function(function), randn(shape))


def _half_product(
    dtype: torch.dtype, rows: int, summed: int, columns: int, *, by_rows: bool = False
) -> Cliff:
    """Both operands come with each call, the weight as `nn.Linear` keeps it, or `by_rows` of it."""
    kind = {torch.bfloat16: "bf16", torch.float16: "f16"}[dtype]
    shapes = ((rows, summed), (summed, columns) if by_rows else (columns, summed))
    name = f"{kind} matmul" if by_rows else f"{kind} linear, weight of the call"
    function = torch.matmul if by_rows else F.linear
    return Cliff(
        name, f"{rows}x{summed}x{columns}", _function(function), randn(*shapes, dtype=dtype)
    )


def _rotary(length: int, heads: int, width: int) -> Cliff:
    """Rotary embedding as Llama's own code has it: pairs of neighbours are complex numbers."""

    def rotate(x: torch.Tensor, turns: torch.Tensor) -> torch.Tensor:
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * turns[:, None]).flatten(3)

    def inputs() -> Inputs:
        (x,) = randn((1, length, heads, width))()
        speeds = 1 / 10000 ** (torch.arange(0, width, 2) / width)
        angles = torch.outer(torch.arange(length).float(), speeds)
        return x, torch.polar(torch.ones_like(angles), angles)

    sizes = f"1x{length}x{heads}x{width}"
    return Cliff("rotary embedding, view_as_real", sizes, _function(rotate), inputs)


def _bags(mode: str, width: int, longest: int, dtype: torch.dtype = torch.float32) -> Cliff:
    """1,024 bags of 1 to `longest` rows of a table of 10,000; of `-longest` if it is negative."""

    def make() -> Inputs:
        generator = torch.Generator().manual_seed(0)
        lengths = torch.full((1024,), -longest)
        if longest > 0:
            lengths = torch.randint(1, longest + 1, (1024,), generator=generator)
        offsets = lengths.cumsum(0) - lengths
        indices = torch.randint(0, 10000, (int(lengths.sum()),), generator=generator)
        table = torch.randn(10000, width, generator=generator).to(dtype)
        return table, indices, offsets

    def bags(table: torch.Tensor, indices: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        return F.embedding_bag(indices, table, offsets, mode=mode)

    rows = f"1 to {longest}" if longest > 0 else str(-longest)
    kind = "" if dtype is torch.float32 else " f16"
    name = f"embedding bags,{kind} {mode} of {rows} rows"
    return Cliff(name, f"10000x{width}", _function(bags), make)


CLIFFS: tuple[Cliff, ...] = (
    # Depthwise convolutions
    _depthwise(144, 3, (56, 56)),
    _depthwise(144, 3, (56, 56), 2),
    _depthwise(384, 3, (14, 14)),
    _depthwise(960, 3, (7, 7)),
    _depthwise(240, 5, (28, 28)),
    _depthwise(240, 5, (28, 28), 2),
    _depthwise(96, 7, (56, 56)),
    _depthwise(384, 7, (14, 14)),
    _depthwise(768, 7, (7, 7)),
    _depthwise(512, 3, (1000,)),
    _depthwise(64, 3, (8, 28, 28)),
    # Grouped ones
    _grouped(128, 32, 56),
    _grouped(256, 32, 28),
    _grouped(256, 4, 28),
    _grouped(512, 32, 14, 2),
    # Transposed ones
    _transposed((1, 256, 14, 14), 128, 2, 2, 0),
    _transposed((1, 256, 14, 14), 128, 2, 2, 0, bias=False),
    _transposed((4, 512, 7, 7), 256, 2, 2, 0),
    _transposed((1, 256, 1000), 128, 5, 5, 0, bias=False),
    _transposed((1, 64, 5, 15, 13), 32, 2, 2, 0, bias=False),
    _transposed((1, 128, 28, 28), 64, 4, 2, 1),
    _transposed((1, 64, 32, 32), 32, 3, 2, 1),
    _transposed((1, 64, 32, 32), 32, 3, 1, 1),
    _transposed((1, 128, 28, 28), 128, 4, 2, 1, 128),
    _transposed((1, 128, 400), 64, 8, 4, 2),
    _transposed((1, 32, 8, 14, 14), 16, 4, 2, 1),
    # Gradients
    _backward((4, 64, 28, 28), 64, 3, 1, 1),
    _backward((4, 64, 28, 28), 128, 3, 2, 1),
    _backward((4, 96, 28, 28), 96, 3, 1, 96),
    _backward((4, 96, 28, 28), 96, 3, 2, 96),
    # Pooling
    _plain("max pooling 3x3, stride 2", (8, 64, 112, 112), lambda x: F.max_pool2d(x, 3, 2, 1)),
    _plain(
        "max pooling 3x3, stride 2, indices",
        (8, 64, 112, 112),
        lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True),
    ),
    _plain("max pooling 2x2, stride 2", (8, 64, 112, 112), lambda x: F.max_pool2d(x, 2)),
    _plain("max pooling 5x5, stride 1", (1, 256, 20, 20), lambda x: F.max_pool2d(x, 5, 1, 2)),
    _plain("average pooling 3x3, stride 2", (8, 64, 112, 112), lambda x: F.avg_pool2d(x, 3, 2, 1)),
    _plain("average pooling 2x2, stride 2", (8, 64, 56, 56), lambda x: F.avg_pool2d(x, 2)),
    _plain(
        "average pooling 1280x1280, ceil_mode",
        (1, 1280, 7, 7),
        lambda x: F.avg_pool2d(x, 1280, ceil_mode=True),
    ),
    _plain("max pooling 2x2x2", (1, 32, 16, 56, 56), lambda x: F.max_pool3d(x, 2)),
    # Order
    _plain("topk 1", (32, 50257), lambda x: torch.topk(x, 1)),
    _plain("topk 50", (1, 50257), lambda x: torch.topk(x, 50)),
    _plain("topk 50", (32, 50257), lambda x: torch.topk(x, 50)),
    _plain("topk 1000", (1, 50257), lambda x: torch.topk(x, 1000)),
    _plain("topk 5", (256, 4096), lambda x: torch.topk(x, 5)),
    _plain("topk 2", (4096, 8), lambda x: torch.topk(x, 2)),
    _plain("topk 4", (4096, 32), lambda x: torch.topk(x, 4)),
    _plain("topk 30", (64, 300), lambda x: torch.topk(x, 30)),
    _plain("topk 200", (1, 50257), lambda x: torch.topk(x, 200)),
    _plain("median of short rows", (4096, 64), lambda x: torch.median(x, -1)),
    _plain("sort of short rows", (2048, 64), lambda x: torch.sort(x, -1)),
    _plain("kthvalue 100", (256, 4096), lambda x: torch.kthvalue(x, 100)),
    _plain("median of rows", (256, 4096), lambda x: torch.median(x, -1)),
    _plain("median", (1 << 20,), torch.median),
    # Products of half floats
    _half_product(torch.bfloat16, 512, 768, 3072),
    _half_product(torch.bfloat16, 32, 2048, 2048),
    _half_product(torch.bfloat16, 4, 2048, 2048),
    _half_product(torch.bfloat16, 9, 2048, 2048),
    _half_product(torch.bfloat16, 16, 2048, 2048),
    _half_product(torch.bfloat16, 8, 4096, 4096),
    _half_product(torch.float16, 512, 768, 3072),
    _half_product(torch.float16, 4, 2048, 2048),
    _half_product(torch.float16, 8, 2048, 2048),
    _half_product(torch.float16, 32, 2048, 2048),
    _half_product(torch.bfloat16, 512, 768, 3072, by_rows=True),
    _half_product(torch.bfloat16, 512, 3072, 768, by_rows=True),
    _half_product(torch.bfloat16, 32, 2048, 2048, by_rows=True),
    _half_product(torch.bfloat16, 12, 2048, 2048, by_rows=True),
    _half_product(torch.float16, 512, 768, 3072, by_rows=True),
    _half_product(torch.float16, 4, 2048, 2048, by_rows=True),
    _half_product(torch.float16, 32, 2048, 2048, by_rows=True),
    # Complex numbers
    Cliff(
        "complex multiply by a row",
        "512x1024",
        _function(torch.mul),
        randn((512, 1024), (1024,), dtype=torch.complex64),
    ),
    Cliff("torch.complex", "512x1024", _function(torch.complex), randn((512, 1024), (512, 1024))),
    _plain(
        "stft 400, step 160",
        (1, 16000),
        lambda x: torch.stft(x, 400, 160, window=torch.hann_window(400), return_complex=True),
    ),
    _plain("rfft", (1, 400), torch.fft.rfft),
    _plain("rfft", (1024, 256), torch.fft.rfft),
    _plain("rfft", (512, 400), torch.fft.rfft),
    _plain("rfft2", (16, 128, 128), torch.fft.rfft2),
    *(
        Cliff(
            "fft",
            f"{rows}x{size}",
            _function(torch.fft.fft),
            randn((rows, size), dtype=torch.complex64),
        )
        for rows, size in ((4096, 64), (4096, 256), (256, 1024), (64, 4096), (17, 1024))
    ),
    _rotary(512, 32, 128),
    _rotary(128, 12, 64),
    # Embedding bags
    _bags("sum", 16, 50),
    _bags("sum", 64, 50),
    _bags("sum", 64, 50, torch.float16),
    _bags("sum", 128, -20),
    _bags("sum", 300, 50),
    _bags("mean", 16, -1),
    _bags("mean", 64, 50),
    _bags("mean", 300, -20),
    _bags("max", 64, 50),
)
