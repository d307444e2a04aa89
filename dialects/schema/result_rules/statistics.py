"""Result types of histograms, unique elements, segments and lists of gradients."""

from __future__ import annotations

from math import comb, prod

from xdsl.dialects.builtin import TensorType, bf16, f16, f32, i1, i32, i64
from xdsl.ir import Attribute

from lamina.dialects.schema.promotion import float_of, ui64
from lamina.dialects.schema.result_rules.indexing import need_index
from lamina.dialects.schema.result_rules.reductions import reduced
from lamina.dialects.schema.result_rules.shapes import (
    DYNAMIC,
    Args,
    Shape,
    Types,
    count,
    need_rank,
    tensor,
    wrap_dim,
    wrap_dims,
)


def histc(args: Args) -> Types:
    """Counts for each bin, in self's element type."""
    if args["bins"] <= 0:
        raise ValueError(f"bins must be positive, got {args['bins']}")
    return [tensor((args["bins"],), args["self"].element_type)]


def histogram(args: Args) -> Types:
    """Counts for each bin, and the edges."""
    dtype: Attribute = args["self"].element_type
    bins = args["bins"]
    if isinstance(bins, TensorType):
        (edges,) = need_rank(bins, 1, "bins")
        return [tensor((_one_less(edges),), dtype), tensor((edges,), dtype)]
    return [tensor((bins,), dtype), tensor((bins + 1,), dtype)]


def _one_less(edges: int) -> int:
    return DYNAMIC if edges < 0 else edges - 1


def histogram_of_rows(args: Args) -> Types:
    """`histogramdd`: counts for each bin of each column, and the edges of each column's bins."""
    value: TensorType = args["self"]
    columns = value.get_shape()[-1]
    given: int | list[int | TensorType] = args["bins"]
    entries = [given] * columns if isinstance(given, int) else given
    edges = [e + 1 if isinstance(e, int) else e.get_shape()[0] for e in entries]
    dtype: Attribute = value.element_type
    counts = tensor(map(_one_less, edges), dtype)
    return [counts, *(tensor((number,), dtype) for number in edges)]


def histogram_counts(args: Args) -> Types:
    """`_histogramdd_from_bin_cts`: counts alone."""
    return histogram_of_rows(args)[:1]


def histogram_edges(args: Args) -> Types:
    """`_histogramdd_bin_edges`: edges alone."""
    return histogram_of_rows(args)[1:]


def _asked(asked: bool, shape: Shape) -> TensorType:
    return tensor(shape if asked else (0,), i64)


def unique(args: Args) -> Types:
    """`_unique2`: elements, where each went, how many there are; their number is unknown."""
    value: TensorType = args["self"]
    return [
        tensor((DYNAMIC,), value.element_type),
        _asked(args["return_inverse"], value.get_shape()),
        _asked(args["return_counts"], (DYNAMIC,)),
    ]


def unique_consecutive(args: Args) -> Types:
    """As `unique`; slices along dim if given."""
    value: TensorType = args["self"]
    if args["dim"] is not None:
        return unique_dim(args)
    return [
        tensor((DYNAMIC,), value.element_type),
        _asked(args["return_inverse"], value.get_shape()),
        _asked(args["return_counts"], (DYNAMIC,)),
    ]


def unique_dim(args: Args) -> Types:
    """Unique slices along dim."""
    value: TensorType = args["self"]
    shape = value.get_shape()
    dim = wrap_dim(args["dim"], len(shape))
    new = (*shape[:dim], DYNAMIC, *shape[dim + 1 :])
    return [tensor(new, value.element_type), tensor((shape[dim],), i64), tensor((DYNAMIC,), i64)]


def row_starts(args: Args) -> Types:
    """`_convert_indices_from_coo_to_csr`: where each row starts, and the end of the last."""
    need_rank(args["self"], 1, "self")
    return [tensor((args["size"] + 1,), i32 if args["out_int32"] else i64)]


def segment_reduce(args: Args) -> Types:
    """One entry of axis for each segment."""
    value: TensorType = args["data"]
    axis = wrap_dim(args["axis"], len(value.get_shape()))
    rest = value.get_shape()[axis + 1 :]
    if args["lengths"] is not None:
        segments = args["lengths"].get_shape()
    elif args["offsets"] is not None:
        *outer, number = args["offsets"].get_shape()
        segments = (*outer, number if number < 0 else number - 1)
    else:
        raise ValueError("needs lengths or offsets")
    return [tensor((*segments, *rest), value.element_type)]


def gradient(args: Args) -> Types:
    """Self's shape for each of the dims (all without dim)."""
    value: TensorType = args["self"]
    dims = args.get("dim")
    if dims is not None:
        wrap_dims([dims] if isinstance(dims, int) else dims, len(value.get_shape()))
    if args["edge_order"] not in (1, 2):
        raise ValueError(f"edge_order must be 1 or 2, got {args['edge_order']}")
    number = len(value.get_shape()) if dims is None else 1 if isinstance(dims, int) else len(dims)
    return [tensor(value.get_shape(), float_of(value.element_type))] * number


def combinations(args: Args) -> Types:
    """Rows of r entries of a vector."""
    (size,) = need_rank(args["self"], 1, "self")
    r = args["r"]
    if size < 0:
        rows = DYNAMIC
    elif args["with_replacement"]:
        rows = comb(size + r - 1, r) if size else 0
    else:
        rows = comb(size, r)
    return [tensor((rows, r) if r else (0,), args["self"].element_type)]


def hash_of_elements(args: Args) -> Types:
    """`hash_tensor`: ui64, dims reduced."""
    value: TensorType = args["self"]
    return [tensor(reduced(value.get_shape(), args["dim"] or None, args["keepdim"]), ui64)]


def embedding_bag(args: Args) -> Types:
    """A row for each bag, then bookkeeping: the bag of each index, sizes, and places of maxima.

    Torch leaves the first away in sums that it makes in one step. Its shape functions do not agree
    with its kernels on that for bf16, nor on sizes where the last offset ends a bag, nor on indices
    of i64 with offsets of i32: the first two may have either length, the last is as those say.
    """
    table = need_rank(args["weight"], 2, "weight")
    shape = need_index(args["indices"], "indices")
    bags = shape[0] if len(shape) == 2 else args["offsets"].get_shape()[0]
    last = args["include_last_offset"]
    if last and bags > 0:
        bags -= 1
    mode, element = args["mode"], args["weight"].element_type
    dtype: Attribute = args["offsets"].element_type
    no_padding = args.get("padding_idx", -1) < 0
    in_one_step = mode == 0 and no_padding and element in (f16, f32, bf16)
    listed = prod(shape) if DYNAMIC not in shape else DYNAMIC
    if in_one_step:
        listed = DYNAMIC if element == bf16 else 0
    size = (DYNAMIC,) if last else (bags,)
    largest = (bags, table[1]) if mode == 2 else size
    return [
        tensor((bags, table[1]), element),
        tensor((listed,), dtype),
        tensor(size, dtype),
        tensor(largest, dtype),
    ]


def embedding_bag_counted(args: Args) -> Types:
    """The same where a negative `padding_idx` counts from the table's end, and None is none."""
    padding, rows = args["padding_idx"], need_rank(args["weight"], 2, "weight")[0]
    if padding is None:
        padding = -1
    elif padding < 0:
        padding = 0 if rows < 0 else padding + rows
    return embedding_bag({**args, "padding_idx": padding})


def fake_quantize_mask(args: Args) -> Types:
    """The result, and which elements were in range."""
    value: TensorType = args["self"]
    return [value, tensor(value.get_shape(), i1)]


def chunk_cat(args: Args) -> Types:
    """Each tensor cut into num_chunks along dim, padded, made flat behind dim and joined."""
    tensors: list[TensorType] = args["tensors"]
    number = args["num_chunks"]
    if not tensors or number <= 0:
        raise ValueError(f"{len(tensors)} tensors in {number} chunks")
    dim = wrap_dim(args["dim"], len(tensors[0].get_shape()))
    lead = tensors[0].get_shape()[:dim]
    width = 0
    for value in tensors:
        rows, *rest = value.get_shape()[dim:]
        size = count((rows if rows < 0 else -(-rows // number), *rest))
        width = DYNAMIC if min(size, width) < 0 else width + size
    return [tensor((*lead, number, width), tensors[0].element_type)]


def half_of_dim(args: Args) -> Types:
    """`glu`: half of dim."""
    value: TensorType = args["self"]
    shape = list(value.get_shape())
    if not shape:
        raise ValueError("needs at least 1 dim")
    dim = wrap_dim(args["dim"], len(shape))
    if shape[dim] >= 0:
        if shape[dim] % 2:
            raise ValueError(f"dim {dim} of {value} is odd")
        shape[dim] //= 2
    return [tensor(shape, value.element_type)]
