"""Keys of at most 32 bits and the places of their elements as one number each, of 64 bits.

No two are equal, so that whatever puts them in order keeps the order of equal keys; to compare and
to move them takes one operation, of vectors too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import (
    FloatAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
    VectorType,
    f32,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.loop.vector_arith import VECTOR_FORMS, ExtUIOp
from lamina.passes.schedule.body import broadcast, choose
from lamina.passes.schedule.compare import compare, element_of, lanes_of
from lamina.passes.schedule.emitter import INDEX, Emitter, Index, vector_of
from lamina.passes.schedule.pairs import Load
from lamina.passes.schedule.points import over_points

Among = Callable[[Emitter, Index], tuple[Index, Index]]
"""Bounds of the words that those from an index on are compared with."""

Put = Callable[[Index, Emitter, SSAValue, SSAValue], None]
"""Takes the index of the first of the words, and the rank of one of them and itself."""

WORD_BITS = 64
"""Bits of a word."""
PLACE_BITS = 32
"""Bits of the place, below those of the key."""


def fits_word(kind: Attribute) -> bool:
    """Whether a key of this type and a place are one word."""
    return kind == f32 or (isinstance(kind, IntegerType) and kind.bitwidth <= PLACE_BITS)


def word_lanes(kind: Attribute, lanes: int, count: int) -> int:
    """Words of a vector that has room for so many, of `count` keys of that type; 1 for none."""
    return max(1, min(lanes, 1 << (count.bit_length() - 1))) if fits_word(kind) else 1


@dataclass(frozen=True)
class Words:
    """A row of words in a rank-1 memref of i64, from `base` on."""

    memory: SSAValue
    base: Index

    def load(self, emit: Emitter, at: Index) -> tuple[SSAValue, ...]:
        """The word at an index."""
        where = emit.value(emit.plus(self.base, at))
        return (emit.add(memref.LoadOp.get(self.memory, [where])),)

    def put(self, emit: Emitter, at: Index, values: Sequence[SSAValue]) -> None:
        """Write a word at an index."""
        [word] = values
        emit.run(memref.StoreOp.get(word, self.memory, [emit.value(emit.plus(self.base, at))]))

    def sooner(
        self, emit: Emitter, later: tuple[SSAValue, ...], earlier: tuple[SSAValue, ...]
    ) -> SSAValue:
        """Whether the one that stands later must go before the other."""
        return compare(emit, later[0], earlier[0], "slt")


def pack_words(emit: Emitter, load: Load, to: Words, length: Index, *, down: bool) -> None:
    """Words of the elements that `load` gives for 0 .. `length`: places are those numbers."""

    def element(e: Emitter, at: list[Index]) -> None:
        to.put(e, at[0], [word_of(e, load(e, at[0])[0], at[0], down=down)])

    over_points(emit, [(0, length)], element)


def word_of(emit: Emitter, key: SSAValue, at: Index, *, down: bool) -> SSAValue:
    """Of a key at a place of its row, or of one in each lane: the less, the sooner it goes."""
    lanes = lanes_of(key.type)
    number = _number(emit, key, lanes)
    if down:
        number = emit.add(arith.XOrIOp(number, emit.splat(IntegerAttr(-1, i64), lanes)))
    high = emit.add(arith.ShLIOp(number, emit.splat(IntegerAttr(PLACE_BITS, i64), lanes)))
    place = emit.add(arith.IndexCastOp(emit.value(at), i64))
    return emit.add(arith.OrIOp(high, broadcast(emit, place, lanes)))


def _number(emit: Emitter, key: SSAValue, lanes: int) -> SSAValue:
    """An i64 of 32 bits in the order of the keys; zeros are one, and NaN is the largest."""
    kind = element_of(key.type)
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
    """Those of an f32, inverted below the sign of negative numbers."""
    zero = emit.splat(FloatAttr(0.0, f32), lanes)
    bits = emit.add(arith.BitcastOp(emit.add(arith.AddfOp(key, zero)), vector_of(i32, lanes)))
    sign = emit.add(arith.ShRSIOp(bits, emit.splat(IntegerAttr(31, i32), lanes)))
    largest = emit.splat(IntegerAttr((1 << 31) - 1, i32), lanes)
    bits = emit.add(arith.XOrIOp(bits, emit.add(arith.AndIOp(sign, largest))))
    return choose(emit, compare(emit, key, key, "uno"), largest, bits)


def place_of(emit: Emitter, word: SSAValue) -> SSAValue:
    """The place in a word, as an index."""
    mask = emit.number((1 << PLACE_BITS) - 1, i64)
    return emit.add(arith.IndexCastOp(emit.add(arith.AndIOp(word, mask)), INDEX))


@dataclass(frozen=True)
class WordVectors:
    """How ranks of words are counted: of `vectors` at once, by one word after another."""

    lanes: int
    vectors: int
    ranks: SSAValue
    """Memory of as many numbers as these vectors have."""

    @staticmethod
    def of(emit: Emitter, lanes: int, vectors: int) -> WordVectors:
        """With memory for the ranks."""
        ranks = emit.add(memref.AllocaOp.get(i64, 64, [lanes * vectors]))
        return WordVectors(lanes, vectors, ranks)

    @property
    def run(self) -> int:
        """Words whose ranks are counted at once."""
        return self.lanes * self.vectors

    def rank(self, emit: Emitter, words: Words, length: int, among: Among, put: Put) -> None:
        """`put` each of `length` words, no fewer than `lanes`, by its rank among some of them."""
        whole = length - length % self.run

        def runs(e: Emitter, at: list[Index]) -> None:
            first = e.times(at[0], self.run)
            self._group(e, words, first, self.vectors, 0, among(e, first), partial(put, first))

        over_points(emit, [(0, whole // self.run)], runs)
        last, bounds = partial(put, whole), among(emit, whole)
        if vectors := (length - whole) // self.lanes:
            self._group(emit, words, whole, vectors, 0, bounds, last)
        if rest := length % self.lanes:  # the last vector begins among words that are put already
            self._group(emit, words, length - self.lanes, 1, self.lanes - rest, bounds, last)

    def _group(
        self,
        emit: Emitter,
        words: Words,
        first: Index,
        vectors: int,
        skipped: int,
        bounds: tuple[Index, Index],
        put: Callable[[Emitter, SSAValue, SSAValue], None],
    ) -> None:
        kind = VectorType(i64, [self.lanes])
        starts = [emit.plus(first, number * self.lanes) for number in range(vectors)]
        places = [emit.value(emit.plus(words.base, start)) for start in starts]
        values = [emit.add(vector.LoadOp(words.memory, [place], kind)) for place in places]

        def count(e: Emitter, at: Index, ranks: list[SSAValue]) -> list[SSAValue]:
            other = broadcast(e, words.load(e, at)[0], self.lanes)
            return [self._more(e, *each, other) for each in zip(ranks, values, strict=True)]

        nothing = [emit.splat(IntegerAttr(0, i64), self.lanes)] * vectors
        for number, ranks in enumerate(emit.loop(*bounds, 1, nothing, count)):
            emit.run(vector.StoreOp(ranks, self.ranks, [emit.value(number * self.lanes)]))

        def element(e: Emitter, at: list[Index]) -> None:
            rank = e.add(memref.LoadOp.get(self.ranks, [e.value(at[0])]))
            put(e, e.add(arith.IndexCastOp(rank, INDEX)), *words.load(e, e.plus(first, at[0])))

        over_points(emit, [(skipped, vectors * self.lanes)], element)

    def _more(self, emit: Emitter, rank: SSAValue, value: SSAValue, other: SSAValue) -> SSAValue:
        sooner = compare(emit, other, value, "slt")
        return emit.add(arith.AddiOp(rank, emit.add(ExtUIOp(sooner, rank.type))))
