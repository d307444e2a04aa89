"""Lowerings of active extensions: what they give is looked at, so that faults name their author."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.errors import InputError, LaminaError, UnsupportedError
from lamina.dialects.extension_entries import Entry
from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.nest import OrderedNest
from lamina.dialects.places import place_of
from lamina.passes.contracts.contracts import stands_at
from lamina.passes.contracts.verify_loop import TENSOR_OPS, verify_nest_body


class FaultyLoweringError(InputError):
    """A lowering of an extension that raises, or gives what it may not."""


Values = Sequence[SSAValue | None]


def by_extension(entry: Entry) -> Callable[[Any, Any], Values]:
    """The function of an entry as a lowering: it refuses ops, or what it made is checked.

    Raises `FaultyLoweringError`, one line with the extension, its file and line, the op and
    where it stands.
    """

    def lower(op: Operation, builder: Any) -> Values:
        before = op.prev_op
        try:
            given = entry.value(op, builder)
        except UnsupportedError:
            raise
        except Exception as error:
            raise _fault(entry, op, "raises", error) from error
        values = [given] if isinstance(given, SSAValue) else given
        if not isinstance(values, list | tuple) or not all(
            value is None or isinstance(value, SSAValue) for value in values
        ):
            raise _fault(entry, op, f"gives a {type(given).__name__}, and not values")
        _check_values(entry, op, values)
        made = op.prev_op
        while made is not None and made is not before:
            _check_made(entry, op, made)
            made = made.prev_op
        return values

    return lower


def _check_values(entry: Entry, op: Operation, values: Values) -> None:
    if len(values) != len(op.results):
        raise _fault(entry, op, f"gives {len(values)} values for {len(op.results)} results")
    for result, value in zip(op.results, values, strict=True):
        if value is None and result.first_use is not None:
            raise _fault(entry, op, f"gives None for result {result.index}, which is used")
        if value is not None and value.type != result.type:
            raise _fault(
                entry, op, f"gives {value.type} for result {result.index}, which is {result.type}"
            )


def _check_made(entry: Entry, op: Operation, made: Operation) -> None:
    try:
        made.verify()
        if isinstance(made, GenericOp | OrderedNest):
            verify_nest_body(made)
    except (VerifyException, LaminaError) as error:
        reason = " ".join(str(error).split())
        raise _fault(entry, op, f"makes a {made.name} that does not verify: {reason}") from error
    stands = isinstance(made, TENSOR_OPS) if entry.to == "loop" else stands_at(made, entry.to)
    if not stands:
        raise _fault(entry, op, f"makes {made.name}, which may not stand at the {entry.to} layer")


def _fault(
    entry: Entry, op: Operation, said: str, cause: BaseException | None = None
) -> FaultyLoweringError:
    place = place_of(op)
    where = f" (at {place})" if place else ""
    about = f"the lowering of {op.name}{where} to {entry.to} {said}"
    return FaultyLoweringError(str(entry.error(about, cause)))
