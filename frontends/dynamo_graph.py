"""Import of the functional ATen graphs that AOTAutograd makes, as `aten` modules."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import unset_fake_temporarily
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, i64
from xdsl.ir import Block, SSAValue

from lamina.dialects import aten
from lamina.dialects.records import mutable_record
from lamina.frontends.dynamo_numbers import numbers_as_tensors
from lamina.frontends.dynamo_results import Finish, shared_results
from lamina.frontends.dynamo_rewrites import undo_specializations
from lamina.frontends.dynamo_views import read_in_memory_order, wrong_write
from lamina.frontends.graph import GraphImporter
from lamina.frontends.locations import Locations
from lamina.frontends.main_function import main_module, output_attributes
from lamina.frontends.open_sizes import open_sizes, size_number
from lamina.frontends.torch_types import known_size, scalar_type, tensor_type


@mutable_record
class DynamoGraph:
    """An `aten` module and how the arguments of a call map to it.

    `inputs` and `bound` have the positions of the call's arguments that are passed and bound;
    `strided` those of `inputs` that are not row-major contiguous, `mutated` those written to.
    `rearranged` names those of `bound` that are not row-major contiguous.
    `begins` says where inputs have to begin in their storage, where that matters.
    `outputs` has a compiled output's number for each result, or None where the result is None;
    `finish` makes the results of a call of them, unless they are that already.
    """

    module: ModuleOp
    inputs: list[int] = field(default_factory=list)
    bound: dict[int, str] = field(default_factory=dict)
    rearranged: set[str] = field(default_factory=set)
    constants: dict[str, torch.Tensor] = field(default_factory=dict)
    strided: list[int] = field(default_factory=list)
    mutated: list[int] = field(default_factory=list)
    begins: dict[int, int] = field(default_factory=dict)
    outputs: list[int | None] = field(default_factory=list)
    finish: Finish | None = None


def import_dynamo_graph(
    graph_module: fx.GraphModule,
    bindable: Collection[int],
    regenerated: Collection[int] = (),
    aliases: Mapping[str, str] | None = None,
) -> DynamoGraph:
    """Imports a graph whose inputs are all placeholders, and which it changes.

    Inputs at the positions `bindable` become parameters of the module unless the graph writes to
    them. Results at the positions `regenerated` are made anew of inputs by AOTAutograd. `aliases`
    has symbols that are to stand for others. Raises
    UnsupportedError, with the source line, for what is no ATen op on CPU tensors.
    """
    imported = DynamoGraph(ModuleOp([]))
    block = Block()
    importer = GraphImporter(block, Locations(), lambda name, tensor: bind(name, tensor))
    begins = _prepare(graph_module, importer)
    imported.finish = shared_results(graph_module, regenerated)
    arguments: list[tuple[str, str]] = []
    placeholders = [node for node in graph_module.graph.nodes if node.op == "placeholder"]
    written = _written(graph_module)
    values: list[object] = []

    def add(name: str, kind: str, tensor: torch.Tensor) -> SSAValue:
        value = block.insert_arg(tensor_type(tensor), len(block.args))
        value.name_hint = name
        arguments.append((name, kind))
        return value

    def bind(name: str, tensor: torch.Tensor) -> SSAValue:
        plain = name.replace(".", "_")
        with unset_fake_temporarily():
            imported.constants[plain] = tensor.detach()
        return add(plain, "constant", tensor)

    dims: dict[str, ArrayAttr] = {}
    symbols: dict[int, fx.Node] = {}
    for position, node in enumerate(placeholders):
        example = node.meta.get("val")
        if isinstance(example, torch.SymInt):
            fixed = known_size(example)
            if fixed is None:
                symbols[position] = node
            values.append(fixed)
            continue
        if not isinstance(example, torch.Tensor):
            values.append(_fixed(example))
            continue
        sizes = open_sizes(node.name, example, aliases=aliases)
        if sizes is not None:
            dims[node.name] = sizes
        if position in bindable and node not in written:
            imported.bound[position] = node.name
            if not example.is_contiguous():
                imported.rearranged.add(node.name)
            values.append(add(node.name, "parameter", example))
            continue
        imported.inputs.append(position)
        values.append(add(node.name, "input", example))
        if not example.is_contiguous():
            imported.strided.append(position)
        if node in written:
            imported.mutated.append(position)
        if node in begins:
            imported.begins[position] = begins[node]
    for position, node in symbols.items():
        size = _size_of_another(node, placeholders, values, block)
        if size is None:
            imported.inputs.append(position)
            size = block.insert_arg(i64, len(block.args))
            arguments.append((node.name, "input"))
            said = size_number(node.meta["val"], graph_module, aliases)
            if said is not None:
                dims[node.name] = said
        values[position] = size
    results = importer.run(graph_module, values)
    kept = [result for result in results if isinstance(result, SSAValue)]
    numbers = iter(range(len(kept)))
    imported.outputs = [next(numbers) if isinstance(r, SSAValue) else None for r in results]
    attributes = [output_attributes() for _ in kept]
    imported.module = main_module(block, arguments, kept, attributes, dims=dims)
    return imported


def _prepare(graph_module: fx.GraphModule, importer: GraphImporter) -> dict[fx.Node, int]:
    """Brings a graph in the form that can be imported; gives where placeholders have to begin."""
    undo_specializations(graph_module)
    numbers_as_tensors(graph_module)
    for node in graph_module.graph.nodes:
        if reason := wrong_write(node):
            raise importer.unsupported(node, reason, "a clone() of the view, copied back")
    return read_in_memory_order(graph_module, importer.unsupported)


def _fixed(example: Any) -> object:
    """A number that guards hold to its value."""
    if example is not None:
        scalar_type(example)  # refuses what is no number
    return example


def _size_of_another(
    symbol: fx.Node, placeholders: Sequence[fx.Node], values: Sequence[Any], block: Block
) -> SSAValue | None:
    """The size of a tensor that is passed, if that is what a symbol stands for."""
    wanted = symbol.meta["val"].node.expr
    for node, value in zip(placeholders, values, strict=True):
        example = node.meta.get("val")
        if not isinstance(example, torch.Tensor) or value is None:
            continue
        for dim, size in enumerate(example.shape):
            if isinstance(size, torch.SymInt) and size.node.expr == wanted:
                made: Any = aten.op("sym_size.int")(value, dim, result_types=[i64])
                block.add_op(made)
                return made.results[0]
    return None


def _written(graph_module: fx.GraphModule) -> set[fx.Node]:
    """Placeholders that the graph mutates; AOTAutograd leaves only copies into inputs."""
    found: set[fx.Node] = set()
    for node in graph_module.graph.nodes:
        if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
            continue
        for argument, value in zip(node.target._schema.arguments, node.args, strict=False):
            if argument.alias_info is not None and argument.alias_info.is_write:
                assert isinstance(value, fx.Node)
                found.add(value)
    return {node for node in found if node.op == "placeholder"}
