"""About how many flops extern kernels take: leading terms for dense matrices, for the ledger.

The counts are those usual for the LAPACK routines behind the kernels (LAPACK Working Note 41 for
factorizations; Golub and Van Loan, "Matrix Computations", for spectral ones), and 5 n log2 n for
a complex transform. What a kernel costs that is not listed is not known, and counts as 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2, prod

_CUBES: dict[str, float] = {
    "cholesky": 1 / 3,
    "cholesky_ex": 1 / 3,
    "cholesky_inverse": 2 / 3,
    "ldl_factor": 1 / 3,
    "ldl_factor_ex": 1 / 3,
    "lu": 2 / 3,
    "lu_factor": 2 / 3,
    "lu_factor_ex": 2 / 3,
    "det": 2 / 3,
    "det_factors": 2 / 3,
    "slogdet": 2 / 3,
    "slogdet_factors": 2 / 3,
    "logdet": 2 / 3,
    "solve": 2 / 3,
    "solve_ex": 2 / 3,
    "solve_factors": 2 / 3,
    "inv": 2,
    "inv_ex": 2,
    "qr": 8 / 3,
    "qr_old": 8 / 3,
    "geqrf": 4 / 3,
    "householder_product": 4 / 3,
    "eigh": 9,
    "eigh_options": 9,
    "eigvalsh": 4 / 3,
    "eig": 25,
    "eigvals": 10,
    "svd": 22,
    "svd_options": 22,
    "svd_old": 22,
    "svdvals": 8 / 3,
    "matrix_rank": 8 / 3,
    "pinv": 24,
    "matrix_exp": 20,
}
"""For an m by n matrix: times m n min(m, n)."""

_SOLVES = ("cholesky_solve", "lu_solve", "ldl_solve", "solve_triangular", "triangular_solve")
"""Kernels that take two flops for each element of a matrix and each right-hand side."""


def extern_flops(kernel: str, shapes: Sequence[Sequence[int]]) -> int:
    """Flops of a call with inputs of these shapes; 0 where nothing is known."""
    family, _, name = kernel.partition(".")
    largest = max(shapes, key=prod, default=())
    if family == "fft":
        count = prod(largest)
        return round((5 if name == "c2c" else 2.5) * count * log2(max(2, *largest, 2)))
    if name in _SOLVES:
        return _solve_flops([shape for shape in shapes if len(shape) > 1])
    if name not in _CUBES or len(largest) < 2:
        return 0
    *batch, rows, columns = largest
    return round(_CUBES[name] * prod(batch) * rows * columns * min(rows, columns))


def _solve_flops(matrices: Sequence[Sequence[int]]) -> int:
    """Two flops for each row of the square matrix and each number on the right-hand sides."""
    square = next((m for m in matrices if m[-1] == m[-2]), None)
    sides = next((m for m in matrices if m is not square), square)
    return 0 if square is None or sides is None else 2 * square[-1] * prod(sides)
