"""Factorizations and solvers: calls of extern kernels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.dialects.sizes import Size
from lamina.lowering.core_aten_to_prims.table import PrimsBuilder, lowers
from lamina.lowering.tensor_types import shape_of

KERNELS: dict[str, str] = {
    "_linalg_det": "linalg.det_factors",
    "_linalg_eigh": "linalg.eigh_options",
    "_linalg_eigvals": "linalg.eigvals",
    "_linalg_slogdet": "linalg.slogdet_factors",
    "_linalg_svd": "linalg.svd_options",
    "cholesky": "linalg.cholesky",
    "cholesky_inverse": "linalg.cholesky_inverse",
    "cholesky_solve": "linalg.cholesky_solve",
    "geqrf": "linalg.geqrf",
    "inverse": "linalg.inv",
    "linalg_cholesky": "linalg.cholesky",
    "linalg_cholesky_ex": "linalg.cholesky_ex",
    "linalg_det": "linalg.det",
    "linalg_eig": "linalg.eig",
    "linalg_eigh": "linalg.eigh",
    "linalg_eigvals": "linalg.eigvals",
    "linalg_eigvalsh": "linalg.eigvalsh",
    "linalg_householder_product": "linalg.householder_product",
    "linalg_inv": "linalg.inv",
    "linalg_inv_ex": "linalg.inv_ex",
    "linalg_ldl_factor": "linalg.ldl_factor",
    "linalg_ldl_factor_ex": "linalg.ldl_factor_ex",
    "linalg_ldl_solve": "linalg.ldl_solve",
    "linalg_lu": "linalg.lu",
    "linalg_lu_factor": "linalg.lu_factor",
    "linalg_lu_factor_ex": "linalg.lu_factor_ex",
    "linalg_lu_solve": "linalg.lu_solve",
    "linalg_matrix_exp": "linalg.matrix_exp",
    "linalg_matrix_power": "linalg.matrix_power",
    "linalg_matrix_rank.atol_rtol_float": "linalg.matrix_rank",
    "linalg_matrix_rank.atol_rtol_tensor": "linalg.matrix_rank",
    "linalg_pinv.atol_rtol_float": "linalg.pinv",
    "linalg_pinv.atol_rtol_tensor": "linalg.pinv",
    "linalg_qr": "linalg.qr",
    "linalg_slogdet": "linalg.slogdet",
    "linalg_solve": "linalg.solve",
    "linalg_solve_ex": "linalg.solve_ex",
    "linalg_solve_triangular": "linalg.solve_triangular",
    "linalg_svd": "linalg.svd",
    "linalg_svdvals": "linalg.svdvals",
    "logdet": "linalg.logdet",
    "lu_unpack": "linalg.lu_unpack",
    "orgqr": "linalg.householder_product",
    "ormqr": "linalg.ormqr",
    "qr": "linalg.qr_old",
    "slogdet": "linalg.slogdet",
    "svd": "linalg.svd_old",
    "triangular_solve": "linalg.triangular_solve",
}
"""Which kernel computes an overload; `.default` is left out.

The kernel gets the tensors in the order of the schema and the other arguments as options of the
same names.
"""

OPTIONAL_TENSORS = ("linalg.matrix_rank", "linalg.pinv")
"""Kernels with tensors that may be absent; the option `given` names those that are there."""


def extern_call(
    op: SchemaOp, b: PrimsBuilder, kernel: str, made: Sequence[SSAValue] | None = None
) -> Sequence[SSAValue]:
    """The results of an op by a kernel: all, or those of `made`."""
    made = op.results if made is None else made
    values = {argument.name: op.arg(argument.name) for argument in op.schema.args}
    tensors = {n: v for n, v in values.items() if isinstance(v, SSAValue)}
    options = {n: v for n, v in values.items() if n not in tensors and v is not None}
    if kernel in OPTIONAL_TENSORS:
        options["given"] = " ".join(list(tensors)[1:])
    types = [result.type for result in made]
    sizes = [e for value in made for e in shape_of(value) if isinstance(e, Size)]
    text, inputs = json.dumps(options, sort_keys=True), list(tensors.values())
    return b.op("extern", inputs, kernel, text, sizes, result_types=types).results


@lowers("_linalg_solve_ex")
def solve_ex(op: SchemaOp, b: PrimsBuilder) -> Sequence[SSAValue | None]:
    """The solution and the code; factors are made if something reads them, as derivatives do."""
    x, factors, pivots, info = op.results
    if factors.uses or pivots.uses:
        return extern_call(op, b, "linalg.solve_factors")
    solved, code = extern_call(op, b, "linalg.solve_ex", (x, info))
    return [solved, None, None, code]


for _overload, _kernel in KERNELS.items():
    lowers(_overload)(partial(extern_call, kernel=_kernel))
