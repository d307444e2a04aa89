"""Numbers at which loops end: groups of elements, and windows over groups."""

from __future__ import annotations

from itertools import product

import pytest
from xdsl.dialects.builtin import TensorType, i64
from xdsl.dialects.test import TestOp

from lamina.passes.fusion.element_limits import Limit, Reach, tightest

COUNT, OTHER = TestOp(result_types=[TensorType(i64, [])] * 2).results
NUMBERS = range(40)


@pytest.mark.parametrize("size", [1, 2, 3, 32])
@pytest.mark.parametrize(("factor", "offset"), [(1, 0), (1, 3), (2, -1), (3, 2)])
def test_as_many_groups_as_there_are(size: int, factor: int, offset: int) -> None:
    """The last group may not be whole."""
    end = Reach(COUNT, factor, offset).groups(size)
    for number in NUMBERS:
        wanted = factor * number + offset
        assert end.at(number) * size >= wanted > (end.at(number) - 1) * size


def test_groups_of_groups() -> None:
    """Pairs of pairs are groups of four."""
    end = Reach(COUNT).groups(2).groups(2)
    assert [end.at(number) for number in (0, 1, 4, 5, 8)] == [0, 1, 1, 2, 2]


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize(("factor", "offset"), [(1, 0), (1, 2), (2, 2), (3, 1), (4, 0)])
def test_windows_over_groups_end_no_earlier(size: int, factor: int, offset: int) -> None:
    """And by less than a group later."""
    groups = Reach(COUNT, least=3).groups(size)
    end = groups.then(factor, offset)
    for number in NUMBERS:
        exact = factor * groups.at(number) + offset
        assert exact <= end.at(number) < exact + factor * size + 1


def test_of_ends_one_behind_another_the_first_is_kept() -> None:
    """Others, and what needs no arithmetic, stay."""
    ends = [Reach(COUNT), Reach(COUNT, offset=3), Reach(COUNT, offset=-1), Reach(OTHER, offset=3)]
    ends += [Reach(COUNT, factor=2, offset=3), Reach(COUNT, offset=3, divisor=2)]
    kept = tightest(frozenset(Limit(1, 64, end) for end in ends))
    assert {limit.end for limit in kept} == {*ends} - {ends[1]}
    apart = frozenset({Limit(1, 64, ends[0]), Limit(64, 8, ends[1])})
    assert tightest(apart) == apart


def test_a_limit_is_dropped_only_where_another_holds() -> None:
    """Whatever the number is."""
    ends = [Reach(COUNT, 1, *own) for own in product(range(-1, 3), (0, 4))]
    for one, other in product(ends, ends):
        kept = tightest(frozenset({Limit(1, 64, one), Limit(1, 64, other)}))
        for number in NUMBERS:
            assert min(limit.end.at(number) for limit in kept) == min(  # pyright: ignore
                one.at(number), other.at(number)
            )
