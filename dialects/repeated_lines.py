"""Reading ops whose line the text had before, but for the names of values.

Programs repeat their layers: of a line such as `%7 = prims.add(%5, %6) : (T, T) -> T` only the
names are new. What it says otherwise (the class of the op, types, properties, attributes) is kept
by the pieces of text between the names, so that the next such line is taken apart, not parsed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from xdsl.ir import Attribute, Operation, SSAValue

LONGEST = 2000
"""Characters of a line that is looked at; longer ones are literals, which seldom come twice."""

_VALUE = re.compile(r"%((?:[0-9]+|[a-zA-Z$._-][a-zA-Z0-9$._-]*)(?:#[0-9]+)?)", re.ASCII)
"""The name of a value; what `#` chooses of several results is never known, see `RepeatedLines`."""

_RESULT = " = "
"""Behind the name of the only result."""


class Line(NamedTuple):
    """The text of an op that begins somewhere in a line and is the last in it."""

    end: int
    """Where the line ends."""
    pieces: tuple[str, ...]
    """What stands between names of values."""
    result: str | None
    """The name of the op's result, if it has one."""
    operands: Sequence[str]
    """The names of its operands, in the order of the text."""


class _Known(NamedTuple):
    """What an op is besides its operands."""

    kind: type[Operation]
    operand_types: tuple[Attribute, ...]
    result_types: tuple[Attribute, ...]
    properties: dict[str, Attribute]
    attributes: dict[str, Attribute]


class RepeatedLines:
    """Ops by the pieces of their lines and the dialects around them, in one text.

    Kept are ops without regions and successors, whose operands are, in this order, the values that
    the text names, each once and each defined before it; so no other text can mean another order.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[Sequence[str], tuple[str, ...]], _Known] = {}

    def line_at(self, content: str, start: int) -> Line | None:
        """The line from `start` on; None if it is too long or names several results."""
        end = content.find("\n", start, start + LONGEST)
        if end < 0:
            return None
        parts = _VALUE.split(content[start:end])
        pieces, names = tuple(parts[::2]), parts[1::2]
        if pieces[0]:
            return Line(end, pieces, None, names)
        if len(pieces) < 2 or not pieces[1].startswith(_RESULT):
            return None
        return Line(end, pieces, names[0], names[1:])

    def make(
        self, line: Line, around: Sequence[str], values: Mapping[str, Sequence[SSAValue]]
    ) -> Operation | None:
        """The op that the line says, if it is known and its operands fit; `values` by name."""
        known = self._known.get((line.pieces, tuple(around)))
        if known is None:
            return None
        operands: list[SSAValue] = []
        for name, kind in zip(line.operands, known.operand_types, strict=True):
            found = values.get(name)
            if found is None or len(found) != 1:
                return None
            if found[0].type is not kind and found[0].type != kind:
                return None
            operands.append(found[0])
        return known.kind.create(
            operands=operands,
            result_types=known.result_types,
            properties=known.properties,
            attributes=known.attributes,
        )

    def keep(
        self,
        line: Line,
        around: Sequence[str],
        values: Mapping[str, Sequence[SSAValue]],
        op: Operation,
    ) -> None:
        """Remembers an op that was parsed from this line and nothing else."""
        if op.regions or op.successors or len(op.results) != (line.result is not None):
            return
        named = [values.get(name, ()) for name in line.operands]
        given = list(op.operands)
        if [list(found) for found in named] != [[operand] for operand in given]:
            return
        if len(set(given)) != len(given):
            return
        self._known[line.pieces, tuple(around)] = _Known(
            type(op),
            tuple(operand.type for operand in given),
            tuple(result.type for result in op.results),
            dict(op.properties),
            dict(op.attributes),
        )
