"""How values go from stage to stage of a program, in a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, SSAValue

from lamina.dialects.errors import ExecutionError
from lamina.dialects.records import record
from lamina.passes.contracts.declared import Declared, arguments_of, results_of, text_of
from lamina.passes.contracts.entry_attributes import VALUE
from lamina.passes.contracts.stages import stages_of
from lamina.passes.refusal import place_of
from lamina.runtime.arguments import array_kind, kind_name
from lamina.runtime.call_sizes import SizeArgumentError
from lamina.runtime.checked_call import check_writable
from lamina.runtime.compiled import Compiled
from lamina.runtime.declared_slots import passed_arguments, slot_of
from lamina.runtime.entry import Slot, function_named
from lamina.runtime.sized_calls import size_array


@record
class Step:
    """A call of a stage: what it is passed, by its arguments' names, and what it gives.

    `numbers` has the types of what is a number, by position; `titles` says where arguments come
    from that stages in front of it give.
    """

    names: tuple[str, ...]
    values: tuple[int, ...]
    bound: tuple[str, ...]
    results: tuple[int, ...]
    numbers: Mapping[int, Slot]
    titles: Mapping[str, str]
    dead: tuple[int, ...]

    def run(self, stage: Compiled, held: list[Any], library: str) -> None:
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
        for value, result in zip(self.results, made, strict=True):
            held[value] = result
        for value in self.dead:
            held[value] = None


@record
class Plan:
    """How values, by their numbers, go from stage to stage.

    `passed` are those of a call's arguments, `fixed` what is bound in their place and written to,
    `written` the arguments that are written to with the values that they get.
    """

    steps: tuple[Step, ...]
    count: int
    passed: tuple[int, ...]
    fixed: Mapping[int, Any]
    results: tuple[int, ...]
    written: tuple[tuple[int, int], ...]

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
        held: list[Any] = [None] * self.count
        for number, value in self.fixed.items():
            held[number] = value
        for number, value in zip(self.passed, values, strict=True):
            held[number] = value
        for step, stage in zip(self.steps, stages, strict=True):
            step.run(stage, held, library)
        return [held[value] for value in self.results], [held[value] for _, value in self.written]


def plan_of(module: ModuleOp, constants: Mapping[str, Any]) -> Plan:
    """The plan of a program in stages, to which some arrays are bound by name.

    What the program writes to is passed to stages, not bound, so that they prepare nothing of it.
    """
    main = function_named(module, "main")
    assert main is not None
    block, declared = main.body.block, arguments_of(main)
    end = block.last_op
    assert end is not None
    calls = [op for op in block.ops if isinstance(op, CallOp)]
    values = [*block.args, *(result for call in calls for result in call.results)]
    number = {value: place for place, value in enumerate(values)}
    given = list(zip([number[v] for v in end.operands], results_of(main), strict=True))
    by_name = {one.name: one.number for one in declared}
    written = [(by_name[_target(one)], place) for place, one in given if one.kind == "mutation"]
    bound = {one.number for one in declared if one.name in constants}
    fixed = {place: constants[declared[place].name] for place, _ in written if place in bound}
    last = {number[v]: at for at, op in enumerate([*calls, end]) for v in op.operands}
    places = {number[value]: title for value, title in _places(module).items()}
    steps: list[Step] = []
    for at, (call, stage) in enumerate(zip(calls, stages_of(module), strict=True)):
        pairs = list(zip([number[v] for v in call.arguments], arguments_of(stage), strict=True))
        taken = [
            (place, one)
            for place, one in pairs
            if (place in fixed or place not in bound) and VALUE not in one.entries
        ]
        steps.append(
            Step(
                tuple(one.name for _, one in taken),
                tuple(place for place, _ in taken),
                tuple(one.name for place, one in pairs if place in bound and place not in fixed),
                tuple(number[result] for result in call.results),
                {
                    position: slot_of(one)
                    for position, (_, one) in enumerate(taken)
                    if not isinstance(one.type, TensorType)
                },
                {one.name: places[place] for place, one in taken if place in places},
                tuple(place for place, end_ in last.items() if end_ == at),
            )
        )
    return Plan(
        tuple(steps),
        len(values),
        tuple(one.number for one in passed_arguments(main, constants)),
        fixed,
        tuple(place for place, one in given if one.kind == "output"),
        tuple(written),
    )


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
