"""Ops that nobody has any more are taken apart, so that Python frees them at once.

Ops, blocks, values and uses refer to one another. Left as they are, they wait for the cycle
collector, which takes some 20 us for an op; without fields they go by their reference counts, in 1.
Who still refers to one of them finds nothing in it but that it has no parent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Block, Operation, Region, SSAValue

from lamina.dialects.ir_links import detach_unused, replace_uses, take_name


def dispose(op: Operation) -> None:
    """Takes all fields from `op`, which stands nowhere, and from everything under it.

    The values that it uses go with it: their uses are not told.
    """
    _take_apart(op, _forget_uses)


def erase(op: Operation) -> None:
    """Erases `op`, wherever it stands, as `Operation.erase` does, and takes it apart.

    Raises ValueError if one of its results has a use.
    """
    detach_unused(op)
    _take_apart(op, _remove_uses)


def replace(
    op: Operation, new: Operation | Sequence[Operation], values: Sequence[SSAValue] | None = None
) -> None:
    """Puts ops in the place of one, and `values` (the results of the last) in that of its results.

    As `Rewriter.replace_op`, with `op` taken apart.
    """
    made = [new] if isinstance(new, Operation) else new
    block = op.parent
    assert block is not None
    given = made[-1].results if values is None else values
    for old, value in zip(op.results, given, strict=True):
        replace_uses(old, value)
    block.insert_ops_before(made, op)
    if op.results:
        for one in made:
            for result in one.results:
                take_name(result, op.results[0])
    erase(op)


def _take_apart(op: Operation, end_uses: Callable[[Operation], None]) -> None:
    for region in op.regions:
        _take_region_apart(region, end_uses)
    end_uses(op)
    vars(op).clear()


def _take_region_apart(region: Region, end_uses: Callable[[Operation], None]) -> None:
    # The links themselves: xDSL's properties that give them are half of the time.
    block = region._first_block  # pyright: ignore[reportPrivateUsage]
    while block is not None:
        block = _take_block_apart(block, end_uses)
    vars(region).clear()


def _take_block_apart(block: Block, end_uses: Callable[[Operation], None]) -> Block | None:
    op = block._first_op  # pyright: ignore[reportPrivateUsage]
    while op is not None:
        following = op._next_op  # pyright: ignore[reportPrivateUsage]
        _take_apart(op, end_uses)
        op = following
    next_block = block._next_block  # pyright: ignore[reportPrivateUsage]
    vars(block).clear()
    return next_block


def _forget_uses(op: Operation) -> None:
    for use in op._operand_uses:  # pyright: ignore[reportPrivateUsage]
        use._prev_use = None  # the uses of a value are a list with links both ways


def _remove_uses(op: Operation) -> None:
    uses = zip(op._operands, op._operand_uses, strict=True)  # pyright: ignore[reportPrivateUsage]
    for operand, use in uses:
        operand.remove_use(use)
