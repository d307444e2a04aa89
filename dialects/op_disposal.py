"""Ops that nobody has any more are taken apart, so that Python frees them at once."""

from __future__ import annotations

from xdsl.ir import Operation


def dispose(op: Operation) -> None:
    """Takes all fields from `op`, which stands nowhere, and from everything under it.

    Ops, blocks, values and uses refer to one another. Left as they are, they wait for the cycle
    collector, which takes some 20 us for an op; without fields they go by their reference counts,
    in 1. Who still refers to one of them finds nothing in it.
    """
    # The links themselves: xDSL's properties that give them are half of the time.
    for region in op.regions:
        block = region._first_block  # pyright: ignore[reportPrivateUsage]
        while block is not None:
            inner = block._first_op  # pyright: ignore[reportPrivateUsage]
            while inner is not None:
                following = inner._next_op  # pyright: ignore[reportPrivateUsage]
                if inner.regions:
                    dispose(inner)
                else:
                    _clear(inner)
                inner = following
            next_block = block._next_block  # pyright: ignore[reportPrivateUsage]
            vars(block).clear()
            block = next_block
        vars(region).clear()
    _clear(op)


def _clear(op: Operation) -> None:
    for use in op._operand_uses:  # pyright: ignore[reportPrivateUsage]
        use._prev_use = None  # the uses of a value are a list with links both ways
    vars(op).clear()
