"""Points of a nest at which a boolean of its body is true: those below sizes that a call brings."""

from __future__ import annotations

from collections.abc import Container, Mapping

from xdsl.dialects import arith
from xdsl.dialects.builtin import BoolAttr
from xdsl.ir import BlockArgument, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.access import shape_of
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.nest import OrderedNest
from lamina.dialects.loop.position_bounds import counted_comparisons
from lamina.dialects.loop.predicates import NE, SLT, ULT
from lamina.passes.fusion.element_limits import (
    ALL_POINTS,
    EVERYTHING,
    Demand,
    PointLimit,
    Points,
    Reach,
    Touched,
)

FALSE = BoolAttr.from_bool(False)


class MaskedPoints:
    """Of a nest whose operands are true within `masks`, and whose 0-d operands are the sizes in
    `counts`."""

    def __init__(
        self,
        nest: GenericOp | OrderedNest,
        masks: Mapping[SSAValue, Demand],
        counts: Mapping[SSAValue, SSAValue],
    ) -> None:
        self.nest: GenericOp | OrderedNest = nest
        self._masks, self._counts = masks, counts
        self._outside: dict[tuple[AffineExpr, int], int] = {}
        self._compared: dict[SSAValue, tuple[Linear, int]] | None = None

    def truth(self, value: SSAValue) -> Points:
        """The points outside of which a boolean of the body is false."""
        if isinstance(value, BlockArgument):
            nest, number = self.nest, value.index
            if value.block is not nest.block or number >= len(nest.inputs):
                return ALL_POINTS
            operand = nest.inputs[number]
            limits = self._masks.get(operand, EVERYTHING)
            pad = nest.pad_values[number]
            if not limits or (pad is not None and pad != FALSE):
                return ALL_POINTS
            return self.touched(operand, nest.read_maps[number]).points(limits)
        match value.owner:
            case arith.AndIOp() as both:
                return self.truth(both.lhs) | self.truth(both.rhs)
            case arith.SelectOp() as chosen if _is_false(chosen.rhs):
                return self.truth(chosen.cond) | self.truth(chosen.lhs)
            case arith.CmpiOp() as compared if compared.predicate.value.data in (SLT, ULT):
                return self._below(compared)
            case arith.CmpiOp() as compared if compared.predicate.value.data == NE:
                return self._chosen_apart(compared)
            case _:
                return ALL_POINTS

    def is_all_of_truth(self, value: SSAValue, prefixes: Container[SSAValue]) -> bool:
        """Whether a boolean of the body is true at all points outside of which it is known to be
        false. `prefixes` are operands that are true at all elements within their limits."""
        if isinstance(value, BlockArgument):
            is_read = value.block is self.nest.block and value.index < len(self.nest.inputs)
            if not is_read or self.nest.inputs[value.index] not in prefixes:
                return False
            limits = self._masks.get(self.nest.inputs[value.index], EVERYTHING)
            return len(self.truth(value)) == len(limits)
        match value.owner:
            case arith.AndIOp() as both:
                return all(self.is_all_of_truth(side, prefixes) for side in both.operands)
            case arith.CmpiOp() as compared if compared.predicate.value.data in (SLT, ULT):
                return bool(self._below(compared))
            case _:
                return False

    def touched(self, value: SSAValue, index_map: AffineMap) -> Touched:
        """An access. An index that is no linear form, as of panels, or that leaves the value, where
        a pad is read, is a dimension of its own behind the nest's: one for all accesses that have
        it."""
        nest, shape = self.nest, shape_of(value)
        return Touched.of(nest.extents, shape, index_map, self._outside)

    def _chosen_apart(self, compared: arith.CmpiOp) -> Points:
        """`select(%mask, %x, k) != k`, such as of a label that is not to be ignored."""
        chosen, other = compared.lhs.owner, compared.rhs.owner
        if not isinstance(chosen, arith.SelectOp) or not isinstance(other, arith.ConstantOp):
            return ALL_POINTS
        left_out = chosen.rhs.owner
        alike = isinstance(left_out, arith.ConstantOp) and left_out.value == other.value
        return self.truth(chosen.cond) if alike else ALL_POINTS

    def _below(self, compared: arith.CmpiOp) -> Points:
        """`position < %n`, of a position that is linear in the nest's dimensions."""
        if self._compared is None:
            sizes = {value: n for n, value in enumerate(self.nest.inputs) if value in self._counts}
            self._compared = counted_comparisons(self.nest, sizes) if sizes else {}
        if (known := self._compared.get(compared.result)) is None:
            return ALL_POINTS
        form, number = known
        low, high = form.range(self.nest.extents)
        if low or not form.terms or form.constant:
            return ALL_POINTS
        count = self._counts[self.nest.inputs[number]]
        return frozenset([PointLimit(form, high + 1, 1, high + 1, Reach(count))])


def _is_false(value: SSAValue) -> bool:
    owner = value.owner
    return isinstance(owner, arith.ConstantOp) and owner.value == FALSE
