"""What a nest is to its kernel: which of its dimensions are rows, and which part it belongs to.

    loop.generic ... attributes {lamina.nest = #loop.nest<rows = [d0, d1], part = 1>}

The nests of a part share loops over their rows; parts run one after the other. What the nests of a
kernel must agree on is in `kernel_contract`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from math import prod

from xdsl.ir import Attribute, Operation
from xdsl.irdl import irdl_attr_definition
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.loop.access import flatten, forms_of, shape_of
from lamina.dialects.loop.clauses import DIMS, FLAG, ORDINAL, Clauses, ClausesAttr, clause
from lamina.dialects.loop.generic import GenericOp
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.live_rows import LIVE, LiveRows, verify_live
from lamina.dialects.loop.monoid import COMBINE
from lamina.dialects.records import record

NEST = "lamina.nest"
"""Attribute of a nest in a kernel, a `#loop.nest`."""


@record
class KernelNest(Clauses):
    """What a nest shares with the others of its kernel."""

    attribute_name = "loop.nest"

    rows: tuple[int, ...] | None = clause(
        DIMS, "The dimensions that are the kernel's rows, outermost first."
    )
    part: int | None = clause(
        ORDINAL, "The part of the kernel to which the nest belongs; 0 where it is left out."
    )
    live: LiveRows | None = clause(
        LIVE,
        "Digits of the rows' number, outermost first; nothing reads rows a digit of which is not "
        "below the number in an argument of the kernel.",
    )
    visited: tuple[int, ...] | None = clause(
        DIMS,
        "Rows that are live as far as the schedules of those that read the results visit them.",
    )
    copied: LiveRows | None = clause(
        LIVE,
        "Of a scatter: digits of the numbers of the elements that it copies first; nothing reads "
        "others.",
    )
    taken: LiveRows | None = clause(
        LIVE,
        "Of a sort of which the first elements are asked for: digits of these; nothing reads "
        "others.",
    )
    interleave: bool | None = clause(
        FLAG,
        "Results 0 and 1, 2 and 3, and so on lie side by side in the same memory, as the parts of "
        "complex numbers do: vectors of both are stored together.",
    )


@irdl_attr_definition
class NestAttr(ClausesAttr[KernelNest]):
    """Rows and part of a nest."""

    name = "loop.nest"
    kind = KernelNest


_SAYS_NOTHING = KernelNest()


def _nest_of(op: Operation) -> KernelNest:
    found = op.attributes.get(NEST)
    return found.data if type(found) is NestAttr else _SAYS_NOTHING


def has_rows(nest: Operation) -> bool:
    """Whether a nest says which of its dimensions are rows, be it none."""
    return _nest_of(nest).rows is not None


def rows_of(nest: Operation) -> tuple[int, ...]:
    """The dimensions of a nest that are its kernel's rows."""
    return _nest_of(nest).rows or ()


def part_of(nest: Operation) -> int:
    """The part of its kernel to which a nest belongs."""
    return _nest_of(nest).part or 0


def interleaves(nest: Operation) -> bool:
    """Whether results 2k and 2k + 1 of a nest are neighbours in the same memory."""
    return bool(_nest_of(nest).interleave)


def summed_rows(nest: GenericOp) -> tuple[int, ...]:
    """The rows of a nest over which it sums: a task runs them one after the other."""
    reduced = set(nest.reduction_dims)
    return tuple(d for d in rows_of(nest) if d in reduced and nest.extents[d] > 1)


def live_rows_of(nest: Operation) -> LiveRows | None:
    """The rows of a nest that something reads, if these are not all."""
    return _nest_of(nest).live


def set_rows(nest: Operation, rows: Iterable[int]) -> None:
    """Say which dimensions of a nest are its kernel's rows, outermost first; all of them live."""
    _note(nest, replace(_nest_of(nest), rows=tuple(rows), live=None, visited=None))


def renumber_rows(nest: Operation, rows: Iterable[int]) -> None:
    """Say that the same rows are other dimensions of a nest now: those that are live still are."""
    own = _nest_of(nest)
    places = dict(zip(own.rows or (), rows, strict=False))
    visited = None if own.visited is None else tuple(places.get(d, d) for d in own.visited)
    _note(nest, replace(own, rows=tuple(rows), visited=visited))


def set_live_rows(nest: Operation, live: LiveRows | None) -> None:
    """Say which rows of a nest something reads; None for all."""
    _note(nest, replace(_nest_of(nest), live=live, visited=None))


def visited_rows(nest: Operation) -> tuple[int, ...]:
    """The rows of a nest that end where the schedules of its readers do."""
    return _nest_of(nest).visited or ()


def set_visited_rows(nest: Operation, live: LiveRows, dims: Iterable[int]) -> None:
    """Say which rows of a nest something reads, some of them as schedules visit them."""
    _note(nest, replace(_nest_of(nest), live=live, visited=tuple(sorted(dims)) or None))


def copied_of(scatter: Operation) -> LiveRows | None:
    """The elements that a scatter copies, if these are not all."""
    return _nest_of(scatter).copied


def set_copied(scatter: Operation, copied: LiveRows | None) -> None:
    """Say which elements a scatter copies; None for all."""
    _note(scatter, replace(_nest_of(scatter), copied=copied))


def taken_of(sort: Operation) -> LiveRows | None:
    """The first elements of rows in order that something reads, if these are not all that a sort
    is asked for."""
    return _nest_of(sort).taken


def set_taken(sort: Operation, taken: LiveRows | None) -> None:
    """Say which of the elements that a sort is asked for something reads; None for all."""
    _note(sort, replace(_nest_of(sort), taken=taken))


def set_part(nest: Operation, part: int) -> None:
    """Say to which part of its kernel a nest belongs."""
    _note(nest, replace(_nest_of(nest), part=part or None))


def set_interleaved(nest: Operation) -> None:
    """Say that results 2k and 2k + 1 of a nest are neighbours in the same memory."""
    _note(nest, replace(_nest_of(nest), interleave=True))


def _note(nest: Operation, said: KernelNest) -> None:
    nest.attributes.pop(NEST, None)
    if said != _SAYS_NOTHING:
        nest.attributes[NEST] = _attribute(said)


@lru_cache(maxsize=1024)
def _attribute(said: KernelNest) -> NestAttr:
    return NestAttr(said)


def verify_nest_note(op: GenericOp, note: Attribute) -> None:
    """Raises VerifyException where a `#loop.nest` is not true of the nest alone."""
    if not isinstance(note, NestAttr):
        raise VerifyException(
            f"{op.name}: {NEST} is a #{NestAttr.name}, such as "
            f"#{NestAttr.name}<rows = [d0]>: not {note}"
        )
    rank, rows = len(op.extents), note.data.rows or ()
    if any(d >= rank for d in rows):
        raise VerifyException(
            f"{op.name}: {NEST}: rows = {_named(rows)} of a domain of {rank}"
            + (f", d0 to d{rank - 1}" if rank else "")
        )
    if note.data.live is not None:
        _verify_live_rows(op, note.data.live, rows)
    if note.data.visited is not None:
        _verify_visited(op, note.data)
    if note.data.copied is not None:
        raise VerifyException(f"{op.name}: {NEST}: copied: only loop.scatter copies a tensor")
    if note.data.taken is not None:
        raise VerifyException(f"{op.name}: {NEST}: taken: only of loop.sort elements are taken")
    reduced = {d for d in op.reduction_dims if op.extents[d] > 1}
    if reduced.intersection(rows):
        _verify_summed(op, set(rows), reduced)
    if note.data.interleave:
        _verify_interleaved(op)


def _verify_live_rows(op: GenericOp, live: LiveRows, rows: tuple[int, ...]) -> None:
    where = f"{op.name}: {NEST}"
    verify_live(live, where)
    extents = [op.extents[d] for d in rows]
    if live.by_row(extents) is None and live.rows != prod(extents):
        raise VerifyException(f"{where}: live = {live}: its rows have extents {extents}")


def _verify_visited(op: GenericOp, note: KernelNest) -> None:
    visited, rows = note.visited or (), note.rows or ()
    digits = None if note.live is None else note.live.by_row([op.extents[d] for d in rows])
    ending = {
        dim
        for dim, own in zip(rows, digits or (), strict=False)
        if any(digit.count is not None for digit in own)
    }
    if not ending.issuperset(visited):
        raise VerifyException(
            f"{op.name}: {NEST}: visited = {_named(visited)}: rows that end at numbers are "
            f"{_named(ending)}"
        )


def _verify_interleaved(op: GenericOp) -> None:
    offsets = [
        flatten(forms, shape_of(out))
        for out, index_map in zip(op.outs, op.write_maps, strict=False)
        if (forms := forms_of(index_map, op.extents)) is not None
    ]
    paired = len(offsets) == len(op.write_maps) and len(offsets) % 2 == 0
    if not paired or any(
        op.outs[k] is not op.outs[k + 1]
        or offsets[k + 1].add(offsets[k].scale(-1)) != Linear.of({}, 1)
        for k in range(0, len(offsets), 2)
    ):
        raise VerifyException(
            f"{op.name}: {NEST}: interleave is for results in pairs, the second of which goes "
            "behind the element of the first"
        )


def _verify_summed(op: GenericOp, rows: set[int], reduced: set[int]) -> None:
    """A nest that adds up rows does nothing else: each result is such a sum of the same rows."""
    wide = {d for d, extent in enumerate(op.extents) if extent > 1}
    for index_map, combiner in zip(op.write_maps, op.combiner_names, strict=True):
        if combiner in ("store", COMBINE) or wide - index_map.used_dims() != reduced:
            raise VerifyException(f"{op.name}: {NEST}: not all its results are sums over its rows")
    if not reduced <= rows:
        raise VerifyException(
            f"{op.name}: {NEST}: it reduces {_named(reduced)}, of which only some are among its "
            f"rows {_named(rows)}"
        )


def _named(dims: Iterable[int]) -> str:
    return f"[{', '.join(f'd{d}' for d in sorted(dims))}]"
