"""Schedule of `loop.fourier`: a task transforms one row in each lane of a vector.

Rows are turned into lanes in registers on their way into scratch, and back on their way out
(`transpose.turn`), so that a step is the same for all lanes, whatever its factor. Of the `factors`
of a size, each is a step: transforms of so many numbers in registers (`butterflies`), in place, the
parts of each behind it while they are in the caches (decimation in frequency). The last one puts
its results in order in a second scratch. Real numbers are transformed as half as many complex
ones: even and odd ones are the parts of these, which are told apart on the way out, or mixed on the
way in.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr, MemRefType
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.loop.fourier import FourierOp
from lamina.dialects.loop.memory_ops import alloca_op, load_op
from lamina.dialects.loop.scalar_ops import binary_op
from lamina.dialects.loop.schedules import UnstructuredTasks
from lamina.dialects.records import record
from lamina.passes.schedule.body import broadcast, load
from lamina.passes.schedule.butterflies import Butterfly, prime_factors
from lamina.passes.schedule.combine import store
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.fourier_rows import Columns, LanesAt, Number, RowsInLanes
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.live_domain import LiveDomain
from lamina.passes.schedule.memory import Memory
from lamina.passes.schedule.strided_access import Elements


def most_lanes(op: FourierOp) -> int:
    """Lanes for which there are rows side by side, or elements of rows to be turned."""
    given, made = op.given, op.made
    if op.columns is not None:
        return given.columns
    ends = (
        given.numbers * (1 + (op.kind.data != "r2c")),
        made.numbers * (1 + (op.kind.data != "c2r")),
    )
    rows = 1 << (given.count - 1).bit_length()  # the last lanes may do what others do
    return min(rows, *ends)


def schedule_fourier(
    emit: Emitter, op: FourierOp, memory: Memory, tasks: UnstructuredTasks
) -> None:
    """Emit a task for each group of rows, as its schedule says: by default one, in prime steps."""
    given, points, lanes = op.given, op.points, tasks.lanes or 1
    if not given.count:
        return
    factors = tasks.factors or tuple(prime_factors(points)) or (1,)
    if prod(factors) != points or 1 in factors[1:]:
        raise illegal(op, f"factors = {list(factors)}: their product is {points}, and none is 1")
    if lanes.bit_count() != 1 or lanes > most_lanes(op):
        raise illegal(op, f"lanes = {lanes}: a power of 2, and {most_lanes(op)} at most")
    dims, domain = range(len(given.outer)), LiveDomain.of(emit, op, memory)
    rows = domain.count(emit, dims)
    if op.columns is not None:
        groups = -(-given.columns // lanes)

        def columns(inner: Emitter, number: Index) -> None:
            row, group = inner.split(number, [1, groups])
            # The last columns may be those of the task before too, which finds the same.
            first = inner.least(inner.times(group, lanes), max(0, given.columns - lanes))
            at = LanesAt(domain.row(inner, row, dims), first)
            _Task(op, memory, lanes, factors).emit(inner, at)

        emit.tasks(emit.times(rows, groups), columns, parallel=tasks.parallel)
        return

    def task(inner: Emitter, number: Index) -> None:
        first = inner.times(number, lanes)
        if domain.all_count:
            # The last rows may be those of the task before too, which finds the same.
            first = inner.least(first, max(0, given.count - lanes))
            places = [inner.plus(first, min(lane, given.count - 1)) for lane in range(lanes)]
        else:
            # There may be fewer rows than lanes: lanes behind the last one do the same as it.
            last = inner.minus(rows, 1)
            numbers = [inner.least(inner.plus(first, lane), last) for lane in range(lanes)]
            places = [domain.row(inner, at, dims) for at in numbers]
        _Task(op, memory, lanes, factors).emit(inner, LanesAt(0, 0, tuple(places)))

    count = emit.quotient(emit.plus(rows, lanes - 1), lanes)
    emit.tasks(count, task, parallel=tasks.parallel)


@record
class _Lanes:
    """Arithmetic of vectors, or of scalars for one lane."""

    emit: Emitter
    element: Attribute
    lanes: int

    def constant(self, value: float) -> SSAValue:
        return self.emit.splat(FloatAttr(value, self.element), self.lanes)  # pyright: ignore

    def add(self, left: SSAValue, right: SSAValue) -> SSAValue:
        return self.emit.add(binary_op(arith.AddfOp, left, right))

    def sub(self, left: SSAValue, right: SSAValue) -> SSAValue:
        return self.emit.add(binary_op(arith.SubfOp, left, right))

    def scaled(self, factor: float, value: SSAValue) -> SSAValue:
        if factor == -1:
            return self.emit.add(arith.NegfOp(value))
        if factor == 1:
            return value
        return self.emit.add(binary_op(arith.MulfOp, value, self.constant(factor)))

    def added(self, total: SSAValue, factor: float, value: SSAValue) -> SSAValue:
        return self.fma(self.constant(factor), value, total)

    def fma(self, left: SSAValue, right: SSAValue, total: SSAValue) -> SSAValue:
        return self.emit.add(math.FmaOp(left, right, total))

    def product(self, value: Number, factor: Number, *, conjugate: bool) -> Number:
        """value * factor, or its conjugate."""
        (re, im), (c, s) = value, factor
        minus = self.emit.add(arith.NegfOp(s))
        low, high = (s, minus) if conjugate else (minus, s)
        times = [self.emit.add(binary_op(arith.MulfOp, part, c)) for part in (re, im)]
        return self.fma(im, low, times[0]), self.fma(re, high, times[1])


class _Task:
    """Emits the transforms of as many rows as there are lanes."""

    def __init__(
        self,
        op: FourierOp,
        memory: Memory,
        lanes: int,
        factors: Sequence[int],
    ) -> None:
        self.kind, self.inverse = op.kind.data, op.inverse is not None
        self.scale, self.size, self.points = op.scale.value.data, op.size, op.points
        self.lanes, self.factors = lanes, factors
        self.turns = memory.flat[op.turns]
        kind = op.input.type
        assert isinstance(kind, MemRefType)
        self.element: Attribute = kind.element_type
        self.copies = 2 if op.is_whole else 1
        """How many times the results stand in a row, for those that mirror others."""
        ends = Columns if op.columns is not None else RowsInLanes
        self.source = ends(lanes, memory.flat[op.input], op.given, self.kind != "r2c")
        self.target = ends(lanes, memory.flat[op.outs[0]], op.made, self.kind != "c2r")

    def emit(self, emit: Emitter, at: LanesAt) -> None:
        """Emit all steps for the rows in lanes."""
        one, other = self._scratch(emit, 1), self._scratch(emit, self.copies)

        def put(inner: Emitter, number: Index, value: SSAValue) -> None:
            store(inner, value, self._at(one, inner.times(number, self.lanes)))

        self.source.read(emit, at, put)
        if self.kind == "c2r":
            self._mix(emit, one, other)
            one, other = other, one
        self._step(emit, (one, other), 0, 0, 0)
        if self.kind == "r2c":
            begin = self._load(emit, other, 0)
            self._store(emit, other, self.copies * self.points, begin)
        self.target.write(emit, at, partial(self._result, scratch=other))

    def _scratch(self, emit: Emitter, copies: int) -> SSAValue:
        elements = 2 * self.lanes * (copies * self.points + 1)
        return emit.add(alloca_op(self.element, elements))

    # Steps

    def _step(
        self,
        emit: Emitter,
        scratch: tuple[SSAValue, SSAValue],
        number: int,
        base: Index,
        result: Index,
    ) -> None:
        """One step of the numbers from `base` on, and those behind it.

        `result` is the least of the results that they give.
        """
        factor, done = self.factors[number], prod(self.factors[:number])
        apart = self.points // (done * factor)
        last = number == len(self.factors) - 1

        def butterfly(inner: Emitter, at: Index) -> None:
            place = inner.plus(base, at)
            x = [self._load(inner, scratch[0], inner.plus(place, n * apart)) for n in range(factor)]
            y = Butterfly(self._lanes(inner), 1 if self.inverse else -1).transform(x)
            for k, value in enumerate(y):
                if last:
                    for copy in range(self.copies):
                        where = inner.plus(result, k * done + copy * self.points)
                        self._store(inner, scratch[1], where, value)
                    continue
                if k:
                    turns = inner.times(at, k * done * (self.size // self.points))
                    factors = self._turn(inner, turns)
                    value = self._lanes(inner).product(value, factors, conjugate=self.inverse)
                self._store(inner, scratch[0], inner.plus(place, k * apart), value)

        emit.each(0, apart, 1, butterfly)
        if last:
            return

        def part(inner: Emitter, k: Index) -> None:
            begin = inner.plus(base, inner.times(k, apart))
            least = inner.plus(result, inner.times(k, done))
            self._step(inner, scratch, number + 1, begin, least)

        emit.each(0, factor, 1, part)

    def _mix(self, emit: Emitter, one: SSAValue, other: SSAValue) -> None:
        """Of the first half of the results, the numbers whose parts are even and odd ones.

        Imaginary parts of the first and last are not read.
        """
        zero = self._lanes(emit).constant(0.0)
        for end in (0, self.points):
            store(emit, zero, self._at(one, (2 * end + 1) * self.lanes))

        def number(inner: Emitter, k: Index) -> None:
            a = self._lanes(inner)
            re, im = self._load(inner, one, k)
            far_re, far_im = self._load(inner, one, inner.minus(self.points, k))
            c, s = self._turn(inner, k)
            odd = a.sub(re, far_re), a.add(im, far_im)
            turned = a.product(odd, (s, c), conjugate=False)
            mixed = a.add(a.add(re, far_re), turned[0]), a.add(a.sub(im, far_im), turned[1])
            self._store(inner, other, k, mixed)

        emit.each(0, self.points, 1, number)

    def _result(self, emit: Emitter, k: Index, *, scratch: SSAValue) -> Number:
        """Two elements of the result, from the pair `k` on."""
        a, scale = self._lanes(emit), self.scale
        value = self._load(emit, scratch, k)
        if self.kind == "r2c":
            scale /= 2
            re, im = value
            far = emit.minus(self.copies * self.points, k)
            far_re, far_im = self._load(emit, scratch, far)
            odd = a.add(im, far_im), a.sub(far_re, re)
            turned = a.product(odd, self._turn(emit, k), conjugate=False)
            value = a.add(a.add(re, far_re), turned[0]), a.add(a.sub(im, far_im), turned[1])
        return a.scaled(scale, value[0]), a.scaled(scale, value[1])

    # Memory

    def _lanes(self, emit: Emitter) -> _Lanes:
        return _Lanes(emit, self.element, self.lanes)

    def _turn(self, emit: Emitter, number: Index) -> Number:
        """Cosine and sine, in all lanes."""
        made: list[SSAValue] = []
        for part in (0, 1):
            at = emit.value(emit.plus(emit.times(number, 2), part))
            made.append(broadcast(emit, emit.add(load_op(self.turns, [at])), self.lanes))
        return made[0], made[1]

    def _at(self, scratch: SSAValue, place: Index) -> Elements:
        return Elements(scratch, place, 1, self.lanes)

    def _load(self, emit: Emitter, scratch: SSAValue, number: Index) -> Number:
        place = emit.times(number, 2 * self.lanes)
        re, im = (
            load(emit, self._at(scratch, emit.plus(place, part * self.lanes))).value
            for part in (0, 1)
        )
        return re, im

    def _store(self, emit: Emitter, scratch: SSAValue, number: Index, value: Number) -> None:
        place = emit.times(number, 2 * self.lanes)
        for part in (0, 1):
            store(emit, value[part], self._at(scratch, emit.plus(place, part * self.lanes)))
