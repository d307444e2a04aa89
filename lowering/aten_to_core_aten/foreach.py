"""Lists of tensors: `_foreach_add` is add of each, and so on."""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from lamina.dialects import aten
from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, composed, lowers
from lamina.lowering.tensor_types import element_of, rank_of

_SINGLE = {
    "List": "Tensor",
    "Scalar": "Scalar",
    "ScalarList": "Scalar",
    "Tensor": "Tensor",
    "default": "default",
}
"""Which overload of the single op does one step of an overload for lists."""

_OTHER = {
    "addcdiv": {"Scalar": "addcdiv.default", "ScalarList": "addcdiv.default"},
    "addcmul": {"Scalar": "addcmul.default", "ScalarList": "addcmul.default"},
    "clamp_max": {"List": "clamp_max.Tensor", **dict.fromkeys(("Scalar", "ScalarList"),
                                                              "clamp_max.default")},
    "clamp_min": {"List": "clamp_min.Tensor", **dict.fromkeys(("Scalar", "ScalarList"),
                                                              "clamp_min.default")},
    "maximum": {"List": "maximum.default", **dict.fromkeys(("Scalar", "ScalarList"),
                                                           "clamp_min.default")},
    "minimum": {"List": "minimum.default", **dict.fromkeys(("Scalar", "ScalarList"),
                                                           "clamp_max.default")},
    "pow": {"List": "pow.Tensor_Tensor", "Scalar": "pow.Tensor_Scalar",
            "ScalarList": "pow.Tensor_Scalar", "ScalarAndTensor": "pow.Scalar"},
    "zero": {"default": "zeros_like.default"},
}  # fmt: skip
"""Packets whose single op has another name."""

_OWN = ("norm", "powsum", "addcdiv.Tensor", "addcmul.Tensor")


def _name_of_single(name: str) -> str:
    base, _, overload = name.removeprefix("_foreach_").partition(".")
    return _OTHER.get(base, {}).get(overload) or f"{base}.{_SINGLE.get(overload, overload)}"


def _is_simple(name: str) -> bool:
    """By the name alone, so that an import reads no schemas: packets that mutate end in `_`."""
    if not name.startswith("_foreach_") or name.removeprefix("_foreach_").startswith(_OWN):
        return False
    packet, _, overload = name.partition(".")
    return not packet.endswith("_") and not overload.endswith("out")


@lowers(*filter(_is_simple, aten.Aten.names))
def of_each(op: SchemaOp, b: CoreBuilder) -> list[SSAValue]:
    """One op for each place of the lists; numbers and single tensors are for all."""
    name = _name_of_single(op.overload_name)
    lists = [a.name for a in op.schema.args if a.type.is_list]
    length = len(op.arg(lists[0]))
    results: list[SSAValue] = []
    for position in range(length):
        values = {a.name: op.arg(a.name) for a in op.schema.args}
        values |= {key: op.arg(key)[position] for key in lists}
        results.append(_step(op, b, name, values))
    return results


def _step(op: SchemaOp, b: CoreBuilder, name: str, values: dict[str, Any]) -> SSAValue:
    positional = [values[a.name] for a in op.schema.args if not a.kwarg_only]
    keywords = {a.name: values[a.name] for a in op.schema.args if a.kwarg_only}
    if name.startswith(("addcdiv", "addcmul")):
        keywords["value"] = positional.pop()
    single = aten.op(name).schema
    accepted = {key: value for key, value in keywords.items() if single.arg(key) is not None}
    return composed(b, name, *positional, **accepted)[0]


@lowers("_foreach_addcdiv.Tensor", "_foreach_addcmul.Tensor")
def with_factors(op: SchemaOp, b: CoreBuilder) -> list[SSAValue]:
    """self + scalar * (tensor1 / tensor2), the scalars in one tensor; or of the product."""
    name = "div.Tensor" if "div" in op.overload_name else "mul.Tensor"
    results: list[SSAValue] = []
    triples = zip(op.arg("self"), op.arg("tensor1"), op.arg("tensor2"), strict=True)
    for position, (x, first, second) in enumerate(triples):
        factor = b.cast(b("select.int", op.arg("scalars"), 0, position), element_of(x))
        results.append(b("add.Tensor", x, b("mul.Tensor", b(name, first, second), factor)))
    return results


@lowers("_foreach_norm.Scalar", "_foreach_powsum.Scalar")
def norms(op: SchemaOp, b: CoreBuilder) -> list[SSAValue]:
    """The vector norm of each; powsum is the sum of powers, without the root."""
    order = float(op.arg("ord"))
    if "norm" in op.overload_name:
        return [
            composed(b, "linalg_vector_norm.default", x, order, None, False, dtype=op.arg("dtype"))[
                0
            ]
            for x in op.arg("self")
        ]
    sums: list[SSAValue] = []
    for x, made in zip(op.arg("self"), op.results, strict=True):
        power = b("pow.Tensor_Scalar", b("abs", b.cast(x, element_of(made))), order)
        sums.append(b("sum.dim_IntList", power, list(range(rank_of(x))), False))
    return sums
