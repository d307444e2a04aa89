"""Live rows of ops that are kernels of their own: of scans, scatters, segments, sorts, transforms.

    loop.scan (d0, d1) in [64, 10] along 1 ...
        attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 64, arg2 of 10]>}

The dimensions of a sort are those of its operand; those of transforms stand in front of the
numbers. A row is what does not depend on the points behind it: so a scan has its own dimension
among its rows, and a sort may have it, where all behind goes last. A scatter copies a tensor first:
`copied` are digits of the numbers of its elements. Of the first elements of a row that a sort is
asked for, `taken` says how many something reads.

Schedules run exactly these rows, or one of each digit that ends at 0; interpreters run all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.loop.kernel_nests import NEST, NestAttr
from lamina.dialects.loop.live_rows import LiveRows, verify_live


class HasRows(Protocol):
    """An op that is a kernel of its own."""

    name: str
    attributes: dict[str, Attribute]

    @property
    def row_extents(self) -> tuple[int, ...]:
        """The extents of the dimensions by which rows are named."""
        ...

    @property
    def possible_rows(self) -> tuple[int, ...]:
        """The dimensions that may end at a count: what is below it needs nothing behind."""
        ...

    @property
    def walked_dim(self) -> int | None:
        """The dimension along which it runs, from the first position on, if it does."""
        ...


def verify_live_note(
    op: HasRows, copied: Sequence[int] | None = None, taken: int | None = None
) -> None:
    """Raises VerifyException where the `#loop.nest` of such an op is not true of it.

    `copied` is the shape of the tensor that it copies first, if it does; `taken` is how many
    elements of a row it is asked for, if these are the first.
    """
    attribute = op.attributes.get(NEST)
    if attribute is None:
        return
    where = f"{op.name}: {NEST}"
    if not isinstance(attribute, NestAttr):
        raise VerifyException(
            f"{where} is a #{NestAttr.name}, such as #{NestAttr.name}<rows = [d0], "
            f"live = [arg1 of 64]>: not {attribute}"
        )
    note = attribute.data
    others = [name for name in ("part", "interleave") if getattr(note, name) is not None]
    if others:
        raise VerifyException(f"{where}: {', '.join(others)}: the op is a kernel of its own")
    if (note.rows is None) != (note.live is None):
        raise VerifyException(f"{where}: rows and live are said together, or neither")
    if note.rows is not None and note.live is not None:
        _verify_rows(op, note.rows, note.live, where)
    if note.visited is not None:
        raise VerifyException(f"{where}: visited: only of loop.generic schedules of readers say so")
    if note.copied is not None:
        if copied is None:
            raise VerifyException(f"{where}: copied: only loop.scatter copies a tensor")
        _verify_digits(note.copied, "copied", copied, where)
    if note.taken is not None:
        if taken is None:
            raise VerifyException(f"{where}: taken: only where loop.sort takes the first elements")
        _verify_digits(note.taken, "taken", [taken], where)
        if len(note.taken.digits) != 1:
            raise VerifyException(f"{where}: taken = {note.taken}: the first elements, one digit")


def _verify_rows(op: HasRows, rows: tuple[int, ...], live: LiveRows, where: str) -> None:
    possible = op.possible_rows
    if list(rows) != [d for d in possible if d in rows]:
        raise VerifyException(f"{where}: rows = {_named(rows)}: of {_named(possible)}, in order")
    domain = op.row_extents
    _verify_digits(live, "live", [domain[d] for d in rows], where)
    along = op.walked_dim
    if along in rows:
        by_row = live.by_row([domain[d] for d in rows])
        assert by_row is not None  # verified
        behind = by_row[rows.index(along)][1:]
        if behind and op.name != "loop.scan":
            raise VerifyException(
                f"{where}: live = {live}: the op runs along d{along}, which is one digit"
            )
        if any(digit.count is not None for digit in behind):
            raise VerifyException(
                f"{where}: live = {live}: the op runs along d{along}, which ends at its first digit"
            )


def _verify_digits(digits: LiveRows, name: str, extents: Sequence[int], where: str) -> None:
    verify_live(digits, where, name)
    if any(digit.panel > 1 for digit in digits.digits):
        raise VerifyException(f"{where}: {name} = {digits}: only of loop.generic there are panels")
    if digits.by_row(extents) is None:
        raise VerifyException(
            f"{where}: {name} = {digits}: its dimensions have extents {list(extents)}"
        )


def _named(dims: Sequence[int]) -> str:
    return f"[{', '.join(f'd{d}' for d in dims)}]"
