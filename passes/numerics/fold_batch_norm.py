"""`fold-batch-norm`: batch norms behind convolutions by constants become part of their weights.

With running statistics, a batch norm multiplies each channel by

    scale = weight / sqrt(running_var + eps)

and adds `bias - running_mean * scale` to it. Behind a convolution whose weight and bias are
constants, as its own parameters and statistics are,

    batch_norm(convolution(x, w, b)) = convolution(x, w * scale, (b - running_mean) * scale + bias)

All of it is computed in f64 and rounded once (`hoist-constants` makes it part of `@setup`), so that
each product and sum of the call is rounded no more often than before. Left alone are batch norms by
statistics of the batch, convolutions that others read too, transposed ones, whose channels are
spread over the weight's groups, what comes with the call or is written by it, and half floats,
whose weights would be rounded a second time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeGuard

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType, f32, f64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from lamina.dialects import core_aten
from lamina.dialects.schema.op import SchemaOp
from lamina.passes.contracts.entry_attributes import constants_of

_STATISTICS = ("running_mean", "running_var")
_PARAMETERS = ("weight", "bias")


@dataclass(frozen=True)
class FoldBatchNormPass(ModulePass):
    """Fold `core_aten` batch norms of inference into the convolutions in front of them."""

    name = "fold-batch-norm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if not isinstance(function, func.FuncOp) or function.is_declaration:
                continue
            constants = set(constants_of(function))
            for inner in list(function.body.block.ops):
                if _is(inner, "_native_batch_norm_legit_no_training.default"):
                    convolution = _foldable_convolution(inner, constants)
                    if convolution is not None:
                        _fold(inner, convolution)


def _is(op: object, name: str) -> TypeGuard[SchemaOp]:
    return isinstance(op, SchemaOp) and op.name == f"core_aten.{name}"


def _foldable_convolution(norm: SchemaOp, constants: set[SSAValue]) -> SchemaOp | None:
    """The convolution that only `norm` reads, if both depend on constants but for the image."""
    made = norm.arg("input")
    convolution = made.owner
    if not _is(convolution, "convolution.default") or convolution.arg("transposed"):
        return None
    if len(list(made.uses)) > 1 or any(r.uses for r in norm.results[1:]):
        return None
    given = [norm.arg(name) for name in (*_STATISTICS, *_PARAMETERS)]
    given += [convolution.arg(name) for name in _PARAMETERS]
    if any(value is not None and value not in constants for value in given):
        return None
    # With a positive eps the scale is finite: zero weights stay zeros.
    return convolution if norm.arg("eps") > 0 and _element(made) in (f32, f64) else None


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
    element = _element(norm.results[0])
    folded = {
        "weight": _made(norm, "_to_copy", weight, dtype=element),
        "bias": _made(norm, "_to_copy", bias, dtype=element),
    }
    args = [folded.get(s.name, convolution.arg(s.name)) for s in convolution.slots.all]
    value = _made(norm, "convolution", *args)
    value.name_hint = norm.results[0].name_hint
    norm.results[0].replace_all_uses_with(value)
    norm.detach()
    norm.erase()
    convolution.detach()
    convolution.erase()


def _wide(norm: SchemaOp, value: SSAValue) -> SSAValue:
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
