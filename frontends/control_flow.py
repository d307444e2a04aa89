"""Import of torch's control flow: higher-order ops whose graphs become regions of `control` ops."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import fx
from torch.utils import _pytree as pytree
from xdsl.dialects.builtin import LocationAttr, TensorType, i1, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from lamina.dialects import aten
from lamina.dialects.control import CondOp, RegionOp, ScanOp, WhileOp, YieldOp
from lamina.dialects.control.scan import stacked
from lamina.dialects.errors import UnsupportedError
from lamina.frontends.flex_attention import traced_attention
from lamina.frontends.torch_types import tensor_type

Value = Any


class Graph(Protocol):
    """What importing graphs within a graph needs of its importer (`graph.GraphImporter`)."""

    block: Block

    def run(self, graph_module: fx.GraphModule, arguments: Sequence[Value]) -> list[Value]:
        """Append a graph's ops to `block`; its results."""
        ...

    def unsupported(
        self, node: fx.Node, reason: str, nearest: str | None = None
    ) -> UnsupportedError:
        """The error that names a node."""
        ...


Importer = Callable[["ControlFlow", fx.Node, Sequence[Value]], Value]


class ControlFlow:
    """Imports the higher-order ops of one graph into the block that `graph` appends to."""

    def __init__(self, graph: Graph, location: LocationAttr) -> None:
        self.graph = graph
        self.location = location

    def add(self, op: Operation) -> Sequence[SSAValue]:
        """Append an op; its results."""
        op.location = self.location
        self.graph.block.add_op(op)
        return op.results

    def aten(self, name: str, *args: Any, **keywords: Any) -> SSAValue:
        """Append `aten.<name>`; its result."""
        made: Any = aten.op(name)
        return self.add(made(*args, **keywords))[0]

    def number(self, tensor: SSAValue) -> SSAValue:
        """The integer that a 0-d tensor holds, which crosses regions as such."""
        return self.aten("item.default", tensor, result_types=[i64])

    def tensor(self, number: SSAValue | bool | int) -> SSAValue:
        """An integer or boolean as a 0-d tensor."""
        kind = number.type if isinstance(number, SSAValue) else _kind(number)
        types = [TensorType(kind, [])]
        return self.aten("scalar_tensor.default", number, dtype=kind, result_types=types)

    def region(
        self,
        node: fx.Node,
        module: fx.GraphModule,
        inputs: Sequence[Value],
        arguments: list[Value],
        numbers: Collection[int] = (),
    ) -> Block:
        """A block whose arguments stand for the SSA values among `inputs`, with a graph's ops.

        `arguments` are the graph's: entries of `inputs`, whose numbers are used as they are; those
        at the places `numbers` are integers for the graph. The block ends in what the graph gives,
        numbers as 0-d tensors.
        """
        outer, self.graph.block = self.graph.block, Block()
        try:
            block = self.graph.block
            for value in inputs:
                block.insert_arg(value.type, len(block.args))
            given = iter(block.args)
            values = [next(given) if isinstance(a, SSAValue) else a for a in arguments]
            values = [self.number(v) if n in numbers else v for n, v in enumerate(values)]
            results = self.graph.run(module, values)
            for place, result in enumerate(results):
                if _is_number(result):
                    results[place] = self.tensor(result)
                elif not isinstance(result, SSAValue):
                    raise self.graph.unsupported(
                        node, f"a graph of it gives {result!r}, which is no tensor"
                    )
            block.add_op(YieldOp(results))
            return block
        finally:
            self.graph.block = outer


def _tensors(control: ControlFlow, node: fx.Node, values: Sequence[Value]) -> list[SSAValue]:
    """`values`, which must all be tensors."""
    for value in values:
        if not isinstance(value, SSAValue) or not isinstance(value.type, TensorType):
            raise control.graph.unsupported(
                node,
                f"it carries or walks over {value if not isinstance(value, SSAValue) else 'a size'}"
                ", which is no tensor",
                nearest="torch.tensor(...) of that number",
            )
    return list(values)


def _is_number(value: Value) -> bool:
    return (isinstance(value, SSAValue) and value.type in (i1, i64)) or isinstance(value, int)


def _kind(number: int) -> Attribute:
    return i1 if isinstance(number, bool) else i64


def _ssa(values: Sequence[Value]) -> list[SSAValue]:
    return [value for value in values if isinstance(value, SSAValue)]


def _types(node: fx.Node) -> list[Attribute]:
    """The result types; an integer is a 0-d tensor."""
    return [
        TensorType(i64, []) if isinstance(example, int | torch.SymInt) else tensor_type(example)
        for example in node.meta["val"]
    ]


def _results(control: ControlFlow, node: fx.Node, results: Sequence[SSAValue]) -> list[SSAValue]:
    """The results of an op as the graph has them: integers are numbers again."""
    return [
        control.number(result) if isinstance(example, int | torch.SymInt) else result
        for result, example in zip(results, node.meta["val"], strict=True)
    ]


def _isolated(
    blocks: Sequence[Block], build: Callable[[list[SSAValue], list[Region]], RegionOp]
) -> RegionOp:
    """The op with these regions; what they use from outside becomes further operands."""
    outer: dict[SSAValue, None] = {}
    for block in blocks:
        inside = {block}
        for op in block.walk():
            inside.update(inner for region in op.regions for inner in region.blocks)
        for op in block.walk():
            for operand in op.operands:
                owner = operand.owner
                home = owner if isinstance(owner, Block) else owner.parent
                if home not in inside:
                    outer[operand] = None
    for block in blocks:
        arguments = {v: block.insert_arg(v.type, len(block.args)) for v in outer}
        for op in block.walk():
            for index, operand in enumerate(op.operands):
                if operand in arguments:
                    op.operands[index] = arguments[operand]
    return build(list(outer), [Region(block) for block in blocks])


def _cond(control: ControlFlow, node: fx.Node, args: Sequence[Value]) -> Value:
    predicate, then_graph, else_graph, *rest = args
    operands = list(rest[0]) if rest else []
    if isinstance(predicate, bool):
        return control.graph.run(then_graph if predicate else else_graph, operands)
    if isinstance(predicate, SSAValue) and predicate.type == i1:
        # A relation of sizes that depend on data.
        kind = TensorType(i1, [])
        made: Any = aten.op("scalar_tensor.default")
        (predicate,) = control.add(made(predicate, dtype=i1, result_types=[kind]))
    (predicate,) = _tensors(control, node, [predicate])
    inputs = _ssa(operands)
    types = _types(node)
    blocks = [control.region(node, g, inputs, operands) for g in (then_graph, else_graph)]
    op = _isolated(
        blocks, lambda more, regions: CondOp(predicate, [*inputs, *more], types, *regions)
    )
    return _results(control, node, control.add(op))


def _while(control: ControlFlow, node: fx.Node, args: Sequence[Value]) -> Value:
    test, body, starts, fixed = args
    numbers = {place for place, start in enumerate(starts) if _is_number(start)}
    given = [control.tensor(s) if place in numbers else s for place, s in enumerate(starts)]
    starts = _tensors(control, node, given)
    inputs = _ssa(fixed)
    operands = [*starts, *fixed]
    blocks = [control.region(node, g, [*starts, *inputs], operands, numbers) for g in (test, body)]
    op = _isolated(blocks, lambda more, regions: WhileOp(starts, [*inputs, *more], *regions))
    return _results(control, node, control.add(op))


def _scan(control: ControlFlow, node: fx.Node, args: Sequence[Value]) -> Value:
    graph, starts, sequences, fixed = args
    starts, sequences = _tensors(control, node, starts), _tensors(control, node, sequences)
    return _scan_over(control, node, graph, starts, sequences, list(fixed), _types(node))


def _map(control: ControlFlow, node: fx.Node, args: Sequence[Value]) -> Value:
    graph, sequences, fixed = args
    sequences = _tensors(control, node, sequences)
    return _scan_over(control, node, graph, [], sequences, list(fixed), _types(node))


def _scan_over(
    control: ControlFlow,
    node: fx.Node,
    graph: fx.GraphModule,
    starts: list[SSAValue],
    sequences: list[SSAValue],
    fixed: list[Value],
    types: list[Attribute],
    keep: bool = False,
) -> list[SSAValue]:
    """A scan by `graph`; with `keep` its carried values are stacked as well."""
    inputs = _ssa(fixed)
    rows = [Block(arg_types=[_row(s.type)]).args[0] for s in sequences]
    operands = [*starts, *rows, *fixed]
    block = control.region(node, graph, [*starts, *rows, *inputs], operands)
    if keep:
        end = block.last_op
        assert end is not None
        end.operands = [*end.operands, *end.operands]
    op = _isolated(
        [block],
        lambda more, regions: ScanOp(starts, sequences, [*inputs, *more], types, *regions),
    )
    return list(control.add(op))


def _row(kind: Attribute) -> TensorType:
    assert isinstance(kind, TensorType)
    return TensorType(kind.element_type, kind.get_shape()[1:])


def _associative_scan(control: ControlFlow, node: fx.Node, args: Sequence[Value]) -> Value:
    """From left to right, which is one of the orders that associativity allows."""
    graph, sequences, *rest = args
    sequences = _tensors(control, node, sequences)
    length = sequences[0].type.get_shape()[0]  # pyright: ignore - tensors
    if length < 2:
        return sequences
    starts = [control.aten("select.int", s, 0, 0) for s in sequences]
    others = [control.aten("slice.Tensor", s, 0, 1, length) for s in sequences]
    types = [start.type for start in starts]
    types += [stacked(start.type, length - 1) for start in starts]
    fixed = list(rest[0]) if rest else []
    made = _scan_over(control, node, graph, starts, others, fixed, types, keep=True)
    heads = [control.aten("unsqueeze.default", start, 0) for start in starts]
    tails = made[len(starts) :]
    return [control.aten("cat.default", list(pair)) for pair in zip(heads, tails, strict=True)]


def _call(control: ControlFlow, node: fx.Node, args: Sequence[Value]) -> Value:
    """A graph that is just called."""
    graph, *operands = args
    return control.graph.run(graph, operands)


def _named_call(control: ControlFlow, node: fx.Node, args: Sequence[Value]) -> Value:
    graph, _, *operands = args
    return control.graph.run(graph, operands)


def _under_mode(control: ControlFlow, node: fx.Node, args: Sequence[Value]) -> Value:
    _, graph, *operands = args
    return control.graph.run(graph, operands)


def _flex_attention(control: ControlFlow, node: fx.Node, args: Sequence[Value]) -> Value:
    try:
        graph, inputs = traced_attention(node)
    except Exception as error:  # whatever torch says of a graph that it cannot do for all scores
        reason = f"cannot be traced: {str(error).strip().partition(chr(10))[0]}"
        raise control.graph.unsupported(node, reason) from error
    pairs = zip(pytree.tree_leaves(node.args), pytree.tree_leaves(list(args)), strict=True)
    values = {source: value for source, value in pairs if isinstance(source, fx.Node)}
    return control.graph.run(graph, [values[source] for source in inputs])


IMPORTERS: Mapping[str, Importer] = {
    "associative_scan": _associative_scan,
    "cond": _cond,
    "flex_attention": _flex_attention,
    "invoke_quant": _call,
    "invoke_quant_packed": _call,
    "invoke_subgraph": _named_call,
    "map_impl": _map,
    "scan": _scan,
    "while_loop": _while,
    "wrap_with_set_grad_enabled": _under_mode,
}
"""Torch's name of each higher-order op that can be imported."""


def import_higher_order(
    graph: Graph, node: fx.Node, args: Sequence[Value], location: LocationAttr
) -> Value:
    """The results of a higher-order op, whose graphs stand among `args`.

    Raises UnsupportedError for one that is none of `IMPORTERS`, and for what a region cannot take.
    """
    importer = IMPORTERS.get(str(node.target))
    if importer is None:
        raise graph.unsupported(
            node,
            "this higher-order op cannot be imported",
            nearest=", ".join(sorted(IMPORTERS)),
        )
    return importer(ControlFlow(graph, location), node, args)
