"""Linear forms and map composition agree with evaluation at every point of random domains."""

from __future__ import annotations

from itertools import product
from math import prod

from hypothesis import given
from hypothesis import strategies as st
from xdsl.ir.affine import AffineExpr

from lamina.dialects.loop.access import row_major_strides, substitute, through_reshape
from lamina.dialects.loop.linear import Linear, linear, value_range

Extents = tuple[int, ...]


@st.composite
def forms(draw: st.DrawFn, extents: Extents, least: int = -6, most: int = 6) -> Linear:
    terms = {d: draw(st.integers(least, most)) for d in range(len(extents))}
    return Linear.of(terms, draw(st.integers(2 * least, 2 * most)))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Extents, Linear]:
    extents = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    return extents, draw(forms(extents))


@st.composite
def expressions(draw: st.DrawFn, dims: int, depth: int = 3) -> AffineExpr:
    """Affine expressions with sums, products by numbers, floordiv and mod."""
    if depth == 0 or draw(st.booleans()):
        if draw(st.booleans()):
            return AffineExpr.dimension(draw(st.integers(0, dims - 1)))
        return AffineExpr.constant(draw(st.integers(-7, 7)))
    inner = draw(expressions(dims, depth - 1))
    match draw(st.sampled_from(["add", "mul", "floordiv", "mod"])):
        case "add":
            return inner + draw(expressions(dims, depth - 1))
        case "mul":
            return inner * draw(st.integers(-4, 4))
        case "floordiv":
            return inner // draw(st.integers(1, 6))
        case _:
            return inner % draw(st.integers(1, 6))


def points(extents: Extents) -> list[tuple[int, ...]]:
    return list(product(*map(range, extents)))


def value(form: Linear, point: tuple[int, ...]) -> int:
    return form.constant + sum(c * point[d] for d, c in form.terms)


@given(cases())
def test_range_is_tight(case: tuple[Extents, Linear]) -> None:
    extents, form = case
    values = [value(form, p) for p in points(extents)]
    assert form.range(extents) == (min(values), max(values))


@given(cases(), st.integers(1, 9))
def test_divide_is_exact_at_every_point(case: tuple[Extents, Linear], divisor: int) -> None:
    extents, form = case
    parts = form.divide(divisor, extents)
    if parts is None:
        return
    for point in points(extents):
        whole, rest = divmod(value(form, point), divisor)
        assert (value(parts[0], point), value(parts[1], point)) == (whole, rest)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_divide_takes_a_row_major_offset_apart(extents: list[int]) -> None:
    """The case that reshapes need always has a linear quotient and remainder."""
    rest = Linear.of(dict(enumerate(row_major_strides(extents))))
    for dim, stride in enumerate(row_major_strides(extents)):
        parts = rest.divide(stride, extents)
        assert parts is not None
        quotient, rest = parts
        for point in points(tuple(extents)):
            assert value(quotient, point) == point[dim]


@given(st.data(), st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_linear_form_of_an_expression(data: st.DataObject, extents: list[int]) -> None:
    expr = data.draw(expressions(len(extents)))
    form = linear(expr, extents)
    values = [expr.eval(point, []) for point in points(tuple(extents))]
    low, high = value_range(expr, extents)
    assert low <= min(values) and max(values) <= high
    if form is not None:
        assert values == [value(form, p) for p in points(tuple(extents))]
        assert linear(form.to_expr(), extents) == form


@given(st.data())
def test_substitution_composes(data: st.DataObject) -> None:
    outer = data.draw(st.just((2, 3)))
    inner = tuple(data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)))
    form = data.draw(forms(outer))
    values = [data.draw(forms(inner)) for _ in outer]
    composed = substitute(form, values)
    for point in points(inner):
        assert value(composed, point) == value(form, tuple(value(v, point) for v in values))


SHAPES = [(12,), (3, 4), (4, 3), (2, 6), (6, 2), (2, 2, 3), (3, 2, 2), (1, 12), (12, 1)]


@given(st.sampled_from(SHAPES), st.sampled_from(SHAPES), st.data())
def test_reading_through_a_reshape(outer: Extents, inner: Extents, data: st.DataObject) -> None:
    """Indices into the reshaped tensor and into the original one meet the same element."""
    order = data.draw(st.permutations(range(len(outer))))
    extents = tuple(outer[axis] for axis in order)
    indices = tuple(Linear.dim(order.index(axis)) for axis in range(len(outer)))
    found = through_reshape(indices, outer, inner, extents)
    if found is None:
        return
    for point in points(extents):
        there = [value(f, point) for f in indices]
        here = [value(f, point) for f in found]
        assert all(0 <= i < e for i, e in zip(here, inner, strict=True))
        flat = [
            sum(i * s for i, s in zip(position, row_major_strides(shape), strict=True))
            for position, shape in ((there, outer), (here, inner))
        ]
        assert flat[0] == flat[1]
    assert prod(extents) == prod(inner)
