"""How sums over the rows of a kernel may be made beside them: which dimensions are those rows.

A gradient of a weight sums, over the very rows that a kernel walks anyway, what it reads there. The
kernel can keep such column sums while it walks its rows, if the sums read what it reads, or what it
makes, at the same row.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from lamina.dialects.loop import GenericOp, KernelOp
from lamina.dialects.loop.access import forms_of
from lamina.dialects.loop.kernel_nests import rows_of
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.monoid import COMBINE
from lamina.dialects.records import record
from lamina.passes.cost.fusion_limits import (
    LEAST_SUM_RUN,
    LEAST_SUMMED_ROWS,
    MIN_PARALLEL_ROWS,
    MOST_PARTS,
    SUM_TASKS,
)
from lamina.passes.fusion.fusion_decisions import Refusal
from lamina.passes.fusion.fusion_rules import edge_rows


@record
class ColumnPlan:
    """The first rows of a kernel, outermost first, as dimensions of a nest that sums over them."""

    dims: tuple[int, ...]
    """Of the summing nest, one for each row that is kept."""
    summed: tuple[bool, ...]
    """Whether the nest sums over that row."""


def lone_reduction(kernel: KernelOp) -> GenericOp | None:
    """The nest of a kernel that reduces, if all others only change its results point by point."""
    nest, *rest = kernel.block.ops  # what gives the results back is the last one
    rest = rest[:-1]
    if not isinstance(nest, GenericOp) or {"store", COMBINE} & set(nest.combiner_names):
        return None
    if not nest.reduction_dims or 0 in nest.extents:
        return None
    made = [nest, *rest]
    for other in rest:
        if not isinstance(other, GenericOp) or not other.is_pointwise:
            return None
        if any(value.owner not in made for value in other.operands):
            return None
    return nest


def column_plan(
    walkers: Sequence[KernelOp], kernel: KernelOp, nest: GenericOp
) -> ColumnPlan | Refusal | None:
    """The plan for `nest`, alone in `kernel`, beside the nests of the `walkers`, one kernel to be.

    None if they share no data; a refusal if they do, but not along rows.
    """
    found: ColumnPlan | None = None
    shared = False
    for reader, forms, number in _meetings(walkers, kernel, nest):
        shared = True
        read = forms_of(nest.read_maps[number], nest.extents)
        if forms is None or read is None:
            continue
        plan = _plan(reader, forms, nest, read)
        if plan is not None and (found is None or len(plan.dims) > len(found.dims)):
            found = plan
    if found is None:
        return Refusal("one sums over what are no rows of the other") if shared else None
    if not _edges_agree(walkers, kernel, nest, found):
        return Refusal("one needs other rows of what the other makes")
    if not _kept_rows_stand_alone(nest, found):
        return Refusal("rows share an axis of the sums with other dimensions")
    return found


def _kept_rows_stand_alone(nest: GenericOp, plan: ColumnPlan) -> bool:
    """Whether each row that is not summed over has an axis of every result for itself.

    What joins the sums of tasks reads that axis, and would meet the rows of others.
    """
    kept = [d for d, summed in zip(plan.dims, plan.summed, strict=True) if not summed]
    for index_map in nest.write_maps:
        forms = forms_of(index_map, nest.extents)
        if forms is None:
            return False
        if any(form.coefficient(d) and form != Linear.dim(d) for form in forms for d in kept):
            return False
    return True


def _meetings(
    walkers: Sequence[KernelOp], kernel: KernelOp, nest: GenericOp
) -> list[tuple[GenericOp, tuple[Linear, ...] | None, int]]:
    """Nests that read, or make, what `nest` reads: how, and the number of its read."""
    found: list[tuple[GenericOp, tuple[Linear, ...] | None, int]] = []
    for number, argument in enumerate(nest.inputs):
        value = _outside(kernel, argument)
        for walker in walkers:
            found += [
                (user, forms_of(user.read_maps[place], user.extents), number)
                for operand, inner in zip(walker.inputs, walker.block.args, strict=True)
                if operand is value
                for use in inner.uses
                if isinstance(user := use.operation, GenericOp)
                and (place := use.index) < len(user.inputs)
            ]
            made = _made(walker, value)
            if made is not None and isinstance(maker := made.owner, GenericOp):
                write = maker.write_maps[list(maker.res).index(made)]  # pyright: ignore
                found.append((maker, forms_of(write, maker.extents), number))
    return found


def _outside(kernel: KernelOp, argument: SSAValue) -> SSAValue | None:
    return next(
        (v for v, a in zip(kernel.inputs, kernel.block.args, strict=True) if a is argument), None
    )


def _made(walker: KernelOp, value: SSAValue | None) -> SSAValue | None:
    """The value inside a kernel that is its result `value`."""
    pairs = zip(walker.res, walker.returned, strict=True)
    return next((inner for result, inner in pairs if result is value), None)


def _plan(
    reader: GenericOp, forms: tuple[Linear, ...], nest: GenericOp, read: tuple[Linear, ...]
) -> ColumnPlan | None:
    """The longest prefix of the reader's rows that `nest` walks too, with a run left in each."""
    rows, dims = rows_of(reader), list[int]()
    nearest = {d for d, c in read[-1].terms if c == 1} if read else set[int]()
    for row in rows:
        steps = [form.coefficient(row) for form in forms]
        dim = next(
            (
                d
                for d, extent in enumerate(nest.extents)
                if extent == reader.extents[row]
                and d not in dims
                and [form.coefficient(d) for form in read] == steps
                and any(steps)
            ),
            None,
        )
        if dim is None or dim in nearest:
            break
        dims.append(dim)
    reduced = set(nest.reduction_dims)
    while dims and dims[-1] not in reduced:
        if prod(e for d, e in enumerate(nest.extents) if d not in dims) >= LEAST_SUM_RUN:
            break
        dims.pop()
    if not reduced.intersection(dims):
        return None
    return ColumnPlan(tuple(dims), tuple(d in reduced for d in dims))


def _edges_agree(
    walkers: Sequence[KernelOp], kernel: KernelOp, nest: GenericOp, plan: ColumnPlan
) -> bool:
    """Whether what the nest reads of the walkers' results was made at the same rows."""
    for operand, argument in zip(kernel.inputs, kernel.block.args, strict=True):
        for walker in walkers:
            made = _made(walker, operand)
            if made is None:
                continue
            maker = made.owner
            if not isinstance(maker, GenericOp) or any(s is argument for s in nest.sources):
                return False
            count = len(plan.dims)
            rows = {maker: rows_of(maker)[:count]}
            for number, value in enumerate(nest.inputs):
                if value is not argument:
                    continue
                if nest.pad_values[number] is not None:
                    return False
                if edge_rows(made, rows, nest, number, count) != list(plan.dims):
                    return False
    return True


def parts_of(extents: Sequence[int], plan: ColumnPlan, points: int, serial: int) -> int:
    """Into how many parts to divide the first summed row, for threads to share.

    1 if the other rows give tasks enough, or one thread does `points` points alone (`serial`).
    """
    kept = prod(e for e, summed in zip(extents, plan.summed, strict=True) if not summed)
    if kept >= SUM_TASKS or points <= serial:
        return 1
    extent = extents[plan.summed.index(True)]
    rows = prod(e for e, summed in zip(extents, plan.summed, strict=True) if summed)
    most = min(max(1, rows // LEAST_SUMMED_ROWS), extent, MOST_PARTS)
    divisors = [d for d in range(1, most + 1) if extent % d == 0]
    few = [d for d in divisors if kept * d <= SUM_TASKS]
    if few and kept * few[-1] >= MIN_PARALLEL_ROWS:
        return few[-1]
    return next((d for d in divisors if kept * d >= SUM_TASKS), divisors[-1])


__all__ = ["ColumnPlan", "column_plan", "lone_reduction", "parts_of"]
