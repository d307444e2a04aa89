"""`fold-batch-norm`: batch norms behind convolutions by constants become part of their weights.

With running statistics, a batch norm multiplies each channel by

    scale = weight / sqrt(running_var + eps)

and adds `bias - running_mean * scale` to it. Behind a convolution whose weight and bias are
constants, as its own parameters and statistics are,

    batch_norm(convolution(x, w, b)) = convolution(x, w * scale, (b - running_mean) * scale + bias)

All of it is computed in f64 and rounded once (`hoist-constants` makes it part of `@setup`), so that
each product and sum of the call is rounded no more often than before. Scale, weight and bias are a
nest each, what fusion would make of some fifteen ops: there are as many norms as convolutions, and
each pass behind would go through all of their ops.

Left alone are batch norms by statistics of the batch, convolutions that others read too, transposed
ones, whose channels are spread over the weight's groups, and what comes with the call or is written
by it.

Of bf16 both compute in f32 (`widen-half-floats`). The new weight is rounded to bf16, the new bias
is of f32, and what eager mode rounds between the two ops is not rounded any more. Where it is asked
to round as eager mode does, and in f16, whose range small scales would leave, they stay apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from xdsl.context import Context
from xdsl.dialects import arith, func, math
from xdsl.dialects.builtin import ModuleOp, TensorType, bf16, f32, f64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from lamina.dialects import core_aten
from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop.access import shape_of
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.rounding import IMPLICIT, mark_implicit
from lamina.dialects.loop.scalar_ops import binary_op
from lamina.dialects.schema.op import SchemaOp
from lamina.dialects.schema.result_rules.shapes import tensor
from lamina.passes.contracts.entry_attributes import constants_of
from lamina.passes.loop.stored_nest import NestBody, stored_nest

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
    scale = _scale(norm)
    weight, bias = _weight(norm, convolution, scale), _bias(norm, convolution, scale)
    element = _element(norm.results[0])
    if _element(weight) != element:
        weight = _made(norm, "_to_copy", weight, dtype=element)
        assert isinstance(weight.owner, Operation)
        mark_implicit(weight.owner)
    folded = {"weight": weight, "bias": bias}
    args = [folded.get(s.name, convolution.arg(s.name)) for s in convolution.slots.all]
    value = _made(norm, "convolution", *args)
    value.name_hint = norm.results[0].name_hint
    norm.results[0].replace_all_uses_with(value)
    for op in (norm, *(value.owner for value in _values_between(norm))):
        assert isinstance(op, Operation)
        op.detach()
        op.erase()


def _scale(norm: SchemaOp) -> SSAValue:
    """What each channel is multiplied by, in f64: [channels]."""
    names = [name for name in ("running_var", "weight") if norm.arg(name) is not None]
    body, (var, *weight) = _reading([_narrow(norm.arg(name)) for name in names])
    value = body.add(binary_op(arith.AddfOp, var, body.number(norm.arg("eps"))))
    value = body.add(math.RsqrtOp(value))
    for factor in weight:
        value = body.add(binary_op(arith.MulfOp, value, factor))
    return _stored(norm, body, value, f64)


def _weight(norm: SchemaOp, convolution: SchemaOp, scale: SSAValue) -> SSAValue:
    """The weight, each of its channels by `scale`, in the type in which it is held."""
    weight = _narrow(convolution.arg("weight"))
    body, (factor, value) = _reading([scale, weight])
    value = body.add(binary_op(arith.MulfOp, value, factor))
    return _stored(norm, body, value, _element(weight))


def _bias(norm: SchemaOp, convolution: SchemaOp, scale: SSAValue) -> SSAValue:
    """(bias of the convolution - mean) * scale + bias, in the type of the result: [channels]."""
    before, behind = convolution.arg("bias"), norm.arg("bias")
    held = [_narrow(v) for v in (norm.arg("running_mean"), before, behind) if v is not None]
    body, (factor, mean, *biases) = _reading([scale, *held])
    value = body.add(arith.NegfOp(mean))
    if before is not None:
        value = body.add(binary_op(arith.AddfOp, value, biases[0]))
    value = body.add(binary_op(arith.MulfOp, value, factor))
    if behind is not None:
        value = body.add(binary_op(arith.AddfOp, value, biases[-1]))
    return _stored(norm, body, value, _element(norm.results[0]))


class _Body(NestBody):
    """A body that computes in f64 from tensors with channels in front."""

    def __init__(self, read: Sequence[SSAValue]) -> None:
        super().__init__([_element(value) for value in read], f64)
        self.read = read


def _reading(read: Sequence[SSAValue]) -> tuple[_Body, list[SSAValue]]:
    """A body that reads these tensors, and their elements in f64."""
    body = _Body(read)
    return body, [body.widened(arg) for arg in reversed(body.block.args)][::-1]


def _stored(norm: SchemaOp, body: _Body, value: SSAValue, element: Attribute) -> SSAValue:
    """The tensor of `value`, rounded to `element`, at each place of the last that is read."""
    extents = shape_of(body.read[-1])
    places = tuple(Linear.dim(d) for d in range(len(extents)))
    reads = [(read, places[: _rank(read)]) for read in body.read]
    region = body.region(body.rounded(value, element))
    kind = tensor(extents, element)
    nest = stored_nest(norm, "folded_norm", extents, reads, kind, region)
    return _inserted(norm, nest)


def _made(norm: SchemaOp, name: str, *args: Any, **named: Any) -> SSAValue:
    """The result of a new op of that overload in front of `norm`."""
    op_class: Any = core_aten.op(f"{name}.default")
    made: Operation = op_class(*args, **named)
    made.location = norm.location
    return _inserted(norm, made)


def _inserted(norm: SchemaOp, made: Operation) -> SSAValue:
    assert norm.parent is not None
    norm.parent.insert_op_before(made, norm)
    return made.results[0]


def _element(value: SSAValue) -> Any:
    assert isinstance(value.type, TensorType)
    return value.type.element_type


def _rank(value: SSAValue) -> int:
    assert isinstance(value.type, TensorType)
    return len(value.type.get_shape())
