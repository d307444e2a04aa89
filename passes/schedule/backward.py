"""Loops of a kernel from the last position to the first: what `backward` of a product asks for."""

from __future__ import annotations

from collections.abc import Callable

from lamina.passes.schedule.emitter import Emitter, Index


def each_backward(
    emit: Emitter, low: Index, high: Index, body: Callable[[Emitter, Index], None]
) -> None:
    """A loop over `low .. high` from its end on."""
    last = emit.plus(emit.plus(low, high), -1)
    emit.each(low, high, 1, lambda inner, at: body(inner, inner.minus(last, at)))


def tasks_backward(
    emit: Emitter,
    count: Index,
    body: Callable[[Emitter, Index], None],
    *,
    parallel: bool | None,
) -> None:
    """As `Emitter.tasks`, each thread beginning with the last of its share."""
    if parallel and not (isinstance(count, int) and count <= 1):
        emit.parallel(count, body, backward=True)
    else:
        each_backward(emit, 0, count, body)
