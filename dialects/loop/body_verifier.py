"""Verifying the ops of a body, of which many are equal but for their operands."""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.ir import ErasedSSAValue, Operation, Region

from lamina.dialects.loop.body_ops import YieldOp

_SCALAR_OPS = ("arith.", "math.")
_MOST = 4096
_verified: set[Hashable] = set()


def verify_body(body: Region) -> None:
    """As `body.verify()`, which checks every op against its definition at 20 us each.

    What is wrong with an op of `arith` or `math` shows in its types and properties: those that
    have been seen with an op of the class need no second look.
    """
    for block in body.blocks:
        if block.parent is not body:
            raise ValueError("a block names another region as its parent")
        for op in block.ops:
            if op.parent is not block:
                raise ValueError(f"{op.name} names another block as its parent")
            if type(op) is YieldOp:
                if op is not block.last_op or op.results or op.properties or op.regions:
                    op.verify()
            elif not op.name.startswith(_SCALAR_OPS) or op.regions or op.successor_uses:
                op.verify()
            else:
                _verify_scalar_op(op)


def _verify_scalar_op(op: Operation) -> None:
    key = (
        type(op),
        tuple([value.type for value in op.operands]),
        tuple([value.type for value in op.results]),
        *op.properties.items(),
    )
    erased = any(isinstance(value, ErasedSSAValue) for value in op.operands)
    if key in _verified and not erased and op.next_op is not None:
        return
    op.verify()
    if len(_verified) >= _MOST:
        _verified.clear()
    _verified.add(key)
