"""`StagedCompiled`: a program in stages, each compiled for the sizes that those before it give."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue

from lamina.dialects.context import Context
from lamina.dialects.errors import ExecutionError, InputError, UnsupportedError
from lamina.lowering.custom_pipeline import Pipeline, name_of
from lamina.lowering.pipeline import pipeline, run_pipeline
from lamina.lowering.stages.choose_stages import main_with_sizes_of_data
from lamina.passes.calls.callee_programs import callee_programs
from lamina.passes.calls.outline_callees import leave_called
from lamina.passes.contracts.argument_sizes import size_names
from lamina.passes.contracts.declared import Declared, arguments_of, results_of, text_of
from lamina.passes.contracts.entry_attributes import VALUE
from lamina.passes.contracts.stages import STAGE, stages_of
from lamina.passes.refusal import place_of
from lamina.runtime.arguments import FlatStructure, Structure, array_kind, kind_name
from lamina.runtime.call_sizes import CallSizes, SizeArgumentError, call_shapes
from lamina.runtime.checked_call import check_writable
from lamina.runtime.compiled import Compiled
from lamina.runtime.dispatch.layout import Layout
from lamina.runtime.entry import Slot, function_named
from lamina.runtime.kernels import Kernels
from lamina.runtime.layers import check_layer, layer_of
from lamina.runtime.memory_use import MemoryUse
from lamina.runtime.size_versions import VARYING, Sizes
from lamina.runtime.sized import passed_arguments, size_array, slot_of

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


class StagedCompiled(Compiled):
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
        self.others = {}
        self._render, self._runs_here = shown, runs_here
        arguments = passed_arguments(main, constants)
        self.structure = structure or FlatStructure([declared.name for declared in arguments])
        self._inputs = tuple(map(slot_of, arguments))
        self._outputs = tuple(slot_of(one) for one in results_of(main) if one.kind == "output")
        self._call_sizes = CallSizes(main, arguments)
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

    def __del__(self) -> None:
        """Nothing: stages free what they have."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the stages in order; see `Compiled` for the rest.

        Raises ExecutionError for sizes that data decide and that the program does not take.
        """
        values = self.structure.flatten(args, kwargs)
        known = self._call_sizes
        shapes = call_shapes(values, self._inputs, known.numbers)
        sizes = known.of(shapes)
        targets = self._plan.targets(values, self._inputs)
        library = next(filter(None, map(kind_name, values)), self.structure.native_kind)
        results, written = self._plan.run(self._stages, values, library)
        known.check_results([tuple(getattr(r, "shape", ())) for r in results], sizes)
        for target, value in zip(targets, written, strict=True):
            array_kind(kind_name(target) or "numpy").write_back(target, value)
        return _packed(self.structure.layout(len(results)), results)

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
            )
        return found

    @property
    def runs_here(self) -> bool:
        """Whether it can be called; see `Compiled`."""
        return self._runs_here

    def take_state(self, state: Any) -> None:
        """As `Compiled.take_state`, for all stages, which go on in one sequence."""
        for stage in self._stages:
            stage.take_state(state)

    # One stage each

    def version(self, **sizes: int) -> NoReturn:
        """UnsupportedError: versions are those of a stage."""
        raise self._refuse("version(...)")

    @property
    def native(self) -> NoReturn:
        """UnsupportedError: a C function is for one stage."""
        raise self._refuse("native")

    @property
    def bound(self) -> NoReturn:
        """UnsupportedError: memory is that of a stage."""
        raise self._refuse("bound")

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

    def save(self, path: str | os.PathLike[str]) -> None:
        """UnsupportedError: a stage is saved."""
        raise self._refuse("save(...)")

    def explain_schedules(self) -> str:
        """UnsupportedError: schedules are those of a stage."""
        raise self._refuse("explain_schedules()")

    def __repr__(self) -> str:
        takes = ", ".join(f"{slot.name}: {slot.type_text}" for slot in self._inputs)
        gives = ", ".join(slot.type_text for slot in self._outputs)
        return f"<lamina.Compiled ({takes}) -> ({gives}), {len(self._stages)} stages>"

    def _refuse(self, what: str) -> UnsupportedError:
        reason = "the program runs in stages, as sizes depend on data"
        nearest = f"compiled.stages[0].{what}"
        return UnsupportedError(f"Compiled.{what.partition('(')[0]}", reason, nearest=nearest)


@dataclass(frozen=True)
class _Step:
    """A call of a stage: what it is passed, by its arguments' names, and what it gives.

    `numbers` has the types of what is a number, by position; `titles` says where arguments come
    from that stages in front of it give.
    """

    names: tuple[str, ...]
    values: tuple[SSAValue, ...]
    bound: tuple[str, ...]
    results: tuple[SSAValue, ...]
    numbers: Mapping[int, Slot]
    titles: Mapping[str, str]
    dead: tuple[SSAValue, ...]

    def run(self, stage: Compiled, held: dict[SSAValue, Any], library: str) -> None:
        """Runs the stage on values that are held, and holds what it gives."""
        arguments = [held[value] for value in self.values]
        for position, slot in self.numbers.items():
            arguments[position] = _number(arguments[position], slot, library)
        try:
            made = stage(*arguments)
        except SizeArgumentError as error:  # sizes of the call itself have been checked
            text = str(error)
            for name, title in self.titles.items():
                text = text.replace(f"argument '{name}'", title)
            raise ExecutionError(text) from None
        held.update(zip(self.results, made, strict=True))
        for value in self.dead:
            held.pop(value, None)


@dataclass(frozen=True)
class _Plan:
    """How values go from stage to stage: those that calls pass, and those that are bound."""

    steps: tuple[_Step, ...]
    passed: tuple[SSAValue, ...]
    fixed: Mapping[SSAValue, Any]
    results: tuple[SSAValue, ...]
    written: tuple[tuple[SSAValue, SSAValue], ...]
    """Arguments that are written to, and the values that they get."""

    def targets(self, values: Sequence[Any], slots: Sequence[Slot]) -> list[Any]:
        """The arrays of a call that are written to. Raises ArgumentError for what cannot be."""
        found: list[Any] = []
        for target, _ in self.written:
            if target in self.fixed:
                found.append(self.fixed[target])
                continue
            position = self.passed.index(target)
            slot, value = slots[position], values[position]
            given = array_kind(kind_name(value) or "numpy").viewed(value, slot, position)
            check_writable(given, value, slot, position)
            found.append(given)
        return found

    def run(
        self, stages: Sequence[Compiled], values: Sequence[Any], library: str
    ) -> tuple[list[Any], list[Any]]:
        """The results of a call, and the values of what it writes to."""
        held = {**self.fixed, **dict(zip(self.passed, values, strict=True))}
        for step, stage in zip(self.steps, stages, strict=True):
            step.run(stage, held, library)
        return [held[value] for value in self.results], [held[value] for _, value in self.written]


def plan_of(module: ModuleOp, constants: Mapping[str, Any]) -> _Plan:
    """The plan of a program in stages, to which some arrays are bound by name.

    What the program writes to is passed to stages, not bound, so that they prepare nothing of it.
    """
    main = function_named(module, "main")
    assert main is not None
    declared = dict(zip(main.body.block.args, arguments_of(main), strict=True))
    by_name = {one.name: value for value, one in declared.items()}
    end = main.body.block.last_op
    assert end is not None
    given = list(zip(end.operands, results_of(main), strict=True))
    written = [(by_name[_target(r)], value) for value, r in given if r.kind == "mutation"]
    passed = [main.body.block.args[one.number] for one in passed_arguments(main, constants)]
    bound = {value for value, one in declared.items() if one.name in constants}
    fixed: dict[SSAValue, Any] = {
        value: constants[declared[value].name] for value, _ in written if value in bound
    }
    places = _places(module)
    calls = [op for op in main.body.block.ops if isinstance(op, CallOp)]
    used = {operand: number for number, op in enumerate([*calls, end]) for operand in op.operands}
    steps: list[_Step] = []
    for number, (op, stage) in enumerate(zip(calls, stages_of(module), strict=True)):
        pairs = list(zip(op.arguments, arguments_of(stage), strict=True))
        taken = [(v, one) for v, one in pairs if v in fixed or v not in bound]
        taken = [(v, one) for v, one in taken if VALUE not in one.entries]
        steps.append(
            _Step(
                tuple(one.name for _, one in taken),
                tuple(value for value, _ in taken),
                tuple(one.name for v, one in pairs if v in bound and v not in fixed),
                tuple(op.results),
                {
                    place: slot_of(one)
                    for place, (_, one) in enumerate(taken)
                    if not isinstance(one.type, TensorType)
                },
                {one.name: places[value] for value, one in taken if value in places},
                tuple(value for value, last in used.items() if last == number),
            )
        )
    results = tuple(value for value, one in given if one.kind == "output")
    return _Plan(tuple(steps), tuple(passed), fixed, results, tuple(written))


def _target(result: Declared) -> str:
    return text_of(result.entries.get("lamina.target")) or ""


def _places(module: ModuleOp) -> dict[SSAValue, str]:
    """What messages call results of stages: those of ops, and where these stand."""
    main = function_named(module, "main")
    assert main is not None
    found: dict[SSAValue, str] = {}
    calls = [op for op in main.body.block.ops if isinstance(op, CallOp)]
    for call, stage in zip(calls, stages_of(module), strict=True):
        end = stage.body.block.last_op
        assert end is not None
        for result, value in zip(call.results, end.operands, strict=True):
            owner = value.owner
            if isinstance(owner, Operation):
                place = place_of(owner)
                found[result] = f"the result of {owner.name}" + (f" ({place})" if place else "")
    return found


def _number(value: Any, slot: Slot, library: str) -> Any:
    """A number as an array of rank 0, which stages take."""
    if slot.dtype == "i64" and isinstance(value, int):
        return size_array(library, value)
    return array_kind(library).viewed(value, slot, 0)


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
