"""Result types of factorizations, solvers and determinants of (batches of) matrices."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType, i32, i64
from xdsl.ir import Attribute

from lamina.dialects.schema.promotion import complex_of, float_of, real_of, result_dtype
from lamina.dialects.schema.result_rules.reductions import reduced
from lamina.dialects.schema.result_rules.shapes import (
    DYNAMIC,
    Args,
    Shape,
    Types,
    broadcast,
    count,
    first_tensor,
    same_shape,
    show,
    tensor,
)
from lamina.dialects.schema.result_rules.views import square_matrices


def _matrix(args: Args) -> tuple[Shape, int, int, Attribute]:
    """Batch, rows, columns and element type of the first argument."""
    value = first_tensor(args)
    shape = value.get_shape()
    if len(shape) < 2:
        raise ValueError(f"needs at least 2 dims, got {value}")
    return shape[:-2], shape[-2], shape[-1], value.element_type


def _square(args: Args) -> tuple[Shape, int, Attribute]:
    value = first_tensor(args)
    shape = square_matrices(value, next(name for name, v in args.items() if v is value))
    return shape[:-2], shape[-1], value.element_type


def _least(rows: int, columns: int) -> int:
    return DYNAMIC if min(rows, columns) < 0 else min(rows, columns)


def square_same(args: Args) -> Types:
    """`inverse`, `cholesky`, `matrix_exp`: the type of the square matrices."""
    _square(args)
    return [first_tensor(args)]


def determinant(args: Args) -> Types:
    """`det`, `logdet`: one for each matrix."""
    batch, _, dtype = _square(args)
    return [tensor(batch, dtype)]


def determinant_factors(args: Args) -> Types:
    """`_linalg_det`: with the LU factors and pivots."""
    batch, size, dtype = _square(args)
    return [tensor(batch, dtype), first_tensor(args), tensor((*batch, size), i32)]


def sign_and_log(args: Args) -> Types:
    """`slogdet`: the sign, and the log of the absolute value."""
    batch, _, dtype = _square(args)
    return [tensor(batch, dtype), tensor(batch, real_of(dtype))]


def sign_and_log_factors(args: Args) -> Types:
    """`_linalg_slogdet`: with the LU factors and pivots."""
    batch, size, _ = _square(args)
    return [*sign_and_log(args), first_tensor(args), tensor((*batch, size), i32)]


def _singular(args: Args, full: bool) -> tuple[TensorType, TensorType, TensorType]:
    batch, rows, columns, dtype = _matrix(args)
    rank = _least(rows, columns)
    left, right = (rows, columns) if full else (rank, rank)
    return (
        tensor((*batch, rows, left), dtype),
        tensor((*batch, rank), real_of(dtype)),
        tensor((*batch, right, columns), dtype),
    )


def svd(args: Args) -> Types:
    """`linalg_svd`: U, S and V^H; the outer two empty without compute_uv."""
    left, values, right = _singular(args, args["full_matrices"])
    if args.get("compute_uv", True):
        return [left, values, right]
    empty = tensor((0,), left.element_type)
    return [empty, values, empty]


def svd_untransposed(args: Args) -> Types:
    """`svd`: U, S and V; square zeros without compute_uv."""
    full = not args["some"] or not args["compute_uv"]
    left, values, right = _singular(args, full)
    *batch, rows, columns = right.get_shape()
    return [left, values, tensor((*batch, columns, rows), right.element_type)]


def singular_values(args: Args) -> Types:
    """`linalg_svdvals`: real."""
    return [_singular(args, False)[1]]


def qr(args: Args) -> Types:
    """Q and R; `reduced`, `complete`, or `r` with an empty Q."""
    batch, rows, columns, dtype = _matrix(args)
    mode = args["mode"] if "mode" in args else "reduced" if args["some"] else "complete"
    inner = rows if mode == "complete" else _least(rows, columns)
    left = tensor((0,) if mode == "r" else (*batch, rows, inner), dtype)
    return [left, tensor((*batch, inner, columns), dtype)]


def householder(args: Args) -> Types:
    """`geqrf`: the factors in place of the matrix, and a scale for each reflector."""
    batch, rows, columns, dtype = _matrix(args)
    return [first_tensor(args), tensor((*batch, _least(rows, columns)), dtype)]


def householder_product(args: Args) -> Types:
    """`linalg_householder_product`: the type of the reflectors."""
    _matrix(args)
    return [first_tensor(args)]


def pseudo_inverse(args: Args) -> Types:
    """`pinverse`: rows and columns change places."""
    batch, rows, columns, dtype = _matrix(args)
    return [tensor((*batch, columns, rows), dtype)]


def rank(args: Args) -> Types:
    """`linalg_matrix_rank`: i64 for each matrix, broadcast with the tolerances."""
    matrices = first_tensor(args)
    batch = _matrix(args)[0]
    tolerances = [v for v in args.values() if isinstance(v, TensorType) and v is not matrices]
    return [tensor(broadcast(batch, *(t.get_shape() for t in tolerances)), i64)]


def symmetric_eigen(args: Args) -> Types:
    """`linalg_eigh`: real eigenvalues, and eigenvectors (empty without compute_v)."""
    batch, size, dtype = _square(args)
    vectors = first_tensor(args) if args.get("compute_v", True) else tensor((0,), dtype)
    return [tensor((*batch, size), real_of(dtype)), vectors]


def symmetric_eigenvalues(args: Args) -> Types:
    """`linalg_eigvalsh`: real."""
    return symmetric_eigen(args)[:1]


def eigen(args: Args) -> Types:
    """`linalg_eig`: complex eigenvalues and eigenvectors."""
    batch, size, dtype = _square(args)
    return [
        tensor((*batch, size), complex_of(dtype)),
        tensor((*batch, size, size), complex_of(dtype)),
    ]


def eigenvalues(args: Args) -> Types:
    """`linalg_eigvals`: complex."""
    return eigen(args)[:1]


def with_info(args: Args) -> Types:
    """`linalg_inv_ex`, `linalg_cholesky_ex`: self's type, and an i32 code for each matrix."""
    batch = _square(args)[0]
    return [first_tensor(args), tensor(batch, i32)]


def _solution(args: Args) -> TensorType:
    """Of A X = B; B is a vector if it has one dim, or A's shape without columns."""
    a, b = args["A"], args["B"]
    left, right = square_matrices(a, "A"), b.get_shape()
    vector = len(right) == 1 or (
        len(right) == len(left) - 1 and same_shape(right, left[:-1]) and DYNAMIC not in right
    )
    matrix = (*right, 1) if vector else right
    rows = matrix[-2] if args["left"] else matrix[-1]
    if min(rows, left[-1]) >= 0 and rows != left[-1]:
        raise ValueError(f"A {a} and B {b} do not fit together")
    shape = (*broadcast(left[:-2], matrix[:-2]), *matrix[-2:])
    return tensor(shape[:-1] if vector else shape, result_dtype([a, b]))


def solve(args: Args) -> Types:
    """`linalg_solve`."""
    return [_solution(args)]


def solve_with_info(args: Args) -> Types:
    """`linalg_solve_ex`: with an i32 code for each matrix."""
    return [_solution(args), tensor(args["A"].get_shape()[:-2], i32)]


def solve_with_factors(args: Args) -> Types:
    """`_linalg_solve_ex`: with LU factors, pivots and a code."""
    shape = args["A"].get_shape()
    pivots = tensor(shape[:-1], i32)
    return [_solution(args), args["A"], pivots, tensor(shape[:-2], i32)]


def lu_factor(args: Args) -> Types:
    """`linalg_lu_factor`: factors and i32 pivots."""
    batch, rows, columns, _ = _matrix(args)
    return [first_tensor(args), tensor((*batch, _least(rows, columns)), i32)]


def lu_factor_with_info(args: Args) -> Types:
    """`linalg_lu_factor_ex`, `_lu_with_info`: with an i32 code for each matrix."""
    return [*lu_factor(args), tensor(_matrix(args)[0], i32)]


def lu(args: Args) -> Types:
    """`linalg_lu`: P (empty without pivoting), L and U."""
    batch, rows, columns, dtype = _matrix(args)
    inner = _least(rows, columns)
    permutation = (*batch, rows, rows) if args["pivot"] else (0,)
    return [
        tensor(permutation, dtype),
        tensor((*batch, rows, inner), dtype),
        tensor((*batch, inner, columns), dtype),
    ]


def lu_unpack(args: Args) -> Types:
    """P, L and U out of LU factors; empty where not asked for."""
    batch, rows, columns, dtype = _matrix(args)
    inner = _least(rows, columns)
    empty = tensor((0,), dtype)
    factors = [tensor((*batch, rows, inner), dtype), tensor((*batch, inner, columns), dtype)]
    permutation = tensor((*batch, rows, rows), dtype) if args["unpack_pivots"] else empty
    return [permutation, *(factors if args["unpack_data"] else [empty, empty])]


def _with_batch(matrices: TensorType, right: TensorType) -> TensorType:
    shape = right.get_shape()
    if len(shape) < 2:
        raise ValueError(f"needs at least 2 dims, got {right}")
    batch = broadcast(matrices.get_shape()[:-2], shape[:-2])
    return tensor((*batch, *shape[-2:]), right.element_type)


def lu_solve(args: Args) -> Types:
    """`lu_solve`, `linalg_lu_solve`: the right side, batches broadcast."""
    if "B" in args:
        return [_with_batch(args["LU"], args["B"])]
    return [_with_batch(args["LU_data"], args["self"])]


def ldl_factor(args: Args) -> Types:
    """`linalg_ldl_factor`: factors and i32 pivots."""
    batch, size, _ = _square(args)
    return [first_tensor(args), tensor((*batch, size), i32)]


def ldl_factor_with_info(args: Args) -> Types:
    """`linalg_ldl_factor_ex`: with an i32 code for each matrix."""
    return [*ldl_factor(args), tensor(_square(args)[0], i32)]


def ldl_solve(args: Args) -> Types:
    """`linalg_ldl_solve`: the right side, batches broadcast."""
    return [_with_batch(args["LD"], args["B"])]


def cholesky_solve(args: Args) -> Types:
    """The right side, batches broadcast."""
    return [_with_batch(args["input2" if "input2" in args else "A"], args["self"])]


def triangular_solve(args: Args) -> Types:
    """The solution, and a copy of the coefficients; batches broadcast."""
    return [_with_batch(args["A"], args["self"]), _with_batch(args["self"], args["A"])]


def solve_triangular(args: Args) -> Types:
    """`linalg_solve_triangular`."""
    return [_with_batch(args["self"], args["B"])]


def reflect(args: Args) -> Types:
    """`ormqr`: the type of the matrix that is multiplied."""
    return [args["input3"]]


def cross(args: Args) -> Types:
    """`linalg_cross`, `cross`: broadcast; dim has 3 entries."""
    a, b = args["self"], args["other"]
    shape = broadcast(a.get_shape(), b.get_shape())
    dim = args["dim"]
    if dim is not None and not -len(shape) <= dim < len(shape):
        raise ValueError(f"dim {dim} is out of range for a tensor of rank {len(shape)}")
    if dim is not None and shape[dim] not in (3, DYNAMIC):
        raise ValueError(f"dim {dim} must be 3, got shape {show(shape)}")
    return [tensor(shape, result_dtype([a, b]))]


def condition_number(args: Args) -> Types:
    """`linalg_cond`: real, one for each matrix."""
    batch, _, _, dtype = _matrix(args)
    return [tensor(batch, real_of(dtype))]


def tensor_inverse(args: Args) -> Types:
    """`linalg_tensorinv`: dims behind `ind`, then those before it."""
    value, ind = args["self"], args["ind"]
    shape = value.get_shape()
    before, behind = count(shape[:ind]), count(shape[ind:])
    if ind <= 0 or (min(before, behind) >= 0 and before != behind):
        raise ValueError(f"{value} is not square when cut before dim {ind}")
    return [tensor((*shape[ind:], *shape[:ind]), value.element_type)]


def tensor_solve(args: Args) -> Types:
    """`linalg_tensorsolve`: self's dims behind those of other."""
    value, other = args["self"], args["other"]
    shape = list(value.get_shape())
    dims = [dim % len(shape) for dim in args["dims"] or ()]
    moved = [s for d, s in enumerate(shape) if d not in dims] + [shape[d] for d in dims]
    return [tensor(moved[len(other.get_shape()) :], value.element_type)]


def covariance(args: Args) -> Types:
    """`cov`, `corrcoef`: variables by variables; 0-d of one variable."""
    value: TensorType = args["self"]
    shape = value.get_shape()
    if len(shape) > 2:
        raise ValueError(f"needs at most 2 dims, got {value}")
    variables = shape[:1] * 2 if len(shape) == 2 and shape[0] != 1 else ()
    weights = args.get("aweights")
    dtype = result_dtype([value] if weights is None else [value, weights])
    return [tensor(variables, float_of(dtype))]


def trilinear(args: Args) -> Types:
    """`_trilinear`: three tensors with new dims multiplied, summed over sumdim."""
    shapes: list[Shape] = []
    for place in "123":
        shape = list(args[f"i{place}"].get_shape())
        for dim in args[f"expand{place}"]:
            shape.insert(dim, 1)
        shapes.append(tuple(shape))
    values = [args[f"i{place}"] for place in "123"]
    return [tensor(reduced(broadcast(*shapes), args["sumdim"], False), result_dtype(values))]


def scaled_product(args: Args) -> Types:
    """`_scaled_mm`: out_dtype, or self's."""
    from lamina.dialects.schema.result_rules.matmul import product_shape

    a, b = args["self"], args["mat2"]
    return [tensor(product_shape(a, b), args["out_dtype"] or a.element_type)]
