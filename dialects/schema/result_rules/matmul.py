"""Result types of matrix products."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType, i32
from xdsl.ir import Attribute

from lamina.dialects.schema.promotion import sum_of
from lamina.dialects.schema.result_rules.shapes import (
    Args,
    Shape,
    Types,
    broadcast,
    merge_size,
    need_rank,
    same_shape,
    same_size,
    show,
    tensor,
    wrap_dims,
)


def common_dtype(*values: TensorType | None) -> Attribute:
    """The one element type of all tensors: products do not promote."""
    present = [value for value in values if value is not None]
    for value in present:
        if value.element_type != present[0].element_type:
            raise ValueError(f"element types differ: {present[0]} and {value}")
    return present[0].element_type


def _need_inner(a: TensorType, b: TensorType, left: int, right: int) -> None:
    if not same_size(left, right):
        raise ValueError(f"inner sizes differ: {left} and {right} of {a} and {b}")


def product_shape(a: TensorType, b: TensorType) -> Shape:
    """Of `matmul`: vectors, matrices, or batches of matrices that broadcast."""
    left, right = a.get_shape(), b.get_shape()
    if not left or not right:
        raise ValueError(f"operands must have at least 1 dim, got {a} and {b}")
    _need_inner(a, b, left[-1], right[-2:][0])
    columns = right[-1:] if len(right) > 1 else ()
    rows = left[-2:-1] if len(left) > 1 else ()
    return (*broadcast(left[:-2], right[:-2]), *rows, *columns)


def matmul(args: Args) -> Types:
    """`matmul`, `linalg_matmul`."""
    a, b = _pair(args)
    return [tensor(product_shape(a, b), common_dtype(a, b))]


def _pair(args: Args) -> tuple[TensorType, TensorType]:
    first, second = (v for v in args.values() if isinstance(v, TensorType))
    return first, second


def _fixed_rank(args: Args, left: int, right: int) -> tuple[TensorType, TensorType]:
    a, b = _pair(args)
    names = list(args)
    need_rank(a, left, names[0])
    need_rank(b, right, names[1])
    return a, b


def mm(args: Args) -> Types:
    """Matrix times matrix."""
    a, b = _fixed_rank(args, 2, 2)
    return [tensor(product_shape(a, b), args.get("out_dtype") or common_dtype(a, b))]


def int_mm(args: Args) -> Types:
    """`_int_mm`: i8 matrices to i32."""
    a, b = _fixed_rank(args, 2, 2)
    return [tensor(product_shape(a, b), i32)]


def bmm(args: Args) -> Types:
    """Batches of matrices of equal number."""
    a, b = _fixed_rank(args, 3, 3)
    _need_batch(a, b)
    return [tensor(product_shape(a, b), args.get("out_dtype") or common_dtype(a, b))]


def _need_batch(a: TensorType, b: TensorType) -> None:
    if not same_size(a.get_shape()[0], b.get_shape()[0]):
        raise ValueError(f"batch sizes differ: {a} and {b}")


def mv(args: Args) -> Types:
    """Matrix times vector."""
    a, b = _fixed_rank(args, 2, 1)
    return [tensor(product_shape(a, b), common_dtype(a, b))]


def dot(args: Args) -> Types:
    """`dot`, `vdot`: vector times vector."""
    a, b = _fixed_rank(args, 1, 1)
    return [tensor(product_shape(a, b), common_dtype(a, b))]


def _added(args: Args, shape: Shape, *factors: TensorType) -> Types:
    own: TensorType = args["self"]
    if len(broadcast(own.get_shape(), shape)) != len(shape) or not same_shape(
        broadcast(own.get_shape(), shape), shape
    ):
        raise ValueError(f"{own} does not broadcast to the product's shape {show(shape)}")
    return [tensor(shape, args.get("out_dtype") or common_dtype(own, *factors))]


def addmm(args: Args) -> Types:
    """self + mat1 @ mat2."""
    a, b = args["mat1"], args["mat2"]
    need_rank(a, 2, "mat1")
    need_rank(b, 2, "mat2")
    return _added(args, product_shape(a, b), a, b)


def addmv(args: Args) -> Types:
    """self + mat @ vec."""
    a, b = args["mat"], args["vec"]
    need_rank(a, 2, "mat")
    need_rank(b, 1, "vec")
    return _added(args, product_shape(a, b), a, b)


def baddbmm(args: Args) -> Types:
    """self + batch1 @ batch2."""
    a, b = args["batch1"], args["batch2"]
    need_rank(a, 3, "batch1")
    need_rank(b, 3, "batch2")
    _need_batch(a, b)
    return _added(args, product_shape(a, b), a, b)


def addbmm(args: Args) -> Types:
    """self + the sum of batch1 @ batch2 over the batch."""
    a, b = args["batch1"], args["batch2"]
    need_rank(a, 3, "batch1")
    need_rank(b, 3, "batch2")
    _need_batch(a, b)
    return _added(args, product_shape(a, b)[1:], a, b)


def addr(args: Args) -> Types:
    """self + the outer product of two vectors; all promote."""
    from lamina.dialects.schema.promotion import result_dtype

    first, second = need_rank(args["vec1"], 1, "vec1"), need_rank(args["vec2"], 1, "vec2")
    shape = broadcast(args["self"].get_shape(), (*first, *second))
    return [tensor(shape, result_dtype([args["self"], args["vec1"], args["vec2"]]))]


def outer(args: Args) -> Types:
    """`outer`, `ger`: rows by the first vector, columns by the second; both promote."""
    from lamina.dialects.schema.promotion import result_dtype

    a, b = _fixed_rank(args, 1, 1)
    return [tensor((*a.get_shape(), *b.get_shape()), result_dtype([a, b]))]


def linear(args: Args) -> Types:
    """input @ weight^T + bias: the last dim changes from in to out features."""
    value, weight, bias = args["input"], args["weight"], args["bias"]
    shape, features = value.get_shape(), need_rank(weight, (1, 2), "weight")
    if not shape:
        raise ValueError("the input must have at least 1 dim")
    _need_inner(value, weight, shape[-1], features[-1])
    out = features[:-1]
    if bias is not None and len(bias.get_shape()) == 1 and out:
        _need_features(bias, out[0])
    return [tensor((*shape[:-1], *out), common_dtype(value, weight, bias))]


def _need_features(bias: TensorType, features: int) -> None:
    size = bias.get_shape()[0]
    if size != 1 and not same_size(size, features):
        raise ValueError(f"bias {bias} for {features} features")


def bilinear(args: Args) -> Types:
    """x1^T W x2 + b for each of the weight's out features."""
    first, second = args["input1"], args["input2"]
    weight = need_rank(args["weight"], 3, "weight")
    _need_inner(first, args["weight"], first.get_shape()[-1], weight[1])
    _need_inner(second, args["weight"], second.get_shape()[-1], weight[2])
    dtype = common_dtype(first, second, args["weight"], args["bias"])
    return [tensor((*first.get_shape()[:-1], weight[0]), dtype)]


def inner(args: Args) -> Types:
    """`inner`: sum of products over the last dims."""
    a, b = _pair(args)
    left, right = a.get_shape(), b.get_shape()
    if not left or not right:
        return [tensor(left or right, common_dtype(a, b))]
    _need_inner(a, b, left[-1], right[-1])
    return [tensor((*left[:-1], *right[:-1]), common_dtype(a, b))]


def kron(args: Args) -> Types:
    """Kronecker product: sizes multiply."""
    from lamina.dialects.schema.promotion import result_dtype
    from lamina.dialects.schema.result_rules.shapes import count

    a, b = _pair(args)
    left, right = a.get_shape(), b.get_shape()
    rank = max(len(left), len(right))
    left, right = (1,) * (rank - len(left)) + left, (1,) * (rank - len(right)) + right
    return [tensor([count(p) for p in zip(left, right, strict=True)], result_dtype([a, b]))]


def tensordot(args: Args) -> Types:
    """Sum of products over pairs of dims: self's other dims, then other's."""
    a, b = args["self"], args["other"]
    left, right = a.get_shape(), b.get_shape()
    dims = wrap_dims(args["dims_self"], len(left), "dims_self")
    others = wrap_dims(args["dims_other"], len(right), "dims_other")
    if len(dims) != len(others):
        raise ValueError(f"{len(dims)} dims of self for {len(others)} of other")
    for dim, other in zip(dims, others, strict=True):
        if 1 not in (left[dim], right[other]):
            _need_inner(a, b, left[dim], right[other])
    shape = [s for d, s in enumerate(left) if d not in dims]
    shape += [s for d, s in enumerate(right) if d not in others]
    return [tensor(shape, common_dtype(a, b))]


def chain(args: Args) -> Types:
    """`linalg_multi_dot`, `chain_matmul`: matrices, vectors allowed at the ends."""
    tensors: list[TensorType] = args["tensors"] if "tensors" in args else args["matrices"]
    product = tensors[0]
    for factor in tensors[1:]:
        product = tensor(product_shape(product, factor), common_dtype(product, factor))
    return [product]


def vecdot(args: Args) -> Types:
    """`linalg_vecdot`: sum of products along dim, the rest broadcast."""
    from lamina.dialects.schema.result_rules.reductions import reduced

    a, b = args["x"], args["y"]
    shape = broadcast(a.get_shape(), b.get_shape())
    return [tensor(reduced(shape, args["dim"], False), common_dtype(a, b))]


def einsum(args: Args) -> Types:
    """Einstein sums: letters name dims, `...` stands for dims that broadcast."""
    tensors: list[TensorType] = args["tensors"]
    left, arrow, right = args["equation"].replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(tensors):
        raise ValueError(f"equation '{args['equation']}' is not of {len(tensors)} operands")
    sizes: dict[str, int] = {}
    batch: Shape = ()
    for term, value in zip(terms, tensors, strict=True):
        batch = broadcast(batch, _bind_letters(term, value, sizes))
    if not arrow:
        letters = "".join(terms).replace(".", "")
        right = ("..." if "..." in left else "") + "".join(
            letter for letter in sorted(set(letters)) if letters.count(letter) == 1
        )
    before, dots, after = right.partition("...")
    missing = [letter for letter in before + after if letter not in sizes]
    if missing:
        raise ValueError(f"letter '{missing[0]}' of the result is in no operand")
    shape = [sizes[letter] for letter in before] + list(batch if dots else ())
    shape += [sizes[letter] for letter in after]
    dtype = common_dtype(*tensors)
    return [tensor(shape, sum_of(dtype) if _sums_alone(terms, right) else dtype)]


def _sums_alone(terms: list[str], right: str) -> bool:
    """Whether a letter is summed over in one operand only: a `sum`, which widens integers."""
    letters = [set(term) for term in terms]
    return any(
        letter not in right and sum(letter in others for others in letters) == 1
        for letter in set().union(*letters)
    )


def _bind_letters(term: str, value: TensorType, sizes: dict[str, int]) -> Shape:
    shape = value.get_shape()
    before, dots, after = term.partition("...")
    extra = len(shape) - len(before) - len(after)
    if extra < 0 or (extra and not dots):
        raise ValueError(f"term '{term}' does not fit {value}")
    named: Sequence[int] = [*shape[: len(before)], *shape[len(before) + extra :]]
    for letter, size in zip(before + after, named, strict=True):
        known = sizes.get(letter, 1)
        if known != 1 and size != 1 and not same_size(known, size):
            raise ValueError(f"letter '{letter}' stands for {known} and {size}")
        sizes[letter] = merge_size(known, size) if known != 1 else size
    return shape[len(before) : len(before) + extra]


def grouped(args: Args) -> Types:
    """`_grouped_mm`: groups of rows, of columns, or a product for each group of what is summed."""
    left, right = args["self"].get_shape(), args["mat2"].get_shape()
    if not {len(left), len(right)} <= {2, 3} or not same_size(left[-1], right[-2]):
        raise ValueError(f"cannot multiply groups of {args['self']} by {args['mat2']}")
    outer = ()
    if len(left) == len(right) == 3:
        outer = (left[0],)
    elif len(left) == len(right) == 2 and args["offs"] is not None:
        outer = args["offs"].get_shape()
    dtype = args["out_dtype"] or args["self"].element_type
    return [tensor((*outer, left[-2], right[-1]), dtype)]
