"""The table of programs with open sizes, and what compares them with eager mode."""

import pytest
import torch
from torch import nn

from bench.open_program_table import OpenProgram, rows
from bench.open_programs import PROGRAMS, check, difference


def test_there_are_seventy_with_different_names() -> None:
    assert len({program.name for program in PROGRAMS}) == len(PROGRAMS) >= 70


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_programs_take_the_first_sizes(program: OpenProgram) -> None:
    inputs = program.inputs(program.first[0])
    assert len({len(sizes) for sizes in (*program.sizes, *program.first)}) == 1
    with torch.no_grad():
        program.module()(*inputs)


class _Halves(nn.Module):
    """Twice what it is given where that has an even number of rows, else three times as much."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * (3 if x.shape[0] % 2 else 2)


def test_what_differs_is_told() -> None:
    x = torch.ones(3)
    assert difference(x + 2, (x,), _Halves()) == ""
    assert difference(x + 1, (x,), _Halves()).startswith("WRONG: Tensor-likes are not close")


def test_results_are_checked_at_small_sizes_too(monkeypatch: pytest.MonkeyPatch) -> None:
    program = OpenProgram("halves", _Halves, rows(4), [(4,)], [(6,)])
    assert check(program) == []
    monkeypatch.setattr(torch, "compile", lambda module, **_: lambda x: x * 2)
    torch.manual_seed(0)
    assert [message.partition(":")[0] for message in check(program)] == ["1", "3", "5", "1"]
