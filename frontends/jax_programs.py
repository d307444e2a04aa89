"""Programs of JAX: `jax.jit(f)`, its `lower(...)`, and what `jax.export.export(...)` gives.

They print themselves as StableHLO, and say how the arguments and results of a call nest. JAX itself
is not imported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lamina.dialects.errors import ArgumentError, InputError
from lamina.frontends.source_program import SourceProgram
from lamina.passes.contracts.declared import arguments_of
from lamina.runtime.dispatch.layout import Layout
from lamina.runtime.entry import function_named
from lamina.runtime.layers import parse

JITTED = "PjitFunction"
"""The class of what `jax.jit` gives."""

_QUOTED = r'"(?:[^"\\]|\\.)*"'
_LOCATION = re.compile(rf' loc\((?:[^()"]|{_QUOTED}|\((?:[^()"]|{_QUOTED})*\))*\)')
_LOCATION_LINE = re.compile(r"(?m)^#loc\d*\s*=.*$")


@dataclass(frozen=True)
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
        return [leaves[place] for place in self.kept]

    def layout(self, outputs: int) -> Layout:
        """The one result, or the nest of all."""
        entries = tuple(range(outputs))
        if outputs == 1 and str(self.outputs) == "PyTreeDef(*)":
            return Layout("single", entries, native_kind=self.native_kind)
        return Layout("tuple", entries, self.outputs.unflatten, native_kind=self.native_kind)

    def kept_by(self) -> str | None:
        """The trees are JAX's."""
        return "its arguments and results nest as JAX's trees do; compile its text for flat ones"


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
