"""Ops that ONNX defines by functions of others: the bodies, with a node's attributes in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnx import AttributeProto, FunctionProto, NodeProto, defs

from lamina.frontends.onnx.node import Node


def body_of(node: Node, domain: str, opset: int) -> FunctionProto | None:
    """The function that the op's schema gives as its meaning, if it has one."""
    schema: Any = defs.get_schema(node.proto.op_type, opset, domain)
    versions = [v for v in schema.function_opset_versions if v <= max(opset, 0)] or [
        *schema.function_opset_versions[:1]
    ]
    if versions and not domain:
        body = schema.get_function_with_opset_version(versions[-1])
        return _parsed(body)
    if schema.has_function:
        return schema.function_body
    versions = [*schema.context_dependent_function_opset_versions]
    if not versions:
        return None
    fitting = [v for v in versions if v <= opset] or versions[:1]
    types = [node.program.type_of(value).SerializeToString() for value in node.held]
    made = schema.get_context_dependent_function_with_opset_version(
        fitting[-1], node.proto.SerializeToString(), types
    )
    return _parsed(made)


def _parsed(body: bytes | FunctionProto | None) -> FunctionProto | None:
    if not isinstance(body, bytes):
        return body
    found = FunctionProto()
    found.ParseFromString(body)
    return found if found.node else None


def with_attributes(
    function: FunctionProto, call: NodeProto, defaults: Sequence[AttributeProto] = ()
) -> Sequence[NodeProto]:
    """The function's nodes, with the call's attributes in place of references to them."""
    given = {a.name: a for a in call.attribute}
    for default in (*function.attribute_proto, *defaults):
        given.setdefault(default.name, default)
    body = FunctionProto()
    body.CopyFrom(function)
    _resolve(body.node, given)
    return body.node


def _resolve(nodes: Sequence[NodeProto], given: dict[str, AttributeProto]) -> None:
    for node in nodes:
        kept: list[AttributeProto] = []
        for attribute in node.attribute:
            source = attribute
            if attribute.ref_attr_name:
                found = given.get(attribute.ref_attr_name)
                if found is None:
                    continue
                source = AttributeProto()
                source.CopyFrom(found)
                source.name = attribute.name
            if source.HasField("g"):
                _resolve(source.g.node, given)
            kept.append(source)
        copies = [AttributeProto.FromString(entry.SerializeToString()) for entry in kept]
        del node.attribute[:]
        node.attribute.extend(copies)


def default_attributes(name: str, domain: str, opset: int) -> list[AttributeProto]:
    """What the op's schema says of attributes that are not given."""
    schema: Any = defs.get_schema(name, opset, domain)
    found = [entry.default_value for entry in schema.attributes.values()]
    return [value for value in found if value.name and value.type]
