"""Ops that compute the size of their result: the size in front of them, as a number."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ArrayAttr, TensorType, i64
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from lamina.dialects import aten
from lamina.dialects.schema.op import SchemaOp
from lamina.dialects.sizes import Range, SizeAttr
from lamina.lowering.bound_dynamic_shapes.limits import LIMITS
from lamina.lowering.conversion import Builder
from lamina.lowering.tensor_types import normalized
from lamina.passes.contracts.argument_sizes import DIMS

if TYPE_CHECKING:
    from lamina.lowering.stages.size_names import SizeNames

Explicit = Callable[[SchemaOp, Builder], SSAValue]
"""Makes what the size of an op's result is, as a 0-d tensor of i64."""

WithSize = Callable[[SchemaOp, SSAValue, Builder], Operation]
"""Makes an op for a size that is a number; gives the first op that takes it."""


def _sum_of_repeats(op: SchemaOp, b: Builder) -> SSAValue:
    """Of `repeat_interleave`; one number of repeats is for all elements."""
    repeats: SSAValue = op.arg("repeats")
    total = b("sum.default", repeats, dtype=i64)
    kind: Any = repeats.type
    if not op.overload_name.endswith("self_Tensor") or list(kind.get_shape()) not in ([], [1]):
        return total
    value: SSAValue = op.arg("self")
    whole: Any = value.type
    dim = op.arg("dim")
    if dim is None:
        count = b.op("sym_numel.default", value, result_types=[i64]).results[0]
    else:
        place = normalized(dim, whole.get_num_dims())
        count = b.op("sym_size.int", value, place, result_types=[i64]).results[0]
    return b("mul.Tensor", total, b("scalar_tensor.default", count, dtype=i64))


def _repeat_interleave(op: SchemaOp, size: SSAValue, b: Builder) -> Operation:
    kinds = [result.type for result in op.results]
    made = b.insert(type(op)(**{**op.args(), "output_size": size}, result_types=kinds))
    Rewriter.replace_op(op, [], made.results)
    return made


def _largest_and_one(op: SchemaOp, b: Builder) -> SSAValue:
    """Of `bincount`; none of the numbers is negative."""
    numbers = b("_to_copy.default", op.arg("self"), dtype=i64)
    extremes = [
        b(f"{name}.default", b("cat.default", [numbers, b("full.default", [1], n, dtype=i64)]), [0])
        for name, n in (("amin", 0), ("amax", -1))
    ]
    holds = b("ge.Scalar", extremes[0], 0)
    b.op("_assert_async.msg", holds, f"{op.name}: a number is negative")
    return b("clamp_min.default", b("add.Scalar", extremes[1], 1), op.arg("minlength"))


def _bincount(op: SchemaOp, size: SSAValue, b: Builder) -> Operation:
    kind: Any = op.results[0].type
    weights = op.arg("weights")
    room = b.op("zeros.default", [size], dtype=kind.element_type)
    places = b("_to_copy.default", op.arg("self"), dtype=i64)
    added = (
        b("ones_like.default", places, dtype=kind.element_type)
        if weights is None
        else b("_to_copy.default", weights, dtype=kind.element_type)
    )
    made = b("scatter_add.default", room.results[0], 0, places, added)
    Rewriter.replace_op(op, [], [made])
    return room


EXPLICIT: dict[str, tuple[Explicit, WithSize]] = {
    "bincount.default": (_largest_and_one, _bincount),
    "repeat_interleave.Tensor": (_sum_of_repeats, _repeat_interleave),
    "repeat_interleave.self_Tensor": (_sum_of_repeats, _repeat_interleave),
}
"""By overload: what the size of the result is, and the op for that."""


def with_explicit_size(op: Operation, names: SizeNames) -> Operation:
    """An op in whose place the size of its result is a number made in front of it; else itself."""
    if not isinstance(op, SchemaOp) or op.overload_name not in EXPLICIT:
        return op
    values = op.args()
    is_known = all(isinstance(r.type, TensorType) and r.type.has_static_shape() for r in op.results)
    if is_known or values.get("output_size") is not None or LIMITS in op.attributes:
        return op
    if isinstance(values.get("minlength"), SSAValue):
        return op
    size_of, with_size = EXPLICIT[op.overload_name]
    attributes = dict(op.attributes)
    b = Builder(op, aten.op)
    number = b.op("item.default", size_of(op, b), result_types=[i64])
    number.attributes[DIMS] = ArrayAttr([SizeAttr(names.fresh(Range()))])
    made = with_size(op, number.results[0], b)
    made.attributes = attributes
    return made
