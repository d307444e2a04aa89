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
    AnyFloat,
    IntegerAttr,
    IntegerType,
    VectorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.loop.vector_arith import CmpiOp, ExtUIOp
from lamina.passes.schedule.body import broadcast
from lamina.passes.schedule.emitter import INDEX, Emitter, Index
from lamina.passes.schedule.ordinals import ordinal
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
    return isinstance(kind, AnyFloat | IntegerType) and kind.bitwidth <= PLACE_BITS


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
        return emit.add(arith.CmpiOp(later[0], earlier[0], "ult"))


def pack_words(emit: Emitter, load: Load, to: Words, length: Index, *, down: bool) -> None:
    """Words of the elements that `load` gives for 0 .. `length`: places are those numbers."""

    def element(e: Emitter, at: list[Index]) -> None:
        key, _ = load(e, at[0])
        high = e.add(arith.ExtUIOp(ordinal(e, key, down), i64))
        high = e.add(arith.ShLIOp(high, e.number(PLACE_BITS, i64)))
        place = e.add(arith.IndexCastOp(e.value(at[0]), i64))
        to.put(e, at[0], [e.add(arith.OrIOp(high, place))])

    over_points(emit, [(0, length)], element)


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
        less = IntegerAttr(arith.CMPI_COMPARISON_OPERATIONS.index("ult"), i64)
        sooner = CmpiOp.create(
            operands=[other, value],
            result_types=[VectorType(i1, [self.lanes])],
            properties={"predicate": less},
        )
        return emit.add(arith.AddiOp(rank, emit.add(ExtUIOp(emit.add(sooner), rank.type))))
