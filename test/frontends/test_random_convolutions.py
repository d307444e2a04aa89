"""Convolutions of all kinds, drawn at random, and their gradients, beside eager mode."""

import random
from dataclasses import dataclass

import pytest
import torch

import lamina

pytestmark = pytest.mark.one_in(3)

TOLERANCES = {torch.float32: 2e-5, torch.float64: 1e-12, torch.bfloat16: 2e-2}


@dataclass
class Sizes:
    """What a convolution is asked for, a number for each of its dimensions in the lists."""

    batch: int
    channels: int
    outputs: int
    groups: int
    extents: list[int]
    kernel: list[int]
    stride: list[int]
    padding: list[int]
    dilation: list[int]
    extra: list[int]
    transposed: bool


class Forward(torch.nn.Module):
    """A convolution whose weight is a parameter, and bound, or an argument of each call."""

    def __init__(self, sizes: Sizes, weight: torch.Tensor | None) -> None:
        super().__init__()
        self.sizes = sizes
        self.weight = None if weight is None else torch.nn.Parameter(weight)

    def forward(self, x: torch.Tensor, weight: torch.Tensor | None = None) -> torch.Tensor:
        s = self.sizes
        given = self.weight if weight is None else weight
        numbers = s.stride, s.padding, s.dilation, s.transposed, s.extra, s.groups
        return torch.ops.aten.convolution(x, given, None, *numbers)


class Backward(Forward):
    """Gradients of the image and the weight."""

    def forward(self, grad: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> tuple:  # pyright: ignore
        s = self.sizes
        numbers = s.stride, s.padding, s.dilation, s.transposed, s.extra, s.groups
        wanted = [True, True, False]
        return torch.ops.aten.convolution_backward(grad, x, weight, None, *numbers, wanted)[:2]


def draw(source: random.Random) -> Sizes:
    """Sizes that make sense more often than not."""
    dims = source.choice([1, 2, 2, 3])
    transposed = source.random() < 0.4
    most = {1: [1, 3, 40, 70], 2: [1, 2, 5, 12, 17, 35], 3: [1, 2, 5]}[dims]
    stride = [source.choice([1, 1, 2, 3]) for _ in range(dims)]
    dilation = [source.choice([1, 1, 1, 2]) for _ in range(dims)]
    room = [max(both) for both in zip(stride, dilation, strict=True)]
    return Sizes(
        source.choice([1, 1, 3]),
        source.choice([1, 1, 2, 9]),
        source.choice([1, 1, 8, 17]),
        source.choice([1, 1, 2, 12]),
        [source.choice(most) for _ in range(dims)],
        [source.choice([1, 2, 3, 5] if dims < 3 else [1, 2, 3]) for _ in range(dims)],
        stride,
        [source.randint(0, 2) for _ in range(dims)],
        dilation,
        [source.randrange(r) if transposed else 0 for r in room],
        transposed,
    )


@pytest.mark.parametrize("kind", ["constant", "argument", "backward"])
@pytest.mark.parametrize("seed", range(5))
def test_convolution(kind: str, seed: int) -> None:
    source = random.Random(f"{kind}{seed}")
    torch.manual_seed(seed)
    dtype = source.choice([torch.float32, torch.float32, torch.float64, torch.bfloat16])
    while True:
        sizes = draw(source)
        ends = sizes.groups * sizes.channels, sizes.groups * sizes.outputs
        wide, narrow = ends if sizes.transposed else ends[::-1]
        x = torch.randn([sizes.batch, ends[0], *sizes.extents], dtype=dtype)
        weight = torch.randn([wide, narrow // sizes.groups, *sizes.kernel], dtype=dtype)
        try:
            made = Forward(sizes, weight)(x)
        except RuntimeError:
            continue  # torch takes no such sizes
        if made.numel():
            break
    module = Backward(sizes, None) if kind == "backward" else Forward(sizes, None)
    arguments: tuple[torch.Tensor, ...] = x, weight
    if kind == "constant":
        module, arguments = Forward(sizes, weight), (x,)
    if kind == "backward":
        arguments = torch.randn_like(made), x, weight
    with torch.no_grad():
        wanted = module(*arguments)
        got = lamina.compile(torch.export.export(module, arguments), cache=False)(*arguments)
    both = zip(got, wanted, strict=True) if kind == "backward" else [(got, wanted)]
    for ours, eager in both:
        scale = max(1e-3, eager.abs().max().item())
        tolerance = TOLERANCES[dtype]
        torch.testing.assert_close(ours, eager, rtol=tolerance, atol=tolerance * scale)


@pytest.mark.parametrize("stride", [1, 2, 3])
def test_infinity_stays_where_it_is(stride: int) -> None:
    """A transposed convolution multiplies no zeros that are not in its arguments."""
    torch.manual_seed(0)
    module = torch.nn.ConvTranspose2d(2, 3, 4, stride, 1).eval()
    x = torch.randn(1, 2, 6, 7)
    x[0, 1, 3, 3] = float("inf")
    with torch.no_grad():
        wanted = module(x)
        got = lamina.compile(torch.export.export(module, (x,)), cache=False)(x)
    assert torch.equal(got.isfinite(), wanted.isfinite())
    torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-5, equal_nan=True)


STEPS = [(1, 1, 1, 0), (1, 1, 0, 0), (1, 2, 2, 1), (2, 2, 1, 1), (2, 1, 1, 1)]
"""Stride, dilation, padding and output padding of transposed convolutions."""


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_infinite_weights_meet_elements_only(
    dims: int, groups: int, steps: tuple[int, int, int, int]
) -> None:
    """What lies around and between the elements of a transposed convolution takes no part."""
    torch.manual_seed(0)
    stride, dilation, padding, extra = steps
    sizes = Sizes(
        1,
        2,
        1,
        groups,
        [4] * dims,
        [3] * dims,
        [stride] * dims,
        [padding] * dims,
        [dilation] * dims,
        [extra] * dims,
        True,
    )
    x = torch.randn(1, 2 * groups, *sizes.extents)
    weight = torch.randn(2 * groups, 1, *sizes.kernel)
    module = Forward(sizes, None)
    compiled = lamina.compile(torch.export.export(module, (x, weight)))
    for value in (1.0, float("inf"), float("-inf"), float("nan")):
        for place in (0, weight.numel() // 2, weight.numel() - 1):
            given = weight.clone()
            given.view(-1)[place] = value
            torch.testing.assert_close(
                compiled(x, given), module(x, given), rtol=1e-4, atol=1e-5, equal_nan=True
            )
