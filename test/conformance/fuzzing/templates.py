"""Lines of a table to lines of a program: what stands between braces is drawn.

A field is `{NAME}`, one that was drawn before, or `{NAME:KIND ARGUMENTS}`:

| kind | what is drawn |
|---|---|
| `float`, `int`, `real`, `bool`, `complex`, `any`; then `1d`, `2d+`, ... | a live tensor |
| `like X` | a tensor that broadcasts with X, of X's dtype or another of its kind, or a number |
| `same X` | a tensor of X's shape and dtype |
| `row X` | a tensor of X's dtype that broadcasts to X's shape |
| `new X SHAPE` | a new argument of X's dtype; SHAPE is Python |
| `index N SHAPE` | a new argument of int64, in [0, N) |
| `mask SHAPE` | a new argument of bool |
| `num X` | a number of X's kind |
| `dim X` | one of X's dimensions, perhaps counted from the end |
| `from A B` | an integer from A to B; both are Python |
| `one A\\|B\\|C` | one of these texts |

In Python texts the fields drawn so far are names: tensors, integers.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from typing import Any

import torch
from fuzzing.program import GLOBALS
from fuzzing.values import COMPLEX, FLOATS, INTEGERS

_FIELD = re.compile(r"\{(\w+)(?::(\w+)\s*([^{}]*))?\}")

_KINDS: dict[str, tuple[torch.dtype, ...]] = {
    "float": FLOATS,
    "int": INTEGERS,
    "real": FLOATS + INTEGERS,
    "bool": (torch.bool,),
    "complex": COMPLEX,
    "numeric": FLOATS + INTEGERS + COMPLEX,
    "any": FLOATS + INTEGERS + COMPLEX + (torch.bool,),
}


class DoesNotFitError(Exception):
    """No tensor of the program serves the template."""


class Filling:
    """One template being filled: what its fields stand for, as text and as value."""

    def __init__(
        self,
        rng: random.Random,
        live: Mapping[str, torch.Tensor],
        new: Callable[[list[int], torch.dtype, str], str],
    ) -> None:
        """`new` adds an argument of a shape, dtype and kind of values, and gives its name."""
        self._rng, self._live, self._add = rng, live, new
        self._text: dict[str, str] = {}
        self._value: dict[str, Any] = {}
        self.uses: list[str] = []

    def fill(self, template: str) -> str:
        """The line; raises DoesNotFitError. Tensors of the program are drawn first."""
        for match in _FIELD.finditer(template):
            if match[2] in _KINDS:
                self._field(match)
        text = template
        while _FIELD.search(text):  # fields stand in fields: the inner ones come first
            text = _FIELD.sub(self._field, text)
        return text

    def _field(self, match: re.Match[str]) -> str:
        name, kind, rest = match.groups()
        if kind is not None and name not in self._text:
            draw = getattr(self, f"_{kind}", None)
            text = draw(rest) if draw is not None else self._tensor(kind, rest)
            self._text[name] = text
            self._value[name] = self._live[text] if text in self._live else _number(text)
        return self._text[name]

    def _use(self, name: str) -> str:
        self.uses.append(name)
        return name

    def _tensor(self, kind: str, ranks: str) -> str:
        dtypes = _KINDS[kind]
        fits = [n for n, v in self._live.items() if v.dtype in dtypes and _rank_fits(v, ranks)]
        if not fits:
            raise DoesNotFitError
        recent = fits[-4:] if self._rng.random() < 0.7 else fits
        return self._use(self._rng.choice(recent))

    def _like(self, other: str) -> str:
        x = self._value[other]
        if self._rng.random() < 0.2:
            return self._num(other)
        kind = next(d for d in (FLOATS, INTEGERS, COMPLEX, (torch.bool,)) if x.dtype in d)
        allowed = (x.dtype,) if self._rng.random() < 0.7 else kind
        fits = [n for n, v in self._live.items() if v.dtype in allowed and _broadcasts(v, x)]
        if fits and self._rng.random() < 0.8:
            return self._use(self._rng.choice(fits))
        return self._fresh(self._narrowed(x), x.dtype)

    def _same(self, other: str) -> str:
        x = self._value[other]
        fits = [n for n, v in self._live.items() if v.dtype is x.dtype and v.shape == x.shape]
        if fits and self._rng.random() < 0.8:
            return self._use(self._rng.choice(fits))
        return self._fresh(list(x.shape), x.dtype)

    def _row(self, other: str) -> str:
        x = self._value[other]
        return self._fresh(self._narrowed(x), x.dtype)

    def _narrowed(self, x: torch.Tensor) -> list[int]:
        """A shape that broadcasts to that of `x`."""
        shape = [n if self._rng.random() < 0.8 else 1 for n in x.shape]
        return shape[self._rng.randint(0, len(shape)) if self._rng.random() < 0.3 else 0 :]

    def _new_argument(self, shape: str, dtype: torch.dtype, kind: str) -> str:
        return self._fresh([int(n) for n in self._python(shape)], dtype, kind)

    def _fresh(self, shape: list[int], dtype: torch.dtype, kind: str = "values") -> str:
        return self._use(self._add(shape, dtype, kind))

    def _new(self, rest: str) -> str:
        other, _, shape = rest.partition(" ")
        return self._new_argument(shape, self._value[other].dtype, "values")

    def _index(self, rest: str) -> str:
        limit, _, shape = rest.partition(" ")
        return self._new_argument(shape, torch.int64, f"below {self._python(limit)}")

    def _mask(self, shape: str) -> str:
        return self._new_argument(shape, torch.bool, "values")

    def _num(self, other: str) -> str:
        x = self._value[other]
        if x.dtype in FLOATS + COMPLEX:
            return self._rng.choice(["0.5", "-1.5", "2", "3.0", "0.1", "1", "-0.0"])
        return self._rng.choice(["1", "2", "3", "7", "-2" if x.dtype is not torch.uint8 else "5"])

    def _dim(self, other: str) -> str:
        rank = self._value[other].dim()
        if not rank:
            raise DoesNotFitError
        return str(self._rng.randint(-rank, rank - 1))

    def _from(self, rest: str) -> str:
        low, _, high = rest.partition(" ")
        low, high = (int(self._python(text)) for text in (low, high))
        if low > high:
            raise DoesNotFitError
        return str(self._rng.randint(low, high))

    def _one(self, rest: str) -> str:
        return self._rng.choice(rest.split("|"))

    def _python(self, text: str) -> Any:
        return eval(text, {**GLOBALS, **self._value})


def _number(text: str) -> Any:
    try:
        return int(text)
    except ValueError:
        return text


def _rank_fits(value: torch.Tensor, ranks: str) -> bool:
    if not ranks:
        return True
    least = int(ranks.rstrip("d+"))
    return value.dim() >= least if ranks.endswith("+") else value.dim() == least


def _broadcasts(one: torch.Tensor, other: torch.Tensor) -> bool:
    try:
        shape = torch.broadcast_shapes(one.shape, other.shape)
    except RuntimeError:
        return False
    return shape.numel() <= 4 * max(one.numel(), other.numel(), 16)
