"""Which elements of a program's results count: those below the sizes at which calls cut them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, StringAttr
from xdsl.ir import SSAValue

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop.access import row_major_strides, shape_of
from lamina.passes.fusion.demanded_elements import Demands, is_count
from lamina.passes.fusion.element_limits import EVERYTHING, NO_ORDERS, Demand, Limit, Reach
from lamina.passes.fusion.row_counts import CountFacts

_CHECK = StringAttr("check")
_SIZE = StringAttr("size")


def need_results(function: func.FuncOp, facts: CountFacts) -> Demands | None:
    """What is demanded of the values that a function returns; None if no size is known in it.

    `facts` is told how large sizes are at most by the shapes that are cut to them, and by checks of
    which of two is not the larger one, or that they are equal.
    """
    end = function.body.block.last_op
    if not isinstance(end, func.ReturnOp) or (cuts := _cuts(function, end)) is None:
        return None
    for value in _checks(function, end):
        facts.checked |= facts.orders.get(value, NO_ORDERS)
    demands = Demands(facts.related, facts.undefined, facts.checked)
    for value, sizes in zip(end.operands, cuts, strict=True):
        counts = [facts.counts.get(size) if size else None for size in sizes]
        for count, extent in zip(counts, shape_of(value), strict=False):
            if count is not None:
                facts.most[count] = min(extent, facts.most.get(count, extent))
        wanted = _prefix(shape_of(value), counts) if sizes else EVERYTHING
        demands.need(value, wanted)
        if not sizes:
            demands.decide([value])
    return demands


def _checks(function: func.FuncOp, end: func.ReturnOp) -> list[SSAValue]:
    """The results that say whether those of a call count."""
    entries = () if function.res_attrs is None else function.res_attrs.data
    return [
        value
        for entry, value in zip(entries, end.operands, strict=False)
        if isinstance(entry, DictionaryAttr) and entry.data.get("lamina.kind") == _CHECK
    ]


def has_sizes(function: func.FuncOp) -> bool:
    """Whether results of a function are cut to sizes, or what it is given, or its kernels make, may
    be one."""
    end = function.body.block.last_op
    return isinstance(end, func.ReturnOp) and _cuts(function, end) is not None


def _cuts(function: func.FuncOp, end: func.ReturnOp) -> list[list[SSAValue | None]] | None:
    """The values at which the dimensions of each result are cut; None where nothing is a size."""
    block = function.body.block
    made = (v for op in block_ops(block) if isinstance(op, func.CallOp) for v in op.results)
    has_counts = any(map(is_count, (*block.args, *made)))
    if function.res_attrs is None:
        return [[] for _ in end.operands] if has_counts else None
    entries = [e.data if isinstance(e, DictionaryAttr) else {} for e in function.res_attrs.data]
    pairs = list(zip(entries, end.operands, strict=True))
    sizes = [value for entry, value in pairs if entry.get("lamina.kind") == _SIZE]
    found: list[list[SSAValue | None]] = []
    for entry, _ in pairs:
        numbers = entry.get("lamina.sizes")
        found.append([])
        if isinstance(numbers, ArrayAttr):
            for number in numbers:
                assert isinstance(number, IntegerAttr)
                place = number.value.data
                found[-1].append(sizes[place] if place >= 0 else None)
    return found if any(found) or has_counts else None


def _prefix(shape: Sequence[int], counts: Sequence[SSAValue | None]) -> Demand:
    """The elements of an array that is cut to these sizes."""
    return frozenset(
        Limit(stride, extent, Reach(count))
        for stride, extent, count in zip(row_major_strides(shape), shape, counts, strict=True)
        if count is not None and extent > 1
    )
