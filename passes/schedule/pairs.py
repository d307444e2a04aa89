"""Rows of keys, and of keys with the positions that they had; which of two goes first."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, Signedness, i1, i64
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.loop.memory_ops import load_op, store_op
from lamina.dialects.loop.scalar_ops import compare_op
from lamina.dialects.records import record
from lamina.passes.schedule.emitter import Emitter, Index

Load = Callable[[Emitter, Index], tuple[SSAValue, SSAValue]]
"""Key and position of the element at an index of a row."""


@record
class Keys:
    """The elements of a row from `base` on, as they stand; `down` puts the largest first."""

    memory: SSAValue
    base: Index
    down: bool

    def key(self, emit: Emitter, at: Index) -> SSAValue:
        """The element at an index of the row."""
        return emit.add(load_op(self.memory, [emit.value(emit.plus(self.base, at))]))

    def load(self, emit: Emitter, at: Index) -> tuple[SSAValue, SSAValue]:
        """The element at an index, and that index."""
        return self.key(emit, at), emit.add(arith.IndexCastOp(emit.value(at), i64))


@record
class Pairs:
    """Keys and the positions that they had, in rank-1 memrefs from `base` on."""

    keys: SSAValue
    places: SSAValue
    base: Index

    def from_(self, emit: Emitter, start: Index) -> Pairs:
        """Those from `start` on."""
        return Pairs(self.keys, self.places, emit.plus(self.base, start))

    def load(self, emit: Emitter, at: Index) -> tuple[SSAValue, SSAValue]:
        """Key and position at an index."""
        where = emit.value(emit.plus(self.base, at))
        key = emit.add(load_op(self.keys, [where]))
        return key, emit.add(load_op(self.places, [where]))

    def store(self, emit: Emitter, at: Index, key: SSAValue, place: SSAValue) -> None:
        """Write key and position at an index."""
        where = emit.value(emit.plus(self.base, at))
        emit.run(store_op(key, self.keys, [where]))
        emit.run(store_op(place, self.places, [where]))


@record
class OrderedPairs(Pairs):
    """Such that are put in order; `down` puts the largest first."""

    down: bool

    def put(self, emit: Emitter, at: Index, values: Sequence[SSAValue]) -> None:
        """Write key and position at an index."""
        key, place = values
        self.store(emit, at, key, place)

    def sooner(
        self, emit: Emitter, later: tuple[SSAValue, ...], earlier: tuple[SSAValue, ...]
    ) -> SSAValue:
        """Whether the one that stands later must go before the other."""
        return goes_first(emit, later[0], earlier[0], self.down)


@record
class SortedRow:
    """A row of `length` keys to be put in order, of which results are a `window`: where it begins,
    and how many. `work` is memory for more of them.

    Of numbers, ranks of so many `vectors` of `lanes` are counted at once.
    """

    keys: Keys
    results: Pairs
    work: Pairs
    length: int
    window: tuple[int, int]
    lanes: int
    vectors: int
    live: Index | None = None
    """Elements that are put in order, from the first on, where these are not all."""

    taken: Index | None = None
    """Elements of the window that something reads, from its first on, where these are not all."""

    @property
    def wanted(self) -> Index:
        """How many elements are put into the results, if the row has as many."""
        return self.window[1] if self.taken is None else self.taken

    @property
    def end(self) -> Index:
        """Where the elements that are put in order end."""
        return self.length if self.live is None else self.live

    @property
    def kind(self) -> Attribute:
        """The type of the keys."""
        return self.results.keys.type.element_type  # pyright: ignore[reportAttributeAccessIssue]


def goes_first(emit: Emitter, later: SSAValue, earlier: SSAValue, down: bool) -> SSAValue:
    """Whether an element that stands later must go before one that stands earlier."""
    kind = later.type
    if isinstance(kind, IntegerType):
        unsigned = kind == i1 or kind.signedness.data == Signedness.UNSIGNED
        predicate = ("u" if unsigned else "s") + ("gt" if down else "lt")
        return emit.add(compare_op(later, earlier, predicate))
    ordered = emit.add(compare_op(later, earlier, "ogt" if down else "olt"))
    # NaN is the largest.
    large, small = (later, earlier) if down else (earlier, later)
    large_nan = emit.add(compare_op(large, large, "uno"))
    small_number = emit.add(compare_op(small, small, "ord"))
    return emit.add(arith.OrIOp(ordered, emit.add(arith.AndIOp(large_nan, small_number))))
