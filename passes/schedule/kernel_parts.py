"""The parts of a kernel, each scheduled for itself: of which class each is, and its schedule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import UNSTRUCTURED_OPS, GenericOp
from lamina.dialects.loop.kernel_nests import part_of
from lamina.dialects.loop.packing import is_packed
from lamina.dialects.loop.schedules import (
    PART_SCHEDULES,
    SCHEDULE,
    PairTasksAttr,
    ProductTasksAttr,
    RowTasksAttr,
    UnstructuredTasksAttr,
)
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.pair_copy import PairCopy
from lamina.passes.schedule.stages import Stage, stages_of
from lamina.passes.schedule.unstructured_ops import Unstructured


@dataclass(frozen=True, eq=False)
class Part:
    """Nests that share a kernel's loops over rows, or its one unstructured op."""

    stages: list[Stage]
    kind: type[Any]
    """The class of attribute that schedules it."""
    op: Unstructured | None = None
    pairs: PairCopy | None = None


def parts_of(function: func.FuncOp) -> list[Part]:
    """The parts of a kernel in memref form, in order; nests of no points are in none.

    Nor are those that run slices already: their tasks stand.
    """
    ops = block_ops(function.body.block)
    alone = [op for op in ops if isinstance(op, UNSTRUCTURED_OPS)]
    found = [Part([], UnstructuredTasksAttr, op=op) for op in alone]
    nests = [op for op in ops if isinstance(op, GenericOp) and is_open(op)]
    by_number: dict[object, list[GenericOp]] = {}
    for nest in nests:
        by_number.setdefault(part_of(nest), []).append(nest)
    return found + [_part(part) for part in by_number.values()]


def is_open(nest: GenericOp) -> bool:
    """Whether a nest is one whose rows are still to be divided into tasks."""
    return 0 not in nest.extents and not nest.symbols


def _part(nests: list[GenericOp]) -> Part:
    """The nests of one part of the kernel (see `split-domains`)."""
    stages = stages_of(nests)
    if any(is_packed(nest) for nest in nests):
        return Part(stages, ProductTasksAttr)
    if len(stages) == 1 and (pairs := PairCopy.of(stages[0])) is not None:
        return Part(stages, PairTasksAttr, pairs=pairs)
    return Part(stages, RowTasksAttr)


def schedules_of(function: func.FuncOp, parts: Sequence[Part]) -> list[Any]:
    """The clauses of each part's schedule, empty where the kernel has none.

    Raises InputError for a schedule that is not one of its parts, in their order.
    """
    attribute = function.attributes.get(SCHEDULE)
    if attribute is None:
        return [part.kind.kind() for part in parts]
    if not isinstance(attribute, ArrayAttr) or len(attribute) != len(parts):
        raise illegal(function, f"it is an array of {len(parts)}, one for each part of the kernel")
    for part, given in zip(parts, attribute, strict=True):
        if not isinstance(given, part.kind):
            raise illegal(function, f"{_named(given)} schedules {_known(given)}, not {_says(part)}")
    return [given.data for given in attribute]  # pyright: ignore[reportUnknownVariableType]


def leave_out_done(function: func.FuncOp, parts: Sequence[Part]) -> None:
    """Leave out the schedules of those of its parts whose nests all run slices by now; in place."""
    if SCHEDULE not in function.attributes:
        return
    given = zip(parts, schedules_of(function, parts), strict=True)
    left = [
        part.kind(clauses)
        for part, clauses in given
        if part.op is not None or any(is_open(stage.op) for stage in part.stages)
    ]
    function.attributes[SCHEDULE] = ArrayAttr(left)
    if not left:
        del function.attributes[SCHEDULE]


def _named(given: Attribute) -> str:
    return f"#{given.name}" if isinstance(given, PART_SCHEDULES) else str(given)


def _known(given: Attribute) -> str:
    known = isinstance(given, PART_SCHEDULES)
    return "another kind of kernel" if known else "no kernel"


def _says(part: Part) -> str:
    return f"what #{part.kind.name} does"
