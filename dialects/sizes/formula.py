"""`#lamina.formula`: a size that follows from numbers of a call alone.

    #lamina.formula<arg2 + arg3>                  the sum of the numbers in arguments 2 and 3
    #lamina.formula<2 * arg2 * arg3>              a multiple of a product
    #lamina.formula<(arg2 - 3) floordiv 2 + 1>    rounded down; the divisor is a positive number
    #lamina.formula<arg2 divsi 2>                 rounded to zero, as `arith.divsi` does
    #lamina.formula<max(arg2 - 1, 0)>             the larger of two; `min` gives the smaller

As an affine expression over the arguments of a function, but that these may be multiplied. Numbers
are of i64, and wrap around as those of the program do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.records import record

MOST_STEPS = 64
"""Numbers and operations of a formula at most, for each of which a call takes about a nanosecond.
Sizes of programs have three to ten. Not measured."""

MOST_DEPTH = 16
"""Numbers that are held at a time while a formula is evaluated, at most: what native code has room
for."""

OPERATIONS: Mapping[str, Callable[[int, int], int]] = {
    "add": lambda left, right: left + right,
    "mul": lambda left, right: left * right,
    "floordiv": lambda left, right: left // right,
    "divsi": lambda left, right: left // right if left >= 0 else -(-left // right),
    "max": max,
    "min": min,
}
"""What two formulas are joined by."""

NUMBER, ARGUMENT = "number", "argument"

KINDS = (NUMBER, ARGUMENT, *OPERATIONS)
"""Kinds of steps, in the order by which native code knows them."""

_DIVISIONS = ("floordiv", "divsi")
_NEUTRAL = {"add": 0, "mul": 1, "floordiv": 1, "divsi": 1}
_INFIX = {"add": ("+", 1), "mul": ("*", 2), **{kind: (kind, 2) for kind in _DIVISIONS}}
"""How those that stand between their operands are written, and how strongly they bind."""
_HALF = 1 << 63


@record
class Formula:
    """A number, the number in an argument of a function, by its place, or two formulas joined.

    assert str((Formula.argument(2) - 3) // 2 + 1) == "(arg2 - 3) floordiv 2 + 1"
    """

    kind: str
    value: int = 0
    parts: tuple[Formula, ...] = ()

    @classmethod
    def number(cls, value: int) -> Formula:
        """The same in every call."""
        return cls(NUMBER, _wrapped(value))

    @classmethod
    def argument(cls, place: int) -> Formula:
        """The number that an argument holds."""
        return cls(ARGUMENT, place)

    @classmethod
    def joined(cls, kind: str, left: Formula, right: Formula) -> Formula:
        """One of `OPERATIONS` of two formulas; a number where both are.

        Raises ValueError for a division by what is no positive number.
        """
        if kind in _DIVISIONS and (right.kind != NUMBER or right.value < 1):
            raise ValueError(f"{right} is no positive number")
        if left.kind == right.kind == NUMBER:
            return cls.number(OPERATIONS[kind](left.value, right.value))
        if kind in ("add", "mul") and left.kind == NUMBER:
            left, right = right, left
        if kind == "add" and left == right:
            return left * 2
        if right.kind == NUMBER and right.value == _NEUTRAL.get(kind):
            return left
        return cls(kind, 0, (left, right))

    def __add__(self, other: Formula | int) -> Formula:
        return self.joined("add", self, _formula(other))

    def __sub__(self, other: Formula | int) -> Formula:
        return self + _formula(other) * -1

    def __mul__(self, other: Formula | int) -> Formula:
        return self.joined("mul", self, _formula(other))

    def __floordiv__(self, other: int) -> Formula:
        return self.joined("floordiv", self, _formula(other))

    @property
    def arguments(self) -> frozenset[int]:
        """The arguments whose numbers it depends on."""
        return frozenset(step.value for step in self.steps() if step.kind == ARGUMENT)

    def steps(self) -> Iterator[Formula]:
        """What is done to evaluate it on a stack: operands first."""
        for part in self.parts:
            yield from part.steps()
        yield self

    @property
    def depth(self) -> int:
        """Numbers that are held at a time on the way, at most."""
        return max((place + part.depth for place, part in enumerate(self.parts)), default=1)

    @property
    def is_small(self) -> bool:
        """Whether native code evaluates it."""
        return sum(1 for _ in self.steps()) <= MOST_STEPS and self.depth <= MOST_DEPTH

    def at(self, numbers: Mapping[int, int]) -> int:
        """Its value where arguments hold these numbers of i64."""
        if self.kind == NUMBER:
            return self.value
        if self.kind == ARGUMENT:
            return numbers[self.value]
        left, right = (part.at(numbers) for part in self.parts)
        return _wrapped(OPERATIONS[self.kind](left, right))

    def __str__(self) -> str:
        if self.kind == NUMBER:
            return str(self.value)
        if self.kind == ARGUMENT:
            return f"arg{self.value}"
        left, right = self.parts
        if self.kind not in _INFIX:
            return f"{self.kind}({left}, {right})"
        sign, own = _INFIX[self.kind]
        before = f"({left})" if left._precedence < own else str(left)
        if self.kind == "add" and right.kind == NUMBER and -_HALF < right.value < 0:
            return f"{before} - {-right.value}"
        behind = f"({right})" if right._precedence <= own else str(right)
        return f"{before} {sign} {behind}"

    @property
    def _precedence(self) -> int:
        return _INFIX[self.kind][1] if self.kind in _INFIX else 3


def _formula(given: Formula | int) -> Formula:
    return Formula.number(given) if isinstance(given, int) else given


def _wrapped(value: int) -> int:
    """A number as i64 has it."""
    return (value + _HALF) % (2 * _HALF) - _HALF


@irdl_attr_definition
class FormulaAttr(Data[Formula]):
    """A size that follows from numbers of a call alone: `#lamina.formula<arg2 + arg3>`."""

    name = "lamina.formula"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Formula:
        with parser.in_angle_brackets():
            return _sum(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(str(self.data))

    def verify(self) -> None:
        """Raises VerifyException for a formula that native code has no room for."""
        if not self.data.is_small:
            raise VerifyException(
                f"#lamina.formula<{self.data}>: a formula has up to {MOST_STEPS} numbers and "
                f"operations, and holds up to {MOST_DEPTH} numbers at a time"
            )


def _sum(parser: AttrParser) -> Formula:
    found = _product(parser)
    while True:
        if parser.parse_optional_punctuation("+"):
            found += _product(parser)
        elif parser.parse_optional_punctuation("-"):
            found -= _product(parser)
        elif (number := _integer(parser)) is not None:  # `arg2 -1`: `-1` is read as one token
            if number >= 0:
                parser.raise_error(f"+ or - stands in front of {number}")
            found += number
        else:
            return found


def _product(parser: AttrParser) -> Formula:
    found = _operand(parser)
    while True:
        if parser.parse_optional_punctuation("*"):
            found *= _operand(parser)
            continue
        kind = next((kind for kind in _DIVISIONS if parser.parse_optional_keyword(kind)), None)
        if kind is None:
            return found
        try:
            found = Formula.joined(kind, found, _operand(parser))
        except ValueError as error:
            parser.raise_error(f"a divisor: {error}")


def _operand(parser: AttrParser) -> Formula:
    if (number := _integer(parser)) is not None:
        return Formula.number(number)
    if parser.parse_optional_punctuation("("):
        inner = _sum(parser)
        parser.parse_punctuation(")")
        return inner
    name = parser.parse_optional_identifier()
    if name in ("max", "min"):
        parser.parse_punctuation("(")
        left = _sum(parser)
        parser.parse_punctuation(",")
        right = _sum(parser)
        parser.parse_punctuation(")")
        return Formula.joined(name, left, right)
    if name is None or not (name[:3] == "arg" and name[3:].isdecimal()):
        given = "" if name is None else f"'{name}' is none: "
        parser.raise_error(f"{given}here stands a number, an argument, such as arg0, max or min")
    return Formula.argument(int(name[3:]))


def _integer(parser: AttrParser) -> int | None:
    number = parser.parse_optional_integer(allow_boolean=False)
    if number is not None and not -_HALF <= number < _HALF:
        parser.raise_error(f"{number} is no i64")
    return number
