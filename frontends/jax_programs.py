"""Programs of JAX: `jax.jit(f)`, its `lower(...)`, and what `jax.export.export(...)` gives.

They print themselves as StableHLO, and say how the arguments and results of a call nest. JAX itself
is not imported.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from lamina.dialects.errors import ArgumentError, InputError
from lamina.dialects.records import record
from lamina.frontends.source_program import SourceProgram
from lamina.passes.contracts.declared import arguments_of
from lamina.runtime.dispatch.layout import Layout
from lamina.runtime.entry import function_named
from lamina.runtime.layers import parse
from lamina.runtime.nested_structure import LEAF, NestedStructure, NoTreeError

JITTED = "PjitFunction"
"""The class of what `jax.jit` gives."""

_QUOTED = r'"(?:[^"\\]|\\.)*"'
_LOCATION = re.compile(rf' loc\((?:[^()"]|{_QUOTED}|\((?:[^()"]|{_QUOTED})*\))*\)')
_LOCATION_LINE = re.compile(r"(?m)^#loc\d*\s*=.*$")


@record
class JaxStructure:
    """Maps a call's arguments to compiled inputs and compiled outputs to what the function returns.

    `inputs` and `outputs` are JAX's trees of `(args, kwargs)` and of the result; `kept` are the
    leaves of the arguments that the program takes.
    """

    inputs: Any
    outputs: Any
    kept: tuple[int, ...]

    native_kind = "numpy"
    is_flat = False

    def flatten(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[Any]:
        """The arrays of a call; ArgumentError if they nest otherwise."""
        try:
            leaves = self.inputs.flatten_up_to((tuple(args), dict(kwargs)))
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"the arguments do not nest as {self.inputs}: {error}") from error
        return [_plain(leaves[place]) for place in self.kept]

    def layout(self, outputs: int) -> Layout:
        """The one result, or the nest of all."""
        entries = tuple(range(outputs))
        if outputs == 1 and str(self.outputs) == "PyTreeDef(*)":
            return Layout("single", entries, native_kind=self.native_kind)
        return Layout("tuple", entries, self.outputs.unflatten, native_kind=self.native_kind)

    def kept_by(self) -> str | None:
        """Nothing, unless a node is of a type that only JAX can take apart."""
        try:
            self.recorded()
        except NoTreeError as error:
            return f"its arguments and results nest in a {error}, which JAX alone can take apart"
        return None

    def recorded(self) -> NestedStructure:
        """The same without JAX; NoTreeError where a node is none that `NestedStructure` has."""
        kept = set(self.kept)
        inputs = tuple(place in kept for place in range(self.inputs.num_leaves))
        outputs = tuple(range(self.outputs.num_leaves))
        return NestedStructure(_tree(self.inputs), _tree(self.outputs), inputs, outputs)


def _tree(tree: Any) -> Any:
    """One of JAX's trees as `NestedStructure` has them; NoTreeError for nodes of other types."""
    found = tree.node_data()
    if found is None:
        return LEAF
    kind, said = found
    children = [_tree(child) for child in tree.children()]
    if kind is type(None):
        return None
    if kind in (tuple, list):
        return [kind.__name__, children]
    if kind is dict and all(type(key) in (str, int) for key in said):
        return ["dict", list(said), children]
    fields = getattr(kind, "_fields", None)
    if fields is not None:
        return ["named", kind.__name__, list(fields), children]
    raise NoTreeError(kind.__qualname__)


def _plain(leaf: Any) -> Any:
    """A leaf as an array: the words of a random key that `jax.random.key` gave."""
    if type(leaf).__name__ != "PRNGKeyArray" or not is_of_jax(leaf):
        return leaf
    return sys.modules["jax"].random.key_data(leaf)


def is_of_jax(program: object) -> bool:
    """Whether a class of JAX made it, asked without importing JAX."""
    return type(program).__module__.partition(".")[0] in ("jax", "jaxlib")


def read_jax(program: object, example_inputs: Sequence[Any] | None = None) -> SourceProgram:
    """A lowered or exported function, or a jitted one with arguments to lower it for.

    Raises InputError for other objects of JAX.
    """
    kind: Any = program
    name = type(program).__name__
    if name == JITTED:
        if not isinstance(example_inputs, tuple | list):
            raise InputError(
                "a jitted function has no shapes of its own: pass a tuple of its arguments, "
                "lamina.compile(jax.jit(f), (x,))"
            )
        kind = kind.lower(*example_inputs)
        name = type(kind).__name__
    elif example_inputs is not None:
        raise InputError("a lowered function has its inputs: leave example_inputs out")
    if name == "Exported":
        text = _LOCATION_LINE.sub("", _LOCATION.sub("", str(kind.mlir_module())))
        kept = tuple(kind.module_kept_var_idx)
    elif name == "Lowered":
        text, kept = kind.as_text(), None
    else:
        raise InputError(
            f"cannot compile a {type(program).__module__}.{name}: pass jax.jit(f) with "
            "example_inputs, or what jax.jit(f).lower(*arguments) or "
            "jax.export.export(jax.jit(f))(*arguments) gives"
        )
    module = parse(text)
    main = function_named(module, "main")
    if main is None:
        raise InputError("the lowered function has no @main")
    taken = len(arguments_of(main))
    if kept is None:
        kept = _kept_arguments(kind, taken)
    if len(kept) != taken:
        raise InputError(
            f"@main takes {taken} arrays where the function's arguments are {len(kept)}: effects "
            "and sizes that are arguments are not compiled"
        )
    return SourceProgram(module, structure=JaxStructure(kind.in_tree, kind.out_tree, kept))


def _kept_arguments(lowered: Any, taken: int) -> tuple[int, ...]:
    """The leaves of the arguments that the program takes: JAX leaves out what nothing uses."""
    count = lowered.in_tree.num_leaves
    if taken == count:
        return tuple(range(count))
    options = getattr(getattr(lowered, "_lowering", None), "compile_args", None)
    kept = options.get("kept_var_idx") if isinstance(options, dict) else None
    if kept is None:
        raise InputError(
            "the function does not use all of its arguments, and this JAX does not tell which: "
            "lower jax.jit(f, keep_unused=True)"
        )
    return tuple(sorted(kept))
