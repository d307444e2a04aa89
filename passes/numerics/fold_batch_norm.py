"""`fold-batch-norm`: batch norms behind convolutions by constants become part of their weights.

With running statistics, a batch norm multiplies each channel by

    scale = weight / sqrt(running_var + eps)

and adds `bias - running_mean * scale` to it. Behind a convolution whose weight and bias are
constants, as its own parameters and statistics are,

    batch_norm(convolution(x, w, b)) = convolution(x, w * scale, (b - running_mean) * scale + bias)

All of it is computed in f64 and rounded once (`hoist-constants` makes it part of `@setup`), so that
each product and sum of the call is rounded no more often than before. Left alone are batch norms by
statistics of the batch, convolutions that others read too, transposed ones, whose channels are
spread over the weight's groups, and what comes with the call or is written by it.

Of bf16 both compute in f32 (`widen-half-floats`). The new weight is rounded to bf16, the new bias
is of f32, and what eager mode rounds between the two ops is not rounded any more. Where it is asked
to round as eager mode does, and in f16, whose range small scales would leave, they stay apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeGuard

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType, bf16, f32, f64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from lamina.dialects import core_aten
from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop.rounding import IMPLICIT, mark_implicit
from lamina.dialects.schema.op import SchemaOp
from lamina.passes.contracts.entry_attributes import constants_of

_STATISTICS = ("running_mean", "running_var")
_PARAMETERS = ("weight", "bias")


@dataclass(frozen=True)
class FoldBatchNormPass(ModulePass):
    """Fold `core_aten` batch norms of inference into the convolutions in front of them.

    With `rounding="eager"` those of half floats stay, whose result is rounded in between.
    """

    name = "fold-batch-norm"

    rounding: str = "kernel"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if not isinstance(function, func.FuncOp) or function.is_declaration:
                continue
            constants = set(constants_of(function))
            for inner in block_ops(function.body.block):
                if _is(inner, "_native_batch_norm_legit_no_training.default"):
                    convolution = _foldable_convolution(inner, constants, self.rounding)
                    if convolution is not None:
                        _fold(inner, convolution)


def _is(op: object, name: str) -> TypeGuard[SchemaOp]:
    return isinstance(op, SchemaOp) and op.name == f"core_aten.{name}"


def _foldable_convolution(
    norm: SchemaOp, constants: set[SSAValue], rounding: str
) -> SchemaOp | None:
    """The convolution that only `norm` reads, if both depend on constants but for the image."""
    between = _values_between(norm)
    if not all(value.has_one_use() for value in between):
        return None
    made = between[-1]
    convolution = made.owner
    if not _is(convolution, "convolution.default") or convolution.arg("transposed"):
        return None
    if any(r.uses for r in norm.results[1:]):
        return None
    given = [norm.arg(name) for name in (*_STATISTICS, *_PARAMETERS)]
    given += [convolution.arg(name) for name in _PARAMETERS]
    if any(value is not None and _narrow(value) not in constants for value in given):
        return None
    if made.type != norm.arg("input").type or _element(made) not in (f32, f64):
        return None
    held = _element(_narrow(convolution.arg("weight")))
    if held != _element(made) and (held != bf16 or rounding == "eager"):
        return None
    # With a positive eps the scale is finite: zero weights stay zeros.
    return convolution if norm.arg("eps") > 0 else None


def _values_between(norm: SchemaOp) -> list[SSAValue]:
    """What `norm` reads, and before that what types alone have rounded and widened to give it."""
    found = [norm.arg("input")]
    while (source := _converted(found[-1])) is not None:
        found.append(source)
    return found


def _converted(value: SSAValue) -> SSAValue | None:
    """What a conversion gives `value` from that only the types of an op ask for."""
    op = value.owner
    if not _is(op, "_to_copy.default") or IMPLICIT not in op.attributes:
        return None
    return op.arg("self")


def _narrow(value: SSAValue) -> SSAValue:
    """A constant as it is held: the half float that `value` widens, or itself."""
    held = _converted(value)
    return value if held is None else held


def _fold(norm: SchemaOp, convolution: SchemaOp) -> None:
    mean, var = (_wide(norm, norm.arg(name)) for name in _STATISTICS)
    scale = _made(norm, "rsqrt", _made(norm, "add.Scalar", var, norm.arg("eps")))
    if norm.arg("weight") is not None:
        scale = _made(norm, "mul.Tensor", scale, _wide(norm, norm.arg("weight")))
    weight = _wide(norm, convolution.arg("weight"))
    along = [-1, *[1] * (_rank(weight) - 1)]
    weight = _made(norm, "mul.Tensor", weight, _made(norm, "view", scale, along))
    bias = _made(norm, "neg", mean)
    if convolution.arg("bias") is not None:
        bias = _made(norm, "add.Tensor", bias, _wide(norm, convolution.arg("bias")))
    bias = _made(norm, "mul.Tensor", bias, scale)
    if norm.arg("bias") is not None:
        bias = _made(norm, "add.Tensor", bias, _wide(norm, norm.arg("bias")))
    element, held = _element(norm.results[0]), _element(_narrow(convolution.arg("weight")))
    weight = _made(norm, "_to_copy", weight, dtype=held)
    if held != element:
        weight = _made(norm, "_to_copy", weight, dtype=element)
        assert isinstance(weight.owner, Operation)
        mark_implicit(weight.owner)
    folded = {"weight": weight, "bias": _made(norm, "_to_copy", bias, dtype=element)}
    args = [folded.get(s.name, convolution.arg(s.name)) for s in convolution.slots.all]
    value = _made(norm, "convolution", *args)
    value.name_hint = norm.results[0].name_hint
    norm.results[0].replace_all_uses_with(value)
    for op in (norm, *(value.owner for value in _values_between(norm))):
        assert isinstance(op, Operation)
        op.detach()
        op.erase()


def _wide(norm: SchemaOp, value: SSAValue) -> SSAValue:
    value = _narrow(value)
    return value if _element(value) == f64 else _made(norm, "_to_copy", value, dtype=f64)


def _made(norm: SchemaOp, name: str, *args: Any, **named: Any) -> SSAValue:
    """The result of a new op of that overload in front of `norm`."""
    op_class: Any = core_aten.op(name if "." in name else f"{name}.default")
    made: Operation = op_class(*args, **named)
    made.location = norm.location
    assert norm.parent is not None
    norm.parent.insert_op_before(made, norm)
    return made.results[0]


def _element(value: SSAValue) -> Any:
    assert isinstance(value.type, TensorType)
    return value.type.element_type


def _rank(value: SSAValue) -> int:
    assert isinstance(value.type, TensorType)
    return len(value.type.get_shape())
