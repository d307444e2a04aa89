"""Writing through views compiles to what torch computes in place, or is refused: never wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import lamina
from lamina.dialects.errors import UnsupportedError


class Calling(torch.nn.Module):
    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x)


def check(function: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> None:
    """Result and argument afterwards are torch's, bit for bit."""
    theirs, ours = x.clone(), x.clone()
    expected = function(theirs).clone()
    program = torch.export.export(Calling(function), (x.clone(),))
    result = lamina.compile(program, cache=False)(ours)
    assert torch.equal(result, expected)
    assert torch.equal(ours, theirs)


def numbers(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=dtype)


def written(view: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., torch.Tensor]:
    """A program that takes the sizes of the negative numbers in a view and adds the whole."""

    def program(x: torch.Tensor) -> torch.Tensor:
        view(x).abs_()
        return x + 1

    return program


VIEWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "diagonal": lambda x: x.diagonal(),
    "diagonal_of_other_dims": lambda x: x.view(2, 3, 4).diagonal(1, 0, 2),
    "linalg_diagonal": lambda x: torch.linalg.diagonal(x.view(2, 3, 4), offset=-1),
    "unfold_gapped": lambda x: x.unfold(1, 2, 3),
    "unfold_edge_to_edge": lambda x: x.view(24).unfold(0, 4, 4),
    "unfold_of_a_slice": lambda x: x[1:3].unfold(1, 2, 2),
    "as_strided": lambda x: torch.as_strided(x, (3, 2), (8, 1), 1),
    "as_strided_of_a_transposed_view": lambda x: torch.as_strided(x.t(), (5,), (2,)),
    "as_strided_beyond_a_slice": lambda x: torch.as_strided(x[1], (5,), (4,), 2),
    "slice_of_as_strided": lambda x: torch.as_strided(x, (4, 6), (6, 1))[1:, ::2].t()[1:3],
    "movedim": lambda x: x.view(2, 3, 4).movedim(0, 2)[1, :, 1],
    "movedims": lambda x: x.view(2, 3, 4).movedim((0, 1), (2, 0))[1:, 2],
    "adjoint": lambda x: x.mH[1:3, 2:],
    "expand_of_equal_size": lambda x: x.expand(1, 4, 6)[:, 1:],
    "hsplit": lambda x: x.hsplit(2)[1],
    "overlapping_slices": lambda x: x[1:3].view(-1)[3:].view(3, 3)[::2],
}


@pytest.mark.parametrize("name", VIEWS)
def test_writes_reach_the_argument(name: str) -> None:
    check(written(VIEWS[name]), numbers(4, 6))


def test_parts_of_complex_numbers() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        x.real.mul_(2)
        x.imag[1:].add_(1)
        torch.view_as_real(x)[0].abs_()
        return x * 1

    check(program, numbers(3, 4, dtype=torch.complex64))


def test_pairs_as_complex_numbers() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        torch.view_as_complex(x)[1:].mul_(2)
        return x * 1

    check(program, numbers(3, 2))


def test_copy_into_a_diagonal() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        x.diagonal(1).copy_(torch.arange(5.0)[:4])
        return x + 1

    check(program, numbers(4, 6))


def test_add_on_a_transposed_slice() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        x.t()[1:4].add_(torch.arange(4.0))
        return x * 2

    check(program, numbers(4, 6))


def test_two_views_of_one_base_in_turn() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        first, second, third = x.view(24)[3:11], x[1], x.diagonal()
        first.mul_(2)
        second.add_(1)
        third.copy_(second[:4])
        first.sub_(3)
        return first[:6] * second + third.sum() * 0

    check(program, numbers(4, 6))


@given(st.data())
def test_any_windows_are_equal_or_refused(data: st.DataObject) -> None:
    """Sizes and strides at random: overlapping ones are refused, others are as in torch."""
    rank = data.draw(st.integers(1, 3))
    size = data.draw(st.lists(st.integers(1, 3), min_size=rank, max_size=rank))
    stride = data.draw(st.lists(st.integers(0, 6), min_size=rank, max_size=rank))
    start = data.draw(st.integers(0, 5))
    places = {sum(p) for p in _positions(size, stride)}
    distinct = len(places) == _product(size)

    def program(x: torch.Tensor) -> torch.Tensor:
        torch.as_strided(x, size, stride, start).add_(1)
        return x * 1

    x = numbers(48)
    try:
        check(program, x)
    except UnsupportedError as error:
        assert "whose elements share memory" in str(error)
        # Interleaved dims may be refused though they never meet; nested ones never are.
        assert not distinct or len(places) < max(places) + 1
    except RuntimeError:
        assert not distinct  # torch itself refuses some of these
    else:
        assert distinct


def _positions(size: list[int], stride: list[int]) -> list[list[int]]:
    found: list[list[int]] = [[]]
    for extent, step in zip(size, stride, strict=True):
        found = [[*before, i * step] for before in found for i in range(extent)]
    return found


def _product(size: list[int]) -> int:
    made = 1
    for extent in size:
        made *= extent
    return made


@pytest.mark.parametrize("dtype", [torch.int16, torch.int32, torch.int64])
def test_bits_are_written_through_another_dtype(dtype: torch.dtype) -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        bits = x.view(dtype)[1:, ::2]
        bits.bitwise_and_(0x5555)
        return x + 1

    check(program, numbers(4, 6))


IN_PLACE: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "power": lambda x: x.pow_(2).pow_(x),
    "float_power": lambda x: x.float_power_(2).float_power_(x),
    "floor_divide": lambda x: x.floor_divide_(x[0] + 2),
    "ldexp": lambda x: x.ldexp_(torch.tensor([2])),
    "fill_diagonal": lambda x: x.fill_diagonal_(3),
    "fill_diagonal_of_a_tall_matrix": lambda x: x.view(12, 2).fill_diagonal_(3),
    "fill_diagonal_again_and_again": lambda x: x.view(12, 2).fill_diagonal_(3, wrap=True),
    "fill_diagonal_of_a_cube": lambda x: x.view(-1)[:8].view(2, 2, 2).fill_diagonal_(3),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_names_that_functional_forms_do_not_share(name: str) -> None:
    x = numbers(4, 6, dtype=torch.float64).abs()
    theirs = IN_PLACE[name](x.clone())
    program = torch.export.export(Calling(IN_PLACE[name]), (x.clone(),))
    torch.testing.assert_close(lamina.compile(program, cache=False)(x.clone()), theirs)


@pytest.mark.parametrize("by_number", [False, True])
def test_shifts_in_place(by_number: bool) -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        y <<= 2 if by_number else x
        y >>= 1 if by_number else x
        return y

    check(program, torch.arange(6))


REFUSED: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], str]] = {
    "unfold_overlapping": (
        lambda x: x.unfold(1, 3, 1),
        r"writes through aten\.unfold\.default, whose elements share memory",
    ),
    "as_strided_overlapping": (
        lambda x: torch.as_strided(x, (3, 3), (2, 1)),
        r"writes through aten\.as_strided\.default, whose elements share memory",
    ),
    "as_strided_from_a_view": (
        lambda x: torch.as_strided(x[1], (5,), (1,)),
        r"as_strided\.default: starts where its operand starts, a view",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    view, message = REFUSED[name]
    program = torch.export.export(Calling(written(view)), (numbers(4, 6),))
    with pytest.raises(UnsupportedError, match=message):
        lamina.compile(program, cache=False)


def test_strides_of_a_result_are_not_known() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return torch.as_strided(x.t() * 2, (3,), (1,)) + 1

    exported = torch.export.export(Calling(program), (numbers(4, 6),))
    with pytest.raises(UnsupportedError, match="a tensor that may not be contiguous"):
        lamina.compile(exported, cache=False)
