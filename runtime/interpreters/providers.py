"""Which module interprets the ops of each dialect; functions of active extensions come first."""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib import import_module
from typing import Any

from xdsl.interpreter import Interpreter, InterpreterFunctions
from xdsl.ir import Operation

from lamina.dialects.extension_tables import extended

FunctionsFor = Callable[[Collection[type[Operation]]], InterpreterFunctions]
"""What a layer's interpreter module offers as `functions`: implementations for these op classes."""

_EXTENSIONS = "lamina.runtime.interpreters.extended"

PROVIDERS: dict[str, str] = {
    "aten": "lamina.runtime.interpreters.aten",
    "core_aten": "lamina.runtime.interpreters.aten",
    "prims": "lamina.runtime.interpreters.prims",
    "loop": "lamina.runtime.interpreters.loop",
    "control": "lamina.runtime.interpreters.control",
    "arith": "lamina.runtime.interpreters.loop",
    "math": "lamina.runtime.interpreters.loop",
    "tensor": "lamina.runtime.interpreters.tensor_dims",
    "memref": "lamina.runtime.interpreters.loop",
    "vector": "lamina.runtime.interpreters.loop",
    "scf": "lamina.runtime.interpreters.loop",
    "cf": "lamina.runtime.interpreters.loop",
}
"""Dialect name to the module whose `functions(op_classes)` interprets it."""


def _provider(name: str) -> str | None:
    if extended("interpreter", name) is not None or extended("op", name) is not None:
        return _EXTENSIONS
    own = PROVIDERS.get(name.partition(".")[0])
    return _EXTENSIONS if own is None and extended("lowering", name) is not None else own


def register_functions(interpreter: Interpreter, op_classes: Collection[type[Operation]]) -> None:
    """Gives an interpreter implementations of these op classes, where there are any."""
    by_provider: dict[str, set[type[Operation]]] = {}
    for op_class in op_classes:
        provider = _provider(op_class.name)
        if provider is not None:
            by_provider.setdefault(provider, set()).add(op_class)
    for provider, classes in by_provider.items():
        functions: Any = import_module(provider).functions
        interpreter.register_implementations(functions(classes))
