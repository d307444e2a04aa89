"""Losses, as the pointwise formula and its reduction (0 none, 1 mean, 2 sum)."""

from __future__ import annotations

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.conversion import Replacement
from lamina.lowering.tensor_types import element_of, is_float, rank_of, shape_of


def reduced(b: CoreBuilder, x: SSAValue, reduction: int) -> SSAValue:
    """`x` itself (0), its mean (1) or its sum (2)."""
    dims = list(range(rank_of(x)))
    if reduction == 0:
        return x
    return b("mean.dim" if reduction == 1 else "sum.dim_IntList", x, dims)


@lowers("mse_loss")
def mse_loss(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """(x - y)^2."""
    difference = b("sub.Tensor", op.arg("self"), op.arg("target"))
    return reduced(b, b("mul.Tensor", difference, difference), op.arg("reduction"))


@lowers("l1_loss")
def l1_loss(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """|x - y|."""
    distance = b("abs", b("sub.Tensor", op.arg("self"), op.arg("target")))
    return reduced(b, distance, op.arg("reduction"))


@lowers("smooth_l1_loss")
def smooth_l1_loss(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Squared below beta, linear above."""
    beta = op.arg("beta")
    z = b("abs", b("sub.Tensor", op.arg("self"), op.arg("target")))
    if beta == 0:
        return reduced(b, z, op.arg("reduction"))
    low = b("div.Scalar", b("mul.Tensor", b("mul.Scalar", z, 0.5), z), beta)
    loss = b("where.self", b("lt.Scalar", z, beta), low, b("sub.Scalar", z, 0.5 * beta))
    return reduced(b, loss, op.arg("reduction"))


@lowers("huber_loss")
def huber_loss(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Squared up to delta, linear above."""
    delta = op.arg("delta")
    z = b("abs", b("sub.Tensor", op.arg("self"), op.arg("target")))
    low = b("mul.Tensor", b("mul.Scalar", z, 0.5), z)
    high = b("mul.Scalar", b("sub.Scalar", z, 0.5 * delta), delta)
    loss = b("where.self", b("le.Scalar", z, delta), low, high)
    return reduced(b, loss, op.arg("reduction"))


@lowers("kl_div")
def kl_div(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """target * (log target - x), or exp(target) * (target - x) for a logarithmic target."""
    x, target = op.arg("self"), op.arg("target")
    if op.arg("log_target"):
        loss = b("mul.Tensor", b("exp", target), b("sub.Tensor", target, x))
    else:
        zero = b.full([], 0.0, element_of(target))
        product = b("mul.Tensor", target, b("log", target))
        safe = b("where.self", b("eq.Scalar", target, 0), zero, product)
        loss = b("sub.Tensor", safe, b("mul.Tensor", target, x))
    return reduced(b, loss, op.arg("reduction"))


@lowers("binary_cross_entropy")
def binary_cross_entropy(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """-(y log x + (1 - y) log(1 - x)), the logarithms not below -100."""
    x, y, weight = op.arg("self"), op.arg("target"), op.arg("weight")
    log = b("clamp", b("log", x), -100, None)
    other = b("clamp", b("log1p", b("neg", x)), -100, None)
    loss = b("sub.Tensor", b("mul.Tensor", b("sub.Scalar", y, 1), other), b("mul.Tensor", y, log))
    loss = loss if weight is None else b("mul.Tensor", loss, weight)
    return reduced(b, loss, op.arg("reduction"))


@lowers("binary_cross_entropy_with_logits")
def bce_with_logits(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """(1 - y) x - w log_sigmoid(x) with w = 1 + (pos_weight - 1) y."""
    x, y = op.arg("self"), op.arg("target")
    weight, positive = op.arg("weight"), op.arg("pos_weight")
    tail = b("log1p", b("exp", b("neg", b("abs", x))))
    log_sigmoid = b("sub.Tensor", b("clamp", x, None, 0), tail)
    if positive is not None:
        factor = b("add.Scalar", b("mul.Tensor", b("sub.Scalar", positive, 1), y), 1)
        log_sigmoid = b("mul.Tensor", factor, log_sigmoid)
    rest = b("mul.Tensor", b("add.Scalar", b("neg", y), 1), x)
    loss = b("sub.Tensor", rest, log_sigmoid)
    loss = loss if weight is None else b("mul.Tensor", loss, weight)
    return reduced(b, loss, op.arg("reduction"))


def of_samples(b: CoreBuilder, logs: SSAValue, target: SSAValue) -> SSAValue:
    """The class of each sample; that of a vector may also stand in a vector of one element."""
    return b.view(target, []) if rank_of(logs) == rank_of(target) == 1 else target


def _nll(
    b: CoreBuilder,
    logs: SSAValue,
    target: SSAValue,
    weight: SSAValue | None,
    reduction: int,
    ignore: int,
) -> tuple[SSAValue, SSAValue]:
    """(loss, total weight) of class indices; classes are dimension 1, or 0 without a batch."""
    element = element_of(logs)
    dim = 0 if rank_of(logs) == 1 else 1
    target = of_samples(b, logs, target)
    kept = b("ne.Scalar", target, ignore)
    zero = b.full([], 0.0, element)
    safe = b("where.self", kept, target, b.full([], 0, element_of(target)))
    chosen = b("gather", logs, dim, b("unsqueeze", safe, dim))
    loss = b("neg", b.view(chosen, shape_of(target)))
    counts = b.cast(kept, element)
    if weight is not None:
        per_class = b("index.Tensor", weight, [safe])
        loss, counts = b("mul.Tensor", loss, per_class), b("mul.Tensor", counts, per_class)
    loss = b("where.self", kept, loss, zero)
    dims = list(range(rank_of(loss)))
    total = b("sum.dim_IntList", counts, dims)
    if reduction == 0:
        return loss, total
    # torch takes the losses from a sum that begins at 0, so that zeros give 0 and never -0
    summed = b("add.Scalar", b("sum.dim_IntList", loss, dims), 0.0)
    return (b("div.Tensor", summed, total) if reduction == 1 else summed), total


@lowers("nll_loss", "nll_loss_nd", "nll_loss2d")
def nll_loss(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """-log probability of the target class, weighted."""
    names = ("self", "target", "weight", "reduction", "ignore_index")
    return _nll(b, *(op.arg(name) for name in names))[0]


@lowers("nll_loss_forward", "nll_loss2d_forward")
def nll_loss_forward(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """The loss and the total weight; that is 0 of samples whose losses are not reduced."""
    names = ("self", "target", "weight", "reduction", "ignore_index")
    loss, total = _nll(b, *(op.arg(name) for name in names))
    if op.arg("reduction") == 0 and rank_of(op.arg("self")) > 1:
        total = b.full([], 0.0, element_of(loss))
    return [loss, total]


@lowers("cross_entropy_loss")
def cross_entropy_loss(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """nll_loss of log_softmax; label smoothing and class probabilities as torch defines them."""
    x, target, weight = op.arg("self"), op.arg("target"), op.arg("weight")
    reduction, smoothing = op.arg("reduction"), op.arg("label_smoothing")
    dim = 0 if rank_of(x) == 1 else 1
    logs = b("_log_softmax", x, dim, False)
    if is_float(element_of(target)):
        return _probability_loss(b, logs, target, weight, reduction, smoothing, dim)
    ignore = op.arg("ignore_index")
    loss, total = _nll(b, logs, target, weight, reduction, ignore)
    if smoothing:
        smooth = _smooth_loss(b, logs, target, weight, reduction, ignore, total)
        loss = b(
            "add.Tensor",
            b("mul.Scalar", loss, 1 - smoothing),
            b("mul.Scalar", smooth, smoothing / shape_of(logs)[dim]),
        )
    return loss


def _smooth_loss(
    b: CoreBuilder,
    logs: SSAValue,
    target: SSAValue,
    weight: SSAValue | None,
    reduction: int,
    ignore: int,
    total: SSAValue,
) -> SSAValue:
    """The part of uniform targets: the sum over classes, ignored places left out."""
    dim = 0 if rank_of(logs) == 1 else 1
    if weight is not None:
        line = [1] * rank_of(logs)
        line[dim] = shape_of(logs)[dim]
        logs = b("mul.Tensor", logs, b.view(weight, line))
    loss = b("neg", b("sum.dim_IntList", logs, [dim]))
    zero = b.full([], 0.0, element_of(loss))
    loss = b("where.self", b("eq.Scalar", target, ignore), zero, loss)
    if reduction == 0:
        return loss
    summed = b("sum.dim_IntList", loss, list(range(rank_of(loss))))
    return b("div.Tensor", summed, total) if reduction == 1 else summed


def _probability_loss(
    b: CoreBuilder,
    logs: SSAValue,
    target: SSAValue,
    weight: SSAValue | None,
    reduction: int,
    smoothing: float,
    dim: int,
) -> SSAValue:
    classes = shape_of(logs)[dim]
    if smoothing:
        target = b("add.Scalar", b("mul.Scalar", target, 1 - smoothing), smoothing / classes)
    product = b("mul.Tensor", logs, target)
    if weight is not None:
        line = [1] * rank_of(logs)
        line[dim] = classes
        product = b("mul.Tensor", product, b.view(weight, line))
    loss = b("neg", b("sum.dim_IntList", product, [dim]))
    if reduction == 0:
        return loss
    summed = b("sum.dim_IntList", loss, list(range(rank_of(loss))))
    if reduction == 2:
        return summed
    count = 1
    for position, extent in enumerate(shape_of(logs)):
        count *= 1 if position == dim else extent
    return b("div.Scalar", summed, count)
