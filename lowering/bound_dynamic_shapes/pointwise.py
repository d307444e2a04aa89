"""Pointwise ops: they run on padding too, once sizes agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from lamina.dialects import aten
from lamina.dialects.elementwise import FUNCTIONS
from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.standing_apart import in_groups, standing_apart
from lamina.lowering.bound_dynamic_shapes.table import TAKE_GROUPS, bounds, takes_groups
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Grouped
from lamina.lowering.tensor_types import element_of, is_float, is_integer

_DIVISIONS = frozenset(
    {"floor_divide"}.union(*(FUNCTIONS[name].packets for name in ("div", "fmod", "remainder")))
)


def aligned(tensors: Sequence[Bounded], b: BoundBuilder) -> list[Bounded]:
    """The same tensors with one rank, and with equal bounds where two sizes must be equal."""
    first, *others = tensors
    if all(one.sizes == first.sizes and one.shape == first.shape for one in others):
        return list(tensors)
    rank = max(tensor.rank for tensor in tensors)
    found = [_raised(tensor, rank, b) for tensor in tensors]
    for dim in range(rank):
        found = aligned_at(dim, found, b)
    return found


def _raised(tensor: Bounded, rank: int, b: BoundBuilder) -> Bounded:
    missing = rank - tensor.rank
    if not missing:
        return tensor
    value = b.reshape(tensor.value, [*([1] * missing), *tensor.shape])
    return Bounded(value, (*([None] * missing), *tensor.sizes))


def aligned_at(dim: int, tensors: list[Bounded], b: BoundBuilder) -> list[Bounded]:
    """Equal sizes at one dimension, where they are not 1."""
    dynamic = [tensor for tensor in tensors if tensor.sizes[dim] is not None]
    if not dynamic:
        return tensors
    fixed = [t.shape[dim] for t in tensors if t.sizes[dim] is None and t.shape[dim] != 1]
    if fixed:
        return [b.static_size(t, dim, fixed[0]) if t.sizes[dim] is not None else t for t in tensors]
    first = dynamic[0]
    extent = min(tensor.shape[dim] for tensor in dynamic)
    found: list[Bounded] = []
    for tensor in tensors:
        if tensor.sizes[dim] is not None:
            message = f"sizes at dimension {dim} differ"
            b.require_equal(b.size(first, dim), b.size(tensor, dim), message)
            sizes = (*tensor.sizes[:dim], first.sizes[dim], *tensor.sizes[dim + 1 :])
            tensor = Bounded(b.slice(tensor.value, dim, 0, extent), sizes)
        found.append(tensor)
    return found


def common_sizes(tensors: Sequence[Bounded]) -> tuple[SSAValue | None, ...]:
    """The sizes of what aligned tensors broadcast to."""
    return tuple(
        next((size for size in sizes if size is not None), None)
        for sizes in zip(*(tensor.sizes for tensor in tensors), strict=True)
    )


def pointwise(op: SchemaOp, b: BoundBuilder) -> Sequence[Bounded | Grouped]:
    """The op on padded tensors, whose dimensions may stand in groups."""
    if not any(operand in b.state.grouped for operand in op.operands):
        return _pointwise(op, b)
    with standing_apart(op, b) as groups:
        return [in_groups(made, groups) for made in _pointwise(op, b)]


TAKE_GROUPS.add(pointwise)


def _pointwise(op: SchemaOp, b: BoundBuilder) -> list[Bounded]:
    """The op on padded tensors; divisors are made 1 in the padding, where integers would trap."""
    if op.takes_single_tensors and not _divides(op):
        tensors = aligned([b.tensor(operand) for operand in op.operands], b)
        made = b.insert(op.on([tensor.value for tensor in tensors]))
        return [Bounded(result, common_sizes(tensors)) for result in made.results]
    name, arguments = _with_tensors_for_numbers(op, op.args(), b)
    operands = {
        key: value if isinstance(value, Bounded) else b.tensor(value)
        for key, value in arguments.items()
        if _is_tensor(value) or isinstance(value, Bounded)
    }
    ready = dict(zip(operands, aligned(list(operands.values()), b), strict=True))
    sizes = common_sizes(list(ready.values()))
    given = {**arguments, **{k: _safe(op, k, v, b) for k, v in ready.items()}}
    results = b.op(name, **given).results
    return [Bounded(result, sizes) for result in results]


def _is_tensor(value: Any) -> bool:
    return isinstance(value, SSAValue) and isinstance(value.type, TensorType)


def _safe(op: SchemaOp, name: str, tensor: Bounded, b: BoundBuilder) -> SSAValue:
    if name == "other" and _divides(op) and is_integer(element_of(tensor.value)):
        return b.filled(tensor, 1)
    return tensor.value


def _divides(op: SchemaOp) -> bool:
    return op.overload_name.partition(".")[0] in _DIVISIONS


_FORMS = {
    "clamp_min.default": "clamp_min.Tensor",
    "clamp_max.default": "clamp_max.Tensor",
    "pow.Scalar": "pow.Tensor_Tensor",
    "xlogy.Scalar_Other": "xlogy.Tensor",
    "xlogy.Scalar_Self": "xlogy.Tensor",
}
"""Forms with tensors, of ops whose form's name does not follow from theirs."""

_TENSOR_FORMS = {
    "Scalar": "Tensor",
    "Scalar_mode": "Tensor_mode",
    "Tensor_Scalar": "Tensor_Tensor",
    "ScalarOther": "self",
    "ScalarSelf": "self",
}


def _with_tensors_for_numbers(
    op: SchemaOp, arguments: dict[str, Any], b: BoundBuilder
) -> tuple[str, dict[str, Any]]:
    """The overload and arguments with a 0-d tensor for each number known only at run time.

    A 0-d tensor promotes like a number, but that it brings f64 into a result whose other operands
    are integers: so a float number is made of the result's type.
    """
    name = op.overload_name
    numbers = {k: v for k, v in arguments.items() if isinstance(v, SSAValue) and not _is_tensor(v)}
    if not numbers:
        return name, arguments
    packet, _, overload = name.partition(".")
    form = _FORMS.get(name) or f"{packet}.{_TENSOR_FORMS.get(overload, overload)}"
    if form == name or aten.Aten.find(form) is None:
        if packet == "rsub":
            reversed_arguments = dict(arguments)
            reversed_arguments["self"] = arguments["other"]
            reversed_arguments["other"] = arguments["self"]
            return _numbers_made("sub.Tensor", op, reversed_arguments, b)
        raise b.refuse("a number that depends on data is no argument of its pointwise form")
    return _numbers_made(form, op, arguments, b)


def _numbers_made(
    form: str, op: SchemaOp, arguments: dict[str, Any], b: BoundBuilder
) -> tuple[str, dict[str, Any]]:
    result = op.results[0].type
    assert isinstance(result, TensorType)
    made = dict(arguments)
    for key, value in arguments.items():
        if isinstance(value, SSAValue) and not _is_tensor(value):
            element = value.type
            if is_float(result.element_type) and is_float(element):
                element = result.element_type
            made[key] = Bounded(b.as_tensor(b.number(value), element), ())
    accepted = {argument.name for argument in aten.op(form).schema.args}
    return form, {key: value for key, value in made.items() if key in accepted}


@takes_groups
@bounds(
    "_to_copy",
    "to.dtype",
    "to.device",
    "to.dtype_layout",
    "to.other",
    "type_as",
    "clone",
    "contiguous",
    "detach",
    "alias",
    "lift",
    "lift_fresh",
    "lift_fresh_copy",
    "dropout",
    "alpha_dropout",
    "feature_dropout",
    "native_dropout",
    "zeros_like",
    "ones_like",
    "full_like",
    "empty_like",
    "rand_like",
    "randn_like",
    "masked_fill.Tensor",
    "log_sigmoid",
    "logsigmoid",
    "softsign",
    "tanhshrink",
    "isreal",
    "isclose",
    "where.ScalarOther",
    "where.ScalarSelf",
    "where.Scalar",
    "floor_divide",
    "floor_divide.Scalar",
    "real",
    "imag",
    "conj",
    "resolve_conj",
    "resolve_neg",
    "fill.Scalar",
    "fill.Tensor",
    "zero",
    "copy",
    "special_xlogy",
    "special_round",
    "special_ndtr",
    "special_expit",
    "_prelu_kernel",
    "_prelu_kernel_backward",
    "absolute",
    "arctan2",
    "complex",
    "divide.Scalar",
    "divide.Tensor",
    "elu_backward",
    "greater.Scalar",
    "greater.Tensor",
    "greater_equal.Scalar",
    "greater_equal.Tensor",
    "hardshrink_backward",
    "hardsigmoid_backward",
    "hardswish",
    "hardswish_backward",
    "hardtanh_backward",
    "leaky_relu_backward",
    "log_sigmoid_backward",
    "log_sigmoid_forward",
    "less.Scalar",
    "less.Tensor",
    "less_equal.Scalar",
    "less_equal.Tensor",
    "mish_backward",
    "multiply.Scalar",
    "multiply.Tensor",
    "negative",
    "not_equal.Scalar",
    "not_equal.Tensor",
    "polar",
    "softplus_backward",
    "softshrink_backward",
    "subtract.Scalar",
    "subtract.Tensor",
)
def untagged(op: SchemaOp, b: BoundBuilder) -> Sequence[Bounded | Grouped]:
    """Ops that are pointwise without torch's tag."""
    return pointwise(op, b)
