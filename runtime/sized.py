"""`SizedCompiled`: a program that leaves sizes of its arguments open, compiled as calls need it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Protocol

from xdsl.dialects.builtin import ModuleOp, UnitAttr

from lamina.codegen.target import Target
from lamina.dialects.context import Context
from lamina.dialects.errors import LaminaError, UnsupportedError
from lamina.lowering.choose_padding import (
    UNKNOWN,
    LikelyBounds,
    Padding,
    choose_padding,
    passes_behind_bounds,
)
from lamina.lowering.pipeline import SOURCE_LAYERS, run_pipeline
from lamina.passes.contracts.argument_sizes import size_names
from lamina.passes.contracts.declared import arguments_of
from lamina.passes.contracts.entry_attributes import COMPACT
from lamina.passes.contracts.size_hints import hints_of
from lamina.passes.contracts.size_padding import EXACT, set_padding
from lamina.passes.contracts.stages import stages_of
from lamina.passes.contracts.symbolic_shapes import says_more_of_results
from lamina.passes.refusal import unsupported
from lamina.passes.sizes.bind_sizes import bind_sizes
from lamina.passes.sizes.limit_sizes import limit_sizes
from lamina.runtime.arguments import Structure
from lamina.runtime.compiled import Compiled
from lamina.runtime.entry import function_named
from lamina.runtime.layers import layer_of, lower
from lamina.runtime.open_ledger import OPEN_SIZES
from lamina.runtime.size_versions import Versions, compact_inputs
from lamina.runtime.sized_calls import Padded, SizedCalls


class CompileVersion(Protocol):
    """Compiles a program of known sizes, whose calls nest as the structure says."""

    def __call__(self, module: ModuleOp, *, structure: Structure) -> Compiled: ...


class SizedCompiled(SizedCalls):
    """A program for any sizes in a range: calls choose, and compile, the version for theirs.

    The first sizes that come get code of their own. Others get a version for all sizes up to the
    next power of four, whose arguments are padded; where the program has an op that cannot be
    padded, each set of sizes gets its own code, and `sizes` says why.
    """

    def __init__(
        self,
        module: ModuleOp,
        structure: Structure | None,
        bound: Collection[str],
        compile_version: CompileVersion,
        render: Callable[[str], str],
        policy: str,
        *,
        runs_here: bool,
    ) -> None:
        main = function_named(module, "main")
        assert main is not None
        super().__init__(main, bound, structure, render, runs_here=runs_here)
        layer = layer_of(module)
        if layer in SOURCE_LAYERS:
            reason = f"arguments have dynamic dimensions, which are not compiled at {layer}"
            raise unsupported(main, reason, "the same program with static shapes")
        lower(module.clone(), layer, layer, Target.host())  # what its contract refuses
        self._says_more = says_more_of_results(main)
        self._module = module
        self._compile = compile_version
        self._versions = Versions(
            self._names,
            self._exact,
            self._padded,
            partial(padding_of_program, module, verified=True),
            policy,
            self._call_sizes.elements,
        )
        hints = hints_of(main)
        if hints.keys() == self._names.keys():
            self._version_for({name: hints[name] for name in self._names})

    def _exact(self, sizes: Mapping[str, int]) -> Compiled:
        module = self._module.clone()
        bind_sizes(module, sizes)
        return self._compiled(module, self.structure)

    def _padded(
        self, bounds: Mapping[str, int], numbers: Collection[str], padding: Padding
    ) -> Compiled:
        module = padded_program(self._module, bounds, numbers, padding)
        structure = Padded(self, bounds, numbers)
        made = self._compiled(module, structure)
        structure.compact = compact_inputs(made.inputs)
        return made

    def _compiled(self, module: ModuleOp, structure: Structure) -> Compiled:
        self._runs.forget()  # with a new version an old one may go
        made = self._compile(module, structure=structure)
        if self._state is not None:
            made.take_state(self._state)
        return made


def padding_of_program(
    module: ModuleOp, likely: LikelyBounds | None = None, *, verified: bool = False
) -> Padding:
    """How versions of a program, which is not changed, are padded; `likely` are the bounds that the
    first would have. It may be known that the program is `verified`."""
    layer = layer_of(module)
    if layer == "aten":
        return choose_padding(module, likely, verified=verified)
    try:
        return choose_padding(loops_of(module))
    except LaminaError as error:  # what its loops need to be known is known in each version
        main = function_named(module, "main")
        assert main is not None
        names = size_names(arguments_of(main))
        return Padding(dict.fromkeys(names, EXACT), str(error).partition("\n")[0])


def loops_of(module: ModuleOp) -> ModuleOp:
    """A program below `aten` as loops, with the sizes that it has open."""
    module, layer = module.clone(), layer_of(module)
    lower(module, layer, "loop", Target.host(), passes=OPEN_SIZES, enters=layer != "loop")
    return module


def padded_program(
    module: ModuleOp,
    bounds: Mapping[str, int],
    numbers: Collection[str] = (),
    padding: Padding = UNKNOWN,
) -> ModuleOp:
    """The program for sizes up to `bounds`, with an input for each; the sizes `numbers` are what
    `bounds` says. Its arguments are padded, but for those that it takes as they are. `padding` has
    ways of sizes that it has and of others, and what was tried to find them, which goes into it.

    A program at `aten` is padded there, one of a lower layer as loops. Raises UnsupportedError for
    ops that take no padding, and for programs with sizes for which stages pay more than room does.
    """
    tried = padding.taken({} if numbers else bounds)
    if tried is not None:
        run_pipeline(tried, passes_behind_bounds(), Context())
        return _with_room(tried)
    is_above = layer_of(module) == "aten"
    module = module.clone() if is_above else loops_of(module)
    if numbers:
        bind_sizes(module, {name: bounds[name] for name in numbers})
    limit_sizes(module, {name: most for name, most in bounds.items() if name not in numbers})
    main = function_named(module, "main")
    assert main is not None
    if padding.ways:
        sizes = size_names(arguments_of(main))
        set_padding(main, {name: way for name, way in padding.ways.items() if name in sizes})
    if is_above:
        lower(module, "aten", "functional", Target.host())
    else:
        run_pipeline(module, ("bound-nests",), Context())
    return _with_room(module)


def _with_room(module: ModuleOp) -> ModuleOp:
    """A program that takes padded arguments; see `padded_program`."""
    main = function_named(module, "main")
    assert main is not None
    main.attributes[COMPACT] = UnitAttr()
    if stages_of(module):
        raise UnsupportedError(
            "sizes up to bounds", "another size follows from them that has no bound, or a dear one"
        )
    return module
