"""Ops of torch's other namespaces, imported as what torch itself makes of them in ATen ops.

Primitives in the middle of an exported program, quantization as torch.ao writes it, and a few ops
that torch registers for its own layers have a Python function behind them. It is traced with the
types of the node's arguments, and the graph takes the node's place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from torch import fx
from torch.fx.experimental.proxy_tensor import make_fx

_QUANTIZATION = "torch.ao.quantization.fx._decomposed"


def implementation_of(target: Any) -> Callable[..., Any] | None:
    """The function behind an overload of the namespaces that are inlined; None for all others."""
    if target.namespace == "prims":
        return getattr(target, "impl_aten", None)
    if target.namespace == "quantized_decomposed":
        overload = "" if target._overloadname == "default" else f"_{target._overloadname}"
        return getattr(import_module(_QUANTIZATION), target._opname + overload, None)
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
