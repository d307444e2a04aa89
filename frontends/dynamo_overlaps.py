"""Ops of a Dynamo graph that read memory they write, refused before AOTAutograd hides them.

AOTAutograd computes such an op as a whole and then writes, where eager mode writes element by
element, or list entry by list entry. Where that makes a difference the graph is refused, by the
rules of `lamina.passes.functionalize.overlaps`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import fx
from torch._ops import HigherOrderOperator
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv, guarding_hint_or_throw
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from lamina.dialects.errors import UnsupportedError
from lamina.dialects.source import describe_location
from lamina.frontends.locations import Locations
from lamina.passes.functionalize.overlaps import ELEMENTWISE, READ_BEFORE, ROW_BY_ROW, WRITES_LAST
from lamina.passes.functionalize.view_layouts import Layout


def refuse_overlaps(graph_module: fx.GraphModule) -> None:
    """Run a graph that writes on tensors without data; UnsupportedError names an op at fault."""
    nodes = list(graph_module.graph.nodes)
    sources = {
        node: node.meta.get("example_value")
        for node in nodes
        if node.op in ("placeholder", "get_attr")
    }
    tensors = [example for example in sources.values() if isinstance(example, torch.Tensor)]
    strided = all(tensor.layout is torch.strided for tensor in tensors)
    if not strided or not any(map(_may_write, nodes)):
        return
    recording = torch.is_grad_enabled()
    # The mode takes no tensor with data: it would compute in place on what a user holds.
    with FakeTensorMode(shape_env=ShapeEnv()):
        values = dict(zip(sources, _alike(list(sources.values())), strict=True))
        walk = _Walk(graph_module, values)
        try:
            walk.run(*(value for node, value in values.items() if node.op == "placeholder"))
        except BaseException:
            walk.leave()
            raise
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
            found.append(_hint(example) if isinstance(example, torch.SymInt) else example)
            continue
        storage = example.untyped_storage()
        if storage._cdata not in wholes:
            wholes[storage._cdata] = torch.empty(_hint(storage.nbytes()), dtype=torch.uint8)
        whole = wholes[storage._cdata].view(example.dtype)
        size, stride = map(_hint, example.size()), map(_hint, example.stride())
        found.append(whole.as_strided(list(size), list(stride), _hint(example.storage_offset())))
    return found


def _hint(size: Any) -> int:
    """What a size is in this call; to ask a symbolic one for its number would fix it."""
    return guarding_hint_or_throw(size)


class _Walk(fx.Interpreter):
    """Runs a graph on `values` of what it is given and of what it holds, such as parameters."""

    def __init__(self, graph_module: fx.GraphModule, values: Mapping[fx.Node, Any]) -> None:
        super().__init__(graph_module)
        self._nodes = list(graph_module.graph.nodes)
        self._values = values
        self._last: fx.Node | None = None

    def leave(self) -> None:
        """Runs what ends the transforms of torch.func that the walk, which has failed, is in.

        Those calls, like those that begin one, take and give nothing.
        """
        reached = 0 if self._last is None else self._nodes.index(self._last) + 1
        for node in self._nodes[reached:]:
            if node.op == "call_function" and not node.all_input_nodes and not node.users:
                node.target(*node.args, **node.kwargs)

    def run_node(self, n: fx.Node) -> Any:
        self._last = n
        if n.op == "get_attr":
            held = self._values[n]
            return super().run_node(n) if held is None else held
        number = n.meta.get("example_value")
        if isinstance(number, torch.SymFloat) and number.node.has_hint():
            return number.node.hint  # read of a tensor without data, it would be any number
        if isinstance(n.target, HigherOrderOperator):
            return tree_map(lambda leaf: _alike([leaf])[0], n.meta["example_value"])
        try:
            with _Watching(n):
                return super().run_node(n)
        except DataDependentOutputException as error:
            made = n.meta.get("example_value")
            # A check of numbers within a composite, as of the window of istft, was traced before.
            if error.func is not torch.ops.aten.equal.default or not isinstance(made, torch.Tensor):
                raise
            return _alike([made])[0]


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
            if _is_expanded(target):
                # AOTAutograd would add up what the places of one element get.
                return "writes through an expanded view, whose elements share memory"
            if not _is_sized_by_data(target) and _layout(target).meets_itself():
                return "writes a tensor whose elements share memory"
            if any(meet(other, target) for _, _, other in self.written[:number]):
                return "writes two tensors that share memory"
        for name, number, operand in self.read:
            for _, place, target in self.written:
                in_turn = self.packet.startswith("_foreach_") and number != place
                if not meet(operand, target) or (self.name, name) in READ_BEFORE:
                    continue
                if in_turn:
                    return f"argument '{name}' reads what an earlier entry of the lists writes"
                if not self._in_place(name, operand, target):
                    return f"argument '{name}' shares some elements with the tensor it writes"
        return None

    def _in_place(self, name: str, operand: torch.Tensor, target: torch.Tensor) -> bool:
        """Whether an operand is read where it is written, by an op that does so in any order."""
        by_data = _is_sized_by_data(operand) or _is_sized_by_data(target)
        if by_data:
            same = _named(operand) == _named(target)
        else:
            same = _layout(operand).is_at(_layout(target))
        if self._is_elementwise():
            return same or (not by_data and _layout(operand).meets_in_place(_layout(target)))
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


def meet(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors without data share elements, as far as is known."""
    if one.untyped_storage()._cdata != other.untyped_storage()._cdata:
        return False
    if _is_sized_by_data(one) or _is_sized_by_data(other):
        return True  # perhaps
    return _layout(one).meets(_layout(other))


def _is_expanded(tensor: torch.Tensor) -> bool:
    sizes = zip(tensor.shape, tensor.stride(), strict=True)
    return any(type(stride) is int and not stride and extent != 1 for extent, stride in sizes)


def _is_sized_by_data(tensor: torch.Tensor) -> bool:
    return not all(type(n) is int for n in (*tensor.shape, *tensor.stride()))


def _named(tensor: torch.Tensor) -> tuple[str, ...]:
    """Sizes, strides and start by the names of what is not known of them."""
    return tuple(map(str, (*tensor.shape, *tensor.stride(), tensor.storage_offset(), tensor.dtype)))


def _layout(tensor: torch.Tensor) -> Layout:
    width = tensor.element_size()
    strides = tuple(width * stride for stride in tensor.stride())
    return Layout(tuple(tensor.shape), strides, width * int(tensor.storage_offset()), width)
