"""Reductions in bodies: which of the values that a body yields are a fold of what was there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr, IntegerType, i1
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from lamina.dialects.loop import YieldOp
from lamina.dialects.loop.monoid import COMBINE, Monoid
from lamina.dialects.records import record
from lamina.lowering.scalar import number

NAMED: dict[str, str] = {
    "arith.addf": "add",
    "arith.addi": "add",
    "arith.mulf": "mul",
    "arith.muli": "mul",
    "arith.maximumf": "max",
    "arith.minimumf": "min",
    "arith.maxsi": "max",
    "arith.minsi": "min",
    "arith.andi": "and",
    "arith.ori": "or",
}
"""Ops of bodies by the combiner of nests that they are."""

_SUBTRACTIONS = {"arith.subf": "arith.addf", "arith.subi": "arith.addi"}

_REGIONS: dict[str, Callable[[Attribute], Attribute]] = {
    "arith.maxnumf": lambda kind: FloatAttr(float("nan"), kind),  # pyright: ignore
    "arith.minnumf": lambda kind: FloatAttr(float("nan"), kind),  # pyright: ignore
    "arith.maxui": lambda kind: number(0, kind),
    "arith.minui": lambda kind: number(-1, kind),
    "arith.xori": lambda kind: number(0, kind),
}
"""Ops that no combiner is named for, and what they ignore."""


@record
class Fold:
    """A yielded value: `op` of what was there and of `terms`, negated where it says so."""

    op: Any
    """The class of the op."""
    terms: tuple[tuple[SSAValue, bool], ...]

    @property
    def combiner(self) -> str:
        """The combiner of a nest."""
        return NAMED.get(self.op.name, COMBINE)

    def monoid(self, kind: Attribute) -> Monoid | None:
        """The combining region of a combiner that has no name."""
        if self.op.name in NAMED:
            return None
        block = Block(arg_types=[kind, kind])
        joined = self.op(*block.args)
        block.add_ops([joined, YieldOp(list(joined.results))])
        return Monoid((_REGIONS[self.op.name](kind),), Region(block))

    def ignores(self, given: Attribute | None) -> bool:
        """Whether a value that was there before changes nothing.

        A sum that begins at zero is taken without it: only the sign of a zero can tell.
        """
        if not isinstance(given, FloatAttr | IntegerAttr):
            return False
        value, kind = given.value.data, given.type
        if self.combiner in ("add", "mul"):
            return value == (0 if self.combiner == "add" else 1)
        if isinstance(kind, AnyFloat):
            extreme = {"max": float("-inf"), "min": float("inf")}
            return value == extreme.get(self.combiner)
        if self.combiner in ("max", "min") and isinstance(kind, IntegerType):
            half = 1 << kind.width.data - 1
            return value == (-half if self.combiner == "max" else half - 1)
        return False


def fold_of(yielded: SSAValue, old: BlockArgument, block: Block) -> Fold | None:
    """How a body folds into `old`; None if it does something else with it."""
    if isinstance(yielded.type, IntegerType) and yielded.type == i1:
        allowed = {"arith.andi", "arith.ori", "arith.xori"}
    else:
        allowed = {*NAMED, *_SUBTRACTIONS, *_REGIONS}
    kind: str | None = None
    terms: list[tuple[SSAValue, bool]] = []
    value = yielded
    while value is not old:
        op = value.owner
        if not isinstance(op, Operation) or op.name not in allowed or len(op.operands) != 2:
            return None
        name = _SUBTRACTIONS.get(op.name, op.name)
        if kind not in (None, name) or len(list(value.uses)) != 1:
            return None
        kind = name
        left, right = op.operands
        if depends_on(left, old, block):
            value, term = left, right
        else:
            value, term = right, left
            if op.name in _SUBTRACTIONS:
                return None
        if depends_on(term, old, block) or not depends_on(value, old, block):
            return None
        terms.append((term, op.name in _SUBTRACTIONS))
    if kind is None or len(list(old.uses)) != 1:
        return None
    return Fold(_CLASSES[kind], tuple(terms))


def depends_on(value: SSAValue, on: SSAValue, block: Block) -> bool:
    """Whether a value is `on`, or made of it, in a block."""
    seen: set[SSAValue] = set()
    waiting = [value]
    while waiting:
        current = waiting.pop()
        if current is on:
            return True
        owner = current.owner
        if current in seen or not isinstance(owner, Operation) or owner.parent is not block:
            continue
        seen.add(current)
        waiting.extend(owner.operands)
    return False


_CLASSES: dict[str, type[Operation]] = {
    op.name: op for op in arith.Arith.operations if op.name in {*NAMED, *_REGIONS}
}
