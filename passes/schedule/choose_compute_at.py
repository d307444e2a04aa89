"""Which nests of a row are computed slice by slice, where a nest behind them reads them.

What the nests of a task hand on leaves the nearest cache where rows are long. So the last one is
tiled, and those in front of it of which each slice reads a slice are computed in its loop, if what
that spares is more than what is computed again where slices overlap, as those of windows do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from xdsl.ir import SSAValue

from lamina.codegen.target import Target
from lamina.dialects.errors import InputError
from lamina.dialects.loop.bounds import BOUNDS, STREAM
from lamina.dialects.loop.clauses import By
from lamina.dialects.records import record
from lamina.passes.cost.cache_shares import MOST_SLICE, slice_bytes
from lamina.passes.cost.fusion_cost import body_cost, element_bytes
from lamina.passes.cost.sweep_limits import CACHE_BYTES_A_CYCLE, LEAST_SLICE
from lamina.passes.schedule.choose_sweeps import decide
from lamina.passes.schedule.compute_at import spans_of
from lamina.passes.schedule.memory import Sweep
from lamina.passes.schedule.stages import Stage, is_temporary


@record
class Part:
    """Slices of a dimension: so many positions, which begin so many behind those of the one before
    it."""

    dim: int
    size: int
    step: int


Parts = Mapping[Stage, Part]
"""Slices of each stage, the last stages first."""


def choose_compute_at(sweeps: Sequence[Sweep], target: Target) -> None:
    """Decide `tile` of the last sweep, and `compute_at` of those in front of it, where it pays."""
    *before, last = sweeps
    if not before or not last.stages[0].rows or not last.extents or not _is_free(last, 0):
        return
    stage = last.stages[0]
    extent, (step, least) = last.extents[0], _steps(last)
    members = [member for sweep in sweeps for member in sweep.stages]
    parts: Parts = {}
    for _ in sweeps:  # of fewer nests, each slice has more room
        whole = sum(_row_bytes(members).values())
        if whole <= target.l1d_bytes:
            return
        size = max(least, slice_bytes(target) * extent // whole)
        if size * whole > extent * target.l1d_bytes * MOST_SLICE:
            return
        size = -(-extent // -(-extent // size) // step) * step
        parts = _parts(before, last, size)
        if len(parts) == len(members):
            break
        members = list(parts)
    if len(parts) > len(last.stages) and _spared(parts, last, target) > 0:
        decide(stage, tile=By(parts[stage].dim, parts[stage].size))
        order = [member for sweep in sweeps for member in sweep.stages if member in parts]
        for member in order:
            if member not in last.stages:
                decide(member, compute_at=parts[_first_reader(member, order)].dim)


def _parts(before: Sequence[Sweep], last: Sweep, size: int) -> Parts:
    """What each stage of the last sweep runs for a slice, and those that can be in its loop."""
    parts = {stage: Part(last.order[stage][0], size, size) for stage in last.stages}
    slices = -(-last.extents[0] // size)
    if not _fits_jam(last.stages[0], parts[last.stages[0]], slices):
        return {}
    for sweep in reversed(before):
        stage, *others = sweep.stages
        if others or not all(is_temporary(write.memory) for write in stage.writes):
            break
        part = _part(stage, parts)
        if part is None or part.dim not in sweep.order[stage]:
            break
        if not _is_free(sweep, sweep.order[stage].index(part.dim)):
            break
        if not _fits_jam(stage, part, slices):
            break
        parts[stage] = part
    return parts


def _steps(last: Sweep) -> tuple[int, int]:
    """What a slice of the outermost loop is a multiple of, and its least size."""
    jam = last.schedule.jam
    if jam is not None:
        return jam.count, jam.count
    step = last.lanes if last.place == 0 else 1
    return step, LEAST_SLICE * step


def _fits_jam(stage: Stage, part: Part, slices: int) -> bool:
    """Whether each of so many slices has positions enough for those that are jammed."""
    jam, left = stage.schedule.jam, stage.extents[part.dim] - (slices - 1) * part.step
    return jam is None or jam.count <= min(part.size, left)


def _part(stage: Stage, parts: Parts) -> Part | None:
    """The slices of a stage that those behind it read, if all read one."""
    made, touched = set(stage.op.outs), {*stage.op.inputs, *stage.op.sources, *stage.op.outs}
    if made & {*stage.op.inputs, *stage.op.sources} or any(touched & set(s.op.outs) for s in parts):
        return None
    readers = {s: p for s, p in parts.items() if made & {*s.op.inputs, *s.op.sources}}
    try:
        given = {reader.op: (part.dim, part.size) for reader, part in readers.items()}
        spans = spans_of(stage.op, given, "compute_at")
    except InputError:  # it is read beyond its edges, or at places that are computed
        return None
    if len(spans) != 1 or len(steps := {part.step for part in readers.values()}) != 1:
        return None
    ((dim, span),) = spans.items()
    return Part(dim, span.count, span.factor * steps.pop())


def _first_reader(member: Stage, order: Sequence[Stage]) -> Stage:
    """The first of the stages that read what one makes: in its loop it is computed."""
    made = set(member.op.outs)
    return next(s for s in order if made & {*s.op.inputs, *s.op.sources})


def _is_free(sweep: Sweep, place: int) -> bool:
    """Whether a sweep may walk the loop at a place in slices, and its schedule leaves that open."""
    stage, schedule = sweep.stages[0], sweep.schedule
    dim = sweep.order[stage][place]
    taken = schedule.tile, schedule.compute_at, schedule.transpose, schedule.rfactor
    if any(clause is not None for clause in taken) or schedule.online or schedule.cache_read:
        return False
    if schedule.jam is not None and schedule.jam.dim != dim:
        return False
    if any(s.op.attributes.keys() & {BOUNDS, STREAM} for s in sweep.stages):
        return False
    if any(sweep.order[s][place] in s.reduced for s in sweep.stages):
        return False
    return place == 0 or dim != stage.inner[0]


def _spared(parts: Parts, last: Sweep, target: Target) -> float:
    """Cycles that a row takes less: what is read again need not come from the second-level cache,
    less what is computed again where slices overlap, and where a jam computes more than a slice."""
    stage = last.stages[0]
    slices = -(-stage.extents[parts[stage].dim] // parts[stage].size)
    inside = [member for member in parts if member not in last.stages]
    made = {write.memory for member in inside for write in member.writes}
    kept = sum(size for memory, size in _row_bytes(inside).items() if memory in made)
    again = 0.0
    for member, part in parts.items():
        jam = member.schedule.jam
        size = part.size if jam is None else -(-part.size // jam.count) * jam.count
        overlap = max(0.0, slices * size / member.extents[part.dim] - 1)
        lanes = target.lanes(8 * element_bytes(member.writes[0].element))
        again += overlap * prod(member.inner_extents) * (1 + body_cost(member.op)) / lanes
    return kept / CACHE_BYTES_A_CYCLE - again


def _row_bytes(stages: Sequence[Stage]) -> dict[SSAValue, int]:
    """Bytes of each memory that the stages touch in a row."""
    found: dict[SSAValue, int] = {}
    for stage in stages:
        for access in (*stage.reads, *stage.writes):
            dims = [d for d in stage.inner if access.stride(d)]
            reach = 1 + sum((stage.extents[d] - 1) * abs(access.stride(d)) for d in dims)
            count = min(reach, prod(stage.extents[d] for d in dims))  # windows overlap
            size = count * element_bytes(access.element)
            found[access.memory] = max(found.get(access.memory, 0), size)
    return found
