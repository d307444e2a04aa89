"""`limit-rows`: kernels are told how many of their rows count, where sizes come with the call.

A program with open sizes, or with sizes that depend on data, is compiled for bounds, and cuts its
results to their sizes when a call ends. What `demanded_elements` finds of that to be whole rows of
a kernel becomes `live` in the `#loop.nest` of its nests, and the sizes become arguments of the
kernel. Nothing else changes: rows that do not count may be run.

A kernel whose calls end at different sizes is one for each of these (`limited_calls`).

An argument of a kernel that is a mask of the positions below a size is noted as such
(`lamina.masks`), where bounds of dimensions follow from it, such as of the keys of attention.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ModuleOp,
)
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import UNSTRUCTURED_OPS, GenericOp, ReshapeOp, ScatterOp, SortOp
from lamina.dialects.loop.access import shape_of
from lamina.dialects.loop.bounds import ENDS, MASKS
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.kernel_nests import (
    NEST,
    live_rows_of,
    part_of,
    rows_of,
    set_copied,
    set_live_rows,
    set_part,
    set_rows,
    set_taken,
)
from lamina.dialects.loop.live_rows import LiveRows
from lamina.dialects.loop.packing import is_packed
from lamina.passes.fusion.column_ends import note_columns
from lamina.passes.fusion.cut_sums import cut_sums
from lamina.passes.fusion.demanded_elements import (
    Demands,
)
from lamina.passes.fusion.element_limits import (
    Points,
    Reach,
)
from lamina.passes.fusion.kernel_ends import (
    KernelCall,
    live_sums,
    note_bounds,
    note_ends,
    note_masked_reads,
    note_padded_masks,
    note_scatter_masks,
)
from lamina.passes.fusion.limited_calls import told_apart
from lamina.passes.fusion.limited_parts import divided, follow_readers, in_order, return_handed
from lamina.passes.fusion.outline_kernels import kernel_calls, kernel_functions
from lamina.passes.fusion.result_sizes import has_sizes, need_results
from lamina.passes.fusion.row_counts import CountFacts, Ends, expose_counts, numbers_first
from lamina.passes.fusion.row_limits import RowLimit, Rows, by_place, digits_of, row_limits
from lamina.passes.fusion.sum_ends import note_sum_ends
from lamina.passes.fusion.undefined_padding import undefined_arguments
from lamina.passes.fusion.unstructured_demand import (
    Unstructured,
    UnstructuredDemand,
    demanded_points,
)
from lamina.passes.fusion.zero_operands import note_zeros


class LimitRowsPass(ModulePass):
    """Note on the nests of outlined kernels which of their rows results depend on."""

    name = "limit-rows"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        expose_counts(op)
        numbers_first(op)
        kernels = {kernel.sym_name.data: kernel for kernel in kernel_functions(op)}
        calls: dict[str, list[KernelCall]] = {name: [] for name in kernels}
        programs = {
            function: _Program(function, kernels)
            for function in op.body.block.ops
            if isinstance(function, func.FuncOp) and function.sym_name.data not in kernels
        }
        paddings = {v: own for p in programs.values() for v, own in p.facts.paddings.items()}
        for kernel, own in kernel_calls(op).items() if paddings else ():
            cut_sums(kernel, own, paddings)
        for function, program in programs.items():
            found = program.demand()
            for inner in function.walk():
                if isinstance(inner, func.CallOp) and inner.callee.string_value() in kernels:
                    known = found.get(inner) or KernelCall(inner)
                    calls[inner.callee.string_value()].append(known)
        ends = Ends(op)
        for name, kernel in kernels.items():
            for own, alike in told_apart(kernel, calls[name]):
                _limit(own, alike, ends)


class _Program:
    """What the top block of a function demands of the kernels that it calls."""

    def __init__(self, function: func.FuncOp, kernels: Mapping[str, func.FuncOp]) -> None:
        self._function, self._kernels = function, kernels
        self.facts = CountFacts()
        self._calls: dict[func.CallOp, KernelCall] = {}
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
            inner = CountFacts()
            for argument, value in zip(kernel.body.block.args, op.arguments, strict=True):
                inner.same(argument, value, self.facts)
            inner.name_counts(kernel, op)
            self.facts.multiples.update(inner.multiples)
            for made, value in zip(op.res, inner.through(kernel), strict=True):
                inner.note_order(value)
                self.facts.same(made, value, inner)
        else:
            return
        for made in op.results:
            self.facts.note_count(made)

    def _demand(self, op: Operation, demands: Demands) -> None:
        if isinstance(op, func.ReturnOp):
            return
        if isinstance(op, func.CallOp) and (kernel := self._kernel(op)) is not None:
            self._demand_call(op, kernel, demands)
        else:
            demanded_points(op, demands, self.facts)

    def _demand_call(self, call: func.CallOp, kernel: func.FuncOp, demands: Demands) -> None:
        facts = CountFacts(most=self.facts.most, checked=self.facts.checked)
        block = kernel.body.block
        for argument, value in zip(block.args, call.arguments, strict=True):
            facts.same(argument, value, self.facts)
        masks = {
            argument.index: count
            for argument in block.args
            if (count := facts.end_of(argument)) is not None
        }
        facts.name_counts(kernel, call)
        returned = facts.through(kernel)
        within = Demands(self.facts.multiples, facts.undefined, facts.checked)
        for value, result in zip(returned, call.res, strict=True):
            if (demand := demands.of(result)) is not None:
                within.need(value, demand)
            if demands.is_decisive(result):
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
        self._calls[call] = KernelCall(call, rows, copied, taken, masks, counts, points, zeros)
        for argument, value in zip(block.args, call.arguments, strict=True):
            if (demand := within.of(argument)) is not None:
                demands.need(value, demand)
            if within.is_decisive(argument):
                demands.decide([value])

    def _kernel(self, call: func.CallOp) -> func.FuncOp | None:
        return self._kernels.get(call.callee.string_value())


def _limit(kernel: func.FuncOp, calls: Sequence[KernelCall], ends: Ends) -> None:
    """Note what all calls of a kernel agree on."""
    if not calls or MASKS in kernel.attributes:
        return
    for op in kernel.body.block.ops:
        if isinstance(op, UNSTRUCTURED_OPS):
            _limit_alone(kernel, op, calls, ends)  # there are no other nests
            return
    nests = [op for op in block_ops(kernel.body.block) if isinstance(op, GenericOp)]
    if any(live_rows_of(nest) is not None or ENDS in nest.attributes for nest in nests):
        return
    agreed: Rows = {nest: _agreed(nest, calls, [call.rows for call in calls]) for nest in nests}
    parts: dict[int, list[GenericOp]] = {}
    for nest in nests:
        parts.setdefault(part_of(nest), []).append(nest)
    for own in parts.values():
        follow_readers(own, agreed)
    groups = [group for _, own in sorted(parts.items()) for group in divided(own, agreed)]
    return_handed(kernel, groups, [call.op for call in calls])
    in_order(groups)
    numbers: dict[Reach, int] = {}
    for part, group in enumerate(groups):
        common = _whole_columns(group, frozenset.intersection(*(agreed[n] for n in group)))
        for limit in sorted(common, key=by_place):
            numbers.setdefault(limit.end, len(kernel.body.block.args) + len(numbers))
        sums = live_sums(kernel, group, calls, numbers)
        for nest in group:
            extents = [nest.extents[d] for d in rows_of(nest)]
            set_part(nest, part)
            set_live_rows(nest, sums or digits_of(extents, common, numbers))
    note_bounds(kernel, nests, calls, numbers, walked=True)
    note_ends(kernel, nests, calls, numbers)
    if not note_sum_ends(kernel, nests, calls, numbers):
        note_bounds(kernel, nests, calls, numbers, walked=False)
    note_padded_masks(kernel, nests, calls, numbers)
    note_masked_reads(kernel, nests, calls, numbers)
    note_columns(kernel, nests, calls, numbers)
    note_zeros(kernel, nests, calls, numbers)
    _give(kernel, calls, numbers, ends)


def _whole_columns(nests: Sequence[GenericOp], limits: frozenset[RowLimit]) -> frozenset[RowLimit]:
    """The limits of rows, but for those of groups of columns of a product, or of the columns of
    each group, where there is one of all columns: panels end at a number, not at its digits."""
    places = {
        (place, nest.extents[dim])
        for nest in nests
        if is_packed(nest) and (shape := Contraction.of(nest)) is not None
        for place, dim in enumerate(rows_of(nest))
        if dim == shape.inner_column
    }
    ended = {x for x in limits if x.stride == 1 and (x.place, x.extent) in places}
    kept = {x.place for x in ended}
    return frozenset(x for x in limits if x.place not in kept or x in ended)


def _limit_alone(
    kernel: func.FuncOp, op: Unstructured, calls: Sequence[KernelCall], ends: Ends
) -> None:
    """The same of a kernel that is one op."""
    if NEST in op.attributes:
        return
    numbers: dict[Reach, int] = {}

    def digits(found: list[Rows], extents: Sequence[int]) -> LiveRows | None:
        common = _agreed(op, calls, found)
        for limit in sorted(common, key=by_place):
            numbers.setdefault(limit.end, len(kernel.body.block.args) + len(numbers))
        return digits_of(extents, common, numbers)

    rows, domain = op.possible_rows, op.row_extents
    live = digits([call.rows for call in calls], [domain[d] for d in rows])
    if live is not None:
        set_rows(op, rows)
        set_live_rows(op, live)
    if isinstance(op, ScatterOp):
        set_copied(op, digits([call.copied for call in calls], shape_of(op.into)))
        note_scatter_masks(kernel, op, calls, numbers)
    if isinstance(op, SortOp) and op.window is not None:
        set_taken(op, digits([call.taken for call in calls], op.window[1:]))
    _give(kernel, calls, numbers, ends)


def _give(
    kernel: func.FuncOp, calls: Sequence[KernelCall], numbers: Mapping[Reach, int], ends: Ends
) -> None:
    """The numbers at which rows end become arguments of a kernel."""
    for end in numbers:
        block = kernel.body.block
        argument = block.insert_arg(end.count.type, len(block.args))
        argument.name_hint = "count"
        for call in calls:
            own = replace(end, count=call.size(end.count))
            call.op.operands = [*call.op.operands, ends.value(own, call.op)]
    kernel.update_function_type()


def _agreed(
    nest: Operation, calls: Sequence[KernelCall], rows: Sequence[Rows]
) -> frozenset[RowLimit]:
    """The limits of a nest's rows in all calls of its kernel, of sizes that are known there."""
    found = frozenset.intersection(*(limits.get(nest, frozenset()) for limits in rows))
    return frozenset(x for x in found if all(call.knows(x.end.count) for call in calls))
