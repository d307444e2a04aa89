"""Ops on batches of unknown size, against torch: one version serves all, whatever stands behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import lamina

torch: Any = pytest.importorskip("torch")

pytestmark = pytest.mark.one_in(2)
nn, F = torch.nn, torch.nn.functional

SIZES = (5, 2, 9, 20)
Made = tuple[Any, ...]


class Program(nn.Module):
    """A function, and modules that it is given."""

    def __init__(self, function: Callable[..., Any], *modules: Any) -> None:
        super().__init__()
        self.function, self.held = function, nn.ModuleList(modules)

    def forward(self, x: Any, y: Any = None) -> Any:
        return self.function(*self.held, *((x,) if y is None else (x, y)))


def rows(*shape: int) -> Callable[[int], Made]:
    return lambda n: (torch.randn(n, *shape),)


def pairs(one: tuple[int, ...], other: tuple[int, ...]) -> Callable[[int], Made]:
    return lambda n: (torch.randn(n, *one), torch.randn(n, *other))


def tokens(n: int) -> Made:
    return (torch.randint(0, 40, (n, 5)),)


def bag(mode: str, padding: int | None = None) -> Program:
    return Program(lambda held, x: held(x), nn.EmbeddingBag(40, 6, mode=mode, padding_idx=padding))


def recurrent(kind: Any, **options: Any) -> Program:
    return Program(lambda held, x: held(x)[0], kind(6, 8, batch_first=True, **options))


PROGRAMS: dict[str, tuple[Any, Callable[[int], Made]]] = {
    "bilinear": (Program(lambda f, x, y: f(x, y), nn.Bilinear(8, 4, 3)), pairs((8,), (4,))),
    "bucketize": (Program(lambda x: torch.bucketize(x, torch.linspace(-1, 1, 5))), rows(8)),
    "cdist": (Program(lambda x, y: torch.cdist(x, y)), pairs((8,), (8,))),
    "cdist of batches": (Program(lambda x, y: torch.cdist(x, y)), pairs((4, 8), (3, 8))),
    "cosine_similarity": (nn.CosineSimilarity(), pairs((8,), (8,))),
    "det": (Program(lambda x: torch.linalg.det(x)), rows(3, 3)),
    "diag_embed": (Program(lambda x: torch.diag_embed(x)), rows(4)),
    "einsum of batches": (
        Program(lambda x, y: torch.einsum("bij,bkj->bik", x, y)),
        pairs((4, 8), (3, 8)),
    ),
    "einsum that sums rows": (
        Program(lambda x, y: torch.einsum("ni,nj->ij", x.exp(), y / y)),
        pairs((4,), (3,)),
    ),
    "einsum of ellipses": (
        Program(lambda x, y: torch.einsum("...i,...i", x, y)),
        pairs((4, 8), (1, 8)),
    ),
    "embedding_bag mean": (bag("mean"), tokens),
    "embedding_bag sum": (bag("sum", 3), tokens),
    "embedding_bag max": (bag("max"), tokens),
    "fft": (Program(lambda x: torch.fft.rfft(x).abs()), rows(8)),
    "grid_sampler": (
        Program(lambda x, y: F.grid_sample(x, y.tanh(), align_corners=False)),
        pairs((4, 8, 8), (3, 3, 2)),
    ),
    "gru": (recurrent(nn.GRU, bidirectional=True), rows(7, 6)),
    "lstm": (recurrent(nn.LSTM, num_layers=2), rows(7, 6)),
    "pairwise_distance": (nn.PairwiseDistance(), pairs((8,), (8,))),
    "prelu": (nn.PReLU(8), rows(8)),
    "prelu of one weight": (nn.PReLU(), rows(8, 3)),
    "quantile": (Program(lambda x: x.quantile(0.3, dim=1, keepdim=True)), rows(8)),
    "roll": (Program(lambda x: x.roll((1, -3, 2), (0, 0, 1))), rows(8)),
    "stft": (
        Program(lambda x: torch.stft(x, 8, window=torch.ones(8), return_complex=True).abs()),
        rows(32),
    ),
    "select_scatter from the end": (
        Program(lambda x: torch.select_scatter(x, x[0] + 1, 0, -2)),
        rows(3),
    ),
    "slice_scatter at the front": (
        Program(lambda x: torch.slice_scatter(x, x[1:] * 2, 0, 0, -1)),
        rows(3),
    ),
    "slice_scatter to the end": (
        Program(lambda x: torch.slice_scatter(x, x[1:] * 2, 0, 1)),
        rows(3),
    ),
    "slice_scatter of columns": (
        Program(lambda x: torch.slice_scatter(x, x[:, :2] * 2, 1, 0, 3, 2)),
        rows(3),
    ),
    "slice_scatter in steps": (
        Program(lambda x: torch.slice_scatter(x, x[1::3] * 2, 0, 1, None, 3)),
        rows(3),
    ),
    "slice_scatter in steps up to a part": (
        Program(lambda x: torch.slice_scatter(x, x[:-1:2] * 2, 0, 0, x.shape[0] - 1, 2)),
        rows(3),
    ),
    "gradient of a slice in steps": (
        Program(
            lambda x: torch.ops.aten.slice_backward(x[:-1:2], x.shape, 0, 0, x.shape[0] - 1, 2)
        ),
        rows(3),
    ),
    "gradient of a slice of columns": (
        Program(lambda x: torch.ops.aten.slice_backward(x[:, 1:3], x.shape, 1, 1, 3, 1)),
        rows(4),
    ),
    "gradient of the last row": (
        Program(lambda x: torch.ops.aten.select_backward(x[0], x.shape, 0, -1)),
        rows(3),
    ),
    "gradient of a diagonal": (
        Program(lambda x: torch.ops.aten.diagonal_backward(x[:, 0], [x.shape[0]] * 2, 0, 0, 1)),
        rows(3),
    ),
    "gradient of a diagonal below": (
        Program(
            lambda x: torch.ops.aten.diagonal_backward(
                x[:-1].mT, [3, x.shape[0], x.shape[0]], -1, 1, 2
            )
        ),
        rows(3),
    ),
    "gradient of a diagonal to the right": (
        Program(
            lambda x: torch.ops.aten.diagonal_backward(
                x[1:].mT, [x.shape[0], 3, x.shape[0]], 1, 0, 2
            )
        ),
        rows(3),
    ),
    "steps from a place near the end": (Program(lambda x: x[-2::2] * 2), rows(3)),
    "steps from a part on": (Program(lambda x: x[x.shape[0] // 3 :: 3] * 2), rows(3)),
    "roll by a half": (Program(lambda x: x.roll(x.shape[0] // 2, 0)), rows(3)),
    "roll of known columns by a size": (Program(lambda x: x.roll(-x.shape[0], 1)), rows(7)),
    "roll of a vector": (Program(lambda x: x.roll(2)), rows()),
    "fftshift": (Program(lambda x: torch.fft.fftshift(x)), rows(5)),
    "ifftshift": (Program(lambda x: torch.fft.ifftshift(x, 0)), rows(5)),
    "repeat_interleave of rows": (Program(lambda x: x.repeat_interleave(3, 0)), rows(4)),
    "repeat_interleave of columns": (Program(lambda x: x.repeat_interleave(2, 1)), rows(4)),
    "repeat_interleave of all": (Program(lambda x: x.repeat_interleave(2)), rows(4)),
    "variance far from zero": (
        Program(lambda x: x.var(0) * 1e4),
        lambda n: (1e4 + 0.01 * torch.randn(n, 3),),
    ),
    "deviation of equal rows": (
        Program(lambda x: x.std(0) * 1e9),
        lambda n: (torch.randn(30).repeat(n, 1),),
    ),
    "joined dimensions of no elements": (
        Program(lambda x: x.clone().flatten(1).exp()),
        lambda n: (torch.zeros(n, 0, 0),),
    ),
    "ranges in steps": (Program(lambda x: x.flatten()[torch.arange(0, x.numel(), 3)]), rows(3)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_version_serves_all_batches(name: str) -> None:
    torch.manual_seed(7)
    module, make = PROGRAMS[name]
    module = module.eval()
    given = make(SIZES[0])
    dims = tuple({0: torch.export.Dim.DYNAMIC} for _ in given)
    compiled = lamina.compile(torch.export.export(module, given, dynamic_shapes=dims, strict=False))
    with torch.no_grad():
        for size in SIZES:
            args = make(size)
            found, wanted = compiled(*args), module(*args)
            assert found.shape == wanted.shape
            torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
    assert compiled.sizes.reason is None


def written(x: Any) -> Any:
    made = x.clone()
    made[:, 0] = 0
    made[-1] = made[0] + 1
    made[:, 1:3] = made[:, 2:4] * 2
    return made


THROUGH_DYNAMO: dict[str, tuple[Any, Callable[[int], Made]]] = {
    "bilinear": (
        nn.Bilinear(4, 3, 5),
        lambda n: (torch.randn(n, 4), torch.randn(n, 3)),
    ),
    "cdist": (torch.cdist, lambda n: (torch.randn(n, 4), torch.randn(7, 4))),
    "group_norm": (nn.GroupNorm(2, 4), lambda n: (torch.randn(n, 4, 5),)),
    "prelu": (nn.PReLU(), lambda n: (torch.randn(n, 4),)),
    "softmax that may be empty": (
        lambda q, m: F.scaled_dot_product_attention(q, q, q, attn_mask=m),
        lambda n: (torch.randn(1, 2, n, 8), torch.rand(2, n, n).round().mul(-9).exp().log() * 1e38),
    ),
    "writes of a row and of columns": (written, lambda n: (torch.randn(n, 5),)),
}
"""What torch.compile makes of ops has other names than an exported program has."""


@pytest.mark.parametrize("name", THROUGH_DYNAMO)
def test_one_graph_and_one_more_version(name: str) -> None:
    torch._dynamo.reset()
    torch.manual_seed(7)
    function, make = THROUGH_DYNAMO[name]
    compiled = torch.compile(function, backend="lamina", dynamic=True)
    before = lamina.compile_count()
    with torch.no_grad():
        for size in SIZES:
            args = make(size)
            torch.testing.assert_close(compiled(*args), function(*args), rtol=1e-4, atol=1e-5)
    assert lamina.compile_count() - before <= 2


REFUSED: dict[str, tuple[Any, tuple[Any, ...], int, str]] = {
    "det of matrices": (
        Program(lambda x: torch.linalg.det(x.mT @ x)),
        (torch.randn(3, 5),),
        1,
        "sizes of samples that depend on data",
    ),
    "quantile of all": (
        Program(lambda x: x.quantile(0.5)),
        (torch.randn(5, 3),),
        0,
        "sorts elements whose number depends on data",
    ),
    "roll through all": (
        Program(lambda x: x.roll(2)),
        (torch.randn(5, 3),),
        0,
        "goes through all elements, whose number depends on data",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_others_have_a_version_for_each_size(name: str) -> None:
    module, given, dim, reason = REFUSED[name]
    dims = ({dim: torch.export.Dim.DYNAMIC},)
    compiled = lamina.compile(torch.export.export(module, given, dynamic_shapes=dims, strict=False))
    larger = (torch.cat([given[0], given[0] + 1], dim),)
    for args in (given, larger):
        torch.testing.assert_close(compiled(*args), module(*args), rtol=1e-4, atol=1e-4)
    assert reason in (compiled.sizes.reason or "")


def _loss(name: str) -> Any:
    return lambda x: getattr(F, name)(x, x.flip(0).sigmoid().detach())


ACTIVATIONS = [
    "celu",
    "elu",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "logsigmoid",
    "mish",
    "relu6",
    "selu",
    "softplus",
    "softshrink",
]
LOSSES = ["huber_loss", "kl_div", "mse_loss", "smooth_l1_loss", "soft_margin_loss"]
GRADIENTS = {
    **{name: getattr(F, name) for name in ACTIVATIONS},
    **{name: _loss(name) for name in LOSSES},
    "prelu": lambda x: F.prelu(x, torch.tensor(0.3)),
    "binary_cross_entropy": lambda x: _loss("binary_cross_entropy")(x.sigmoid()),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_one_version_serves_gradients_of_all_batches(name: str) -> None:
    """Their ops have no tag that they are pointwise, and means count no padding."""
    torch._dynamo.reset()
    gradient = torch.func.grad(lambda x: GRADIENTS[name](x).sin().sum())
    compiled = torch.compile(gradient, backend="lamina", dynamic=True)
    before = lamina.compile_count()
    for size in (5, 9, 20):
        x = torch.randn(size, 3) * 3
        torch.testing.assert_close(compiled(x), gradient(x), rtol=1e-4, atol=1e-5)
    assert lamina.compile_count() == before + 1


SECOND_NAMES: dict[str, Callable[[Any, Any], Any]] = {
    "absolute": lambda x, y: torch.absolute(x),
    "arctan2": torch.arctan2,
    "complex": lambda x, y: torch.view_as_real(torch.complex(x, y)),
    "divide": torch.divide,
    "greater": torch.greater,
    "hardswish": lambda x, y: F.hardswish(x),
    "hinge_embedding_loss": lambda x, y: F.hinge_embedding_loss(x, y.sign()),
    "less_equal": lambda x, y: torch.less_equal(x, 0.5),
    "margin_ranking_loss": lambda x, y: F.margin_ranking_loss(x, y, x.sign()),
    "multiply": torch.multiply,
    "negative": lambda x, y: torch.negative(x),
    "not_equal": torch.not_equal,
    "poisson_nll_loss": lambda x, y: F.poisson_nll_loss(x, y.abs()),
    "polar": lambda x, y: torch.view_as_real(torch.polar(x.abs(), y)),
    "special_expit": lambda x, y: torch.special.expit(x),
    "subtract": torch.subtract,
}


@pytest.mark.parametrize("name", SECOND_NAMES)
def test_one_version_serves_second_names_and_losses(name: str) -> None:
    module, make = Program(SECOND_NAMES[name]), pairs((3,), (3,))
    dims = ({0: torch.export.Dim.AUTO},) * 2
    program = torch.export.export(module, make(5), dynamic_shapes=dims)
    compiled = lamina.compile(program, versions="padded")
    for size in SIZES:
        args = make(size)
        torch.testing.assert_close(compiled(*args), module(*args), rtol=1e-4, atol=1e-5)
