"""Fetching what will be read while something else is computed.

A kernel that walks each row several times reads memory in the first walk only; the memory system
idles during the others, and what the hardware prefetches stops at the end of a row or page. So the
second walk asks for the lines of a later row, into the second-level cache.

A pointwise kernel walks several tensors once, side by side. The hardware follows each for a few
lines only; lines further on are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import reduce

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.loop import IndexOp, ReadOp
from lamina.dialects.loop.access import row_major_strides, shape_of
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.scheduled import PrefetchOp
from lamina.dialects.records import record
from lamina.passes.cost.fusion_cost import element_bytes
from lamina.passes.schedule.body import Body, choose, load, position
from lamina.passes.schedule.compare import compare
from lamina.passes.schedule.emitter import Emitter, Index, number_attribute
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.memory import Envs, Memory, Sweep
from lamina.passes.schedule.points import needed_for
from lamina.passes.schedule.stages import Access, Stage
from lamina.passes.schedule.strided_access import Elements

LINE_BYTES = 64
"""What one fetch brings, on x86-64 and AArch64."""
INTO_L1 = 3
"""Locality of `loop.prefetch`, of what is read a few steps later."""
INTO_L2 = 2
"""Locality of `loop.prefetch`: in the first level, rows to come would displace the one at hand."""


@record
class Ahead:
    """What to fetch: element `start` + sum of strides[p] * position p of a flat memref."""

    memory: SSAValue
    start: Index
    strides: tuple[Index, ...]
    element_bytes: int

    def emit(self, emit: Emitter, positions: Sequence[Index]) -> None:
        """Ask for the line at a position of the sweep."""
        at = self.start
        for place, stride in enumerate(self.strides):
            at = emit.plus(at, emit.times(positions[place], stride))
        emit.run(PrefetchOp(self.memory, [emit.value(at)], INTO_L2))

    def begins_line(self, elements: int) -> bool:
        """Whether a vector so many elements into a step may begin a line of its own."""
        return elements * self.element_bytes % LINE_BYTES == 0


@record
class Stream:
    """A read whose lines are contiguous along a sweep's vectors and another in every row."""

    sweep: Sweep
    stage: Stage
    read: Access | ReadOp
    makers: Mapping[SSAValue, Stage] = field(default_factory=dict[SSAValue, Stage])
    """Stages whose results say where rows of tables are: they are computed once more, ahead."""

    @property
    def memory(self) -> SSAValue:
        """The memref that it reads, as the nest names it."""
        if isinstance(self.read, Access):
            return self.read.memory
        return dict(self.stage.sources)[self.read.source]

    @property
    def element(self) -> Attribute:
        """The type of its elements."""
        return self.read.element if isinstance(self.read, Access) else self.read.result.type

    def steps(self, emit: Emitter, memory: Memory) -> tuple[Index, ...]:
        """Elements from one position to the next along each dimension of the sweep's nest, where
        arguments lie as a call has them."""
        order, strides = self.sweep.order[self.stage], memory.strides.get(self.memory)
        if strides is None:
            return self.strides
        if isinstance(self.read, Access):
            return tuple(memory.step(emit, self.read, d) for d in order)
        return tuple(reduce(emit.plus, (strides[axis] for axis in self._axes(d)), 0) for d in order)

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements from one position to the next along each dimension of the sweep's nest, where
        arguments lie as their types say."""
        order = self.sweep.order[self.stage]
        if isinstance(self.read, Access):
            return tuple(self.read.stride(d) for d in order)
        strides = row_major_strides(shape_of(self.memory))
        return tuple(sum(strides[axis] for axis in self._axes(d)) for d in order)

    def _axes(self, dim: int) -> list[int]:
        """The axes of what is looked up in whose index is a position of the nest."""
        assert isinstance(self.read, ReadOp)
        owners = [index.owner for index in self.read.indices]
        return [
            axis
            for axis, owner in enumerate(owners)
            if isinstance(owner, IndexOp) and owner.dim.value.data == dim
        ]

    def start(self, emit: Emitter, memory: Memory, envs: Envs) -> Index:
        """The element offset of the row whose position is in `envs`, at the sweep's first point."""
        order, env = self.sweep.order[self.stage], envs[self.stage]
        if isinstance(self.read, Access):
            if self.read.open_axes:
                return memory.offset(emit, self.read, {**env, **dict.fromkeys(order, 0)}, None)
            terms = {d: c for d, c in self.read.offset.coefficients.items() if d not in order}
            return emit.linear(Linear.of(terms, self.read.offset.constant), env)
        return self._indirect_start(emit, memory, envs)

    def _indirect_start(self, emit: Emitter, memory: Memory, envs: Envs) -> Index:
        assert isinstance(self.read, ReadOp)
        order = self.sweep.order[self.stage]
        fixed = [i for i in self.read.indices if not _walks(i, order)]
        body = self._computed(emit, memory, envs, self.stage, fixed)
        shape = shape_of(self.memory)
        strides = memory.strides.get(self.memory, row_major_strides(shape))
        total: Index = 0
        for index, extent, stride in zip(self.read.indices, shape, strides, strict=True):
            if index in fixed:
                body.materialize(emit, index)
                inside = kept_inside(emit, body.values[index].value, extent)
                total = emit.plus(total, emit.times(inside, stride))
        return total

    def _computed(
        self, emit: Emitter, memory: Memory, envs: Envs, stage: Stage, values: Sequence[SSAValue]
    ) -> Body:
        """Values of a stage's body that are the same along its loops, and what they follow from."""
        ops, env = needed_for(stage.op, values), envs[stage]
        body = Body(1)
        for access, argument in zip(stage.reads, stage.op.block.args, strict=False):
            if not any(argument in op.operands for op in ops) and argument not in values:
                continue
            if (maker := self.makers.get(access.memory)) is None:
                at = memory.offset(emit, access, env, None)
                body.values[argument] = load(emit, Elements(memory.flat[access.memory], at))
                continue
            made = _made_by(maker, access.memory)
            there = self._computed(emit, memory, envs, maker, [made])
            there.materialize(emit, made)
            body.values[argument] = there.values[made]
        for op in ops:
            if isinstance(op, IndexOp):
                body.indices[op.result] = position(stage.extents, op, env[op.dim.value.data], 0)
        body.run(emit, ops, {}, None)
        return body


def kept_inside(emit: Emitter, index: SSAValue, extent: int) -> SSAValue:
    """The index, or 0 if it is outside: the row at hand is checked when it is read."""
    limit = emit.number(extent, IndexType())
    zero = emit.constant(number_attribute(0, IndexType()))
    return choose(emit, compare(emit, index, limit, "ult"), index, zero)


@record
class RowPrefetch:
    """Which sweep fetches what, and how many rows ahead."""

    sweep: Sweep
    streams: tuple[Stream, ...]
    rows: int

    def ahead(self, emit: Emitter, memory: Memory, envs: Envs) -> list[Ahead]:
        """The streams at the row whose position is given per stage."""
        return [
            Ahead(
                memory.flat[s.memory],
                s.start(emit, memory, envs),
                s.steps(emit, memory),
                element_bytes(s.element),
            )
            for s in self.streams
        ]


def fetch_rows(sweeps: Sequence[Sweep], memory: Memory) -> RowPrefetch | None:
    """What the sweep with `prefetch_rows` fetches in a kernel whose rows run through these."""
    for host in sweeps:
        if (rows := rows_ahead(host)) is not None:
            return RowPrefetch(host, streams_alike(host, sweeps, memory), rows)
    return None


def rows_ahead(sweep: Sweep) -> int | None:
    """How many rows of a task ahead a sweep fetches: with `rfactor` it is rows of its streams, and
    with `jam` tiles ask for what their windows read anew."""
    schedule = sweep.schedule
    apart = schedule.rfactor is not None or schedule.jam is not None
    return None if apart else schedule.prefetch_rows


def streams_alike(host: Sweep, sweeps: Sequence[Sweep], memory: Memory) -> tuple[Stream, ...]:
    """The contiguous reads of all sweeps that are walked as `host` is, each once."""
    alike = [s for s in sweeps if is_plain(s) and s.extents == host.extents]
    alike = [s for s in alike if s.place == host.place]
    makers = _makers(sweeps)
    return _distinct(s for sweep in alike for s in _streams(sweep, host.place, memory, makers))


def _makers(sweeps: Sequence[Sweep]) -> dict[SSAValue, Stage]:
    """Pointwise stages that make one number for a row, by where they leave it."""
    stages = [stage for sweep in sweeps for stage in sweep.members]
    return {
        write.memory: stage
        for stage in stages
        if stage.is_pointwise and not stage.inner and not stage.totals
        for write in stage.writes
    }


def _made_by(stage: Stage, memory: SSAValue) -> SSAValue:
    """What a stage leaves in memory."""
    (number,) = (n for n, write in enumerate(stage.writes) if write.memory is memory)
    return stage.op.yielded[number]


def is_plain(sweep: Sweep) -> bool:
    """Whether a sweep is one walk along vectors, neither turned nor with kept dimensions."""
    return bool(sweep.extents) and sweep.schedule.transpose is None and not sweep.kept


def fetch_along(emit: Emitter, sweep: Sweep, memory: Memory, envs: Envs) -> list[Ahead]:
    """What a sweep fetches ahead of its own walk along the vectors, as its stages ask for."""
    found: list[Ahead] = []
    for stage in sweep.stages:
        distance = stage.schedule.prefetch_bytes or LINE_BYTES
        for number in stage.schedule.prefetch or ():
            read = stage.reads[number]
            stream = Stream(sweep, stage, read)
            if read.memory in memory.scratch:
                outside = [n for n, r in enumerate(stage.reads) if r.memory not in memory.scratch]
                reason = f"read {number} is made in the kernel; others are {outside}"
                raise illegal(stage.op, f"prefetch: {reason}")
            size = element_bytes(stream.element)
            start = emit.plus(stream.start(emit, memory, envs), distance // size)
            steps = stream.steps(emit, memory)
            found.append(Ahead(memory.flat[stream.memory], start, steps, size))
    return found


def _streams(
    sweep: Sweep, place: int, memory: Memory, makers: Mapping[SSAValue, Stage]
) -> Iterator[Stream]:
    for stage in sweep.stages:
        reads: list[Access | ReadOp] = [
            r for r in stage.reads if r.pad is None and _varies(r, stage)
        ]
        reads += [
            op
            for op in stage.op.block.ops
            if isinstance(op, ReadOp) and _is_row_of_table(op, stage, memory, makers)
        ]
        for read in reads:
            stream = Stream(sweep, stage, read, _inside(makers, memory))
            if stream.memory not in memory.scratch and stream.strides[place] == 1:
                yield stream


def _inside(makers: Mapping[SSAValue, Stage], memory: Memory) -> dict[SSAValue, Stage]:
    """Those that leave a number in scratch."""
    return {value: stage for value, stage in makers.items() if value in memory.scratch}


def _varies(read: Access, stage: Stage) -> bool:
    return any(read.stride(d) for d in stage.rows)


def _walks(index: SSAValue, order: Sequence[int]) -> bool:
    return isinstance(index.owner, IndexOp) and index.owner.dim.value.data in order


def _is_row_of_table(
    op: ReadOp, stage: Stage, memory: Memory, makers: Mapping[SSAValue, Stage]
) -> bool:
    """Whether each index is an inner dimension, or known from the row's position alone."""
    fixed = [i for i in op.indices if not _walks(i, stage.inner)]
    reads = _reads_for(stage, fixed)
    return bool(reads) and all(_is_known(r, stage, memory, makers) for r in reads)


def _reads_for(stage: Stage, values: Sequence[SSAValue]) -> list[Access] | None:
    """What values of a body are computed of; None if they vary in a row, or are looked up."""
    ops = needed_for(stage.op, values)
    if any(isinstance(o, ReadOp) or _walks(o.results[0], stage.inner) for o in ops):
        return None
    used = {operand for o in ops for operand in o.operands} | set(values)
    return [
        access
        for access, argument in zip(stage.reads, stage.op.block.args, strict=False)
        if argument in used
    ]


def _is_known(read: Access, stage: Stage, memory: Memory, makers: Mapping[SSAValue, Stage]) -> bool:
    """Whether a read gives one number for a row, which can be read, or computed, ahead of it."""
    if read.pad is not None or any(map(read.stride, stage.inner)):
        return False
    if read.memory not in memory.scratch:
        return True
    maker = makers.get(read.memory)
    if maker is None or maker is stage:
        return False
    reads = _reads_for(maker, [_made_by(maker, read.memory)])
    return reads is not None and all(_is_known(r, maker, memory, makers) for r in reads)


def _distinct(streams: Iterator[Stream]) -> tuple[Stream, ...]:
    """The streams without those that read what another one does."""
    kept: dict[object, Stream] = {}
    for stream in streams:
        row: tuple[object, ...]
        if isinstance(stream.read, Access):
            row = tuple(stream.read.stride(d) for d in stream.stage.rows)
        else:
            row = tuple(stream.read.indices)
        kept.setdefault((stream.memory, row, stream.strides), stream)
    return tuple(kept.values())
