"""Schedules as attributes: how the loops of a kernel and of its nests are run.

    loop.generic ... attributes {lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 4>}
    func.func private @kernel ... attributes {lamina.schedule = [#loop.rows<parallel, tile = 512>]}

`choose-schedule` writes them, `apply-schedule` carries them out. A clause that does not stand is
open for the one, and off for the other. Each class below is an attribute, each of its fields a
clause; docs/schedules.md is made from them.
"""

from __future__ import annotations

from dataclasses import fields
from itertools import pairwise

from xdsl.ir import Attribute
from xdsl.irdl import irdl_attr_definition
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.loop.clauses import (
    BY,
    DIM,
    DIMS,
    FACTORS,
    FLAG,
    MOST_COPIES,
    NUMBER,
    NUMBERS,
    ORDINAL,
    ROWS,
    WORD,
    By,
    Clauses,
    ClausesAttr,
    clause,
)
from lamina.dialects.records import record

SCHEDULE = "lamina.schedule"
"""Attribute of a nest, a `#loop.schedule`; and of a kernel, an array with one for each part."""


@record
class NestSchedule(Clauses):
    """The loops of one nest within a task of its kernel.

    Dimensions are those of the nest's domain; rows that every access walks as one are the last of
    them. Of nests that share their loops, the first one's clauses count for all.
    """

    attribute_name = "loop.schedule"

    compute_with: bool | None = clause(
        FLAG,
        "The nest shares the loops of the one in front of it; what that makes stays in registers.",
    )
    compute_at: int | None = clause(
        DIM,
        "The nest is computed in the loop over slices of this dimension of the nest that reads it, "
        "for what each slice reads.",
    )
    order: tuple[int, ...] | None = clause(
        DIMS,
        "The loops, outermost first; by default those of the domain. Vectors are innermost.",
    )
    vectorize: By | None = clause(
        BY, "The dimension along which vectors run, and their lanes; the tail is masked."
    )
    unroll: int | None = clause(
        NUMBER,
        "Vectors in one step of the innermost loop; of a reduction each has accumulators.",
    )
    jam: By | None = clause(
        BY,
        "Unroll-and-jam: positions of another kept dimension (of a product: its rows) whose totals "
        "are computed side by side.",
    )
    unroll_dims: tuple[int, ...] | None = clause(
        DIMS,
        "With `jam`: reduced dimensions whose loops are written out, so that what positions side "
        "by side read alike, such as lines that windows share, is loaded once.",
    )
    tail: tuple[int, ...] | None = clause(
        NUMBERS,
        "Of a product: rows of the tiles that compute what those of `jam` leave over, and of those "
        "that compute what these do. Without it, and where the last have more than a row, the last "
        "tile is moved up, and computes some rows twice.",
    )
    tile: By | None = clause(
        BY,
        "Positions of a dimension that are done before those behind them, to stay in a cache; of a "
        "product whose tasks pack its columns, those that are packed at a time.",
    )
    terms: int | None = clause(
        NUMBER,
        "Of a product: so many terms of the sum are multiplied, and packed where tasks pack its "
        "columns, before those behind them.",
    )
    rfactor: By | None = clause(
        BY,
        "A reduced dimension is split into so many parts, far apart, which are reduced together.",
    )
    dot_pairs: bool | None = clause(
        FLAG,
        "Of a sum of products of bf16: two neighbouring terms are one dot product, so that the "
        "vectors have twice as many terms as totals.",
    )
    transpose: int | None = clause(
        DIM,
        "Reads are contiguous along this dimension: square tiles are transposed in registers.",
    )
    online: bool | None = clause(
        FLAG,
        "Online softmax: the maximum that this nest makes and the sum of exponentials of the next "
        "nest are one walk.",
    )
    cache_read: tuple[int, ...] | None = clause(
        NUMBERS, "Reads that are copied into scratch of the task first."
    )
    double_buffer: bool | None = clause(
        FLAG,
        "Of a product in matrix tiles whose tasks pack its columns: while `terms` of the sum are "
        "multiplied, the next ones are packed into a second buffer.",
    )
    prefetch: tuple[int, ...] | None = clause(
        NUMBERS, "Reads whose lines are fetched ahead along the vectors, `prefetch_bytes` ahead."
    )
    prefetch_bytes: int | None = clause(NUMBER, "How far ahead `prefetch` asks, in bytes.")
    prefetch_rows: int | None = clause(
        NUMBER,
        "While a row is walked here, lines of the row so many rows ahead are fetched; with "
        "`double_buffer`, of the term so many terms ahead; with `rfactor`, in each of its streams; "
        "with `jam`, what windows of that row read anew.",
    )
    prefetch_tiles: int | None = clause(NUMBER, "With `transpose`: tiles ahead that are fetched.")
    prefetch_panels: int | None = clause(
        NUMBER,
        "Of a product: while a panel is multiplied, lines of the panel so many ahead are fetched, "
        "an equal share by each register tile.",
    )
    prefetch_writes: tuple[int, ...] | None = clause(
        NUMBERS,
        "Of a product in register tiles, and of what is computed of them: results whose lines are "
        "fetched when a tile begins, so that stores find them; not those of `nontemporal`.",
    )
    nontemporal: tuple[int, ...] | None = clause(
        NUMBERS, "Results whose vectors are stored past the caches."
    )
    nontemporal_from: int | None = clause(
        ROWS,
        "Fewer rows that count than this (`live` of `#loop.nest`) leave `nontemporal` results in "
        "the caches.",
    )

    def verify(self) -> None:
        """Raises VerifyException for numbers that no schedule has."""
        super().verify()
        copies = (self.unroll or 1) * (1 if self.jam is None else self.jam.count)
        if copies > 4 * MOST_COPIES:
            raise VerifyException(
                f"#{self.attribute_name}: unroll and jam make {copies} copies; {4 * MOST_COPIES} "
                "are the most"
            )
        heights = () if self.tail is None else (*self.tail, 0)
        if len(heights) == 1 or any(after >= before for before, after in pairwise(heights)):
            raise VerifyException(
                f"#{self.attribute_name}: tail = {list(self.tail or ())}: rows of tiles, fewer in "
                "each than in that in front of it"
            )
        if self.vectorize is not None and self.vectorize.count.bit_count() != 1:
            raise VerifyException(
                f"#{self.attribute_name}: vectorize = d{self.vectorize.dim} x "
                f"{self.vectorize.count}: lanes are a power of 2"
            )

    def dims(self) -> dict[str, tuple[int, ...]]:
        """The dimensions that each clause names, but for `compute_at`, which names another's."""
        named: dict[str, tuple[int, ...]] = {}
        for entry in fields(self):
            value, kind = getattr(self, entry.name), entry.metadata["kind"]
            if value is None or entry.name == "compute_at":
                continue
            if kind is BY:
                named[entry.name] = (value.dim,)
            elif kind is DIM:
                named[entry.name] = (value,)
            elif kind is DIMS:
                named[entry.name] = value
        return named


@record
class RowTasks(Clauses):
    """A part without packed products: each task runs every nest for one row, or for part of one.

    Rows are places among the `rows` of a nest's `#loop.nest`, those that every access walks as one
    joined.
    """

    attribute_name = "loop.rows"

    parallel: bool | None = clause(FLAG, "Tasks are divided among threads.")
    inner: tuple[int, ...] | None = clause(
        NUMBERS, "Rows that are loops of the task, outermost first, instead of tasks."
    )
    tile: int | None = clause(
        NUMBER, "Positions of the first loop of the task that one task takes; by default all."
    )
    jam: int | None = clause(NUMBER, "Rows, far apart, that a task reduces side by side.")


@record
class ProductTasks(Clauses):
    """A part around packed products: a task is a block of rows by a range of columns."""

    attribute_name = "loop.products"

    parallel: bool | None = clause(FLAG, "Tasks are divided among threads.")
    compute_at: str | None = clause(
        WORD,
        "Where what follows a product is computed: for each `panel` of it, or for a `block` of "
        "whole rows.",
        ("panel", "block"),
    )
    block: int | None = clause(NUMBER, "Rows of a task.")
    num_threads: int | None = clause(
        NUMBER,
        "Live rows are divided into blocks of nearly the same size, `block` rows at most, and few "
        "blocks into a multiple of this number.",
    )
    columns: int | None = clause(NUMBER, "Ranges into which the panels are divided, each a task.")
    outer_columns: str | None = clause(
        WORD,
        "Columns outside the panels: `tasks` of their own, or `loops` of a task.",
        ("tasks", "loops"),
    )
    inner_rows: int | None = clause(
        ORDINAL,
        "So many rows in front of the last, such as the lines of an image, are loops of a task, "
        "within those over blocks of the sum and panels; others are tasks.",
    )
    order: str | None = clause(
        WORD,
        "Which tasks are neighbours, and so with one thread: those of the same `rows`, or of the "
        "same `columns`.",
        ("rows", "columns"),
    )
    backward: bool | None = clause(
        FLAG, "Tasks of a thread, and panels of a task, are walked from the last to the first."
    )
    alternate: bool | None = clause(
        FLAG,
        "Loops of an entry that call the kernel take two steps at a time, the second of which runs "
        "it `backward`.",
    )


@record
class PairTasks(Clauses):
    """A part that packs pairs for matrix tiles."""

    attribute_name = "loop.pairs"

    parallel: bool | None = clause(FLAG, "Tasks are divided among threads.")
    tile: int | None = clause(NUMBER, "Pairs of a task.")


@record
class UnstructuredTasks(Clauses):
    """A kernel that is one scatter, scan, sort, reduction of segments or Fourier transform."""

    attribute_name = "loop.unstructured"

    parallel: bool | None = clause(FLAG, "Tasks are divided among threads.")
    algorithm: str | None = clause(
        WORD,
        "How a row is sorted: by `merge`; each element by its `rank`; the first ones by "
        "`insertion`, or in registers for several `rows` at once; a window by `selection`.",
        ("merge", "rank", "insertion", "rows", "selection"),
    )
    lanes: int | None = clause(NUMBER, "Elements of a vector; 1 for scalars.")
    sample: int | None = clause(
        NUMBER,
        "Elements of a row that are selected from first: what goes behind the last one wanted of "
        "these is left out of the rest.",
    )
    few: int | None = clause(
        NUMBER,
        "With `selection`, where a call says how many of the first elements are wanted: so many at "
        "most are taken by insertion.",
    )
    left_out: int | None = clause(
        NUMBER,
        "With `selection`, there: rows of which less than one part in so many is left out are "
        "sorted whole, by merging.",
    )
    jam: int | None = clause(NUMBER, "Lines that are scanned side by side.")
    factors: tuple[int, ...] | None = clause(
        FACTORS,
        "Of a Fourier transform: its steps, the first one first; their product is its size.",
    )
    unroll: int | None = clause(
        NUMBER,
        "Vectors of columns that a segment is reduced for at once, or a row of a scatter writes in "
        "a step; of a sorted row, those whose ranks are counted at once where it is sorted in "
        "lanes.",
    )
    prefetch: tuple[int, ...] | None = clause(
        NUMBERS, "Tables whose rows are fetched ahead, past the segment's end."
    )


@irdl_attr_definition
class ScheduleAttr(ClausesAttr[NestSchedule]):
    """The schedule of one nest."""

    name = "loop.schedule"
    kind = NestSchedule


@irdl_attr_definition
class RowTasksAttr(ClausesAttr[RowTasks]):
    """The schedule of a part without packed products."""

    name = "loop.rows"
    kind = RowTasks


@irdl_attr_definition
class ProductTasksAttr(ClausesAttr[ProductTasks]):
    """The schedule of a part around packed products."""

    name = "loop.products"
    kind = ProductTasks


@irdl_attr_definition
class PairTasksAttr(ClausesAttr[PairTasks]):
    """The schedule of a part that packs pairs."""

    name = "loop.pairs"
    kind = PairTasks


@irdl_attr_definition
class UnstructuredTasksAttr(ClausesAttr[UnstructuredTasks]):
    """The schedule of a kernel that is one unstructured op."""

    name = "loop.unstructured"
    kind = UnstructuredTasks


SCHEDULES: tuple[type[Attribute], ...] = (
    ScheduleAttr,
    RowTasksAttr,
    ProductTasksAttr,
    PairTasksAttr,
    UnstructuredTasksAttr,
)
"""The attributes of the dialect that are schedules."""

PART_SCHEDULES = (RowTasksAttr, ProductTasksAttr, PairTasksAttr, UnstructuredTasksAttr)
"""Those of a kernel's parts."""
