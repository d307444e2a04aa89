"""torch.compile with sizes that change: graphs of Dynamo, and versions of them."""

from __future__ import annotations

import math
from typing import Any

import pytest

import lamina

torch: Any = pytest.importorskip("torch")
from dynamo_calls import check  # noqa: E402

nn = torch.nn
CompileCounter = pytest.importorskip("torch._dynamo.testing").CompileCounterWithBackend

pytestmark = pytest.mark.one_in(2)


@pytest.fixture(autouse=True)
def _fresh() -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)


def rows(*sizes: int, width: int = 8) -> list[tuple[Any, ...]]:
    return [(torch.randn(size, width),) for size in sizes]


def test_one_graph_for_all_batches() -> None:
    module = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4), nn.Softmax(-1))
    before = lamina.compile_count()
    check(module, rows(5, 6, 7, 13, 5, 16, 33, 9, 800), graphs=1)
    assert lamina.compile_count() == before + 1  # rows, up to 1,024


@pytest.mark.parametrize("policy", ["auto", "exact", "padded"])
def test_policies_compute_the_same(policy: str) -> None:
    check(lambda x: (x.cumsum(0), x.mean(0)), rows(3, 4, 9), graphs=1, versions=policy)


def test_sizes_that_torch_finds_to_change() -> None:
    # One static graph, one for all other sizes; torch keeps 1 apart.
    check(lambda x: x.softmax(0) @ x.T, rows(5, 6, 7, 20, 5), graphs=2, dynamic=None)


def test_images_of_any_size_have_one_version() -> None:
    fine, coarse = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 4, 3, stride=2, padding=1)

    def pyramid(x: Any) -> Any:
        large = fine(x).relu()
        small = coarse(large)
        return large + nn.functional.interpolate(small, size=large.shape[2:], mode="bilinear")

    sizes = ((16, 20), (17, 9), (64, 33), (40, 101), (150, 60))
    before = lamina.compile_count()
    check(pyramid, [(torch.randn(2, 3, *size),) for size in sizes], graphs=1)
    assert lamina.compile_count() == before + 1


@pytest.mark.parametrize("options", [{}, {"affine": True}, {"track_running_stats": True}])
def test_instance_norms_of_any_batch_have_one_version(options: dict[str, bool]) -> None:
    """Torch joins samples and channels, of which there is no known number then."""
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.InstanceNorm2d(4, **options), nn.ReLU()).eval()
    for parameter in model[1].parameters():
        nn.init.normal_(parameter)
    compiled = torch.compile(model, backend="lamina", dynamic=True)
    before = lamina.compile_count()
    for shape in [(2, 3, 8, 12), (5, 3, 9, 7), (3, 3, 33, 20)]:
        x = torch.randn(shape) * 3 + 5
        with torch.no_grad():
            torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-4)
    assert lamina.compile_count() == before + 1


def test_gradients_of_an_instance_norm() -> None:
    def loss(x: Any, weight: Any) -> Any:
        return nn.functional.instance_norm(x, weight=weight, bias=weight).sin().sum()

    gradients = torch.func.grad(loss, argnums=(0, 1))
    compiled = torch.compile(gradients, backend="lamina", dynamic=True)
    for shape in [(2, 3, 8, 12), (5, 3, 9, 7)]:
        x, weight = torch.randn(shape), torch.randn(3)
        for one, other in zip(compiled(x, weight), gradients(x, weight), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_marked_dimensions() -> None:
    x = torch.randn(6, 8)
    torch._dynamo.mark_dynamic(x, 0, min=2, max=100)
    check(lambda x: x.sum(1), [(x,), *rows(7, 50)], graphs=1, dynamic=None)


def test_two_sizes_that_are_joined() -> None:
    module = nn.Linear(8, 3)
    calls = [(torch.randn(*shape, 8),) for shape in ((2, 5), (3, 4), (7, 2), (2, 17))]
    check(lambda x: module(x).flatten(0, 1).cumsum(0), calls, graphs=1)


@pytest.mark.parametrize("marked", ["images", "windows", "both"])
def test_sizes_that_are_equal_by_chance(marked: str) -> None:
    """The window is as long as the first batch, and there are as many channels as results."""
    calls: list[tuple[Any, ...]] = []
    for batch, length, window in ((3, 40, 3), (2, 60, 3), (2, 10, 3), (4, 21, 3), (4, 21, 4)):
        x, w = torch.randn(batch, 8, length), torch.randn(8, 8, window)
        for tensor in {"images": [x], "windows": [w], "both": [x, w]}[marked]:
            for dim in range(3):
                torch._dynamo.mark_dynamic(tensor, dim)
        calls.append((x, w))
    check(lambda x, w: nn.functional.conv1d(x, w), calls, graphs=2)  # torch bounds the window


def test_numbers_beside_sizes() -> None:
    def scaled(x: Any, factor: int) -> Any:
        return x * factor + x.shape[0], x.shape[0] * 2

    calls = [(torch.randn(n, 3), k) for n, k in ((4, 5), (5, 7), (6, 5), (4, 9), (9, 2))]
    check(scaled, calls, graphs=1)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, s: x.clamp(-s, s * 2),
        lambda x, s: (x + 1, s * 2.0, x.shape[0] * s),
        lambda x, s: x[-1].mul_(1 / s),
        lambda x, s: x * s + x.shape[0] / x.shape[1],
        lambda x, s: x * math.sqrt(x.shape[0]) - s**2,
        lambda x, s: torch.full((x.shape[0],), s - 1) + x[:, 0] * math.cos(s),
    ],
)
@pytest.mark.parametrize("dynamic", [True, None])
def test_python_computes_with_numbers(function: Any, dynamic: bool | None) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="lamina", dynamic=dynamic)
    for rows, columns, number in ((3, 4, 1.5), (5, 9, 2.5), (70, 7, 0.25), (1, 1, 7.0)):
        x = torch.rand(rows, columns) + 0.1
        torch.testing.assert_close(compiled(x.clone(), number), function(x.clone(), number))


@pytest.mark.parametrize("name", ["padding", "stride", "dilation"])
def test_numbers_of_convolutions(name: str) -> None:
    """Windows follow from such numbers, which each version has as they are."""
    image, weight = torch.randn(1, 3, 12, 12), torch.randn(4, 3, 3, 3)

    def convolved(number: int) -> Any:
        return nn.functional.conv2d(image, weight, **{name: number})

    optimized = torch.compile(convolved, backend="lamina")
    for number in (1, 2, 3):
        torch.testing.assert_close(optimized(number), convolved(number), rtol=1e-4, atol=1e-4)


def test_a_weight_is_repeated_for_each_row() -> None:
    weight = torch.randn(8, 5)
    check(lambda x: weight.expand(x.shape[0], 8, 5) + x[:, :, None], rows(2, 4, 70), graphs=1)
    check(lambda x: x[:, None].transpose(0, 1) @ weight, rows(2, 4, 70), graphs=1)


def test_what_is_written() -> None:
    def step(x: Any, total: Any) -> Any:
        total.add_(x.sum(0))
        x.mul_(2)
        return x.max(0).values

    before = lamina.compile_count()
    check(step, [(torch.randn(n, 4), torch.zeros(4)) for n in (3, 5, 6, 12)], graphs=1)
    check(step, [(torch.randn(4, n).t(), torch.zeros(4)) for n in (3, 5, 6, 12)], graphs=1)
    assert lamina.compile_count() == before + 2


def test_a_cache_of_any_length_is_written_in_place() -> None:
    def step(cache: Any, key: Any) -> Any:
        cache[:, :, -1] = key
        return (cache @ key[0, :, :, None]).softmax(2)

    before = lamina.compile_count()
    lengths = (4, 6, 9, 60)
    check(step, [(torch.randn(1, 2, n, 8), torch.randn(1, 2, 8)) for n in lengths], graphs=1)
    assert lamina.compile_count() == before + 1


def test_a_module_that_writes_and_has_numbers() -> None:
    """Statistics in training mode, whose `eps` torch compares with 0 when it is run once more."""
    norms = [nn.BatchNorm1d(8), nn.BatchNorm1d(8)]
    compiled = torch.compile(norms[0], backend="lamina", dynamic=True)
    with torch.no_grad():
        for batch in (5, 7):
            x = torch.randn(batch, 8)
            torch.testing.assert_close(compiled(x), norms[1](x), rtol=1e-4, atol=1e-5)
    for found, wanted in zip(*(norm.buffers() for norm in norms), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


def test_strided_arguments_and_views() -> None:
    calls = [(torch.randn(8, n).t(),) for n in (3, 5, 6, 12)]
    check(lambda x: (x.exp(), x.t(), x[1:]), calls, graphs=1)


def test_ops_that_cannot_be_padded() -> None:
    check(lambda x: x.unfold(0, 3, 2).sum(-1), rows(5, 6, 9, 13), graphs=1)


class Cached(nn.Module):
    """One step of attention, whose cache grows."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)

    def forward(self, x: Any, keys: Any, values: Any) -> Any:
        q, k, v = self.qkv(x).view(1, 1, 3, 2, 8).permute(2, 0, 3, 1, 4)
        keys, values = torch.cat([keys, k], 2), torch.cat([values, v], 2)
        made = nn.functional.scaled_dot_product_attention(q, keys, values)
        return self.out(made.transpose(1, 2).reshape(1, 1, 16)), keys, values


class Images(nn.Module):
    """Convolutions, which take no padding but that of batches."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU())

    def forward(self, x: Any) -> Any:
        return self.layers(x).mean((2, 3))


def test_batches_and_sizes_of_images_are_one_version() -> None:
    module = Images().eval()
    before = lamina.compile_count()
    shapes = [(b, side) for side in (16, 20) for b in (2, 3, 5, 8, 13, 20)]
    check(module, [(torch.randn(b, 3, side, side),) for b, side in shapes], graphs=1)
    assert lamina.compile_count() == before + 1


def test_lengths_behind_batches_are_rows() -> None:
    module = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.LayerNorm(16))
    before = lamina.compile_count()
    calls = [(torch.randn(2, length, 8),) for length in range(8, 168, 8)]
    check(module, calls, graphs=2, dynamic=None)
    assert lamina.compile_count() == before + 2  # 8; up to 1,024


def test_a_cache_that_grows() -> None:
    module = Cached().eval()
    counter = CompileCounter("lamina")
    compiled = torch.compile(module, backend=counter)
    before = lamina.compile_count()
    with torch.no_grad():
        x = torch.randn(1, 1, 16)
        keys, values = torch.randn(1, 2, 5, 8), torch.randn(1, 2, 5, 8)
        other = keys, values
        for _ in range(20):
            found, keys, values = compiled(x, keys, values)
            wanted, *other = module(x, *other)
            torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
            torch.testing.assert_close(keys, other[0], rtol=1e-4, atol=1e-5)
    assert counter.frame_count == 2
    assert lamina.compile_count() == before + 2  # 5; up to 256


def test_views_of_arguments_as_other_numbers() -> None:
    """AOTAutograd makes them anew of the argument, with its dtype (so does backend aot_eager)."""
    calls = [(torch.randn(n, 4, dtype=torch.complex64),) for n in (7, 9)]
    check(lambda x: torch.view_as_real(x)[x.shape[0] // 2 :], calls, graphs=1)
    compiled = torch.compile(
        lambda x: x.view(torch.uint8).expand(1, *x.shape), backend="lamina", dynamic=True
    )
    with pytest.raises(
        Exception, match=r"a view of torch.int8 as torch.uint8(.|\n)*a clone\(\) of"
    ):
        compiled(torch.arange(5, dtype=torch.int8))


def test_views_of_arguments_begin_where_sizes_say() -> None:
    def halves(x: Any) -> Any:
        return x[x.shape[0] // 2 :], x + 1

    def written(x: Any) -> Any:
        x.mul_(2)
        return x[x.shape[0] // 4 :].t()

    for function in (halves, written, lambda x: x.tensor_split(3, 0)[2]):
        check(function, rows(7, 31, 70), graphs=1)
    x = torch.randn(9, 8)
    view = torch.compile(halves, backend="lamina", dynamic=True)(x)[0]
    assert view.data_ptr() == x[4:].data_ptr()


@pytest.mark.parametrize("dynamic", [True, False])
def test_a_view_of_an_argument_that_begins_at_a_number(dynamic: bool) -> None:
    """Torch counted with sizes on the way to it, so that it does not make the view itself."""
    compiled = torch.compile(lambda x: x.tensor_split(3)[1], backend="lamina", dynamic=dynamic)
    for rows in (2, 3, 8):
        x = torch.randn(rows, 31, 7)
        torch.testing.assert_close(compiled(x), x.tensor_split(3)[1], rtol=0, atol=0)


def test_a_view_of_an_argument_by_its_data_is_refused() -> None:
    compiled = torch.compile(lambda x, n: x[n.item() :], backend="lamina", dynamic=True)
    scalars = torch._dynamo.config.patch(capture_scalar_outputs=True)
    with scalars, pytest.raises(Exception, match=r"depends on data\n.*a clone\(\) of it"):
        compiled(torch.randn(9), torch.tensor(4))


def test_a_size_without_a_bound_follows_from_others() -> None:
    def angles(x: Any) -> Any:
        places = torch.arange(x.tensor_split(3, 0)[2].shape[0], dtype=torch.float32)
        made = torch.atan2(places, x.new_ones(()))
        return torch.complex(made, made)

    check(angles, rows(9, 12, 27, width=1), graphs=1)


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (lambda x, w: nn.functional.conv1d(x, w), [(3, 5, 16), (4, 5, 2)]),
        (lambda x, w: nn.functional.conv2d(x, w, groups=x.shape[1]), [(2, 6, 9, 8), (6, 1, 3, 3)]),
        (lambda x, w: nn.functional.bilinear(x, x, w), [(6, 6), (5, 6, 6)]),
        (lambda x, _: x.narrow(1, 15, 22), [(10, 62), (1,)]),
        (lambda x, _: x[..., 2::2], [(1, 1), (1,)]),
        (lambda x, _: x >> 1, [(33, 0, 13), (1,)]),
        (lambda x, _: x.view(-1).add_(1).sum(), [(3, 1, 0), (1,)]),
        (lambda x, w: w.pow(x.var()) < x, [(99,), (1,)]),
        (lambda x, w: nn.functional.layer_norm(x, [x.shape[-1]], w, w), [(1, 5, 2), (2,)]),
    ],
)
def test_sizes_that_go_together(function: Any, shapes: list[tuple[int, ...]]) -> None:
    """Alone they have no other values: such sizes are numbers of a version."""
    given = tuple(torch.randint(0, 9, shape) for shape in shapes)
    if 0 not in shapes[0]:
        given = tuple(value.float() for value in given)
    check(function, [given], graphs=1)


def test_a_size_that_a_guard_fixes() -> None:
    """Two chunks of two rows: torch makes the symbol a number, and other sizes another graph."""
    check(lambda x: (x.chunk(2, 0)[0], x.shape[0], 2 * x.shape[0] + 1), rows(2, 7, 2, 9), graphs=2)


def test_a_size_that_is_one_wherever_the_graph_is_for() -> None:
    """The first third of three rows is broadcast; that it is one row only torch's guard says."""
    calls = [(torch.rand(n, n) < 0.5, torch.randn(n, n)) for n in (3, 5, 4)]
    program = lambda mask, x: torch.where(mask, x[: x.shape[0] // 3], x)  # noqa: E731
    check(program, calls, graphs=1)


def test_sizes_beside_one_that_goes_with_a_number() -> None:
    """Of rotary embeddings of 4 angles rows have 7 or 8 elements, as torch's guard says; batches
    and lengths stay open."""

    def rotated(x: Any) -> Any:
        angles = torch.outer(torch.arange(x.shape[1]).float(), torch.tensor([1.0, 0.1, 0.01, 1e-3]))
        even, odd = x[..., ::2], x[..., 1::2]
        turned = (
            even * angles.cos() - odd * angles.sin(),
            even * angles.sin() + odd * angles.cos(),
        )
        return torch.stack(turned, -1).flatten(-2)

    before = lamina.compile_count()
    check(
        rotated, [(torch.randn(batch, n, 8),) for batch, n in ((2, 6), (3, 9), (5, 40))], graphs=1
    )
    assert lamina.compile_count() - before == 1


@pytest.mark.parametrize("dynamic", [True, None])
def test_a_size_that_follows_from_two(dynamic: bool | None) -> None:
    """The factors' extents are those of images and windows; guards of torch fix windows."""
    program = lambda x, w, y: torch.conv2d(x, w, padding=2) * y  # noqa: E731
    calls = [
        (
            torch.randn(3, 1, h, h + 2),
            torch.randn(3, 1, k, k + 1),
            torch.randn(3, 3, h + 5 - k, h + 6 - k),
        )
        for h, k in ((8, 3), (9, 4), (13, 2))
    ]
    check(program, calls, graphs=3, dynamic=dynamic)
