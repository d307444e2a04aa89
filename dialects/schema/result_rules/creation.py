"""Result types of tensors made from sizes and numbers."""

from __future__ import annotations

from math import ceil, isfinite
from typing import Any

from xdsl.dialects.builtin import TensorType, f32, i64
from xdsl.ir import Attribute

from lamina.dialects.schema.promotion import default_of, float_of, result_dtype, sum_of
from lamina.dialects.schema.result_rules.shapes import (
    DYNAMIC,
    Args,
    Types,
    first_tensor,
    known_shape,
    need_rank,
    size_or_dynamic,
    tensor,
)
from lamina.dialects.schema.values import RuntimeInt
from lamina.dialects.sizes import Size


def _sizes(args: Args) -> tuple[int, ...]:
    for size in args["size"]:
        if size < -1 and size != DYNAMIC:
            raise ValueError(f"a negative size in {list(args['size'])}")
    return known_shape(args["size"])


def empty(args: Args) -> Types:
    """`empty`, `zeros`, `ones`, `rand`, `randn`: f32 without dtype."""
    return [tensor(_sizes(args), args.get("dtype") or f32)]


def integers(args: Args) -> Types:
    """`randint`, `randperm`: i64 without dtype."""
    sizes = _sizes(args) if "size" in args else (size_or_dynamic(args["n"]),)
    return [tensor(sizes, args.get("dtype") or i64)]


def full(args: Args) -> Types:
    """The number's own element type without dtype."""
    return [tensor(_sizes(args), args.get("dtype") or default_of(args["fill_value"]))]


def scalar_tensor(args: Args) -> Types:
    """0-d; f32 without dtype."""
    return [tensor((), args["dtype"] or f32)]


def like(args: Args) -> Types:
    """`zeros_like` and others: self's shape, and its element type without dtype."""
    value = first_tensor(args)
    return [tensor(value.get_shape(), args.get("dtype") or value.element_type)]


def new(args: Args) -> Types:
    """`new_zeros` and others: the sizes, and self's element type without dtype."""
    return [tensor(_sizes(args), args.get("dtype") or args["self"].element_type)]


def zeros_like_batched(args: Args) -> Types:
    """`_new_zeros_with_same_feature_meta`: other's shape and dtype, after batch dims of self's."""
    batch = args["self"].get_shape()[: args["self_num_batch_dims"]]
    return [tensor((*batch, *args["other"].get_shape()), args["other"].element_type)]


def arange(args: Args) -> Types:
    """ceil((end - start) / step) entries; i64 if all three are integers, else f32.

    For i64 torch cuts the fractions of all three off first (`computeArangeSize`).
    """
    if isinstance(args["end"], Size):
        return [tensor((_length_up_to(args["end"], args),), args["dtype"] or i64)]
    start, end, step = args.get("start", 0), args["end"], args.get("step", 1)
    numbers = [v for v in (start, end, step) if isinstance(v, int | float)]
    if len(numbers) < 3 or any(v == DYNAMIC or isinstance(v, RuntimeInt) for v in numbers):
        return [tensor((DYNAMIC,), args["dtype"] or i64)]
    if step == 0 or not isfinite(end - start) or (end - start) * (1 if step > 0 else -1) < 0:
        raise ValueError(f"no way from {start} to {end} in steps of {step}")
    dtype = args["dtype"]
    if dtype is None:
        dtype = f32 if any(isinstance(v, float) for v in numbers) else i64
    if dtype == i64:
        start, end, step = int(start), int(end), int(step)
        if step == 0:
            raise ValueError("a step of less than one does not move among integers")
    if all(isinstance(v, int) for v in (start, end, step)):
        length = -(-(end - start) // step)
    else:
        length = ceil((end - start) / step)
    return [tensor((length,), dtype)]


def _length_up_to(end: Size, args: Args) -> Any:
    """How many integers there are in steps of 1; unknown where the end may lie in front."""
    start: Any = args.get("start", 0)
    if args.get("step", 1) != 1 or not isinstance(start, int | Size):
        return DYNAMIC
    length = end - start
    least = length.range[0] if isinstance(length, Size) else length
    return length if least >= 0 else DYNAMIC


def linspace(args: Args) -> Types:
    """`linspace`, `logspace`: `steps` entries; f32 without dtype."""
    for bound in (args["start"], args["end"]):
        if isinstance(bound, TensorType) and bound.get_shape():
            raise ValueError(f"start and end must be 0-d, got {bound}")
    if args["steps"] < 0:
        raise ValueError(f"steps must not be negative, got {args['steps']}")
    return [tensor((args["steps"],), args["dtype"] or f32)]


def eye(args: Args) -> Types:
    """n rows, and n or m columns."""
    rows, columns = args["n"], args.get("m", args["n"])
    return [tensor(known_shape((rows, columns)), args["dtype"] or f32)]


def triangle_indices(args: Args) -> Types:
    """`tril_indices`: two rows, a column for each element on or below the diagonal."""
    rows, columns, offset = args["row"], args["col"], args["offset"]
    number = sum(min(max(row + offset + 1, 0), columns) for row in range(rows))
    return [tensor((2, number), args["dtype"] or i64)]


def upper_triangle_indices(args: Args) -> Types:
    """`triu_indices`: two rows, a column for each element on or above the diagonal."""
    rows, columns, offset = args["row"], args["col"], args["offset"]
    number = sum(columns - min(max(row + offset, 0), columns) for row in range(rows))
    return [tensor((2, number), args["dtype"] or i64)]


def window(args: Args) -> Types:
    """`hann_window` and others: a vector; f32 without dtype."""
    return [tensor((size_or_dynamic(args["window_length"]),), args["dtype"] or f32)]


def normal(args: Args) -> Types:
    """`normal` with tensors of means or deviations."""
    from lamina.dialects.schema.result_rules.pointwise import joint_shape

    values = [v for v in (args["mean"], args["std"]) if isinstance(v, TensorType)]
    dtype: Attribute = float_of(result_dtype(values))
    return [tensor(joint_shape(list(values)), dtype)]


def multinomial(args: Args) -> Types:
    """num_samples i64 indices for each row."""
    shape = need_rank(args["self"], (1, 2), "self")
    return [tensor((*shape[:-1], size_or_dynamic(args["num_samples"])), i64)]


def vander(args: Args) -> Types:
    """`linalg_vander`: powers 0 to N-1 along a new last dim."""
    value: TensorType = args["x"]
    shape = value.get_shape()
    shape = shape or (1,)
    columns = shape[-1] if args["N"] is None else size_or_dynamic(args["N"])
    return [tensor((*shape, columns), sum_of(value.element_type))]


def vander_flat(args: Args) -> Types:
    """`vander`: of a vector."""
    need_rank(args["x"], 1, "x")
    return vander(args)


def range_inclusive(args: Args) -> Types:
    """`range`: start to end, both included; f32 without dtype."""
    start, end, step = args["start"], args["end"], args.get("step", 1)
    if any(isinstance(value, complex) for value in (start, end, step)):
        raise ValueError("a range needs real numbers")
    if step == 0 or not isfinite(end - start) or (end - start) * (1 if step > 0 else -1) < 0:
        raise ValueError(f"no way from {start} to {end} in steps of {step}")
    return [tensor((int((end - start) / step) + 1,), args["dtype"] or f32)]


def resize(args: Args) -> Types:
    """`resize`: self's element type with new sizes."""
    sizes = args["size"] if "size" in args else args["the_template"].get_shape()
    return [tensor(known_shape(sizes), args["self"].element_type)]
