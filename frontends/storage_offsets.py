"""`as_strided` of what an exported program is given: places counted from the begin of its storage.

An argument of a compiled program begins its memory; in torch it may be a view, and the offset of
`as_strided` is counted from where the memory begins. So the offset that the argument had when the
program was exported is taken off, and a call has to pass a tensor with that offset.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import fx

from lamina.dialects.errors import UnsupportedError

Refuse = Callable[[fx.Node, str, str], UnsupportedError]
"""The error of a node, for a reason, with what is supported."""

_ATEN = torch.ops.aten

_COUNTING = (
    _ATEN.as_strided.default,
    _ATEN.as_strided_.default,
    _ATEN.as_strided_copy.default,
    _ATEN.as_strided_scatter.default,
)


def counted_from_arguments(
    graph_module: fx.GraphModule, bound: Mapping[str, torch.Tensor], refuse: Refuse
) -> tuple[fx.GraphModule, dict[str, int]]:
    """The graph with offsets counted from its arguments, and the offset that inputs need, by name.

    `bound` has the tensors of placeholders that are no inputs. The graph itself is not changed.
    Raises what `refuse` makes of a node for memory that the argument does not have.
    """
    for part in graph_module.modules():
        if isinstance(part, fx.GraphModule) and part is not graph_module:
            _refuse_operands(part.graph, refuse)
    if not any(node.target in _COUNTING for node in graph_module.graph.nodes):
        return graph_module, {}
    graph = copy.deepcopy(graph_module.graph)
    begins: dict[str, int] = {}
    rearranged = not all(tensor.is_contiguous() for tensor in bound.values())
    for node in graph.nodes:
        if node.target in _COUNTING:
            if rearranged and not node.args[0].meta["val"].is_contiguous():
                reason = "depends on the strides of a tensor that is not contiguous"
                raise refuse(node, reason, "contiguous parameters and buffers")
            root = _root(node.args[0])
            if root.op == "get_attr":
                _count(node, operator.attrgetter(str(root.target))(graph_module), refuse)
            elif root.op == "placeholder":
                tensor = bound.get(root.name, root.meta["val"])
                if _count(node, tensor, refuse) and root.name not in bound:
                    begins[root.name] = int(tensor.storage_offset())
    return fx.GraphModule(graph_module, graph), begins


def _refuse_operands(graph: fx.Graph, refuse: Refuse) -> None:
    """In a branch or loop the memory of an operand may begin anywhere."""
    for node in graph.nodes:
        if (
            node.target in _COUNTING
            and _root(node.args[0]).op == "placeholder"
            and _arguments(node)["storage_offset"] is not None
        ):
            raise refuse(node, "counts from the begin of memory outside of the branch", "clone()")


def _count(node: fx.Node, known: torch.Tensor, refuse: Refuse) -> bool:
    """Counts from the begin of `known`, whose memory it is; whether its offset matters."""
    given = _arguments(node)
    start = given["storage_offset"]
    if start is None:
        return False
    begin: Any = known.storage_offset()
    numbers = (start, *given["size"], *given["stride"], known.numel())
    if not all(isinstance(number, int) for number in numbers):
        raise refuse(node, "counts places of an argument that depend on data", "clone()")
    if not _is_within(start - begin, given["size"], given["stride"], known.numel()):
        reason = "reaches beyond the argument, into memory that it is a view of"
        raise refuse(node, reason, "a clone() of the tensor before it")
    if begin:
        node.args = tuple({**given, "storage_offset": start - begin}.values())
        node.kwargs = {}
    return True


def _arguments(node: fx.Node) -> dict[str, Any]:
    """Every argument of the schema, by name and in order."""
    target: Any = node.target
    names = [argument.name for argument in target._schema.arguments]
    given = {**dict(zip(names, node.args, strict=False)), **node.kwargs}
    return {name: given.get(name) for name in names}


def _is_within(start: int, size: Sequence[int], stride: Sequence[int], elements: int) -> bool:
    if 0 in size:
        return True
    reach = sum((extent - 1) * step for extent, step in zip(size, stride, strict=True))
    return 0 <= start <= start + reach < elements


def _root(value: Any) -> fx.Node:
    """The node that made the memory, as far as torch's schemas say which results share it."""
    node: fx.Node = value
    while node.op == "call_function":
        schema = getattr(node.target, "_schema", None)
        if schema is not None and schema.returns[0].alias_info is None:
            break
        if not node.args or not isinstance(node.args[0], fx.Node):
            break
        node = node.args[0]
    return node
