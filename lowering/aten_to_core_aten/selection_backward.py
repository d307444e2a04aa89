"""Gradients of ops that pick elements: the gradient goes where the element came from."""

from __future__ import annotations

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, composed, lowers
from lamina.lowering.tensor_types import element_of, normalized, numel, shape_of


def _zeros(b: CoreBuilder, grad: SSAValue, shape: list[int]) -> SSAValue:
    return b.full(shape, 0, element_of(grad))


@lowers("select_backward", "slice_backward", "diagonal_backward")
def of_view(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The gradient put into zeros through the view."""
    sizes = op.arg("input_sizes")
    packet = op.overload_name.partition(".")[0]
    rest = [op.arg(a.name) for a in op.schema.args[2:]]
    grad = op.operands[0]
    return b(packet.replace("backward", "scatter"), _zeros(b, grad, sizes), grad, *rest)


@lowers("index_select_backward")
def of_index_select(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """index_add into zeros."""
    grad = op.arg("grad")
    zeros = _zeros(b, grad, op.arg("self_sizes"))
    return composed(b, "index_add.default", zeros, op.arg("dim"), op.arg("index"), grad)[0]


@lowers("gather_backward")
def of_gather(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """scatter_add into zeros."""
    grad = op.arg("grad")
    zeros = _zeros(b, grad, shape_of(op.arg("self")))
    return b("scatter_add", zeros, op.arg("dim"), op.arg("index"), grad)


@lowers("value_selecting_reduction_backward")
def of_extremum(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The gradient at the index that was picked in each row."""
    grad, indices, sizes = op.arg("grad"), op.arg("indices"), op.arg("sizes")
    if not sizes:
        return grad
    dim = normalized(op.arg("dim"), len(sizes))
    if not op.arg("keepdim"):
        grad, indices = b("unsqueeze", grad, dim), b("unsqueeze", indices, dim)
    return b("scatter.src", _zeros(b, grad, sizes), dim, indices, grad)


@lowers("trace_backward")
def of_trace(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The gradient on the diagonal."""
    grad, (rows, columns) = op.arg("grad"), op.arg("sizes")
    row = b.view(b("arange.start_step", 0, rows, 1, dtype=i64), [rows, 1])
    equal = b("eq.Tensor", row, b("arange.start_step", 0, columns, 1, dtype=i64))
    return b("where.self", equal, grad, _zeros(b, grad, []))


@lowers("masked_scatter_backward")
def of_masked_scatter(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The gradients where the mask holds, in order, then zeros."""
    grad, sizes = op.arg("grad_output"), op.arg("sizes")
    count, shape = numel(op.results[0]), shape_of(grad)
    mask = b.view(b.expand(op.arg("mask"), shape), [numel(grad)])
    before = b("add.Scalar", b("cumsum", mask, 0, dtype=i64), -1)
    place = b("where.self", mask, before, b.full([], count, i64))
    place = b("clamp", place, 0, count)
    made = b("index_put", _zeros(b, grad, [count + 1]), [place], b.view(grad, [numel(grad)]), False)
    return b.view(b("slice.Tensor", made, 0, 0, count), sizes)


@lowers("_weight_norm_interface_backward", "_weight_norm_differentiable_backward")
def of_weight_norm(op: SchemaOp, b: CoreBuilder) -> list[SSAValue]:
    """Of w = g v / |v|: what is along v is in the gradient of g alone."""
    grad, v, g = op.arg("grad_w"), op.arg("saved_v"), op.arg("saved_g")
    norm = b.view(op.arg("saved_norms"), shape_of(g))
    dim = normalized(op.arg("dim"), len(shape_of(v)))
    dims = [d for d in range(len(shape_of(v))) if d != dim]
    along = b.view(b("sum.dim_IntList", b("mul.Tensor", grad, v), dims, True), shape_of(g))
    unit = b("div.Tensor", along, b("mul.Tensor", norm, norm))
    across = b("sub.Tensor", grad, b("mul.Tensor", v, unit))
    grad_v = b("mul.Tensor", b("div.Tensor", g, norm), across)
    return [grad_v, b("div.Tensor", along, norm)]


@lowers("masked_select_backward")
def of_masked_select(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """masked_scatter into zeros."""
    grad, x, mask = op.arg("grad"), op.arg("input"), op.arg("mask")
    mask = b.expand(mask, shape_of(x))
    return composed(b, "masked_scatter.default", _zeros(b, grad, shape_of(x)), mask, grad)[0]
