"""Ops of a Dynamo graph that read memory they write, refused before AOTAutograd hides them.

AOTAutograd computes such an op as a whole and then writes, where eager mode writes element by
element, or list entry by list entry. Where that makes a difference the graph is refused, by the
rules of `lamina.passes.overlaps`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import fx
from torch._ops import HigherOrderOperator
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from lamina.dialects.errors import UnsupportedError
from lamina.dialects.source import describe_location
from lamina.frontends.locations import Locations
from lamina.passes.overlaps import ELEMENTWISE, READ_BEFORE, ROW_BY_ROW, WRITES_LAST
from lamina.passes.view_layouts import Layout


def refuse_overlaps(graph_module: fx.GraphModule) -> None:
    """Run a graph that writes on tensors without data; UnsupportedError names an op at fault."""
    nodes = list(graph_module.graph.nodes)
    examples = [n.meta.get("example_value") for n in nodes if n.op == "placeholder"]
    tensors = [example for example in examples if isinstance(example, torch.Tensor)]
    strided = all(tensor.layout is torch.strided for tensor in tensors)
    if not strided or not any(map(_may_write, nodes)):
        return
    recording = torch.is_grad_enabled()
    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
        try:
            _Walk(graph_module).run(*_alike(examples))
        finally:
            torch.set_grad_enabled(recording)


def _may_write(node: fx.Node) -> bool:
    """Whether a node is named as ops in place are, or has an `out`."""
    if node.op not in ("call_function", "call_method"):
        return False
    name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
    packet = name.split(".")[0]
    in_place = packet.endswith("_") and not packet.endswith("__")
    augmented = getattr(node.target, "__module__", "") == "_operator" and packet.startswith("i")
    return in_place or augmented or packet == "setitem" or node.kwargs.get("out") is not None


def _alike(examples: Sequence[Any]) -> list[Any]:
    """New tensors without data, of which those share memory that share it in the examples."""
    wholes: dict[int, torch.Tensor] = {}
    found: list[Any] = []
    for example in examples:
        if not isinstance(example, torch.Tensor):
            found.append(int(example) if isinstance(example, torch.SymInt) else example)
            continue
        storage = example.untyped_storage()
        if storage._cdata not in wholes:
            wholes[storage._cdata] = torch.empty(int(storage.nbytes()), dtype=torch.uint8)
        whole = wholes[storage._cdata].view(example.dtype)
        size, stride = map(int, example.size()), map(int, example.stride())
        found.append(whole.as_strided(list(size), list(stride), int(example.storage_offset())))
    return found


class _Walk(fx.Interpreter):
    def run_node(self, n: fx.Node) -> Any:
        if isinstance(n.target, HigherOrderOperator):
            return n.meta["example_value"]
        with _Watching(n):
            return super().run_node(n)


class _Watching(TorchDispatchMode):
    """Looks at each op of ATen that a node does."""

    def __init__(self, node: fx.Node) -> None:
        super().__init__()
        self.node = node

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        keywords = kwargs or {}
        if func.namespace == "aten" and func._schema.is_mutable:
            reason = _Call(func, args, keywords).fault()
            if reason is not None:
                place = Locations().of_trace(self.node.meta.get("stack_trace"))
                location = (describe_location(place) or "").removesuffix(":0") or None
                near = "a clone() of what is read"
                raise UnsupportedError(str(func), reason, location=location, nearest=near)
        return func(*args, **keywords)


class _Call:
    """What an op reads and what it writes: (argument, number in its list or -1, tensor)."""

    def __init__(self, func: Any, args: Sequence[Any], keywords: dict[str, Any]) -> None:
        self.func = func
        self.name = f"{func._schema.name.removeprefix('aten::')}.{func._overloadname}"
        self.packet = self.name.split(".")[0]
        self.read: list[tuple[str, int, torch.Tensor]] = []
        self.written: list[tuple[str, int, torch.Tensor]] = []
        for position, argument in enumerate(func._schema.arguments):
            given = args[position] if position < len(args) else keywords.get(argument.name)
            kept = self.written if argument.is_write else self.read
            listed = isinstance(given, list | tuple)
            kept += [
                (argument.name, number if listed else -1, entry)
                for number, entry in enumerate(given if listed else [given])
                if isinstance(entry, torch.Tensor)
            ]

    def fault(self) -> str | None:
        """Why eager mode would give other numbers than the op as a whole, or None."""
        if self.name in WRITES_LAST or self.packet in ("set_", "resize_", "resize_as_"):
            return None
        for number, (_, _, target) in enumerate(self.written):
            if any(_meet(other, target) for _, _, other in self.written[:number]):
                return "writes two tensors that share memory"
        for name, number, operand in self.read:
            for _, place, target in self.written:
                in_turn = self.packet.startswith("_foreach_") and number != place
                if not _meet(operand, target) or (self.name, name) in READ_BEFORE:
                    continue
                if in_turn:
                    return f"argument '{name}' reads what an earlier entry of the lists writes"
                if not self._in_place(name, operand, target):
                    return f"argument '{name}' shares some elements with the tensor it writes"
        return None

    def _in_place(self, name: str, operand: torch.Tensor, target: torch.Tensor) -> bool:
        """Whether an operand is read where it is written, by an op that does so in any order."""
        same = _layout(operand).is_at(_layout(target))
        if self._is_elementwise():
            return same or _layout(operand).meets_in_place(_layout(target))
        first = self.func._schema.arguments[0].name
        like_self = name == first and hasattr(torch.ops.aten, f"{self.packet}_")
        return same and (like_self or self.packet in ROW_BY_ROW)

    def _is_elementwise(self) -> bool:
        packet = self.packet.removesuffix("_")
        if packet in ELEMENTWISE or packet.startswith("_foreach_"):
            return True
        functional = getattr(torch.ops.aten, packet, None)
        names = functional.overloads() if functional is not None else []
        kinds = [self.func, *(getattr(functional, name) for name in names)]
        return any(torch.Tag.pointwise in kind.tags for kind in kinds)


def _meet(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.untyped_storage()._cdata != other.untyped_storage()._cdata:
        return False
    return _layout(one).meets(_layout(other))


def _layout(tensor: torch.Tensor) -> Layout:
    width = tensor.element_size()
    strides = tuple(width * stride for stride in tensor.stride())
    return Layout(tuple(tensor.shape), strides, width * int(tensor.storage_offset()), width)
