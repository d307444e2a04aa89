"""Elements of a row by the digits of their keys: the kth one, or all before it.

Keys are taken as unsigned integers in the order of the row. Digit by digit, from the top, elements
are counted by their digit; those that share the digit of the one that is looked for go on. A radix
select: each digit costs a walk over what is left, whatever the order of the elements. It keeps that
order, so that of equal ones the first is the first.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, IntegerType, MemRefType, Signedness, i1, i32, i64
from xdsl.ir import SSAValue

from lamina.dialects.loop.memory_ops import alloca_op, load_op, store_op
from lamina.dialects.loop.scalar_ops import compare_op, select_op
from lamina.dialects.records import record
from lamina.passes.cost.unstructured_cost import COMPARED_VECTORS, SAMPLE_TABLES
from lamina.passes.schedule.compress import compress
from lamina.passes.schedule.emitter import INDEX, Emitter, Index, LoopBody
from lamina.passes.schedule.merge_sort import emit_merge_sort
from lamina.passes.schedule.pairs import Keys, Load, Pairs, SortedRow
from lamina.passes.schedule.points import over_points
from lamina.passes.schedule.top import any_before, whole_blocks
from lamina.passes.schedule.words import WORD_BITS, word_lanes

DIGIT_BITS = 11
"""A table of 2,048 counters stays in a first-level cache; f32 has three such digits."""

SHORT_DIGIT_BITS = 8
"""For rows that are shorter than that table."""


def emit_selection(emit: Emitter, row: SortedRow, sample: int | None = None) -> None:
    """Put elements `start` to `start + count` of the sorted row into the results.

    The last one of a `sample` of at least so many elements goes no sooner than that of the row: so
    all elements behind it are left out, most of them a block of vectors at a time. What is wanted
    is sorted in the end.
    """
    keys, work, length, lanes = row.keys, row.work, row.end, row.lanes
    start, count, wanted = row.window[0], row.window[1], row.wanted
    counted = row.length if sample is None else sample // SAMPLE_TABLES
    digits = _Digits.of(emit, keys, counted)
    last = emit.minus(
        emit.least(emit.plus(wanted, start), length), 1
    )  # of a row that is shorter, its own
    load, left = keys.load, length
    if sample is not None:
        limit, _, _ = digits.find(emit, keys.load, work, emit.least(sample, length), last)
        left = compress(emit, keys, work, length, limit, lanes)
        load = work.load
    key, place, equals = digits.find(emit, load, work, left, last)
    if count == 1:
        row.results.store(emit, 0, key, place)
        return
    if sample is not None:
        left = compress(emit, keys, work, length, key, lanes)
        _collect(emit, digits, load, work, left, key, equals)
    else:
        _collect_blocks(emit, digits, work, length, key, equals, lanes)
    is_all = row.live is None and row.taken is None
    live = None if is_all else emit.least(wanted, length)
    found = replace(row, work=work.from_(emit, length), length=count, live=live)
    emit_merge_sort(emit, work.load, in_words(found))


def in_words(row: SortedRow) -> SortedRow:
    """A row to be sorted in lanes of numbers, where it is selected from in lanes of keys."""
    bits = getattr(row.kind, "bitwidth", WORD_BITS)
    lanes = word_lanes(row.kind, row.lanes * bits // WORD_BITS, row.length)
    return replace(row, lanes=lanes)


def _collect(
    emit: Emitter,
    digits: _Digits,
    load: Load,
    to: Pairs,
    length: Index,
    last: SSAValue,
    equals: SSAValue,
) -> None:
    """All elements before the key `last`, and of its equals the first and `equals` more, in order.

    They may be put where they are loaded from.
    """
    emit.loop(0, length, 1, _none(emit), _collecting(emit, digits, load, to, last, equals))


def _collect_blocks(
    emit: Emitter,
    digits: _Digits,
    to: Pairs,
    length: Index,
    last: SSAValue,
    equals: SSAValue,
    lanes: int,
) -> None:
    """The same of the row itself: a block of vectors in which there is none is passed over."""
    element = _collecting(emit, digits, digits.keys.load, to, last, equals)
    block = COMPARED_VECTORS * lanes
    whole = whole_blocks(emit, length, block) if lanes > 1 else 0

    def blocks(e: Emitter, at: Index, state: list[SSAValue]) -> list[SSAValue]:
        def one_by_one(inner: Emitter) -> list[SSAValue]:
            return inner.loop(at, inner.plus(at, block), 1, state, element)

        wanted = any_before(e, digits.keys, at, last, lanes, equal=True)
        return e.branch(wanted, one_by_one, lambda _: state)

    state = emit.loop(0, whole, block, _none(emit), blocks)
    emit.loop(whole, length, 1, state, element)


def _none(emit: Emitter) -> list[SSAValue]:
    """Elements collected, and equals seen, before the first one."""
    return [emit.value(0), emit.value(0)]


def _collecting(
    emit: Emitter, digits: _Digits, load: Load, to: Pairs, last: SSAValue, equals: SSAValue
) -> LoopBody:
    """The step of an element: how many are collected behind it, and how many equals seen."""
    limit = digits.ordinal(emit, last)

    def element(e: Emitter, at: Index, state: list[SSAValue]) -> list[SSAValue]:
        filled, seen = state
        key, place = load(e, at)
        ordinal = digits.ordinal(e, key)
        is_equal = e.add(compare_op(ordinal, limit, "eq"))
        among_first = e.add(compare_op(seen, equals, "ule"))
        taken = e.add(
            arith.OrIOp(
                e.add(compare_op(ordinal, limit, "ult")),
                e.add(arith.AndIOp(is_equal, among_first)),
            )
        )
        to.store(e, filled, key, place)  # the next one takes its place if it is not wanted
        return [_counted(e, filled, taken), _counted(e, seen, is_equal)]

    return element


def _counted(emit: Emitter, number: SSAValue, condition: SSAValue) -> SSAValue:
    more = emit.add(arith.AddiOp(number, emit.value(1)))
    return emit.add(select_op(condition, more, number))


@record
class _Digits:
    """Keys as numbers of `width` bits, read in digits of `bits`; counters of each digit."""

    keys: Keys
    width: int
    bits: int
    counters: SSAValue

    @staticmethod
    def of(emit: Emitter, keys: Keys, length: int) -> _Digits:
        kind = keys.memory.type
        assert isinstance(kind, MemRefType)
        element = kind.element_type
        assert isinstance(element, AnyFloat | IntegerType)
        bits = DIGIT_BITS if length >> DIGIT_BITS else SHORT_DIGIT_BITS
        counters = emit.add(alloca_op(i64, 1 << bits))
        return _Digits(keys, element.bitwidth, bits, counters)

    @property
    def type(self) -> IntegerType:
        """Of the numbers: narrow ones are widened, so that digits are not negative."""
        return i64 if self.width > 32 else i32

    def ordinal(self, emit: Emitter, key: SSAValue) -> SSAValue:
        """A number that is less, unsigned, the sooner a key goes; equal keys have equal ones."""
        number = self._ascending(emit, key)
        if not self.keys.down:
            return number
        mask = (1 << min(self.width, self.type.bitwidth)) - 1
        return emit.add(arith.XOrIOp(number, emit.number(_signed(mask, self.type), self.type)))

    def _ascending(self, emit: Emitter, key: SSAValue) -> SSAValue:
        kind = key.type
        if isinstance(kind, AnyFloat):
            return self._of_float(emit, key)
        assert isinstance(kind, IntegerType)
        unsigned = kind == i1 or kind.signedness.data == Signedness.UNSIGNED
        if kind.signedness.data == Signedness.UNSIGNED:
            key = emit.add(arith.BitcastOp(key, IntegerType(kind.bitwidth)))
        if not unsigned:
            low = emit.number(-(1 << (kind.bitwidth - 1)), key.type)
            key = emit.add(arith.XOrIOp(key, low))
        return key if kind.bitwidth >= 32 else emit.add(arith.ExtUIOp(key, self.type))

    def _of_float(self, emit: Emitter, key: SSAValue) -> SSAValue:
        """The bits, inverted for negative numbers; zeros are one, and NaN is the largest."""
        zero = emit.number(0.0, key.type)
        bits = emit.add(arith.BitcastOp(emit.add(arith.AddfOp(key, zero)), self.type))
        last = self.width - 1
        is_nan = emit.add(compare_op(key, key, "uno"))
        bits = emit.add(select_op(is_nan, emit.number((1 << last) - 1, self.type), bits))
        sign = emit.add(arith.ShRSIOp(bits, emit.number(last, self.type)))
        flip = emit.add(arith.OrIOp(sign, emit.number(-(1 << last), self.type)))
        return emit.add(arith.XOrIOp(bits, flip))

    def find(
        self, emit: Emitter, load: Load, work: Pairs, length: Index, rank: Index
    ) -> tuple[SSAValue, SSAValue, SSAValue]:
        """Of `length` elements, key and position of the one of that rank, and how many equals stand
        before it. `work` is written over, from which they may be loaded."""
        top = max(self.width - self.bits, 0)
        shift = emit.number(top, self.type)
        state = self._level(emit, load, work, length, emit.value(rank), shift)
        levels = -(-self.width // self.bits)

        def lower(e: Emitter, at: Index, values: list[SSAValue]) -> list[SSAValue]:
            left, among, above = values
            step = e.number(self.bits, self.type)
            least = e.add(arith.MinUIOp(above, step))  # the last digit may overlap the one before
            shift = e.add(arith.SubiOp(above, least))
            return [*self._level(e, work.load, work, left, among, shift), shift]

        _, among, _ = emit.loop(1, levels, 1, [*state, shift], lower)
        key, place = work.load(emit, among)
        return key, place, among

    def _level(
        self,
        emit: Emitter,
        load: Load,
        to: Pairs,
        length: Index,
        rank: SSAValue,
        shift: SSAValue,
    ) -> list[SSAValue]:
        """Leaves those that share a digit with the element of that rank: how many, and its rank."""
        counters = self.counters

        def clear(e: Emitter, at: list[Index]) -> None:
            e.run(store_op(e.number(0, i64), counters, [e.value(at[0])]))

        def count(e: Emitter, at: list[Index]) -> None:
            digit = self._digit(e, load(e, at[0])[0], shift)
            before = e.add(load_op(counters, [digit]))
            more = e.add(arith.AddiOp(before, e.number(1, i64)))
            e.run(store_op(more, counters, [digit]))

        over_points(emit, [(0, 1 << self.bits)], clear)
        over_points(emit, [(0, length)], count)

        def locate(e: Emitter, at: Index, values: list[SSAValue]) -> list[SSAValue]:
            total, digit, below = values
            here = e.value(at)
            reached = e.add(compare_op(total, rank, "ule"))
            number = e.add(load_op(counters, [here]))
            return [
                e.add(arith.AddiOp(total, e.add(arith.IndexCastOp(number, INDEX)))),
                e.add(select_op(reached, here, digit)),
                e.add(select_op(reached, total, below)),
            ]

        zero = emit.value(0)
        _, wanted, below = emit.loop(0, 1 << self.bits, 1, [zero, zero, zero], locate)

        def keep(e: Emitter, at: Index, values: list[SSAValue]) -> list[SSAValue]:
            key, place = load(e, at)
            same = e.add(compare_op(self._digit(e, key, shift), wanted, "eq"))
            to.store(e, values[0], key, place)  # never in front of what is still to be read
            return [_counted(e, values[0], same)]

        [left] = emit.loop(0, length, 1, [zero], keep)
        return [left, emit.add(arith.SubiOp(rank, below))]

    def _digit(self, emit: Emitter, key: SSAValue, shift: SSAValue) -> SSAValue:
        moved = emit.add(arith.ShRUIOp(self.ordinal(emit, key), shift))
        mask = emit.number((1 << self.bits) - 1, self.type)
        return emit.add(arith.IndexCastOp(emit.add(arith.AndIOp(moved, mask)), INDEX))


def _signed(value: int, kind: IntegerType) -> int:
    """The number of that type with these bits."""
    return value - (1 << kind.bitwidth) if value >> (kind.bitwidth - 1) else value
