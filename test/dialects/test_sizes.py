"""Sizes are computed with as numbers are, and what ranges do not decide is not guessed."""

from itertools import product

import pytest

from lamina.dialects.sizes import (
    Extent,
    Range,
    Size,
    SizeName,
    UndecidedSizeError,
    assumptions,
    quotients,
    telling,
)

BATCH = Size.of(SizeName("batch", Range(1, 128)))
LENGTH = Size.of(SizeName("length", Range(0, None, 16)))
VALUES: list[dict[str, int]] = [
    dict(zip(("batch", "length"), v, strict=True)) for v in product((1, 3, 128), (0, 16, 48))
]


def at(size: Extent, values: dict[str, int]) -> Extent:
    if not isinstance(size, Size):
        return size
    return size.at({name: values[name.text] for name in size.names})


@pytest.mark.parametrize(
    "function",
    [
        lambda b, n: 2 * b + 3 - b,
        lambda b, n: (b + n) * (b - n) + 1,
        lambda b, n: -(b - 5) * n,
        lambda b, n: (8 * b * n) // 4,
        lambda b, n: (6 * b + 7) // 3,
        lambda b, n: (b * n + 2 * b) // b,
        lambda b, n: (12 * b * b * n) // (4 * b),
        lambda b, n: n % 8 + (4 * b + 3) % 4,
        lambda b, n: (b * n) % b,
        lambda b, n: b - b + 7,
    ],
)
def test_arithmetic_is_that_of_numbers(function) -> None:
    size = function(BATCH, LENGTH)
    for values in VALUES:
        assert at(size, values) == function(values["batch"], values["length"])


def test_equal_sizes_are_equal_and_constants_are_numbers() -> None:
    assert BATCH * LENGTH == LENGTH * BATCH and hash(BATCH + 1) == hash(1 + BATCH)
    assert type(BATCH - BATCH) is int and BATCH // BATCH == 1
    assert Size.of(SizeName("batch", Range(1, 64))) != BATCH


def test_order_follows_from_ranges() -> None:
    assert BATCH < 129 and BATCH >= 1 and LENGTH >= 0 and BATCH * BATCH <= 128 * 128
    assert not BATCH > 128 and max(BATCH, 1) is BATCH
    for question in (lambda: BATCH < 5, lambda: LENGTH > 0, lambda: BATCH < LENGTH):
        with pytest.raises(UndecidedSizeError, match="is not known"):
            question()


@pytest.mark.parametrize(
    "function",
    [lambda b: b // 2, lambda b: b % 3, lambda b: 7 // b, lambda b: 7 % b, lambda b: b // (b + 1)],
)
def test_undecided_division_is_an_error(function) -> None:
    with pytest.raises(UndecidedSizeError, match="is not known"):
        function(BATCH)


def test_what_may_be_equal_is_told() -> None:
    with assumptions() as found:
        assert BATCH != 1 and BATCH != 0 and BATCH != 129 and BATCH != LENGTH and LENGTH
    assert found == [(BATCH, 1), (BATCH, LENGTH), (LENGTH, 0)]


def test_text() -> None:
    assert str(2 * BATCH * LENGTH - BATCH + 1) == "-batch + 2 * batch * length + 1"
    assert str(1 - BATCH) == "-batch + 1"


def test_solve() -> None:
    name = SizeName("batch", Range(1, 128))
    assert (2 * BATCH + 1).solve(9) == (name, 4)  # pyright: ignore - a Size
    assert (2 * BATCH + 1).solve(8) is None  # pyright: ignore - a Size
    with pytest.raises(UndecidedSizeError, match="not linear"):
        (BATCH * LENGTH).solve(4)  # pyright: ignore - a Size


def test_which_sizes_tell_their_names() -> None:
    a, b, c = (Size.of(SizeName(text)) for text in "abc")
    assert telling([a + b, b + c + 1, 2 * a]) == ([2, 0, 1], [])
    assert telling([a * b, a, b + 1]) == ([1, 2, 0], [])
    assert telling([a * b, a]) == ([1], [0])  # where a is 0, nothing is said of b
    assert telling([a + b]) == ([], [0])


def test_what_is_divided_is_compared_with_what_it_is_of() -> None:
    with quotients():
        half = (BATCH - 1) // 2
        assert half + 1 <= BATCH and not half >= BATCH and half < BATCH
        assert half >= 0 and 2 * half >= BATCH - 2 and (BATCH + 2) // 3 <= BATCH
        for question in (lambda: half > 1, lambda: half * 3 <= BATCH, lambda: LENGTH // 5 < LENGTH):
            with pytest.raises(UndecidedSizeError):
                question()
