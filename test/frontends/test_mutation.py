"""Writes through views by both ways in: equal to eager mode, or refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

import lamina
from lamina.dialects.errors import UnsupportedError

pytestmark = pytest.mark.one_in(2)

Program = Callable[[torch.Tensor], torch.Tensor]


class _Module(torch.nn.Module):
    def __init__(self, function: Program) -> None:
        super().__init__()
        self.forward = function  # pyright: ignore


def exported(function: Program, x: torch.Tensor) -> torch.Tensor:
    program = torch.export.export(_Module(function), (x.clone(),))
    return lamina.compile(program, cache=False)(x)


def traced(function: Program, x: torch.Tensor) -> torch.Tensor:
    torch._dynamo.reset()
    with torch.no_grad():
        return torch.compile(function, backend="lamina")(x)


WAYS: dict[str, Callable[[Program, torch.Tensor], torch.Tensor]] = {
    "export": exported,
    "torch.compile": traced,
}


def abs_of_windows(size: int, step: int) -> Program:
    def program(x: torch.Tensor) -> torch.Tensor:
        x.unfold(0, size, step).abs_()
        return x + 1

    return program


def add_to_places(size: tuple[int, ...], stride: tuple[int, ...]) -> Program:
    def program(x: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        y.as_strided(size, stride).add_(1)
        return y

    return program


def into_a_diagonal(x: torch.Tensor) -> torch.Tensor:
    x.view(3, 4).diagonal(1).copy_(torch.arange(3.0))
    return x + 1


def transposed_slice(x: torch.Tensor) -> torch.Tensor:
    x.view(3, 4)[:, 1:].t()[::2].add_(10)
    return x * 2


def views_in_turn(x: torch.Tensor) -> torch.Tensor:
    y = x.view(3, 4)
    flat, turned = y.view(-1), y.t()
    flat[2:5].zero_()
    turned[1].add_(7)
    flat.neg_()
    return turned.clone()


EQUAL: dict[str, Program] = {
    "windows edge to edge": abs_of_windows(3, 3),
    "one window": abs_of_windows(12, 12),
    "places apart": add_to_places((3, 2), (4, 1)),
    "diagonal": into_a_diagonal,
    "transposed slice": transposed_slice,
    "views in turn": views_in_turn,
}
GAPPED: dict[str, Program] = {
    "windows with gaps": abs_of_windows(2, 3),
    "windows that leave the last element out": abs_of_windows(11, 11),
}
OVERLAPPING: dict[str, Program] = {
    "windows": abs_of_windows(3, 1),
    "places": add_to_places((5, 3), (2, 1)),
}


def check(function: Program, way: str) -> None:
    """Result and argument after the call are eager mode's."""
    given = torch.linspace(-3, 4, 12)
    x, y = given.clone(), given.clone()
    expected = function(x)
    assert torch.equal(torch.as_tensor(WAYS[way](function, y)), expected)
    assert torch.equal(x, y)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", EQUAL)
def test_writes_are_those_of_eager_mode(name: str, way: str) -> None:
    check(EQUAL[name], way)


@pytest.mark.parametrize("name", GAPPED)
def test_gaps_stay_as_they_were(name: str) -> None:
    check(GAPPED[name], "export")


@pytest.mark.parametrize("name", GAPPED)
def test_gaps_that_torch_loses_are_refused(name: str) -> None:
    with pytest.raises(Exception, match="loses what the windows of a written unfold leave out"):
        check(GAPPED[name], "torch.compile")


@pytest.mark.parametrize("name", OVERLAPPING)
def test_elements_that_share_memory_are_refused(name: str) -> None:
    with pytest.raises(UnsupportedError, match="whose elements share memory"):
        check(OVERLAPPING[name], "export")
    with pytest.raises(Exception, match=r"internal overlap|whose elements share memory"):
        check(OVERLAPPING[name], "torch.compile")


def shifted_copy_of_a_clone(x: torch.Tensor) -> torch.Tensor:
    x[1:] = x[:-1].clone()
    return x + 1


def itself_and_elsewhere(x: torch.Tensor) -> torch.Tensor:
    x.add_(x)
    x[::2].mul_(x[::2]).sub_(x[1::2])
    torch._foreach_add_([x[:3], x[3:6]], 1.0)  # pyright: ignore
    torch.cumsum(x, 0, out=x)
    return x + 1


def every_other_from_the_first(x: torch.Tensor) -> torch.Tensor:
    x[::2].add_(x[:6])
    return x + 1


def copied_from_the_first(x: torch.Tensor) -> torch.Tensor:
    x[::2].copy_(x[:6])
    return x + 1


def product_into_a_factor(x: torch.Tensor) -> torch.Tensor:
    y = x[:9].view(3, 3)
    torch.mm(y, y, out=y)
    return x + 1


def lists_that_meet(x: torch.Tensor) -> torch.Tensor:
    torch._foreach_add_([x[:6], x[6:]], [x[6:], x[:6]])  # pyright: ignore
    return x + 1


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("function", [shifted_copy_of_a_clone, itself_and_elsewhere])
def test_reads_of_what_is_written(function: Program, way: str) -> None:
    check(function, way)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "function", [every_other_from_the_first, copied_from_the_first, product_into_a_factor]
)
def test_reads_of_part_of_what_is_written_are_refused(function: Program, way: str) -> None:
    with pytest.raises(Exception, match=r"shares some elements|which only elementwise ops may"):
        check(function, way)


def test_lists_that_meet() -> None:
    check(lists_that_meet, "export")
    with pytest.raises(Exception, match="reads what an earlier entry of the lists writes") as error:
        check(lists_that_meet, "torch.compile")
    assert "test_mutation.py:" in str(error.value)


RESHAPED: dict[str, Program] = {
    "flatten": lambda x: x.flatten(0),
    "reshape": lambda x: x.reshape(-1),
    "ravel": lambda x: x.ravel(),
    "contiguous": lambda x: x.contiguous(),
    "flatten of a view": lambda x: x.transpose(-1, -2).flatten(),
    "a part": lambda x: x[:1].reshape(-1),
    "of a result": lambda x: (x * 2).flatten(),
}
STRIDED: dict[str, Callable[[], torch.Tensor]] = {
    "transposed": lambda: torch.randn(2, 3, 4).transpose(1, 2),
    "a matrix": lambda: torch.randn(4, 7).t(),
    "sliced": lambda: torch.randn(3, 9)[:, 1::2],
    "row-major": lambda: torch.randn(3, 4),
}


@pytest.mark.parametrize("layout", STRIDED)
@pytest.mark.parametrize("name", RESHAPED)
@pytest.mark.parametrize("way", ["export", "torch.compile"])
def test_writes_reach_a_strided_argument_where_reshapes_are_views(
    name: str, layout: str, way: str
) -> None:
    reshaped = RESHAPED[name]

    def program(x: torch.Tensor) -> torch.Tensor:
        reshaped(x).add_(1)
        return x + 1

    def same(x: torch.Tensor) -> torch.Tensor:
        return torch.empty_strided(x.shape, x.stride()).copy_(x)

    x = STRIDED[layout]()
    ours, theirs = same(x), same(x)
    if way == "export":
        made = lamina.compile(torch.export.export(_Module(program), (x,)), cache=False)(ours)
    else:
        made = traced(program, ours)
    torch.testing.assert_close(made, program(theirs), rtol=0, atol=0)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=0)


def spectrum_written_to(x: torch.Tensor) -> torch.Tensor:
    """`istft` checks its window by its numbers, which a graph of tensors without data has not."""
    spectrum = torch.stft(x, 8, 4, window=torch.hann_window(8), return_complex=True)
    return torch.istft(spectrum, 8, 4, window=torch.hann_window(8)).mul_(2.0)


def sound_written_to_itself(x: torch.Tensor) -> torch.Tensor:
    y = spectrum_written_to(x)
    y[1:].add_(y[:-1])
    return y


def test_writes_beside_a_check_of_numbers() -> None:
    x = torch.randn(32, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        got = torch.compile(spectrum_written_to, backend="lamina", fullgraph=True)(x)
        torch.testing.assert_close(got, spectrum_written_to(x))
        with pytest.raises(Exception, match=r"a clone\(\) of what is read"):
            torch.compile(sound_written_to_itself, backend="lamina", fullgraph=True)(x)
