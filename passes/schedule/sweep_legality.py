"""Which clauses a sweep may have: checked before its loops are made."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from lamina.dialects.errors import InputError
from lamina.dialects.loop.clauses import MOST, MOST_COPIES, By
from lamina.passes.cost.fusion_cost import element_bytes
from lamina.passes.schedule.dot_sums import sums_pairs
from lamina.passes.schedule.illegal import dim_names, illegal
from lamina.passes.schedule.memory import Sweep
from lamina.passes.schedule.narrow_columns import joins_columns, narrow_refusal
from lamina.passes.schedule.stages import Stage
from lamina.passes.schedule.totals_epilogue import verify_followers
from lamina.passes.schedule.transpose import turned_reads

PACKED_ALONE = ("terms", "tail", "double_buffer", "prefetch_panels", "prefetch_writes")
"""Clauses that only packed products have."""
MOST_WRITTEN_OUT = 8 * MOST_COPIES
"""Copies of a body in a tile whose loops are written out: code grows with them. No measure: four
times what is chosen (`MOST_UNROLLED`)."""


def verify_sweep(sweep: Sweep) -> None:
    """Raises InputError for clauses that the sweep's loops cannot have."""
    schedule = sweep.schedule
    if schedule.transpose is not None:
        _verify_transpose(sweep)
    elif schedule.prefetch_tiles is not None:
        raise _refuse(sweep, "prefetch_tiles: only with transpose")
    if schedule.jam is not None:
        _verify_jam(sweep, schedule.jam)
    if schedule.unroll_dims is not None:
        _verify_unrolled(sweep, schedule.unroll_dims)
    if schedule.rfactor is not None:
        _verify_rfactor(sweep, schedule.rfactor)
    if schedule.tile is not None:
        _verify_tile(sweep, schedule.tile)
    if schedule.cache_read is not None:
        raise _refuse(sweep, "cache_read: only for reads of packed products")
    if said := [name for name in PACKED_ALONE if getattr(schedule, name)]:
        raise _refuse(sweep, f"{', '.join(said)}: only of packed products")
    if schedule.dot_pairs:
        _verify_dots(sweep)
    for stage in sweep.stages:
        verify_prefetch(stage)
    if sweep.followers:
        _verify_followers(sweep)
    if not sweep.extents and (schedule.online or (schedule.unroll or 1) > 1):
        said = "online" if schedule.online else f"unroll = {schedule.unroll}"
        raise _refuse(sweep, f"{said}: the nest has no loops in a task")


def _verify_followers(sweep: Sweep) -> None:
    """What is computed of totals shares the tiles of a reduction with vectors along a kept dim."""
    last = next(reversed(sweep.followers))
    if sweep.place not in sweep.kept or sweep.schedule.rfactor is not None:
        legal = "only of totals whose vectors run along a kept dimension, in one stream"
        raise illegal(last.op, f"compute_with: {legal}")
    verify_followers(list(sweep.followers))


def verify_prefetch(stage: Stage) -> None:
    """So many bytes ahead are one element of each read that is fetched, or more."""
    distance, numbers = stage.schedule.prefetch_bytes, stage.schedule.prefetch
    if distance is None:
        return
    if not numbers:
        legal = f"only with prefetch, of reads {list(range(len(stage.reads)))}"
        raise illegal(stage.op, f"prefetch_bytes: {legal}")
    least = max(element_bytes(stage.reads[n].element) for n in numbers)
    if distance < least:
        legal = f"from {least}, the bytes of an element, to {MOST}"
        raise illegal(stage.op, f"prefetch_bytes = {distance}: {legal}")


def verify_common_loop(stages: Sequence[Stage]) -> None:
    """Raises InputError where tasks are to divide the first loop of their nests, which differs."""
    if not stages[0].inner or len({s.inner_extents[:1] for s in stages}) > 1:
        raise illegal(stages[0].op, "tile: the nests of the kernel have no loop in common")


def only_reduces(sweep: Sweep, rest: Sequence[Sweep], outputs: set[SSAValue]) -> bool:
    """Whether the sweep ends in totals, and nothing else of it is needed after it."""
    pointwise = [s for s in sweep.stages if s.is_pointwise]
    totals = [s for s in sweep.stages if not s.is_pointwise]
    if len(sweep.extents) != 1 or not totals:
        return False
    if any("store" in s.combiners or not set(s.inner) <= s.reduced for s in totals):
        return False
    others = [s for other in rest for s in other.stages]
    needed = {r.memory for s in others for r in s.reads} | outputs
    needed |= {source for s in others for source in s.op.sources}
    return not any(w.memory in needed for s in pointwise for w in s.writes)


def _refuse(sweep: Sweep, reason: str) -> InputError:
    return illegal(sweep.stages[0].op, reason)


def _verify_dots(sweep: Sweep) -> None:
    stage, vectors = sweep.stages[0], sweep.schedule.vectorize
    if len(sweep.stages) != 1 or vectors is None or not sums_pairs(stage, vectors.dim):
        legal = "only of a sum of products of two bf16, with vectors along neighbouring terms"
        raise _refuse(sweep, f"dot_pairs: {legal}")
    if vectors.count < 2:
        raise _refuse(sweep, f"dot_pairs: vectorize = d{vectors.dim} x 2 or more")


def _verify_transpose(sweep: Sweep) -> None:
    stage, schedule = sweep.stages[0], sweep.schedule
    order = sweep.order[stage]
    if len(order) != 2 or not all(s.is_pointwise and not s.totals for s in sweep.stages):
        raise _refuse(sweep, "transpose: it needs a pointwise nest of two loops in a task")
    if sweep.place != 1 or schedule.transpose != order[0]:
        raise _refuse(sweep, f"transpose: here d{order[0]}, with vectors along d{order[1]}")
    if sweep.lanes < 2 or not turned_reads(stage, *order):
        raise _refuse(sweep, f"transpose: no read is contiguous along d{order[0]} alone")
    if schedule.jam is not None or schedule.rfactor is not None:
        raise _refuse(sweep, "jam, rfactor: the nest reduces nothing")


def _verify_kept(sweep: Sweep, name: str, by: By) -> None:
    """Unroll-and-jam of a reduction with vectors along one kept dimension, over another."""
    stage = sweep.stages[0]
    order = sweep.order[stage]
    legal = [order[p] for p in sweep.kept if p != sweep.place] if _keeps_vectors(sweep) else []
    if by.dim not in legal or stage.op.sources:
        raise _refuse(sweep, f"{name} = d{by.dim}: kept beside that of vectors: {dim_names(legal)}")
    if by.count > stage.extents[by.dim]:
        raise _refuse(sweep, f"{name}: d{by.dim} has {stage.extents[by.dim]} positions")


def _verify_jam(sweep: Sweep, by: By) -> None:
    """A jammed dimension is kept; with vectors along a reduced one, it has a few columns."""
    if not joins_columns(sweep):
        _verify_kept(sweep, "jam", by)
    elif refusal := narrow_refusal(sweep, by, sweep.order[sweep.stages[0]][sweep.place]):
        raise _refuse(sweep, f"jam = d{by.dim} x {by.count}: {refusal}")


def _verify_unrolled(sweep: Sweep, dims: Sequence[int]) -> None:
    """Loops that are written out are over reduced dimensions of a jammed nest, and short."""
    stage, schedule = sweep.stages[0], sweep.schedule
    legal = [d for d in sweep.order[stage] if d in stage.reduced] if schedule.jam else []
    if not set(dims) <= set(legal):
        where = f"reduced, of a nest with jam: {dim_names(legal)}"
        raise _refuse(sweep, f"unroll_dims = {dim_names(dims)}: {where}")
    jammed = schedule.jam.count if schedule.jam else 1
    copies = prod(stage.extents[d] for d in dims) * jammed * (schedule.unroll or 1)
    if copies > MOST_WRITTEN_OUT:
        legal = f"{MOST_WRITTEN_OUT} are the most"
        raise _refuse(sweep, f"unroll_dims = {dim_names(dims)}: {copies} copies; {legal}")


def _verify_rfactor(sweep: Sweep, by: By) -> None:
    stage, schedule = sweep.stages[0], sweep.schedule
    order = sweep.order[stage]
    legal = [d for d in order if d in stage.reduced] if _keeps_vectors(sweep) else []
    if by.dim not in legal or schedule.jam is not None:
        raise _refuse(
            sweep,
            f"rfactor = d{by.dim}: reduced, with vectors of two or more along kept ones: "
            f"{dim_names(legal)}",
        )
    if by.count > stage.extents[by.dim]:
        raise _refuse(sweep, f"rfactor: d{by.dim} has {stage.extents[by.dim]} positions")


def _keeps_vectors(sweep: Sweep) -> bool:
    return sweep.place in sweep.kept and sweep.lanes > 1 and len(sweep.stages) == 1


def _verify_tile(sweep: Sweep, by: By) -> None:
    """A tile is one of transposed lines, of columns in streams, or of an online walk."""
    stage, schedule = sweep.stages[0], sweep.schedule
    legal = schedule.transpose
    if schedule.rfactor is not None or schedule.online:
        legal = sweep.order[stage][sweep.place]
    if by.dim != legal:
        where = "with transpose, rfactor or online" if legal is None else f"d{legal} here"
        raise _refuse(sweep, f"tile = d{by.dim}: {where}")
    if by.count % sweep.lanes:
        raise _refuse(sweep, f"tile = d{by.dim} x {by.count}: not in vectors of {sweep.lanes}")
