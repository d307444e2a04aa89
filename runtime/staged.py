"""`StagedCompiled`: a program in stages, each compiled for the sizes that those before it give."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, Protocol

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from lamina.dialects.context import Context
from lamina.dialects.errors import InputError
from lamina.dialects.sizes import SizeName
from lamina.lowering.custom_pipeline import Pipeline, name_of
from lamina.lowering.pipeline import pipeline, run_pipeline
from lamina.lowering.stages.choose_stages import main_with_sizes_of_data
from lamina.passes.calls.callee_programs import callee_programs
from lamina.passes.calls.outline_callees import leave_called
from lamina.passes.contracts.argument_sizes import size_names
from lamina.passes.contracts.declared import arguments_of
from lamina.passes.contracts.stages import STAGE, stages_of
from lamina.runtime.arguments import FlatStructure, Structure, array_kind, kind_name
from lamina.runtime.call_sizes import call_shapes
from lamina.runtime.compiled import Compiled
from lamina.runtime.dispatch.layout import Layout
from lamina.runtime.entry import function_named
from lamina.runtime.kernels import Kernels
from lamina.runtime.layers import check_layer, layer_of
from lamina.runtime.memory_use import MemoryUse
from lamina.runtime.several_programs import SeveralPrograms
from lamina.runtime.size_versions import VARYING, Sizes
from lamina.runtime.stage_plan import plan_of

_LAST = "outline-stages"
"""The pass that makes stages of a program."""


class CompileStage(Protocol):
    """Compiles a stage; what is given is as for `compile_module`."""

    def __call__(
        self,
        module: ModuleOp,
        *,
        constants: Mapping[str, Any],
        structure: Structure,
        versions: str,
    ) -> Compiled: ...


def staged_program(module: ModuleOp, passes: Pipeline) -> ModuleOp | None:
    """A program in stages, if it is one or has sizes that only those can have; else None.

    The module stays as it is. Raises as the passes do.
    """
    if not stages_of(module) and main_with_sizes_of_data(module) is None:
        return None
    if layer_of(module) != "aten":
        return None
    specs = passes.applied(pipeline(start="aten", stop="functional"))
    places = [number for number, spec in enumerate(specs) if name_of(spec) == _LAST]
    if not places:
        return None
    staged = module.clone()
    run_pipeline(staged, specs[: places[-1] + 1], Context())
    return staged if stages_of(staged) else None


def render_staged(module: ModuleOp, staged: ModuleOp, layer: str) -> str:
    """The text of a program at `aten`, or of its stages at `functional`.

    Raises InputError for other layers, which single stages have.
    """
    if check_layer(layer) == "aten":
        return str(module)
    if layer == "functional":
        return str(staged)
    raise InputError(f"the program runs in stages: compiled.stages[0].ir('{layer}')")


class StagedCompiled(SeveralPrograms):
    """A program that runs in stages, as sizes of tensors depend on data.

    A stage is a program of its own, in `stages`; those behind the first are compiled for the sizes
    that calls bring. Results have the sizes that data say. What stands for one program only, such
    as `native`, is asked of a stage.
    """

    def __init__(
        self,
        module: ModuleOp,
        constants: Mapping[str, Any],
        structure: Structure | None,
        compile_stage: CompileStage,
        shown: Callable[[str], str],
        policy: str,
        *,
        runs_here: bool,
    ) -> None:
        main = function_named(module, "main")
        assert main is not None
        super().__init__(main, constants, structure, shown, runs_here=runs_here)
        self._layout = self.structure.layout(len(self._outputs))
        self._plan = plan_of(module, constants)
        own_names = size_names(arguments_of(main))
        stages: list[Compiled] = []
        for step, function in zip(self._plan.steps, stages_of(module), strict=True):
            is_of_data = not size_names(arguments_of(function)).keys() <= own_names.keys()
            made = compile_stage(
                program_of(function, module),
                constants={name: constants[name] for name in step.bound},
                structure=_StageStructure(step.names, self.structure.native_kind),
                versions=VARYING if is_of_data and policy == "auto" else policy,
            )
            stages.append(made)
        self._stages = tuple(stages)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the stages in order; see `Compiled` for the rest.

        Raises ExecutionError for sizes that data decide and that the program does not take.
        """
        if not kwargs and (found := self._runs.find(args)) is not None:
            return found(args)
        values = self.structure.flatten(args, kwargs)
        known = self._call_sizes
        sizes = known.of(call_shapes(values, self._inputs, known.numbers))
        library = next(filter(None, map(kind_name, values)), self.structure.native_kind)

        def run(values: Sequence[Any]) -> Any:
            return self._run(values, sizes, library)

        if self.structure.is_flat and not kwargs:
            self._runs.keep(args, run)
        return run(values)

    def _run(self, values: Sequence[Any], sizes: Mapping[SizeName, int], library: str) -> Any:
        """Runs the stages on arrays whose shapes have been seen to fit."""
        targets = self._plan.targets(values, self._inputs)
        results, written = self._plan.run(self._stages, values, library)
        if sizes:
            shapes = [tuple(getattr(result, "shape", ())) for result in results]
            self._call_sizes.check_results(shapes, sizes)
        for target, value in zip(targets, written, strict=True):
            array_kind(kind_name(target) or "numpy").write_back(target, value)
        return _packed(self._layout, results)

    @property
    def stages(self) -> tuple[Compiled, ...]:
        """The programs that run one after the other."""
        return self._stages

    @property
    def sizes(self) -> Sizes:
        """The open sizes of all stages, and their versions, in order."""
        found = Sizes()
        for stage in self._stages:
            own = stage.sizes
            found = Sizes(
                {**found.names, **own.names},
                [*found.versions, *own.versions],
                found.reason or own.reason,
                (*found.exact, *own.exact),
            )
        return found

    def take_state(self, state: Any) -> None:
        """As `Compiled.take_state`, for all stages, which go on in one sequence."""
        for stage in self._stages:
            stage.take_state(state)

    # One stage each

    def version(self, **sizes: int) -> NoReturn:
        """UnsupportedError: versions are those of a stage."""
        raise self._refuse("version(...)")

    @property
    def kernels(self) -> Kernels:
        """UnsupportedError: kernels are those of a stage."""
        raise self._refuse("kernels")

    @property
    def memory(self) -> MemoryUse:
        """UnsupportedError: memory is that of a stage."""
        raise self._refuse("memory")

    def measure(self, *args: Any, repeats: int = 20, **kwargs: Any) -> Kernels:
        """UnsupportedError: kernels are those of a stage."""
        raise self._refuse("measure(...)")

    @property
    def _count(self) -> str:
        return f"{len(self._stages)} stages"

    @property
    def _one(self) -> tuple[str, str]:
        return "the program runs in stages, as sizes depend on data", "compiled.stages[0]"


class _StageStructure(FlatStructure):
    """Inputs by position; a tuple of all results."""

    def __init__(self, names: Sequence[str], native_kind: str) -> None:
        super().__init__(names)
        self.native_kind = native_kind

    def layout(self, outputs: int) -> Layout:
        """A tuple, of one result too."""
        return Layout("tuple", tuple(range(outputs)), native_kind=self.native_kind)


def stage_programs(module: ModuleOp) -> list[ModuleOp]:
    """The programs that the stages of a program are, at `aten`; the program itself without any."""
    return [program_of(stage, module) for stage in stages_of(module)] or [module]


def program_of(stage: FuncOp, module: ModuleOp) -> ModuleOp:
    """A program with a stage as `@main`, and the programs that it calls."""
    function = stage.clone()
    function.properties["sym_name"] = StringAttr("main")
    function.properties.pop("sym_visibility", None)
    function.attributes.pop(STAGE)
    callees = [program.clone() for program in callee_programs(module).values()]
    made = ModuleOp([*callees, function], dict(module.attributes))
    leave_called(made)
    return made


def _packed(layout: Layout, results: Sequence[Any]) -> Any:
    """What a call gives of its results."""
    packed = [None if entry is None else results[entry] for entry in layout.entries]
    if layout.form == "single":
        return packed[0]
    made: Any = packed if layout.form == "list" else tuple(packed)
    return made if layout.finish is None else layout.finish(made)
