"""`tile-nests`: the clause `tile` of nests in tasks as a loop around slices of them.

A tile is a slice of a kept dimension; the last one is shorter where the size does not divide the
dimension. Nests that share the loops of the one in front of them (`compute_with`) go into its loop.
Tiles of transposed, factored and online nests, and of products, are part of what those make.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects import func, scf
from xdsl.ir import Block, Region

from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.clauses import By
from lamina.passes.kernel_passes import KernelPass
from lamina.passes.schedule.emitter import INDEX, Emitter
from lamina.passes.schedule.illegal import dim_names, illegal
from lamina.passes.schedule.kernel_parts import leave_out_done, parts_of
from lamina.passes.schedule.nest_steps import (
    followers,
    has_tile,
    nests_in_tasks,
    run_slice,
    set_schedule,
)
from lamina.passes.schedule.stages import schedule_of, stages_of
from lamina.passes.schedule.sweeps import scheduled_sweeps
from lamina.passes.schedule.task_slices import inner_slices, take_slices


class TileNestsPass(KernelPass):
    """Put nests with the clause `tile` into loops over their tiles."""

    name = "tile-nests"

    def apply_to_kernel(self, kernel: func.FuncOp) -> None:
        tile_nests(kernel)


def tile_nests(function: func.FuncOp) -> None:
    """Tile the nests of a kernel in place. Raises InputError for a tile that is not legal."""
    parts = parts_of(function)
    emit = Emitter(function.body.block)
    for op in function.body.block.ops:
        emit.note(op)
    for nest in nests_in_tasks(function, has_tile):
        tile = schedule_of(nest).tile
        assert tile is not None  # as asked for
        set_schedule(nest, replace(schedule_of(nest), tile=None))
        _tile(emit, [nest, *followers(nest)], tile)
    leave_out_done(function, parts)


def _tile(emit: Emitter, nests: Sequence[GenericOp], tile: By) -> None:
    stages = stages_of(list(nests))
    if any(stage.totals for stage in stages):
        legal = "tiles are of nests that store or reduce within a row"
        raise illegal(nests[0], f"tile = d{tile.dim}: it sums over rows; {legal}")
    for stage in stages:
        take_slices(stage)
        inner_slices(stage)
    (sweep,) = scheduled_sweeps(stages)
    first, order = stages[0], sweep.order[stages[0]]
    if tile.dim not in order:
        raise illegal(first.op, f"tile = d{tile.dim}: the loops of a task are {dim_names(order)}")
    place, extent = order.index(tile.dim), first.extents[tile.dim]
    kept = [
        dim
        for at, dim in enumerate(order)
        if not any(sweep.order[stage][at] in stage.reduced for stage in sweep.stages)
    ]
    if tile.dim not in kept:
        legal = f"kept loops of a task: {dim_names(kept)}"
        raise illegal(first.op, f"tile = d{tile.dim}: it is reduced; {legal}")
    if tile.count >= extent:
        return
    block = Block(arg_types=[INDEX])
    loop = scf.ForOp.create(
        operands=[emit.value(0), emit.value(extent), emit.value(tile.count)],
        regions=[Region(block)],
    )
    parent = nests[0].parent
    assert parent is not None  # nests stand in kernels
    parent.insert_op_before(loop, nests[0])
    for stage in stages:
        stage.op.detach()
        block.add_op(stage.op)
        dim = sweep.dim(stage, place)
        run_slice(stage.op, dim, block.args[0], tile.count, f"tile = d{dim}")
    block.add_op(scf.YieldOp.create())
