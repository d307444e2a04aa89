"""All ops of a program in one list."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TypeVar

from xdsl.ir import Operation

OpT = TypeVar("OpT", bound=Operation)


def list_ops(root: Operation) -> list[Operation]:
    """`root` and the ops under it, each in front of what it holds, as `root.walk()` gives them.

    A generator for each op, as `walk` has them, takes four times as long.
    """
    found = [root]
    _list_under(root, found)
    return found


def ops_of(root: Operation, kind: type[OpT]) -> list[OpT]:
    """Those of `list_ops` that are of this class, not of one below it."""
    return [op for op in list_ops(root) if type(op) is kind]


def instances_under(root: Operation, kind: type[OpT] | tuple[type[OpT], ...]) -> list[OpT]:
    """Those of the ops under `root` that are `isinstance` of a class, or of one of several.

    Classes are asked, each once, of which there are few: xDSL's are abstract, and slow to say no.
    """
    return instances(list_ops(root)[1:], kind)


def instances(ops: Iterable[Operation], kind: type[OpT] | tuple[type[OpT], ...]) -> list[OpT]:
    """Those of these ops that `instances_under` would give."""
    return [op for op in ops if _is_below(type(op), kind)]  # pyright: ignore[reportReturnType]


_is_below = lru_cache(maxsize=4096)(issubclass)


def _list_under(holder: Operation, found: list[Operation]) -> None:
    # The links themselves: xDSL's properties that give them are half of the time.
    for region in holder.regions:
        block = region._first_block  # pyright: ignore[reportPrivateUsage]
        while block is not None:
            op = block._first_op  # pyright: ignore[reportPrivateUsage]
            while op is not None:
                found.append(op)
                if op.regions:
                    _list_under(op, found)
                op = op._next_op  # pyright: ignore[reportPrivateUsage]
            block = block._next_block  # pyright: ignore[reportPrivateUsage]
