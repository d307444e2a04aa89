"""Live rows in blocks of nearly the same size, as many as threads share without rest.

Blocks of a known size leave a short one behind: of 66 live rows in blocks of 64 one thread has 64
and the other 2. So the rows that count are divided by how many they are when the kernel runs, and
where each block has several register tiles, by whole ones of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from lamina.dialects.loop.live_rows import Digit
from lamina.dialects.loop.scalar_ops import compare_op, select_op
from lamina.dialects.loop.team import NumThreadsOp
from lamina.dialects.records import record
from lamina.passes.cost.product_limits import EVEN_ROUNDS, TILES_DEALT
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.live_rows import End, count_of, divided, times, together


@record
class BlockRows:
    """Rows of a block: the `fewest` it may have, the `most`, and those of a register `tile`, of
    which blocks are multiples where they have several."""

    fewest: int
    most: int
    tile: int

    @staticmethod
    def of(fewest: int, most: int, tile: int) -> BlockRows:
        """At most so many, or the multiple of a tile below."""
        return BlockRows(fewest, most - most % tile if most >= tile else most, tile)


def shares_evenly(digits: Sequence[Digit], size: int, fewest: int) -> bool:
    """Whether live rows, in blocks of at most `size`, can be divided into any number of blocks.

    Each then has `fewest` rows, those of a register tile, without reaching behind the others.
    """
    rows = _rows_together(digits)
    return rows is not None and min(rows, size) >= 2 * fewest


def least_together(digits: Sequence[Digit]) -> int:
    """How many of the rows that are divided into blocks count in any call, at least."""
    counted = [place for place, digit in enumerate(digits) if digit.count is not None]
    last = digits[counted[-1] if counted else 0 :]
    return prod(digit.extent if digit.count is None else digit.end(1) for digit in last)


def _rows_together(digits: Sequence[Digit]) -> int | None:
    """The rows of which the first ones count, as far as they lie together; None without such."""
    counted = [place for place, digit in enumerate(digits) if digit.count is not None]
    return prod(digit.extent for digit in digits[counted[-1] :]) if counted else None


@record
class EvenBlocks:
    """Of `extent` rows the first `live` ones in `count` blocks, so for each position of `lead`.

    They are dealt out in `parts` of `unit` rows each, the last one perhaps of fewer: in register
    tiles where no smaller ones are, so that a block that ends within one has another in front.
    """

    lead: list[End]
    extent: int
    live: Index
    count: Index
    unit: Index
    parts: Index
    fewest: int

    @staticmethod
    def of(
        emit: Emitter, ends: list[End], around: Index, rows: BlockRows, threads: int
    ) -> EvenBlocks:
        """Rows with these ends, in blocks of so many `rows`, with `around` tasks for each. They are
        for as many `threads` as the call has of these."""
        fewest, size, tile = rows.fewest, rows.most, rows.tile
        team = emit.least(emit.add(NumThreadsOp()), threads)
        *lead, last = together(emit, ends)
        extent, live = last.extent, last.end
        count = emit.quotient(emit.plus(live, size - 1), size)
        tasks = times(emit, times(emit, around, count_of(emit, lead)), count)
        _, rounds = divided(emit, emit.plus(count, emit.minus(team, 1)), team)
        shared = times(emit, rounds, team)
        shared = emit.least(shared, emit.most(emit.quotient(live, fewest), 1))
        is_uneven = _compared(emit, divided(emit, tasks, team)[0], "ne", 0)
        are_few = _compared(emit, emit.minus(tasks, emit.times(team, EVEN_ROUNDS)), "slt", 0)
        divides = emit.add(arith.AndIOp(is_uneven, are_few))
        chosen = emit.add(select_op(divides, emit.value(shared), emit.value(count)))
        unit: Index = tile
        parts = emit.quotient(emit.plus(live, tile - 1), tile)
        if fewest < tile:
            short = emit.minus(live, emit.times(chosen, tile * TILES_DEALT))
            are_short = _compared(emit, short, "slt", 0)
            unit = emit.add(select_op(are_short, emit.value(1), emit.value(tile)))
            parts = emit.add(select_op(are_short, emit.value(live), emit.value(parts)))
        return EvenBlocks(lead, extent, live, chosen, unit, parts, fewest)

    @property
    def ends(self) -> list[End]:
        """The digits of the numbers of blocks."""
        return [*self.lead, End(self.extent, self.count)]

    def rows(self, emit: Emitter, number: Index) -> tuple[Index, Index]:
        """Where the block of a number begins and ends, of those that `ends` counts."""
        block = emit.remainder(number, self.extent) if self.lead else number
        base = emit.minus(number, block) if self.lead else 0
        bounds = (
            divided(emit, times(emit, emit.plus(block, step), self.parts), self.count)[1]
            for step in (0, 1)
        )
        dealt = (emit.least(times(emit, bound, self.unit), self.live) for bound in bounds)
        low, high = (emit.plus(base, bound) for bound in dealt)
        return low, emit.most(high, emit.plus(low, self.fewest))


def _compared(emit: Emitter, left: Index, predicate: str, right: int) -> SSAValue:
    return emit.add(compare_op(emit.value(left), emit.value(right), predicate))
