"""Linear algebra and Fourier transforms against torch, compiled; sign-free where torch is free."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("scipy")

import lamina  # noqa: E402 - after the check for torch
from lamina.dialects.errors import ExecutionError  # noqa: E402

linalg, fft = torch.linalg, torch.fft


class Calling(torch.nn.Module):
    """A module that calls a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: torch.Tensor) -> Any:
        return self.function(*args)


def matrices(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(3), dtype=dtype)


def definite(dtype: torch.dtype = torch.float32) -> torch.Tensor:
    a = matrices(2, 4, 4, dtype=dtype)
    return (a @ a.mH + torch.eye(4)).contiguous()


def recomposed_svd(x: torch.Tensor) -> torch.Tensor:
    u, s, vh = linalg.svd(x, full_matrices=False)
    return (u * s[..., None, :]) @ vh


def recomposed_eigh(x: torch.Tensor) -> torch.Tensor:
    values, vectors = linalg.eigh(x)
    return (vectors * values[..., None, :]) @ vectors.mH


SQUARE, TALL, RIGHT = (2, 4, 4), (2, 5, 3), (2, 4, 3)
C64 = torch.complex64

CASES: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...]]] = {
    "cholesky": (linalg.cholesky, (definite(),)),
    "cholesky upper complex": (lambda x: linalg.cholesky(x, upper=True), (definite(C64),)),
    "cholesky_inverse": (torch.cholesky_inverse, (linalg.cholesky(definite()).contiguous(),)),
    "cond": (linalg.cond, (matrices(*SQUARE),)),
    "det": (linalg.det, (matrices(*SQUARE),)),
    "eigh": (recomposed_eigh, (definite(),)),
    "eigvalsh": (linalg.eigvalsh, (definite(),)),
    "geqrf": (torch.geqrf, (matrices(*TALL),)),
    "geqrf of no matrices": (torch.geqrf, (torch.zeros(2, 0, 3, 5),)),
    "geqrf without columns": (torch.geqrf, (torch.zeros(2, 3, 0),)),
    "householder": (lambda x: linalg.householder_product(*torch.geqrf(x)), (matrices(*TALL),)),
    "inv": (linalg.inv, (matrices(*SQUARE),)),
    "inv_ex": (linalg.inv_ex, (matrices(*SQUARE),)),
    "ldl": (linalg.ldl_factor, (definite(),)),
    "logdet": (torch.logdet, (definite(),)),
    "lu": (linalg.lu, (matrices(*TALL),)),
    "lu_factor": (linalg.lu_factor, (matrices(*SQUARE),)),
    "lu_solve": (
        lambda x, y: linalg.lu_solve(*linalg.lu_factor(x), y),
        (matrices(*SQUARE), matrices(*RIGHT)),
    ),
    "matrix_norm fro": (lambda x: linalg.matrix_norm(x, "fro"), (matrices(*TALL),)),
    "matrix_norm nuc": (lambda x: linalg.matrix_norm(x, "nuc"), (matrices(*TALL),)),
    "matrix_norm 2 of no columns": (lambda x: linalg.matrix_norm(x, 2), (torch.zeros(2, 3, 0),)),
    "matrix_norm inf of no rows": (
        lambda x: linalg.norm(x, torch.inf, keepdim=True),
        (torch.zeros(0, 3),),
    ),
    "norm 2 of a complex vector": (lambda x: linalg.norm(x, 2), (matrices(5, dtype=C64),)),
    "matrix_norm 1": (lambda x: linalg.matrix_norm(x, 1, keepdim=True), (matrices(*TALL),)),
    "matrix_power": (lambda x: linalg.matrix_power(x, -3), (matrices(*SQUARE),)),
    "matrix_rank": (linalg.matrix_rank, (matrices(*TALL),)),
    "multi_dot": (
        lambda x, y, z: linalg.multi_dot([x, y, z]),
        (matrices(3, 7), matrices(7, 2), matrices(2, 5)),
    ),
    "ormqr": (
        lambda x, y: torch.ormqr(*torch.geqrf(x), y, transpose=True),
        (matrices(*SQUARE), matrices(*RIGHT)),
    ),
    "pinv": (linalg.pinv, (matrices(*TALL),)),
    "qr": (lambda x: torch.matmul(*linalg.qr(x)), (matrices(*TALL),)),
    "slogdet": (linalg.slogdet, (matrices(*SQUARE),)),
    "solve": (linalg.solve, (matrices(*SQUARE), matrices(*RIGHT))),
    "solve from the right": (
        lambda x, y: linalg.solve(x, y, left=False),
        (matrices(*SQUARE), matrices(2, 3, 4)),
    ),
    "solve_triangular": (
        lambda x, y: linalg.solve_triangular(x, y, upper=True),
        (definite(), matrices(*RIGHT)),
    ),
    "svd": (recomposed_svd, (matrices(*TALL),)),
    "svdvals complex": (linalg.svdvals, (matrices(*TALL, dtype=C64),)),
    "tensorinv": (lambda x: linalg.tensorinv(x, ind=1), (matrices(6, 2, 3),)),
    "tensorsolve": (linalg.tensorsolve, (matrices(2, 3, 6), matrices(2, 3))),
    "vander": (linalg.vander, (matrices(5),)),
    "fft of real": (fft.fft, (matrices(3, 8),)),
    "fft2 ortho": (lambda x: fft.fft2(x, norm="ortho"), (matrices(3, 8, 6, dtype=C64),)),
    "ifft": (lambda x: fft.ifft(x, n=5), (matrices(3, 8),)),
    "rfft filled up": (lambda x: fft.rfft(x, n=11), (matrices(3, 8),)),
    "irfft": (lambda x: fft.irfft(fft.rfft(x), n=8), (matrices(3, 8),)),
    "rfftn and back": (lambda x: fft.irfftn(fft.rfftn(x)), (matrices(3, 4, 6),)),
    "hfft": (fft.hfft, (matrices(3, 8, dtype=C64),)),
    "ihfft2": (fft.ihfft2, (matrices(3, 8),)),
    "fftshift": (fft.fftshift, (matrices(3, 7),)),
    "fftfreq": (lambda x: x + fft.fftfreq(7, 0.5), (matrices(7),)),
}


@pytest.mark.parametrize("name", CASES)
def test_as_torch(name: str) -> None:
    function, inputs = CASES[name]
    compiled = lamina.compile(torch.export.export(Calling(function), inputs))
    actual, expected = compiled(*inputs), function(*inputs)
    if isinstance(expected, torch.Tensor):
        actual, expected = (actual,), (expected,)
    torch.testing.assert_close(tuple(actual), tuple(expected), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("function", [linalg.inv, linalg.cholesky], ids=lambda f: f.__name__)
def test_a_singular_matrix_is_an_error_of_the_call(function: Callable[..., Any]) -> None:
    compiled = lamina.compile(torch.export.export(Calling(function), (definite(),)))
    with pytest.raises(ExecutionError, match=r"extern kernel failed: .*LinAlgError: the matrix is"):
        compiled(torch.zeros(2, 4, 4))


def test_solutions_are_made_without_factors_that_nothing_reads() -> None:
    def kernels(function: Callable[..., Any]) -> set[str]:
        args = (matrices(*SQUARE), matrices(*RIGHT))
        compiled = lamina.compile(torch.export.export(Calling(function), args), cache=False)
        torch.testing.assert_close(compiled(*args), function(*args))
        return {kernel.name for kernel in compiled.kernels}

    assert "linalg.solve_ex" in kernels(lambda a, b: torch.ops.aten._linalg_solve_ex(a, b)[0])
    assert "linalg.solve_factors" in kernels(lambda a, b: torch.ops.aten._linalg_solve_ex(a, b)[1])
