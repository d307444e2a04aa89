"""`note-least-extents`: nests are told how few positions of each dimension a call may need.

A program with sizes that calls bring is compiled for bounds, by which `fuse-kernels` weighs what to
put together. A call of a row or two of 256 has other needs: where a kernel shares out rows, one
thread has them all. What `demanded_elements` finds of results that are cut, before there are any
kernels, says so in `lamina.least_extents`, which `fuse-kernels` reads:

    loop.generic (d0, d1) in [256, 768] ... attributes {lamina.least_extents = array<i64: 1, 768>}

Steps of a `control.repeat`, such as equal layers, are told what the next one needs of them. A size
is 1 at least, or what `lamina.least` of its argument says. A nest that has the note keeps
it.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.least_extents import LEAST_EXTENTS, set_least_extents
from lamina.passes.contracts.argument_numbers import LEAST
from lamina.passes.defined_functions import defined_functions
from lamina.passes.fusion.element_limits import End, Points
from lamina.passes.fusion.repeat_demands import Functions, demand_op
from lamina.passes.fusion.result_sizes import has_sizes, need_results
from lamina.passes.fusion.row_counts import CountFacts
from lamina.passes.fusion.row_limits import by_place, row_limits


class NoteLeastExtentsPass(ModulePass):
    """Note how few positions of each dimension of a nest a call may need, where sizes are open."""

    name = "note-least-extents"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = {function.sym_name.data: function for function in defined_functions(op)}
        for function in functions.values():
            if has_sizes(function):
                _note(function, functions)


def _note(function: func.FuncOp, functions: Functions) -> None:
    facts = CountFacts()
    block = function.body.block
    for argument in block.args:
        facts.note_count(argument)
    for op in block.ops:
        facts.follow_op(op)
        for made in op.results:
            facts.note_count(made)
            facts.note_order(made)
    demands = need_results(function, facts)
    assert demands is not None
    least = _least_numbers(function)

    def note(nest: GenericOp, points: Points) -> None:
        if LEAST_EXTENTS not in nest.attributes:
            set_least_extents(nest, _least_extents(nest.extents, points, least))

    for op in reversed(block_ops(block)):
        if not isinstance(op, func.ReturnOp):
            demand_op(op, demands, facts, functions, note)


def _least_numbers(function: func.FuncOp) -> dict[SSAValue, int]:
    """The least that sizes are of which arguments say so."""
    found: dict[SSAValue, int] = {}
    entries = function.arg_attrs.data if function.arg_attrs is not None else ()
    for argument, entry in zip(function.body.block.args, entries, strict=False):
        least = entry.data.get(LEAST) if isinstance(entry, DictionaryAttr) else None
        if isinstance(least, IntegerAttr):
            found[argument] = max(1, least.value.data)
    return found


def _least_extents(extents: Sequence[int], points: Points, least: dict[SSAValue, int]) -> list[int]:
    """What is left of each dimension where all limits are as low as they may be."""
    found: list[int] = []
    ordered = sorted(row_limits(points, range(len(extents)), extents), key=by_place)
    for dim, extent in enumerate(extents):
        needed, left = 1, extent
        for limit in (limit for limit in ordered if limit.place == dim):
            reach = limit.stride * limit.extent
            if left % reach:
                continue  # it overlaps one that is further out
            needed *= left // reach * _least_end(limit.end, limit.extent, least)
            left = limit.stride
        found.append(needed * left)
    return found


def _least_end(end: End, extent: int, least: dict[SSAValue, int]) -> int:
    """How many positions of `extent` a limit leaves at least, but one."""
    if isinstance(end, int):
        return min(end, extent)
    number = least.get(end.count, 1)
    return min(extent, max(1, end.at(number))) if end.factor > 0 else 1
