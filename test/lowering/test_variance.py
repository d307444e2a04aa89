"""Variances are as accurate as torch's, also where the mean is large against the deviation."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - its usual name

import lamina

ATEN = """
func.func @main(%x: tensor<8x1000xf32>) -> tensor<8xf32> {
  %v = aten.var.correction(%x, [1]) : (tensor<8x1000xf32>) -> tensor<8xf32>
  func.return %v : tensor<8xf32>
}
"""
PRIMS = """
func.func @main(%x: tensor<8x1000xf32>) -> tensor<8xf32> {
  %v = prims.var(%x, [1]) : (tensor<8x1000xf32>) -> tensor<8xf32>
  func.return %v : tensor<8xf32>
}
"""


@pytest.mark.parametrize("mean", [0.0, 1.0, 1e4, 1e6])
@pytest.mark.parametrize("text", [ATEN, PRIMS])
def test_error_is_at_most_four_times_that_of_torch(text: str, mean: float) -> None:
    x = torch.randn(8, 1000, generator=torch.Generator().manual_seed(1)) + mean
    exact = x.double().var(-1).numpy()
    ours = np.asarray(lamina.compile(text)(x.numpy()), np.float64)
    torchs = x.var(-1).double().numpy()

    def error(value: np.ndarray) -> float:
        return float(np.abs(value / exact - 1).max())

    # Torch's own error can be less than half a unit in the last place by chance.
    assert error(ours) <= 4 * max(error(torchs), 2.0**-24)


@pytest.mark.parametrize("count", [3, 250, 1024])
def test_rows_in_which_few_elements_count(count: int) -> None:
    """What is lost of small squares beside large ones is below what torch takes for equal."""
    x = (torch.randn(64, count, generator=torch.Generator().manual_seed(count)) * 10).exp()
    text = ATEN.replace("8x1000", f"64x{count}").replace("tensor<8x", "tensor<64x")
    text = text.replace("tensor<8xf32>", "tensor<64xf32>")
    found = np.asarray(lamina.compile(text)(x.numpy()), np.float64)
    np.testing.assert_allclose(found, x.double().var(-1).numpy(), rtol=1.3e-6)


@pytest.mark.parametrize("scale", [1e-19, 1e-15, 1e15, 9e18])
def test_squares_neither_overflow_nor_vanish(scale: float) -> None:
    """Some squares of f32 are beyond its range, where the variance is not."""
    x = torch.randn(8, 1000, generator=torch.Generator().manual_seed(4)) * scale
    found = torch.from_numpy(np.asarray(lamina.compile(ATEN)(x.numpy())))
    torch.testing.assert_close(found, x.var(-1), rtol=2e-6, atol=0)


@pytest.mark.parametrize("value", [0.1, 1e4 / 3, -7.7e-30])
def test_equal_elements_have_no_variance_and_never_a_negative_one(value: float) -> None:
    x = np.full((8, 1000), value, np.float32)
    found = np.asarray(lamina.compile(ATEN)(x))
    assert (found >= 0).all()
    assert (found <= (1e-6 * value) ** 2).all()


def test_infinite_elements_give_nan_as_in_torch() -> None:
    x = np.zeros((8, 1000), np.float32)
    x[3, 5] = np.inf
    found = np.asarray(lamina.compile(ATEN)(x))
    assert np.isnan(found[3]) and (np.delete(found, 3) == 0).all()


@pytest.mark.parametrize("mean", [0.0, 1e4])
@pytest.mark.parametrize("shape", ["2x262144", "3x5x40000", "1x131072"])
def test_long_rows_in_pieces(shape: str, mean: float) -> None:
    extents = [int(extent) for extent in shape.split("x")]
    dims = list(range(1, len(extents)))
    text = (
        f"func.func @main(%x: tensor<{shape}xf32>) -> tensor<{extents[0]}xf32> {{\n"
        f"  %v = aten.var.correction(%x, {dims})"
        f" : (tensor<{shape}xf32>) -> tensor<{extents[0]}xf32>\n"
        f"  func.return %v : tensor<{extents[0]}xf32>\n}}\n"
    )
    x = torch.randn(extents, generator=torch.Generator().manual_seed(1)) + mean
    x[0, ..., : extents[-1] // 3] += 1  # pieces with other means than the whole
    exact = x.double().var(dims).numpy()
    found = np.asarray(lamina.compile(text)(x.numpy()), np.float64)
    assert np.abs(found / exact - 1).max() <= 4 * 2.0**-24


class VarMean(torch.nn.Module):
    """Variances and means over the first dimensions, which share their walk."""

    def __init__(self, dims: list[int]) -> None:
        super().__init__()
        self.dims = dims

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.var_mean(x, self.dims)


@pytest.mark.parametrize("mean", [0.0, 1e4])
@pytest.mark.parametrize("extents", [(4096, 64), (64, 1000, 8), (20000, 100), (1, 4097, 33)])
def test_long_columns_in_pieces(extents: tuple[int, ...], mean: float) -> None:
    x = torch.randn(extents, generator=torch.Generator().manual_seed(2)) + mean
    x[: len(x) // 3] += 1
    module = VarMean(list(range(len(extents) - 1)))
    compiled = lamina.compile(torch.export.export(module, (x,)))
    variance, average = compiled(x)
    exact = torch.var_mean(x.double(), module.dims)
    assert float((variance.double() / exact[0] - 1).abs().max()) <= 4 * 2.0**-24
    torch.testing.assert_close(average.double(), exact[1], rtol=1e-6, atol=1e-6)


def test_columns_in_pieces_keep_what_is_not_finite_to_themselves() -> None:
    x = torch.randn(4096, 64, generator=torch.Generator().manual_seed(3)) * 1e35
    x[7, 1], x[3000, 2], x[:, 5] = float("inf"), float("nan"), 0.1
    module = VarMean([0])
    variance, average = lamina.compile(torch.export.export(module, (x,)))(x)
    assert variance[[1, 2]].isnan().all() and not variance[[0, 3, 4]].isnan().any()
    assert average[1] == float("inf") and average[2].isnan()
    assert 0 <= variance[5] <= 1e-14


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("size", [1e-40, 1e-30, 1e19, 1e30, 1e38])
def test_squares_that_overflow_or_vanish(dtype: torch.dtype, size: float) -> None:
    """Deviations are right where their squares are no f32; a variance beyond it is infinite."""
    if dtype == torch.float64:
        size = size**5 if size > 1 else size
    x = (torch.rand(5, 70, dtype=torch.float64) * size).to(dtype)

    class Deviations(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return x.std(1), x.std(0), x.var(1)

    module = Deviations()
    got = lamina.compile(torch.export.export(module, (x,)))(x)
    # One unit in the last place of bf16 is 2^-8 to 2^-7.
    rtol = {torch.float32: 1e-6, torch.bfloat16: 1e-2, torch.float64: 1e-12}[dtype]
    torch.testing.assert_close(got, module(x), rtol=rtol, atol=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_rows_of_16_bit_floats(dtype: torch.dtype) -> None:
    """Outliers, equal elements, subnormal ones, large means; infinities stay in their rows."""
    x = torch.randn(9, 200, generator=torch.Generator().manual_seed(4)).to(dtype)
    x[0, 3], x[1], x[2], x[3] = 60000, 0.0, 3.140625, 1000 + x[3]
    x[4] = torch.finfo(dtype).smallest_normal / 4 * x[4].sign()
    x[5, 7], x[6, 9], x[7] = float("inf"), float("nan"), 60000 * x[7].sign()

    class Deviations(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return x.std(1), torch.var_mean(x, 1)[0], x.T.contiguous().std(0, correction=0)

    module = Deviations()
    compiled = lamina.compile(torch.export.export(module, (x,)))
    rtol = 2.0**-7 if dtype == torch.bfloat16 else 2.0**-10
    torch.testing.assert_close(compiled(x), module(x), rtol=rtol, atol=0, equal_nan=True)


@pytest.mark.parametrize("size", [1e13, 1e20, 1e30])
def test_norms_of_large_elements(size: float) -> None:
    x = torch.randn(6, 70, generator=torch.Generator().manual_seed(0)) * size
    orders = [-2.0, -1.0, 0.5, 1.0, 2.0, 3.0, float("inf"), float("-inf")]

    class Norms(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
            return [torch.linalg.vector_norm(x, order, dim=1) for order in orders]

    module = Norms()
    got = lamina.compile(torch.export.export(module, (x,)))(x)
    torch.testing.assert_close(got, module(x), rtol=1e-5, atol=0)


def test_norms_of_one_element() -> None:
    """Torch takes the size of the element, whose power may overflow or vanish."""
    x = torch.tensor([[3.4e38], [1e-40], [float("nan")], [-float("inf")], [-3e20], [0.0]])
    orders = [-2.0, 0.0, 0.5, 2.0, 2.5, float("inf")]

    class Norms(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
            kept = [torch.linalg.vector_norm(x, order, dim=1, keepdim=True) for order in orders]
            return [*kept, torch.linalg.vector_norm(x, 2, dim=1), F.normalize(x, dim=1)]

    module = Norms()
    got = lamina.compile(torch.export.export(module, (x,)))(x)
    torch.testing.assert_close(got, module(x), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_norms_of_a_largest_element(dtype: torch.dtype) -> None:
    """What rounding takes from the mean overflows when squared; one element over an inf is 0."""

    class Norm(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return F.layer_norm(x, [x.shape[-1]])

    x = torch.linspace(-1, 1, 15, dtype=dtype).repeat(5, 1)
    x[2, 7] = torch.finfo(dtype).max
    compiled = lamina.compile(Norm(), example_inputs=(x,))
    torch.testing.assert_close(compiled(x), Norm()(x))
    assert bool((compiled(x)[2] == 0).all())
