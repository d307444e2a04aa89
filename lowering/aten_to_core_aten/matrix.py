"""Norms, products and equations of matrices, from singular values, products and solvers."""

from __future__ import annotations

from math import inf, prod

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.complex import conjugate
from lamina.lowering.aten_to_core_aten.linear import matmul_values
from lamina.lowering.aten_to_core_aten.reduction import magnitude, vector_norm
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.tensor_types import (
    element_of,
    is_complex,
    is_integer,
    normalized,
    rank_of,
    shape_of,
)

Order = float | str


def _largest(b: CoreBuilder, x: SSAValue, dim: int, keep: bool) -> SSAValue:
    """The largest number along `dim`; none of them make 0, as no norm is less."""
    if shape_of(x)[dim]:
        return b("amax", x, [dim], keep)
    return b("sum.dim_IntList", x, [dim], keep)


def _singular_values(b: CoreBuilder, x: SSAValue, dims: list[int]) -> SSAValue:
    rest = [d for d in range(rank_of(x)) if d not in dims]
    return b("linalg_svdvals", b.permute(x, [*rest, *dims]))


def matrix_norm(b: CoreBuilder, x: SSAValue, order: Order, dims: list[int], keep: bool) -> SSAValue:
    """The matrix norm over two dimensions: fro, nuc, 1, -1, 2, -2, inf or -inf."""
    rank = rank_of(x)
    rows, columns = (normalized(d, rank) for d in dims)
    if order == "fro":
        return vector_norm(b, x, 2, [rows, columns], keep)
    if order in ("nuc", 2, -2):
        values = _singular_values(b, x, [rows, columns])
        if order == "nuc":
            made = b("sum.dim_IntList", values, [-1], False)
        else:
            made = _largest(b, values, -1, False) if order == 2 else b("amin", values, [-1], False)
        shape = [1 if d in (rows, columns) else e for d, e in enumerate(shape_of(x))]
        return b.view(made, shape) if keep else made
    if order in (1, -1, inf, -inf):
        assert isinstance(order, int | float)
        along, across = (rows, columns) if abs(order) == 1 else (columns, rows)
        sums = b("sum.dim_IntList", b("abs", x), [along], True)
        made = _largest(b, sums, across, True) if order > 0 else b("amin", sums, [across], True)
        rest = [e for d, e in enumerate(shape_of(x)) if d not in (rows, columns)]
        return made if keep else b.view(made, rest)
    raise b.refuse(f"no matrix norm of order {order}", "fro, nuc, inf, -inf, 1, -1, 2, -2")


def _as_floats(b: CoreBuilder, op: SchemaOp, order: Order | None, *, of_matrices: bool) -> SSAValue:
    """The input in the result's dtype; complex ones stay only for singular values."""
    x = op.operands[0]
    if of_matrices and order in ("nuc", 2, -2) and is_complex(element_of(x)):
        return x
    return b.cast(magnitude(b, x), element_of(op.results[0]))


@lowers("linalg_matrix_norm", "linalg_matrix_norm.str_ord")
def linalg_matrix_norm(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The norm of each matrix of a batch."""
    order: Order = op.arg("ord")
    x = _as_floats(b, op, order, of_matrices=True)
    return matrix_norm(b, x, order, op.arg("dim"), op.arg("keepdim"))


@lowers("linalg_norm", "linalg_norm.ord_str", "nuclear_norm", "nuclear_norm.dim")
def linalg_norm(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """A vector norm over one dimension or of everything, a matrix norm over two."""
    names = {argument.name for argument in op.schema.args}
    order: Order | None = op.arg("ord") if "ord" in names else "nuc"
    dims = op.arg("dim") if "dim" in names else None
    rank = rank_of(op.operands[0])
    if order is not None and dims is None and rank == 2:
        dims = [0, 1]
    of_matrices = isinstance(order, str) or (order is not None and len(dims or ()) == 2)
    x = _as_floats(b, op, order, of_matrices=of_matrices)
    if isinstance(order, str) or (order is not None and of_matrices):
        if dims is None or len(dims) != 2:
            raise b.refuse(f"a matrix norm over dimensions {dims} of rank {rank}")
        return matrix_norm(b, x, order, dims, op.arg("keepdim"))
    return vector_norm(b, x, 2 if order is None else order, dims, op.arg("keepdim"))


@lowers("linalg_cond", "linalg_cond.p_str")
def linalg_cond(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The norm times the norm of the inverse; by singular values for p = 2, -2 and None."""
    x, order = op.arg("self"), op.arg("p")
    if order in (None, 2, -2):
        values = b("linalg_svdvals", x)
        high = b("amax", values, [-1], False)
        low = b("amin", values, [-1], False)
        return b("div.Tensor", low, high) if order == -2 else b("div.Tensor", high, low)
    inverse, info = b.op("linalg_inv_ex", x).results
    dims = [-2, -1]
    product = b(
        "mul.Tensor",
        matrix_norm(b, x, order, dims, False),
        matrix_norm(b, inverse, order, dims, False),
    )
    singular = b("ne.Scalar", info, 0)
    return b("where.self", singular, b.full([], inf, element_of(product)), product)


@lowers("linalg_multi_dot", "chain_matmul")
def multi_dot(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The product in the order of fewest multiplications (matrix chain multiplication)."""
    factors: list[SSAValue] = list(op.operands)
    first, last = rank_of(factors[0]) == 1, rank_of(factors[-1]) == 1
    if first:
        factors[0] = b("unsqueeze", factors[0], 0)
    if last:
        factors[-1] = b("unsqueeze", factors[-1], 1)
    sizes = [shape_of(factors[0])[0], *(shape_of(f)[1] for f in factors)]
    product = _chain(b, factors, _splits(sizes), 0, len(factors) - 1)
    return b.view(product, shape_of(op.results[0])) if first or last else product


def _splits(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Where each run of factors is best cut; matrix i is sizes[i] by sizes[i + 1]."""
    count = len(sizes) - 1
    costs = {(i, i): 0 for i in range(count)}
    cuts: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            costs[i, j], cuts[i, j] = min(
                (costs[i, k] + costs[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            )
    return cuts


def _chain(
    b: CoreBuilder, factors: list[SSAValue], cuts: dict[tuple[int, int], int], i: int, j: int
) -> SSAValue:
    if i == j:
        return factors[i]
    k = cuts[i, j]
    return b("mm", _chain(b, factors, cuts, i, k), _chain(b, factors, cuts, k + 1, j))


@lowers("linalg_vander")
def vander(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Powers 0 to N - 1 of each element, in a last dimension."""
    x, element = op.arg("x"), element_of(op.results[0])
    x = b.cast(x, element)
    count = shape_of(op.results[0])[-1]
    powers = [b.full(shape_of(x), 1, element)]
    while len(powers) < count:
        powers.append(b("mul.Tensor", powers[-1], x))
    columns = [b("unsqueeze", power, -1) for power in powers[:count]]
    return b.view(b("cat", columns, -1), shape_of(op.results[0]))


@lowers("linalg_tensorinv")
def tensorinv(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The inverse of the matrix that the first `ind` dimensions and the others make."""
    x, ind = op.arg("self"), op.arg("ind")
    shape = shape_of(x)
    rows, columns = prod(shape[:ind]), prod(shape[ind:])
    if rows != columns:
        raise b.refuse(f"dimensions of {rows} and {columns} elements make no square matrix")
    return b.view(b("linalg_inv", b.view(x, [rows, columns])), shape_of(op.results[0]))


@lowers("linalg_tensorsolve")
def tensorsolve(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """X with tensordot(A, X) = B."""
    a, right, dims = op.arg("self"), op.arg("other"), op.arg("dims")
    if dims is not None:
        moved = [normalized(d, rank_of(a)) for d in dims]
        a = b.permute(a, [*(d for d in range(rank_of(a)) if d not in moved), *moved])
    count = prod(shape_of(right))
    result = shape_of(op.results[0])
    solved = b("linalg_solve", b.view(a, [count, prod(result)]), b.view(right, [count]))
    return b.view(solved, result)


@lowers("linalg_matrix_rank", "linalg_matrix_rank.tol_tensor")
def matrix_rank(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The older spelling: `tol` is an absolute tolerance."""
    x, hermitian = op.operands[0], op.arg("hermitian")
    tolerance = op.arg("tol")
    if isinstance(tolerance, SSAValue):
        zero = b.full([], 0.0, element_of(tolerance))
        name = "linalg_matrix_rank.atol_rtol_tensor"
        return b(name, x, atol=tolerance, rtol=zero, hermitian=hermitian)
    name = "linalg_matrix_rank.atol_rtol_float"
    return b(name, x, atol=tolerance, rtol=0.0, hermitian=hermitian)


@lowers("linalg_pinv", "linalg_pinv.rcond_tensor", "pinverse")
def pinv(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The older spelling: `rcond` is a relative tolerance."""
    names = {argument.name for argument in op.schema.args}
    hermitian = op.arg("hermitian") if "hermitian" in names else False
    x, tolerance = op.arg("self"), op.arg("rcond")
    kind = "tensor" if isinstance(tolerance, SSAValue) else "float"
    return b(f"linalg_pinv.atol_rtol_{kind}", x, rtol=tolerance, hermitian=hermitian)


@lowers("matrix_exp")
def matrix_exp(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Another name of linalg_matrix_exp."""
    return b("linalg_matrix_exp", op.arg("self"))


@lowers("matrix_power")
def matrix_power(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Another name of linalg_matrix_power."""
    return b("linalg_matrix_power", op.arg("self"), op.arg("n"))


@lowers("det")
def det(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Another name of linalg_det."""
    return b("linalg_det", op.arg("self"))


@lowers("lu_solve")
def lu_solve(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """linalg_lu_solve."""
    return b("linalg_lu_solve", op.arg("LU_data"), op.arg("LU_pivots"), op.arg("self"))


@lowers("_lu_with_info")
def lu_with_info(op: SchemaOp, b: CoreBuilder) -> list[SSAValue]:
    """linalg_lu_factor_ex."""
    pivot, check = op.arg("pivot"), op.arg("check_errors")
    factored = b.op("linalg_lu_factor_ex", op.arg("self"), pivot=pivot, check_errors=check)
    return list(factored.results)


@lowers("linalg_vecdot")
def vecdot(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The sum of products along a dimension, the left side conjugated."""
    x, y = op.arg("x"), op.arg("y")
    if is_complex(element_of(x)):
        x = conjugate(b, x)
    return b("sum.dim_IntList", b("mul.Tensor", x, y), [op.arg("dim")], False)


def _summed(
    b: CoreBuilder, x: SSAValue, dims: list[int], other: SSAValue, others: list[int]
) -> SSAValue:
    """`x` summed along those of `dims` whose partner in `other` has the extent 1."""
    shape, partners = shape_of(x), shape_of(other)
    meets = [d for d, e in zip(dims, others, strict=True) if partners[e] == 1 != shape[d]]
    element = element_of(x)
    dtype = element if is_integer(element) else None  # else the sum is of i64
    return b("sum.dim_IntList", x, meets, True, dtype=dtype) if meets else x


@lowers("tensordot")
def tensordot(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Contracts pairs of dimensions; what meets an extent of 1 is summed first."""
    x, y = op.arg("self"), op.arg("other")
    left = [normalized(d, rank_of(x)) for d in op.arg("dims_self")]
    right = [normalized(d, rank_of(y)) for d in op.arg("dims_other")]
    x, y = _summed(b, x, left, y, right), _summed(b, y, right, x, left)
    rows = [d for d in range(rank_of(x)) if d not in left]
    columns = [d for d in range(rank_of(y)) if d not in right]
    count = prod(shape_of(x)[d] for d in left)
    x = b.view(b.permute(x, [*rows, *left]), [prod(shape_of(x)[d] for d in rows), count])
    y = b.view(b.permute(y, [*right, *columns]), [count, prod(shape_of(y)[d] for d in columns)])
    return b.view(matmul_values(b, x, y), shape_of(op.results[0]))


@lowers("_compute_linear_combination")
def linear_combination(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The sum over j of coefficients[i, j] input[j]."""
    x, coefficients = op.arg("input"), op.arg("coefficients")
    flat = b.view(x, [shape_of(x)[0], prod(shape_of(x)[1:])])
    return b.view(b("mm", coefficients, flat), shape_of(op.results[0]))


@lowers("matrix_exp_backward")
def matrix_exp_backward(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The upper right block of exp([[A^T, G], [0, A^T]])."""
    a, grad = op.arg("self"), op.arg("grad")
    rank, size = rank_of(a), shape_of(a)[-1]
    if is_complex(element_of(a)):
        raise b.refuse("the gradient of exponentials of complex matrices", "real tensors")
    turned = b.swap(a, rank - 2, rank - 1)
    none = b.full(shape_of(a), 0, element_of(a))
    rows = [b("cat", pair, rank - 1) for pair in ([turned, grad], [none, turned])]
    made = b("linalg_matrix_exp", b("cat", rows, rank - 2))
    upper = b("slice.Tensor", made, rank - 2, 0, size)
    return b("slice.Tensor", upper, rank - 1, size, 2 * size)
