"""Which ops of the program a nest computes: `lamina.op`, a name, or an array of them.

Names are for people, in listings and messages: no pass decides by them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

LABEL = "lamina.op"
"""Attribute of a nest: the name of an op, or of several in the order of the program."""


def names_of(op: Operation) -> tuple[str, ...]:
    """The ops of the program that an op computes; none if it does not say."""
    match op.attributes.get(LABEL):
        case StringAttr() as name:
            return (name.data,)
        case ArrayAttr() as names:
            return tuple(name.data for name in names if isinstance(name, StringAttr))
        case _:
            return ()


def set_names(op: Operation, names: Sequence[str]) -> None:
    """Note the ops of the program that an op computes, if there are any."""
    if names:
        op.attributes[LABEL] = _label(*names)


@lru_cache(maxsize=1024)
def _label(*names: str) -> Attribute:
    one, *others = map(StringAttr, names)
    return ArrayAttr([one, *others]) if others else one


def label_of(op: Operation) -> str:
    """What messages call an op: the names joined by `+`, or its own."""
    return "+".join(names_of(op)) or op.name


def verify_label(op: Operation) -> None:
    """Raises VerifyException for a `lamina.op` that is no name, nor an array of names."""
    label = op.attributes[LABEL]
    if isinstance(label, StringAttr):
        return
    if not isinstance(label, ArrayAttr) or not all(isinstance(a, StringAttr) for a in label):
        raise VerifyException(f"{op.name}: {LABEL} is a string, or several: not {label}")
