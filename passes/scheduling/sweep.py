"""One loop nest over the inner dimensions of a row, shared by stages that walk them alike.

Pointwise results are handed on in registers; reductions over the whole sweep keep several vector
accumulators and are folded at its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import IndexType, IntegerType, VectorType, i1
from xdsl.ir import Attribute, Operation, SSAValue

from lamina.dialects.loop import IndexOp, ReadOp
from lamina.dialects.loop.linear import Linear
from lamina.passes.fusion_cost import body_cost
from lamina.passes.scheduling.body import (
    Affine,
    Body,
    Lane,
    below,
    broadcast,
    choose,
    load,
    vector_reduce,
)
from lamina.passes.scheduling.emitter import Emitter, Index, number_attribute
from lamina.passes.scheduling.stages import Access, Stage

REDUCTION_UNROLL = 4
"""Independent accumulators: an add takes about four cycles and one can start each cycle."""
LIGHT_BODY = 12
"""Bodies cheaper than this are unrolled; heavier ones fill the pipeline on their own."""

Env = dict[int, Index]


@dataclass(eq=False)
class Memory:
    """Where the kernel keeps its buffers: flat memrefs, scratch layouts, values in registers."""

    flat: dict[SSAValue, SSAValue] = field(default_factory=dict)
    """The rank-1 memref of each memref argument or scratch buffer."""
    scratch: dict[SSAValue, dict[int, int]] = field(default_factory=dict)
    """For scratch: the stride of each of the buffer's axes in the scratch layout; 0 for rows."""
    local_row: dict[SSAValue, int] = field(default_factory=dict)
    """For scratch that spans a block of rows: elements from one row to the next."""
    shift: dict[SSAValue, Linear] = field(default_factory=dict)
    """For scratch that spans part of an axis: what to add to the offset."""
    scalars: dict[SSAValue, SSAValue] = field(default_factory=dict)
    """Row results with a single element, while that row is being computed."""
    dead: set[SSAValue] = field(default_factory=set)
    """Buffers that nobody reads from memory: their stores are left out."""

    def offset(self, emit: Emitter, access: Access, env: Env, vector_dim: int | None) -> Index:
        """Element offset of an access at the given position, with the vector dimension at 0."""
        return emit.linear(self.form(access, vector_dim), env)

    def form(self, access: Access, vector_dim: int | None) -> Linear:
        form = self.layout(access)
        if vector_dim is None:
            return form
        terms = form.coefficients
        terms.pop(vector_dim, None)
        return Linear.of(terms, form.constant)

    def layout(self, access: Access) -> Linear:
        """The offset form of an access in the buffer's actual layout."""
        strides = self.scratch.get(access.memory)
        if strides is None:
            return access.offset
        form = Linear(())
        for axis, index in enumerate(access.axes):
            form = form.add(index.scale(strides.get(axis, 0)))
        shift = self.shift.get(access.memory)
        if shift is not None:
            form = form.add(shift)
        row = self.local_row.get(access.memory)
        return form if row is None else form.add(Linear(((-1, row),)))


@dataclass(eq=False)
class Sweep:
    """Stages that run in one nest; `order[stage]` lists its own dims in the nest's order."""

    stages: list[Stage]
    order: dict[Stage, tuple[int, ...]]

    @property
    def extents(self) -> tuple[int, ...]:
        first = self.stages[0]
        return tuple(first.extents[d] for d in self.order[first])


def sweep_lanes(stages: Sequence[Stage], extent: int, vector_lanes: int) -> int:
    """Vector length: the target's, but no longer than the extent's next power of two."""
    lanes = vector_lanes
    while lanes > 1 and lanes // 2 >= extent:
        lanes //= 2
    return lanes


class SweepEmitter:
    """Emits one sweep for one row; `env` gives the position of every row dimension per stage."""

    def __init__(
        self,
        sweep: Sweep,
        memory: Memory,
        vector_place: int,
        lanes: int,
        outputs: set[SSAValue],
    ) -> None:
        self.sweep = sweep
        self.memory = memory
        self.place = vector_place
        self.lanes = lanes
        self.outputs = outputs
        self.reductions = [
            (stage, number)
            for stage in sweep.stages
            for number, combiner in enumerate(stage.combiners)
            if combiner != "store"
        ]
        cost = sum(body_cost(s.op) for s in sweep.stages)
        self.unroll = 1
        if cost <= LIGHT_BODY:
            self.unroll = REDUCTION_UNROLL if self.reductions else 2

    # The nest

    def run(
        self, emit: Emitter, envs: dict[Stage, Env], ranges: Sequence[tuple[Index, Index]]
    ) -> None:
        """Emit the nest over the given ranges, then store the reductions."""
        accumulators = [self._identity(emit, s, n) for s, n in self.reductions] * self.unroll
        outer = [p for p in range(len(ranges)) if p != self.place]
        results = self._nest(emit, envs, ranges, outer, accumulators)
        for number, (stage, result) in enumerate(self.reductions):
            parts = results[number :: len(self.reductions)]
            self._finish(emit, envs[stage], stage, result, parts)

    def _nest(
        self,
        emit: Emitter,
        envs: dict[Stage, Env],
        ranges: Sequence[tuple[Index, Index]],
        outer: list[int],
        carried: list[SSAValue],
    ) -> list[SSAValue]:
        if not outer:
            return self._vector_loop(emit, envs, ranges[self.place] if ranges else None, carried)
        place, *rest = outer

        def body(inner: Emitter, index: Index, values: list[SSAValue]) -> list[SSAValue]:
            deeper = self._bind(envs, place, index)
            return self._nest(inner, deeper, ranges, rest, values)

        low, high = ranges[place]
        return emit.loop(low, high, 1, carried, body)

    def _bind(self, envs: dict[Stage, Env], place: int, index: Index) -> dict[Stage, Env]:
        return {
            stage: {**env, self.sweep.order[stage][place]: index} for stage, env in envs.items()
        }

    def _vector_loop(
        self,
        emit: Emitter,
        envs: dict[Stage, Env],
        bounds: tuple[Index, Index] | None,
        carried: list[SSAValue],
    ) -> list[SSAValue]:
        prepared = {s: self._prepare(emit, s, envs[s]) for s in self.sweep.stages}
        if bounds is None:
            return self._step(emit, envs, prepared, 0, None, carried)
        low, high = bounds
        count = len(self.reductions)

        def unrolled(inner: Emitter, index: Index, values: list[SSAValue]) -> list[SSAValue]:
            made: list[SSAValue] = []
            for copy in range(self.unroll):
                at = inner.plus(index, copy * self.lanes)
                part = values[copy * count : (copy + 1) * count]
                made += self._step(inner, envs, prepared, at, None, part)
            return made

        def single(inner: Emitter, index: Index, values: list[SSAValue]) -> list[SSAValue]:
            head = self._step(inner, envs, prepared, index, None, values[:count])
            return [*head, *values[count:]]

        def masked(inner: Emitter, index: Index, values: list[SSAValue]) -> list[SSAValue]:
            left = inner.value(inner.minus(high, index))
            mask = inner.add(
                vector.CreateMaskOp.create(
                    operands=[left], result_types=[VectorType(i1, [self.lanes])]
                )
            )
            head = self._step(inner, envs, prepared, index, mask, values[:count])
            return [*head, *values[count:]]

        wide = self.lanes * self.unroll
        middle = self._whole(emit, low, high, wide)
        if self.unroll > 1:
            carried = emit.loop(low, middle, wide, carried, unrolled)
        else:
            middle = low
        end = self._whole(emit, low, high, self.lanes)
        carried = emit.loop(middle, end, self.lanes, carried, single)
        if self.lanes > 1:
            carried = emit.loop(end, high, self.lanes, carried, masked)
        return carried

    @staticmethod
    def _whole(emit: Emitter, low: Index, high: Index, step: int) -> Index:
        """The end of the last whole step that fits."""
        if step == 1:
            return high
        length = emit.minus(high, low)
        return emit.plus(low, emit.times(emit.quotient(length, step), step))

    # One row's invariant part

    def _vector_dim(self, stage: Stage) -> int | None:
        order = self.sweep.order[stage]
        return order[self.place] if order else None

    def _prepare(self, emit: Emitter, stage: Stage, env: Env) -> Body:
        """Load and compute, as scalars, what does not change along the vector dimension."""
        body = Body(self.lanes)
        dim = self._vector_dim(stage)
        for access, argument in self._arguments(stage):
            if self._forwarded(stage, access) or access.pad is not None:
                continue
            held = self.memory.scalars.get(access.memory)
            if held is not None:
                body.values[argument] = Lane(held, True)
            elif dim is None or self.memory.layout(access).coefficient(dim) == 0:
                at = self.memory.offset(emit, access, env, dim)
                flat = self.memory.flat[access.memory]
                body.values[argument] = load(emit, flat, access.element, at, 0, 1, None)
        for op in stage.op.block.ops:
            if isinstance(op, IndexOp) and op.dim.value.data != dim:
                body.indices[op.result] = position(stage, op, env[op.dim.value.data], 0)
            elif self._is_invariant(op, body):
                body.run(emit, [op], self._sources(stage), None)
        return body

    @staticmethod
    def _is_invariant(op: Operation, body: Body) -> bool:
        if isinstance(op, IndexOp) or not op.results:
            return False
        if isinstance(op, ReadOp):
            return False
        for operand in op.operands:
            index = body.indices.get(operand)
            if index is not None and index.scale == 0:
                continue
            known = body.values.get(operand)
            if known is None or not known.uniform:
                return False
        return True

    def _arguments(self, stage: Stage) -> list[tuple[Access, SSAValue]]:
        arguments = stage.op.block.args[: len(stage.reads)]
        return list(zip(stage.reads, arguments, strict=True))

    def _sources(self, stage: Stage) -> dict[SSAValue, SSAValue]:
        arguments = stage.op.block.args[len(stage.reads) :]
        return {
            argument: self.memory.flat[source]
            for argument, source in zip(arguments, stage.op.sources, strict=True)
        }

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
        envs: dict[Stage, Env],
        prepared: dict[Stage, Body],
        index: Index,
        mask: SSAValue | None,
        carried: Sequence[SSAValue],
    ) -> list[SSAValue]:
        made: dict[SSAValue, Lane] = {}
        accumulators = list(carried)
        for stage in self.sweep.stages:
            body = prepared[stage].fork()
            env = dict(envs[stage])
            dim = self._vector_dim(stage)
            if dim is not None:
                env[dim] = index
            self._load_reads(emit, stage, body, env, dim, mask, made)
            self._bind_indices(stage, body, dim, index)
            rest = [
                o
                for o in stage.op.block.ops
                if o.results
                and not isinstance(o, IndexOp)
                and o.results[0] not in body.values
                and o.results[0] not in body.indices
            ]
            body.run(emit, rest, self._sources(stage), mask)
            for number, value in enumerate(stage.op.yielded):
                body.materialize(emit, value)
                self._emit_result(emit, stage, number, body, value, env, dim, mask, made)
            for place, (owner, number) in enumerate(self.reductions):
                if owner is stage:
                    value = body.vector(emit, stage.op.yielded[number])
                    accumulators[place] = self._accumulate(
                        emit, stage, number, accumulators[place], value, mask
                    )
        return accumulators

    def _bind_indices(self, stage: Stage, body: Body, dim: int | None, index: Index) -> None:
        for op in stage.op.block.ops:
            if isinstance(op, IndexOp) and op.dim.value.data == dim:
                scale = 1 if self.lanes > 1 else 0
                body.indices[op.result] = position(stage, op, index, scale)

    def _load_reads(
        self,
        emit: Emitter,
        stage: Stage,
        body: Body,
        env: Env,
        dim: int | None,
        mask: SSAValue | None,
        made: dict[SSAValue, Lane],
    ) -> None:
        for access, argument in self._arguments(stage):
            if argument in body.values:
                continue
            if access.memory in made:
                body.values[argument] = made[access.memory]
                continue
            stride = 0 if dim is None else self.memory.layout(access).coefficient(dim)
            at = self.memory.offset(emit, access, env, None)
            flat = self.memory.flat[access.memory]
            if access.pad is None:
                body.values[argument] = load(
                    emit, flat, access.element, at, stride, self.lanes, mask
                )
            else:
                body.values[argument] = self._padded(emit, access, env, dim, at, stride, mask)

    def _padded(
        self,
        emit: Emitter,
        access: Access,
        env: Env,
        dim: int | None,
        at: Index,
        stride: int,
        mask: SSAValue | None,
    ) -> Lane:
        """A read that gives the pad outside the tensor; nothing out there is touched."""
        assert access.pad is not None
        flat = self.memory.flat[access.memory]
        if stride == 0 or self.lanes == 1:
            inside = self._inside(emit, access, env, None, None)
            safe = emit.add(arith.SelectOp(inside, emit.value(at), emit.value(0)))
            value = emit.add(memref.LoadOp.get(flat, [safe]))
            pad = emit.constant(access.pad)
            return Lane(emit.add(arith.SelectOp(inside, value, pad)), True)
        inside = self._inside(emit, access, env, dim, mask)
        passing = emit.splat(access.pad, self.lanes)
        return load(emit, flat, access.element, at, stride, self.lanes, inside, passing)

    def _inside(
        self, emit: Emitter, access: Access, env: Env, dim: int | None, mask: SSAValue | None
    ) -> SSAValue:
        """Whether every index of a padded read is inside, per lane if `dim` is given."""
        inside = mask
        lanes = 1 if dim is None else self.lanes
        for form, extent in zip(access.axes, access.shape, strict=True):
            position = emit.value(emit.linear(form, env))
            scale = 0 if dim is None else form.coefficient(dim)
            position = broadcast(emit, position, lanes)
            if scale:
                factor = emit.splat(number_attribute(scale, IndexType()), lanes)
                steps = emit.add(arith.MuliOp(emit.lane_numbers(lanes), factor))
                position = emit.add(arith.AddiOp(position, steps))
            limit = emit.splat(number_attribute(extent, IndexType()), lanes)
            # Unsigned comparison refuses negative indices too.
            fits = below(emit, position, limit, lanes)
            inside = fits if inside is None else emit.add(arith.AndIOp(inside, fits))
        return inside if inside is not None else emit.splat(number_attribute(1, i1), lanes)

    def _emit_result(
        self,
        emit: Emitter,
        stage: Stage,
        number: int,
        body: Body,
        value: SSAValue,
        env: Env,
        dim: int | None,
        mask: SSAValue | None,
        made: dict[SSAValue, Lane],
    ) -> None:
        if stage.combiners[number] != "store":
            return
        access = stage.writes[number]
        lane = body.values[value]
        made[access.memory] = lane
        if dim is None:
            self.memory.scalars[access.memory] = lane.value
        if access.memory in self.memory.dead and access.memory not in self.outputs:
            return
        at = self.memory.offset(emit, access, env, None)
        flat = self.memory.flat[access.memory]
        stride = 0 if dim is None else self.memory.layout(access).coefficient(dim)
        if self.lanes == 1 or dim is None:
            emit.run(memref.StoreOp.get(lane.value, flat, [emit.value(at)]))
            return
        store(emit, body.vector(emit, value), flat, at, stride, self.lanes, mask)

    # Reductions

    def _element(self, stage: Stage, number: int) -> Attribute:
        return stage.writes[number].element

    def _identity(self, emit: Emitter, stage: Stage, number: int) -> SSAValue:
        combiner = stage.combiners[number]
        value = identity_value(combiner, self._element(stage, number))
        return emit.splat(value, self.lanes)

    def _accumulate(
        self,
        emit: Emitter,
        stage: Stage,
        number: int,
        total: SSAValue,
        value: SSAValue,
        mask: SSAValue | None,
    ) -> SSAValue:
        if mask is not None:
            value = choose(emit, mask, value, self._identity(emit, stage, number))
        return combine(emit, stage.combiners[number], total, value)

    def _finish(
        self, emit: Emitter, env: Env, stage: Stage, number: int, parts: list[SSAValue]
    ) -> None:
        combiner = stage.combiners[number]
        while len(parts) > 1:
            half = len(parts) // 2
            parts = [combine(emit, combiner, parts[i], parts[i + half]) for i in range(half)]
        total = parts[0]
        if self.lanes > 1:
            total = emit.add(vector_reduce(total, combiner))
        access = stage.writes[number]
        self.memory.scalars[access.memory] = total
        if access.memory in self.memory.dead and access.memory not in self.outputs:
            return
        at = self.memory.offset(emit, access, env, None)
        emit.run(memref.StoreOp.get(total, self.memory.flat[access.memory], [emit.value(at)]))


def position(stage: Stage, op: IndexOp, base: Index, scale: int) -> Affine:
    """The value of `loop.index` at a position of its dimension."""
    return Affine(base, scale, 0, stage.extents[op.dim.value.data] - 1)


def store(
    emit: Emitter,
    value: SSAValue,
    flat: SSAValue,
    at: Index,
    stride: int,
    lanes: int,
    mask: SSAValue | None,
) -> None:
    """Write a vector to `flat[at + stride * lane]`."""
    if stride == 1:
        if mask is None:
            emit.run(vector.StoreOp(value, flat, [emit.value(at)]))
        else:
            emit.run(vector.MaskedStoreOp(flat, [emit.value(at)], mask, value))
        return
    for lane in range(lanes):
        element = _lane(emit, value, lane)
        place = emit.value(emit.plus(at, lane * stride))
        if mask is None:
            emit.run(memref.StoreOp.get(element, flat, [place]))
        else:
            _store_if(emit, _lane(emit, mask, lane), element, flat, place)


def _lane(emit: Emitter, value: SSAValue, lane: int) -> SSAValue:
    kind = value.type
    assert isinstance(kind, VectorType)
    return emit.add(vector.ExtractOp(value, [lane], kind.element_type))


def _store_if(
    emit: Emitter, on: SSAValue, element: SSAValue, flat: SSAValue, place: SSAValue
) -> None:
    from xdsl.dialects import scf
    from xdsl.ir import Block

    then = Block()
    then.add_op(memref.StoreOp.get(element, flat, [place]))
    then.add_op(scf.YieldOp())
    emit.run(scf.IfOp(on, [], [then]))


COMBINE_FLOAT = {
    "add": arith.AddfOp,
    "mul": arith.MulfOp,
    "max": arith.MaximumfOp,
    "min": arith.MinimumfOp,
}
COMBINE_BOOLEAN = {
    "add": arith.AddiOp,
    "mul": arith.AndIOp,
    "max": arith.OrIOp,
    "min": arith.AndIOp,
    "and": arith.AndIOp,
    "or": arith.OrIOp,
}
"""Signed comparison would take a boolean's 1 for -1."""
COMBINE_INTEGER = {
    "add": arith.AddiOp,
    "mul": arith.MuliOp,
    "max": arith.MaxSIOp,
    "min": arith.MinSIOp,
    "and": arith.AndIOp,
    "or": arith.OrIOp,
}


def combine(emit: Emitter, combiner: str, left: SSAValue, right: SSAValue) -> SSAValue:
    """Join two accumulators."""
    kind = left.type.element_type if isinstance(left.type, VectorType) else left.type
    table = COMBINE_INTEGER if isinstance(kind, IntegerType | IndexType) else COMBINE_FLOAT
    if kind == i1:
        table = COMBINE_BOOLEAN
    return emit.add(table[combiner](left, right))


def identity_value(combiner: str, element: Attribute) -> Attribute:
    """The number that a combiner leaves everything else unchanged with."""
    if not isinstance(element, IntegerType | IndexType):
        values = {"add": -0.0, "mul": 1.0, "max": float("-inf"), "min": float("inf")}
        return number_attribute(values[combiner], element)
    bits = element.bitwidth if isinstance(element, IntegerType) else 64
    low, high = (0, 1) if bits == 1 else (-(1 << bits - 1), (1 << bits - 1) - 1)
    full = 1 if bits == 1 else -1
    values = {"add": 0, "mul": 1, "max": low, "min": high, "and": full, "or": 0}
    return number_attribute(values[combiner], element)
