"""Ops of torch's other namespaces, imported as what torch itself makes of them in ATen ops.

Primitives in the middle of an exported program, quantization as torch.ao writes it, and a few ops
that torch registers for its own layers have a Python function behind them. It is traced with the
types of the node's arguments, and the graph takes the node's place. So it is with ops that choose
what they give by the strides of a tensor, which the IR does not have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import torch
from torch import Tensor, fx
from torch.fx.experimental.proxy_tensor import make_fx

from lamina.frontends.custom_ops import is_composite

_QUANTIZATION = "torch.ao.quantization.fx._decomposed"


def implementation_of(node: fx.Node) -> Callable[..., Any] | None:
    """The function behind the overload that a node calls, if it is inlined; else None."""
    target: Any = node.target
    by_strides = _BY_STRIDES.get(target)
    if by_strides is not None:
        examples = [source.meta["val"] for source in node.all_input_nodes]
        contiguous = all(example.is_contiguous() for example in examples)
        return None if contiguous or examples[0].is_complex() else by_strides
    if target.namespace == "prims":
        return getattr(target, "impl_aten", None)
    if target.namespace == "quantized_decomposed":
        overload = "" if target._overloadname == "default" else f"_{target._overloadname}"
        return getattr(import_module(_QUANTIZATION), target._opname + overload, None)
    if is_composite(target):
        return target.decompose
    if target.namespace == "torch_nn":
        from torch._library.custom_ops import OPDEFS

        definition = OPDEFS.get(target._schema.name)
        return None if definition is None else definition._init_fn
    return None


def traced(
    node: fx.Node, implementation: Callable[..., Any]
) -> tuple[fx.GraphModule, list[fx.Node]]:
    """The graph of a node's call, and the nodes that its placeholders stand for.

    Raises what the function raises on tensors that have types but no values.
    """
    inputs = list(node.all_input_nodes)
    examples = [source.meta["val"] for source in inputs]

    def call(*values: Any) -> Any:
        bound = dict(zip(inputs, values, strict=True))
        args = fx.map_arg(node.args, bound.__getitem__)
        keywords = fx.map_arg(node.kwargs, bound.__getitem__)
        return implementation(*_plain(args), **keywords)  # pyright: ignore[reportCallIssue]

    graph_module = make_fx(call)(*examples)
    for inner in graph_module.graph.nodes:
        inner.meta["stack_trace"] = node.meta.get("stack_trace")
    return graph_module, inputs


def _plain(args: Any) -> Sequence[Any]:
    """Lists as lists: fx keeps them in a class of its own."""
    return [list(value) if isinstance(value, list) else value for value in args]


# Determinants come with factors of the transpose if the matrix is contiguous, else of the matrix.


def _det(a: Tensor) -> tuple[Tensor, ...]:
    factors, pivots, _ = torch.linalg.lu_factor_ex(a)
    determinant, _, _ = torch.ops.aten._linalg_det(_row_major(a))
    return determinant, factors, pivots


def _slogdet(a: Tensor) -> tuple[Tensor, ...]:
    factors, pivots, _ = torch.linalg.lu_factor_ex(a)
    sign, logarithm, _, _ = torch.ops.aten._linalg_slogdet(_row_major(a))
    return sign, logarithm, factors, pivots


def _row_major(a: Tensor) -> Tensor:
    return a.clone(memory_format=torch.contiguous_format)


ATEN_NAMES = {"transformers::grouped_mm_fallback": "_grouped_mm.default"}
"""Ops of other libraries, by the names of their schemas, that take the same arguments as one of
ATen does."""

_BY_STRIDES: dict[object, Callable[..., Any]] = {
    torch.ops.aten._linalg_det.default: _det,
    torch.ops.aten._linalg_slogdet.default: _slogdet,
}
"""What stands for an op where a real operand is not contiguous."""
