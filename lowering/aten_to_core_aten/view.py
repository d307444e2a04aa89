"""Ops that only name the same elements in another shape or order: view, permute, slice, split."""

from __future__ import annotations

from math import prod

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


def _result_shape(op: SchemaOp) -> list[int]:
    return shape_of(op.results[0])


@lowers(
    "reshape",
    "view",
    "_unsafe_view",
    "_reshape_alias",
    "flatten.using_ints",
    "unflatten.int",
    "ravel",
    "view_as",
    "reshape_as",
    "squeeze",
    "squeeze.dim",
    "squeeze.dims",
    "unsqueeze",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "_reshape_alias_copy",
    "_reshape_copy",
    "view_copy",
    "unsqueeze_copy",
    "squeeze_copy",
    "squeeze_copy.dim",
    "squeeze_copy.dims",
)
def reshape(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The result's static shape says it all; on values there is no difference to a copy."""
    return b.view(op.operands[0], _result_shape(op))


@lowers("expand_as", "broadcast_to", "expand", "expand_copy")
def expand(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Broadcast to the result's shape."""
    return b.expand(op.operands[0], _result_shape(op))


@lowers("transpose.int", "swapaxes", "swapdims", "transpose_copy.int")
def transpose(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Two dimensions swapped; the names of the two arguments differ between the aliases."""
    x = op.operands[0]
    rank = rank_of(x)
    first, second = (op.arg(argument.name) for argument in op.schema.args[1:3])
    return b.swap(x, normalized(first, rank), normalized(second, rank))


@lowers("t", "numpy_T", "mT", "t_copy")
def transpose_matrix(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """`t`, `mT`: the last two dimensions; `numpy_T`: all dimensions reversed."""
    x = op.operands[0]
    rank = rank_of(x)
    if op.overload_name.startswith("numpy_T"):
        return b.permute(x, list(reversed(range(rank))))
    return x if rank < 2 else b.swap(x, rank - 2, rank - 1)


@lowers("permute_copy")
def permute(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The same as permute."""
    return b.permute(
        op.arg("self"), [normalized(d, rank_of(op.arg("self"))) for d in op.arg("dims")]
    )


@lowers("movedim.int", "movedim.intlist", "moveaxis.int", "moveaxis.intlist")
def movedim(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Dimensions `source` go to `destination`, the others keep their order."""
    x = op.arg("self")
    rank = rank_of(x)
    source, destination = (
        [normalized(d, rank) for d in (dims if isinstance(dims, list) else [dims])]
        for dims in (op.arg("source"), op.arg("destination"))
    )
    rest = iter([d for d in range(rank) if d not in source])
    place = dict(zip(destination, source, strict=True))
    return b.permute(x, [place[d] if d in place else next(rest) for d in range(rank)])


@lowers("narrow", "narrow_copy")
def narrow(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """A slice from `start` of `length`."""
    x, dim, start = op.arg("self"), op.arg("dim"), op.arg("start")
    if not isinstance(start, int) or not isinstance(op.arg("length"), int):
        raise b.refuse("start and length must be constants")
    extent = shape_of(x)[dim]
    start = start + extent if start < 0 else start
    return b("slice.Tensor", x, dim, start, start + op.arg("length"))


def _pieces(op: SchemaOp, b: CoreBuilder, x: SSAValue, dim: int) -> Replacement:
    """Split along `dim` by the extents of the results."""
    sizes = [shape_of(result)[dim] for result in op.results]
    return list(b.op("split_with_sizes", x, sizes, dim, result_types=op.result_types).results)


@lowers(
    "chunk",
    "split.Tensor",
    "split.sizes",
    "tensor_split.sections",
    "tensor_split.indices",
    "split_with_sizes",
    "unsafe_chunk",
    "split_copy.Tensor",
    "unsafe_split.Tensor",
    "unsafe_split_with_sizes",
)
def split(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """All are split_with_sizes, the sizes being those of the results."""
    x = op.arg("self")
    return _pieces(op, b, x, normalized(op.arg("dim"), rank_of(x)))


@lowers("unbind.int", "unbind_copy.int")
def unbind(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """One select for each index."""
    x, dim = op.arg("self"), normalized(op.arg("dim"), rank_of(op.arg("self")))
    return [b("select.int", x, dim, index) for index in range(len(op.results))]


@lowers("slice_copy.Tensor")
def slice_copy(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """A slice, as a value."""
    return b("slice.Tensor", *(op.arg(argument.name) for argument in op.schema.args))


@lowers("select_copy.int")
def select_copy(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """A select, as a value."""
    return b("select.int", *(op.arg(argument.name) for argument in op.schema.args))


@lowers("atleast_1d.Sequence", "atleast_2d.Sequence", "atleast_3d.Sequence")
def each_reshaped(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """Each tensor with dimensions of extent 1 added."""
    return [b.view(x, shape_of(made)) for x, made in zip(op.operands, op.results, strict=True)]


@lowers("resize", "resize_as")
def resize(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The first elements in row-major order; what is new is 0, where torch has anything."""
    x, shape = op.arg("self"), shape_of(op.results[0])
    old, new = numel(x), prod(shape)
    line = b.view(x, [old])
    if new > old:
        zero = False if is_bool(element_of(x)) else 0
        line = b("constant_pad_nd", line, [0, new - old], zero)
    return b.view(b("slice.Tensor", line, 0, 0, new) if new < old else line, shape)


@lowers("narrow.Tensor")
def narrow_from_tensor(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """A slice whose start is known at run time only; one that does not fit is an error."""
    x, dim = op.arg("self"), normalized(op.arg("dim"), rank_of(op.arg("self")))
    start = b.view(b.cast(op.arg("start"), i64), [1])
    extent = shape_of(x)[dim]
    start = b("where.self", b("lt.Scalar", start, 0), b("add.Scalar", start, extent), start)
    line = b("arange.start_step", 0, op.arg("length"), 1, dtype=i64)
    return b("index_select", x, dim, b("add.Tensor", line, start))


@lowers("broadcast_tensors")
def broadcast_tensors(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """Each tensor expanded to the common shape."""
    return [
        b.expand(x, shape_of(result)) for x, result in zip(op.operands, op.results, strict=True)
    ]


@lowers("meshgrid", "meshgrid.indexing")
def meshgrid(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """Each vector along its own dimension; `xy` indexing swaps the first two."""
    swapped = op.overload_name.endswith("indexing") and op.arg("indexing") == "xy"
    results: list[SSAValue] = []
    for position, (x, result) in enumerate(zip(op.operands, op.results, strict=True)):
        shape = shape_of(result)
        dim = 1 - position if swapped and position < 2 and len(shape) > 1 else position
        line = [1] * len(shape)
        line[dim] = shape[dim]
        results.append(b.expand(b.view(x, line), shape))
    return results


@lowers("diagonal_copy", "as_strided_copy")
def copied_view(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The view of the same name, as a value."""
    name = op.overload_name.partition(".")[0].removesuffix("_copy")
    return b(name, *(op.arg(argument.name) for argument in op.schema.args))


@lowers("cartesian_prod")
def cartesian_prod(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """All combinations, one row each."""
    vectors = op.arg("tensors")
    if len(vectors) == 1:
        return vectors[0]
    lengths = [shape_of(x)[0] for x in vectors]
    columns: list[SSAValue] = []
    for place, x in enumerate(vectors):
        line = [1] * len(vectors)
        line[place] = lengths[place]
        columns.append(b("unsqueeze", b.expand(b.view(x, line), lengths), len(vectors)))
    return b.view(b("cat", columns, len(vectors)), shape_of(op.results[0]))
