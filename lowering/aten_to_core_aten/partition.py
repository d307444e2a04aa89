"""Ops that cut tensors up or lay blocks side by side: hsplit, dstack, block_diag, _chunk_cat."""

from __future__ import annotations

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.conversion import Replacement
from lamina.lowering.tensor_types import (
    element_of,
    is_bool,
    normalized,
    numel,
    rank_of,
    shape_of,
)

_DIM = {"hsplit": 1, "vsplit": 0, "dsplit": 2}


@lowers("hsplit.int", "hsplit.array", "vsplit.int", "vsplit.array", "dsplit.int", "dsplit.array")
def split_along(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """Slices along dimension 1, 0 or 2; `hsplit` cuts vectors along 0."""
    x = op.arg("self")
    dim = min(_DIM[op.overload_name.partition(".")[0]], rank_of(x) - 1)
    sections = op.arg("sections") if op.overload_name.endswith("int") else None
    extent = shape_of(x)[dim]
    if sections is not None:
        step = extent // sections
        ends = [step * (n + 1) for n in range(sections)]
    else:
        ends = [*op.arg("indices"), extent]
    starts = [0, *ends[:-1]]
    return [b("slice.Tensor", x, dim, s, e) for s, e in zip(starts, ends, strict=True)]


@lowers("split_with_sizes_copy")
def split_with_sizes(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """The same as split_with_sizes."""
    made = b.op(
        "split_with_sizes",
        op.arg("self"),
        op.arg("split_sizes"),
        op.arg("dim"),
        result_types=op.result_types,
    )
    return list(made.results)


@lowers("dstack")
def dstack(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Along dimension 2: vectors stand as [1, n, 1], matrices as [m, n, 1]."""
    tensors: list[SSAValue] = []
    for x in op.arg("tensors"):
        shape = shape_of(x)
        if len(shape) < 2:
            shape = [1, *shape] if shape else [1, 1]
        tensors.append(b.view(x, shape if len(shape) > 2 else [*shape, 1]))
    return b("cat", tensors, 2)


@lowers("block_diag")
def block_diag(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Each matrix between columns of zeros, under each other; vectors are rows."""
    element = element_of(op.results[0])
    columns = shape_of(op.results[0])[1]
    rows: list[SSAValue] = []
    before = 0
    for x in op.arg("tensors"):
        shape = shape_of(x)
        # Torch counts an empty vector as a row of no columns.
        x = b.cast(b.view(x, [1] * (2 - len(shape)) + shape), element)
        width = shape_of(x)[1]
        zero = False if is_bool(element) else 0
        rows.append(b("constant_pad_nd", x, [before, columns - before - width], zero))
        before += width
    return b("cat", rows, 0)


@lowers("diagflat")
def diagflat(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The matrix with the flattened tensor on a diagonal."""
    x, offset = op.arg("self"), op.arg("offset")
    element, size = element_of(x), shape_of(op.results[0])[0]
    x = b("constant_pad_nd", b.view(x, [numel(x)]), [max(offset, 0), max(-offset, 0)], 0)
    column = b("arange.start_step", 0, size, 1, dtype=i64)
    inside = b("eq.Scalar", b("sub.Tensor", column, b.view(column, [size, 1])), offset)
    zero = b.full([], False if is_bool(element) else 0, element)
    return b("where.self", inside, x, zero)


@lowers("_chunk_cat")
def chunk_cat(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Each tensor in `num_chunks` rows, zeros at its end; the rows side by side."""
    chunks = op.arg("num_chunks")
    tensors = op.arg("tensors")
    dim = normalized(op.arg("dim"), rank_of(tensors[0]))
    parts: list[SSAValue] = []
    for x in tensors:
        shape = shape_of(x)
        size = -(-shape[dim] // chunks)
        missing = size * chunks - shape[dim]
        if missing:
            x = b("constant_pad_nd", x, [0, 0] * (len(shape) - dim - 1) + [0, missing], 0)
        rest = size
        for extent in shape[dim + 1 :]:
            rest *= extent
        parts.append(b.view(x, [*shape[:dim], chunks, rest]))
    return b("cat", parts, dim + 1)


@lowers("linalg_diagonal")
def linalg_diagonal(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """diagonal, of the last two dimensions by default."""
    return b("diagonal", op.arg("A"), op.arg("offset"), op.arg("dim1"), op.arg("dim2"))
