"""`lamina.derived`: sizes of results that follow from numbers of a call alone."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType, i64
from xdsl.dialects.func import FuncOp

from lamina.dialects.sizes import Formula, FormulaAttr
from lamina.passes.contracts.declared import Declared

DERIVED = "lamina.derived"
"""Attribute of an argument of kind size, in memory: how the number that the program writes to it
follows from numbers of inputs, as a `#lamina.formula`. See `derive-sizes`."""


def multiples_in(function: FuncOp) -> dict[int, tuple[int, int]]:
    """The sizes of results that are a positive multiple of an input, by their places: the place of
    that, and the factor."""
    found: dict[int, tuple[int, int]] = {}
    for place, entries in enumerate(function.arg_attrs or ()):
        held = entries.data.get(DERIVED)
        if isinstance(held, FormulaAttr) and (multiple := multiple_of(held.data)) is not None:
            found[place] = multiple
    return found


def multiple_of(formula: Formula) -> tuple[int, int] | None:
    """The argument of which a formula is a positive multiple, by its place, and the factor."""
    (place, *others) = formula.arguments or (-1,)
    factor = formula.at({place: 1}) if not others else 0
    is_multiple = factor > 0 and formula == Formula.argument(place) * factor
    return (place, factor) if is_multiple else None


def room_for(formula: Formula) -> Formula:
    """The positions that memory has room for along a dimension of a derived size.

    Kernels take a number as 1 at least: where they end at one, they run a whole group of what is a
    multiple of it. So they do where they end at each of the numbers that a size is the product of.
    """
    if formula.kind == "mul":
        left, right = (_room_of_factor(part) for part in formula.parts)
        return Formula.joined("mul", left, right)
    return formula


def _room_of_factor(formula: Formula) -> Formula:
    if formula.kind in ("mul", "number"):
        return room_for(formula)
    return Formula.joined("max", formula, Formula.number(1))


def verify_derived(declared: Declared, arguments: Sequence[Declared]) -> None:
    """A size that a program computes follows from inputs that are numbers.

    Raises InputError naming the argument.
    """
    number, formula = MemRefType(i64, []), declared.entries[DERIVED]
    if declared.kind != "size" or declared.type != number:
        raise declared.refuse(f"{DERIVED} is for sizes in memory, memref<i64> of kind size")
    if not isinstance(formula, FormulaAttr):
        raise declared.refuse(f"{DERIVED} is a #lamina.formula, not {formula}")
    sizes = [one.number for one in arguments if one.kind == "input" and one.type == number]
    if not formula.data.arguments <= set(sizes):
        raise declared.refuse(
            f"{DERIVED} = {formula}: its arguments are inputs that are sizes, memref<i64> "
            f"({', '.join(map(str, sizes)) or 'none'} here)"
        )
