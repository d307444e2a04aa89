"""Factorizations by eigenvalues, singular values and reflections; see `linear_algebra`."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina.runtime.extern_kernels.linear_algebra import Array, adjoint, each, empty, kernel, lapack

# Eigenvalues


@kernel("eigh_options")
def eigh_options(a: Array, *, UPLO: str, compute_v: bool) -> list[Array]:  # noqa: N803 - torch's
    """Eigenvalues of Hermitian matrices in rising order, and their vectors if asked for."""
    triangle: Any = UPLO
    if not compute_v:
        return [np.linalg.eigvalsh(a, UPLO=triangle), empty(a)]
    return list(np.linalg.eigh(a, UPLO=triangle))


@kernel("eigh")
def eigh(a: Array, *, UPLO: str) -> list[Array]:  # noqa: N803
    """Eigenvalues and vectors of Hermitian matrices."""
    return eigh_options(a, UPLO=UPLO, compute_v=True)


@kernel("eigvalsh")
def eigvalsh(a: Array, *, UPLO: str) -> Array:  # noqa: N803
    """Eigenvalues of Hermitian matrices."""
    return eigh_options(a, UPLO=UPLO, compute_v=False)[0]


def _complex(a: Array) -> Any:
    return np.result_type(a.dtype, np.complex64)


@kernel("eig")
def eig(a: Array) -> list[Array]:
    """Eigenvalues and vectors, complex."""
    return [part.astype(_complex(a)) for part in np.linalg.eig(a)]


@kernel("eigvals")
def eigvals(a: Array) -> Array:
    """Eigenvalues, complex."""
    return np.linalg.eigvals(a).astype(_complex(a))


# Singular values


@kernel("svd_options")
def svd_options(
    a: Array, *, full_matrices: bool, compute_uv: bool, driver: str | None = None
) -> list[Array]:
    """U, S and the adjoint of V; the driver is a hint for GPUs."""
    if compute_uv:
        return list(np.linalg.svd(a, full_matrices=full_matrices))
    return [empty(a), np.linalg.svd(a, compute_uv=False), empty(a)]


@kernel("svd")
def svd(a: Array, *, full_matrices: bool, driver: str | None = None) -> list[Array]:
    """U, S and the adjoint of V."""
    return svd_options(a, full_matrices=full_matrices, compute_uv=True)


@kernel("svdvals")
def svdvals(a: Array, *, driver: str | None = None) -> Array:
    """Singular values in falling order."""
    return np.linalg.svd(a, compute_uv=False)


@kernel("svd_old")
def svd_old(a: Array, *, some: bool, compute_uv: bool) -> list[Array]:
    """torch.svd: U, S and V, zeros for U and V if they are not asked for."""
    if compute_uv:
        u, s, vh = np.linalg.svd(a, full_matrices=not some)
        return [u, s, adjoint(vh)]
    rows, columns = a.shape[-2:]
    u = np.zeros((*a.shape[:-2], rows, rows), a.dtype)
    v = np.zeros((*a.shape[:-2], columns, columns), a.dtype)
    return [u, np.linalg.svd(a, compute_uv=False), v]


def _tolerance(s: Array, shape: tuple[int, ...], atol: Any, rtol: Any) -> Array:
    """The greater of atol and rtol times the largest value; rtol defaults as torch's does.

    The last dimension of the result, of 1, stands for that of the values.
    """
    if rtol is None:
        default = np.finfo(s.dtype).eps * max(shape[-2:])
        rtol = default if atol is None else np.where(np.asarray(atol) > 0, 0.0, default)
    atol = 0.0 if atol is None else atol
    largest = s.max(-1, initial=0)
    return np.maximum(np.asarray(atol), np.asarray(rtol) * largest)[..., None]


def _hermitian_parts(a: Array) -> tuple[Array, Array, Array]:
    values, vectors = np.linalg.eigh(a)
    size = abs(values)
    return vectors, size, adjoint(vectors * np.where(values < 0, -1, 1)[..., None, :])


@kernel("pinv")
def pinv(
    a: Array,
    *tolerances: Array,
    hermitian: bool,
    atol: Any = None,
    rtol: Any = None,
    given: str = "",
) -> Array:
    """The pseudo-inverse; `given` names the tolerances that are tensors."""
    u, s, vh = _hermitian_parts(a) if hermitian else np.linalg.svd(a, full_matrices=False)
    named = dict(zip(given.split(), tolerances, strict=True))
    least = _tolerance(s, a.shape, **({"atol": atol, "rtol": rtol} | named))
    inverse = np.divide(1, s, out=np.zeros_like(s), where=s > least)
    return ((adjoint(vh) * inverse[..., None, :]) @ adjoint(u)).astype(a.dtype)


@kernel("matrix_rank")
def matrix_rank(
    a: Array,
    *tolerances: Array,
    hermitian: bool,
    atol: Any = None,
    rtol: Any = None,
    given: str = "",
) -> Array:
    """How many singular values are above the tolerance."""
    s = abs(np.linalg.eigvalsh(a)) if hermitian else np.linalg.svd(a, compute_uv=False)
    named = dict(zip(given.split(), tolerances, strict=True))
    least = _tolerance(s, a.shape, **({"atol": atol, "rtol": rtol} | named))
    return np.count_nonzero(s > least, axis=-1).astype(np.int64)


# Reflections


@kernel("qr")
def qr(a: Array, *, mode: str) -> list[Array]:
    """Q and R; mode is reduced, complete or r (Q is empty then)."""
    kind: Any = mode
    if mode == "r":
        return [empty(a), np.asarray(np.linalg.qr(a, mode=kind))]
    return list(np.linalg.qr(a, mode=kind))


@kernel("qr_old")
def qr_old(a: Array, *, some: bool) -> list[Array]:
    """torch.qr."""
    return qr(a, mode="reduced" if some else "complete")


@kernel("geqrf")
def geqrf(a: Array) -> list[Array]:
    """R above and the reflectors below the diagonal, and their factors."""
    if not a.size:
        return [a, np.zeros((*a.shape[:-2], min(a.shape[-2:])), a.dtype)]
    routine = lapack("geqrf", a)
    return each(lambda matrix: routine(matrix)[:2], a)


def _reflected(reflectors: Array, factors: Array) -> Array:
    """The square orthogonal matrix H1 H2 ... of reflectors."""
    rows = reflectors.shape[-2]
    whole = np.broadcast_to(
        np.eye(rows, dtype=reflectors.dtype), (*reflectors.shape[:-2], rows, rows)
    )
    for k in range(factors.shape[-1]):
        v = np.where(np.arange(rows) > k, reflectors[..., k], 0)
        v = np.where(np.arange(rows) == k, np.ones((), v.dtype), v)[..., None]
        whole = whole - factors[..., k, None, None] * (whole @ v) @ adjoint(v)
    return whole


@kernel("householder_product")
def householder_product(reflectors: Array, factors: Array) -> Array:
    """The first columns of the product of reflections."""
    return _reflected(reflectors, factors)[..., : reflectors.shape[-1]]


@kernel("ormqr")
def ormqr(reflectors: Array, factors: Array, other: Array, *, left: bool, transpose: bool) -> Array:
    """Q or its adjoint times `other`, or `other` times it."""
    q = _reflected(reflectors, factors)
    q = adjoint(q) if transpose else q
    return q @ other if left else other @ q


# Functions of matrices


@kernel("matrix_exp")
def matrix_exp(a: Array) -> Array:
    """The exponential, by SciPy in double precision: its scaling and squaring loses digits."""
    from scipy.linalg import expm

    wide = np.result_type(a.dtype, np.float64)
    return np.asarray(expm(a.astype(wide))).astype(a.dtype) if a.size else a


@kernel("matrix_power")
def matrix_power(a: Array, *, n: int) -> Array:
    """The n-th power; negative powers are the inverse's."""
    return np.linalg.matrix_power(a, n)
