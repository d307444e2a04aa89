"""The functional form of an op that writes an argument, found by name in the table of overloads."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from lamina.dialects import aten
from lamina.dialects.schema.dialect import UnknownOpError
from lamina.dialects.schema.grammar import Schema
from lamina.dialects.schema.names import BindError, NoResultRuleError
from lamina.dialects.schema.op import SchemaOp
from lamina.passes.functionalize.filled_diagonal import filled_diagonal
from lamina.passes.functionalize.out_dtypes import (
    OPTIONS,
    check_cast,
    computes_in_target,
    dtype_of,
    in_dtype_of_target,
)
from lamina.passes.functionalize.running_statistics import (
    STATISTICS,
    updated_statistics,
    updates_statistics,
)
from lamina.passes.refusal import unsupported

_FUNCTIONAL_NAMES = {
    "_index_put_impl_": "index_put",
    "__iand__": "bitwise_and",
    "__ilshift__": "__lshift__",
    "__irshift__": "__rshift__",
    "__ior__": "bitwise_or",
    "__ixor__": "bitwise_xor",
}
"""In-place packets whose functional form is not the name without the underscore."""

_FUNCTIONAL_OVERLOADS = {
    "bernoulli_.float": "bernoulli.p",
    "float_power_.Scalar": "float_power.Tensor_Scalar",
    "float_power_.Tensor": "float_power.Tensor_Tensor",
    "floor_divide_.Tensor": "floor_divide.default",
    "ldexp_.default": "ldexp.Tensor",
    "normal.out": "normal_functional.default",
    "normal_.default": "normal_functional.default",
    "pow_.Scalar": "pow.Tensor_Scalar",
    "pow_.Tensor": "pow.Tensor_Tensor",
    "transpose_.default": "transpose.int",
}
"""Overloads whose functional form has another overload or packet."""


_WITH_OWN_RESULTS = {
    "_batch_norm_with_update.default": ("_batch_norm_with_update_functional.default", 4),
    "_native_batch_norm_legit.default": ("_native_batch_norm_legit_functional.default", 3),
    "rrelu_with_noise.default": ("rrelu_with_noise_functional.default", 1),
}
"""Overloads with results beside what they write: the form that gives both, and how many results."""


def written_arguments(op: Operation) -> list[str]:
    """Names of the arguments that the op writes."""
    if updates_statistics(op):
        return list(STATISTICS)
    return written_by(op.schema) if isinstance(op, SchemaOp) else []


def written_values(op: SchemaOp, written: list[str]) -> list[SSAValue]:
    """The tensors that the op writes, those of lists one by one."""
    values = [op.arg(name) for name in written]
    return [v for value in values for v in (value if isinstance(value, list) else [value])]


def writes_one(op: SchemaOp, written: list[str]) -> bool:
    """Whether the op writes one tensor, and that is all that it does."""
    single = len(written) == 1 and isinstance(op.arg(written[0]), SSAValue)
    return single and op.overload_name not in _WITH_OWN_RESULTS


def functional_values(
    op: SchemaOp, written: list[str]
) -> tuple[list[SSAValue], list[SSAValue | int]]:
    """New values of all written tensors, and the op's results: values, or which of the written.

    For ops that write several tensors, or have results of their own beside.
    """
    targets = written_values(op, written)
    if updates_statistics(op):
        news, results = updated_statistics(op)
        return _in_types_of(targets, news, op), list(results)
    if op.overload_name in _WITH_OWN_RESULTS:
        name, count = _WITH_OWN_RESULTS[op.overload_name]
        made = _functional_op(op, aten.op(name), targets[0])
        return _in_types_of(targets, made[count:], op), list(made[:count])
    made = _functional_op(op, functional_class(op, written), targets[0])
    if len(made) != len(targets):
        raise unsupported(op, "writes several tensors, and has no functional form that gives all")
    return _in_types_of(targets, made, op), list(range(len(op.results)))


def _functional_op(op: SchemaOp, form: type[SchemaOp], target: SSAValue) -> list[SSAValue]:
    """The results of the functional form of `op`, made in front of it.

    Computed in the dtype of the written tensor `target` where eager mode does so.
    """
    values = op.args()
    names = [argument.name for argument in form.schema.args]
    if names and names[0] not in values:  # dropout_ calls `self` what dropout calls `input`
        values = {names[0]: values[op.schema.args[0].name], **values}
    arguments = {name: values[name] for name in names if name in values}
    arguments |= in_dtype_of_target(op, form, target)
    if "output_mask" in names and "output_mask" not in values:
        arguments["output_mask"] = [True, True, True]
    made = _bound(op, form, arguments)
    if "dtype" in names and computes_in_target(op, made.results[0], target):
        made = _bound(op, form, {**arguments, "dtype": dtype_of(target)})
    made.location = op.location
    made.attributes = {**op.attributes}
    assert op.parent is not None
    op.parent.insert_op_before(made, op)
    return list(made.results)


def _bound(op: SchemaOp, form: type[SchemaOp], arguments: dict[str, Any]) -> SchemaOp:
    try:
        return form(**arguments)
    except NoResultRuleError as error:
        raise unsupported(op, f"{form.name} without out= gives no known type") from error
    except (BindError, ValueError) as error:
        raise unsupported(op, f"its functional form refuses the arguments: {error}") from error


def _in_types_of(targets: list[SSAValue], values: list[SSAValue], op: SchemaOp) -> list[SSAValue]:
    return [_in_type_of(t, v, op) for t, v in zip(targets, values, strict=True)]


def functional_value(op: SchemaOp, written: str) -> SSAValue:
    """The new value of the written argument, computed in front of `op`, in its own type."""
    name = op.name.removeprefix("aten.")
    values = op.args()
    target: SSAValue = values[written]
    if name == "copy_.default" and values["src"].type == target.type:
        return values["src"]
    if name == "fill_diagonal_.default":
        return filled_diagonal(op)
    value = _functional_op(op, functional_class(op, [written]), target)[0]
    if value.name_hint is None and op.results:
        value.name_hint = op.results[0].name_hint
    return _in_type_of(target, value, op)


def functional_class(op: SchemaOp, written: list[str]) -> type[SchemaOp]:
    """The overload that gives what `op` writes. Raises UnsupportedError if there is none."""
    name = op.overload_name
    if name in _FUNCTIONAL_OVERLOADS:
        return aten.op(_FUNCTIONAL_OVERLOADS[name])
    packet, _, overload = name.partition(".")
    if packet == "set_":
        raise unsupported(op, "makes a tensor use another's memory", "copy_")
    if packet in _FUNCTIONAL_NAMES or packet.endswith("_"):
        base = _FUNCTIONAL_NAMES.get(packet, packet.removesuffix("_"))
        try:
            return aten.op(f"{base}.{overload}")
        except UnknownOpError as error:
            raise unsupported(op, f"has no functional form {base}.{overload}") from error
    return _without_out(op, packet, written)


def _without_out(op: SchemaOp, packet: str, written: list[str]) -> type[SchemaOp]:
    """The overload of the packet that takes the same arguments but those written.

    It may take options of new tensors besides, which `out` stands for.
    """
    wanted = _signature(op.schema, set(written))
    forms = [aten.op(name) for name in aten.Aten.names if name.startswith(f"{packet}.")]
    forms = [form for form in forms if not written_by(form.schema)]
    for left_out in (frozenset(), OPTIONS, frozenset(["output_mask"])):
        for form in forms:
            if _signature(form.schema, left_out) == wanted:
                return form
    raise unsupported(op, "has no functional form in the table")


def _signature(schema: Schema, left_out: Set[str]) -> list[tuple[str, str]]:
    return [(a.name, str(a.type)) for a in schema.args if a.name not in left_out]


def view_of_change(op: SchemaOp) -> Operation:
    """The view op that an in-place change of shape (`transpose_`) amounts to, in front of `op`."""
    value = _functional_op(op, functional_class(op, ["self"]), op.arg("self"))[0]
    if op.results:
        value.name_hint = value.name_hint or op.results[0].name_hint
    assert isinstance(value.owner, Operation)
    return value.owner


def written_by(schema: Schema) -> list[str]:
    """Names of the written arguments of a schema."""
    return [a.name for a in schema.args if a.mutated]


def _in_type_of(target: SSAValue, value: SSAValue, op: Operation) -> SSAValue:
    """An in-place result has the target's dtype and shape."""
    if value.type == target.type:
        return value
    assert isinstance(target.type, TensorType) and isinstance(value.type, TensorType)
    assert op.parent is not None
    element = target.type.get_element_type()
    if value.type.get_element_type() != element:
        check_cast(op, value.type.get_element_type(), element)
        cast = aten.op("_to_copy.default")(value, dtype=element)
        cast.location = op.location
        op.parent.insert_op_before(cast, op)
        value = cast.results[0]
    if value.type != target.type:
        reason = f"its functional form gives {value.type} for a tensor of type {target.type}"
        raise unsupported(op, reason)
    return value
