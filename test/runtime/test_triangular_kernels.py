"""Kernels that solve by triangles and factors, one matrix and batches, against torch."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("scipy")

from lamina.dialects.errors import UnsupportedError  # noqa: E402
from lamina.runtime.extern_kernels import linear_algebra, triangular  # noqa: E402
from lamina.runtime.extern_kernels.triangular import MOST_BATCHED_ROWS  # noqa: E402

MANY = MOST_BATCHED_ROWS + 1
SHAPES = {
    "one": ((5, 5), (5, 3), (3, 5)),
    "batch": ((2, 4, 4), (2, 4, 3), (2, 3, 4)),
    "large batch": ((2, MANY, MANY), (2, MANY, 3), (2, 3, MANY)),
    "broadcast": ((3, 1, 4, 4), (2, 4, 3), (2, 3, 4)),
    "empty": ((2, 0, 0), (2, 0, 3), (2, 3, 0)),
    "no sides": ((4, 4), (4, 0), (0, 4)),
}
DTYPES = (torch.float32, torch.float64, torch.complex64)


def made(shape: tuple[int, ...], dtype: torch.dtype, seed: int) -> torch.Tensor:
    """Random numbers with a heavy diagonal, whole matrices: solvers leave a triangle out."""
    x = torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))
    return x + 4 * shape[-1] ** 0.5 * torch.eye(*shape[-2:], dtype=dtype)


def close(got: object, expected: torch.Tensor) -> None:
    exact = 1e-12 if expected.dtype == torch.float64 else 1e-5
    np.testing.assert_allclose(
        np.asarray(got), expected.resolve_conj().numpy(), rtol=exact, atol=exact
    )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", SHAPES)
def test_solves_by_triangles(name: str, dtype: torch.dtype) -> None:
    shape, below, beside = SHAPES[name]
    a = made(shape, dtype, 1)
    for upper, left, unit in product((False, True), repeat=3):
        b = made(below if left else beside, dtype, 2)
        options = {"upper": upper, "left": left, "unitriangular": unit}
        triangle = a / 16 if unit else a
        got = triangular.solve_triangular(triangle.numpy(), b.numpy(), **options)
        close(got, torch.linalg.solve_triangular(triangle, b, **options))
    b = made(below, dtype, 2)
    for upper, transpose in product((False, True), repeat=2):
        options = {"upper": upper, "transpose": transpose, "unitriangular": False}
        x, copied = triangular.triangular_solve(b.numpy(), a.numpy(), **options)
        expected = torch.triangular_solve(b, a, **options)
        close(x, expected[0])
        close(copied, expected[1])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("upper", [False, True])
def test_solves_by_factors_of_cholesky(name: str, dtype: torch.dtype, upper: bool) -> None:
    shape, below, _ = SHAPES[name]
    a, b = made(shape, dtype, 1), made(below, dtype, 2)
    if dtype.is_complex:
        a.diagonal(dim1=-2, dim2=-1).imag.zero_()  # as that of a factor is
    close(
        triangular.cholesky_solve(b.numpy(), a.numpy(), upper=upper),
        torch.cholesky_solve(b, a, upper=upper),
    )
    if a.numel():
        close(
            triangular.cholesky_inverse(a.numpy(), upper=upper),
            torch.cholesky_inverse(a, upper=upper),
        )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", SHAPES)
def test_solves_by_factors_of_lu(name: str, dtype: torch.dtype) -> None:
    shape, below, beside = SHAPES[name]
    factors, pivots = torch.linalg.lu_factor(made(shape, dtype, 1).flip(-1))
    for left, adjoint in product((False, True), repeat=2):
        b = made(below if left else beside, dtype, 2)
        options = {"left": left, "adjoint": adjoint}
        got = linear_algebra.lu_solve(
            factors.contiguous().numpy(), pivots.numpy(), b.numpy(), **options
        )
        close(got, torch.linalg.lu_solve(factors, pivots, b, **options))


@pytest.mark.parametrize("batch", [(), (2,)])
def test_a_zero_on_the_diagonal_is_divided_by(batch: tuple[int, ...]) -> None:
    a = made((*batch, 3, 3), torch.float32, 1).tril()
    a[..., 1, 1] = 0
    b = torch.ones(*batch, 3, 1)
    got = triangular.solve_triangular(
        a.numpy(), b.numpy(), upper=False, left=True, unitriangular=False
    )
    expected = torch.linalg.solve_triangular(a, b, upper=False)
    assert not torch.isfinite(expected[..., 1:, :]).any()
    np.testing.assert_array_equal(np.isfinite(got), np.isfinite(expected.numpy()))
    np.testing.assert_allclose(got[..., :1, :], expected[..., :1, :].numpy())


def test_matrices_of_a_batch_are_inverted_each_by_itself() -> None:
    a = made((2, 3, 3), torch.float32, 1)
    a[0] = 0
    inverse, info = linear_algebra.inv_ex(a.numpy())
    assert info.tolist() == torch.linalg.inv_ex(a).info.tolist() == [1, 0]
    close(inverse[1], torch.linalg.inv(a[1]))


def test_triangles_are_solved_without_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str, *_: object) -> None:
        raise UnsupportedError("loop.extern", f"{name} comes with SciPy")

    monkeypatch.setattr(triangular, "lapack", missing)
    a, b = made((5, 5), torch.float64, 1), made((5, 2), torch.float64, 2)
    for upper in (False, True):
        got = triangular.cholesky_solve(b.numpy(), a.numpy(), upper=upper)
        close(got, torch.cholesky_solve(b, a, upper=upper))
