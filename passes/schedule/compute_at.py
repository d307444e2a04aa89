"""`compute-at`: the clause `compute_at` of nests in tasks moves each into a loop of its consumer.

The consumer is the first nest that reads what the nest makes. It stands in a loop over slices of
the dimension that the clause names (see `tile-nests`); the nest goes in front of it there, and runs
the slice that it reads. Where such slices overlap, as those of windows do, elements are computed
again. A task keeps no more of the buffer than one slice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from xdsl.dialects import func, scf
from xdsl.ir import Block, SSAValue

from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.access import forms_of
from lamina.dialects.loop.linear import Linear
from lamina.dialects.records import record
from lamina.passes.kernel_passes import KernelPass
from lamina.passes.schedule.emitter import Emitter
from lamina.passes.schedule.illegal import dim_names, illegal
from lamina.passes.schedule.kernel_parts import leave_out_done, parts_of
from lamina.passes.schedule.nest_steps import (
    has_compute_at,
    nests_in_tasks,
    run_slice,
    set_schedule,
    verify_alone,
)
from lamina.passes.schedule.stages import is_temporary, schedule_of
from lamina.passes.schedule.task_slices import block_of


class ComputeAtPass(KernelPass):
    """Compute nests that have the clause `compute_at` where they are read, slice by slice."""

    name = "compute-at"

    def apply_to_kernel(self, kernel: func.FuncOp) -> None:
        compute_at(kernel)


@record
class _Consumers:
    """The nests of one loop that read what another makes, each with the dimension that is sliced
    from `start` on, in so many positions."""

    nests: dict[GenericOp, tuple[int, int]]
    start: SSAValue


@record
class Span:
    """Positions `factor * start + low` to `factor * start + high`, both included."""

    factor: int
    low: int
    high: int

    @property
    def count(self) -> int:
        """How many there are."""
        return self.high - self.low + 1


def compute_at(function: func.FuncOp) -> None:
    """Move nests of a kernel in place. Raises InputError for a place where one cannot stand."""
    parts = parts_of(function)
    emit = Emitter(function.body.block)
    for op in function.body.block.ops:
        emit.note(op)
    # The last one first: what it reads may be computed where it then stands.
    for nest in reversed(nests_in_tasks(function, has_compute_at)):
        clause = f"compute_at = d{schedule_of(nest).compute_at}"
        nests = [op for op in function.body.walk() if isinstance(op, GenericOp)]
        behind = nests[nests.index(nest) + 1 :]
        _verify(nest, behind, clause)
        consumers = _consumers(nest, behind, clause)
        spans = spans_of(nest, consumers.nests, clause)
        if not spans:
            raise illegal(nest, f"{clause}: each slice reads all that the nest makes")
        set_schedule(nest, replace(schedule_of(nest), compute_at=None))
        _move(emit, nest, consumers, spans, clause)
    leave_out_done(function, parts)


def _verify(nest: GenericOp, others: Sequence[GenericOp], clause: str) -> None:
    verify_alone(nest, clause)
    if not all(map(is_temporary, nest.outs)):
        raise illegal(nest, f"{clause}: its results leave the kernel")
    touched = {*nest.inputs, *nest.sources, *nest.outs}
    for other in others:
        if touched & set(other.outs):
            raise illegal(nest, f"{clause}: a nest behind it writes what it touches")


def _consumers(nest: GenericOp, others: Sequence[GenericOp], clause: str) -> _Consumers:
    """Those of the nests behind it that read what it makes, in the loop of the first of them."""
    dim = schedule_of(nest).compute_at
    readers = [op for op in others if set(nest.outs) & {*op.inputs, *op.sources}]
    if not readers:
        raise illegal(nest, f"{clause}: no nest behind it reads what it makes")
    loop = readers[0].parent_op()
    starts: dict[int, SSAValue] = {}
    if isinstance(loop, scf.ForOp) and loop.parent is nest.parent:
        for entry, symbol in zip(readers[0].slices, readers[0].symbols, strict=True):
            if block_of(symbol) is loop.body.block and len(entry.dims) == 1:
                starts[entry.dims[-1]] = symbol
    if dim is None or (start := starts.get(dim)) is None:
        where = f"the nest that reads it is in a loop over slices of {dim_names(starts)}"
        around = nest.parent_op()
        if isinstance(around, scf.ForOp) and not around.is_ancestor(readers[0]):
            where = "it stands in a loop of its own; `tile` is of the nest that reads it"
        elif not starts:
            where += "; `tile` puts it into one"
        raise illegal(nest, f"{clause}: {where}")
    found: dict[GenericOp, tuple[int, int]] = {}
    for reader in readers:
        entry = dict(zip(reader.symbols, reader.slices, strict=True)).get(start)
        if reader.parent_op() is not loop or entry is None or len(entry.dims) != 1:
            raise illegal(nest, f"{clause}: another nest reads it elsewhere")
        if entry.step is None:
            raise illegal(nest, f"{clause}: a nest reads it in steps that are computed")
        found[reader] = entry.dims[0], (entry.size - 1) * entry.step + 1
    return _Consumers(found, start)


def spans_of(
    nest: GenericOp, readers: Mapping[GenericOp, tuple[int, int]], clause: str
) -> dict[int, Span]:
    """Of each dimension of the nest of which a slice reads a part only, that part.

    Of each nest that reads it, so many positions of a dimension are a slice. Raises InputError,
    naming the clause, for reads whose places are not known.
    """
    found: dict[int, Span | None] = {}
    for reader, (dim, size) in readers.items():
        if set(nest.outs) & set(reader.sources):
            raise illegal(nest, f"{clause}: it is read at places that are computed")
        for value, index_map, pad in reader.reads:
            if value not in nest.outs:
                continue
            written = forms_of(nest.write_maps[nest.outs.index(value)], nest.extents)
            read = forms_of(index_map, reader.extents)
            if pad is not None or written is None or read is None:
                raise illegal(nest, f"{clause}: it is read beyond its edges, or not linearly")
            for own, wanted in zip(written, read, strict=True):
                if (place := own.pure_dim) is not None:
                    span = _span(wanted, dim, size, reader.extents)
                    found[place] = _joined(found[place], span) if place in found else span
    return {
        place: span
        for place, span in found.items()
        if span is not None and span.count < nest.extents[place]
    }


def _span(form: Linear, dim: int, size: int, extents: Sequence[int]) -> Span | None:
    """What an index is for so many positions of a dimension, all of the others; None for all."""
    factor = form.coefficient(dim)
    if factor < 1:
        return None
    low, high = form.add(Linear.of({dim: -factor})).range(extents)
    return Span(factor, low, high + factor * (size - 1))


def _joined(one: Span | None, other: Span | None) -> Span | None:
    if one is None or other is None or one.factor != other.factor:
        return None
    return Span(one.factor, min(one.low, other.low), max(one.high, other.high))


def _move(
    emit: Emitter, nest: GenericOp, consumers: _Consumers, spans: dict[int, Span], clause: str
) -> None:
    """Put a nest in front of its first consumer, for what a slice of that reads."""
    first = next(iter(consumers.nests))
    block, before = first.parent, Block()
    assert block is not None  # nests stand in kernels
    inner = emit.inside(before)
    for dim, span in spans.items():
        start = inner.plus(inner.times(consumers.start, span.factor), span.low)
        run_slice(nest, dim, inner.value(start), span.count, clause)
    nest.detach()
    for op in (*before.ops, nest):
        if op is not nest:
            op.detach()
        block.insert_op_before(op, first)
