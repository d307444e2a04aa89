"""Result types of Lamina's own primitives (`dialects/prims/extensions.tsv`)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    AnyFloat,
    ComplexType,
    TensorType,
    bf16,
    f16,
    f32,
    f64,
    i64,
)
from xdsl.ir import Attribute

from lamina.dialects.schema.result_rules.convolution import window_count
from lamina.dialects.schema.result_rules.indexing import need_index
from lamina.dialects.schema.result_rules.matmul import common_dtype
from lamina.dialects.schema.result_rules.pooling import pooled_size
from lamina.dialects.schema.result_rules.reductions import reduced
from lamina.dialects.schema.result_rules.shapes import (
    DYNAMIC,
    Args,
    Shape,
    Types,
    known_shape,
    merge_size,
    need_rank,
    repeat_to,
    same_size,
    size_or_dynamic,
    tensor,
)
from lamina.dialects.schema.values import RuntimeInt


def contract(args: Args) -> Types:
    """Batch dims, then a's and b's free dims, each in a's and b's order."""
    a, b = args["a"], args["b"]
    left, right = a.get_shape(), b.get_shape()
    batch = _pairs(a, b, args["a_batch"], args["b_batch"], "batch")
    _pairs(a, b, args["a_contract"], args["b_contract"], "contracted")
    used_left = {*args["a_batch"], *args["a_contract"]}
    used_right = {*args["b_batch"], *args["b_contract"]}
    if len(used_left) != len(args["a_batch"]) + len(args["a_contract"]):
        raise ValueError("a dim of a is named twice")
    if len(used_right) != len(args["b_batch"]) + len(args["b_contract"]):
        raise ValueError("a dim of b is named twice")
    shape = [
        *batch,
        *(size for dim, size in enumerate(left) if dim not in used_left),
        *(size for dim, size in enumerate(right) if dim not in used_right),
    ]
    return [tensor(shape, common_dtype(a, b))]


def complex_of_parts(args: Args) -> Types:
    """Two tensors of one shape, both f32 or both f64."""
    real, imag = args["real"], args["imag"]
    if real.element_type not in (f32, f64):
        raise ValueError(f"needs parts of f32 or f64, got {real}")
    if real != imag:
        raise ValueError(f"parts of different types: {real} and {imag}")
    return [tensor(real.get_shape(), ComplexType(real.element_type))]


def _pairs(
    a: TensorType, b: TensorType, dims: Sequence[int], others: Sequence[int], name: str
) -> Shape:
    left, right = a.get_shape(), b.get_shape()
    if len(dims) != len(others):
        raise ValueError(f"{len(dims)} {name} dims of a for {len(others)} of b")
    sizes: list[int] = []
    for dim, other in zip(dims, others, strict=True):
        if not (0 <= dim < len(left) and 0 <= other < len(right)):
            raise ValueError(f"{name} dims {dim} and {other} are out of range for {a} and {b}")
        if not same_size(left[dim], right[other]):
            raise ValueError(f"{name} dims {dim} of {a} and {other} of {b} differ")
        sizes.append(merge_size(left[dim], right[other]))
    return tuple(sizes)


def convolution(args: Args) -> Types:
    """Batch, the weight's output channels, then the windows in each spatial dim."""
    value, weight = args["input"], args["weight"]
    kernel = weight.get_shape()
    rank = len(kernel) - 2
    if rank < 0:
        raise ValueError(f"the weight must have at least 2 dims, got {weight}")
    shape = need_rank(value, rank + 2, "input")
    groups = args["groups"]
    if groups <= 0 or (kernel[0] >= 0 and kernel[0] % groups):
        raise ValueError(f"{kernel[0]} output channels do not make {groups} groups")
    if not same_size(shape[1], kernel[1] * groups if kernel[1] >= 0 else DYNAMIC):
        raise ValueError(
            f"input {value} has {shape[1]} channels, weight {weight} with {groups} groups "
            f"takes {kernel[1] * groups}"
        )
    columns = [args[name] for name in ("stride", "padding", "dilation")]
    for name, numbers in zip(("stride", "padding", "dilation"), columns, strict=True):
        if len(numbers) != rank:
            raise ValueError(f"{name} has {len(numbers)} numbers for {rank} spatial dims")
    out: list[int] = []
    for size, window, stride, padding, dilation in zip(
        shape[2:], kernel[2:], *columns, strict=True
    ):
        windows = window_count(size, window, stride, 2 * padding, dilation)
        if windows != DYNAMIC and windows <= 0:
            raise ValueError(f"a window of {window} does not fit a dim of size {size}")
        out.append(windows)
    return [tensor((shape[0], kernel[0], *out), common_dtype(value, weight))]


COMBINERS = frozenset({"add", "mul", "max", "min", "and", "or", "logaddexp", "store"})


def _need_combiner(args: Args) -> None:
    if args["combiner"] not in COMBINERS:
        known = ", ".join(sorted(COMBINERS))
        raise ValueError(f"unknown combiner '{args['combiner']}'; one of {known}")


def reduce_window(args: Args) -> Types:
    """One result for each window of the trailing dims."""
    _need_combiner(args)
    value: TensorType = args["a"]
    rank = len(args["window"])
    shape = value.get_shape()
    if not 0 < rank <= len(shape):
        raise ValueError(f"a window of {rank} dims over {value}")
    names = ("window", "stride", "padding", "dilation")
    windows, strides, paddings, dilations = (repeat_to(args[n], rank, n) for n in names)
    rows = zip(shape[-rank:], windows, strides, paddings, dilations, strict=True)
    out = [pooled_size(*row, args["ceil_mode"]) for row in rows]
    return [tensor((*shape[:-rank], *out), value.element_type)]


def take(args: Args) -> Types:
    """a[:dim] + index.shape + a[dim + 1:]."""
    value: TensorType = args["a"]
    shape, index = value.get_shape(), need_index(args["index"])
    if not 0 <= args["dim"] < len(shape):
        raise ValueError(f"dim {args['dim']} is out of range for {value}")
    return [tensor((*shape[: args["dim"]], *index, *shape[args["dim"] + 1 :]), value.element_type)]


def gather(args: Args) -> Types:
    """The index's shape, of a's rank and not larger outside dim."""
    value, index = args["a"], args["index"]
    shape, places = value.get_shape(), need_index(index)
    if len(shape) != len(places) or not 0 <= args["dim"] < len(shape):
        raise ValueError(f"index {index} along dim {args['dim']} of {value}")
    for dim, (size, length) in enumerate(zip(shape, places, strict=True)):
        if dim != args["dim"] and 0 <= size < length:
            raise ValueError(f"index {index} is larger than {value} in dim {dim}")
    return [tensor(places, value.element_type)]


def pad(args: Args) -> Types:
    """`low` entries before and `high` behind each dim; negative ones crop."""
    value: TensorType = args["a"]
    shape = value.get_shape()
    if not len(args["low"]) == len(args["high"]) == len(shape):
        raise ValueError(f"needs low and high for each dim of {value}")
    out: list[int] = []
    for size, low, high in zip(shape, args["low"], args["high"], strict=True):
        out.append(DYNAMIC if size < 0 else size + low + high)
        if out[-1] < 0 and size >= 0:
            raise ValueError(f"padding {low}, {high} crops more than {size}")
    return [tensor(out, value.element_type)]


def index_of_extreme(args: Args) -> Types:
    """`argmax`, `argmin`: i64, the dims gone; one dim or all."""
    value: TensorType = args["a"]
    return [tensor(reduced(value.get_shape(), args["dims"], False), i64)]


def scan(args: Args) -> Types:
    """a's type."""
    _need_combiner(args)
    value: TensorType = args["a"]
    if not 0 <= args["dim"] < len(value.get_shape()):
        raise ValueError(f"dim {args['dim']} is out of range for {value}")
    return [value]


def put(args: Args) -> Types:
    """a's type; values have the shape that `take` would give."""
    _need_combiner(args)
    made = take(args)[0]
    _need_values(args, made)
    return [args["a"]]


def scatter(args: Args) -> Types:
    """a's type; values have the index's shape."""
    _need_combiner(args)
    _need_values(args, gather(args)[0])
    return [args["a"]]


def _need_values(args: Args, made: Attribute) -> None:
    values: TensorType = args["values"]
    assert isinstance(made, TensorType)
    shape, given = made.get_shape(), values.get_shape()
    fits = len(shape) == len(given) and all(map(same_size, shape, given))
    if values.element_type != made.element_type or not fits:
        raise ValueError(f"values must be {made}, got {values}")


def segment_sum(args: Args) -> Types:
    """A row of a for each segment, of half floats as f32."""
    value, scale = args["a"], args["scale"]
    if scale is not None:
        common_dtype(value, scale)
        if not all(map(same_size, scale.get_shape(), need_index(args["index"]))):
            raise ValueError(f"scale {scale} does not fit index {args['index']}")
    half = value.element_type in (f16, bf16)
    return [_of_segments(args, f32 if half else value.element_type)]


def segment_max(args: Args) -> Types:
    """A row of a for each segment, and the index that each value has, of the index's type."""
    return [_of_segments(args, args[name].element_type) for name in ("a", "index")]


def _of_segments(args: Args, element: Attribute) -> TensorType:
    value, offsets = args["a"], args["offsets"]
    shape = value.get_shape()
    if not shape or len(need_index(args["index"])) != 1:
        raise ValueError(f"rows of {value} at {args['index']}")
    if offsets.element_type != i64 or len(offsets.get_shape()) != 1 or 0 in offsets.get_shape():
        raise ValueError(f"offsets are i64, one more than there are segments, not {offsets}")
    [count] = offsets.get_shape()
    return tensor((count if count < 0 else count - 1, *shape[1:]), element)


def sort(args: Args) -> Types:
    """a's type, and places as i64."""
    value: TensorType = args["a"]
    if not 0 <= args["dim"] < len(value.get_shape()):
        raise ValueError(f"dim {args['dim']} is out of range for {value}")
    return [value, tensor(value.get_shape(), i64)]


def topk(args: Args) -> Types:
    """k elements along dim, and places as i64."""
    value: TensorType = args["a"]
    shape, dim, k = list(value.get_shape()), args["dim"], args["k"]
    if not 0 <= dim < len(shape):
        raise ValueError(f"dim {dim} is out of range for {value}")
    is_negative = k < 0 and not isinstance(k, RuntimeInt)
    if is_negative or 0 <= shape[dim] < k:
        raise ValueError(f"k {k} is out of range for a dim of {shape[dim]} elements")
    shape[dim] = size_or_dynamic(k)
    return [tensor(shape, value.element_type), tensor(shape, i64)]


def kthvalue(args: Args) -> Types:
    """One element along dim, and its place as i64."""
    value: TensorType = args["a"]
    k, made = args["k"], topk({**args, "k": 1})
    is_negative = k < 0 and not isinstance(k, RuntimeInt)
    if is_negative or 0 <= value.get_shape()[args["dim"]] <= k:
        raise ValueError(f"k {k} is out of range for {value} along {args['dim']}")
    return made


def scan_extreme(args: Args) -> Types:
    """a's type, and places as i64."""
    if args["combiner"] not in ("max", "min"):
        raise ValueError(f"unknown combiner '{args['combiner']}'; max or min")
    return sort(args)


def searchsorted(args: Args) -> Types:
    """The shape of the values, as i64; one row for all, or one for each of theirs."""
    rows, values = args["sorted"], args["values"]
    shape, wanted = rows.get_shape(), values.get_shape()
    if not shape or (len(shape) > 1 and not all(map(same_size, shape[:-1], wanted[:-1]))):
        raise ValueError(f"rows of {rows} do not fit {values}")
    if len(shape) > 1 and len(shape) != len(wanted):
        raise ValueError(f"rows of {rows} do not fit {values}")
    common_dtype(rows, values)
    return [tensor(wanted, i64)]


def window_index(args: Args) -> Types:
    """i64, one for each window."""
    made = reduce_window({**args, "combiner": "max"})[0]
    assert isinstance(made, TensorType)
    return [tensor(made.get_shape(), i64)]


def philox(args: Args) -> Types:
    """A shape and a float dtype; the state is two i64."""
    if args["state"] != tensor((2,), i64):
        raise ValueError(f"the state must be tensor<2xi64>, got {args['state']}")
    if args["distribution"] not in ("uniform", "normal"):
        raise ValueError(f"unknown distribution '{args['distribution']}'; uniform or normal")
    if args["offset"] < 0:
        raise ValueError(f"the offset must not be negative, got {args['offset']}")
    if not isinstance(args["dtype"], AnyFloat):
        raise ValueError(f"random numbers are floats, got dtype {args['dtype']}")
    return [tensor(known_shape(args["shape"]), args["dtype"])]
