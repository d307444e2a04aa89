"""Pointwise nests that read along another dimension than they write: register-tile transposes.

A square tile of vectors is loaded along the dimension that is contiguous in the source and turned
in registers by log2(lanes) rounds of two-input shuffles, so that both sides move whole vectors.
"""

from __future__ import annotations

from xdsl.dialects import vector
from xdsl.dialects.builtin import I64, DenseArrayBase, VectorType, i64
from xdsl.ir import SSAValue

from lamina.passes.scheduling.body import Body, Lane
from lamina.passes.scheduling.emitter import Emitter, Index
from lamina.passes.scheduling.memory import Env, Memory, Sweep
from lamina.passes.scheduling.stages import Access, Stage
from lamina.passes.scheduling.sweep import SweepEmitter


def turned_reads(stage: Stage, across: int, along: int) -> list[int]:
    """Reads that are contiguous along `across` while the nest is vectorized along `along`."""
    return [
        number
        for number, read in enumerate(stage.reads)
        if read.pad is None and read.stride(across) == 1 and read.stride(along) not in (0, 1)
    ]


def transposed_dim(stage: Stage, dims: tuple[int, ...], along: int, lanes: int) -> int | None:
    """The dimension to tile together with `along`, or None if no read gains from it."""
    if stage.extents[along] % lanes or lanes < 2:
        return None
    for dim in dims:
        if dim != along and stage.extents[dim] % lanes == 0 and turned_reads(stage, dim, along):
            return dim
    return None


class TransposeEmitter(SweepEmitter):
    """Emits a sweep over (across, along) in square tiles; both extents are whole tiles."""

    def __init__(self, sweep: Sweep, memory: Memory, lanes: int, outputs: set[SSAValue]) -> None:
        super().__init__(sweep, memory, 1, lanes, outputs)

    def run(self, emit: Emitter, envs: dict[Stage, Env], ranges: list[tuple[Index, Index]]) -> None:
        """Emit the tiles of the ranges."""
        (across_low, across_high), (low, high) = ranges

        def outer(inner: Emitter, across: Index, values: list[SSAValue]) -> list[SSAValue]:
            def tile(deeper: Emitter, along: Index, rest: list[SSAValue]) -> list[SSAValue]:
                self._tile(deeper, envs, across, along)
                return rest

            inner.loop(low, high, self.lanes, [], tile)
            return values

        emit.loop(across_low, across_high, self.lanes, [], outer)

    def _tile(self, emit: Emitter, envs: dict[Stage, Env], across: Index, along: Index) -> None:
        turned: dict[Stage, dict[SSAValue, list[SSAValue]]] = {}
        for stage in self.sweep.stages:
            first, second = self.sweep.order[stage]
            arguments = self._arguments(stage)
            turned[stage] = {}
            for number in turned_reads(stage, first, second):
                access, argument = arguments[number]
                if self._forwarded(stage, access):
                    continue
                env = {**envs[stage], first: across, second: along}
                turned[stage][argument] = self._turn(emit, access, env, second)
        for copy in range(self.lanes):
            bound = self._bind(envs, 0, emit.plus(across, copy))
            prepared: dict[Stage, Body] = {}
            for stage in self.sweep.stages:
                prepared[stage] = self._prepare(emit, stage, bound[stage])
                for argument, rows in turned[stage].items():
                    prepared[stage].values[argument] = Lane(rows[copy], False)
            self._step(emit, bound, prepared, along, None, [])

    def _turn(self, emit: Emitter, access: Access, env: Env, along: int) -> list[SSAValue]:
        start = self.memory.offset(emit, access, env, None)
        step = self.memory.layout(access).coefficient(along)
        flat = self.memory.flat[access.memory]
        kind = VectorType(access.element, [self.lanes])
        rows = [
            emit.add(vector.LoadOp(flat, [emit.value(emit.plus(start, i * step))], kind))
            for i in range(self.lanes)
        ]
        return turn(emit, rows)


def _mask(lanes: list[int]) -> DenseArrayBase[I64]:
    return DenseArrayBase.from_list(i64, lanes)  # pyright: ignore[reportReturnType]


def turn(emit: Emitter, rows: list[SSAValue]) -> list[SSAValue]:
    """Transpose a square of vectors: lane j of row i becomes lane i of row j."""
    lanes = len(rows)
    kind = rows[0].type
    assert isinstance(kind, VectorType)
    step = 1
    while step < lanes:
        low = _mask([j if not j & step else j - step + lanes for j in range(lanes)])
        high = _mask([j + step if not j & step else j + lanes for j in range(lanes)])
        for i in range(lanes):
            if not i & step:
                pair = rows[i], rows[i + step]
                rows[i] = emit.add(vector.ShuffleOp(*pair, low, result_type=kind))
                rows[i + step] = emit.add(vector.ShuffleOp(*pair, high, result_type=kind))
        step *= 2
    return rows
