"""Solving by triangular matrices and by Cholesky factors: back substitution.

Kernels mean what the aten overloads of their names mean, batches included, which may be broadcast.
Row-major matrices are the transposes of what LAPACK reads, so that none is copied to be turned. A
zero on a diagonal gives what division by it gives, as in torch.
"""

from __future__ import annotations

import numpy as np
from numpy.linalg import LinAlgError

from lamina.dialects.errors import UnsupportedError
from lamina.runtime.extern_kernels.linear_algebra import Array, blas, each, kernel, lapack

MOST_BATCHED_ROWS = 32
"""Rows of matrices of which NumPy solves a batch in one call, by LU: 6 us for each matrix of 8 rows
and 50 us of 60 on a Zen 4, where a call of LAPACK for each takes some 8 us and 18 us."""


def _solved(
    a: Array, b: Array, *, upper: bool, transpose: bool = False, unit: bool = False
) -> Array:
    """X in A X = B, or A^T X = B, for triangular A; the other triangle is not read."""
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if not (a.size and b.size):
        return np.zeros((*batch, *b.shape[-2:]), b.dtype)
    try:
        trtrs, trsm = lapack("trtrs", a), blas("trsm", a)
    except UnsupportedError:
        return _solved_by_numpy(a, b, upper=upper, transpose=transpose, unit=unit)
    if batch and a.shape[-1] <= MOST_BATCHED_ROWS:
        try:
            return _solved_by_numpy(a, b, upper=upper, transpose=transpose, unit=unit)
        except LinAlgError:
            pass  # one has a zero on its diagonal; the others have a solution
    turned = 0 if transpose else 1

    def one(matrix: Array, right: Array) -> tuple[Array]:
        x, info = trtrs(matrix.T, right, lower=upper, trans=turned, unitdiag=unit)
        if info:  # a zero on the diagonal, for which LAPACK gives up
            x = trsm(1, matrix.T, right, lower=upper, trans_a=turned, diag=unit)
        return (x,)

    if a.shape[:-2] != batch:
        a = np.broadcast_to(a, (*batch, *a.shape[-2:]))
    if b.shape[:-2] != batch:
        b = np.broadcast_to(b, (*batch, *b.shape[-2:]))
    return each(one, a, b)[0]


def _solved_by_numpy(a: Array, b: Array, *, upper: bool, transpose: bool, unit: bool) -> Array:
    """The same by LU factors; LinAlgError for a zero on the diagonal."""
    triangle = np.triu(a) if upper else np.tril(a)
    if unit:
        diagonal = np.eye(a.shape[-1], dtype=bool)
        triangle = np.where(diagonal, np.ones((), a.dtype), triangle)
    return np.linalg.solve(triangle.swapaxes(-1, -2) if transpose else triangle, b)


@kernel("solve_triangular")
def solve_triangular(a: Array, b: Array, *, upper: bool, left: bool, unitriangular: bool) -> Array:
    """X in A X = B (X A = B unless `left`) for a triangular A; the other triangle is not read."""
    if left:
        return _solved(a, b, upper=upper, unit=unitriangular)
    right = b.swapaxes(-1, -2)
    return _solved(a, right, upper=upper, transpose=True, unit=unitriangular).swapaxes(-1, -2)


@kernel("triangular_solve")
def triangular_solve(
    b: Array, a: Array, *, upper: bool, transpose: bool, unitriangular: bool
) -> list[Array]:
    """X in A X = B or its transpose, and a copy of A."""
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    x = _solved(a, b, upper=upper, transpose=transpose, unit=unitriangular)
    return [x, np.broadcast_to(a, (*batch, *a.shape[-2:]))]


@kernel("cholesky_solve")
def cholesky_solve(b: Array, a: Array, *, upper: bool) -> Array:
    """X in A X = B, by A's factor: two back substitutions."""
    if upper:  # A = U^H U, and U^H Y = B is U^T conj(Y) = conj(B)
        y = _solved(a, b.conj(), upper=True, transpose=True).conj()
        return _solved(a, y, upper=True)
    y = _solved(a, b, upper=False)
    return _solved(a, y.conj(), upper=False, transpose=True).conj()


@kernel("cholesky_inverse")
def cholesky_inverse(a: Array, *, upper: bool) -> Array:
    """The inverse of the matrix that has this factor."""
    identity = np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)
    return cholesky_solve(identity, a, upper=upper)
