"""Linear algebra by LAPACK through NumPy and SciPy.

Each kernel means what the aten overload of its name means, batches included: every dimension but
the last two. Where NumPy has no batched function each matrix of the batch is one LAPACK call.
Pivots count from 1. A kernel whose overload has no `info` result raises LinAlgError for a matrix
that the factorization does not exist for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from lamina.dialects.errors import UnsupportedError
from lamina.runtime.extern_kernels.registry import extern_kernel

Array = np.ndarray[Any, np.dtype[Any]]

DTYPES = ("f32", "f64", "complex<f32>", "complex<f64>")


def kernel(name: str, extra: Sequence[str] = ()) -> Callable[[Any], Any]:
    """Registers a kernel of the library `linalg` for all floats, and `extra` dtypes."""
    return extern_kernel(f"linalg.{name}", dtypes=(*DTYPES, *extra))


def lapack(name: str, *arrays: Array) -> Callable[..., Any]:
    """SciPy's binding of a LAPACK routine for these arrays' dtype."""
    try:
        from scipy.linalg import get_lapack_funcs
    except ImportError as error:
        raise UnsupportedError(
            "loop.extern", f"LAPACK's {name} comes with SciPy", nearest="pip install scipy"
        ) from error
    return get_lapack_funcs((name,), arrays)[0]


def blas(name: str, *arrays: Array) -> Callable[..., Any]:
    """SciPy's binding of a BLAS routine for these arrays' dtype; SciPy must be there."""
    from scipy.linalg import get_blas_funcs

    return get_blas_funcs((name,), arrays)[0]


def each(function: Callable[..., Sequence[Any]], *arrays: Array) -> list[Array]:
    """Applies `function` to the matrices of batches of one shape; stacks each of its results."""
    batch = arrays[0].shape[:-2]
    if not batch:
        return [np.asarray(part) for part in function(*arrays)]
    count = prod(batch)
    flat = [a.reshape(count, *a.shape[len(batch) :]) for a in arrays]
    made = [function(*matrices) for matrices in zip(*flat, strict=True)]
    return [np.stack(parts).reshape((*batch, *np.shape(parts[0]))) for parts in zip(*made)]  # noqa: B905


def adjoint(a: Array) -> Array:
    """The conjugate transpose of each matrix."""
    return a.conj().swapaxes(-1, -2)


def empty(a: Array) -> Array:
    """What torch gives for a result that was not asked for."""
    return np.empty(0, a.dtype)


def check(info: Array, what: str) -> None:
    """Raises LinAlgError if LAPACK said that some matrix is singular or not definite."""
    failed = np.flatnonzero(info)
    if failed.size:
        first = int(np.ravel(info)[failed[0]])
        raise LinAlgError(f"{what} (batch element {int(failed[0])}, order {first})")


# Cholesky


@kernel("cholesky_ex")
def cholesky_ex(a: Array, *, upper: bool, check_errors: bool = False) -> list[Array]:
    """The triangular factor, and the order of the first minor that is not definite, or 0."""
    potrf = lapack("potrf", a)

    def one(matrix: Array) -> tuple[Array, Any]:
        factor, info = potrf(matrix, lower=not upper, clean=True)
        return factor, np.int32(info)

    if not a.size:
        return [a, np.zeros(a.shape[:-2], np.int32)]
    factor, info = each(one, a)
    if check_errors:
        check(info, "the matrix is not positive definite")
    return [factor, info]


@kernel("cholesky")
def cholesky(a: Array, *, upper: bool) -> Array:
    """The triangular factor; LinAlgError if there is none."""
    return cholesky_ex(a, upper=upper, check_errors=True)[0]


# LU


@kernel("lu_factor_ex")
def lu_factor_ex(a: Array, *, pivot: bool, check_errors: bool = False) -> list[Array]:
    """Both factors in one matrix, the rows swapped, and the first zero on the diagonal, or 0."""
    if not pivot:
        raise LinAlgError("LU without pivoting is not implemented on CPUs")
    getrf = lapack("getrf", a)

    def one(matrix: Array) -> tuple[Array, Any, Any]:
        factors, pivots, info = getrf(matrix)
        return factors, pivots.astype(np.int32) + 1, np.int32(info)

    if not a.size:
        pivots = np.zeros((*a.shape[:-2], min(a.shape[-2:])), np.int32)
        return [a, pivots, np.zeros(a.shape[:-2], np.int32)]
    factors, pivots, info = each(one, a)
    if check_errors:
        check(info, "the factor U is singular")
    return [factors, pivots, info]


@kernel("lu_factor")
def lu_factor(a: Array, *, pivot: bool) -> list[Array]:
    """`lu_factor_ex` without info."""
    return lu_factor_ex(a, pivot=pivot)[:2]


def permutation(pivots: Array, rows: int) -> Array:
    """The order of rows after the swaps that LAPACK's pivots describe."""
    order = np.arange(rows)
    for row, other in enumerate(pivots - 1):
        order[[row, other]] = order[[other, row]]
    return order


@kernel("lu_unpack", ("i32",))
def lu_unpack(
    factors: Array, pivots: Array, *, unpack_data: bool, unpack_pivots: bool
) -> list[Array]:
    """P, L and U from the results of `lu_factor`."""
    rows, columns = factors.shape[-2:]
    least = min(rows, columns)
    lower = np.tril(factors[..., :least], -1) + np.eye(rows, least, dtype=factors.dtype)
    upper = np.triu(factors[..., :least, :])
    order = np.zeros((*factors.shape[:-2], rows, rows), factors.dtype)
    if order.size:
        flat = order.reshape(-1, rows, rows)
        for matrix, swaps in zip(flat, pivots.reshape(len(flat), -1), strict=True):
            matrix[permutation(swaps, rows), np.arange(rows)] = 1
    none = empty(factors)
    data = [lower, upper] if unpack_data else [none, none]
    return [order if unpack_pivots else none, *data]


@kernel("lu")
def lu(a: Array, *, pivot: bool) -> list[Array]:
    """P, L and U."""
    factors, pivots = lu_factor(a, pivot=pivot)
    return lu_unpack(factors, pivots, unpack_data=True, unpack_pivots=True)


@kernel("lu_solve", ("i32",))
def lu_solve(factors: Array, pivots: Array, b: Array, *, left: bool, adjoint: bool) -> Array:
    """X in A X = B (X A = B unless `left`), A or its adjoint given by `lu_factor`."""
    getrs = lapack("getrs", factors, b)
    batch = np.broadcast_shapes(factors.shape[:-2], b.shape[:-2])
    if not (factors.size and b.size):
        return np.zeros((*batch, *b.shape[-2:]), b.dtype)
    arrays = [np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (factors, pivots[..., None], b)]

    def one(matrix: Array, swaps: Array, right: Array) -> tuple[Array]:
        swaps = swaps[:, 0] - 1
        if left:
            return (getrs(matrix, swaps, right, trans=2 if adjoint else 0)[0],)
        if adjoint:  # X A^H = B is A X^H = B^H
            return (getrs(matrix, swaps, right.conj().T)[0].conj().T,)
        return (getrs(matrix, swaps, right.T, trans=1)[0].T,)

    return each(one, *arrays)[0]


# LDL


@kernel("ldl_factor_ex")
def ldl_factor_ex(a: Array, *, hermitian: bool, check_errors: bool = False) -> list[Array]:
    """Both factors of symmetric (Hermitian) matrices in one, LAPACK's pivots, and info."""
    if not a.size:
        return [a, np.zeros(a.shape[:-1], np.int32), np.zeros(a.shape[:-2], np.int32)]
    is_hermitian = hermitian and np.iscomplexobj(a)
    routine = lapack("hetrf" if is_hermitian else "sytrf", a)

    def one(matrix: Array) -> tuple[Array, Any, Any]:
        factors, pivots, info = routine(matrix, lower=True)
        return np.tril(factors), pivots.astype(np.int32), np.int32(info)

    factors, pivots, info = each(one, a)
    if check_errors:
        check(info, "the factor D is singular")
    return [factors, pivots, info]


@kernel("ldl_factor")
def ldl_factor(a: Array, *, hermitian: bool) -> list[Array]:
    """`ldl_factor_ex` without info; LinAlgError for a singular factor."""
    return ldl_factor_ex(a, hermitian=hermitian, check_errors=True)[:2]


@kernel("ldl_solve", ("i32",))
def ldl_solve(factors: Array, pivots: Array, b: Array, *, hermitian: bool) -> Array:
    """X in A X = B by the factors of `ldl_factor`."""
    is_hermitian = hermitian and np.iscomplexobj(factors)
    routine = lapack("hetrs" if is_hermitian else "sytrs", factors)
    batch = np.broadcast_shapes(factors.shape[:-2], b.shape[:-2])
    arrays = [np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (factors, pivots[..., None], b)]

    def one(matrix: Array, swaps: Array, right: Array) -> tuple[Array]:
        return (routine(matrix, swaps[:, 0], right, lower=True)[0],)

    if not all(array.size for array in arrays):
        return np.zeros((*batch, *b.shape[-2:]), b.dtype)
    return each(one, *arrays)[0]


# Solving


def _is_vector(a: Array, b: Array) -> bool:
    return b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape == a.shape[:-1])


@kernel("solve_factors")
def solve_factors(a: Array, b: Array, *, left: bool, check_errors: bool = False) -> list[Array]:
    """X in A X = B (X A = B unless `left`), with the LU factors, pivots and info of A."""
    vector = _is_vector(a, b)
    right = b[..., None] if vector else b
    factors, pivots, info = lu_factor_ex(a, pivot=True)
    if check_errors:
        check(info, "the matrix is singular")
    if np.any(info):
        batch = np.broadcast_shapes(a.shape[:-2], right.shape[:-2])
        x = np.full((*batch, *right.shape[-2:]), np.nan, b.dtype)
    else:
        x = lu_solve(factors, pivots, right, left=left or vector, adjoint=False)
    return [x[..., 0] if vector else x, factors, pivots, info]


@kernel("solve_ex")
def solve_ex(a: Array, b: Array, *, left: bool, check_errors: bool = False) -> list[Array]:
    """`solve_factors` without the factors: one call of NumPy for a batch that has solutions."""
    info = np.zeros(a.shape[:-2], np.int32)
    try:
        if _is_vector(a, b):
            return [np.linalg.solve(a, b[..., None])[..., 0], info]
        if left:
            return [np.linalg.solve(a, b), info]
        return [np.linalg.solve(a.swapaxes(-1, -2), b.swapaxes(-1, -2)).swapaxes(-1, -2), info]
    except LinAlgError:
        x, _, _, info = solve_factors(a, b, left=left, check_errors=check_errors)
        return [x, info]


@kernel("solve")
def solve(a: Array, b: Array, *, left: bool) -> Array:
    """X alone; LinAlgError for a singular matrix."""
    return solve_ex(a, b, left=left, check_errors=True)[0]


@kernel("inv_ex")
def inv_ex(a: Array, *, check_errors: bool = False) -> list[Array]:
    """The inverse, and 0 or the order of the zero that says that there is none."""
    if not a.size:
        return [a, np.zeros(a.shape[:-2], np.int32)]
    if a.ndim > 2:
        try:
            return [np.linalg.inv(a), np.zeros(a.shape[:-2], np.int32)]  # one call for the batch
        except LinAlgError:
            pass  # some have no inverse, others do
    getrf, getri = lapack("getrf", a), lapack("getri", a)

    def one(matrix: Array) -> tuple[Array, Any]:
        factors, pivots, info = getrf(matrix.T)
        inverse = np.full(matrix.shape, np.nan, a.dtype) if info else getri(factors, pivots)[0].T
        return inverse, np.int32(info)

    inverse, info = each(one, a)
    if check_errors:
        check(info, "the matrix is singular")
    return [inverse, info]


@kernel("inv")
def inv(a: Array) -> Array:
    """The inverse; LinAlgError for a singular matrix."""
    return inv_ex(a, check_errors=True)[0]


# Determinants


def _determinant(factors: Array, pivots: Array) -> tuple[Array, Array]:
    swaps = np.count_nonzero(pivots != np.arange(1, pivots.shape[-1] + 1), axis=-1)
    return np.diagonal(factors, axis1=-2, axis2=-1), np.where(swaps % 2, -1, 1)


def _square_factors(a: Array) -> list[Array]:
    """LU factors and pivots, of the transpose where torch takes it: of real, contiguous matrices.

    Derivatives solve by these factors and know which ones they are.
    """
    factored = a if np.iscomplexobj(a) else a.swapaxes(-1, -2)
    return lu_factor_ex(factored, pivot=True)[:2]


@kernel("det_factors")
def det_factors(a: Array) -> list[Array]:
    """The determinant, with LU factors and pivots as `aten._linalg_det` gives them."""
    factors, pivots = _square_factors(a)
    diagonal, sign = _determinant(factors, pivots)
    return [(diagonal.prod(-1) * sign).astype(a.dtype), factors, pivots]


@kernel("det")
def det(a: Array) -> Array:
    """The determinant."""
    return det_factors(a)[0]


@kernel("slogdet_factors")
def slogdet_factors(a: Array) -> list[Array]:
    """Sign and logarithm of the absolute value of the determinant, with LU factors and pivots."""
    factors, pivots = _square_factors(a)
    diagonal, swaps = _determinant(factors, pivots)
    size = abs(diagonal)
    signs = np.divide(diagonal, size, out=np.zeros_like(diagonal), where=size != 0)
    sign = (signs.prod(-1) * swaps).astype(a.dtype)
    with np.errstate(divide="ignore"):
        logarithm = np.log(size).sum(-1)
    return [sign, logarithm.astype(size.dtype), factors, pivots]


@kernel("slogdet")
def slogdet(a: Array) -> list[Array]:
    """Sign and logarithm of the absolute value of the determinant."""
    return slogdet_factors(a)[:2]


@kernel("logdet")
def logdet(a: Array) -> Array:
    """The logarithm of the determinant: NaN for a negative one."""
    sign, logarithm = slogdet(a)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.log(sign) + logarithm).astype(a.dtype)
