"""What a register tile asks for when it begins: the lines that are read of its totals, and stored.

What waits for memory behind the last multiply-add, for an operand that is added or for the line of
a store, is near then.
"""

from __future__ import annotations

from lamina.dialects.loop.scheduled import PrefetchOp
from lamina.dialects.records import record
from lamina.passes.schedule.emitter import Emitter
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.memory import Env, Memory
from lamina.passes.schedule.prefetch import INTO_L1, LINE_BYTES
from lamina.passes.schedule.register_tile import Tile
from lamina.passes.schedule.stages import Access, Stage, is_temporary


@record
class TileFetch:
    """What a stage has fetched for a tile whose rows are its dimension `row`, if it has any."""

    memory: Memory
    row: int | None
    tile: Tile

    def emit(self, emit: Emitter, stage: Stage, env: Env) -> None:
        """Ask for the lines of a tile that begins at a position of the stage."""
        schedule = stage.schedule
        for number in schedule.prefetch or ():
            self._ask(emit, stage.reads[number], env)
        self.emit_writes(emit, stage, env)

    def emit_writes(self, emit: Emitter, stage: Stage, env: Env) -> None:
        """The same of what it stores only."""
        past = stage.schedule.nontemporal or ()
        for number in stage.schedule.prefetch_writes or ():
            if number not in past:
                self._ask(emit, stage.writes[number], env)

    def _ask(self, emit: Emitter, access: Access, env: Env) -> None:
        memory, tile = self.memory, self.tile
        start = memory.at(emit, memory.layout(access), env)
        step = 0 if self.row is None else memory.step(emit, access, self.row)
        bits = element_bits(access)
        for line in range(tile.rows):
            begin = emit.plus(start, emit.times(step, line))
            for column in range(0, tile.panel, LINE_BYTES * 8 // bits):
                place = emit.value(emit.plus(begin, column))
                emit.run(PrefetchOp(memory.flat[access.memory], [place], INTO_L1))


def verify_fetch(stage: Stage, column: int, *, reads: bool = True) -> None:
    """Raises InputError for what cannot be fetched of a stage whose columns are a dimension.

    Of a product the reads are others' concern.
    """
    schedule = stage.schedule
    legal = fetched_reads(stage, column)
    if reads and not set(schedule.prefetch or ()) <= set(legal):
        said = f"prefetch = {list(schedule.prefetch or ())}"
        raise illegal(stage.op, f"{said}: of reads along the columns of a tile, {list(legal)}")
    legal = fetched_writes(stage, column)
    if not set(schedule.prefetch_writes or ()) <= set(legal):
        said = f"prefetch_writes = {list(schedule.prefetch_writes or ())}"
        raise illegal(stage.op, f"{said}: of results along the columns of a tile, {list(legal)}")


def fetched_reads(stage: Stage, column: int) -> tuple[int, ...]:
    """The reads of a stage whose lines are other ones in each row, and that come from outside."""
    return _along(stage.reads, stage, column)


def fetched_writes(stage: Stage, column: int) -> tuple[int, ...]:
    """The results of a stage that leave the kernel, and whose lines lie along columns."""
    return _along(stage.writes, stage, column)


def element_bits(access: Access) -> int:
    """Width of what is read or written."""
    return access.element.bitwidth  # pyright: ignore[reportAttributeAccessIssue]


def _along(accesses: list[Access], stage: Stage, column: int) -> tuple[int, ...]:
    return tuple(
        number
        for number, access in enumerate(accesses)
        if access.pad is None
        and access.stride(column) == 1
        and any(access.stride(dim) for dim in stage.rows)
        and not is_temporary(access.memory)
    )
