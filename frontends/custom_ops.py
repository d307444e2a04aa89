"""Custom ops of users in a graph: calls of their own kernels, or the ATen ops they are made of.

An op that is registered for the CPU becomes `prims.extern`, whose kernel is torch's overload (see
`torch_kernels`). Arguments that an op writes go in by value and come back as results, which are
copied over the arguments. Ops of torch's own namespaces are never run by torch.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, fx
from torch._higher_order_ops.auto_functionalize import (
    _generate_new_op_kwargs_from_bases,
    auto_functionalized,
    auto_functionalized_v2,
)
from xdsl.dialects.builtin import DYNAMIC_INDEX, LocationAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from lamina.dialects import aten, prims
from lamina.dialects.errors import UnsupportedError
from lamina.frontends.dynamo_overlaps import meet
from lamina.frontends.torch_kernels import base_kind, kernel_name

TORCH_NAMESPACES = frozenset(
    [
        "aten",
        "prims",
        "quantized",
        "symm_mem",
        "_quantized",
        "static_runtime",
        "c10d",
        "onednn",
        "_c10d_functional",
        "mkldnn",
        "sparse",
        "inductor",
        "profiler",
        "_test",
        "_c10d_functional_autograd",
        "mkldnn_prepacked",
        "mkl",
        "quantization",
        "debugprims",
        "rngprims",
        "_native",
        "inductor_prims",
        "debug_mode_ops",
        "export",
        "_dtensor",
        "streams",
        "c10d_functional",
        "fsdp",
        "quantized_decomposed",
        "flex_lib",
        "onnx_symbolic",
        "onnx",
        "_inductor_test",
        "torch_nn",
        "prepacked",
        "higher_order",
    ]
)
"""Namespaces of ops that come with torch, which are compiled or refused."""

_SHARED = "writes an argument that shares memory with another"
_SEPARATE = "a clone() of one of them"

Refuse = Callable[..., UnsupportedError]
"""The error of a node for a reason and, if given, what is supported."""


def is_custom(target: Any) -> bool:
    """Whether an overload is of a namespace that torch does not bring."""
    return target.namespace not in TORCH_NAMESPACES


def is_composite(target: Any) -> bool:
    """Whether a custom op has no kernel of its own, but is made of other ops."""
    return is_custom(target) and _has(target, "CompositeImplicitAutograd") and not _is_run(target)


def refused_reason(target: Any) -> str | None:
    """Why an overload of another namespace than ATen's cannot be called, from its schema; or None.

    What a call says beyond that is for `CustomCall`.
    """
    if not is_custom(target):
        return "an op of torch's that is not in ATen"
    if not _is_run(target):
        return "a custom op without a kernel for the CPU"
    if torch.Tag.nondeterministic_seeded in target.tags:
        return "a custom op that draws random numbers"
    kinds = [str(result.type) for result in target._schema.returns]
    wrong = [kind for kind in kinds if kind not in ("Tensor", "List[Tensor]")]
    if wrong:
        return f"a custom op that gives {wrong[0]}; results are tensors and lists of them"
    if not kinds and not any(argument.is_write for argument in target._schema.arguments):
        return "a custom op that gives no tensor and writes to none"
    return None


def _has(target: Any, key: str) -> bool:
    return torch._C._dispatch_has_kernel_for_dispatch_key(target.name(), key)


def _is_run(target: Any) -> bool:
    return _has(target, "CPU") or _has(target, "CompositeExplicitAutograd")


class CustomCall:
    """A node that calls a custom op; `env` has what the nodes before it stand for."""

    def __init__(self, node: fx.Node, env: Mapping[fx.Node, Any], refuse: Refuse) -> None:
        self._node = node
        self._env = env
        self._target: Any = node.target
        self._refuse = refuse
        self._tensors: list[SSAValue] = []
        self._arguments = self._by_name()

    def insert(
        self,
        add: Callable[[Operation], Any],
        result_types: Sequence[Attribute],
        location: LocationAttr,
    ) -> list[SSAValue]:
        """Adds the call, and copies of what it wrote; its results of these types.

        Raises UnsupportedError for arguments that are no constants and no tensors, for arguments
        that share memory with one that is written, and for results whose sizes depend on data.
        """
        self._refuse_shared()
        options: dict[str, object] = {}
        written: list[SSAValue] = []
        for argument in self._target._schema.arguments:
            value = self._arguments[argument.name]
            if value is None:
                continue
            before = len(self._tensors)
            options[argument.name] = self._encoded(argument, value)
            if argument.is_write:
                written += self._tensors[before:]
        types = [*result_types, *(value.type for value in written)]
        for kind in types:
            if isinstance(kind, TensorType) and DYNAMIC_INDEX in kind.get_shape():
                raise self._refuse(
                    self._node, f"a custom op that gives {kind}, whose sizes are not static"
                )
        extern: Any = prims.op("extern")
        call = extern(
            self._tensors,
            kernel_name(self._target),
            json.dumps(options),
            result_types=types,
            location=location,
        )
        add(call)
        for target, value in zip(written, call.results[len(result_types) :], strict=True):
            copy: Any = aten.op("copy_.default")
            add(copy(target, value, location=location))
        return list(call.results[: len(result_types)])

    def _by_name(self) -> dict[str, Any]:
        """What each argument of the schema is, with nodes in it."""
        found: dict[str, Any] = {}
        for place, argument in enumerate(self._target._schema.arguments):
            if place < len(self._node.args) and not argument.kwarg_only:
                found[argument.name] = self._node.args[place]
            else:
                found[argument.name] = self._node.kwargs.get(argument.name, argument.default_value)
        return found

    def _encoded(self, argument: Any, value: Any) -> object:
        """An argument as JSON: a tensor is its number among those passed, None in a list is -1."""
        kind = base_kind(argument)
        if isinstance(value, list | tuple):
            if kind != "Tensor" and None in value:
                raise self._refused(argument, "has None in a list")
            return [-1 if entry is None else self._encoded(argument, entry) for entry in value]
        found = self._env[value] if isinstance(value, fx.Node) else value
        if kind == "Tensor":
            if not isinstance(found, SSAValue) or not isinstance(found.type, TensorType):
                raise self._refused(argument, f"is {found!r}, which is no tensor")
            self._tensors.append(found)
            return len(self._tensors) - 1
        if isinstance(found, SSAValue):
            raise self._refused(argument, "is a number that only a call tells")
        if isinstance(found, bool | int | float | str):
            return found
        if isinstance(found, torch.dtype | torch.layout | torch.memory_format):
            return str(found).removeprefix("torch.")
        if isinstance(found, torch.device):
            return str(found)
        raise self._refused(argument, f"is a {type(found).__name__}")

    def _refused(self, argument: Any, reason: str) -> UnsupportedError:
        return self._refuse(
            self._node,
            f"a custom op whose argument '{argument.name}' {reason}",
            "tensors, numbers, strings, dtypes and lists of them",
        )

    def _refuse_shared(self) -> None:
        """The kernel gets copies of what it writes, which share no memory."""

        def example(entry: Any) -> Any:
            return entry.meta.get("val") if isinstance(entry, fx.Node) else None

        named = {
            name: [example(entry) for entry in _listed(value)]
            for name, value in self._arguments.items()
        }
        try:
            _refuse_meeting(self._target, named)
        except ValueError:
            raise self._refuse(self._node, f"a custom op that {_SHARED}", _SEPARATE) from None


def taken_apart(node: fx.Node) -> Callable[..., Any] | None:
    """For a functional form of a mutating op, a function that calls that op on copies."""
    op: Any = node.args[0] if node.args else None
    if not isinstance(op, torch._ops.OpOverload):
        return None
    return _FORMS.get(node.target)


def _on_copies(op: Any, **keywords: Any) -> Any:
    """Results of the op, then the new values of what it writes."""
    copies = {a.name: _mapped(_copied, keywords[a.name]) for a in _written_arguments(op)}
    _refuse_meeting(op, keywords)
    return (*_listed(op(**{**keywords, **copies})), *copies.values())


def _on_copied_bases(op: Any, *, _all_bases: Sequence[Any], **keywords: Any) -> Any:
    """Results of the op, then the bases with new values in the views that it writes."""
    given = list(_all_bases)
    named, _ = _generate_new_op_kwargs_from_bases(op._schema, keywords, given, (), False)
    _refuse_meeting(op, named)
    views = {a.name: named[a.name] for a in _written_arguments(op)}
    copies = {name: _mapped(_copied, value) for name, value in views.items()}
    results = _listed(op(**{**named, **copies}))
    bases = list(given)
    for name, value in views.items():
        for view, copy in zip(_listed(value), _listed(copies[name]), strict=True):
            if view is None:
                continue
            storages = [base.untyped_storage()._cdata for base in given]
            place = storages.index(view.untyped_storage()._cdata)
            bases[place] = _with_view(given[place], bases[place], view, copy)
    return (*results, *bases)


_FORMS: dict[object, Callable[..., Any]] = {
    auto_functionalized: _on_copies,
    auto_functionalized_v2: _on_copied_bases,
}


def _with_view(base: Tensor, now: Tensor, view: Tensor, value: Tensor) -> Tensor:
    """What `now`, the latest value of `base`, is after a write of `value` to a view of `base`."""
    begin = view.storage_offset() - base.storage_offset()
    if view.shape == base.shape and view.stride() == base.stride() and not begin:
        return value
    begin += now.storage_offset()
    return torch.as_strided_scatter(now, value, view.shape, view.stride(), begin)


def _refuse_meeting(op: Any, named: Mapping[str, Any]) -> None:
    """Raises ValueError if an argument that is written shares memory with another."""
    tensors = [
        (argument.is_write, entry)
        for argument in op._schema.arguments
        for entry in _listed(named.get(argument.name, argument.default_value))
        if isinstance(entry, Tensor)
    ]
    for number, (written, one) in enumerate(tensors):
        for other_written, other in tensors[:number]:
            if (written or other_written) and meet(one, other):
                raise ValueError(f"{op} {_SHARED}")


def _written_arguments(op: Any) -> list[Any]:
    return [argument for argument in op._schema.arguments if argument.is_write]


def _copied(tensor: Tensor) -> Tensor:
    return tensor.clone(memory_format=torch.contiguous_format)


def _mapped(function: Callable[[Tensor], Tensor], value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_mapped(function, entry) for entry in value]
    return None if value is None else function(value)


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]
