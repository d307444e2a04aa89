"""Factorizations and triangular systems: extern kernels, also for what is called as LAPACK's."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import prod

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, i64
from xdsl.ir import SSAValue

from lamina.dialects.stablehlo.attributes import word
from lamina.dialects.stablehlo.op import HloOp
from lamina.lowering.stablehlo_to_prims.table import HloBuilder, lowers, result_element
from lamina.lowering.tensor_types import element_of, is_complex, rank_of, shape_of

ROUTINE = re.compile(r"(?:lapack|blas)_[sdcz](\w+?)(?:_ffi)?")
"""The names of calls: a letter for the type, and then the routine."""


@lowers("cholesky")
def cholesky(op: HloOp, b: HloBuilder) -> SSAValue:
    """The lower factor, or the upper one."""
    return b.core("linalg_cholesky_ex.default", op.operands[0], upper=not op.flag("lower"))[0]


@lowers("triangular_solve")
def triangular_solve(op: HloOp, b: HloBuilder) -> SSAValue:
    """A transposed triangle is one of the other side."""
    given = word(op.attr("transpose_a")) or "NO_TRANSPOSE"
    return _solved(
        b,
        *op.operands,
        upper=not op.flag("lower"),
        left=op.flag("left_side"),
        unit=op.flag("unit_diagonal"),
        transposed=given != "NO_TRANSPOSE",
        conjugated=given == "ADJOINT",
    )


def _solved(
    b: HloBuilder,
    a: SSAValue,
    y: SSAValue,
    *,
    upper: bool,
    left: bool,
    unit: bool,
    transposed: bool,
    conjugated: bool,
) -> SSAValue:
    if not prod(shape_of(y)):
        return y
    if transposed:
        rank = rank_of(a)
        a = b.transpose(a, [*range(rank - 2), rank - 1, rank - 2])
        upper = not upper
        if conjugated and is_complex(element_of(a)):
            a = b("conj_physical", a)
    return b.core(
        "linalg_solve_triangular.default", a, y, upper=upper, left=left, unitriangular=unit
    )[0]


def _option(op: HloOp, name: str) -> str:
    """An option of a call, of which LAPACK has a letter; empty if it is left out."""
    config = op.attr("mhlo.backend_config")
    given = config.data.get(name) if isinstance(config, DictionaryAttr) else None
    return chr(given.value.data) if isinstance(given, IntegerAttr) else ""


def _potrf(op: HloOp, b: HloBuilder) -> Sequence[SSAValue]:
    upper = _option(op, "uplo") == "U"
    x = op.operands[0]
    factor, info = b.core("linalg_cholesky_ex.default", x, upper=upper)
    # The other triangle stays as it is.
    shape, rank = shape_of(x), rank_of(x)
    row, column = (b.along(b.iota(shape[d], i64), shape, d) for d in (rank - 2, rank - 1))
    factor = b.where(b("le" if upper else "ge", row, column), factor, x)
    return [factor, b.convert(info, result_element(op, 1))]


def _trsm(op: HloOp, b: HloBuilder) -> Sequence[SSAValue]:
    transposed = _option(op, "trans_x") or _option(op, "trans")
    solved = _solved(
        b,
        *op.operands[:2],
        upper=_option(op, "uplo") == "U",
        left=_option(op, "side") == "L",
        unit=_option(op, "diag") == "U",
        transposed=transposed in ("T", "C"),
        conjugated=transposed == "C",
    )
    return [solved]


def _getrf(op: HloOp, b: HloBuilder) -> Sequence[SSAValue]:
    made = b.core("linalg_lu_factor_ex.default", op.operands[0])
    return [b.convert(value, result_element(op, n)) for n, value in enumerate(made)]


def _geqrf(op: HloOp, b: HloBuilder) -> Sequence[SSAValue]:
    return b.core("geqrf.default", op.operands[0])


def _orgqr(op: HloOp, b: HloBuilder) -> Sequence[SSAValue]:
    return b.core("linalg_householder_product.default", *op.operands)


def _syevd(op: HloOp, b: HloBuilder) -> Sequence[SSAValue]:
    """Vectors, values, and that all went well."""
    values, vectors = b.core("linalg_eigh.default", op.operands[0], _option(op, "uplo") or "L")
    shape = shape_of(op.results[2])
    return [vectors, values, b.full(shape, 0, result_element(op, 2))]


def _gesdd(op: HloOp, b: HloBuilder) -> Sequence[SSAValue]:
    """What was the matrix, singular values, vectors on both sides, and that all went well."""
    x = op.operands[0]
    left, values, right = b.core("linalg_svd.default", x, _option(op, "mode") == "A")
    info = b.full(shape_of(op.results[4]), 0, result_element(op, 4))
    if _option(op, "mode") == "N":  # vectors are not looked at, in whatever shape
        left, right = (b.full(shape_of(op.results[n]), 0, element_of(x)) for n in (2, 3))
    return [x, values, left, right, info]


FACTORIZATIONS: dict[str, Callable[[HloOp, HloBuilder], Sequence[SSAValue]]] = {
    "geqrf": _geqrf,
    "gesdd": _gesdd,
    "getrf": _getrf,
    "heevd": _syevd,
    "orgqr": _orgqr,
    "potrf": _potrf,
    "syevd": _syevd,
    "trsm": _trsm,
    "ungqr": _orgqr,
}
"""By the routine's name without the letter of its type."""
