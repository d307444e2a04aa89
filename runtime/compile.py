"""From a module at any layer to a `Compiled` object, through the disk cache."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from lamina.codegen.target import Target
from lamina.dialects.compiling import collector_paused, compiling, free_ir
from lamina.dialects.errors import ArgumentError, InputError
from lamina.dialects.extension_tables import kept_scopes
from lamina.dialects.logs import topic
from lamina.dialects.modifications import modification
from lamina.dialects.nearest_ops import nearest
from lamina.dialects.op_disposal import dispose
from lamina.lowering.custom_pipeline import Pipeline
from lamina.passes.contracts.argument_sizes import has_open_sizes
from lamina.passes.contracts.declared import arguments_of
from lamina.passes.contracts.entry_attributes import CONSTANT_KINDS, verify_entries
from lamina.runtime.arguments import FlatStructure, Structure, array_kind, kind_name
from lamina.runtime.compile_count import count_program
from lamina.runtime.compiled import Compiled
from lamina.runtime.dispatch.native import begin_native_calls
from lamina.runtime.early_memory import EarlyMemory
from lamina.runtime.entry import (
    Entry,
    Slot,
    argument_slots,
    entry_of,
    function_named,
    refuse_compact,
)
from lamina.runtime.executable import Executable, ProgramMetadata
from lamina.runtime.kernels import Kernels
from lamina.runtime.layers import DEFAULT, layer_of, render
from lamina.runtime.literals import Literals, bound_literals
from lamina.runtime.lower_to_scheduled import lower_to_scheduled
from lamina.runtime.lowering_options import DEFAULT_LOWERING, LoweringOptions
from lamina.runtime.message_places import MessagePlaces
from lamina.runtime.program import Program
from lamina.runtime.program_entries import split_entries, with_main
from lamina.runtime.random_state import SeedSource
from lamina.runtime.shared_constants import Recipe, SharedConstants
from lamina.runtime.size_versions import VARYING, VERSION_POLICIES
from lamina.runtime.staged import StagedCompiled, render_staged, staged_program

if TYPE_CHECKING:
    from lamina.runtime.sized import CompileVersion


@collector_paused()
def compile_module(
    module: ModuleOp,
    *,
    target: Target | str | None = None,
    constants: Mapping[str, Any] | None = None,
    structure: Structure | None = None,
    cache: bool = True,
    rounding: str = "kernel",
    seeds: SeedSource | None = None,
    schedules: Mapping[str, str] | None = None,
    tune: float = 0,
    pipeline: Pipeline = DEFAULT,
    shared: SharedConstants | None = None,
    versions: str = "auto",
) -> Compiled:
    """Compiles `module`, which this function may change; see `lamina.compile` for the rest.

    What is given, but schedules, is also for the other public functions, the `entries` of the
    result, which share what they prepare of constants (`shared`). Each call takes its seed from
    `seeds`, if there is one and the program draws random numbers.
    """
    shared = shared or SharedConstants()
    machine = as_target(target)
    module = with_main(module)
    verify_entries(module, layer_of(module))
    others = split_entries(module)
    if versions not in (*VERSION_POLICIES, VARYING):
        raise InputError(f"versions = '{versions}': one of {', '.join(VERSION_POLICIES)}")
    if not tune >= 0:  # nor NaN
        raise InputError(f"tune = {tune}: a budget of seconds is 0 or more")
    again = partial(
        compile_module,
        target=machine,
        cache=cache,
        rounding=rounding,
        seeds=seeds,
        tune=tune,
        pipeline=pipeline,
        shared=shared,
    )
    own, elsewhere = constants_by_entry(module, others, constants or {})
    staged = staged_program(module, pipeline)
    if staged is not None:
        made = StagedCompiled(
            staged,
            own,
            structure,
            kept_scopes(partial(again, schedules=schedules)),
            kept_scopes(partial(render_staged, module, staged)),
            versions,
            runs_here=machine.runs_here(),
        )
    elif has_open_sizes(_function(module, "main")):
        compile_version = partial(again, constants=own, schedules=schedules)
        shown = partial(render, target=machine, rounding=rounding, passes=pipeline)
        here = machine.runs_here()
        made = _sized(module, own, structure, compile_version, shown, versions, runs_here=here)
    else:
        options = LoweringOptions(rounding, dict(schedules or {}), pipeline)
        entry = _Entry(module, own, structure, machine, cache, seeds, shared)
        made = entry.compiled(options)
        if tune:
            from lamina.runtime.tuning import tuned_schedules

            found = tuned_schedules(module, made, machine, tune, cache=cache, options=options)
            given = {**options.schedules, **found}
            made = entry.compiled(replace(options, schedules=given)) if found else made
    for name, other in others.items():
        made.others[name] = again(other, constants=elsewhere[name], versions=versions)
    return made


class _Entry:
    """One entry of a program, of known sizes, with what is bound to it."""

    def __init__(
        self,
        module: ModuleOp,
        constants: Mapping[str, Any],
        structure: Structure | None,
        machine: Target,
        cache: bool,
        seeds: SeedSource | None,
        shared: SharedConstants,
    ) -> None:
        self.module, self.machine, self.cache = module, machine, cache
        self.seeds, self.shared = seeds, shared
        self.bound = bind_constants(module, constants, shared.literals)
        slots = argument_slots(_function(module, "main"))
        names = [slot.name for slot in slots if slot.kind == "input"]
        self.structure = structure or FlatStructure(names)

    def compiled(self, options: LoweringOptions) -> Compiled:
        with compiling():
            if self.machine.runs_here():
                begin_native_calls()
            program = native_program(
                self.module,
                self.machine,
                cache=self.cache,
                options=options,
                early=EarlyMemory(lambda recipe: self.shared.find(recipe, self.bound) is None),
            )
        if not hasattr(self.structure, "compact"):
            refuse_compact(program.main.slots)
        shown = partial(
            render,
            self.module,
            target=self.machine,
            rounding=options.rounding,
            schedules=options.schedules,
            passes=options.passes,
        )
        return Compiled(
            program, self.bound, self.structure, kept_scopes(shown), self.seeds, self.shared
        )


def _sized(
    module: ModuleOp,
    constants: Mapping[str, Any],
    structure: Structure | None,
    compile_version: CompileVersion,
    shown: Callable[..., str],
    policy: str,
    *,
    runs_here: bool,
) -> Compiled:
    """The program of an entry that leaves sizes of its arguments open."""
    from lamina.runtime.sized import SizedCompiled

    return SizedCompiled(
        module,
        structure,
        constants,
        kept_scopes(compile_version),
        kept_scopes(partial(shown, module)),
        policy,
        runs_here=runs_here,
    )


def constants_by_entry(
    module: ModuleOp, others: Mapping[str, ModuleOp], constants: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """What is bound to arguments of `@main`, and to those of other entries.

    Names that no entry has are among the first.
    """
    elsewhere = {name: _bound_in(other, constants) for name, other in others.items()}
    taken = set[str]().union(*elsewhere.values())
    names = _argument_names(module)
    return {n: v for n, v in constants.items() if n in names or n not in taken}, elsewhere


def bind_constants(
    module: ModuleOp, constants: Mapping[str, Any], literals: Literals
) -> dict[str, Any]:
    """What is bound to the arguments of `@main` and of `@setup`, literals too.

    Equal literals are one array of `literals`. Arguments of `@main` that nothing is bound to become
    inputs. Raises ArgumentError for names that it has not, and for arrays that do not fit.
    """
    main, setup = _function(module, "main"), function_named(module, "setup")
    slots = argument_slots(main)
    _check_constants([*(argument_slots(setup) if setup else ()), *slots], constants)
    bound = {**bound_literals(module, literals), **constants}
    open_unbound_arguments(main, slots, bound)
    return bound


def _bound_in(module: ModuleOp, constants: Mapping[str, Any]) -> dict[str, Any]:
    """The constants that an entry takes."""
    names = _argument_names(module)
    return {name: value for name, value in constants.items() if name in names}


def _argument_names(module: ModuleOp) -> set[str]:
    functions = (function_named(module, name) for name in ("main", "setup"))
    return {one.name for function in functions if function for one in arguments_of(function)}


def native_program(
    module: ModuleOp,
    target: Target,
    *,
    cache: bool,
    options: LoweringOptions = DEFAULT_LOWERING,
    early: EarlyMemory | None = None,
) -> Program:
    """Machine code for `module`, which stays as it is.

    It comes from the disk cache if it is there. Constants are no part of it, so that programs
    which differ in their weights only are the same. Memory for what is made of them is taken by
    `early`, if the program is compiled for this machine.
    """
    count_program()
    make = _cached if cache else _compile
    with early if early is not None and target.runs_here() else nullcontext() as begun:
        code, metadata = make(module, target, options, begun)
    entries = {name: Entry.from_json(slots) for name, slots in metadata.arguments.items()}
    return Program(
        Executable(code, metadata, target) if target.runs_here() else None,
        entries["main"],
        entries.get("setup"),
        Kernels.from_json(metadata.ledger),
        target,
        recipes={name: Recipe(d, tuple(c)) for name, (d, c) in metadata.extra.items()},
        early=early,
    )


def _cached(
    module: ModuleOp, target: Target, options: LoweringOptions, early: EarlyMemory | None
) -> tuple[bytes, ProgramMetadata]:
    """What `_compile` gives, from the disk if possible."""
    from lamina.codegen.jit import CODEGEN_VERSION, default_options
    from lamina.runtime.disk_cache import cache_key, usable_cache

    # What a compiler makes that somebody has changed in this process is not for other processes,
    # and what they made is not for it.
    lowering = options.key_for(module)
    disk = usable_cache() if modification() is None and lowering is not None else None
    if disk is None:
        return _compile(module, target, options, early)
    parts = f"{CODEGEN_VERSION} {default_options()} {lowering}"
    places = MessagePlaces.of(module)
    key = cache_key(str(module), places.pattern, target.key(), parts)
    log = topic("cache")
    found = disk.get(key)
    if found is not None:
        with suppress(ValueError, TypeError, LookupError):  # metadata of another making
            made = found[0], places.placed(ProgramMetadata.from_json(found[1]))
            log.info("%s: found, %d bytes of code", key[:12], len(found[0]))
            return made
    log.info("%s: not in %s", key[:12], disk.folder)
    code, metadata = _compile(module, target, options, early)
    is_kept = disk.put(key, code, places.numbered(metadata).to_json())
    log.info("%s: %s, %d bytes of code", key[:12], "kept" if is_kept else "not kept", len(code))
    return code, metadata


def _compile(
    module: ModuleOp, target: Target, options: LoweringOptions, early: EarlyMemory | None
) -> tuple[bytes, ProgramMetadata]:
    """Runs the pipeline and code generation."""
    from lamina.codegen.jit import default_options
    from lamina.codegen.llvm_emitter import ProgramEmitter
    from lamina.codegen.translation import Translation

    begin = time.perf_counter()
    lowered = module.clone()
    recipes: dict[str, Recipe] = {}
    with Translation(target) as translation:
        emitter = ProgramEmitter(target, default_options(), translation.add)
        add = emitter.add_kernel
        kernels = lower_to_scheduled(lowered, target, options, recipes, add, early)
        emitted = emitter.finish(lowered)
        entries = {name: entry_of(_function(lowered, name)) for name in emitted.entries}
        metadata = ProgramMetadata(
            arguments={name: entry.to_json() for name, entry in entries.items()},
            messages=emitted.messages,
            needs_openmp=emitted.needs_openmp,
            ledger=kernels.to_json(),
            extra={name: [made.digest, made.constants] for name, made in recipes.items()},
        )
        dispose(lowered)
        free_ir()
        code = translation.code()
    spent = 1e3 * (time.perf_counter() - begin)
    topic("compile").info("%s: %d kernels, %.1f ms", target.spelled, len(kernels), spent)
    return code, metadata


def _function(module: ModuleOp, name: str) -> FuncOp:
    function = function_named(module, name)
    assert function is not None
    return function


def as_target(target: Target | str | None) -> Target:
    """The target of that name; the machine at hand for None."""
    if isinstance(target, Target):
        return target
    return Target.host() if target is None else Target.parse(target)


def _check_constants(slots: list[Slot], bound: Mapping[str, Any]) -> None:
    """Raises ArgumentError for unknown names and for arrays that do not fit."""
    by_name = {slot.name: slot for slot in slots if slot.kind in CONSTANT_KINDS}
    for name, value in bound.items():
        slot = by_name.get(name)
        if slot is None:
            near = nearest(name, by_name) or list(by_name)[:8]
            raise ArgumentError(
                f"constant '{name}': the program has no such parameter, buffer or constant"
                + (f"; nearest: {', '.join(near)}" if near else "")
            )
        kind = array_kind(kind_name(value) or "numpy")
        kind.reader(slot, -1)(kind.contiguous(value))


def _input_named(name: str) -> dict[str, Attribute]:
    return {"lamina.kind": StringAttr("input"), "lamina.name": StringAttr(name)}


def open_unbound_arguments(main: FuncOp, slots: list[Slot], bound: Mapping[str, Any]) -> None:
    """Parameters that no constant is bound to are inputs like any other.

    Arguments without a name keep those that they are numbered with: there are more inputs now.
    """
    if main.arg_attrs is None:
        return
    opened = [slot.kind in CONSTANT_KINDS and slot.name not in bound for slot in slots]
    if not any(opened):
        return
    entries = [
        DictionaryAttr({**attributes.data, **_input_named(slot.name)})
        if is_opened or slot.kind == "input"
        else attributes
        for slot, attributes, is_opened in zip(slots, main.arg_attrs.data, opened, strict=True)
    ]
    main.properties["arg_attrs"] = ArrayAttr(entries)
