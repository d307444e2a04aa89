"""Kernels around packed matrix products: blocks of rows, products into scratch, epilogues.

Where the epilogue is pointwise, it runs panel by panel on scratch that stays in the first-level
cache, and tasks divide rows and columns. Where it needs whole rows (softmax, layer norm, a second
product), tasks divide rows only and scratch holds a block of whole rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import memref
from xdsl.ir import SSAValue

from lamina.codegen.target import Target
from lamina.dialects.loop.contraction import REPACKED, Contraction
from lamina.dialects.loop.linear import Linear
from lamina.passes.scheduling.emitter import Emitter, Index
from lamina.passes.scheduling.product import ProductEmitter, Tile, choose_tile
from lamina.passes.scheduling.row_kernel import PARALLEL_WORK, work
from lamina.passes.scheduling.row_operand import copy_rows, needs_copy
from lamina.passes.scheduling.rows import RowSegment, build_sweeps, outputs_of, plan_scratch
from lamina.passes.scheduling.stages import LOCAL_ROW, Stage, is_temporary
from lamina.passes.scheduling.sweep import Env, Memory

PANEL_START = -2
"""Pseudo-dimension of panel scratch: the first column of the panel at hand."""

PANEL_MODE_ROWS = 64
ROW_MODE_ROWS = 32
"""Rows per task: enough to reuse a panel from cache, few enough to give every thread tasks."""
TASKS = 16
"""Tasks to aim for, so that any usual number of threads is kept busy."""


@dataclass
class Plan:
    """How one kernel is divided."""

    products: dict[Stage, Contraction]
    row_dims: int
    """How many leading row dimensions the kernel keeps."""
    panel_mode: bool
    block: int
    """Rows of the last row dimension per task."""


def schedule_product_kernel(
    emit: Emitter, stages: list[Stage], memory: Memory, target: Target
) -> None:
    """Emit the whole kernel."""
    products = {s: c for s in stages if (c := Contraction.of(s.op)) and c.panel is not None}
    panel_mode = _keep_row_dims(stages, products)
    outputs = outputs_of(stages)
    extents = [stages[0].extents[d] for d in stages[0].rows]
    blocked = _has_blocked_rows(stages, products)
    rows = extents[-1] if blocked else 1
    outer = extents[:-1] if blocked else extents
    bits = _bits(products)
    block = _block_rows(rows, stages, products, target, bits, panel_mode=panel_mode)
    builder = _PanelKernel if panel_mode else _RowKernel
    kernel = builder(stages, products, memory, target, outputs, blocked, rows, block, bits)
    blocks = -(-rows // block)
    splits = kernel.column_tasks(prod(outer) * blocks)
    count = prod(outer) * blocks * splits
    columns_first = panel_mode and _shares_columns(products)

    def task(inner: Emitter, number: Index) -> None:
        if columns_first:
            split, *outer_position, block_number = inner.split(number, [splits, *outer, blocks])
        else:
            *outer_position, block_number, split = inner.split(number, [*outer, blocks, splits])
        low = inner.times(block_number, block)
        high = inner.least(inner.plus(low, block), rows)
        if rows % block == 0:
            high = inner.plus(low, block)
        envs: dict[Stage, Env] = {
            s: dict(zip(s.rows, outer_position, strict=False)) for s in stages
        }
        kernel.task(inner, envs, (low, high), split, splits)

    if count > 1 and work(stages) >= PARALLEL_WORK:
        emit.parallel(count, task)
        return

    def serial(inner: Emitter, number: Index, values: list[SSAValue]) -> list[SSAValue]:
        task(inner, number)
        return values

    emit.loop(0, count, 1, [], serial)


def _shares_columns(products: dict[Stage, Contraction]) -> bool:
    """Whether threads should divide the columns: then each reads only the panels it packed itself.

    Worth it where the panels are made in the same call and are the larger operand; otherwise
    dividing the rows keeps a row with the thread that has it in cache.
    """
    stage, shape = next(iter(products.items()))
    if REPACKED not in stage.op.attributes:
        return False
    return shape.size(shape.columns) > shape.size(shape.rows)


def _keep_row_dims(stages: list[Stage], products: dict[Stage, Contraction]) -> bool:
    """Make column dims inner (in place); whether the kernel can go panel by panel."""
    keep = len(stages[0].rows)
    for stage, shape in products.items():
        for place, dim in enumerate(stage.rows):
            if dim in shape.columns:
                keep = min(keep, place)
    for stage in stages:
        moved = stage.rows[keep:]
        stage.rows = stage.rows[:keep]
        stage.inner = moved + stage.inner
    if len(products) != 1:
        return False
    product, shape = next(iter(products.items()))
    if stages[0] is not product:
        return False
    columns = {d for d in shape.columns if product.extents[d] != 1}
    kept_inner = [d for d in product.inner if d not in product.reduced]
    if set(kept_inner) != columns or len(columns) > 1:
        return len(stages) == 1
    if not all(s.is_pointwise for s in stages[1:]):
        return False
    return all(s.inner_extents == (product.extents[shape.inner_column],) for s in stages[1:])


def _has_blocked_rows(stages: list[Stage], products: dict[Stage, Contraction]) -> bool:
    """Whether the last row dimension is one that every product walks with its row operand only."""
    if not stages[0].rows:
        return False
    return all(stage.rows[-1] in shape.rows for stage, shape in products.items())


def _bits(products: dict[Stage, Contraction]) -> int:
    stage = next(iter(products))
    return stage.writes[0].element.bitwidth  # pyright: ignore[reportAttributeAccessIssue]


def _block_rows(
    rows: int,
    stages: list[Stage],
    products: dict[Stage, Contraction],
    target: Target,
    bits: int,
    *,
    panel_mode: bool,
) -> int:
    """Rows per task, balanced over the blocks; scratch of a block fits half the L2 cache."""
    wanted = PANEL_MODE_ROWS if panel_mode else ROW_MODE_ROWS
    widest = 1
    for stage, shape in products.items():
        summed = shape.size(shape.summed)
        columns = 0 if panel_mode else stage.extents[shape.inner_column]
        widest = max(widest, summed + columns)
    fitting = target.l2_bytes // 2 // (widest * bits // 8)
    wanted = max(1, min(wanted, max(8, fitting), rows))
    blocks = -(-rows // wanted)
    block = -(-rows // blocks)
    smallest = min(choose_tile(c.panel or 1, bits, block, target).rows for c in products.values())
    # The last block must hold one whole tile, which may overlap its neighbour otherwise.
    while rows % block and rows % block < smallest:
        block += 1
    return min(block, rows)


class _Kernel:
    """What both modes share: one task's emission."""

    def __init__(
        self,
        stages: list[Stage],
        products: dict[Stage, Contraction],
        memory: Memory,
        target: Target,
        outputs: set[SSAValue],
        blocked: bool,
        rows: int,
        block: int,
        bits: int,
    ) -> None:
        self.stages = stages
        self.products = products
        self.memory = memory
        self.target = target
        self.outputs = outputs
        self.blocked = blocked
        self.rows = rows
        self.block = block
        self.bits = bits

    def column_tasks(self, others: int) -> int:
        """Into how many tasks the columns are divided, given the number of other tasks."""
        return 1

    def task(
        self,
        emit: Emitter,
        envs: dict[Stage, Env],
        rows: tuple[Index, Index],
        split: Index,
        splits: int,
    ) -> None:
        raise AssertionError("abstract")

    def tile(self, shape: Contraction, rows: int) -> Tile:
        assert shape.panel is not None
        return choose_tile(shape.panel, self.bits, rows, self.target)

    def product(
        self,
        emit: Emitter,
        stage: Stage,
        env: Env,
        rows: tuple[Index, Index],
        panels: tuple[Index, Index],
        after_panel: object = None,
    ) -> None:
        """All tiles of a product for a block of rows and a range of panels."""
        shape = self.products[stage]
        assert shape.panel is not None
        row_dim, limits, extra = self._tiled_rows(stage, shape, rows)
        low, high = limits
        smallest = high - low if isinstance(low, int) and isinstance(high, int) else self.block
        if self.rows % self.block and row_dim is not None and self.blocked:
            smallest = min(smallest, self.rows % self.block)
        tile = self.tile(shape, self.block if self.blocked else smallest)
        if tile.rows > smallest:
            tile = Tile(smallest, tile.vectors, tile.lanes)
        emitter = ProductEmitter(stage, shape, self.memory, tile)
        panel_count = -(-stage.extents[shape.inner_column] // shape.panel)
        block = self.block if self.blocked or row_dim is None else stage.extents[row_dim]
        summed = emitter.summed
        if not extra and needs_copy(
            stage, emitter.left, row_dim, summed, self.memory, panel_count, block
        ):
            assert row_dim is not None
            emitter.left = copy_rows(
                emit,
                stage,
                emitter.left,
                self.memory,
                env,
                row_dim,
                summed,
                limits,
                block,
                self.target,
            )
        columns = stage.extents[shape.inner_column]
        whole = columns // shape.panel
        ragged = columns % shape.panel != 0 and not self._padded_scratch(stage)
        if columns % shape.panel != 0 and not ragged:
            whole += 1

        def nest(inner: Emitter, dims: list[int], bound: Env) -> None:
            if dims:
                dim, *rest = dims

                def body(deeper: Emitter, at: Index, values: list[SSAValue]) -> list[SSAValue]:
                    nest(deeper, rest, {**bound, dim: at})
                    return values

                inner.loop(0, stage.extents[dim], 1, [], body)
                return

            def panel_at(masked: bool):
                def body(deeper: Emitter, at: Index, values: list[SSAValue]) -> list[SSAValue]:
                    start = deeper.times(at, shape.panel or 1)
                    panel_env = {**bound, PANEL_START: start}
                    emitter.block(deeper, panel_env, row_dim, limits, tile.rows, at, masked=masked)
                    if callable(after_panel):
                        after_panel(deeper, panel_env, start)
                    return values

                return body

            first, last = panels
            if not ragged:
                inner.loop(first, last, 1, [], panel_at(False))
                return
            stop = inner.least(last, whole)
            inner.loop(first, stop, 1, [], panel_at(False))
            tail = inner.value(stop) if not isinstance(stop, int) else stop
            if isinstance(first, int):
                tail = max(first, tail) if isinstance(tail, int) else tail
            inner.loop(tail, last, 1, [], panel_at(True))

        nest(emit, extra, env)

    def _tiled_rows(
        self, stage: Stage, shape: Contraction, rows: tuple[Index, Index]
    ) -> tuple[int | None, tuple[Index, Index], list[int]]:
        """The tiled row dimension with its range, and the dims to loop over around the tiles."""
        free = [
            d
            for d in (*shape.batch, *shape.rows, *shape.columns[:-1])
            if d not in stage.rows and stage.extents[d] != 1
        ]
        if self.blocked:
            return stage.rows[-1], rows, free
        inner_rows = [d for d in shape.rows if d in free]
        if not inner_rows:
            return None, (0, 1), free
        tiled = inner_rows[-1]
        free.remove(tiled)
        return tiled, (0, stage.extents[tiled]), free

    def _padded_scratch(self, stage: Stage) -> bool:
        """Whether the product's result has room for a whole last panel."""
        return False


class _PanelKernel(_Kernel):
    """Panel by panel: product into panel scratch, then the pointwise epilogue on it."""

    def _shape(self) -> tuple[Stage, Contraction]:
        return next(iter(self.products.items()))

    def column_tasks(self, others: int) -> int:
        stage, shape = self._shape()
        panels = -(-stage.extents[shape.inner_column] // (shape.panel or 1))
        wanted = max(1, -(-TASKS // others))
        for splits in range(wanted, panels + 1):
            if panels % splits == 0 and panels // splits <= max(1, panels // wanted):
                return splits
        return panels

    def task(
        self,
        emit: Emitter,
        envs: dict[Stage, Env],
        rows: tuple[Index, Index],
        split: Index,
        splits: int,
    ) -> None:
        stage, shape = self._shape()
        assert shape.panel is not None
        panels = -(-stage.extents[shape.inner_column] // shape.panel)
        each = panels // splits
        first = emit.times(split, each)
        last = emit.plus(first, each)
        epilogue = [s for s in self.stages if s is not stage]
        if not epilogue:
            self.product(emit, stage, envs[stage], rows, (first, last))
            return
        self._panel_scratch(emit, stage, shape)
        sweeps = build_sweeps(epilogue)
        plan_scratch(emit, sweeps, self.memory, self.outputs)
        segment = RowSegment(sweeps, self.memory, self.target, self.outputs)
        columns = stage.extents[shape.inner_column]

        def after_panel(inner: Emitter, env: Env, start: Index) -> None:
            end = inner.least(inner.plus(start, shape.panel or 1), columns)
            if columns % (shape.panel or 1) == 0:
                end = inner.plus(start, shape.panel or 1)

            def row(deeper: Emitter, at: Index, values: list[SSAValue]) -> list[SSAValue]:
                local = deeper.minus(at, rows[0])
                extra = {LOCAL_ROW: local, PANEL_START: env[PANEL_START]}
                row_envs = {s: {**envs[s], **extra} for s in epilogue}
                if self.blocked:
                    for s in epilogue:
                        row_envs[s][s.rows[-1]] = at
                segment.run(deeper, row_envs, (start, end))
                return values

            inner.loop(*rows, 1, [], row)

        self.product(emit, stage, envs[stage], rows, (first, last), after_panel)

    def _panel_scratch(self, emit: Emitter, stage: Stage, shape: Contraction) -> None:
        write = stage.writes[0]
        if not is_temporary(write.memory):
            return
        assert shape.panel is not None
        axis = next(a for a, f in enumerate(write.axes) if f.coefficient(shape.inner_column))
        self.memory.scratch[write.memory] = {axis: 1}
        self.memory.local_row[write.memory] = shape.panel
        self.memory.shift[write.memory] = Linear(((PANEL_START, -1),))
        self.memory.flat[write.memory] = emit.add(
            memref.AllocaOp.get(write.element, 64, [self.block * shape.panel])
        )

    def _padded_scratch(self, stage: Stage) -> bool:
        return stage.writes[0].memory in self.memory.local_row


class _RowKernel(_Kernel):
    """Whole rows: every product for a block of rows, every row stage for each of its rows."""

    def task(
        self,
        emit: Emitter,
        envs: dict[Stage, Env],
        rows: tuple[Index, Index],
        split: Index,
        splits: int,
    ) -> None:
        segments = self._segments()
        for write, stage in self._crossing(segments):
            self._block_scratch(emit, write, stage)
        for segment in segments:
            if segment[0] in self.products:
                stage = segment[0]
                shape = self.products[stage]
                panels = -(-stage.extents[shape.inner_column] // (shape.panel or 1))
                self.product(emit, stage, envs[stage], rows, (0, panels))
            else:
                self._rows(emit, segment, envs, rows)

    def _segments(self) -> list[list[Stage]]:
        segments: list[list[Stage]] = []
        for stage in self.stages:
            if stage in self.products or not segments or segments[-1][0] in self.products:
                segments.append([stage])
            else:
                segments[-1].append(stage)
        return segments

    def _crossing(self, segments: Sequence[list[Stage]]) -> list[tuple[int, Stage]]:
        """Temporaries that one segment writes and another reads: (write number, stage)."""
        crossing: list[tuple[int, Stage]] = []
        for segment in segments:
            others = [s for s in self.stages if s not in segment]
            read = {r.memory for s in others for r in s.reads}
            for stage in segment:
                for number, write in enumerate(stage.writes):
                    if is_temporary(write.memory) and write.memory in read:
                        crossing.append((number, stage))
        return crossing

    def _block_scratch(self, emit: Emitter, number: int, stage: Stage) -> None:
        write = stage.writes[number]
        strides: dict[int, int] = {}
        step = 1
        row_dims = set(stage.rows)
        for axis in reversed(range(len(write.axes))):
            if {d for d, _ in write.axes[axis].terms} - row_dims:
                strides[axis] = step
                extent = write.shape[axis]
                shape = self.products.get(stage)
                if step == 1 and shape is not None and shape.panel:
                    extent = -(-extent // shape.panel) * shape.panel
                step *= extent
        if step % 512 == 0:
            # Rows a multiple of the cache's way size apart would share their sets.
            step += 16
        self.memory.scratch[write.memory] = strides
        if self.blocked:
            # Otherwise the tiled rows are inner dims, and have their strides already.
            self.memory.local_row[write.memory] = step
        self.memory.flat[write.memory] = emit.add(
            memref.AllocaOp.get(write.element, 64, [self.block * step])
        )

    def _padded_scratch(self, stage: Stage) -> bool:
        write = stage.writes[0]
        strides = self.memory.scratch.get(write.memory)
        if strides is None:
            return False
        column = self.products[stage].inner_column
        axis = next(a for a, f in enumerate(write.axes) if f.coefficient(column))
        return strides.get(axis) == 1 and write.axes[axis] == Linear.dim(column)

    def _rows(
        self,
        emit: Emitter,
        segment: list[Stage],
        envs: dict[Stage, Env],
        rows: tuple[Index, Index],
    ) -> None:
        sweeps = build_sweeps(segment)
        plan_scratch(emit, sweeps, self.memory, self.outputs)
        emitter = RowSegment(sweeps, self.memory, self.target, self.outputs)

        def row(inner: Emitter, at: Index, values: list[SSAValue]) -> list[SSAValue]:
            local = inner.minus(at, rows[0])
            row_envs = {s: {**envs[s], LOCAL_ROW: local} for s in segment}
            if self.blocked:
                for stage in segment:
                    row_envs[stage][stage.rows[-1]] = at
            emitter.run(inner, row_envs)
            return values

        emit.loop(*rows, 1, [], row)
