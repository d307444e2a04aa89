"""One loop nest over the inner dimensions of a row, shared by stages that walk them alike.

Pointwise results are handed on in registers; reductions over the whole sweep keep several vector
accumulators and are folded at its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import SSAValue

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import IndexOp, ReadOp
from lamina.dialects.loop.dot_pairs import DotPairsOp
from lamina.dialects.loop.scalar_ops import select_op
from lamina.dialects.op_accessors import first_result
from lamina.passes.refusal import invalid
from lamina.passes.schedule.accumulators import Accumulators
from lamina.passes.schedule.body import Body, Lane, load, position
from lamina.passes.schedule.combine import combine, store, store_past_if
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.guarded_reads import TRUE, guarded_reads, wanted
from lamina.passes.schedule.inner_range import along, inner_range
from lamina.passes.schedule.loop_ends import narrowed
from lamina.passes.schedule.memory import Env, Envs, Memory, Sweep
from lamina.passes.schedule.padded_read import PaddedAccess, padded_read
from lamina.passes.schedule.pair_results import stores_pairs
from lamina.passes.schedule.peel import (
    Vectors,
    aligned_start,
    by_vectors,
    masked_vectors,
    whole_steps,
    whole_vectors,
)
from lamina.passes.schedule.prefetch import Ahead
from lamina.passes.schedule.stages import Access, Stage
from lamina.passes.schedule.step import Step
from lamina.passes.schedule.strided_access import Elements, store_pairs

Prepared = dict[Stage, Body]
"""Of each stage, what is computed in front of a loop over vectors."""


class SweepEmitter:
    """Emits one sweep for one row; `env` gives the position of every row dimension per stage."""

    def __init__(self, sweep: Sweep, memory: Memory, outputs: set[SSAValue]) -> None:
        self.sweep = sweep
        self.memory = memory
        self.place = sweep.place
        self.lanes = sweep.lanes
        self.outputs = outputs
        self.ahead: Sequence[Ahead] = ()
        """What to fetch at each position for a later row."""
        self.accumulators = Accumulators.of(sweep.stages)
        self.reductions = self.accumulators.results
        self._past_caches = True
        self._is_inside = False
        self.unroll = sweep.schedule.unroll or 1
        self.copies = self.unroll
        """Accumulators of each result in the innermost loop."""
        self.dots = bool(sweep.schedule.dot_pairs)

    # The nest

    def run(self, emit: Emitter, envs: Envs, ranges: Sequence[tuple[Index, Index]]) -> None:
        """Emit the nest over the given ranges, then store the reductions."""
        accumulators = self._start(emit) * self.unroll
        outer = [p for p in range(len(ranges)) if p != self.place]
        results = self._nest(emit, envs, ranges, outer, accumulators, whole=True)
        self.finish(emit, envs, results)

    def totals(self, emit: Emitter, rows: Sequence[Envs]) -> list[list[SSAValue]]:
        """The accumulators of several rows that are reduced side by side, over their only loop."""
        (extent,), stage = self.sweep.extents, self.sweep.stages[0]
        each = self._start(emit) * self.unroll
        ends = [
            narrowed(emit, self.memory, self.sweep, envs[stage], [(0, extent)])[0][1]
            for envs in rows
        ]
        common = ends[0]
        for end in ends[1:]:
            common = emit.least(common, end)
        if any(end is not ends[0] for end in ends):  # whole steps, which no row ends within
            common = whole_steps(emit, 0, common, self.lanes * self.unroll)
        made = self._vector_loop(emit, rows, (0, common), each * len(rows))
        parts = [made[row * len(each) : (row + 1) * len(each)] for row in range(len(rows))]
        if all(end is common for end in ends):
            return parts
        return [
            self._vector_loop(emit, [envs], (common, end), part)
            for envs, end, part in zip(rows, ends, parts, strict=True)
        ]

    def _nest(
        self,
        emit: Emitter,
        envs: Envs,
        ranges: Sequence[tuple[Index, Index]],
        outer: list[int],
        carried: list[SSAValue],
        *,
        whole: bool = False,
    ) -> list[SSAValue]:
        """Loops over places; of those of a `whole` nest the outermost may have sums of its own."""
        if not outer:
            return self._vector_loop(emit, [envs], ranges[self.place] if ranges else None, carried)
        place, *rest = outer
        apart = whole and self.accumulators.sums_apart(ranges, place)

        def body(inner: Emitter, index: Index, values: list[SSAValue]) -> list[SSAValue]:
            deeper = self._bind(envs, place, index)
            if not apart:
                return self._nest(inner, deeper, ranges, rest, values)
            zeros = self._start(inner) * self.copies
            parts = self._nest(inner, deeper, ranges, rest, zeros)
            return [combine(inner, "add", *both) for both in zip(parts, values, strict=True)]

        low, high = ranges[place]
        return emit.loop(low, high, 1, carried, body)

    def _bind(self, envs: Envs, place: int, index: Index) -> Envs:
        return {
            stage: {**env, self.sweep.order[stage][place]: index} for stage, env in envs.items()
        }

    def _vector_loop(
        self,
        emit: Emitter,
        rows: Sequence[Envs],
        bounds: tuple[Index, Index] | None,
        carried: list[SSAValue],
    ) -> list[SSAValue]:
        """The innermost loop, for several rows side by side; a row's accumulators are together."""
        prepared = [
            {s: self._prepare(emit, s, envs[s]) for s in self.sweep.stages} for envs in rows
        ]
        count = len(self.reductions)

        def step(inner: Emitter, at: Vectors, values: list[SSAValue]) -> list[SSAValue]:
            made = list(values)
            for copy in range(at.count):
                one = Vectors(inner.plus(at.at, copy * self.lanes), 1, at.mask)
                if at.mask is None:
                    self._fetch_ahead(inner, rows[0], one.at, copy * self.lanes)
                for number, (envs, body) in enumerate(zip(rows, prepared, strict=True)):
                    own = (number * self.unroll + copy) * count
                    part = slice(own, own + count)
                    made[part] = self._step(inner, envs, body, one, made[part])
            return made

        if bounds is None:
            return self._step(emit, rows[0], prepared[0], Vectors(0), carried)
        low, high = bounds
        start = aligned_start(
            emit, self.sweep, self.place, self.lanes, self.memory, rows[0], bounds
        )
        self._past_caches = start is not None
        if start is not None and start != low:
            carried = masked_vectors(emit, (low, start), self.lanes, carried, step)
            low = start
        inner = inner_range(emit, self.memory, self.sweep, rows[0], (low, high))
        if inner is None:
            return by_vectors(emit, (low, high), self.lanes, self.unroll, carried, step)
        carried = masked_vectors(emit, (low, inner[0]), self.lanes, carried, step)
        self._is_inside = True
        carried = whole_vectors(emit, inner, self.lanes, self.unroll, carried, step)
        self._is_inside = False
        return masked_vectors(emit, (inner[1], high), self.lanes, carried, step)

    def _fetch_ahead(self, emit: Emitter, envs: Envs, index: Index, into_step: int) -> None:
        wanted = [a for a in self.ahead if a.begins_line(into_step)]
        if wanted:
            stage = self.sweep.stages[0]
            dims = enumerate(self.sweep.order[stage])
            at = [index if p == self.place else envs[stage][d] for p, d in dims]
            for ahead in wanted:
                ahead.emit(emit, at)

    # One row's invariant part

    def _vector_dim(self, stage: Stage) -> int | None:
        order = self.sweep.order[stage]
        return order[self.place] if order else None

    def _prepare(self, emit: Emitter, stage: Stage, env: Env) -> Body:
        """Load and compute, as scalars, what does not change along the vector dimension."""
        body = Body(self.lanes)
        steps = self.memory.strides
        body.strides = {a: steps[s] for a, s in stage.sources if s in steps}
        for value in self.memory.within.get(stage, ()):
            body.values[value] = Lane(emit.constant(TRUE), True)
        dim = self._vector_dim(stage)
        for access, argument in self._arguments(stage):
            if self._forwarded(stage, access) or access.pad is not None or argument in body.values:
                continue
            held = self.memory.scalars.get(access.memory)
            if held is not None:
                body.values[argument] = Lane(held, True)
            elif dim is None or not self._varies(access, dim):
                body.values[argument] = self._invariant(emit, access, env, dim)
        for op in block_ops(stage.op.block):
            if type(op) is IndexOp and op.dim.value.data != dim:
                body.indices[op.result] = position(stage.extents, op, env[op.dim.value.data], 0)
            elif type(op) is ReadOp:
                body.check_uniform(emit, op)
            elif op.results and first_result(op) not in body.values and body.is_invariant(op):
                body.run(emit, [op], self._sources(stage), None)
        return body

    def _varies(self, access: Access, dim: int) -> bool:
        """Whether lanes of a vector along a dimension may be other elements of an access."""
        return self.memory.varies(access, dim)

    def _invariant(self, emit: Emitter, access: Access, env: Env, dim: int | None) -> Lane:
        """The element that an access reads, whatever the position along `dim`."""
        at = self.memory.offset(emit, access, env, dim)
        return load(emit, Elements(self.memory.flat[access.memory], at))

    def _arguments(self, stage: Stage) -> list[tuple[Access, SSAValue]]:
        arguments = stage.op.block.args[: len(stage.reads)]
        return list(zip(stage.reads, arguments, strict=True))

    def _sources(self, stage: Stage) -> dict[SSAValue, SSAValue]:
        return {argument: self.memory.flat[source] for argument, source in stage.sources}

    def _forwarded(self, stage: Stage, access: Access) -> bool:
        """Whether an earlier stage of this sweep makes the value at this very position."""
        for other in self.sweep.stages:
            if other is stage:
                return False
            if any(w.memory is access.memory for w in other.writes):
                return True
        return False

    # One vector

    def _step(
        self,
        emit: Emitter,
        envs: Envs,
        prepared: Prepared,
        at: Vectors,
        carried: Sequence[SSAValue],
    ) -> list[SSAValue]:
        if self.dots:
            return self._dot(emit, envs, prepared, at, carried)
        made: dict[SSAValue, Lane] = {}
        values: dict[tuple[Stage, int], SSAValue] = {}
        for stage in self.sweep.stages:
            dim = self._vector_dim(stage)
            env = envs[stage] if dim is None else {**envs[stage], dim: at.at}
            body = prepared[stage].fork()
            self.point(emit, Step(stage, body, env, dim, at.mask, made))
            for owner, number in self.reductions:
                if owner is stage:
                    values[stage, number] = body.vector(emit, stage.op.yielded[number])
        return self._accumulate(emit, [values[key] for key in self.reductions], carried, at.mask)

    def point(self, emit: Emitter, at: Step) -> None:
        """Run the body of a stage at one vector, and store what it stores."""
        stage, body, dim = at.stage, at.body, at.dim
        self._load_reads(emit, at)
        ops = block_ops(stage.op.block)
        for op in ops:
            if type(op) is IndexOp and op.dim.value.data == dim:
                scale = 1 if self.lanes > 1 else 0
                place = at.env[op.dim.value.data]
                body.indices[op.result] = position(stage.extents, op, place, scale)
        rest = [
            o
            for o in ops
            if o.results
            and type(o) is not IndexOp
            and (result := first_result(o)) not in body.values
            and result not in body.indices
        ]
        body.run(emit, rest, self._sources(stage), at.mask)
        for number, value in enumerate(stage.op.yielded):
            body.materialize(emit, value)
            self._emit_result(emit, at, number)

    def _dot(
        self,
        emit: Emitter,
        envs: Envs,
        prepared: Prepared,
        at: Vectors,
        carried: Sequence[SSAValue],
    ) -> list[SSAValue]:
        """Pairs of terms of a sum of products; what is masked off is read as zeros."""
        (stage,), (total,) = self.sweep.stages, carried
        body, dim = prepared[stage].fork(), self._vector_dim(stage)
        assert dim is not None
        self._load_reads(emit, Step(stage, body, {**envs[stage], dim: at.at}, dim, at.mask, {}))
        left, right = (body.values[argument].value for argument in stage.op.block.args)
        return [emit.add(DotPairsOp(left, right, total))]

    def _load_reads(self, emit: Emitter, at: Step) -> None:
        guards = guarded_reads(at.stage, self.memory.masks)
        order = sorted(enumerate(self._arguments(at.stage)), key=lambda read: read[0] in guards)
        for number, (access, argument) in order:  # what guards others is read first
            if argument in at.body.values:
                continue
            if access.memory in at.made:
                at.body.values[argument] = at.made[access.memory]
                continue
            if access.memory not in self.memory.flat:
                why = "it reads a buffer of the kernel that nothing has written"
                raise invalid(at.stage.op, why)
            own = wanted(emit, number, guards.get(number, ()), at, self.memory)
            at.body.values[argument] = self._elements(emit, access, own)

    def _elements(self, emit: Emitter, access: Access, at: Step) -> Lane:
        """What an access reads from memory at a step; where no lane is wanted, it names the first
        element, as there may be no page where the others would be, which takes time."""
        where = self._place(emit, access, at)
        if access.pad is None:
            if at.any_of_them is not None:
                place = select_op(at.any_of_them, emit.value(where.at), emit.value(0))
                where = replace(where, at=emit.add(place))
            return load(emit, where)
        edges = self.memory.edges.get(access.memory, access.shape)
        inside = along(access, at.dim) if self._is_inside else frozenset[int]()
        read = PaddedAccess(access, edges, inside)
        return padded_read(emit, read, at.env, at.dim, where)

    def _place(self, emit: Emitter, access: Access, at: Step) -> Elements:
        """Where the lanes of an access are at a step."""
        stride = 0 if at.dim is None else self.memory.lane_stride(access, at.dim)
        start = self.memory.offset(emit, access, at.env, None)
        return Elements(self.memory.flat[access.memory], start, stride, self.lanes, at.mask)

    def _emit_result(self, emit: Emitter, at: Step, number: int) -> None:
        stage, value = at.stage, at.stage.op.yielded[number]
        if stage.combiners[number] != "store":
            return
        access, lane = stage.writes[number], at.body.values[value]
        at.made[access.memory] = lane
        if at.dim is None:
            self.memory.scalars[access.memory] = lane.value
        if access.memory in self.memory.dead and access.memory not in self.outputs:
            return
        where = self._place(emit, access, at)
        if self.lanes == 1 or at.dim is None:
            store(emit, lane.value, replace(where, lanes=1))
            return
        streamed = self._past_caches and access.memory in self.memory.streamed
        vector = at.body.vector(emit, value)
        if stores_pairs(stage.op, where):
            if number % 2:  # both parts are known
                both = at.body.vector(emit, stage.op.yielded[number - 1]), vector
                store_pairs(emit, both, replace(where, at=emit.minus(where.at, 1)))
            return
        if streamed and (wanted := self.memory.streamed[access.memory]) is not None:
            store_past_if(emit, wanted, vector, where)
        else:
            store(emit, vector, where, streamed=streamed)

    # Reductions

    def _start(self, emit: Emitter) -> list[SSAValue]:
        """Accumulators that nothing was taken into."""
        return self.accumulators.start(emit, self._total_lanes)

    @property
    def _total_lanes(self) -> int:
        return self.lanes // 2 if self.dots else self.lanes

    def _accumulate(
        self,
        emit: Emitter,
        values: list[SSAValue],
        totals: Sequence[SSAValue],
        mask: SSAValue | None,
    ) -> list[SSAValue]:
        if mask is not None:
            values = self.accumulators.masked(emit, values, mask, self.lanes)
        # A maximum tests its left operand for NaN: the chain through the total is shorter so.
        return self.accumulators.taken(emit, values, list(totals))

    def finish(self, emit: Emitter, envs: Envs, carried: list[SSAValue]) -> None:
        """Join the accumulators of all copies and lanes, and keep the totals."""
        if not self.reductions:
            return
        totals = self.accumulators.joined(emit, self.accumulators.parts(carried))
        totals = self.accumulators.folded(emit, totals, self._total_lanes)
        for (stage, number), total in zip(self.reductions, totals, strict=True):
            self._keep(emit, envs[stage], stage, number, total)

    def _keep(self, emit: Emitter, env: Env, stage: Stage, number: int, total: SSAValue) -> None:
        access = stage.writes[number]
        self.memory.scalars[access.memory] = total
        if access.memory in self.memory.dead and access.memory not in self.outputs:
            return
        self.memory.write(emit, access, env, total)
