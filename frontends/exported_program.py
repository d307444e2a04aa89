"""Import of `torch.export.ExportedProgram` into an `aten` module.

The graph is taken as torch.export gives it, mutating ops, views and all; nothing is decomposed
here. The module has one function, `main`: parameters, buffers and constants come first, then the
tensors the user passes. What the user passes or gets back that is no tensor is in the structure.
"""

import copy
from collections.abc import Collection, Sequence
from dataclasses import field
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import (
    ConstantArgument,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
)
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, SSAValue

from lamina.dialects.errors import InputError, UnsupportedError
from lamina.dialects.records import mutable_record
from lamina.frontends.graph import BLOCKED, GraphImporter
from lamina.frontends.locations import Locations
from lamina.frontends.main_function import main_module
from lamina.frontends.open_sizes import hinted_shape, note_hints, open_sizes, take_small_sizes
from lamina.frontends.pytrees import Fixed, TorchStructure
from lamina.frontends.recurrent_composites import take_apart
from lamina.frontends.source_program import SourceProgram
from lamina.frontends.storage_offsets import counted_from_arguments
from lamina.frontends.strided_reshapes import with_copies_settled
from lamina.frontends.torch_seeds import TORCH_SEEDS
from lamina.frontends.torch_types import scalar_type, tensor_type

_BOUND_KINDS: dict[InputKind, str] = {
    InputKind.PARAMETER: "parameter",
    InputKind.BUFFER: "buffer",
    InputKind.CONSTANT_TENSOR: "constant",
}
_MUTATIONS = (
    OutputKind.BUFFER_MUTATION,
    OutputKind.PARAMETER_MUTATION,
    OutputKind.USER_INPUT_MUTATION,
)


def import_exported_program(program: ExportedProgram) -> SourceProgram:
    """Imports `program`, as `torch.export.export` gives it, as an `aten` module.

    The result has it as `module`, its parameters and buffers by name as `constants`, and in
    `structure` how arguments and results nest. Raises UnsupportedError, with the source line, for
    what is no ATen op on CPU tensors: higher-order ops other than control flow, custom ops without
    a kernel for the CPU, objects, effect tokens, training outputs.

        imported = lamina.import_exported_program(torch.export.export(model, (x,)))
        print(imported.module)
    """
    if not isinstance(program, ExportedProgram):
        kind = type(program).__name__
        raise InputError(f"import_exported_program: it takes an ExportedProgram, not a {kind}")
    if _needs_tracing(program.graph_module):
        program = _traced_again(program)
    return _ProgramImporter(program).run()


def _traced_again(program: ExportedProgram) -> ExportedProgram:
    try:
        program = copy.copy(program)
        program._graph_module = copy.deepcopy(program.graph_module)
        take_apart(program.graph_module)
        return program.run_decompositions({})
    except Exception as error:  # whatever torch says of transforms that it cannot take apart
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise UnsupportedError(
            "a function transform",
            f"torch cannot decompose this exported program: {reason}",
            nearest='torch.compile(backend="lamina"), which takes torch.func.grad and its like',
        ) from error


def import_with_blockers(program: ExportedProgram) -> tuple[ModuleOp, list[UnsupportedError]]:
    """As `import_exported_program`, but goes on after ops that cannot be imported.

    Gives the module, with arguments in place of what those ops make, and an error for each op.
    """
    importer = _ProgramImporter(program, blockers=[])
    module = importer.run().module
    assert importer.blockers is not None
    return module, importer.blockers


def _needs_tracing(graph_module: torch.fx.GraphModule) -> bool:
    """Whether torch left `vmap` or `autocast` in a graph, whose rules only torch knows.

    `vmap` is calls that switch it on and off around ops on slices, and becomes ops on batches;
    regions of `autocast` hold ops without the conversions that it makes.
    """
    return any(
        getattr(node.target, "__module__", None) == "torch._functorch.predispatch"
        or node.target is torch.ops.higher_order.wrap_with_autocast
        for part in graph_module.modules()
        if isinstance(part, torch.fx.GraphModule)
        for node in part.graph.nodes
    )


@mutable_record
class _ProgramImporter:
    program: ExportedProgram
    block: Block = field(default_factory=Block)
    constants: dict[str, torch.Tensor] = field(default_factory=dict)
    argument_names: list[tuple[str, str]] = field(default_factory=list)  # name, kind
    inputs: list[str | Fixed] = field(default_factory=list)
    dims: dict[str, ArrayAttr] = field(default_factory=dict)
    examples: dict[str, tuple[int, ...] | None] = field(default_factory=dict)
    blockers: list[UnsupportedError] | None = None
    _by_storage: dict[object, SSAValue] = field(default_factory=dict)
    _name_of_node: dict[str, str] = field(default_factory=dict)

    def run(self) -> SourceProgram:
        signature = self.program.graph_signature
        stand_in = None if self.blockers is None else self._stand_in
        self.importer = GraphImporter(self.block, Locations(), self._bind_attribute, stand_in)
        values = self._add_arguments(signature.input_specs)
        graph_module, begins = self._counted(signature.input_specs)
        results = self.importer.run(with_copies_settled(graph_module), values)
        kept, attributes, outputs = self._split_results(results, signature.output_specs)
        module = main_module(self.block, self.argument_names, kept, attributes, dims=self.dims)
        take_small_sizes(module)
        note_hints(module, self.examples)
        structure = TorchStructure.of(self.program, tuple(self.inputs), tuple(outputs), begins)
        return SourceProgram(module, self.constants, structure, TORCH_SEEDS)

    # Arguments

    def _add_arguments(self, specs: Sequence[InputSpec]) -> list[object]:
        nodes = [n for n in self.program.graph.nodes if n.op == "placeholder"]
        user_names = {s.arg.name for s in specs if s.kind is InputKind.USER_INPUT}
        values: list[object] = []
        for node, spec in zip(nodes, specs, strict=True):
            try:
                values.append(self._add_given(node, spec, user_names))
            except UnsupportedError as error:
                if self.blockers is None:
                    raise
                about = f"input {spec.arg.name}"
                reason = error.reason if error.op == about else f"{error.op}: {error.reason}"
                self.blockers.append(UnsupportedError(about, reason, nearest=error.nearest))
                values.append(BLOCKED)
        return values

    def _add_given(self, node: Any, spec: InputSpec, user_names: Collection[str | None]) -> object:
        """What a placeholder stands for."""
        if spec.kind is InputKind.USER_INPUT:
            return self._add_input(spec, node.meta.get("val"))
        if spec.kind not in _BOUND_KINDS:
            raise UnsupportedError(
                f"input {spec.arg.name}", f"{spec.kind.name.lower()} inputs cannot be imported"
            )
        assert spec.target is not None
        name = spec.arg.name if spec.target in user_names else spec.target
        tensor = self._bound_tensor(spec)
        self._name_of_node[spec.arg.name] = name
        return self._add_bound(name, _BOUND_KINDS[spec.kind], tensor, node.name)

    def _add_input(self, spec: InputSpec, example: object) -> object:
        name = spec.arg.name
        if isinstance(spec.arg, ConstantArgument) or example is None:
            value = getattr(spec.arg, "value", None)
            self.inputs.append(Fixed(name, value))
            return value
        self.inputs.append(name)
        self._name_of_node[name] = name
        if not isinstance(example, torch.Tensor):
            return self._add_argument(name, "input", scalar_type(example), name)
        sizes = open_sizes(name, example, self.program.range_constraints)
        if sizes is not None:
            self.dims[name] = sizes
            self.examples[name] = hinted_shape(example)
        return self._add_argument(name, "input", tensor_type(example), name)

    def _add_bound(self, name: str, kind: str, tensor: torch.Tensor, hint: str) -> SSAValue:
        # Tied weights are one argument, so that they are packed and kept once.
        key = (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype)
        shared = self._by_storage.get(key) if tensor.numel() else None
        if shared is not None:
            self._name_of_node[hint] = self.argument_names[self.block.args.index(shared)][0]
            return shared
        value = self._add_argument(name, kind, tensor_type(tensor), hint)
        self.constants[name] = tensor
        self._by_storage[key] = value
        return value

    def _add_argument(self, name: str, kind: str, type_: Attribute, hint: str) -> SSAValue:
        value = self.block.insert_arg(type_, len(self.block.args))
        value.name_hint = hint
        self.argument_names.append((name, kind))
        return value

    def _stand_in(self, error: UnsupportedError | None, types: list[Attribute]) -> list[SSAValue]:
        assert self.blockers is not None
        if error is not None:
            self.blockers.append(error)
        name = f"blocked_{len(self.argument_names)}"
        return [
            self._add_argument(f"{name}_{i}", "input", type_, name) for i, type_ in enumerate(types)
        ]

    def _bound_tensor(self, spec: InputSpec) -> torch.Tensor:
        target = spec.target
        for table in (self.program.state_dict, self.program.constants):
            value = table.get(target or "")
            if isinstance(value, torch.Tensor):
                return value.detach()
        raise UnsupportedError(f"input {spec.arg.name}", f"the program holds no tensor '{target}'")

    def _counted(self, specs: Sequence[InputSpec]) -> tuple[torch.fx.GraphModule, dict[str, int]]:
        """The graph to import, and the storage offsets that inputs must have."""
        bound = {s.arg.name: self._bound_tensor(s) for s in specs if s.kind in _BOUND_KINDS}
        graph_module = self.program.graph_module
        try:
            return counted_from_arguments(graph_module, bound, self.importer.unsupported)
        except UnsupportedError as error:
            if self.blockers is None:
                raise
            self.blockers.append(error)
            return graph_module, {}

    def _bind_attribute(self, name: str, tensor: torch.Tensor) -> SSAValue:
        """A tensor that the graph reads as an attribute of the module, as one more argument."""
        return self._add_bound(name, "constant", tensor.detach(), name.replace(".", "_"))

    # Results

    def _split_results(
        self, results: Sequence[object], specs: Sequence[OutputSpec]
    ) -> tuple[list[SSAValue], list[DictionaryAttr], list[int | Fixed]]:
        kept: list[SSAValue] = []
        attributes: list[DictionaryAttr] = []
        outputs: list[int | Fixed] = []
        for result, spec in zip(results, specs, strict=True):
            if result is BLOCKED:
                continue
            if spec.kind is OutputKind.USER_OUTPUT:
                if not isinstance(result, SSAValue):
                    outputs.append(Fixed(spec.arg.name, result))
                    continue
                outputs.append(len(outputs) - sum(type(o) is Fixed for o in outputs))
                entries = {"lamina.kind": StringAttr("output")}
            elif spec.kind in _MUTATIONS and isinstance(result, SSAValue):
                target = self._mutation_target(spec)
                entries = {
                    "lamina.kind": StringAttr("mutation"),
                    "lamina.target": StringAttr(target),
                }
            else:
                raise UnsupportedError(
                    f"output {spec.arg.name}",
                    f"{spec.kind.name.lower()} outputs cannot be imported",
                )
            kept.append(result)
            attributes.append(DictionaryAttr(entries))
        return kept, attributes, outputs

    def _mutation_target(self, spec: OutputSpec) -> str:
        assert spec.target is not None
        if spec.kind is OutputKind.USER_INPUT_MUTATION:
            return spec.target
        signature = self.program.graph_signature
        for input_spec in signature.input_specs:
            if input_spec.target == spec.target:
                return self._name_of_node[input_spec.arg.name]
        raise UnsupportedError(f"output {spec.arg.name}", f"no input holds '{spec.target}'")
