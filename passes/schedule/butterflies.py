"""Fourier transforms of a few numbers in registers: the steps of longer ones.

Numbers are pairs of a real and an imaginary part. Composite sizes are two rounds of smaller ones
(Cooley and Tukey), primes are sums of pairs that mirror each other. What does the arithmetic is
given, so that operations can be counted as well as emitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import cos, isqrt, pi, sin
from typing import Generic, Protocol, TypeVar

V = TypeVar("V")


class Arithmetic(Protocol[V]):
    """Sums, differences and products by constants of whatever stands for real numbers."""

    def add(self, left: V, right: V) -> V:
        """left + right."""
        ...

    def sub(self, left: V, right: V) -> V:
        """left - right."""
        ...

    def scaled(self, factor: float, value: V) -> V:
        """factor * value."""
        ...

    def added(self, total: V, factor: float, value: V) -> V:
        """total + factor * value."""
        ...


class Butterfly(Generic[V]):
    """Transforms of `turn` = -1 (forward) or 1 (inverse)."""

    def __init__(self, arithmetic: Arithmetic[V], turn: int) -> None:
        self.a = arithmetic
        self.turn = turn

    def transform(self, x: Sequence[tuple[V, V]]) -> list[tuple[V, V]]:
        """Sums over n of x[n] exp(turn 2 pi i k n / N), for each k."""
        size = len(x)
        if size == 1:
            return list(x)
        first = _factor(size)
        if first == size:
            return self._pair(x) if size == 2 else self._prime(x)
        second = size // first
        # n = second n1 + n2 and k = k1 + first k2.
        lines = [
            self.transform([x[second * n + rest] for n in range(first)]) for rest in range(second)
        ]
        made: list[tuple[V, V]] = [x[0]] * size
        for k in range(first):
            turned = [self.turned(lines[n][k], k * n, size) for n in range(second)]
            for place, value in enumerate(self.transform(turned)):
                made[k + first * place] = value
        return made

    def turned(self, value: tuple[V, V], part: int, whole: int) -> tuple[V, V]:
        """A number turned by a part of a whole turn."""
        a, (re, im) = self.a, value
        part = self.turn * part % whole
        if part == 0:
            return value
        if 2 * part == whole:
            return a.scaled(-1, re), a.scaled(-1, im)
        if 4 * part == whole:
            return a.scaled(-1, im), re
        if 4 * part == 3 * whole:
            return im, a.scaled(-1, re)
        c, s = cos(2 * pi * part / whole), sin(2 * pi * part / whole)
        return (
            a.added(a.scaled(c, re), -s, im),
            a.added(a.scaled(c, im), s, re),
        )

    def _pair(self, x: Sequence[tuple[V, V]]) -> list[tuple[V, V]]:
        (re, im), (other_re, other_im) = x
        a = self.a
        return [
            (a.add(re, other_re), a.add(im, other_im)),
            (a.sub(re, other_re), a.sub(im, other_im)),
        ]

    def _prime(self, x: Sequence[tuple[V, V]]) -> list[tuple[V, V]]:
        """Of an odd number: x[n] and x[N - n] have the same cosine and opposite sines."""
        a, size = self.a, len(x)
        half = range(1, size // 2 + 1)
        both = [[a.add(x[n][p], x[size - n][p]) for p in (0, 1)] for n in half]
        apart = [[a.sub(x[n][p], x[size - n][p]) for p in (0, 1)] for n in half]
        first: list[V] = []
        for part in (0, 1):
            total = x[0][part]
            for value in both:
                total = a.add(total, value[part])
            first.append(total)
        made: list[tuple[V, V]] = [(first[0], first[1])] * size
        for k in half:
            even = [x[0][0], x[0][1]]
            odd: list[V] = []
            for part in (0, 1):
                for n in half:
                    even[part] = a.added(even[part], _cosine(k * n, size), both[n - 1][part])
                total = a.scaled(self.turn * _sine(k, size), apart[0][part])
                for n in half[1:]:
                    total = a.added(total, self.turn * _sine(k * n, size), apart[n - 1][part])
                odd.append(total)
            made[k] = a.sub(even[0], odd[1]), a.add(even[1], odd[0])
            made[size - k] = a.add(even[0], odd[1]), a.sub(even[1], odd[0])
        return made


def _cosine(part: int, whole: int) -> float:
    return cos(2 * pi * (part % whole) / whole)


def _sine(part: int, whole: int) -> float:
    return sin(2 * pi * (part % whole) / whole)


def _factor(size: int) -> int:
    """The first of two rounds: 4 where it divides, else the least prime; a prime itself."""
    if size % 4 == 0 and size > 4:
        return 4
    return next((n for n in range(2, isqrt(size) + 1) if size % n == 0), size)


def is_prime(number: int) -> bool:
    """Whether it has no divisors but 1 and itself."""
    return all(number % divisor for divisor in range(2, isqrt(number) + 1))


def prime_factors(number: int) -> list[int]:
    """The least first; none of 1."""
    least = next((n for n in range(2, isqrt(number) + 1) if number % n == 0), number)
    return [] if number == 1 else [least, *prime_factors(number // least)]


class _Count:
    """Counts operations."""

    def __init__(self) -> None:
        self.operations = 0

    def add(self, left: None, right: None) -> None:
        self.operations += 1

    def sub(self, left: None, right: None) -> None:
        self.operations += 1

    def scaled(self, factor: float, value: None) -> None:
        self.operations += abs(factor) != 1

    def added(self, total: None, factor: float, value: None) -> None:
        self.operations += 1


@lru_cache
def butterfly_operations(size: int) -> int:
    """Additions, products and products into sums that a transform of so many numbers takes."""
    count = _Count()
    Butterfly(count, -1).transform([(None, None)] * size)
    return count.operations
