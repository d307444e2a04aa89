"""Losses that compare scores with a margin, and likelihoods of simple distributions."""

from __future__ import annotations

from math import pi

from xdsl.dialects.builtin import f32, i64
from xdsl.ir import SSAValue

from lamina.dialects.loop.rounding import is_half
from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.loss import reduced
from lamina.lowering.aten_to_core_aten.reduction import vector_norm
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.conversion import Replacement
from lamina.lowering.tensor_types import element_of, rank_of, shape_of

COSINE_EPSILON = 1e-12
"""Of `cosine_embedding_loss`, added to both squared lengths (torch's ATen/native/Loss.cpp)."""


@lowers("margin_ranking_loss")
def margin_ranking_loss(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """max(0, -y (x1 - x2) + margin)."""
    difference = b("sub.Tensor", op.arg("input1"), op.arg("input2"))
    score = b("mul.Tensor", b("neg", op.arg("target")), difference)
    loss = b("clamp", b("add.Scalar", score, op.arg("margin")), 0, None)
    return reduced(b, loss, op.arg("reduction"))


@lowers("hinge_embedding_loss")
def hinge_embedding_loss(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """x where y = 1, max(0, margin - x) where y = -1, both elsewhere."""
    x, y = op.arg("self"), op.arg("target")
    zero = b.full([], 0, element_of(x))
    hinge = b("clamp", b("add.Scalar", b("neg", x), op.arg("margin")), 0, None)
    first = b("where.self", b("ne.Scalar", y, 1), hinge, zero)
    second = b("where.self", b("ne.Scalar", y, -1), x, zero)
    return reduced(b, b("add.Tensor", first, second), op.arg("reduction"))


@lowers("cosine_embedding_loss")
def cosine_embedding_loss(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """1 - cos where y = 1, max(0, cos - margin) where y = -1."""
    x, z, y = op.arg("input1"), op.arg("input2"), op.arg("target")
    dim = [rank_of(y)]
    product, first, second = (
        b("sum.dim_IntList", b("mul.Tensor", one, other), dim)
        for one, other in ((x, z), (x, x), (z, z))
    )
    lengths = b(
        "mul.Tensor",
        b("add.Scalar", first, COSINE_EPSILON),
        b("add.Scalar", second, COSINE_EPSILON),
    )
    cosine = b("div.Tensor", product, b("sqrt", lengths))
    zero = b.full([], 0.0, element_of(cosine))
    near = b("add.Scalar", b("neg", cosine), 1)
    far = b("clamp", b("sub.Scalar", cosine, op.arg("margin")), 0, None)
    loss = b(
        "add.Tensor",
        b("where.self", b("eq.Scalar", y, 1), near, zero),
        b("where.self", b("eq.Scalar", y, -1), far, zero),
    )
    return reduced(b, loss, op.arg("reduction"))


@lowers("soft_margin_loss")
def soft_margin_loss(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """log(1 + exp(-x y)); of half floats the exponential is rounded, and may be infinite."""
    element = element_of(op.results[0])
    x, y = op.arg("self"), op.arg("target")
    if not is_half(element):
        grown = b("exp", b("mul.Tensor", b("neg", x), y))
        return reduced(b, b("log1p", grown), op.arg("reduction"))
    product = b("mul.Tensor", b("neg", b.cast(x, f32)), b.cast(y, f32))
    grown = b.cast(b.cast(b("exp", product), element), f32)
    return b.cast(reduced(b, b("log1p", grown), op.arg("reduction")), element)


@lowers("poisson_nll_loss")
def poisson_nll_loss(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """exp(x) - y x, or x - y log(x + eps); Stirling's term where y > 1."""
    x, y = op.arg("input"), op.arg("target")
    if op.arg("log_input"):
        loss = b("sub.Tensor", b("exp", x), b("mul.Tensor", y, x))
    else:
        log = b("log", b("add.Scalar", x, op.arg("eps")))
        loss = b("sub.Tensor", x, b("mul.Tensor", y, log))
    if op.arg("full"):
        rest = b("mul.Scalar", b("log", b("mul.Scalar", y, 2 * pi)), 0.5)
        stirling = b("add.Tensor", b("sub.Tensor", b("mul.Tensor", y, b("log", y)), y), rest)
        zero = b.full([], 0.0, element_of(stirling))
        small = b("le.Scalar", y, 1)
        loss = b("add.Tensor", loss, b("where.self", small, zero, stirling))
    return reduced(b, loss, op.arg("reduction"))


def _distance(b: CoreBuilder, x: SSAValue, y: SSAValue, p: float, eps: float) -> SSAValue:
    """`pairwise_distance`: the norm of x - y + eps along the last dimension."""
    gap = b("add.Scalar", b("sub.Tensor", x, y), eps)
    return vector_norm(b, gap, p, [rank_of(gap) - 1], False)


@lowers("triplet_margin_loss")
def triplet_margin_loss(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """max(0, margin + d(a, p) - d(a, n)); with `swap` the smaller of d(a, n) and d(p, n)."""
    anchor, positive, negative = op.arg("anchor"), op.arg("positive"), op.arg("negative")
    p, eps = op.arg("p"), op.arg("eps")
    near = _distance(b, anchor, positive, p, eps)
    far = _distance(b, anchor, negative, p, eps)
    if op.arg("swap"):
        far = b("minimum", far, _distance(b, positive, negative, p, eps))
    gap = b("sub.Tensor", b("add.Scalar", near, op.arg("margin")), far)
    return reduced(b, b("clamp", gap, 0, None), op.arg("reduction"))


def rows(b: CoreBuilder, x: SSAValue) -> SSAValue:
    """Without a batch, a batch of one."""
    return b.view(x, [1] * (2 - rank_of(x)) + shape_of(x))


@lowers("multi_margin_loss")
def multi_margin_loss(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Mean over the classes i other than y of max(0, margin - x[y] + x[i]) ^ p, weighted by y."""
    x, weight = rows(b, op.arg("self")), op.arg("weight")
    batch, classes = shape_of(x)
    target = b.view(op.arg("target"), [batch, 1])
    gap = b("sub.Tensor", x, b("gather", x, 1, target))
    loss = b("clamp", b("add.Scalar", gap, op.arg("margin")), 0, None)
    if op.arg("p") == 2:
        loss = b("mul.Tensor", loss, loss)
    if weight is not None:
        loss = b("mul.Tensor", loss, b("index.Tensor", weight, [target]))
    line = b("arange.start_step", 0, classes, 1, dtype=i64)
    own = b("eq.Tensor", line, target)
    loss = b("where.self", own, b.full([], 0.0, element_of(loss)), loss)
    summed = b("div.Scalar", b("sum.dim_IntList", loss, [1]), classes)
    result = reduced(b, summed, op.arg("reduction"))
    return b.view(result, shape_of(op.results[0]))


@lowers("multilabel_margin_loss", "multilabel_margin_loss_forward")
def multilabel_margin_loss(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """Mean over classes i that are no target, summed over targets j, of max(0, 1 - x[j] + x[i]).

    Targets of a row end at its first -1. The forward form also says which classes are targets.
    """
    x, target = rows(b, op.arg("self")), rows(b, op.arg("target"))
    batch, classes = shape_of(x)
    ended = b.cast(b("lt.Scalar", target, 0), i64)
    valid = b("eq.Scalar", b("cumsum", ended, 1), 0)
    safe = b("where.self", valid, target, b.full([], 0, i64))
    line = b("arange.start_step", 0, classes, 1, dtype=i64)
    hits = b("logical_and", b("eq.Tensor", b("unsqueeze", safe, 2), line), b("unsqueeze", valid, 2))
    is_target = b("any.dim", hits, 1)
    others = b.view(b("logical_not", is_target), [batch, 1, classes])
    chosen = b("unsqueeze", b("gather", x, 1, safe), 2)
    gap = b("add.Scalar", b("sub.Tensor", b("unsqueeze", x, 1), chosen), 1)
    counted = b("logical_and", b("unsqueeze", valid, 2), others)
    zero = b.full([], 0.0, element_of(x))
    loss = b("where.self", counted, b("clamp", gap, 0, None), zero)
    summed = b("div.Scalar", b("sum.dim_IntList", loss, [1, 2]), classes)
    result = reduced(b, summed, op.arg("reduction"))
    made = b.view(result, shape_of(op.results[0]))
    if len(op.results) == 1:
        return made
    marks = b.view(is_target, shape_of(op.arg("target")))
    return [made, b.cast(marks, element_of(op.results[1]))]
