"""Import of an ONNX model: its graph, node by node, as one function of the `aten` dialect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import (
    AttributeProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TypeProto,
    defs,
    helper,
)
from xdsl.dialects.builtin import ArrayAttr, FileLineColLoc, IntAttr, StringAttr
from xdsl.ir import Attribute, Block, SSAValue

from lamina.dialects import aten, prims
from lamina.dialects.errors import InputError, UnsupportedError
from lamina.frontends.main_function import main_module, output_attributes
from lamina.frontends.onnx.arguments import Arguments
from lamina.frontends.onnx.element_types import (
    CODES,
    DTYPES,
    NARROW_CODES,
)
from lamina.frontends.onnx.errors import ValuesNeededError
from lamina.frontends.onnx.folding import fold
from lamina.frontends.onnx.functions import body_of, default_attributes, with_attributes
from lamina.frontends.onnx.narrow import as_moved, codes_of, moved_type
from lamina.frontends.onnx.node import Node
from lamina.frontends.onnx.table import NEWEST_OPSET, OLDEST_OPSET, find_importer
from lamina.frontends.onnx.values import (
    Coded,
    Held,
    Known,
    all_known,
    described,
    element_of,
    shape_of,
)
from lamina.frontends.source_program import SourceProgram

Scope = dict[str, Held | None]
_OWN = ("", "ai.onnx")


class ProgramImporter:
    """Appends the ops of one model to a block."""

    def __init__(
        self,
        model: ModelProto,
        file: str,
        bound: Mapping[str, Any],
        named_sizes: Mapping[str, int] | None = None,
    ) -> None:
        self.model = model
        self.file = file
        self.block = Block()
        self.arguments = Arguments(self.block, file, bound, named_sizes or {})
        self.local = {(f.domain, f.name): f for f in model.functions}
        self._versions: dict[tuple[str, str, int], int | None] = {}
        self._classes: dict[str, Any] = {}
        self._used_prims: set[str] = set()

    def run(self) -> SourceProgram:
        """The program. Raises UnsupportedError for what cannot be imported."""
        graph = self.model.graph
        self.arguments.check_named_sizes(graph)
        opsets = self._opsets(self.model.opset_import, OLDEST_OPSET)
        scope: Scope = {}
        for initializer in graph.initializer:
            scope[initializer.name] = self.arguments.initializer(initializer)
        for entry in graph.sparse_initializer:
            raise UnsupportedError(
                f"initializer {entry.values.name}", "sparse tensors", location=self.file
            )
        for entry in graph.input:
            if entry.name not in scope:
                scope[entry.name] = self.arguments.input(entry.name, entry.type)
        self.nodes(graph.node, scope, opsets, "")
        results = [self._result(scope, entry.name) for entry in graph.output]
        module = main_module(
            self.block,
            self.arguments.listed,
            [value for value, _ in results],
            [output_attributes(codes) for _, codes in results],
            self.arguments.codes,
        )
        if self._used_prims:
            allowed = [StringAttr(name) for name in sorted(self._used_prims)]
            module.attributes["lamina.allow"] = ArrayAttr(allowed)
        return SourceProgram(
            module, self.arguments.constants, taken=frozenset(self.arguments.taken)
        )

    def as_element(self, array: np.ndarray, element: Attribute) -> np.ndarray:
        """An array of an element type."""
        return np.asarray(array).astype(DTYPES[element])

    def _result(self, scope: Scope, name: str) -> tuple[SSAValue, str | None]:
        """An output, and the narrow type that it holds codes of."""
        value = scope.get(name)
        if value is None:
            raise InputError(f"{self.file}: error: no node makes the output '{name}'")
        if isinstance(value, Coded):
            return self._operand(value.codes), value.type.name
        return self._operand(value), None

    # Nodes

    def _opsets(self, given: Sequence[Any], oldest: int) -> dict[str, int]:
        opsets = {entry.domain: entry.version for entry in given}
        for domain in _OWN:
            version = opsets.get(domain)
            if version is not None and not oldest <= version <= NEWEST_OPSET:
                raise UnsupportedError(
                    f"opset {version}",
                    f"opsets {OLDEST_OPSET} to {NEWEST_OPSET} of ONNX are known",
                    location=self.file,
                    nearest="onnx.version_converter.convert_version",
                )
        return {("" if domain == "ai.onnx" else domain): v for domain, v in opsets.items()}

    def nodes(
        self, nodes: Sequence[NodeProto], scope: Scope, opsets: Mapping[str, int], within: str
    ) -> None:
        """Imports nodes in order; `scope` gets what they make."""
        for index, proto in enumerate(nodes):
            results = self._node(proto, scope, opsets, within, index)
            if isinstance(results, SSAValue | Known | Coded):
                results = [results]
            for name, value in zip(proto.output, results, strict=False):
                if name:
                    scope[name] = value
                    if isinstance(value, Known):
                        value.name = value.name or name
                    elif (
                        isinstance(value, SSAValue)
                        and value.name_hint is None
                        and SSAValue.is_valid_name(name)
                    ):
                        value.name_hint = name

    def _node(
        self,
        proto: NodeProto,
        scope: Scope,
        opsets: Mapping[str, int],
        within: str,
        index: int,
    ) -> Any:
        place = f"{self.file}{within}: node {proto.name or index} ({proto.op_type})"
        location = FileLineColLoc(StringAttr(place), IntAttr(index), IntAttr(0))
        domain = "" if proto.domain == "ai.onnx" else proto.domain
        inputs: list[Held | None] = []
        for name in proto.input:
            if name and name not in scope:
                raise InputError(f"{place}: error: reads '{name}', which nothing before it makes")
            inputs.append(scope[name] if name else None)
        function = self.local.get((proto.domain, proto.op_type))
        if function is not None:
            program: Any = self
            node = Node(proto, inputs, 1, program, location)
            return self._expand(node, function, opsets)
        opset = opsets.get(domain)
        version = None if opset is None else self._version(domain, proto.op_type, opset)
        if version is None:
            known = f"opset {opset}" if opset is not None else "no opset of which is imported"
            raise UnsupportedError(
                f"onnx.{proto.op_type}",
                f"not an op of domain '{domain or 'ai.onnx'}', {known}",
                location=place,
            )
        program: Any = self
        node = Node(proto, inputs, version, program, location)
        node.scope, node.opsets = scope, opsets
        return self._import(node, domain, opset or 0)

    def _version(self, domain: str, name: str, opset: int) -> int | None:
        """The opset in which an op last changed; None for ops that are not known."""
        key = domain, name, opset
        if key not in self._versions:
            try:
                self._versions[key] = defs.get_schema(name, opset, domain).since_version
            except defs.SchemaError:
                self._versions[key] = None
        return self._versions[key]

    def _import(self, node: Node, domain: str, opset: int) -> Any:
        try:
            if all_known(node.held) and not domain:
                folded = fold(node)
                if folded is not None:
                    return folded
            importer = find_importer(domain, node.proto.op_type, node.version)
            narrow = moved_type(node) if importer is not None else None
            if importer is not None and narrow is not None:
                node.held = codes_of(node.held)
                return as_moved(importer(node), narrow)
            if importer is not None:
                return importer(node)
        except UnsupportedError:
            raise
        except (IndexError, KeyError, TypeError, ValueError, AssertionError) as error:
            reason = str(error).partition("\n")[0] or type(error).__name__
            raise node.refuse(f"cannot be imported: {reason}") from error
        function = body_of(node, domain, opset)
        if function is None:
            raise node.refuse("this op is not imported")
        defaults = default_attributes(node.proto.op_type, domain, opset)
        return self._expand(node, function, {domain: opset}, defaults)

    def _expand(
        self,
        node: Node,
        function: Any,
        opsets: Mapping[str, int],
        defaults: Sequence[AttributeProto] = (),
    ) -> list[Held | None]:
        """The nodes of a function's body in the place of a node that calls it."""
        given = [*node.held, *[None] * len(function.input)]
        scope: Scope = dict(zip(function.input, given, strict=False))
        own = {**node.opsets, **opsets, **{e.domain: e.version for e in function.opset_import}}
        body = with_attributes(function, node.proto, defaults)
        within = node.place.removeprefix(self.file).partition(" (")[0]
        self.nodes(body, scope, own, f"{within} ({node.proto.op_type})")
        return [scope.get(name) for name in function.output]

    # Ops

    def op(self, node: Node, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Appends an op of `aten`, or of `prims` where the name says so."""
        op_class = self._classes.get(name)
        if op_class is None:
            dialect, _, short = name.rpartition("::")
            made = prims.op(short) if dialect == "prims" else aten.op(name)
            op_class = self._classes[name] = made
            if dialect:
                self._used_prims.add(made.name)
        try:
            op = op_class(
                *map(self._operand, args),
                location=node.location,
                **{key: self._operand(value) for key, value in kwargs.items()},
            )
        except (TypeError, ValueError) as error:
            raise node.refuse(str(error).partition("\n")[0]) from error
        self.block.add_op(op)
        return op.results[0] if len(op.results) == 1 else tuple(op.results)

    def _operand(self, value: Any) -> Any:
        if isinstance(value, Known):
            return self.arguments.materialize(value)
        if isinstance(value, Coded):
            raise ValueError(f"it takes no tensor of {described(value)}")
        if isinstance(value, list):
            return [self._operand(entry) for entry in value]
        if isinstance(value, np.generic):
            return value.item()
        return value

    def type_of(self, value: Held | None) -> TypeProto:
        """The type of a value in ONNX's terms."""
        if value is None:
            return TypeProto()
        if isinstance(value, Coded):
            code = NARROW_CODES[value.type]
            return helper.make_tensor_type_proto(code, shape_of(value.codes))
        return helper.make_tensor_type_proto(CODES[element_of(value)], shape_of(value))

    def subgraph(self, node: Node, graph: GraphProto, given: Sequence[Held]) -> list[Any]:
        """The nodes of a graph attribute in place; it reads what is around it."""
        scope = dict(node.scope)
        for initializer in graph.initializer:
            scope[initializer.name] = self.arguments.initializer(initializer)
        scope.update(zip((entry.name for entry in graph.input), given, strict=True))
        within = node.place.removeprefix(self.file)
        self.nodes(graph.node, scope, node.opsets, within)
        results: list[Held] = []
        for entry in graph.output:
            value = scope.get(entry.name)
            if value is None:
                raise node.refuse(f"its graph does not make '{entry.name}'")
            results.append(value)
        return results


__all__ = ["ProgramImporter", "ValuesNeededError"]
