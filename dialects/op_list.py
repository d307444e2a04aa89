"""All ops of a program in one list."""

from __future__ import annotations

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


def _list_under(holder: Operation, found: list[Operation]) -> None:
    for region in holder.regions:
        for block in region.blocks:
            op = block.first_op
            while op is not None:
                found.append(op)
                if op.regions:
                    _list_under(op, found)
                op = op.next_op
