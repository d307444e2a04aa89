"""Numbers of the call below which computed places are: least, greatest, differences, remainders.

`min(i, n - 1)`, `n - 1 - i` and `i mod n` are below n wherever they are not negative. So are the
places that slices, flips, rolls and pieces of what is joined are read at.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap

from lamina.dialects.loop import GenericOp, IndexOp
from lamina.passes.loop.body_origins import COPIES, Place, constant, is_negative, number_of_call
from lamina.passes.loop.body_origins import origin as made_at

_MOST_STEPS = 64
"""Ops that are followed from a place: those of a bounded program are a dozen."""


def end_of_place(index: SSAValue, nest: GenericOp) -> SSAValue | None:
    """A tensor of one integer below which all values of an index are, or 0 where that is less than
    1; None if there is none known."""
    search = _Ends()
    place = index, nest, AffineMap.identity(len(nest.extents))
    ends = search.of(place)
    return next(iter(ends or ()), None) if search.is_natural(place) else None


def is_below(index: SSAValue, nest: GenericOp, extent: int) -> bool:
    """Whether all values of an index are in 0 to `extent`, whatever the sizes of a call are."""
    search = _Ends()
    place = index, nest, AffineMap.identity(len(nest.extents))
    return search.is_below(place, extent) and search.is_natural(place)


class _Ends:
    """Follows a place, for so many steps in all."""

    def __init__(self) -> None:
        self._steps = 0

    def of(self, place: Place) -> list[SSAValue] | None:
        """The numbers n with values of at most n - 1, or 0; None for values of at most 0, which
        are below all."""
        self._steps += 1
        if self._steps > _MOST_STEPS:
            return []
        number = constant(place)
        if number is not None:
            return None if number <= 0 else []
        value, at, point = made_at(*place)
        owner = value.owner
        if at is None or not isinstance(owner, Operation):
            return []
        if isinstance(owner, COPIES):
            return self.of((owner.input, at, point))
        sides = [(operand, at, point) for operand in owner.operands]
        if isinstance(owner, arith.SelectOp):
            return self._of_choice(*sides)
        if isinstance(owner, arith.MaxSIOp):
            return _both(*map(self.of, sides))
        if isinstance(owner, arith.MinSIOp):
            return _either(*map(self.of, sides))
        if isinstance(owner, arith.SubiOp):
            return self._of_difference(*sides)
        if isinstance(owner, arith.RemSIOp) and self.is_natural(sides[0]):
            return list(_moduli(sides[1]))
        return []

    def is_below(self, place: Place, extent: int) -> bool:
        """Whether values are less than a number."""
        self._steps += 1
        if self._steps > _MOST_STEPS:
            return False
        number = constant(place)
        if number is not None:
            return number < extent
        value, at, point = made_at(*place)
        owner = value.owner
        if at is None or not isinstance(owner, Operation):
            return False
        if isinstance(owner, IndexOp):
            return at.extents[owner.dim.value.data] <= extent
        sides = [(operand, at, point) for operand in owner.operands]
        if isinstance(owner, COPIES):
            return self.is_below(sides[0], extent)
        if isinstance(owner, arith.MaxSIOp):
            return all(self.is_below(side, extent) for side in sides)
        if isinstance(owner, arith.MinSIOp):
            return any(self.is_below(side, extent) for side in sides)
        if isinstance(owner, arith.SubiOp) and (modulus := _cut_off(*sides)) is not None:
            number = constant(modulus)
            return number is not None and 0 < number <= extent
        return False

    def is_natural(self, place: Place) -> bool:
        """Whether values are never negative."""
        self._steps += 1
        if self._steps > _MOST_STEPS:
            return False
        number = constant(place)
        if number is not None:
            return number >= 0
        value, at, point = made_at(*place)
        owner = value.owner
        if at is None or not isinstance(owner, Operation):
            return False
        sides = [(operand, at, point) for operand in owner.operands]
        if isinstance(owner, IndexOp):
            return True
        if isinstance(owner, COPIES):
            return self.is_natural(sides[0])
        if isinstance(owner, arith.MaxSIOp):
            return any(map(self.is_natural, sides))
        if isinstance(owner, arith.MinSIOp):
            return all(map(self.is_natural, sides))
        if isinstance(owner, arith.RemSIOp):
            return self.is_natural(sides[0])
        if isinstance(owner, arith.SelectOp):
            condition, chosen, other = sides
            if _remainder(*sides) is not None or all(map(self.is_natural, sides[1:])):
                return True
            either = self.is_natural(other) or self.is_natural(chosen)
            return either and is_negative(condition, other)
        return False

    def _of_choice(self, condition: Place, chosen: Place, other: Place) -> list[SSAValue] | None:
        if (modulus := _remainder(condition, chosen, other)) is not None:
            return list(_moduli(modulus))
        if is_negative(condition, other) and self.is_natural(other):
            return self.of(other)
        return _both(self.of(chosen), self.of(other))

    def _of_difference(self, left: Place, right: Place) -> list[SSAValue] | None:
        if (modulus := _cut_off(left, right)) is not None:
            return list(_moduli(modulus))  # no more than the modulus less 1, of either sign
        if not self.is_natural(right):
            return []
        ends, number = self.of(left), number_of_call(left)
        less = constant(right)
        if number is None or less is None or less < 1:
            return ends
        return None if ends is None else [*ends, number]


def _both(one: list[SSAValue] | None, other: list[SSAValue] | None) -> list[SSAValue] | None:
    if one is None or other is None:
        return other if one is None else one
    return [end for end in one if end in other]


def _either(one: list[SSAValue] | None, other: list[SSAValue] | None) -> list[SSAValue] | None:
    return None if one is None or other is None else list(dict.fromkeys([*one, *other]))


def _moduli(modulus: Place) -> Iterator[SSAValue]:
    """The numbers n of a modulus that is n, or the greater of n and 1."""
    value, at, point = made_at(*modulus)
    sides = [modulus]
    if at is not None and isinstance(value.owner, arith.MaxSIOp):
        sides = [(operand, at, point) for operand in value.owner.operands]
        if all(constant(side) != 1 for side in sides):
            return
    for side in sides:
        if (number := number_of_call(side)) is not None:
            yield number


def _cut_off(left: Place, right: Place) -> Place | None:
    """The modulus m of a remainder `x - x / m * m`, whose quotient is rounded to 0."""
    value, at, point = made_at(*right)
    if at is None or not isinstance(value.owner, arith.MuliOp):
        return None
    sides = [(side, at, point) for side in value.owner.operands]
    for quotient, modulus in (sides, sides[::-1]):
        made, there, where = made_at(*quotient)
        if there is None or not isinstance(made.owner, arith.DivSIOp):
            continue
        divided, divisor = ((side, there, where) for side in made.owner.operands)
        if made_at(*divided) == made_at(*left) and _alike(divisor, modulus):
            return modulus
    return None


def _alike(one: Place, other: Place) -> bool:
    number = constant(one)
    return made_at(*one) == made_at(*other) or (number is not None and number == constant(other))


def _remainder(condition: Place, chosen: Place, other: Place) -> Place | None:
    """The modulus of a remainder that has its sign: it is added to what is left where signs differ.
    It is positive, or there is nothing to divide."""
    value, at, point = made_at(*other)
    added, there, _ = made_at(*chosen)
    left = value.owner
    if at is None or there is not at or not isinstance(left, arith.RemSIOp):
        return None
    modulus = left.rhs, at, point
    if not isinstance(added.owner, arith.AddiOp) or set(added.owner.operands) != {value, left.rhs}:
        return None
    both, there, _ = made_at(*condition)
    if there is not at or not isinstance(both.owner, arith.AndIOp):
        return None
    signs = [made_at(side, at, point)[0].owner for side in both.owner.operands]
    differ = [sign for sign in signs if isinstance(sign, arith.XOrIOp)]
    if len(differ) != 1 or not any(_moduli(modulus)):
        return None
    sides = [(side, at, point) for side in differ[0].operands]
    negative = (is_negative(a, other) and is_negative(b, modulus) for a, b in (sides, sides[::-1]))
    return modulus if any(negative) else None
