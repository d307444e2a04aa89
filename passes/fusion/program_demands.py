"""What a function demands of the kernels that it calls, by what its results are demanded for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects import func
from xdsl.ir import Operation, SSAValue

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, ReshapeOp
from lamina.dialects.loop.kernel_nests import rows_of
from lamina.dialects.records import record
from lamina.passes.fusion.demanded_elements import Demands, is_count
from lamina.passes.fusion.element_limits import Demand, Points
from lamina.passes.fusion.kernel_ends import KernelCall
from lamina.passes.fusion.result_sizes import has_sizes, need_results
from lamina.passes.fusion.row_counts import CountFacts
from lamina.passes.fusion.row_limits import Rows, row_limits
from lamina.passes.fusion.undefined_padding import undefined_arguments
from lamina.passes.fusion.unstructured_demand import UnstructuredDemand, demanded_points
from lamina.passes.fusion.zero_results import zero_results


@record
class _Demanded:
    """What a call has as limits, and demands of each argument: which elements, and whether it
    decides anything."""

    limits: Mapping[str, Any]
    arguments: Sequence[tuple[Demand | None, bool]]


class ProgramDemands:
    """What the top block of a function demands of the kernels that it calls.

    Equal layers call the same kernels, with arguments of which the same is known, for results of
    which the same is demanded: such calls are looked at once.
    """

    def __init__(self, function: func.FuncOp, kernels: Mapping[str, func.FuncOp]) -> None:
        self._function, self._kernels = function, kernels
        self.facts = CountFacts()
        self._calls: dict[func.CallOp, KernelCall] = {}
        self._followed: dict[tuple[Any, ...], CountFacts] = {}
        self._demanded: dict[tuple[Any, ...], _Demanded] = {}
        self._has_sizes = bool(function.body.blocks) and has_sizes(function)
        if not self._has_sizes:
            return
        block = function.body.block
        for argument in block.args:
            self.facts.note_count(argument)
        self.facts.undefined.update(undefined_arguments(function))
        for op in block.ops:
            self._follow(op)

    def demand(self) -> Mapping[func.CallOp, KernelCall]:
        """What limits the kernels in the calls of the block."""
        if self._has_sizes:
            demands = need_results(self._function, self.facts)
            assert demands is not None
            for op in reversed(block_ops(self._function.body.block)):
                self._demand(op, demands)
        return self._calls

    def _follow(self, op: Operation) -> None:
        """Forwards: which values are sizes, and which are masks."""
        if isinstance(op, ReshapeOp):
            self.facts.follow_op(op)
        elif isinstance(op, func.CallOp) and (kernel := self._kernel(op)) is not None:
            self._follow_call(op, kernel)
        else:
            return
        for made in op.results:
            self.facts.note_count(made)

    def _follow_call(self, call: func.CallOp, kernel: func.FuncOp) -> None:
        asked = self._asked(call, kernel)
        inner = None if asked is None else self._followed.get(asked)
        if inner is None:
            inner = CountFacts()
            for argument, value in zip(kernel.body.block.args, call.operands, strict=True):
                inner.same(argument, value, self.facts)
            inner.name_counts(kernel, call)
            for value in inner.through(kernel):
                inner.note_order(value)
            for value, zeros in zero_results(kernel, inner).items():
                inner.paddings[value] = {**zeros, **inner.paddings.get(value, {})}
            if asked is not None:
                self._followed[asked] = inner
        self.facts.related.update(inner.related)
        for made, value in zip(call.res, _returned(kernel), strict=True):
            self.facts.same(made, value, inner)

    def _asked(self, call: func.CallOp, kernel: func.FuncOp) -> tuple[Any, ...] | None:
        """A kernel, and what is known of its arguments; None if the call names numbers that the
        kernel makes, which are no other call's."""
        if any(map(is_count, call.res)):
            return None
        return kernel, *map(self.facts.known_of, call.operands)

    def _demand(self, op: Operation, demands: Demands) -> None:
        if isinstance(op, func.ReturnOp):
            return
        if isinstance(op, func.CallOp) and (kernel := self._kernel(op)) is not None:
            self._demand_call(op, kernel, demands)
        else:
            demanded_points(op, demands, self.facts)

    def _demand_call(self, call: func.CallOp, kernel: func.FuncOp, demands: Demands) -> None:
        known = self._asked(call, kernel)
        wanted = tuple([(demands.of(made), demands.is_decisive(made)) for made in call.res])
        found = None if known is None else self._demanded.get((known, wanted))
        if found is None:
            found = self._demanded_by(call, kernel, wanted)
            if known is not None:
                self._demanded[known, wanted] = found
        self._calls[call] = KernelCall(call, **found.limits)
        for value, (demand, decides) in zip(call.operands, found.arguments, strict=True):
            if demand is not None:
                demands.need(value, demand)
            if decides:
                demands.decide([value])

    def _demanded_by(
        self, call: func.CallOp, kernel: func.FuncOp, wanted: Sequence[tuple[Demand | None, bool]]
    ) -> _Demanded:
        facts = CountFacts(most=self.facts.most, checked=self.facts.checked)
        block = kernel.body.block
        for argument, value in zip(block.args, call.operands, strict=True):
            facts.same(argument, value, self.facts)
        masks = {
            argument.index: count
            for argument in block.args
            if (count := facts.end_of(argument)) is not None
        }
        facts.name_counts(kernel, call)
        returned = facts.through(kernel)
        within = Demands(self.facts.related, facts.undefined, facts.checked)
        for value, (demand, decides) in zip(returned, wanted, strict=True):
            if demand is not None:
                within.need(value, demand)
            if decides:
                within.decide([value])
        rows: Rows = {}
        copied: Rows = {}
        taken: Rows = {}
        points: dict[GenericOp, Points] = {}
        counts = {
            argument.index: facts.counts[argument]
            for argument in block.args
            if argument in facts.counts
        }
        for op in reversed(block_ops(block)):
            if isinstance(op, func.ReturnOp):
                continue
            found = demanded_points(op, within, facts)
            if isinstance(found, UnstructuredDemand):
                rows[op], copied[op], taken[op] = found.rows, found.copied, found.taken
            elif isinstance(op, GenericOp) and found is not None:
                points[op] = found.points
                rows[op] = row_limits(found.points, rows_of(op), op.extents)
        zeros = {
            argument.index: frozenset(limit for limit, number in found.items() if number == 0)
            for argument in block.args
            if (found := facts.paddings.get(argument))
        }
        zeros |= {a.index: facts.masks[a] for a in block.args if a in facts.masks}
        limits = {"rows": rows, "copied": copied, "taken": taken, "masks": masks}
        limits |= {"counts": counts, "points": points, "zeros": zeros}
        arguments = [(within.of(value), within.is_decisive(value)) for value in block.args]
        return _Demanded(limits, arguments)

    def _kernel(self, call: func.CallOp) -> func.FuncOp | None:
        return self._kernels.get(call.callee.string_value())


def _returned(kernel: func.FuncOp) -> Sequence[SSAValue]:
    end = kernel.body.block.last_op
    assert isinstance(end, func.ReturnOp)
    return end.operands


__all__ = ["ProgramDemands"]
