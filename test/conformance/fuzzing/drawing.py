"""A random program from a seed: lines are tried in eager mode, and kept where torch takes them."""

from __future__ import annotations

import random
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import torch
from fuzzing.program import GLOBALS, MOST_ELEMENTS, Line, Program, same_layout
from fuzzing.tables import EXPRESSIONS, STATEMENTS
from fuzzing.templates import DoesNotFitError, Filling
from fuzzing.values import COMPLEX, FLOATS, INTEGERS, LAYOUTS, laid_out, make

EXTENTS = (1, 1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 31, 32, 33)
LARGE_EXTENTS = (63, 64, 65, 100, 128, 129, 257)


@dataclass
class _Drawing:
    rng: random.Random
    special: bool
    arguments: dict[str, torch.Tensor] = field(default_factory=dict)
    live: dict[str, torch.Tensor] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)

    def argument(self, shape: list[int], dtype: torch.dtype, kind: str = "values") -> str:
        """Adds an argument; the name of it."""
        if torch.Size(shape).numel() > MOST_ELEMENTS:
            raise DoesNotFitError
        name = f"a{len(self.arguments)}"
        if kind.startswith("below "):
            limit = int(kind.removeprefix("below "))
            if limit < 1:
                raise DoesNotFitError
            generator = torch.Generator().manual_seed(self.rng.getrandbits(62))
            value = torch.randint(0, limit, shape, generator=generator)
        else:
            value = make(self.rng, shape, dtype, special=self.special)
            if self.rng.random() < 0.5:
                value = laid_out(value, self.rng.choice(LAYOUTS))
        self.arguments[name] = value
        self.live[name] = same_layout(value)
        return name


def draw(seed: int) -> Program:
    """The program of `seed`.

    3 to 30 lines; every fourth program or so has special values (NaN, limits, signed zeros), every
    eighth empty dimensions.
    """
    rng = random.Random(seed)
    state = _Drawing(rng, special=rng.random() < 0.35)
    base = _base_shape(rng)
    dtypes = _dtypes(rng)
    for _ in range(rng.randint(1, 3)):
        state.argument(_variant(rng, base), rng.choice(dtypes))
    wanted = rng.choice([3, 4, 5, 6, 8, 10, 15, 20, 30])
    writes = rng.choice([0.0, 0.0, 0.1, 0.3])
    for _ in range(6 * wanted):
        if len(state.lines) >= wanted:
            break
        _try_line(state, writes)
    return Program(dict(state.arguments), state.lines, _results(state))


def _base_shape(rng: random.Random) -> list[int]:
    rank = rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 4])
    shape = [rng.choice(EXTENTS) for _ in range(rank)]
    if rank and rng.random() < 0.2:
        shape[rng.randrange(rank)] = rng.choice(LARGE_EXTENTS)
    if rank and rng.random() < 0.06:
        shape[rng.randrange(rank)] = 0
    is_small = prod(max(n, 1) for n in shape) <= MOST_ELEMENTS  # variants leave out empty ones
    return shape if is_small else shape[-2:]


def _variant(rng: random.Random, base: list[int]) -> list[int]:
    """A shape that broadcasts with `base`."""
    shape = [n if rng.random() < 0.85 else 1 for n in base]
    return shape[rng.choice([0, 0, 0, 1]) :]


def _dtypes(rng: random.Random) -> list[torch.dtype]:
    main = rng.choice([torch.float32] * 6 + [*FLOATS, *FLOATS, *INTEGERS, torch.bool, *COMPLEX])
    other = rng.choice([main, main, torch.float32, *FLOATS, torch.int64, torch.bool])
    return [main, main, other]


def _try_line(state: _Drawing, writes: float) -> None:
    """Adds a line, or leaves all as it was."""
    rng, before, given = state.rng, dict(state.live), dict(state.arguments)
    is_write = rng.random() < writes
    rows = STATEMENTS if is_write else EXPRESSIONS[rng.choice(list(EXPRESSIONS))]
    filling = Filling(rng, state.live, state.argument)
    try:
        text = filling.fill(rng.choice(rows))
        line = Line(text, None if is_write else f"v{len(state.lines)}", _unique(filling.uses))
        run = _run_write if is_write else _run_value
        line = run(state, line)
    except (DoesNotFitError, RuntimeError, IndexError, ValueError, TypeError, NotImplementedError):
        state.live, state.arguments = before, given
        return
    state.lines.append(line)


def _run_value(state: _Drawing, line: Line) -> Line:
    value: Any = _evaluate(line.text, state.live, eval)
    if isinstance(value, tuple | list):
        place = state.rng.randrange(len(value))
        line = Line(f"{line.text}[{place}]", line.defines, line.uses)
        value = value[place]
    if not isinstance(value, torch.Tensor) or value.numel() > MOST_ELEMENTS:
        raise DoesNotFitError
    assert line.defines is not None
    state.live[line.defines] = value
    return line


def _run_write(state: _Drawing, line: Line) -> Line:
    """Writes that torch refuses have no effect, so that nothing has to be undone."""
    if any(_shares_elements(state, name) for name in line.uses):
        raise DoesNotFitError
    shapes = {name: value.shape for name, value in state.live.items()}
    _evaluate(line.text, state.live, exec)
    if any(value.shape != shapes[name] for name, value in state.live.items()):
        raise DoesNotFitError
    return line


def _shares_elements(state: _Drawing, name: str) -> bool:
    """Whether elements of a tensor, or of the argument that it is a view of, share memory.

    What a write to them gives is open, and torch.compile refuses it.
    """
    if 0 in _strides(state.live[name]):
        return True
    memory = state.live[name].untyped_storage().data_ptr()
    shared = [n for n, value in state.arguments.items() if 0 in _strides(value)]
    return any(state.live[n].untyped_storage().data_ptr() == memory for n in shared)


def _strides(value: torch.Tensor) -> list[int]:
    return [s for s, n in zip(value.stride(), value.shape, strict=True) if n > 1]


def _evaluate(text: str, names: Mapping[str, torch.Tensor], how: Any) -> Any:
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        return how(text, {**GLOBALS, **names})


def _unique(names: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _results(state: _Drawing) -> list[str]:
    """What nobody reads, and now and then something else too."""
    made = [line.defines for line in state.lines if line.defines is not None]
    read = {name for line in state.lines for name in line.uses}
    chosen = [n for n in made if n not in read or state.rng.random() < 0.1]
    return chosen or made[-1:] or list(state.arguments)[:1]
