"""How the sweeps of a row run: which stages share one, vectors, unrolling, what is fetched ahead.

Each function decides one clause of a nest's schedule (see `dialects/loop/schedules.py`); what the
text says already stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import prod

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from lamina.codegen.target import Target
from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop.bounds import ends_of
from lamina.dialects.loop.clauses import By
from lamina.dialects.loop.schedules import NestSchedule
from lamina.dialects.records import record
from lamina.passes.cost.cache_shares import columns_kept
from lamina.passes.cost.fusion_cost import body_cost, element_bytes
from lamina.passes.cost.sweep_limits import (
    ACCUMULATOR_SHARE,
    AHEAD_BYTES,
    BLOCK_TILES,
    BYTES_AHEAD,
    COLUMN_UNROLL,
    FAR_STREAMS,
    LEAST_LENGTH,
    LEAST_ONLINE,
    LIGHT_BODY,
    ONLINE_BLOCK,
    OPEN_COLUMN_UNROLL,
    OPEN_TILE,
    POINTWISE_UNROLL,
    REDUCTION_UNROLL,
    STREAMS,
    TILES_AHEAD,
)
from lamina.passes.memory.plan_memory import byte_size
from lamina.passes.schedule.dot_sums import sums_pairs
from lamina.passes.schedule.memory import Memory, Sweep
from lamina.passes.schedule.narrow_columns import joined_columns, narrow_rows
from lamina.passes.schedule.online_softmax import online_softmax
from lamina.passes.schedule.overlaps import overlapping_dims
from lamina.passes.schedule.prefetch import (
    Stream,
    is_plain,
    rows_ahead,
    streams_alike,
)
from lamina.passes.schedule.stages import Stage
from lamina.passes.schedule.sweeps import (
    followed_dims,
    joined_order,
    own_loops,
    scheduled_sweeps,
)
from lamina.passes.schedule.transpose import turned_reads
from lamina.passes.schedule.vector_place import vector_place
from lamina.passes.schedule.vector_width import waits_for_caches

HALF_BITS = 16
"""Width of half floats: what is no wider fills vectors with more lanes than f32 does."""


@record
class SweepSurroundings:
    """What the sweeps of a row stand in: buffers, target, and whether tasks walk all columns.

    `columns`: how many a task walks, where it is not all of them.
    """

    memory: Memory
    target: Target
    whole: bool = True
    columns: int | None = None


def decide(stage: Stage, **clauses: object) -> None:
    """Add clauses to a stage's schedule; those that stand there already win."""
    chosen = NestSchedule(**clauses)  # pyright: ignore[reportArgumentType]
    stage.schedule = stage.schedule.completed_by(chosen)


def group_sweeps(stages: Sequence[Stage], *, follow: bool = False) -> list[Sweep]:
    """Neighbouring stages that can share a nest do, in order, unless they say what theirs is.

    Where they may `follow`, pointwise stages are computed of the totals of a reduction, too.
    """
    sweeps: list[Sweep] = []
    for stage in stages:
        if stage.schedule.compute_with is None and not own_loops(stage):
            joins = bool(sweeps) and sweeps[-1].schedule.compute_at is None
            order = joined_order(sweeps[-1], stage) if joins else None
            follows = joins and follow and order is None and _may_follow(sweeps[-1], stage)
            decide(stage, compute_with=True if order is not None or follows else None)
        sweeps = scheduled_sweeps([s for sweep in sweeps for s in sweep.members] + [stage])
    return sweeps


def _may_follow(sweep: Sweep, stage: Stage) -> bool:
    """Whether a stage can be computed of a reduction's totals in registers, which are not added up
    in streams (see `_rfactor`)."""
    given, order = sweep.schedule.vectorize, sweep.order[sweep.stages[0]]
    if not sweep.kept or sweep.schedule.rfactor is not None:
        return False
    place = vector_place(sweep) if given is None else order.index(given.dim)
    longest = max((sweep.extents[p] for p in range(len(order)) if p not in sweep.kept), default=1)
    if place not in sweep.kept or longest >= STREAMS * LEAST_LENGTH:
        return False
    return followed_dims(sweep, stage) is not None


def choose_sweeps(sweeps: Sequence[Sweep], around: SweepSurroundings) -> None:
    """Decide how each sweep runs; scratch is laid out in `around.memory` already."""
    walks = [sweep for sweep in sweeps if sweep.extents]
    for sweep in walks:
        _vectors(sweep, around.target)
    for sweep in walks:
        _loops(sweep, around)
    if around.whole:
        _online(sweeps)


def lanes_of(stages: Sequence[Stage], extent: int, target: Target) -> int:
    """Vector length: the target's, but no longer than the extent's next power of two."""
    return fitting_lanes(target.lanes(widest_bits(stages)), extent)


def fitting_lanes(lanes: int, extent: int) -> int:
    """So many lanes, but no more than the extent's next power of two."""
    while lanes > 1 and lanes // 2 >= extent:
        lanes //= 2
    return lanes


def widest_bits(stages: Sequence[Stage]) -> int:
    """Element width that decides the vector length: 64 if doubles are computed, else 32."""
    for stage in stages:
        for access in stage.accesses():
            if getattr(access.element, "name", "") == "f64":
                return 64
    return 32


def element_bits(stages: Sequence[Stage], target: Target) -> int:
    """Width of the widest element that nests touch or compute, where vectors may be so narrow.

    Where bytes have no masks of their own, the tail of a long vector of them would take a branch
    for each.
    """
    if not target.has("avx512bw"):
        return widest_bits(stages)
    bits = 8
    for stage in stages:
        kinds = [access.element for access in stage.accesses()]
        kinds += [result.type for op in block_ops(stage.op.block) for result in op.results]
        for kind in kinds:
            width = getattr(kind, "bitwidth", None)
            if width is None or width > HALF_BITS:
                return widest_bits(stages)
            bits = max(bits, width)
    return bits


def _vectors(sweep: Sweep, target: Target) -> None:
    """The dimension and lanes of vectors, and whether reads are turned for them."""
    stage = sweep.stages[0]
    order, extents = sweep.order[stage], sweep.extents
    given = stage.schedule.vectorize
    place = vector_place(sweep) if given is None else order.index(given.dim)
    lanes = target.lanes(widest_bits(sweep.stages))
    if given is None and (rows := narrow_rows(sweep, order[place], lanes)) is not None:
        decide(stage, vectorize=By(rows, lanes), jam=By(order[place], extents[place]))
        return
    stores = all(s.is_pointwise and not s.totals for s in sweep.stages)
    if len(order) == 2 and place == 1 and stores:
        decide(stage, transpose=transposed_dim(stage, order[:1], order[1], lanes))
    lanes = lanes_of(sweep.stages, extents[place], target)
    if _dots(sweep, order[place], extents[place], target):
        lanes *= 2
    elif stage.schedule.transpose is None and place not in sweep.kept:
        lanes = fitting_lanes(target.lanes(element_bits(sweep.stages, target)), extents[place])
    if stores and stage.schedule.transpose is None and waits_for_caches(sweep, target):
        lanes = min(lanes, target.lanes(32) // 2)
    decide(stage, vectorize=By(order[place], lanes))


def _dots(sweep: Sweep, dim: int, terms: int, target: Target) -> bool:
    """Whether the nest, alone in its sweep, adds up dot products of neighbouring terms."""
    stage = sweep.stages[0]
    if stage.schedule.dot_pairs is None:
        fills = terms >= 2 * target.lanes(32)
        fits = target.dots_pairs and len(sweep.stages) == 1 and stage.schedule.vectorize is None
        decide(stage, dot_pairs=(fills and fits and sums_pairs(stage, dim)) or None)
    return bool(stage.schedule.dot_pairs)


def transposed_dim(stage: Stage, dims: tuple[int, ...], along: int, lanes: int) -> int | None:
    """The dimension to tile together with `along`, or None if no read gains from it.

    Both must fill at least half a tile: a smaller one leaves most of each register empty. Tiles
    are stored, and so no part of a sum over rows.
    """
    if stage.totals:
        return None
    if 2 * stage.extents[along] < lanes or lanes < 2:
        return None
    for dim in dims:
        if dim != along and 2 * stage.extents[dim] >= lanes and turned_reads(stage, dim, along):
            return dim
    return None


def _loops(sweep: Sweep, around: SweepSurroundings) -> None:
    stage, target = sweep.stages[0], around.target
    if sweep.schedule.transpose is not None:
        reads = {r.memory for s in sweep.stages for r in s.reads}
        far = any(_bytes(memory) > target.l2_bytes for memory in reads)
        tile = By(sweep.schedule.transpose, target.lanes(widest_bits(sweep.stages)) * BLOCK_TILES)
        decide(stage, tile=tile, prefetch_tiles=TILES_AHEAD if far else None)
    elif sweep.place in sweep.kept:
        _columns(sweep, around)
    else:
        reduced = [r for s in sweep.stages if not s.is_pointwise for r in s.op.reductions]
        light = sum(body_cost(s.op) for s in sweep.stages) <= LIGHT_BODY
        # A tuple has several accumulators, whose chains run side by side.
        together = max((len(r.results) for r in reduced), default=0) * joined_columns(sweep)
        unroll = -(-REDUCTION_UNROLL // together) if reduced else POINTWISE_UNROLL
        decide(stage, unroll=unroll if light else 1)


def _columns(sweep: Sweep, around: SweepSurroundings) -> None:
    """A reduction whose vectors run along a kept dimension."""
    stage, place, lanes = sweep.stages[0], sweep.place, sweep.lanes
    order, column = sweep.order[stage], sweep.order[stage][sweep.place]
    extent = sweep.extents[place]
    # A tile that is said, and not of totals in streams, is of the nest: it runs in parts.
    tiled = stage.schedule.tile is not None and stage.schedule.rfactor is None
    if not tiled and (streams := _rfactor(sweep, around.target)) is not None:
        kept = columns_kept(around.target, widest_bits(sweep.stages))
        decide(stage, rfactor=streams, tile=By(column, kept))
        if around.columns is not None and _is_far(stage, around.target):
            widest = max(element_bytes(r.element) for r in stage.reads)
            row = min(around.columns, kept) * widest * streams.count
            decide(stage, prefetch_rows=-(-AHEAD_BYTES // row))
        return
    if around.whole and not tiled:
        outer = [order[p] for p in sweep.kept if p != place]
        _jam(stage, column, outer, around)
    if stage.schedule.jam is None:
        decide(stage, unroll=max(1, min(COLUMN_UNROLL, extent // lanes)))


def _rfactor(sweep: Sweep, target: Target) -> By | None:
    """Streams of rows of a reduction into columns; None if its totals fit registers.

    So do those of rows so short that a block of registers holds all of their columns.
    """
    stage, place = sweep.stages[0], sweep.place
    order, lanes = sweep.order[stage], target.lanes(widest_bits(sweep.stages))
    reduced = [p for p in range(len(order)) if p not in sweep.kept]
    if stage.schedule.jam is not None or not reduced:
        return None
    longest = max(reduced, key=lambda p: sweep.extents[p])
    length = sweep.extents[longest]
    fits = sweep.extents[place] <= COLUMN_UNROLL * lanes
    if lanes == 1 or fits or length < STREAMS * LEAST_LENGTH:
        return None
    far = _is_far(stage, target)
    streams = FAR_STREAMS if far and length >= FAR_STREAMS * LEAST_LENGTH else STREAMS
    return By(order[longest], streams)


def _is_far(stage: Stage, target: Target) -> bool:
    """Whether what the nest reads exceeds the last-level cache."""
    return sum(map(_bytes, {r.memory for r in stage.reads})) > target.l3_bytes


def _jam(stage: Stage, column: int, outer: Sequence[int], around: SweepSurroundings) -> None:
    """The register tile of a reduction with vectors along `column`, a kept dim of `outer` jammed.

    None where nothing is left to jam, or the body is so long that it fills the pipeline alone. The
    jammed dimension is the one along which the fewest vectors are read anew; of equals, the last.
    Height and width are those with the fewest loads for each total; of equals, the widest.
    """
    lanes = lanes_of([stage], stage.extents[column], around.target)
    wide = [d for d in outer if stage.extents[d] > 1]
    if not wide or lanes == 1 or body_cost(stage.op) > LIGHT_BODY or stage.op.sources:
        return
    layouts = [around.memory.layout(r) for r in stage.reads]
    streams = [form for form in layouts if form.coefficient(column)]
    jammed = min(reversed(wide), key=lambda d: sum(form.coefficient(d) != 0 for form in streams))
    totals = len(stage.writes)
    most = max(1, around.target.vector_registers // ACCUMULATOR_SHARE // totals)
    across, extent = -(-stage.extents[column] // lanes), stage.extents[jammed]

    def fitting(vectors: int) -> tuple[int, int]:
        blocks = -(-extent // max(1, most // vectors))
        return vectors, -(-extent // blocks)

    def loads(shape: tuple[int, int]) -> float:
        vectors, height = shape
        moved = -(-across // vectors) * vectors * -(-extent // height) * height
        each = sum(
            (vectors if form.coefficient(column) else 1)
            * (height if form.coefficient(jammed) else 1)
            for form in layouts
        )
        return each / (vectors * height) * moved

    is_open = column in ends_of(stage.op, stage.op.extents)
    together = OPEN_COLUMN_UNROLL if is_open else COLUMN_UNROLL
    if is_open:
        most = min(most, OPEN_TILE)
    widest = -(-across // -(-across // min(together, most)))
    vectors, height = min(map(fitting, range(widest, 0, -1)), key=loads)
    decide(stage, jam=By(jammed, height), unroll=vectors)
    decide(stage, unroll_dims=overlapping_dims(stage, column, vectors * height))


def _online(sweeps: Sequence[Sweep]) -> None:
    """Pairs of neighbouring sweeps that one walk does."""
    for one, other in pairwise(sweeps):
        stage = one.stages[0]
        pair = online_softmax(one, other)
        if pair is not None and one.extents[0] >= LEAST_ONLINE and stage.schedule.online is None:
            tile = By(one.order[stage][0], ONLINE_BLOCK * one.lanes)
            decide(stage, online=True, tile=tile)


def choose_prefetch(sweeps: Sequence[Sweep], rows: int, around: SweepSurroundings) -> None:
    """What each of so many rows fetches for a later one.

    Nothing is fetched if the tensors fit the last-level cache, from which the hardware's own
    prefetching is faster, or if the rows ahead would not fit the second-level cache.
    """
    if any(map(rows_ahead, sweeps)):
        return
    plain, memory, target = [s for s in sweeps if is_plain(s)], around.memory, around.target
    for host in plain[1:]:
        alike = [s for s in plain if s.extents == host.extents and s.place == host.place]
        if sweeps.index(alike[0]) >= sweeps.index(host) or _stores_results(host, memory):
            continue
        streams = streams_alike(host, sweeps, memory)
        row = sum(prod(host.extents) * element_bytes(s.element) for s in streams)
        whole = sum(_bytes(s.memory) for s in streams)
        if not streams or whole <= target.l3_bytes:
            continue
        ahead = -(-AHEAD_BYTES // row)
        if (ahead + 1) * row <= target.l2_bytes // 2:
            if ahead < rows:
                decide(host.stages[0], prefetch_rows=ahead)
            return


def choose_fetch_along(sweep: Sweep, around: SweepSurroundings) -> None:
    """What a pointwise sweep, the only one of its kernel, fetches ahead of its own walk.

    Those are the reads of contiguous lines, if their tensors exceed the last-level cache together.
    """
    if not sweep.extents or sweep.schedule.transpose is not None:
        return
    if not all(s.is_pointwise for s in sweep.stages):
        return
    reads = {(s.memory, s.strides): s for s in _lines(sweep, around)}
    if sum(_bytes(memory) for memory, _ in reads) <= around.target.l3_bytes:
        return
    for stage in sweep.stages:
        own = [s.read for s in reads.values() if s.stage is stage]
        numbers = tuple(n for n, read in enumerate(stage.reads) if read in own)
        if numbers and stage.schedule.prefetch is None:
            decide(stage, prefetch=numbers, prefetch_bytes=BYTES_AHEAD)


def _lines(sweep: Sweep, around: SweepSurroundings) -> Iterator[Stream]:
    for stage in sweep.stages:
        for read in stage.reads:
            stream = Stream(sweep, stage, read)
            near = read.memory in around.memory.scratch
            far = not near and _bytes(read.memory) > around.target.l2_bytes
            if far and stream.strides[sweep.place] == 1:
                yield stream


def _stores_results(sweep: Sweep, memory: Memory) -> bool:
    """Whether the sweep writes vectors to memory, which keeps the memory system busy as it is."""
    return any(
        write.memory not in memory.scratch
        for stage in sweep.stages
        if stage.is_pointwise
        for write in stage.writes
    )


def _bytes(memory: SSAValue) -> int:
    return byte_size(memory.type) if isinstance(memory.type, MemRefType) else 0
