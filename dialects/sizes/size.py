"""Sizes as polynomials over named ones, each of which has a range.

A `Size` is what a number is where it is not known yet: it is added, multiplied, divided and
compared as an `int`, so that what computes shapes from numbers computes them from sizes as well.
What the ranges do not decide is never guessed in silence. An order that is open is an
`UndecidedSizeError`. Two sizes that may or may not be equal count as different, and `assumptions`
tells whoever asked which these were, to try what holds where they are equal.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import product
from math import inf, lcm, prod
from typing import TypeAlias

from lamina.dialects.records import record

Extent: TypeAlias = "int | Size"
"""An extent that is known, or one that is not."""


class UndecidedSizeError(ValueError):
    """The ranges of sizes do not tell what was asked."""


@record
class Range:
    """`least`, `least + step` and so on up to `most`, which None leaves open."""

    least: int = 0
    most: int | None = None
    step: int = 1

    def holds(self, value: int) -> bool:
        """Whether a size of this range may have this value."""
        if value < self.least or (self.most is not None and value > self.most):
            return False
        return (value - self.least) % self.step == 0

    def some(self, place: int) -> int:
        """One of its values; another for each place, while it has more."""
        value = self.least + self.step * place
        return value if self.holds(value) else self.least

    def __str__(self) -> str:
        step = f" step {self.step}" if self.step != 1 else ""
        return f"[{self.least}, {'?' if self.most is None else self.most}]{step}"


@record
class SizeName:
    """What a size of an argument is called, and what it may be."""

    text: str
    range: Range = Range()
    quotient: tuple[Size, int] | None = None
    """What it is, where it is another size divided by a number and rounded down."""


Monomial: TypeAlias = tuple[SizeName, ...]
"""A product of names in order; the empty one is 1."""

Assumption: TypeAlias = "tuple[Size, Extent]"
"""Two sizes that were taken for different, and may be equal."""

_quotients: ContextVar[bool] = ContextVar("quotients", default=False)


@contextmanager
def quotients() -> Iterator[None]:
    """In this scope a size divided by a number is a size of its own, where it is no polynomial."""
    token = _quotients.set(True)
    try:
        yield
    finally:
        _quotients.reset(token)


_assumed: ContextVar[list[Assumption] | None] = ContextVar("assumed", default=None)


@contextmanager
def assumptions() -> Iterator[list[Assumption]]:
    """Collects what is taken for different in this scope, though ranges leave it open."""
    found: list[Assumption] = []
    token = _assumed.set(found)
    try:
        yield found
    finally:
        _assumed.reset(token)


class Size:
    """A polynomial over names with integer coefficients, that is no constant.

        batch = Size.of(SizeName("batch", Range(1, 128)))
        assert str(2 * batch + 1) == "2 * batch + 1"
        assert (8 * batch) // 4 == 2 * batch and 8 * batch % 4 == 0 and batch < 129

    Results of arithmetic that are constants are of type `int`.
    """

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: Mapping[Monomial, int]) -> None:
        self.terms: tuple[tuple[Monomial, int], ...] = tuple(sorted(terms.items(), key=_order))
        self._hash = hash(self.terms)

    @classmethod
    def of(cls, name: SizeName) -> Size:
        """The size that has this name."""
        return cls({(name,): 1})

    @property
    def names(self) -> frozenset[SizeName]:
        """All names that it depends on."""
        return frozenset(name for monomial, _ in self.terms for name in monomial)

    @property
    def is_linear(self) -> bool:
        """Whether it is a multiple of one name, with an offset."""
        return [len(monomial) for monomial, _ in self.terms if monomial] == [1]

    @property
    def has_quotients(self) -> bool:
        """Whether a name stands for another size divided by a number."""
        return any(name.quotient is not None for name in self.names)

    @property
    def is_name(self) -> bool:
        """Whether it is one name, and nothing else."""
        return len(self.terms) == 1 and self.terms[0][1] == 1 and len(self.terms[0][0]) == 1

    @property
    def range(self) -> tuple[float, float]:
        """Bounds of its value: integers, or infinite ones."""
        low = high = 0.0
        for monomial, coefficient in self.terms:
            least = coefficient * prod(name.range.least for name in monomial)
            tops = [inf if name.range.most is None else name.range.most for name in monomial]
            most = coefficient * (0 if 0 in tops else prod(tops))
            low, high = low + min(least, most), high + max(least, most)
        return low, high

    def at(self, values: Mapping[SizeName, int]) -> Extent:
        """The size where these names have these values; a number where no other name is left."""
        total: Extent = 0
        for monomial, coefficient in self.terms:
            term: Extent = coefficient
            for name in monomial:
                term = term * _value_at(name, values)
            total = total + term
        return total

    def solve(self, value: int) -> tuple[SizeName, int] | None:
        """The name and its value where this size is `value`; None for no such integer.

        For sizes linear in one name only. Raises UndecidedSizeError for others.
        """
        if not self.is_linear:
            raise UndecidedSizeError(f"{self} is not linear in one name")
        terms = dict(self.terms)
        constant = terms.pop((), 0)
        ((monomial, coefficient),) = terms.items()
        found, rest = divmod(value - constant, coefficient)
        return None if rest else (monomial[0], found)

    # Arithmetic

    def __add__(self, other: Extent) -> Extent:
        if not isinstance(other, int | Size):
            return NotImplemented
        terms = dict(self.terms)
        for monomial, coefficient in _terms(other):
            terms[monomial] = terms.get(monomial, 0) + coefficient
        return _made(terms)

    def __mul__(self, other: Extent) -> Extent:
        if not isinstance(other, int | Size):
            return NotImplemented
        terms: dict[Monomial, int] = {}
        for (one, by), (two, also) in product(self.terms, _terms(other)):
            monomial = tuple(sorted((*one, *two), key=_text))
            terms[monomial] = terms.get(monomial, 0) + by * also
        return _made(terms)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Extent:
        return self * -1

    def __sub__(self, other: Extent) -> Extent:
        return self + other * -1

    def __rsub__(self, other: int) -> Extent:
        return self * -1 + other

    def __floordiv__(self, other: Extent) -> Extent:
        if self == other:
            return 1
        if not isinstance(other, int):
            return _quotient(self, other)
        terms = {monomial: c // other for monomial, c in self.terms}
        if any(c % other for monomial, c in self.terms if monomial):
            if _quotients.get() and other > 0:
                return _quotient_by_number(self, other)
            raise UndecidedSizeError(f"{self} divided by {other}, rounded down, is not known")
        return _made(terms)

    def __rfloordiv__(self, other: int) -> Extent:
        if 0 <= other < self.range[0]:
            return 0
        raise UndecidedSizeError(f"{other} divided by {self}, rounded down, is not known")

    def __mod__(self, other: Extent) -> Extent:
        if not isinstance(other, int):
            return self - (self // other) * other
        rest = 0
        for monomial, coefficient in self.terms:
            only = monomial[0].range if len(monomial) == 1 else Range()
            if monomial and coefficient * only.step % other:
                if _quotients.get() and other > 0:
                    return self - (self // other) * other
                raise UndecidedSizeError(f"the remainder of {self} by {other} is not known")
            rest += coefficient * (only.least if monomial else 1)
        return rest % other

    def __rmod__(self, other: int) -> Extent:
        if 0 <= other < self.range[0]:
            return other
        raise UndecidedSizeError(f"the remainder of {other} by {self} is not known")

    # Comparison

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, int | Size):
            return False
        if isinstance(other, Size) and self.terms == other.terms:
            return True
        apart = self - other
        low, high = (apart, apart) if isinstance(apart, int) else apart.range
        found = _assumed.get()
        if found is not None and low <= 0 <= high:
            found.append((self, other))
        return False

    def __hash__(self) -> int:
        return self._hash

    def __bool__(self) -> bool:
        return self != 0

    def __lt__(self, other: Extent) -> bool:
        return self._below(other, 0, "<")

    def __le__(self, other: Extent) -> bool:
        return self._below(other, 1, "<=")

    def __gt__(self, other: Extent) -> bool:
        return not self._below(other, 1, "<=")

    def __ge__(self, other: Extent) -> bool:
        return not self._below(other, 0, "<")

    def _below(self, other: Extent, by: int, sign: str) -> bool:
        apart = self - other
        low, high = (apart, apart) if isinstance(apart, int) else apart.range
        if high < by:
            return True
        if low >= by:
            return False
        if isinstance(apart, Size) and apart.has_quotients:
            # Of a multiple of the divisors quotients are known most exactly.
            factor = lcm(*(name.quotient[1] for name in apart.names if name.quotient))
            wide = apart * factor
            assert isinstance(wide, Size)
            most, least = _without_quotients(wide, up=True), _without_quotients(wide, up=False)
            if (most if isinstance(most, int) else most.range[1]) < by * factor:
                return True
            if (least if isinstance(least, int) else least.range[0]) >= by * factor:
                return False
        raise UndecidedSizeError(f"whether {self} {sign} {other} is not known")

    # Text

    def __str__(self) -> str:
        parts: list[str] = []
        for monomial, coefficient in self.terms:
            sign = "-" if coefficient < 0 else "+"
            names = [name.text for name in monomial]
            factors = names if names and abs(coefficient) == 1 else [str(abs(coefficient)), *names]
            lead = f" {sign} " if parts else "-" * (coefficient < 0)
            parts.append(lead + " * ".join(factors))
        return "".join(parts)

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return str(self)


def telling(sizes: Sequence[Size]) -> tuple[list[int], list[int]]:
    """The places of sizes in an order in which each tells one name at most that those before it do
    not tell, as a multiple of it, those of one name first; and the places of others."""
    known: set[SizeName] = set()
    order: list[int] = []
    left = sorted(range(len(sizes)), key=lambda place: len(sizes[place].names) > 1)
    while (found := next((n for n in left if _tells_one(sizes[n], known)), None)) is not None:
        known |= sizes[found].names
        order.append(found)
        left.remove(found)
    return order, left


def _tells_one(size: Size, known: Collection[SizeName]) -> bool:
    """Whether at most one name is not known, which stands in no product."""
    open_names = size.names.difference(known)
    single = {names[0] for names, _ in size.terms if len(names) == 1}
    joined = {name for names, _ in size.terms if len(names) > 1 for name in names}
    return len(open_names) <= 1 and open_names <= single - joined


def _value_at(name: SizeName, values: Mapping[SizeName, int]) -> Extent:
    """What a name is where these have these values."""
    if name in values:
        return values[name]
    if name.quotient is None:
        return Size.of(name)
    size, by = name.quotient
    inner = size.at(values)
    if isinstance(inner, int):
        return inner // by
    return Size.of(name) if inner == size else _quotient_by_number(inner, by)


def _quotient_by_number(size: Size, by: int) -> Size:
    """A size of its own: another one divided by a positive number, rounded down."""
    low, high = size.range
    least = 0 if low == -inf else int(low) // by
    most = None if high == inf else int(high) // by
    return Size.of(SizeName(f"(({size}) floordiv {by})", Range(least, most), (size, by)))


def _without_quotients(size: Size, *, up: bool) -> Extent:
    """A bound of a size: where the multiple of a quotient is one of its divisor, by q lies between
    what is divided less (by - 1), and that."""
    total: Extent = 0
    for monomial, coefficient in size.terms:
        only = monomial[0] if len(monomial) == 1 else None
        if only is None or only.quotient is None or coefficient % only.quotient[1]:
            total = total + _made({monomial: coefficient})
            continue
        divided, by = only.quotient
        bound = divided if (coefficient > 0) == up else divided - (by - 1)
        total = total + bound * (coefficient // by)
    return total


def _terms(extent: Extent) -> tuple[tuple[Monomial, int], ...]:
    return extent.terms if isinstance(extent, Size) else (((), int(extent)),)


def _made(terms: Mapping[Monomial, int]) -> Extent:
    left = {monomial: coefficient for monomial, coefficient in terms.items() if coefficient}
    return left.get((), 0) if not left.keys() - {()} else Size(left)


def _quotient(size: Size, by: Size) -> Extent:
    """A size divided by one of one term, where nothing is left."""
    open_ = UndecidedSizeError(f"{size} divided by {by}, rounded down, is not known")
    if len(by.terms) != 1:
        raise open_
    ((names, factor),) = by.terms
    terms: dict[Monomial, int] = {}
    for monomial, coefficient in size.terms:
        left = list(monomial)
        for name in names:
            if name not in left:
                raise open_
            left.remove(name)
        if coefficient % factor:
            raise open_
        terms[tuple(left)] = coefficient // factor
    return _made(terms)


def _text(name: SizeName) -> str:
    return name.text


def _order(term: tuple[Monomial, int]) -> tuple[bool, list[str]]:
    """By names; a constant stands last."""
    return not term[0], [name.text for name in term[0]]
