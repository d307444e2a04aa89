"""Walks a torch.fx graph and builds the table-dialect op of each node."""

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Any

import torch
from torch import fx
from xdsl.dialects.builtin import DenseArrayBase, LocationAttr, TensorType, f64, i1, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from lamina.dialects import aten, prims
from lamina.dialects.errors import UnsupportedError
from lamina.dialects.extension_entries import Entry
from lamina.dialects.records import mutable_record
from lamina.dialects.schema.grammar import Kind
from lamina.dialects.schema.op import SchemaOp
from lamina.dialects.source import describe_location
from lamina.frontends.custom_ops import CustomCall, refused_reason, taken_apart
from lamina.frontends.dynamo_views import read_in_memory_order
from lamina.frontends.extended_imports import (
    extended_class,
    imported_by,
    importer_of,
    named_arguments,
)
from lamina.frontends.inlined_ops import ATEN_NAMES, implementation_of, traced
from lamina.frontends.locations import Locations
from lamina.frontends.size_arithmetic import SIZE_FUNCTIONS, idle_nodes, size_limits, size_operation
from lamina.frontends.torch_types import (
    constant_argument,
    described,
    element_type,
    scalar_type,
    tensor_type,
)

Value = Any
"""What a node stands for: an SSA value, a list of them (absent results are None), or a constant."""

_DIALECTS: dict[str, Callable[[str], type[SchemaOp]]] = {"aten": aten.op, "prims": prims.op}

_PROVEN_AT_EXPORT = frozenset({"_assert_tensor_metadata.default"})
"""Checks of static dtypes and devices, which the tensor types of the module already say."""

_UNBOUNDED = frozenset({"_local_scalar_dense", "bincount", "item", "repeat_interleave"})
"""Ops that make numbers or sizes of any magnitude; what torch knows of their range goes along."""

_MISJUDGED = frozenset({"multilabel_margin_loss", "unique_consecutive"})
"""Ops whose example results torch gives wrong shapes: losses of one row, slices by a negative dim.
The types of their results are ours."""

_IMPLIED: dict[str, object] = {"device": "cpu", "layout": "strided", "pin_memory": False}
"""Keywords that are left out of the IR, as they say what holds for every tensor here."""

StandIn = Callable[[UnsupportedError | None, list[Attribute]], list[SSAValue]]
"""Notes why an op cannot be imported; gives values of these types in place of its results."""

BLOCKED: Any = object()
"""In place of a value of a type that IR does not have, while blockers are collected."""


@mutable_record
class GraphImporter:
    """Appends the ops of graphs to `block`; `bind` gives the value of a tensor attribute."""

    block: Block
    locations: Locations
    bind: Callable[[str, torch.Tensor], SSAValue]
    stand_in: StandIn | None = None
    """If given, an op that cannot be imported does not end the import."""
    _op_classes: dict[object, type[SchemaOp]] = field(default_factory=dict)

    def run(self, graph_module: fx.GraphModule, arguments: Sequence[Value]) -> list[Value]:
        """Imports one graph with its placeholders bound to `arguments`; gives its outputs."""
        env: dict[fx.Node, Value] = {}
        remaining = iter(arguments)
        idle = idle_nodes(graph_module.graph)
        for node in graph_module.graph.nodes:
            if node in idle:
                continue
            if node.op == "placeholder":
                env[node] = next(remaining)
            elif node.op == "get_attr":
                env[node] = self._attribute(graph_module, node.target)
            elif node.op == "call_function":
                env[node] = self._call_or_stand_in(node, env)
            elif node.op == "output":
                given = fx.map_arg(node.args[0], env.__getitem__)
                return list(given) if isinstance(given, list | tuple) else [given]
            else:
                raise self.unsupported(node, f"{node.op} nodes cannot be imported")
        raise AssertionError("a graph without an output node")

    def _attribute(self, graph_module: fx.GraphModule, path: str) -> Value:
        value = operator.attrgetter(path)(graph_module)
        return self.bind(path, value) if isinstance(value, torch.Tensor) else value

    def _call_or_stand_in(self, node: fx.Node, env: dict[fx.Node, Value]) -> Value:
        if self.stand_in is None:
            return self._call(node, env)
        error: UnsupportedError | None = None
        try:
            if not self._reads_blocked(node, env):
                return self._call(node, env)
        except UnsupportedError as refused:
            error = refused
        return self._stand_ins(node.meta.get("val"), error)

    def _reads_blocked(self, node: fx.Node, env: dict[fx.Node, Value]) -> bool:
        """Whether a node cannot be imported for what it reads; its name is looked up anyway."""
        if not any(env.get(source) is BLOCKED for source in node.all_input_nodes):
            return False
        target: Any = node.target
        if isinstance(target, torch._ops.OpOverload) and implementation_of(node) is None:
            if importer_of(target) is not None or extended_class(target) is not None:
                return True
            if target._schema.name in ATEN_NAMES:
                return True
            if target.namespace in _DIALECTS:
                _DIALECTS[target.namespace](f"{target._opname}.{target._overloadname}")
            else:
                self._refuse_foreign(node, target)
        return True

    def _stand_ins(self, example: object, error: UnsupportedError | None) -> Value:
        """Values in the nesting of a result that cannot be had; notes the error once."""
        assert self.stand_in is not None
        if error is not None:
            self.stand_in(error, [])
        if isinstance(example, list | tuple):
            return [self._stand_ins(item, None) for item in example]
        try:
            types = _result_types(example)
        except UnsupportedError:
            return BLOCKED
        values = self.stand_in(None, types)
        return values[0] if values else None

    def _call(self, node: fx.Node, env: dict[fx.Node, Value]) -> Value:
        target = node.target
        if target is operator.getitem:
            source, index = node.args
            return env[source][index]  # pyright: ignore[reportArgumentType]
        if isinstance(target, torch._ops.OpOverload):
            return self._overload(node, target, env)
        if isinstance(target, torch._ops.HigherOrderOperator):
            return self._higher_order(node, env)
        if target is torch._C._set_grad_enabled:
            return None  # only autograd would notice
        if target in SIZE_FUNCTIONS:
            return self._size_arithmetic(node, env)
        if isinstance(node.meta.get("val"), torch.SymInt | torch.SymBool | torch.SymFloat):
            raise self.unsupported(node, "this function of sizes cannot be imported")
        raise self.unsupported(node, "this function is no ATen op")

    def _overload(self, node: fx.Node, target: Any, env: dict[fx.Node, Value]) -> Value:
        name = f"{target._opname}.{target._overloadname}"
        if name in _PROVEN_AT_EXPORT:
            return None
        implementation = implementation_of(node)
        if implementation is not None:
            return self._inlined(node, implementation, env)
        importer = importer_of(target)
        if importer is not None:
            return self._extended(node, importer, env)
        op_class = self._op_classes.get(target) or extended_class(target)
        if op_class is None and (alike := ATEN_NAMES.get(target._schema.name)) is not None:
            op_class = self._op_classes[target] = aten.op(alike)
        if op_class is None and target.namespace not in _DIALECTS:
            return self._custom(node, target, env)
        if op_class is None:
            op_class = self._op_classes[target] = _DIALECTS[target.namespace](name)
        location = self.locations.of_trace(node.meta.get("stack_trace"))
        example = node.meta.get("val")
        try:
            arguments = [_argument(value, env) for value in node.args]
            keywords = {key: _argument(value, env) for key, value in node.kwargs.items()}
            for key, implied in _IMPLIED.items():
                if keywords.get(key) == implied:
                    del keywords[key]
            has_types = target._opname not in _MISJUDGED and not _leaves_out(example)
            types = _result_types(example) if has_types else None
            op: Any = self._without_bare_numbers(op_class, node, arguments, location)
            built = op(*arguments, **keywords, result_types=types, location=location)
        except UnsupportedError as error:
            reason = f"{error.op}: {error.reason}"
            raise self.unsupported(node, reason, error.nearest) from None
        except (TypeError, ValueError) as error:
            raise self.unsupported(node, f"cannot be imported: {error}") from None
        self.block.add_op(built)
        if target._opname in _UNBOUNDED:
            limits = size_limits(example)
            if limits is not None:
                built.attributes["lamina.limits"] = DenseArrayBase.from_list(i64, limits)
        return self._results(node, built, example)

    def _inlined(
        self, node: fx.Node, implementation: Callable[..., Any], env: dict[fx.Node, Value]
    ) -> Value:
        try:
            graph_module, inputs = traced(node, implementation)
        except Exception as error:  # whatever a function of torch's says of these arguments
            reason = f"cannot be traced: {str(error).splitlines()[0]}"
            raise self.unsupported(node, reason) from error
        read_in_memory_order(graph_module, self.unsupported)
        results = self.run(graph_module, [env[source] for source in inputs])
        return results if isinstance(node.meta.get("val"), list | tuple) else results[0]

    def _without_bare_numbers(
        self,
        op_class: type[SchemaOp],
        node: fx.Node,
        arguments: list[Value],
        location: LocationAttr,
    ) -> type[SchemaOp]:
        """Python takes numbers for tensors, as in `x + 1`; the schema does not.

        Such a call becomes the overload for a scalar, which promotes types the same way. Where
        there is none, `arguments` gets a zero-rank tensor of the dtype that promotion gives.
        """
        places = [
            place
            for place, (arg, value) in enumerate(zip(op_class.schema.args, arguments, strict=False))
            if arg.type.kind is Kind.TENSOR and _is_number(value)
        ]
        if not places:
            return op_class
        if [op_class.schema.args[place].name for place in places] == ["other"]:
            name, _, overload = op_class.schema.overload_name.partition(".")
            scalar = aten.Aten.find(f"{name}.{_scalar_overload(overload)}")
            if scalar is not None and scalar is not op_class:
                return scalar
        tensors = [n.meta["val"] for n in node.all_input_nodes if _is_tensor(n.meta.get("val"))]
        for place in places:
            number = arguments[place]
            kind = _EXAMPLES[number.type] if isinstance(number, SSAValue) else number
            dtype = torch.result_type(tensors[0], kind) if tensors else torch.tensor(kind).dtype
            element = element_type(dtype)
            made: Any = aten.op("scalar_tensor.default")
            tensor = made(
                number, dtype=element, result_types=[TensorType(element, [])], location=location
            )
            self.block.add_op(tensor)
            arguments[place] = tensor.results[0]
        return op_class

    def _results(self, node: fx.Node, op: Operation, example: object) -> Value:
        if example is None:
            return None
        if isinstance(example, list | tuple):
            return _nested(example, iter(op.results))
        op.results[0].name_hint = node.name
        return op.results[0]

    def _extended(self, node: fx.Node, importer: Entry, env: dict[fx.Node, Value]) -> Value:
        example = node.meta.get("val")
        arguments = {key: _argument(value, env) for key, value in named_arguments(node).items()}
        types = _result_types(example)
        op = imported_by(importer, node, arguments, types, self.unsupported)
        op.location = self.locations.of_trace(node.meta.get("stack_trace"))
        self.block.add_op(op)
        return self._results(node, op, example)

    def _custom(self, node: fx.Node, target: Any, env: dict[fx.Node, Value]) -> Value:
        self._refuse_foreign(node, target)
        location = self.locations.of_trace(node.meta.get("stack_trace"))
        example = node.meta.get("val")
        call = CustomCall(node, env, self.unsupported)
        results = call.insert(self.block.add_op, _result_types(example), location)
        if isinstance(example, torch.Tensor):
            return results[0]
        return None if example is None else _nested(example, iter(results))

    def _refuse_foreign(self, node: fx.Node, target: Any) -> None:
        reason = refused_reason(target)
        if reason is not None:
            near = "write it with ATen ops, or register a kernel for the CPU"
            raise self.unsupported(node, reason, near)

    def _higher_order(self, node: fx.Node, env: dict[fx.Node, Value]) -> Value:
        from lamina.frontends.control_flow import import_higher_order

        implementation = taken_apart(node)
        if implementation is not None:
            return self._inlined(node, implementation, env)
        location = self.locations.of_trace(node.meta.get("stack_trace"))
        args = [_argument(value, env) for value in node.args]
        return import_higher_order(self, node, args, location)

    def _size_arithmetic(self, node: fx.Node, env: dict[fx.Node, Value]) -> Value:
        location = self.locations.of_trace(node.meta.get("stack_trace"))

        def insert(op: Operation) -> None:
            op.location = location
            self.block.add_op(op)

        found = size_operation(node.target, [_argument(v, env) for v in node.args], insert)
        if found is None:
            raise self.unsupported(node, "arithmetic on a size needs integers")
        return found

    def unsupported(
        self, node: fx.Node, reason: str, nearest: str | None = None
    ) -> UnsupportedError:
        """The error that names a node, its operands and its source line."""
        location = self.locations.of_trace(node.meta.get("stack_trace"))
        types = [
            described(source.meta["val"])
            for source in node.all_input_nodes
            if isinstance(source.meta.get("val"), torch.Tensor)
        ]
        place = (describe_location(location) or "").removesuffix(":0")
        return UnsupportedError(
            _target_name(node.target),
            reason,
            types=types,
            location=place or None,
            nearest=nearest,
        )


def _target_name(target: object) -> str:
    """`aten.add.Tensor`, `cond`, `_operator.ge`: what a node calls, for messages."""
    if isinstance(target, torch._ops.OpOverload | torch._ops.HigherOrderOperator | str):
        return str(target)
    module = getattr(target, "__module__", "")
    return f"{module}.{getattr(target, '__name__', target)}"


def _nested(example: Sequence[object], results: Iterator[SSAValue]) -> list[Value]:
    """The results of an op in the nesting of torch's own: tensors and lists of tensors."""
    return [
        _nested(item, results) if isinstance(item, list | tuple) else next(results)
        for item in example
    ]


def _leaves_out(example: object) -> bool:
    """Whether torch gives None for some results, as an `output_mask` says; the IR has them all."""
    return isinstance(example, list | tuple) and any(item is None for item in example)


def _scalar_overload(overload: str) -> str:
    """Torch's name of the overload that takes a scalar for a tensor `other`."""
    return "Scalar" if overload == "default" else overload.replace("Tensor", "Scalar", 1)


_EXAMPLES: dict[Attribute, int | float | bool] = {i64: 0, f64: 0.0, i1: False}
"""A number of each type that a graph computes numbers in."""


def _is_number(value: object) -> bool:
    if isinstance(value, SSAValue):
        return value.type in _EXAMPLES
    return isinstance(value, int | float | complex)


def _is_tensor(value: object) -> bool:
    return isinstance(value, torch.Tensor)


def _argument(value: object, env: dict[fx.Node, Value]) -> Value:
    if isinstance(value, fx.Node):
        return env[value]
    if isinstance(value, list | tuple):
        return [_argument(item, env) for item in value]
    return constant_argument(value)


def _result_types(example: object) -> list[Attribute]:
    if example is None:
        return []
    if isinstance(example, torch.Tensor):
        return [tensor_type(example)]
    if isinstance(example, list | tuple):
        return [kind for item in example for kind in _result_types(item)]
    return [scalar_type(example)]
