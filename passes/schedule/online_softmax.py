"""One walk for a row's maximum m and its sum of e^(x - m): an online softmax normalizer.

The sum is of e^(x - top) with a `top` that is at least what was seen so far; where a block of
vectors has more, `top` rises above it and the sum so far is scaled. In the end the sum is scaled to
the true maximum. A row that has NaN, +inf or nothing but -inf gives no positive sum: it is done
again in two walks, which have the exact answer.

Nothing is fetched ahead: one stream of long rows is what the hardware foresees.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import Float32Type, Float64Type
from xdsl.ir import BlockArgument, OpResult, SSAValue

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import IndexOp, ReadOp
from lamina.dialects.loop.scalar_ops import compare_op
from lamina.dialects.records import record
from lamina.passes.schedule.body import Body, broadcast, choose, vector_reduce
from lamina.passes.schedule.combine import combine
from lamina.passes.schedule.compare import compare
from lamina.passes.schedule.emitter import Emitter, Index, number_attribute
from lamina.passes.schedule.memory import Env, Envs, Sweep
from lamina.passes.schedule.peel import Vectors, by_vectors
from lamina.passes.schedule.stages import Stage
from lamina.passes.schedule.step import Step
from lamina.passes.schedule.sweep import SweepEmitter

SUMS = 2
"""Independent sums of each lane."""
MARGIN = 0.6931471805599453
"""How far `top` rises above what raised it, so that slowly rising values do not raise it each time.
More would cost digits of x - top. It is ln 2, so that the largest terms are halves, which add up
without error."""
LEAST = {32: -3.4028234663852886e38, 64: -1.7976931348623157e308}  # by bits
"""`top` before the first block: finite, so that -inf counts as nothing."""


@record
class OnlineSoftmax:
    """Two neighbouring sweeps of a row: its maximum, and the sum of exponentials less it."""

    largest: Sweep
    total: Sweep

    @property
    def stages(self) -> tuple[Stage, Stage]:
        """The stage of the maximum, and that of the sum."""
        return self.largest.stages[0], self.total.stages[0]


def online_softmax(largest: Sweep, total: Sweep | None = None) -> OnlineSoftmax | None:
    """The two sweeps as one walk, if the second sums e^(v - m) and m is the maximum of v."""
    if total is None:
        return None
    if len(largest.stages) != 1 or len(total.stages) != 1 or len(largest.extents) != 1:
        return None
    first, second = largest.stages[0], total.stages[0]
    if first.combiners != ("max",) or second.combiners != ("add",):
        return None
    if largest.extents != total.extents or largest.lanes < 2:
        return None
    if len(first.rows) != len(second.rows) or _has_places(first) or _has_places(second):
        return None
    if any(set(s.inner) - s.reduced for s in (first, second)):
        return None
    raised = second.op.yielded[0].owner
    if not isinstance(raised, math.ExpOp) or not isinstance(raised.operand.owner, arith.SubfOp):
        return None
    if not isinstance(raised.result.type, Float32Type | Float64Type):
        return None
    less = raised.operand.owner
    read = _read_of(second, less.rhs)
    if read is None or second.reads[read].memory is not first.writes[0].memory:
        return None
    same = _same(first, first.op.yielded[0], second, less.lhs)
    return OnlineSoftmax(largest, total) if same else None


def _has_places(stage: Stage) -> bool:
    """Whether the body asks for positions, or reads at computed ones."""
    return any(isinstance(op, IndexOp | ReadOp) for op in block_ops(stage.op.block))


def _read_of(stage: Stage, value: SSAValue) -> int | None:
    """The number of the read that a value of the body is."""
    number = value.index if isinstance(value, BlockArgument) else len(stage.reads)
    return number if number < len(stage.reads) else None


def _same(one: Stage, left: SSAValue, other: Stage, right: SSAValue) -> bool:
    """Whether two bodies compute one value: the same ops on the same reads."""
    if isinstance(left, BlockArgument) and isinstance(right, BlockArgument):
        places = _read_of(one, left), _read_of(other, right)
        if places[0] is None or places[1] is None:
            return False
        a, b = one.reads[places[0]], other.reads[places[1]]
        dims = dict(zip((*one.rows, *one.inner), (*other.rows, *other.inner), strict=True))
        moved = tuple(sorted((dims[d], c) for d, c in a.offset.terms))
        alike = a.memory is b.memory and moved == b.offset.terms
        return alike and a.offset.constant == b.offset.constant and a.pad is b.pad is None
    if not isinstance(left, OpResult) or not isinstance(right, OpResult):
        return False
    x, y = left.owner, right.owner
    if x.name != y.name or x.properties != y.properties:
        return False
    pairs = zip(x.operands, y.operands, strict=False)
    return len(x.operands) == len(y.operands) and all(_same(one, a, other, b) for a, b in pairs)


class OnlineSoftmaxEmitter(SweepEmitter):
    """Emits the one walk for a row; made for the sweep of the maximum."""

    def run_with(
        self,
        emit: Emitter,
        pair: OnlineSoftmax,
        envs: Envs,
        ends: tuple[Index, Index],
        plain: Callable[[Emitter], None],
    ) -> None:
        """Emit the walk between `ends`, keep and store both results; `plain` emits two instead."""
        largest, total = self._results(emit, self._walk(emit, envs, ends))
        zero = emit.constant(number_attribute(0, total.type))
        positive = emit.add(compare_op(total, zero, "ogt"))

        def again(inner: Emitter) -> list[SSAValue]:
            plain(inner)
            return [self.memory.scalars[s.writes[0].memory] for s in pair.stages]

        results = emit.branch(positive, lambda _: (largest, total), again)
        for stage, result in zip(pair.stages, results, strict=True):
            self._keep(emit, envs[stage], stage, 0, result)

    def _walk(self, emit: Emitter, envs: Envs, ends: tuple[Index, Index]) -> list[SSAValue]:
        """Over the whole row: `top`, the largest values, sums; all vectors."""
        (stage,) = self.sweep.stages
        element = stage.writes[0].element
        prepared = self._prepare(emit, stage, envs[stage])

        def step(inner: Emitter, block: Vectors, state: list[SSAValue]) -> list[SSAValue]:
            values: list[SSAValue] = []
            for number in range(block.count):
                at = inner.plus(block.at, number * self.lanes)
                values.append(self._value(inner, envs[stage], prepared, at, block.mask))
            return self._block(inner, values, state)

        start = [LEAST[element.bitwidth], -inf, *[0.0] * SUMS]  # pyright: ignore
        state = [emit.splat(number_attribute(n, element), self.lanes) for n in start]
        tile = self.sweep.schedule.tile
        block = 1 if tile is None else max(1, tile.count // self.lanes)
        return by_vectors(emit, ends, self.lanes, block, state, step)

    def _value(
        self, emit: Emitter, env: Env, prepared: Body, at: Index, mask: SSAValue | None
    ) -> SSAValue:
        """A vector of what the maximum is taken of; -inf where masked off."""
        (stage,) = self.sweep.stages
        body, dim = prepared.fork(), stage.inner[0]
        self._load_reads(emit, Step(stage, body, {**env, dim: at}, dim, mask, {}))
        rest = [
            o for o in block_ops(stage.op.block) if o.results and o.results[0] not in body.values
        ]
        body.run(emit, rest, {}, mask)
        value = body.vector(emit, stage.op.yielded[0])
        return value if mask is None else choose(emit, mask, value, self._start(emit)[0])

    def _block(
        self, emit: Emitter, values: list[SSAValue], state: list[SSAValue]
    ) -> list[SSAValue]:
        top, most, *sums = state
        block = values
        while len(block) > 1:
            pairs = zip(block[::2], block[1::2], strict=False)
            block = [*(_larger(emit, *pair) for pair in pairs), *block[len(block) // 2 * 2 :]]
        most = _larger(emit, block[0], most)
        above = emit.add(vector_reduce(compare(emit, block[0], top, "ogt"), "or"))
        top, *sums = self._raised(emit, above, block[0], [top, *sums])
        for number, value in enumerate(values):
            place = number % SUMS
            raised = emit.add(math.ExpOp(emit.add(arith.SubfOp(value, top))))
            sums[place] = combine(emit, "add", sums[place], raised)
        return [top, most, *sums]

    def _raised(
        self, emit: Emitter, above: SSAValue, block: SSAValue, state: list[SSAValue]
    ) -> list[SSAValue]:
        """`top` and sums, with `top` above the block if some of it is above `top`."""

        def raised(inner: Emitter) -> list[SSAValue]:
            top, *sums = state
            peak = inner.add(vector_reduce(block, "max"))
            margin = inner.constant(number_attribute(MARGIN, peak.type))
            new = broadcast(inner, inner.add(arith.AddfOp(peak, margin)), self.lanes)
            factor = inner.add(math.ExpOp(inner.add(arith.SubfOp(top, new))))
            return [new, *(inner.add(arith.MulfOp(s, factor)) for s in sums)]

        return emit.branch(above, raised, lambda _: state)

    def _results(self, emit: Emitter, state: list[SSAValue]) -> tuple[SSAValue, SSAValue]:
        """The maximum and the sum below it, as numbers."""
        top, most, *sums = state
        largest = emit.add(vector_reduce(most, "max"))
        total = emit.add(vector_reduce(combine(emit, "add", *sums), "add"))
        last = emit.add(vector.ExtractOp(top, [0], largest.type))
        factor = emit.add(math.ExpOp(emit.add(arith.SubfOp(last, largest))))
        return largest, emit.add(arith.MulfOp(total, factor))


def _larger(emit: Emitter, left: SSAValue, right: SSAValue) -> SSAValue:
    """The larger, the right one if one is NaN: an instruction, where a true maximum takes three."""
    return choose(emit, compare(emit, left, right, "ogt"), left, right)
