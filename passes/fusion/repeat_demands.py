"""What a `control.repeat` demands of its operands, by what is demanded of its results.

Each step but the last hands on what the next one demands of it: what is carried is demanded for
what reads the last step, and for what a step demands of the one before, which is followed until
nothing is added. So equal layers of a network end at the sizes of a call as if written out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import func
from xdsl.ir import Block, Operation, SSAValue

from lamina.dialects.control import RepeatOp, YieldOp
from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp
from lamina.dialects.records import record
from lamina.passes.fusion.demanded_elements import Demands
from lamina.passes.fusion.element_limits import Demand, Points, joined, tightest
from lamina.passes.fusion.row_counts import CountFacts
from lamina.passes.fusion.unstructured_demand import demanded_points

MOST_ROUNDS = 4
"""How often a step is looked at, at most: limits that readers agree on become fewer each time, and
layers of networks agree in the second. A bound of the work, in rounds; not measured."""

Functions = Mapping[str, func.FuncOp]
Noted = Callable[[GenericOp, Points], None]
"""What is told the points of each nest that are demanded."""


def demand_op(
    op: Operation, demands: Demands, facts: CountFacts, functions: Functions, noted: Noted
) -> None:
    """Note in `demands` what an op demands of its operands, and what of nests is demanded."""
    if isinstance(op, RepeatOp) and _demand_repeat(op, demands, facts, functions, noted):
        return
    found = demanded_points(op, demands, facts)
    if isinstance(op, GenericOp) and found is not None:
        noted(op, found.points)


def _demand_repeat(
    op: RepeatOp, demands: Demands, facts: CountFacts, functions: Functions, noted: Noted
) -> bool:
    """The same of a repeat; False where steps never agree, so that nothing is known of it."""
    step = _Step(op, facts, functions)
    last = op.res[: len(op.starts)]
    wanted = _Wanted.of(last, demands)
    for _ in range(MOST_ROUNDS):
        points: dict[GenericOp, Points] = {}
        within = step.demands(wanted, demands, points.__setitem__)
        more = wanted.joined(_Wanted.of(step.carried, within), facts)
        if more == wanted:
            for nest, own in points.items():
                noted(nest, own)
            _hand_on(op, step, within, demands)
            return True
        wanted = more
    return False


@record
class _Wanted:
    """What is demanded of values, None of those that nothing reads, and which of them decide
    anything."""

    elements: tuple[Demand | None, ...]
    decisive: tuple[bool, ...]

    @staticmethod
    def of(values: Sequence[SSAValue], demands: Demands) -> _Wanted:
        """What is demanded so far."""
        return _Wanted(tuple(map(demands.of, values)), tuple(map(demands.is_decisive, values)))

    def joined(self, other: _Wanted, facts: CountFacts) -> _Wanted:
        """What is demanded for both."""
        found: list[Demand | None] = []
        for left, right in zip(self.elements, other.elements, strict=True):
            if left is None or right is None:
                found.append(right if left is None else left)
            else:
                found.append(tightest(joined(left, right, facts.checked)))
        decisive = (a or b for a, b in zip(self.decisive, other.decisive, strict=True))
        return _Wanted(tuple(found), tuple(decisive))

    def add_to(self, demands: Demands, values: Sequence[SSAValue]) -> None:
        """Demand it of other values."""
        for value, demand, decides in zip(values, self.elements, self.decisive, strict=True):
            if demand is not None:
                demands.need(value, demand)
            if decides:
                demands.decide([value])


class _Step:
    """The ops of a step, and what is known of the values that they read."""

    def __init__(self, op: RepeatOp, facts: CountFacts, functions: Functions) -> None:
        self._op, self._functions = op, functions
        self.block, yielded = _body(op, functions)
        count, shared = len(op.starts), len(self.block.args) - len(op.inputs)
        self.carried, self.own = self.block.args[:count], self.block.args[count:shared]
        self.inputs = self.block.args[shared:]
        self._handed, self._given = yielded[:count], yielded[count:]
        self._facts = CountFacts(most=facts.most, related=facts.related, checked=facts.checked)
        for argument, value in zip(self.inputs, op.inputs, strict=True):
            self._facts.same(argument, value, facts)
        for inner in self.block.ops:
            self._facts.follow_op(inner)

    def demands(self, wanted: _Wanted, around: Demands, noted: Noted) -> Demands:
        """What a step demands, if so much is `wanted` of what it hands on."""
        facts = self._facts
        within = Demands(facts.related, facts.undefined, facts.checked)
        wanted.add_to(within, self._handed)
        for results in self._op.own_results:
            _Wanted.of(results, around).add_to(within, self._given)
        for inner in reversed(block_ops(self.block)):
            if not isinstance(inner, func.ReturnOp | YieldOp):
                demand_op(inner, within, facts, self._functions, noted)
        return within


def _body(op: RepeatOp, functions: Functions) -> tuple[Block, Sequence[SSAValue]]:
    """The ops of a region, and what they yield: those of the function that it calls, if it does
    nothing else."""
    block = op.body_region.block
    call, end = block.first_op, block.last_op
    assert end is not None
    if isinstance(call, func.CallOp) and call.next_op is end:
        function = functions.get(call.callee.string_value())
        if function is not None and list(call.operands) == list(block.args):
            block = function.body.block
            end = block.last_op
            assert end is not None
    return block, tuple(end.operands)


def _hand_on(op: RepeatOp, step: _Step, within: Demands, demands: Demands) -> None:
    """What the steps demand of what the repeat is given."""
    _Wanted.of(step.carried, within).add_to(demands, op.starts)
    _Wanted.of(step.inputs, within).add_to(demands, op.inputs)
    for own in op.own_operands:
        _Wanted.of(step.own, within).add_to(demands, own)
