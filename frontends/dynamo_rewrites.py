"""Ops that AOTAutograd picks for a backend, as the public ATen ops they come from."""

import operator
from typing import Any

import torch
from torch import fx

_ATEN = torch.ops.aten


def undo_specializations(graph_module: fx.GraphModule) -> None:
    """Rewrites, in place, kernels chosen for the CPU and prims that make a number a tensor."""
    graph = graph_module.graph
    for node in list(graph.nodes):
        if node.target is _ATEN._scaled_dot_product_flash_attention_for_cpu.default:
            _restore_attention(graph, node)
        elif node.target is torch.ops.prims.convert_element_type.default:
            node.target = _ATEN._to_copy.default
            node.kwargs = {"dtype": node.args[1]}
            node.args = node.args[:1]
        elif node.target is torch.ops.higher_order.with_effects:
            _restore_check(graph, node)
        elif node.target is _ATEN.as_strided.default and _is_identity(node):
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)


def _restore_attention(graph: fx.Graph, node: fx.Node) -> None:
    """The flash kernel also gives a log-sum-exp, which only a backward pass reads."""
    if any(user.target is not operator.getitem or user.args[1] != 0 for user in node.users):
        return
    arguments: Any = node.args
    query, key, value, *flags = arguments
    dropout = flags[0] if flags else 0.0
    causal = flags[1] if len(flags) > 1 else False
    keywords = {"scale": node.kwargs["scale"]} if node.kwargs.get("scale") is not None else {}
    if query.meta["val"].shape[1] != key.meta["val"].shape[1]:
        keywords["enable_gqa"] = True  # which the kernel tells from the shapes
    arguments = (query, key, value, node.kwargs.get("attn_mask"), dropout, causal)
    with graph.inserting_before(node):
        made = graph.call_function(_ATEN.scaled_dot_product_attention.default, arguments, keywords)
    made.meta = {**node.meta, "val": node.meta["val"][0]}
    for user in list(node.users):
        user.replace_all_uses_with(made)
        graph.erase_node(user)
    graph.erase_node(node)


def _restore_check(graph: fx.Graph, node: fx.Node) -> None:
    """A factorization reports to a check, in a chain of tokens; here it checks by itself."""
    arguments: Any = node.args
    token, target, report, *_ = arguments
    if target is not _ATEN._linalg_check_errors.default:
        return
    if report.target is not operator.getitem or not _checks(report.args[0].target):
        return
    factorization = report.args[0]
    factorization.kwargs = {**factorization.kwargs, "check_errors": True}
    if token.op == "placeholder":
        token.meta["val"] = None  # which is what calls give for a token
    for user in list(node.users):
        user.replace_all_uses_with(token)
        graph.erase_node(user)
    graph.erase_node(node)


def _checks(target: object) -> bool:
    schema = getattr(target, "_schema", None)
    return schema is not None and any(a.name == "check_errors" for a in schema.arguments)


def _is_identity(node: fx.Node) -> bool:
    """Whether `as_strided` says what its operand is: pooling names the strides of one row."""
    arguments: Any = node.args
    source, size, stride, *start = arguments
    known = source.meta["val"]
    offset = start[0] if start else node.kwargs.get("storage_offset")
    strides = zip(known.shape, known.stride(), stride, strict=False)
    return (
        tuple(known.shape) == tuple(size)
        and all(own == said for extent, own, said in strides if extent > 1)
        and offset in (None, known.storage_offset())
    )
