"""Errors about the names and arguments of table ops."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from lamina.dialects.errors import InputError


class UnknownOpError(InputError, KeyError):
    """An op that the dialect's table does not have; the message names the nearest ones."""

    __str__ = Exception.__str__  # KeyError's would print the message in quotes


def unknown_op(dialect: str, name: str, names: Iterable[str]) -> UnknownOpError:
    """The error for `name`, with up to three of the table's `names` that look like it."""
    known = list(names)
    longer = [n for n in known if n.startswith(f"{name}.")]
    near = list(dict.fromkeys(longer + get_close_matches(name, known, n=3, cutoff=0.5)))[:3]
    hint = f"; nearest: {', '.join(f'{dialect}.{n}' for n in near)}" if near else ""
    return UnknownOpError(f"there is no op {dialect}.{name}{hint}")


class BindError(InputError, TypeError):
    """Arguments that do not fit the op's schema."""


class NoResultRuleError(InputError, ValueError):
    """An op made without result types, which has no rule to infer them."""


class ResultTypeError(InputError, ValueError):
    """Arguments that fit the op's schema but have no result, such as shapes that do not fit."""
