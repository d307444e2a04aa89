"""What passes that carry out one clause of nests share."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import func

from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.kernel_nests import rows_of
from lamina.dialects.loop.packing import is_packed
from lamina.dialects.loop.schedules import SCHEDULE, NestSchedule, ScheduleAttr
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.stages import schedule_of


def nests_in_tasks(function: func.FuncOp, wanted: Callable[[GenericOp], bool]) -> list[GenericOp]:
    """The nests of a kernel, in order, whose schedule is one that is wanted.

    Raises InputError for such a nest whose rows are not divided into tasks yet.
    """
    found: list[GenericOp] = []
    for nest in function.body.walk():
        if not isinstance(nest, GenericOp) or 0 in nest.extents:
            continue
        if wanted(nest):
            if rows_of(nest) and not nest.symbols:
                raise illegal(nest, "its rows are not in tasks yet: run parallelize first")
            found.append(nest)
    return found


def set_schedule(nest: GenericOp, schedule: NestSchedule) -> None:
    """Note how a nest's loops run; nothing if nothing is left to say."""
    if schedule == NestSchedule():
        nest.attributes.pop(SCHEDULE, None)
    else:
        nest.attributes[SCHEDULE] = ScheduleAttr(schedule)


def followers(nest: GenericOp) -> list[GenericOp]:
    """The nests behind it that share its loops."""
    found: list[GenericOp] = []
    following = nest.next_op
    while isinstance(following, GenericOp) and schedule_of(following).compute_with:
        found.append(following)
        following = following.next_op
    return found


def has_tile(nest: GenericOp) -> bool:
    """Whether a nest has a tile that `tile-nests` makes loops of."""
    schedule = schedule_of(nest)
    if schedule.transpose is not None or schedule.rfactor is not None or schedule.online:
        return False
    return schedule.tile is not None and not is_packed(nest)


def has_cached_reads(nest: GenericOp) -> bool:
    """Whether a nest has reads that `cache-read` copies."""
    return schedule_of(nest).cache_read is not None and not is_packed(nest)
