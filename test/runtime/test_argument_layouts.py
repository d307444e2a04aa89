"""Arguments as callers have them: any strides, numbers, byte orders, arrays of other libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

import lamina
from lamina.dialects.errors import ArgumentError

pytestmark = pytest.mark.one_in(3)

GRID = np.arange(6 * 8 * 10, dtype=np.float32).reshape(6, 8, 10)

LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "row_major": lambda a: a[:2, :3, :4].copy() if isinstance(a, np.ndarray)
    else a[:2, :3, :4].clone(),
    "sliced": lambda a: a[1:3, 2:5, 3:7],
    "steps": lambda a: a[::3, 1:8:3, 0:8:2],
    "transposed": lambda a: a.reshape(10, 8, 6).T[1:3, 2:5, 3:7] if isinstance(a, np.ndarray)
    else a.reshape(10, 8, 6).permute(2, 1, 0)[1:3, 2:5, 3:7],
    "one_dimension_swapped": lambda a: a.swapaxes(1, 2)[:2, :3, :4],
    "expanded": lambda a: np.broadcast_to(a[0, 0, :4], (2, 3, 4)) if isinstance(a, np.ndarray)
    else a[0, 0, :4].expand(2, 3, 4),
}  # fmt: skip

NUMPY_ONLY: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "negative": lambda a: a[5:3:-1, 6:0:-2, 9:1:-2],
    "fortran": lambda a: np.asfortranarray(a[:2, :3, :4]),
    "swapped_bytes": lambda a: a[:2, :3, :4].astype(">f4"),
    "swapped_bytes_and_strided": lambda a: a.astype(">f4")[:2, :3, :4],
    "not_aligned": lambda a: (
        np.frombuffer(b"-" + a[:2, :3, :4].tobytes(), "u1")[1:].view("f4").reshape(2, 3, 4)
    ),
    "read_only": lambda a: np.frombuffer(a[:2, :3, :4].tobytes(), "f4").reshape(2, 3, 4),
}


class Mutating(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.mul_(2)
        return x + y


class Plain(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x * 10 + y


def exported(module: torch.nn.Module, *shapes: tuple[int, ...], **dtype: Any) -> Any:
    return lamina.compile(
        torch.export.export(module, tuple(torch.zeros(s, **dtype) for s in shapes))
    )


@pytest.fixture(scope="module")
def plain() -> Any:
    return exported(Plain(), (2, 3, 4), (2, 3, 4))


@pytest.fixture(scope="module")
def mutating() -> Any:
    return exported(Mutating(), (2, 3, 4), (2, 3, 4))


@pytest.mark.parametrize("left", LAYOUTS)
@pytest.mark.parametrize("right", LAYOUTS)
def test_tensors_of_any_strides(plain: Any, left: str, right: str) -> None:
    x, y = LAYOUTS[left](torch.from_numpy(GRID.copy())), LAYOUTS[right](torch.from_numpy(-GRID))
    made = plain(x, y)
    assert isinstance(made, torch.Tensor) and torch.equal(made, x * 10 + y)


@pytest.mark.parametrize("layout", [*LAYOUTS, *NUMPY_ONLY])
def test_arrays_of_any_strides(plain: Any, layout: str) -> None:
    x, y = {**LAYOUTS, **NUMPY_ONLY}[layout](GRID), GRID[:2, :3, :4].copy()
    for one, other in ((x, y), (y, x), (x, x)):
        made = plain(one, other)
        assert isinstance(made, np.ndarray) and made.dtype == np.float32
        np.testing.assert_array_equal(made, one * np.float32(10) + other)


def test_channels_last_images() -> None:
    conv = torch.nn.Conv2d(3, 8, 3, padding=1)
    x = torch.randn(2, 3, 16, 16).to(memory_format=torch.channels_last)
    with torch.no_grad():
        torch.testing.assert_close(
            lamina.compile(torch.export.export(conv, (x.contiguous(),)))(x), conv(x)
        )


@pytest.mark.parametrize("dtype", ["f2", "f8", "i1", "i4", "i8", "u1", "?", "c8", "bf16"])
def test_every_dtype(dtype: str) -> None:
    kind = np.dtype(ml_dtypes.bfloat16) if dtype == "bf16" else np.dtype(dtype)
    names = {"f2": "f16", "f8": "f64", "i1": "i8", "i4": "i32", "i8": "i64", "u1": "ui8", "?": "i1"}
    name = {**names, "c8": "complex<f32>", "bf16": "bf16"}[dtype]
    program = lamina.compile(
        f"""func.func @main(%x: tensor<3x5x{name}>) -> tensor<3x5x{name}> {{
  %0 = aten.clone.default(%x) : (tensor<3x5x{name}>) -> tensor<3x5x{name}>
  func.return %0 : tensor<3x5x{name}>
}}"""
    )
    whole = np.arange(60).reshape(10, 6).astype(kind)
    for view in (whole[::2, ::2].T, whole[9:4:-1, 2::-1].T):
        np.testing.assert_array_equal(program(view), view)


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "expanded"])
def test_what_is_written_goes_back(mutating: Any, layout: str) -> None:
    base, y = torch.from_numpy(GRID.copy()), torch.ones(2, 3, 4)
    x = LAYOUTS[layout](base)
    wanted_base = base.clone()
    wanted = LAYOUTS[layout](wanted_base)
    wanted.mul_(2)
    version = x._version
    assert torch.equal(mutating(x, y), wanted + y)
    assert torch.equal(x, wanted) and torch.equal(base, wanted_base)
    if layout != "row_major":
        assert x._version > version


@pytest.mark.parametrize("layout", ["sliced", "transposed", "negative", "swapped_bytes"])
def test_what_is_written_goes_back_to_arrays(mutating: Any, layout: str) -> None:
    base, y = GRID.copy(), np.ones((2, 3, 4), np.float32)
    x = {**LAYOUTS, **NUMPY_ONLY}[layout](base)
    wanted = x * np.float32(2)
    np.testing.assert_array_equal(mutating(x, y), wanted + y)
    np.testing.assert_array_equal(x, wanted)


def test_what_cannot_be_written_is_refused(mutating: Any) -> None:
    base = torch.from_numpy(GRID.copy())
    y = torch.ones(2, 3, 4)
    with pytest.raises(ArgumentError, match="some of its elements share memory"):
        mutating(LAYOUTS["expanded"](base), y)
    with pytest.raises(ArgumentError, match="read-only"):
        mutating(NUMPY_ONLY["read_only"](GRID), np.ones((2, 3, 4), np.float32))
    with pytest.raises(ArgumentError, match="read-only"):
        mutating(np.broadcast_to(GRID[0, 0, :4], (2, 3, 4)), np.ones((2, 3, 4), np.float32))


def test_strided_arguments_that_share_memory(mutating: Any) -> None:
    base = torch.from_numpy(GRID.copy())
    even, odd = base[:2, :3, 0:8:2], base[:2, :3, 1:9:2]
    wanted = even * 2 + odd
    assert torch.equal(mutating(even, odd), wanted)  # between each other, no element in common
    with pytest.raises(ArgumentError, match="share memory, and the program writes to"):
        mutating(even, base[:2, :3, 2:6])
    with pytest.raises(ArgumentError, match="share memory, and the program writes to"):
        mutating(base[:2, :3, :4].transpose(1, 2).transpose(1, 2), base[:2, :3, 1:8:2])


def test_a_failed_call_writes_nothing_back() -> None:
    class Checked(torch.nn.Module):
        def forward(self, x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
            x.mul_(2)
            return x[i]

    program = lamina.compile(torch.export.export(
        Checked(), (torch.zeros(4, 3), torch.zeros(2, dtype=torch.int64))
    ))  # fmt: skip
    x = torch.ones(3, 4).T
    with pytest.raises(lamina.ExecutionError):
        program(x, torch.tensor([0, 9]))
    assert torch.equal(x, torch.ones(4, 3))


class Scaled(torch.nn.Module):
    def forward(self, x: torch.Tensor, by: torch.Tensor) -> torch.Tensor:
        return x * by


NUMBERS: dict[str, tuple[torch.dtype, Any]] = {
    "float": (torch.float32, 2.5),
    "int_as_float": (torch.float32, 3),
    "bool_as_float": (torch.float32, True),
    "double": (torch.float64, 0.1),
    "half": (torch.bfloat16, 0.1),
    "int": (torch.int32, -7),
    "byte": (torch.uint8, 200),
    "complex": (torch.complex64, 1 + 2j),
    "numpy_float": (torch.float32, np.float32(2.5)),
    "numpy_double": (torch.float32, np.float64(0.1)),
    "numpy_int": (torch.int64, np.int32(5)),
    "numpy_bool": (torch.bool, np.bool_(True)),
    "numpy_0d": (torch.float32, None),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_numbers_for_tensors_of_rank_0(case: str) -> None:
    dtype, number = NUMBERS[case]
    x = torch.ones(3, dtype=dtype)
    program = lamina.compile(torch.export.export(Scaled(), (x, torch.zeros((), dtype=dtype))))
    if number is None:
        made = program(x.numpy(), np.array(2.5, np.float32))
        np.testing.assert_array_equal(made, np.full(3, 2.5, np.float32))
        return
    given = number.item() if isinstance(number, np.generic) else number
    assert torch.equal(program(x, number), x * torch.tensor(given, dtype=dtype))


@pytest.mark.parametrize(
    ("dtype", "number", "message"),
    [
        (torch.int32, 2.5, "expected a number of dtype int32, got 2.5"),
        (torch.float32, 1j, "expected a number of dtype float32, got 1j"),
        (torch.bool, 1, "expected a number of dtype bool, got 1"),
        (torch.int8, 128, "128 is out of the range of int8"),
        (torch.uint8, -1, "-1 is out of the range of uint8"),
        (torch.int64, 1 << 63, "is out of the range of int64"),
        (torch.float32, "2", r"expected tensor<f32> .* got str"),
        (torch.float32, None, r"expected tensor<f32> .* got NoneType"),
    ],
)
def test_numbers_that_do_not_fit(dtype: torch.dtype, number: Any, message: str) -> None:
    x = torch.ones(3, dtype=dtype)
    program = lamina.compile(torch.export.export(Scaled(), (x, torch.zeros((), dtype=dtype))))
    with pytest.raises(ArgumentError, match=message):
        program(x, number)


class OffersArray:
    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.array


class OffersDlpack:
    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("kind", [OffersArray, OffersDlpack])
def test_arrays_of_other_libraries(plain: Any, kind: Any) -> None:
    x, y = GRID[:2, :3, :4].copy(), GRID[1:3, :3, 4:8]
    wanted = x * np.float32(10) + y
    np.testing.assert_array_equal(plain(kind(x), kind(y)), wanted)
    np.testing.assert_array_equal(plain(x, kind(y)), wanted)
    made = plain(torch.from_numpy(x), kind(y))
    assert torch.equal(made, torch.from_numpy(wanted))


def test_arrays_of_jax(plain: Any, mutating: Any) -> None:
    jax = pytest.importorskip("jax.numpy")
    x = GRID[:2, :3, :4]
    np.testing.assert_array_equal(plain(jax.asarray(x), jax.asarray(x)), x * np.float32(11))
    assert torch.equal(
        plain(torch.from_numpy(x.copy()), jax.asarray(x)), torch.from_numpy(x * np.float32(11))
    )
    with pytest.raises(ArgumentError, match="read-only"):
        mutating(jax.asarray(x), jax.asarray(x))
    with pytest.raises(ArgumentError, match="the program writes to it, pass a tensor"):
        mutating(jax.asarray(x), torch.from_numpy(x.copy()))


def test_arrays_that_are_elsewhere(plain: Any) -> None:
    class Elsewhere:
        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            raise TypeError("it is on another planet")

    with pytest.raises(ArgumentError, match=r"argument 0 .* a Elsewhere gives no array: .* planet"):
        plain(Elsewhere(), GRID[:2, :3, :4].copy())


def test_lazily_conjugated_and_negated_tensors() -> None:
    program = exported(Plain(), (2, 3), (2, 3), dtype=torch.complex64)
    x = torch.randn(2, 3, dtype=torch.complex64)
    torch.testing.assert_close(program(x.conj(), x), x.conj() * 10 + x)
    torch.testing.assert_close(program(x, x.conj().T.contiguous().T), x * 10 + x.conj())
    negated = torch._neg_view(torch.ones(2, 3, 4))
    assert torch.equal(exported(Plain(), (2, 3, 4), (2, 3, 4))(negated, negated), negated * 11)
