"""Result types of reductions, scans and selections along dims."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType, f64, i1, i64
from xdsl.ir import Attribute

from lamina.dialects.schema.promotion import (
    BOOL,
    COMPLEX,
    FLOAT,
    INTEGER,
    c128,
    category,
    float_of,
    real_of,
    sum_of,
    ui8,
)
from lamina.dialects.schema.result_rules.shapes import (
    DYNAMIC,
    Args,
    Shape,
    Types,
    count,
    first_tensor,
    show,
    tensor,
    wrap_dim,
    wrap_dims,
)


def reduced(shape: Shape, dims: Sequence[int] | int | None, keepdim: bool) -> Shape:
    """A shape without the dims (with ones, if kept); all dims for None."""
    if dims is None:
        return (1,) * len(shape) if keepdim else ()
    named = wrap_dims([dims] if isinstance(dims, int) else dims, len(shape))
    if keepdim:
        return tuple(1 if place in named else size for place, size in enumerate(shape))
    return tuple(size for place, size in enumerate(shape) if place not in named)


def _over(args: Args, *, empty_is_all: bool = True) -> tuple[TensorType, Shape]:
    value = first_tensor(args)
    dims = args.get("dim")
    if empty_is_all and dims == []:
        dims = None
    return value, reduced(value.get_shape(), dims, bool(args.get("keepdim", False)))


def need_elements(shape: Shape, dims: Sequence[int] | int | None, name: str) -> None:
    """Refuse to reduce over a dim without elements, where there is no identity."""
    if dims is None or dims == []:
        empty = 0 in shape
    else:
        named = wrap_dims([dims] if isinstance(dims, int) else dims, len(shape))
        empty = any(shape[dim] == 0 for dim in named if shape)
    if empty:
        raise ValueError(f"{name} of no elements is not defined: shape {show(shape)}")


def total(args: Args) -> Types:
    """`sum`, `prod`, `nansum`: dtype if given, else integers as i64."""
    value, shape = _over(args)
    return [tensor(shape, args.get("dtype") or sum_of(value.element_type))]


def mean(args: Args) -> Types:
    """`mean`, `nanmean`: of float or complex, or as the dtype given."""
    value, shape = _over(args)
    dtype = args.get("dtype") or value.element_type
    if category(dtype) < FLOAT:
        raise ValueError(f"the mean of {dtype} is not defined; give a float dtype")
    return [tensor(shape, dtype)]


def extreme(args: Args) -> Types:
    """`amax`, `amin`, and `max`, `min`, `median` of all elements."""
    value, shape = _over(args)
    need_elements(value.get_shape(), args.get("dim"), "the extreme")
    return [tensor(shape, value.element_type)]


def median_of_all(args: Args) -> Types:
    """`median`, `nanmedian` of all elements."""
    return [tensor((), args["self"].element_type)]


def extremes(args: Args) -> Types:
    """`aminmax`: two results."""
    return extreme(args) * 2


def extreme_and_index(args: Args) -> Types:
    """`max.dim`, `min.dim`, `median.dim`, `mode`, `kthvalue`: values and i64 indices."""
    value, shape = _over(args)
    need_elements(value.get_shape(), args["dim"], "the extreme")
    if "k" in args:
        _need_kth(value, args["dim"], args["k"])
    return [tensor(shape, value.element_type), tensor(shape, i64)]


def _need_kth(value: TensorType, dim: int, k: int) -> None:
    shape = value.get_shape()
    size = shape[dim] if shape else 1
    if k >= 0 and size >= 0 and not 1 <= k <= size:
        raise ValueError(f"k = {k} is out of range for dim {dim} of {value}")


def index_of_extreme(args: Args) -> Types:
    """`argmax`, `argmin`: i64."""
    value, shape = _over(args)
    need_elements(value.get_shape(), args["dim"], "the extreme")
    return [tensor(shape, i64)]


def truth(args: Args) -> Types:
    """`any`, `all`: bool, but ui8 of ui8."""
    value, shape = _over(args, empty_is_all=False)
    return [tensor(shape, ui8 if value.element_type == ui8 else i1)]


def bool_of_all(args: Args) -> Types:
    """A 0-d bool."""
    return [tensor((), i1)]


def counted(args: Args) -> Types:
    """`count_nonzero`: i64."""
    return [tensor(_over(args)[1], i64)]


def _spread(args: Args) -> TensorType:
    value, shape = _over(args)
    if category(value.element_type) < FLOAT:
        raise ValueError(f"needs float or complex elements, got {value}")
    return tensor(shape, real_of(value.element_type))


def spread(args: Args) -> Types:
    """`var`, `std`: real."""
    return [_spread(args)]


def spread_and_mean(args: Args) -> Types:
    """`var_mean`, `std_mean`."""
    found = _spread(args)
    return [found, tensor(found.get_shape(), first_tensor(args).element_type)]


def norm(args: Args) -> Types:
    """`norm`, `linalg_vector_norm` and the like: the real type of self or dtype."""
    value, shape = _over(args)
    dtype = args.get("dtype") or value.element_type
    if category(dtype) < FLOAT:
        raise ValueError(f"the norm of {dtype} is not defined; give a float dtype")
    return [tensor(shape, real_of(dtype))]


def matrix_norm(args: Args) -> Types:
    """`linalg_matrix_norm`: over the two dims."""
    if len(first_tensor(args).get_shape()) < 2:
        raise ValueError(f"needs at least 2 dims, got {first_tensor(args)}")
    return norm(args)


def logsumexp(args: Args) -> Types:
    """Integers become f32."""
    value, shape = _over(args)
    return [tensor(shape, float_of(value.element_type))]


def scan(args: Args) -> Types:
    """`cumsum`, `cumprod`: self's shape, integers as i64, or dtype."""
    value: TensorType = args["self"]
    wrap_dim(args["dim"], len(value.get_shape()))
    return [tensor(value.get_shape(), args.get("dtype") or sum_of(value.element_type))]


def scan_same(args: Args) -> Types:
    """`logcumsumexp`: self's type."""
    value: TensorType = args["self"]
    wrap_dim(args["dim"], len(value.get_shape()))
    return [value]


def scan_and_index(args: Args) -> Types:
    """`cummax`, `cummin`, `sort`: values and i64 indices of self's shape."""
    value: TensorType = args["self"]
    wrap_dim(args["dim"], len(value.get_shape()))
    return [value, tensor(value.get_shape(), i64)]


def order(args: Args) -> Types:
    """`argsort`: i64 of self's shape."""
    value: TensorType = args["self"]
    wrap_dim(args["dim"], len(value.get_shape()))
    return [tensor(value.get_shape(), i64)]


def top(args: Args) -> Types:
    """`topk`: k values of dim and their i64 indices."""
    value: TensorType = args["self"]
    shape, k = value.get_shape(), args["k"]
    dim = wrap_dim(args["dim"], len(shape))
    size = shape[dim] if shape else 1
    if 0 <= size < k:
        raise ValueError(f"k = {k} is more than dim {dim} of {value}")
    new = (*shape[:dim], DYNAMIC if k < 0 else k, *shape[dim + 1 :]) if shape else ()
    return [tensor(new, value.element_type), tensor(new, i64)]


def softmax(args: Args) -> Types:
    """`softmax`, `log_softmax`: self's type, or dtype."""
    value = first_tensor(args)
    wrap_dim(args["dim"], len(value.get_shape()))
    dtype = args.get("dtype") or value.element_type
    if category(dtype) < FLOAT:
        raise ValueError(f"softmax of {dtype} is not defined; give a float dtype")
    return [tensor(value.get_shape(), dtype)]


def softmax_to_float(args: Args) -> Types:
    """`_softmax`, `_log_softmax`: f32 of f16 if half_to_float."""
    from xdsl.dialects.builtin import f32

    if args["half_to_float"]:
        return softmax({**args, "dtype": f32})
    return softmax(args)


def diff(args: Args) -> Types:
    """`diff`: n entries less along dim, more by those put before and behind; 0 leaves it alone."""
    value: TensorType = args["self"]
    shape = list(value.get_shape())
    if args["n"] == 0:
        return [value]
    if not shape or args["n"] < 0:
        raise ValueError(f"no difference of order {args['n']} of {value}")
    dim = wrap_dim(args["dim"], len(shape))
    for extra in (args["prepend"], args["append"]):
        if extra is not None and shape[dim] >= 0:
            size = extra.get_shape()[dim]
            shape[dim] = DYNAMIC if size < 0 else shape[dim] + size
    if shape[dim] >= 0:
        shape[dim] = max(shape[dim] - args["n"], 0)
    return [tensor(shape, value.element_type)]


def trapezoid(args: Args) -> Types:
    """`trapezoid`, `trapz`: dim summed up."""
    value: TensorType = args["y"]
    shape = reduced(value.get_shape(), args["dim"], False)
    return [tensor(shape, float_of(value.element_type))]


def cumulative_trapezoid(args: Args) -> Types:
    """One entry less along dim."""
    value: TensorType = args["y"]
    shape = list(value.get_shape())
    dim = wrap_dim(args["dim"], len(shape))
    shape[dim] = shape[dim] if shape[dim] < 0 else max(shape[dim] - 1, 0)
    return [tensor(shape, float_of(value.element_type))]


def quantile(args: Args) -> Types:
    """A dim for q in front (if it is a vector), then self without dim."""
    value: TensorType = args["self"]
    q = args["q"]
    lead: Shape = q.get_shape() if isinstance(q, TensorType) else ()
    shape = reduced(value.get_shape(), args["dim"], args["keepdim"])
    return [tensor((*lead, *shape), value.element_type)]


def trace(args: Args) -> Types:
    """The sum of the diagonal of a matrix."""
    value: TensorType = args["self"]
    if len(value.get_shape()) != 2:
        raise ValueError(f"needs a matrix, got {value}")
    return [tensor((), sum_of(value.element_type))]


def norm_of_all(args: Args) -> Types:
    """`native_norm`: of all elements."""
    return [tensor((), args["self"].element_type)]


def number(args: Args) -> Types:
    """`item`: f64, i64 or i1 by the category of self's type."""
    value: TensorType = args["self"]
    if count(value.get_shape()) not in (1, DYNAMIC):
        raise ValueError(f"needs one element, got {value}")
    return [number_type(value.element_type)]


_NUMBERS: dict[int, Attribute] = {BOOL: i1, INTEGER: i64, FLOAT: f64, COMPLEX: c128}


def number_type(dtype: Attribute) -> Attribute:
    """The type of a number taken out of a tensor."""
    return _NUMBERS[category(dtype)]


def dist(args: Args) -> Types:
    """The norm of a difference: 0-d."""
    from lamina.dialects.schema.promotion import result_dtype

    return [tensor((), real_of(float_of(result_dtype([args["self"], args["other"]]))))]
