"""Verifying an op alone, without the views through which xDSL looks at operands and blocks."""

from __future__ import annotations

from xdsl.ir import ErasedSSAValue, Operation
from xdsl.utils.exceptions import VerifyException

# pyright: reportPrivateUsage=false


def verify_alone(op: Operation) -> None:
    """`Operation.verify(op, verify_nested_ops=False)`.

    Of an op that others follow, and that has no successors, that asks for operands that were
    erased, and for the op's own verifier.
    """
    block = op.parent
    follows = block is not None and block._last_op is not op
    if not follows or op._successors or ErasedSSAValue in map(type, op._operands):
        Operation.verify(op, verify_nested_ops=False)
        return
    try:
        op.verify_()
    except VerifyException as error:
        op.emit_error(f"Operation does not verify: {error}", error)
