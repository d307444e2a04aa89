"""`expect-runs`: indirect reads at places that are made of positions alone mostly read neighbours.

The places of a flip of open width, of edges that are repeated, and of joined dimensions that are
moved together (`p / w, p mod w`) follow from positions and sizes, in steps of one but where a line
or a piece ends. Such a read is marked, and its lanes are read at once where they are a run:

    %e = loop.read %t[%q, %r] {lamina.runs} : tensor<64x64xf32>

Places that are data are not, since to compare lanes takes a sixth of what it takes to read them
one by one (100,000 elements of a table in the caches, a Zen 4).
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Operation
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass

from lamina.dialects.loop import GenericOp, IndexOp, ReadOp
from lamina.dialects.loop.body_ops import RUNS
from lamina.dialects.op_list import instances_under
from lamina.passes.defined_functions import defined_functions
from lamina.passes.loop.body_origins import COPIES, Place, constant, number_of_call, origin

_MOST_STEPS = 64
"""Ops that are followed from the places of a read: those of a bounded program are a dozen."""
_INTEGER = (
    *(arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.DivSIOp, arith.FloorDivSIOp, arith.RemSIOp),
    *(arith.MinSIOp, arith.MaxSIOp, arith.SelectOp, arith.CmpiOp, arith.AndIOp, arith.OrIOp),
    *COPIES,
)
_IN_STEPS = (arith.AddiOp, arith.SubiOp, arith.MinSIOp, arith.MaxSIOp, arith.SelectOp)
"""What has the steps of one of its operands, where that is not the one that counts for nothing."""


class ExpectRunsPass(ModulePass):
    """Mark indirect reads whose places are mostly neighbours, forwards or backwards."""

    name = "expect-runs"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            for nest in instances_under(function, GenericOp):
                if nest.sources:
                    _mark(nest)


def _mark(nest: GenericOp) -> None:
    point = AffineMap.identity(len(nest.extents))
    for read in [op for op in nest.block.ops if isinstance(op, ReadOp)]:
        search = _Positions()
        places: list[Place] = [(index, nest, point) for index in read.indices]
        if places and all(map(search.are_all, places)) and search.are_neighbours(places[-1]):
            read.attributes[RUNS] = UnitAttr()


class _Positions:
    """Follows places, for so many steps in all."""

    def __init__(self) -> None:
        self._steps = 0

    def are_all(self, place: Place) -> bool:
        """Whether a value is made of positions, sizes and constants alone."""
        self._steps += 1
        if self._steps > _MOST_STEPS:
            return False
        if constant(place) is not None or number_of_call(place) is not None:
            return True
        value, at, point = origin(*place)
        owner = value.owner
        if at is None or not isinstance(owner, Operation):
            return False
        if isinstance(owner, IndexOp):
            return True
        sides = [(operand, at, point) for operand in owner.operands]
        return isinstance(owner, _INTEGER) and all(map(self.are_all, sides))

    def are_neighbours(self, place: Place) -> bool:
        """Whether values go in steps of one, but for where pieces end."""
        self._steps += 1
        value, at, point = origin(*place)
        owner = value.owner
        if self._steps > _MOST_STEPS or at is None or not isinstance(owner, Operation):
            return False
        if isinstance(owner, IndexOp):
            return True
        sides = [(operand, at, point) for operand in owner.operands]
        if isinstance(owner, (*COPIES, arith.RemSIOp)):
            return self.are_neighbours(sides[0])
        return isinstance(owner, _IN_STEPS) and any(map(self.are_neighbours, sides))


__all__ = ["ExpectRunsPass"]
