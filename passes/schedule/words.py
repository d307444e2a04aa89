"""Keys as numbers of 64 bits in their order, which scalars and vectors compare alike.

Keys of at most 32 bits and the places of their elements are one number, a word. No two are equal,
so that whatever puts them in order keeps the order of equal keys, and they move together. Wider
keys stand beside their places.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import (
    FloatAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
    VectorType,
    f32,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.loop.memory_ops import alloca_op, load_op, store_op
from lamina.dialects.loop.scalar_ops import select_op
from lamina.dialects.loop.vector_arith import VECTOR_FORMS, ExtUIOp
from lamina.dialects.records import record
from lamina.passes.schedule.body import broadcast, choose
from lamina.passes.schedule.compare import compare, element_of, lanes_of
from lamina.passes.schedule.emitter import INDEX, Emitter, Index, vector_of
from lamina.passes.schedule.pairs import Load, Pairs
from lamina.passes.schedule.points import over_points

Among = Callable[[Emitter, Index], tuple[Index, Index]]
"""Bounds of the words that those from an index on are compared with."""

Put = Callable[[Index, Emitter, SSAValue, tuple[SSAValue, ...]], None]
"""Takes the index of the first of the words, and the rank of one of them and itself."""

WORD_BITS = 64
"""Bits of a word."""
PLACE_BITS = 32
"""Bits of the place, below those of the key."""


def fits_word(kind: Attribute) -> bool:
    """Whether a key of this type and a place are one word."""
    return kind == f32 or (isinstance(kind, IntegerType) and kind.bitwidth <= PLACE_BITS)


def is_number(kind: Attribute) -> bool:
    """Whether keys of this type have numbers: one with the place, or one beside it."""
    return fits_word(kind) or kind == f64 or isinstance(kind, IntegerType)


def word_lanes(kind: Attribute, lanes: int, count: int) -> int:
    """Numbers of a vector that has room for so many, of `count` keys of that type; 1 for none."""
    return max(1, min(lanes, 1 << (count.bit_length() - 1))) if is_number(kind) else 1


class _Signed:
    """What stands for keys: numbers with a sign, in order, each the first of some values."""

    def sooner(
        self, emit: Emitter, later: tuple[SSAValue, ...], earlier: tuple[SSAValue, ...]
    ) -> SSAValue:
        """Whether the one that stands later must go before the other."""
        return compare(emit, later[0], earlier[0], "slt")


@record
class Words(_Signed):
    """A row of words in a rank-1 memref of i64, from `base` on."""

    memory: SSAValue
    base: Index
    unique = True
    """Whether no two numbers are equal."""

    def made_of(
        self, emit: Emitter, key: SSAValue, at: Index, *, down: bool
    ) -> tuple[SSAValue, ...]:
        """What stands for a key at a place of its row: the less, the sooner it goes."""
        return (word_of(emit, key, at, down=down),)

    def place(self, emit: Emitter, values: Sequence[SSAValue]) -> SSAValue:
        """The place, as an index, in what stands for a key."""
        return place_of(emit, values[0])

    def vector(self, emit: Emitter, at: Index, lanes: int) -> SSAValue:
        """So many numbers from an index on."""
        where = emit.value(emit.plus(self.base, at))
        return emit.add(vector.LoadOp(self.memory, [where], VectorType(i64, [lanes])))

    def load(self, emit: Emitter, at: Index) -> tuple[SSAValue, ...]:
        """The word at an index."""
        where = emit.value(emit.plus(self.base, at))
        return (emit.add(load_op(self.memory, [where])),)

    def put(self, emit: Emitter, at: Index, values: Sequence[SSAValue]) -> None:
        """Write a word at an index."""
        [word] = values
        emit.run(store_op(word, self.memory, [emit.value(emit.plus(self.base, at))]))


@record
class NumberedPairs(_Signed):
    """Numbers of wide keys in a memref of their type, and places beside them, from `base` on."""

    keys: SSAValue
    places: SSAValue
    base: Index
    unique = False

    def made_of(
        self, emit: Emitter, key: SSAValue, at: Index, *, down: bool
    ) -> tuple[SSAValue, ...]:
        """What stands for a key at a place of its row."""
        place = emit.add(arith.IndexCastOp(emit.value(at), i64))
        return _turned(emit, _number(emit, key, 1), 1, down), place

    def place(self, emit: Emitter, values: Sequence[SSAValue]) -> SSAValue:
        """The place, as an index, in what stands for a key."""
        return emit.add(arith.IndexCastOp(values[1], INDEX))

    def vector(self, emit: Emitter, at: Index, lanes: int) -> SSAValue:
        """So many numbers from an index on."""
        where, kind = emit.value(emit.plus(self.base, at)), VectorType(self._kind, [lanes])
        return _cast(emit, emit.add(vector.LoadOp(self.keys, [where], kind)), i64)

    def load(self, emit: Emitter, at: Index) -> tuple[SSAValue, ...]:
        """Number and place at an index."""
        where = emit.value(emit.plus(self.base, at))
        number = _cast(emit, emit.add(load_op(self.keys, [where])), i64)
        return number, emit.add(load_op(self.places, [where]))

    def put(self, emit: Emitter, at: Index, values: Sequence[SSAValue]) -> None:
        """Write number and place at an index."""
        where, (number, place) = emit.value(emit.plus(self.base, at)), values
        key = _cast(emit, number, self._kind)
        emit.run(store_op(key, self.keys, [where]))
        emit.run(store_op(place, self.places, [where]))

    @property
    def _kind(self) -> Attribute:
        return self.keys.type.element_type  # pyright: ignore[reportAttributeAccessIssue]


Numbers = Words | NumberedPairs
"""What stands for a row of keys."""


def numbers_in(pairs: Pairs, kind: Attribute) -> Numbers:
    """The numbers of keys of that type, in the memory of keys and places."""
    if fits_word(kind):
        return Words(pairs.places, pairs.base)
    return NumberedPairs(pairs.keys, pairs.places, pairs.base)


def _cast(emit: Emitter, value: SSAValue, kind: Attribute) -> SSAValue:
    """The same bits as elements of another type."""
    if element_of(value.type) == kind:
        return value
    return emit.add(arith.BitcastOp(value, vector_of(kind, lanes_of(value.type))))


def pack_words(emit: Emitter, load: Load, to: Numbers, length: Index, *, down: bool) -> None:
    """What stands for the elements that `load` gives for 0 .. `length`, which are their places."""

    def element(e: Emitter, at: list[Index]) -> None:
        to.put(e, at[0], to.made_of(e, load(e, at[0])[0], at[0], down=down))

    over_points(emit, [(0, length)], element)


def word_of(emit: Emitter, key: SSAValue, at: Index, *, down: bool) -> SSAValue:
    """Of a key at a place of its row, or of one in each lane: the less, the sooner it goes."""
    lanes = lanes_of(key.type)
    number = _turned(emit, _number(emit, key, lanes), lanes, down)
    high = emit.add(arith.ShLIOp(number, emit.splat(IntegerAttr(PLACE_BITS, i64), lanes)))
    place = emit.add(arith.IndexCastOp(emit.value(at), i64))
    return emit.add(arith.OrIOp(high, broadcast(emit, place, lanes)))


def _turned(emit: Emitter, number: SSAValue, lanes: int, down: bool) -> SSAValue:
    """The number in the order asked for."""
    if not down:
        return number
    return emit.add(arith.XOrIOp(number, emit.splat(IntegerAttr(-1, i64), lanes)))


def _number(emit: Emitter, key: SSAValue, lanes: int) -> SSAValue:
    """An i64, of 32 bits for what fits a word, in the order of the keys; zeros are one, and NaN is
    the largest."""
    kind = element_of(key.type)
    if kind == f64:
        return _bits(emit, key, lanes)
    if isinstance(kind, IntegerType) and kind.bitwidth == WORD_BITS:
        if kind.signedness.data != Signedness.UNSIGNED:
            return key
        least = emit.splat(IntegerAttr(-1 << (WORD_BITS - 1), i64), lanes)
        return emit.add(arith.XOrIOp(_cast(emit, key, i64), least))
    if not isinstance(kind, IntegerType):
        return _extended(emit, _bits(emit, key, lanes), lanes, arith.ExtSIOp)
    if kind.signedness.data == Signedness.UNSIGNED:
        plain = vector_of(IntegerType(kind.bitwidth), lanes)
        key = emit.add(arith.BitcastOp(key, plain))
    elif kind != i1:
        return _extended(emit, key, lanes, arith.ExtSIOp)
    number = _extended(emit, key, lanes, arith.ExtUIOp)
    middle = emit.splat(IntegerAttr(1 << (PLACE_BITS - 1), i64), lanes)
    return emit.add(arith.SubiOp(number, middle))


def _extended(
    emit: Emitter, key: SSAValue, lanes: int, scalar: type[arith.ExtSIOp | arith.ExtUIOp]
) -> SSAValue:
    op = scalar if lanes == 1 else VECTOR_FORMS[scalar]
    return emit.add(op.create(operands=[key], result_types=[vector_of(i64, lanes)]))


def _bits(emit: Emitter, key: SSAValue, lanes: int) -> SSAValue:
    """Those of an f32 or f64, inverted below the sign of negative numbers."""
    kind = element_of(key.type)
    zero, number = emit.splat(FloatAttr(0.0, kind), lanes), i64 if kind == f64 else i32  # pyright: ignore
    bits = emit.add(arith.BitcastOp(emit.add(arith.AddfOp(key, zero)), vector_of(number, lanes)))
    below = number.bitwidth - 1
    sign = emit.add(arith.ShRSIOp(bits, emit.splat(IntegerAttr(below, number), lanes)))
    largest = emit.splat(IntegerAttr((1 << below) - 1, number), lanes)
    bits = emit.add(arith.XOrIOp(bits, emit.add(arith.AndIOp(sign, largest))))
    return choose(emit, compare(emit, key, key, "uno"), largest, bits)


def place_of(emit: Emitter, word: SSAValue) -> SSAValue:
    """The place in a word, as an index."""
    mask = emit.number((1 << PLACE_BITS) - 1, i64)
    return emit.add(arith.IndexCastOp(emit.add(arith.AndIOp(word, mask)), INDEX))


@record
class WordVectors:
    """How ranks of words are counted: of `vectors` at once, by one word after another."""

    lanes: int
    vectors: int
    ranks: SSAValue
    """Memory of as many numbers as these vectors have."""

    @staticmethod
    def of(emit: Emitter, lanes: int, vectors: int) -> WordVectors:
        """With memory for the ranks."""
        ranks = emit.add(alloca_op(i64, lanes * vectors))
        return WordVectors(lanes, vectors, ranks)

    @property
    def run(self) -> int:
        """Words whose ranks are counted at once."""
        return self.lanes * self.vectors

    def rank(self, emit: Emitter, words: Numbers, length: Index, among: Among, put: Put) -> None:
        """`put` each of `length` words, a known number that is no less than `lanes` or any, by its
        rank among some of them."""
        whole = emit.minus(length, emit.remainder(length, self.run))

        def runs(e: Emitter, at: list[Index]) -> None:
            first = e.times(at[0], self.run)
            self._group(e, words, first, self.vectors, 0, among(e, first), partial(put, first))

        over_points(emit, [(0, emit.quotient(whole, self.run))], runs)
        last, bounds = partial(put, whole), among(emit, whole)
        if not isinstance(whole, int) or not isinstance(length, int):
            self._rest(emit, words, (whole, length), bounds, last)
            return
        if vectors := (length - whole) // self.lanes:
            self._group(emit, words, whole, vectors, 0, bounds, last)
        if rest := length % self.lanes:  # the last vector begins among words that are put already
            self._group(emit, words, length - self.lanes, 1, self.lanes - rest, bounds, last)

    def _rest(
        self,
        emit: Emitter,
        words: Numbers,
        ends: tuple[Index, Index],
        bounds: tuple[Index, Index],
        put: Callable[[Emitter, SSAValue, tuple[SSAValue, ...]], None],
    ) -> None:
        """Fewer words than are a run: vectors of them, and the last ones one by one."""
        first, end = ends
        left = emit.minus(end, first)
        behind = emit.minus(end, emit.remainder(left, self.lanes))

        def group(e: Emitter, at: Index) -> None:
            self._group(e, words, at, 1, 0, bounds, put)

        def element(e: Emitter, at: Index) -> None:
            own = words.load(e, at)

            def count(c: Emitter, other: Index, ranks: list[SSAValue]) -> list[SSAValue]:
                number = words.load(c, other)[0]
                sooner = compare(c, number, own[0], "slt")
                if not words.unique:  # of equal ones those that stand in front
                    equal = compare(c, number, own[0], "eq")
                    in_front = compare(c, c.value(other), c.value(at), "ult")
                    both = c.add(arith.AndIOp(equal, in_front))
                    sooner = c.add(arith.OrIOp(sooner, both))
                more = c.add(arith.AddiOp(ranks[0], c.number(1, i64)))
                return [c.add(select_op(sooner, more, ranks[0]))]

            [rank] = e.loop(*bounds, 1, [e.number(0, i64)], count)
            put(e, e.add(arith.IndexCastOp(rank, INDEX)), own)

        emit.each(first, behind, self.lanes, group)
        emit.each(behind, end, 1, element)

    def _group(
        self,
        emit: Emitter,
        words: Numbers,
        first: Index,
        vectors: int,
        skipped: int,
        bounds: tuple[Index, Index],
        put: Callable[[Emitter, SSAValue, tuple[SSAValue, ...]], None],
    ) -> None:
        starts = [emit.plus(first, number * self.lanes) for number in range(vectors)]
        values = [words.vector(emit, start, self.lanes) for start in starts]
        places = [] if words.unique else [self._places(emit, start) for start in starts]

        def count(e: Emitter, at: Index, ranks: list[SSAValue]) -> list[SSAValue]:
            other = broadcast(e, words.load(e, at)[0], self.lanes)
            sooner = [compare(e, other, value, "slt") for value in values]
            if places:  # of equal ones those that stand in front
                own = broadcast(e, e.value(at), self.lanes)
                for number, (value, place) in enumerate(zip(values, places, strict=True)):
                    equal = compare(e, other, value, "eq")
                    in_front = e.add(arith.AndIOp(equal, compare(e, own, place, "ult")))
                    sooner[number] = e.add(arith.OrIOp(sooner[number], in_front))
            return [self._more(e, *each) for each in zip(ranks, sooner, strict=True)]

        nothing = [emit.splat(IntegerAttr(0, i64), self.lanes)] * vectors
        for number, ranks in enumerate(emit.loop(*bounds, 1, nothing, count)):
            emit.run(vector.StoreOp(ranks, self.ranks, [emit.value(number * self.lanes)]))

        def element(e: Emitter, at: list[Index]) -> None:
            rank = e.add(load_op(self.ranks, [e.value(at[0])]))
            put(e, e.add(arith.IndexCastOp(rank, INDEX)), words.load(e, e.plus(first, at[0])))

        over_points(emit, [(skipped, vectors * self.lanes)], element)

    def _places(self, emit: Emitter, start: Index) -> SSAValue:
        numbers = emit.lane_numbers(self.lanes)
        return emit.add(arith.AddiOp(broadcast(emit, emit.value(start), self.lanes), numbers))

    def _more(self, emit: Emitter, rank: SSAValue, sooner: SSAValue) -> SSAValue:
        return emit.add(arith.AddiOp(rank, emit.add(ExtUIOp(sooner, rank.type))))
