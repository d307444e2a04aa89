"""A failing program to a few lines: what it fails without is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain

import torch
from fuzzing.oracle import run
from fuzzing.program import Program
from fuzzing.values import FLOATS


def shrunk(
    program: Program, fails: Callable[[Program], bool], is_late: Callable[[], bool]
) -> Program:
    """The smallest program found from `program` that still fails, until it is late."""
    going = True
    while going and not is_late():
        going = False
        for smaller in _smaller(program):
            if is_late():
                break
            if _runs(smaller) and fails(smaller):
                program, going = smaller, True
                break
    return program


def _smaller(program: Program) -> Iterator[Program]:
    return chain(
        _with_one_result(program),
        _cut_at_values(program),
        _with_one_line_less(program),
        _with_plain_arguments(program),
    )


def _with_one_result(program: Program) -> Iterator[Program]:
    """Each result alone, then what is read nowhere left out."""
    for name in program.results if len(program.results) > 1 else ():
        yield _without_dead_parts(replace(program, results=[name]))


def _cut_at_values(program: Program) -> Iterator[Program]:
    """A value of eager mode as an argument in place of its line, the last ones first."""
    for place in reversed(range(len(program.lines))):
        line = program.lines[place]
        if line.defines is None or program.results == [line.defines]:
            continue
        value = _value_of(program, place)
        if value is None:
            continue
        rest = [*program.lines[:place], *program.lines[place + 1 :]]
        arguments = {**program.arguments, line.defines: value}
        yield _without_dead_parts(replace(program, arguments=arguments, lines=rest))


def _with_one_line_less(program: Program) -> Iterator[Program]:
    """Without a line that writes, or with the last result taken from earlier on."""
    for place, line in enumerate(program.lines):
        rest = [*program.lines[:place], *program.lines[place + 1 :]]
        if line.defines is None:
            yield _without_dead_parts(replace(program, lines=rest))
        elif program.results == [line.defines]:
            for name in line.uses:
                yield _without_dead_parts(replace(program, lines=rest, results=[name]))


def _with_plain_arguments(program: Program) -> Iterator[Program]:
    for name, value in program.arguments.items():
        simpler: list[torch.Tensor] = []
        if not value.is_contiguous():
            simpler.append(value.contiguous())
        if value.dtype in FLOATS and not _is_plain(value):
            simpler.append(torch.ones_like(value))
            if not bool(value.isfinite().all()):
                simpler.append(torch.where(value.isfinite(), value, torch.ones_like(value)))
        for one in simpler:
            yield replace(program, arguments={**program.arguments, name: one})


def _is_plain(value: torch.Tensor) -> bool:
    return bool((value == 1).all())


def _without_dead_parts(program: Program) -> Program:
    """Lines and arguments that no result depends on go; lines that write stay if theirs do."""
    needed = set(program.results)
    lines = list(program.lines)
    kept: list[bool] = [False] * len(lines)
    changed = True
    while changed:
        changed = False
        for place, line in enumerate(lines):
            wanted = line.defines in needed if line.defines else bool(needed & set(line.uses[:1]))
            if wanted and not kept[place]:
                kept[place] = changed = True
                needed |= set(line.uses)
    return replace(
        program,
        lines=[line for line, keep in zip(lines, kept, strict=True) if keep],
        arguments={k: v for k, v in program.arguments.items() if k in needed},
    )


def _value_of(program: Program, place: int) -> torch.Tensor | None:
    """What line `place` defines, in eager mode."""
    name = program.lines[place].defines
    assert name is not None
    upto = replace(program, lines=program.lines[: place + 1], results=[name])
    try:
        return run(upto, upto.tensors())[0].contiguous()
    except Exception:
        return None


def _runs(program: Program) -> bool:
    if not program.lines:
        return False
    try:
        run(program, program.tensors())
    except Exception:
        return False
    return True
