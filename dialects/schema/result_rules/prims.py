"""Result types of primitives: equal shapes and element types, nothing implicit."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType, f32, i1, i32

from lamina.dialects.schema.promotion import complex_of, real_of
from lamina.dialects.schema.result_rules.matmul import common_dtype
from lamina.dialects.schema.result_rules.parts import joined
from lamina.dialects.schema.result_rules.reductions import number_type, reduced
from lamina.dialects.schema.result_rules.shapes import (
    DYNAMIC,
    Args,
    Types,
    count,
    first_tensor,
    known_shape,
    merge_size,
    same_shape,
    same_size,
    show,
    tensor,
    wrap_dim,
    wrap_dims,
)


def _equal(args: Args, *, one_dtype: bool = True) -> TensorType:
    """The type of all tensors, which must agree but for unknown dims."""
    values = [v for v in args.values() if isinstance(v, TensorType)]
    first = values[0]
    shape = first.get_shape()
    for other in values[1:]:
        if other == first:
            continue
        if not same_shape(shape, other.get_shape()):
            raise ValueError(f"shapes must be equal, got {first} and {other}")
        if one_dtype and other.element_type != first.element_type:
            raise ValueError(f"element types must be equal, got {first} and {other}")
        shape = tuple(map(merge_size, shape, other.get_shape()))
    return tensor(shape, first.element_type)


def elementwise(args: Args) -> Types:
    """Tensors of one type give that type."""
    return [_equal(args)]


def comparison(args: Args) -> Types:
    """Tensors of one type give bool."""
    return [tensor(_equal(args).get_shape(), i1)]


def real_elementwise(args: Args) -> Types:
    """`abs`: complex numbers give the type of their parts."""
    value = _equal(args)
    return [tensor(value.get_shape(), real_of(value.element_type))]


def frexp(args: Args) -> Types:
    """Mantissa and i32 exponent."""
    value = _equal(args)
    return [value, tensor(value.get_shape(), i32)]


def where(args: Args) -> Types:
    """A bool tensor, and two of one type and the same shape."""
    if args["pred"].element_type != i1:
        raise ValueError(f"'pred' must be bool, got {args['pred']}")
    value = _equal({"a": args["a"], "b": args["b"]})
    shape = _equal({"a": value, "pred": args["pred"]}, one_dtype=False).get_shape()
    return [tensor(shape, value.element_type)]


def same(args: Args) -> Types:
    """The first tensor's type."""
    return [first_tensor(args)]


def convert(args: Args) -> Types:
    """`convert_element_type`."""
    return [tensor(args["a"].get_shape(), args["dtype"])]


def view_of_dtype(args: Args) -> Types:
    """The same bytes as another element type."""
    from lamina.dialects.schema.result_rules.views import view_dtype

    return view_dtype({"self": args["a"], "dtype": args["dtype"]})


def complex_part(args: Args) -> Types:
    """`real`, `imag`."""
    value: TensorType = args["self"]
    return [tensor(value.get_shape(), real_of(value.element_type))]


def broadcast_in_dim(args: Args) -> Types:
    """Dim i of a is dim broadcast_dimensions[i] of the shape, of the same size or 1."""
    value, sizes, dims = args["a"], args["shape"], args["broadcast_dimensions"]
    shape = value.get_shape()
    if len(dims) != len(shape):
        raise ValueError(f"{len(dims)} broadcast dimensions for {value}")
    for place, dim in enumerate(dims):
        if not 0 <= dim < len(sizes) or (place and dim <= dims[place - 1]):
            raise ValueError(f"broadcast dimensions {list(dims)} must rise within {show(sizes)}")
        if shape[place] != 1 and not same_size(shape[place], sizes[dim]):
            raise ValueError(f"dim {place} of {value} does not become {sizes[dim]}")
    return [tensor(known_shape(sizes), value.element_type)]


def transpose(args: Args) -> Types:
    """Dim i of the result is dim permutation[i] of a."""
    value, order = args["a"], args["permutation"]
    shape = value.get_shape()
    if sorted(order) != list(range(len(shape))):
        raise ValueError(f"{list(order)} is no permutation of the dims of {value}")
    return [tensor([shape[dim] for dim in order], value.element_type)]


def reshape(args: Args) -> Types:
    """Any shape of as many elements."""
    value, new = args["a"], known_shape(args["shape"])
    before, after = count(value.get_shape()), count(new)
    if not same_size(before, after):
        raise ValueError(f"{value} has {before} elements, {show(new)} {after}")
    return [tensor(new, value.element_type)]


def slice_dims(args: Args) -> Types:
    """start_indices to limit_indices in strides, of every dim."""
    value: TensorType = args["a"]
    shape = value.get_shape()
    starts, limits = args["start_indices"], args["limit_indices"]
    strides = args["strides"] if args["strides"] is not None else [1] * len(shape)
    if not len(starts) == len(limits) == len(strides) == len(shape):
        raise ValueError(f"needs a start, a limit and a stride for each dim of {value}")
    out: list[int] = []
    for size, start, limit, stride in zip(shape, starts, limits, strides, strict=True):
        if DYNAMIC in (start, limit, stride):
            out.append(DYNAMIC)
            continue
        if not 0 <= start <= limit or (0 <= size < limit) or stride <= 0:
            raise ValueError(f"no slice {start}:{limit}:{stride} of a dim of size {size}")
        out.append(-(-(limit - start) // stride))
    return [tensor(out, value.element_type)]


def squeeze(args: Args) -> Types:
    """The dimensions, of size 1, go."""
    value, dims = args["a"], args["dimensions"]
    shape = value.get_shape()
    named = wrap_dims(dims, len(shape), "dimensions")
    for dim in named:
        if shape and not same_size(shape[dim], 1):
            raise ValueError(f"dim {dim} of {value} is not 1")
    kept = [size for place, size in enumerate(shape) if place not in named]
    return [tensor(kept, value.element_type)]


def split_dim(args: Args) -> Types:
    """One dim becomes outer_length by the rest."""
    value, outer = args["a"], args["outer_length"]
    shape = value.get_shape()
    dim = wrap_dim(args["dim"], len(shape))
    size = shape[dim]
    if outer == 0 or (outer > 0 and size >= 0 and size % outer):
        raise ValueError(f"dim {dim} of {value} is no multiple of {outer}")
    inner = DYNAMIC if min(outer, size) < 0 else size // outer
    lead = DYNAMIC if outer < 0 else outer
    return [tensor((*shape[:dim], lead, inner, *shape[dim + 1 :]), value.element_type)]


def collapse(args: Args) -> Types:
    """Dims start to end, both included, become one."""
    value, start, end = args["a"], args["start"], args["end"]
    shape = value.get_shape() or (1,)
    if not 0 <= start <= end < len(shape):
        raise ValueError(f"dims {start} to {end} are out of range for {value}")
    joint = count(shape[start : end + 1])
    return [tensor((*shape[:start], joint, *shape[end + 1 :]), value.element_type)]


def reverse(args: Args) -> Types:
    """`rev`: a's type; each dim at most once."""
    wrap_dims(args["dims"], len(args["a"].get_shape()), "dims")
    return [args["a"]]


def as_strided(args: Args) -> Types:
    """Any sizes and strides over a's memory."""
    value = first_tensor(args)
    if len(args["size"]) != len(args["stride"]):
        raise ValueError(f"{len(args['size'])} sizes for {len(args['stride'])} strides")
    return [tensor(known_shape(args["size"]), value.element_type)]


def as_strided_scatter(args: Args) -> Types:
    """Self's type; src has the sizes."""
    if not same_shape(args["src"].get_shape(), known_shape(args["size"])):
        raise ValueError(f"src {args['src']} must have the shape {show(args['size'])}")
    return [args["self"]]


def concatenate(args: Args) -> Types:
    """`cat`: one element type, sizes equal but for dim."""
    common_dtype(*args["tensors"])
    return [joined(args["tensors"], args["dim"])]


def reduce(args: Args) -> Types:
    """`sum`, `prod`, `amax`, ...: without dims (all for none); a's element type or output_dtype."""
    value: TensorType = args["inp"]
    shape = reduced(value.get_shape(), args["dims"], False)
    return [tensor(shape, args["output_dtype"] or value.element_type)]


def reduce_real(args: Args) -> Types:
    """`var`: as `reduce`, complex giving the type of the parts."""
    value: TensorType = args["inp"]
    shape = reduced(value.get_shape(), args["dims"], False)
    return [tensor(shape, args["output_dtype"] or real_of(value.element_type))]


def made(args: Args) -> Types:
    """`full`, `empty`, `normal`, `uniform`: a shape and a dtype."""
    return [tensor(known_shape(args["shape"]), args["dtype"])]


def made_like(args: Args) -> Types:
    """`full_like`: a's shape."""
    return [tensor(args["a"].get_shape(), args["dtype"])]


def scalar_tensor(args: Args) -> Types:
    """0-d; without dtype f32."""
    return [tensor((), args["dtype"] or f32)]


def iota(args: Args) -> Types:
    """A vector of `length`."""
    length = args["length"]
    return [tensor((DYNAMIC if length < 0 else length,), args["dtype"])]


def item(args: Args) -> Types:
    """A number of a tensor with one element."""
    value: TensorType = args["a"]
    if count(value.get_shape()) not in (1, DYNAMIC):
        raise ValueError(f"needs one element, got {value}")
    return [number_type(value.element_type)]


def extreme_value(args: Args) -> Types:
    """`maximum_value`, `minimum_value`: a number of the dtype's category."""
    return [number_type(args["dtype"])]


def resize(args: Args) -> Types:
    """a's element type with new sizes."""
    return [tensor(known_shape(args["shape"]), args["a"].element_type)]


def copy_strided(args: Args) -> Types:
    """a's type."""
    if len(args["stride"]) != len(args["a"].get_shape()):
        raise ValueError(f"{len(args['stride'])} strides for {args['a']}")
    return [args["a"]]


def copy_to(args: Args) -> Types:
    """a's type; b has its shape."""
    if not same_shape(args["a"].get_shape(), args["b"].get_shape()):
        raise ValueError(f"shapes must be equal, got {args['a']} and {args['b']}")
    return [args["a"]]


def svd(args: Args) -> Types:
    """U, S and V^H of matrices."""
    value: TensorType = args["A"]
    shape = value.get_shape()
    if len(shape) < 2:
        raise ValueError(f"needs at least 2 dims, got {value}")
    *batch, rows, columns = shape
    rank = DYNAMIC if min(rows, columns) < 0 else min(rows, columns)
    left, right = (rows, columns) if args["full_matrices"] else (rank, rank)
    dtype = value.element_type
    return [
        tensor((*batch, rows, left), dtype),
        tensor((*batch, rank), real_of(dtype)),
        tensor((*batch, right, columns), dtype),
    ]


def fft_r2c(args: Args) -> Types:
    """Real to complex; onesided keeps half of the last dim named."""
    value: TensorType = args["self"]
    shape = list(value.get_shape())
    dims = wrap_dims(args["dim"], len(shape))
    if args["onesided"] and dims and shape[dims[-1]] >= 0:
        shape[dims[-1]] = shape[dims[-1]] // 2 + 1
    return [tensor(shape, complex_of(value.element_type))]


def fft_c2r(args: Args) -> Types:
    """Half of a spectrum to real numbers of last_dim_size."""
    value: TensorType = args["self"]
    shape = list(value.get_shape())
    dims = wrap_dims(args["dim"], len(shape))
    shape[dims[-1]] = max(args["last_dim_size"], DYNAMIC)
    return [tensor(known_shape(shape), real_of(value.element_type))]


def token(args: Args) -> Types:
    """`_make_token`: an empty vector that orders effects."""
    return [tensor((0,), f32)]


def nothing(args: Args) -> Types:
    """No result."""
    return []
