"""Fourier transforms as products, and by the extern kernel, compared with torch's in f64."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

import lamina

pytestmark = pytest.mark.one_in(2)

Transform = Callable[[torch.Tensor], torch.Tensor]


class _Module(torch.nn.Module):
    def __init__(self, function: Transform) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x)


def check(function: Transform, x: torch.Tensor) -> bool:
    """Whether an extern kernel did it; its errors are no larger than those of sums in f32."""
    compiled = lamina.compile(torch.export.export(_Module(function), (x,)), cache=False)
    exact = torch.complex128 if x.is_complex() else torch.float64
    found, wanted = compiled(x), function(x.to(exact))
    assert found.dtype == function(x).dtype
    assert found.shape == wanted.shape
    limit = 2e-6 if x.dtype in (torch.float32, torch.complex64) else 1e-14
    scale = wanted.abs().max().clamp(min=1e-30)
    assert ((found - wanted).abs().max() / scale).item() <= limit
    return any("extern" in str(kernel.ops) for kernel in compiled.kernels)


SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 25, 30, 31, 34, 49, 64, 100, 101, 169, 400, 512, 945, 1000)
EXTERN = (101,)
"""Primes too large for a product."""


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("count", [1, 3, 20])
def test_real(size: int, count: int) -> None:
    torch.manual_seed(size)
    x = torch.randn(count, size)
    assert check(torch.fft.rfft, x) == (size in EXTERN)
    assert check(lambda x: torch.fft.fft(x, norm="ortho"), x) == (size in EXTERN)


@pytest.mark.parametrize("size", SIZES)
def test_complex(size: int) -> None:
    torch.manual_seed(size)
    x = torch.randn(3, size, dtype=torch.complex64)
    assert check(torch.fft.fft, x) == (size in EXTERN)
    assert check(torch.fft.ifft, x) == (size in EXTERN)


@pytest.mark.parametrize("size", SIZES)
def test_back_to_real(size: int) -> None:
    """The imaginary parts of the first and the middle number do not count."""
    torch.manual_seed(size)
    x = torch.randn(3, size // 2 + 1, dtype=torch.complex64)
    assert check(lambda x: torch.fft.irfft(x, n=size), x) == (size in EXTERN)


@pytest.mark.parametrize(
    ("function", "shape", "dtype"),
    [
        (torch.fft.rfft, (5, 480), torch.float64),
        (torch.fft.irfft, (5, 241), torch.complex128),
        (torch.fft.fft, (5, 90), torch.complex128),
        (lambda x: torch.fft.rfft(x, dim=0), (48, 5), torch.float32),
        (lambda x: torch.fft.fft(x, dim=1), (4, 48, 5), torch.complex64),
        (lambda x: torch.fft.irfft(x, dim=1), (4, 25, 5), torch.complex64),
        (torch.fft.fft2, (3, 24, 30), torch.complex64),
        (torch.fft.rfft2, (3, 24, 30), torch.float32),
        (torch.fft.irfft2, (3, 24, 16), torch.complex64),
        (torch.fft.rfftn, (6, 10, 12), torch.float32),
        (torch.fft.hfft, (3, 24), torch.complex64),
        (torch.fft.ihfft, (3, 24), torch.float32),
        (torch.fft.rfft, (2048,), torch.float32),
        (torch.fft.rfft, (0, 8), torch.float32),
    ],
)
def test_dimensions(function: Transform, shape: tuple[int, ...], dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x = torch.randn(shape, dtype=dtype)
    if 0 in shape:
        assert lamina.compile(torch.export.export(_Module(function), (x,)))(x).shape == (0, 5)
    else:
        check(function, x)


@pytest.mark.parametrize("window", [True, False])
def test_frames(window: bool) -> None:
    """Frames, their windows, transforms, and back; the matrices are made once."""

    def there(x: torch.Tensor) -> torch.Tensor:
        ones = torch.hann_window(400, dtype=x.dtype) if window else None
        return torch.stft(x, 400, 160, window=ones, return_complex=True)

    torch.manual_seed(0)
    x = torch.randn(2, 4000)
    assert not check(there, x)
    program = lamina.compile(torch.export.export(_Module(there), (x,)), cache=False)
    assert not any("cos" in str(kernel.ops) for kernel in program.kernels)

    def back(x: torch.Tensor) -> torch.Tensor:
        return torch.istft(x, 400, 160, window=torch.hann_window(400))

    assert not check_back(back, there(x))


def check_back(function: Transform, x: torch.Tensor) -> bool:
    """`check` without f64, since the window is in f32."""
    compiled = lamina.compile(torch.export.export(_Module(function), (x,)), cache=False)
    torch.testing.assert_close(compiled(x), function(x), rtol=1e-4, atol=1e-5)
    return any("extern" in str(kernel.ops) for kernel in compiled.kernels)
