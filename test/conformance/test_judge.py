"""The rules for results that eager mode itself has only roughly."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from fuzzing.definitions import defined  # noqa: E402
from judge import is_no_worse  # noqa: E402
from sensitivity import is_within_reach, nudged  # noqa: E402

INFO = SimpleNamespace(decorators=())


@pytest.mark.parametrize(
    ("exact", "expected", "actual", "admitted"),
    [
        ([1.0, 9.0], [1.2, 9.0], [1.1, 9.0], True),  # nearer where it differs
        ([1.0, 9.0], [1.1, 9.0], [1.2, 9.0], False),  # further
        ([1.0, 9.0], [1.2, 9.0], [1.1, 9.2], False),  # nearer in one, apart and further in another
        ([1.0, 900.0], [1.2, 900.1], [1.1, 900.3], True),  # further where the tolerance admits it
        ([1.0, 2.0], [1.0, float("nan")], [1.0, 2.0], False),  # NaN in another place
        ([1.0, 2.0], [1.0, float("inf")], [1.0, float("-inf")], False),
    ],
)
def test_elements_outside_the_tolerance_must_be_nearer(
    exact: list[float], expected: list[float], actual: list[float], admitted: bool
) -> None:
    """Default tolerance of f16: a thousandth."""
    one, other = (torch.tensor(values, dtype=torch.float16) for values in (expected, actual))
    assert is_no_worse(torch.tensor(exact).double(), one, other, INFO) is admitted


@pytest.mark.parametrize(
    ("expected", "actual", "beside", "admitted"),
    [
        ([1.2, 5.0], [0.8, 5.0], [[1.3, 5.0], [1.1, 5.0]], True),  # inputs beside do as much
        ([1.2, 5.0], [0.8, 5.0], [[1.1, 5.0], [1.1, 5.0]], False),  # they do less
        ([1.2, 5.0], [1.1, 5.1], [[1.3, 5.0], [0.9, 5.0]], False),  # less in one element
        ([1.01, 5.0], [0.8, 5.0], [[1.3, 5.0], [1.1, 5.0]], False),  # eager mode is precise enough
        ([1.2, 5.0], [float("nan"), 5.0], [[1.3, 5.0], [0.9, 5.0]], False),
    ],
)
def test_the_last_bit_of_an_input_may_decide(
    expected: list[float], actual: list[float], beside: list[list[float]], admitted: bool
) -> None:
    """The exact result is 1 and 5, the tolerance 0.05."""
    exact, one, other = (torch.tensor(v).double() for v in ([1.0, 5.0], expected, actual))
    near = [torch.tensor(v).double() for v in beside]
    assert is_within_reach(exact, one, other, near, (0.0, 0.05)) is admitted


def test_neighbours_are_one_unit_in_the_last_place_away() -> None:
    """Numbers stay or move by one; integers stay."""
    x, n = torch.linspace(-3, 7, 1000), torch.arange(5)
    moved, same = nudged([x, n], seed=0)
    apart = moved.view(torch.int32) - x.view(torch.int32)
    assert set(apart.tolist()) == {-1, 0, 1}
    assert torch.equal(same, n)


@pytest.mark.parametrize(("shape", "dim", "count"), [((3, 4), -2, 2), ((4,), 0, 3), ((), 0, 1)])
def test_index_add_of_complex_numbers_is_that_of_their_parts(
    shape: tuple[int, ...], dim: int, count: int
) -> None:
    """Eager mode multiplies vectors by a complex 1: no number is left beside an infinite part."""
    sizes = list(shape)
    if shape:
        sizes[dim] = count
    x = torch.full(shape, 1 + 2j, dtype=torch.complex64)
    source = torch.full(sizes, complex(3, -float("inf")), dtype=torch.complex64)
    index = torch.zeros(count, dtype=torch.int64)
    wanted = x.real.index_add(dim, index, source.real)
    made = x.index_add(dim, index, source)
    assert made.real.isnan().any() == (len(shape) < 2)
    meant = defined(torch.ops.aten.index_add.default, (x, dim, index, source), {}, made, 0)
    assert torch.equal(meant.real, wanted)
    assert meant.imag.isneginf().any()


def test_terms_that_overflow_may_come_first() -> None:
    """Of 2 p - 2 p + p / 2, where 2 p overflows: infinite of either sign, or no number."""
    p = torch.full((1, 3), 3e38)
    rows, other = torch.tensor([[2.0, -2.0, 0.5]]).T, torch.zeros(1)
    made = torch.addmm(other, p, rows)
    define = torch.ops.aten.addmm.default
    found = [float(defined(define, (other, p, rows), {}, made, n)) for n in range(4)]
    wanted = [1.5e38, math.nan, math.inf, -math.inf]
    assert found == pytest.approx(wanted, nan_ok=True)
    same = defined(define, (other, p / 4, rows), {}, made / 4, 2)
    assert float(same) == pytest.approx(3.75e37)


def test_logarithms_near_zero_are_off_by_units_of_what_is_added() -> None:
    x = torch.tensor([-0.6931, -0.6935])
    made = torch.logaddexp(x, x)
    moved = [defined(torch.ops.aten.logaddexp.default, (x, x), {}, made, n) for n in range(4)]
    away = torch.stack(moved).sub(made).abs().amax(0)
    unit = torch.finfo(torch.float32).eps / 2  # of a number near 0.69
    assert ((away > 0) & (away <= 2 * unit)).all()


@pytest.mark.parametrize(
    ("factors", "odd"),
    [
        ([1e300, 1e300, 1e-300, 1e-300], True),  # from its ends it is a number
        ([float("inf"), 1e-300, 1e-300], True),
        ([float("inf"), 1e-300, 2.0], False),
        ([1e300, 1e300, 0.5], False),
    ],
)
def test_factors_that_overflow_and_underflow_may_be_no_number(
    factors: list[float], odd: bool
) -> None:
    x = torch.tensor(factors, dtype=torch.float64)
    made = torch.prod(x)
    meant = [defined(torch.ops.aten.prod.default, (x,), {}, made, variant) for variant in (0, 1)]
    assert meant[0] is None
    assert meant[1].isnan() == odd
