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
from lamina.dialects.loop import UNSTRUCTURED_OPS, GenericOp, ScatterOp, SortOp
from lamina.dialects.loop.access import shape_of
from lamina.dialects.loop.bounds import ENDS, MASKS
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.counted_dims import kernel_of
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
from lamina.passes.fusion.element_limits import (
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
from lamina.passes.fusion.program_demands import ProgramDemands
from lamina.passes.fusion.row_counts import CountFacts, Ends, expose_counts, numbers_first
from lamina.passes.fusion.row_limits import RowLimit, Rows, by_place, digits_of
from lamina.passes.fusion.sum_ends import note_sum_ends
from lamina.passes.fusion.unstructured_demand import (
    Unstructured,
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
            function: ProgramDemands(function, kernels)
            for function in op.body.block.ops
            if isinstance(function, func.FuncOp) and function.sym_name.data not in kernels
        }
        padded = any(program.facts.paddings for program in programs.values())
        for kernel, own in kernel_calls(op).items() if padded else ():
            cut_sums(kernel, own, [_facts_around(call, programs) for call in own])
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


def _facts_around(call: func.CallOp, programs: Mapping[func.FuncOp, ProgramDemands]) -> CountFacts:
    """What is known of the values of the program that calls a kernel."""
    function = kernel_of(call)
    assert isinstance(function, func.FuncOp)
    return programs[function].facts


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
