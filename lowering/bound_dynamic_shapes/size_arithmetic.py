"""Counts that follow from others, each made once: what is equal is then one value.

A count is known as a sum of multiples of others, and of quotients of such sums. Two ways through a
network that shrink an image alike end in the same size, as does an image that is halved, doubled,
and padded by what is left over; neither needs a check.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Number, Sum, known

_Limits = tuple[int | None, int | None]


def affine(size: Number, factor: int, offset: int, b: BoundBuilder) -> Number:
    """`factor * size + offset`."""
    return _made(_scaled(_sum_of(size, b), factor, offset), b)


def total(one: Number, other: Number, b: BoundBuilder) -> Number:
    """`one + other`, integers."""
    return _made(_added(_sum_of(one, b), _sum_of(other, b)), b)


def difference(one: Number, other: Number, b: BoundBuilder) -> Number:
    """`one - other`, integers."""
    return _made(_added(_sum_of(one, b), _scaled(_sum_of(other, b), -1)), b)


def quotient(size: Number, offset: int, by: int, b: BoundBuilder) -> Number:
    """`(size + offset) // by`, rounded down, for a positive divisor."""
    return _made(_divided(_scaled(_sum_of(size, b), 1, offset), by, b), b)


def quotient_of_products(one: Number, other: Number, b: BoundBuilder) -> Number | None:
    """What is left of a product that is divided by some of its factors; None for other divisors.

    Windows of an image are counted so: `b * (h // 4) * (w // 4) * 16 * c` by `16 * c`, and patches
    of a single one: `3 * (h // 4) * (w // 4) * 16` by `48`.
    """
    (constant, counts), (divisor, shared) = _parts(one, b), _parts(other, b)
    left = list(counts)
    for count in shared:
        place = next((n for n, own in enumerate(left) if own.value is count.value), None)
        if place is None:
            return None
        del left[place]
    if divisor <= 0 or constant % divisor or (not shared and len(counts) < 2):
        return None  # what is no product is a sum
    return b.product(*left, known(constant // divisor))


def _parts(number: Number, b: BoundBuilder) -> tuple[int, list[Number]]:
    """A constant and counts of which a number is the product."""
    constant, counts, waiting = 1, list[Number](), [number]
    while waiting:
        part = waiting.pop(0)
        value = part.value
        if part.constant is not None:
            constant *= part.constant
        elif isinstance(value, SSAValue) and value in b.state.products:
            waiting = [*b.state.products[value], *waiting]
        else:
            found = _sum_of(part, b)
            if len(found.factors) == 1 and not found.offset:
                ((value, factor),) = found.factors.items()
                if factor > 0:
                    constant, part = constant * factor, _made(Sum({value: 1}), b)
            if part.value in b.state.products:  # a multiple of a product
                waiting = [part, *waiting]
            else:
                counts.append(part)
    return constant, counts


def positive(number: Number, b: BoundBuilder) -> Number:
    """A number, or 0 where it is negative; of equal numbers one value."""
    if number.constant is not None:
        return known(max(number.constant, 0))
    if number.least is not None and number.least >= 0:
        return number
    value = b.as_tensor(number)
    found = b.state.positive.get(value)
    if found is None:
        found = b.state.positive[value] = b("clamp_min.default", value, 0)
    return Number(found, None if number.most is None else max(number.most, 0), 0)


def divides(by: int, size: Number, b: BoundBuilder) -> bool:
    """Whether a size is known to be a multiple of a number."""
    found = _sum_of(size, b)
    return found.offset % by == 0 and all(factor % by == 0 for factor in found.factors.values())


def resized(tensor: Bounded, value: SSAValue, sizes: dict[int, Number], b: BoundBuilder) -> Bounded:
    """`value` with the sizes of a tensor, but for those of some dimensions."""
    return b.bounded(value, [sizes.get(dim, own) for dim, own in enumerate(tensor.sizes)])


# Sums


def _sum_of(number: Number, b: BoundBuilder) -> Sum:
    if number.constant is not None:
        return Sum({}, number.constant)
    value = number.value
    assert isinstance(value, SSAValue)
    found = b.state.sums.get(value)
    if found is None:
        found = b.state.sums[value] = Sum({value: 1})
        b.state.values[found] = value
    if found.factors == {value: 1}:
        _note_limits(value, (number.least, number.most), b)
    return found


def _scaled(given: Sum, factor: int, offset: int = 0) -> Sum:
    kept = {value: by * factor for value, by in given.factors.items() if by * factor}
    return Sum(kept, given.offset * factor + offset)


def _added(one: Sum, other: Sum) -> Sum:
    factors = dict(one.factors)
    for value, by in other.factors.items():
        factors[value] = factors.get(value, 0) + by
    return _scaled(Sum(factors, one.offset + other.offset), 1)


def _divided(given: Sum, by: int, b: BoundBuilder) -> Sum:
    """What the divisor divides is taken out, and quotients of quotients are those of products."""
    whole = {value: factor // by for value, factor in given.factors.items() if not factor % by}
    left = {value: factor for value, factor in given.factors.items() if factor % by}
    out = Sum(whole, given.offset // by)
    if not left:
        return out
    rest = Sum(left, given.offset % by)
    if len(left) == 1:
        ((value, factor),) = left.items()
        inner = b.state.quotients.get(value)
        if factor == 1 and inner is not None:
            divided, first = inner
            moved = _scaled(divided, 1, rest.offset * first)
            return _added(out, _divided(moved, first * by, b))
    found = b.state.quotient_values.get((rest, by))
    if found is None:
        made = _made(rest, b)
        is_positive = made.least is not None and made.least >= 0  # one division, and no more
        mode = "trunc" if is_positive else "floor"
        found = b("div.Scalar_mode", b.as_tensor(made), by, rounding_mode=mode)
        b.state.quotient_values[rest, by], b.state.quotients[found] = found, (rest, by)
        b.state.sums[found] = Sum({found: 1})
        b.state.values[Sum({found: 1})] = found
        limits = [None if limit is None else limit // by for limit in (made.least, made.most)]
        _note_limits(found, (limits[0], limits[1]), b)
    return _added(out, Sum({found: 1}))


# Values


def _made(wanted: Sum, b: BoundBuilder) -> Number:
    if not wanted.factors:
        return known(wanted.offset)
    least, most = _limits(wanted, b)
    value = _value(wanted, b)
    least = (
        b.state.least.get(value) if least is None else max(least, b.state.least.get(value, least))
    )
    if least is not None:
        b.state.least[value] = least
    return Number(value, most, least)


def _value(wanted: Sum, b: BoundBuilder) -> SSAValue:
    found = b.state.values.get(wanted)
    if found is not None:
        return found
    for value, factor in wanted.factors.items():
        scaled = value if factor == 1 else _value_of_multiple(value, factor, b)
        found = scaled if found is None else b("add.Tensor", found, scaled)
    assert found is not None
    if wanted.offset:
        found = b("add.Scalar", found, wanted.offset)
    b.state.values[wanted], b.state.sums[found] = found, wanted
    return found


def _value_of_multiple(value: SSAValue, factor: int, b: BoundBuilder) -> SSAValue:
    wanted = Sum({value: factor})
    found = b.state.values.get(wanted)
    if found is None:
        found = b("mul.Scalar", value, factor)
        b.state.values[wanted], b.state.sums[found] = found, wanted
    return found


def _limits(wanted: Sum, b: BoundBuilder) -> _Limits:
    """What a sum is at least and at most."""
    least: int | None = wanted.offset
    most: int | None = wanted.offset
    for value, factor in wanted.factors.items():
        ends = b.state.ranges.get(value, (None, None))
        low, high = ends if factor > 0 else ends[::-1]
        least = None if least is None or low is None else least + factor * low
        most = None if most is None or high is None else most + factor * high
    return least, most


def _note_limits(value: SSAValue, limits: _Limits, b: BoundBuilder) -> None:
    least, most = limits
    own = b.state.ranges.get(value, (None, None))
    tops = [end for end in (own[1], most) if end is not None]
    lows = [end for end in (own[0], least, b.state.least.get(value)) if end is not None]
    b.state.ranges[value] = (max(lows, default=None), min(tops, default=None))
