"""Element types that an op takes, where a lowering would not notice that it was given others.

Most ops need no row: the result rules of what they are lowered to say which types do not fit.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation

from lamina.lowering.tensor_types import is_bool, is_complex, is_float, is_integer
from lamina.passes.refusal import unsupported


def _is_whole(element: Attribute) -> bool:
    return is_integer(element) or is_bool(element)


def _is_inexact(element: Attribute) -> bool:
    return is_float(element) or is_complex(element)


_WHOLE = (_is_whole, "integers")
_FLOATS = (is_float, "floats")
_INEXACT = (_is_inexact, "floats or complex numbers")

ACCEPTED: dict[str, tuple[Callable[[Attribute], bool], str]] = {
    "__lshift__": _WHOLE,
    "__rshift__": _WHOLE,
    "_fused_rms_norm": _INEXACT,
    "_logcumsumexp": _INEXACT,
    "_upsample_bicubic2d_aa_backward": _FLOATS,
    "_upsample_bilinear2d_aa_backward": _FLOATS,
    "_upsample_lanczos2d_aa_backward": _FLOATS,
    "bitwise_left_shift": _WHOLE,
    "bitwise_right_shift": _WHOLE,
    "hypot": _FLOATS,
    "logcumsumexp": _INEXACT,
    "rms_norm": _INEXACT,
    "shift_left": _WHOLE,
    "shift_right_arithmetic": _WHOLE,
}
"""Which element types all tensors of an op must have, by its name without the overload, and how
they are called."""


def refuse_other_types(op: Operation) -> None:
    """Raise UnsupportedError for an operand of an element type that the op does not take."""
    row = ACCEPTED.get(op.name.split(".")[1])
    if row is None:
        return
    accepts, called = row
    for operand in op.operands:
        kind = operand.type
        if isinstance(kind, TensorType) and not accepts(kind.element_type):
            raise unsupported(op, f"does not take {kind.element_type}", called)
