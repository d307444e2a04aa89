"""Random numbers of programs that come from torch follow its default generator."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import nn

import lamina

pytestmark = pytest.mark.usefixtures("inference")

Call = Callable[[torch.Tensor], list[torch.Tensor]]

X = torch.ones(64)


class Numbers(nn.Module):
    """Random ops of several kinds, beside a product with packed weights."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(64, 64)

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        dropped = nn.functional.dropout(self.linear(x.expand(8, 64)), 0.5, True)
        return [torch.rand_like(x), torch.randn(3, 4), dropped, torch.randint(1000, (16,))]


def traced() -> Call:
    return torch.compile(Numbers(), backend="lamina")


def exported() -> Call:
    return lamina.compile(torch.export.export(Numbers(), (X,)))


WAYS = pytest.mark.parametrize("way", [traced, exported])


def equal(first: list[torch.Tensor], second: list[torch.Tensor]) -> bool:
    same = [torch.equal(a, b) for a, b in zip(first, second, strict=True)]
    assert all(same) or not any(same)
    return all(same)


@WAYS
def test_the_same_seed_repeats_numbers(way: Callable[[], Call]) -> None:
    program = way()
    runs: list[list[list[torch.Tensor]]] = []
    for _ in range(3):
        torch.manual_seed(0)
        runs.append([program(X) for _ in range(3)])
    for other in runs[1:]:
        assert all(equal(a, b) for a, b in zip(runs[0], other, strict=True))
    assert not equal(runs[0][0], runs[0][1]) and not equal(runs[0][1], runs[0][2])
    torch.manual_seed(1)
    assert not equal(program(X), runs[0][0])


@WAYS
def test_states_are_kept_and_set_back(way: Callable[[], Call]) -> None:
    program = way()
    state = torch.get_rng_state()
    with torch.random.fork_rng():
        forked = program(X)
        assert not equal(program(X), forked)
    assert equal(program(X), forked)
    torch.set_rng_state(state)
    assert equal(program(X), forked)


@WAYS
def test_distributions_stay(way: Callable[[], Call]) -> None:
    program = way()
    draws = [program(X) for _ in range(200)]
    uniform = torch.cat([numbers[0] for numbers in draws])
    normal = torch.cat([numbers[1].flatten() for numbers in draws])
    assert abs(uniform.mean() - 0.5) < 0.02 and abs(uniform.var() - 1 / 12) < 0.01
    assert abs(normal.mean()) < 0.1 and abs(normal.std() - 1) < 0.1
    assert len(uniform.unique()) > 0.99 * len(uniform)


def test_eager_numbers_in_between_count() -> None:
    program = exported()
    torch.manual_seed(0)
    first = program(X)
    torch.manual_seed(0)
    torch.rand(1)
    assert not equal(program(X), first)


def test_programs_share_the_generator() -> None:
    programs = traced(), exported()
    torch.manual_seed(0)
    first = [program(X) for program in programs]
    torch.manual_seed(0)
    assert all(equal(program(X), numbers) for program, numbers in zip(programs, first, strict=True))


def test_seeds_of_lamina_come_first() -> None:
    program = exported()
    for seed in (program.seed, lamina.manual_seed):  # pyright: ignore[reportFunctionMemberAccess]
        seed(7)
        first = program(X)
        seed(7)
        torch.rand(5)
        assert equal(program(X), first)
        assert not equal(program(X), first)
        program = traced()
        program(X)
    lamina.manual_seed(7)
    torch.manual_seed(12)  # and is heeded again
    first = program(X)
    torch.manual_seed(12)
    assert equal(program(X), first)


def test_changed_weights_draw_no_other_seed() -> None:
    program = Numbers()
    function = torch.compile(program, backend="lamina")
    found: list[Any] = []
    for _ in range(4):
        torch.manual_seed(0)
        found.append(function(X)[0])
        program.linear.weight.mul_(2)
    assert all(torch.equal(found[0], other) for other in found[1:])


def test_threads_draw_different_numbers() -> None:
    program = exported()

    def work(_: int) -> list[torch.Tensor]:
        return [program(X)[0] for _ in range(25)]

    with ThreadPoolExecutor(4) as pool:
        rows = torch.stack([row for rows in pool.map(work, range(4)) for row in rows])
    assert len(rows.unique(dim=0)) == 100
