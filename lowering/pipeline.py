"""The whole compiler as one list: which passes take a program from each layer to the next."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from lamina.dialects.errors import InputError, LaminaError
from lamina.dialects.forks import let_fork
from lamina.dialects.logs import is_told, topic
from lamina.dialects.records import record
from lamina.dialects.source_layers import marks_linalg
from lamina.dialects.stablehlo.source_ops import marks_stablehlo
from lamina.lowering.crash_reproducer import reproducer, wanted_file, written
from lamina.lowering.data_stack import with_frames_together
from lamina.lowering.pass_order import PassOrder, kernel_passes
from lamina.lowering.pass_runner import Finished, PassRunner, is_own
from lamina.lowering.pass_specs import Pass, pass_of
from lamina.passes.calls.callee_programs import callee_programs
from lamina.passes.contracts.pass_states import verify_state

TARGET_PASSES = frozenset(
    {
        "choose-layouts",
        "choose-winograd",
        "fuse-elementwise",
        "fuse-gathers",
        "fuse-kernels",
        "merge-siblings",
        "fuse-column-sums",
        "merge-small-kernels",
        "pack-contractions",
        "stream-dims",
        "pair-results",
        "choose-schedule",
        "choose-directions",
        "share-kernels",
        "merge-parallel-regions",
        "hoist-teams",
        "plan-scratch",
    }
)
"""Passes that need to know the machine; they take its name as the option `target`."""

ROUNDINGS = ("kernel", "eager")
"""Where f16 and bf16, which are computed in f32, are rounded: once where a value leaves a fused
kernel, or after every op, as torch's eager mode does."""

ROUNDING_PASSES = frozenset({"widen-half-floats", "fold-batch-norm"})
"""Passes that take the rounding as the option `rounding`."""

KERNEL_ROUNDING_PASSES = frozenset({"elide-rounding"})
"""Passes that eager rounding does without."""


@record
class Stage:
    """The passes that reach one layer from the layer before."""

    layer: str
    passes: tuple[str, ...]


STAGES: tuple[Stage, ...] = (
    Stage("aten", ("verify-aten",)),
    Stage(
        "functional",
        (
            "functionalize",
            "choose-stages",
            "outline-stages",
            "bound-dynamic-shapes",
            "roll-loops",
            "roll-layers",
            "verify-functional",
        ),
    ),
    Stage(
        "core_aten",
        ("widen-half-floats", "convert-aten-to-core-aten", "verify-core-aten"),
    ),
    Stage(
        "prims",
        (
            "widen-half-floats",
            "fold-batch-norm",
            "convert-core-aten-to-prims",
            "flush-exponentials",
            "verify-prims",
        ),
    ),
    Stage(
        "loop",
        (
            "materialize-random-state",
            "split-complex",
            "convert-prims-to-loop",
            "outline-literals",
            "outline-regions",
            "narrow-scatters",
            "canonicalize-loop",
            "split-places",
            "limit-reads",
            "expect-runs",
            "batch-scans",
            "loop-cse",
            "verify-loop",
        ),
    ),
    Stage(
        "fused",
        (
            "bound-nests",
            "outline-literals",
            "choose-layouts",
            "apply-layouts",
            "choose-winograd",
            "apply-winograd",
            "roll-nests",
            "outline-regions",
            "fold-layout",
            "split-products",
            "pack-contractions",
            "pad-windows",
            "hoist-invariants",
            "hoist-constants",
            "fuse-elementwise",
            "fuse-into-scatters",
            "fuse-gathers",
            "split-reductions",
            "align-dims",
            "note-least-extents",
            "fuse-kernels",
            "merge-siblings",
            "fuse-column-sums",
            "pack-in-tasks",
            "drop-unit-dims",
            "merge-small-kernels",
            "elide-rounding",
            "outline-kernels",
            "inline-regions",
            "unroll-layers",
            "sink-row-factors",
            "stream-dims",
            "bound-dims",
            "limit-rows",
            "drop-row-masks",
            "elide-masks",
        ),
    ),
    Stage(
        "bufferized",
        (
            "bufferize",
            "elide-copies",
            "mutate-in-place",
            "fuse-borders",
            "plan-memory",
            "split-domains",
            "pair-results",
            "mask-cut-sums",
            "choose-schedule",
            "limit-panels",
            "limit-padded-reads",
            "derive-sizes",
            "limit-arguments",
            "compact-arguments",
            "compact-buffers",
            "elide-joins",
            "choose-directions",
            "merge-equal-kernels",
        ),
    ),
    Stage(
        "scheduled",
        (
            "alternate-directions",
            "apply-schedule",
            "share-kernels",
            "merge-parallel-regions",
            "hoist-teams",
            "plan-scratch",
            "link-callees",
            "verify-scheduled",
        ),
    ),
)

_ORDER = PassOrder(name for stage in STAGES for name in stage.passes)

LAYERS: tuple[str, ...] = tuple(stage.layer for stage in STAGES)
"""The layers of IR from the top to what `codegen` takes."""


@record
class SourceLayer:
    """Dialects of other compilers in which a program may enter, beside the layers.

    `passes` take it to the layer that it joins, whose contract follows. A program whose highest op
    `marks` stands there.
    """

    joins: str
    passes: tuple[str, ...]
    marks: Callable[[Operation], bool]


def _behind(layer: str, conversion: str) -> tuple[str, ...]:
    """The passes of a layer that follow the conversion to it, without its contract."""
    passes = next(stage.passes for stage in STAGES if stage.layer == layer)
    return passes[passes.index(conversion) + 1 : -1]


SOURCE_LAYERS: dict[str, SourceLayer] = {
    "linalg": SourceLayer(
        joins="loop",
        passes=("convert-linalg-to-loop", *_behind("loop", "convert-prims-to-loop")),
        marks=marks_linalg,
    ),
    "stablehlo": SourceLayer(
        joins="prims",
        passes=("convert-stablehlo-to-prims",),
        marks=marks_stablehlo,
    ),
}
"""By name. Where a program enters at one, it stands in it as a whole."""

CONTRACTS: dict[str, str] = {
    "aten": "verify-aten",
    "functional": "verify-functional",
    "core_aten": "verify-core-aten",
    "prims": "verify-prims",
    "loop": "verify-loop",
    "fused": "verify-fused",
    "bufferized": "verify-bufferized",
    "scheduled": "verify-scheduled",
}
"""The pass that says whether a program stands at a layer."""

_CALLS = ("inline-calls", "outline-callees")

ENTERING: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(LAYERS[: LAYERS.index("fused")], _CALLS),
    "aten": (*_CALLS, "number-arguments", "allow-lower-ops"),
    "core_aten": (*_CALLS, "allow-lower-ops"),
    "linalg": (*_CALLS, "linalg-number-arguments"),
    "loop": (*_CALLS, "outline-regions"),
    "stablehlo": (*_CALLS, "verify-stablehlo"),
}
"""What is done with a program that enters at a tensor layer, in front of the contract."""

ENTERED: dict[str, tuple[str, ...]] = {"scheduled": ("guard-accesses",)}
"""What is done with a program that enters at a layer, behind the contract."""


def pipeline(
    *,
    start: str = "aten",
    stop: str = "scheduled",
    target: str = "host",
    rounding: str = ROUNDINGS[0],
    enters: bool = True,
) -> tuple[str, ...]:
    """Pass specs, as `lamina-opt -p` takes them, from a program at layer `start` to layer `stop`.

    Of the passes of `start` itself only its contract is among them, behind those of `ENTERING`, and
    not even that if the program does not enter there (`enters`): passes before have left it so.
    `target` is a text for `Target.parse`; `rounding` says where f16 and bf16 are rounded (see
    `ROUNDINGS`). Raises InputError for a layer or a rounding that does not exist, and for a `stop`
    above `start`.

        specs = lamina.pipeline(start="prims", stop="loop", target="x86-64-v3")
    """
    for layer in (start, stop):
        if not isinstance(layer, str) or (layer not in LAYERS and layer not in SOURCE_LAYERS):
            known = ", ".join((*LAYERS, *SOURCE_LAYERS))
            raise InputError(f"no layer is called {layer!r}; the layers are {known}")
    source = SOURCE_LAYERS.get(start)
    joined = start if source is None else source.joins
    if stop == start and source is not None:
        return ENTERING.get(start, ()) if enters else ()
    if stop in SOURCE_LAYERS or LAYERS.index(stop) < LAYERS.index(joined):
        where = "" if source is None else f", which joins '{joined}'"
        raise InputError(f"layer '{stop}' stands above '{start}'{where}: programs only go down")
    if not isinstance(rounding, str) or rounding not in ROUNDINGS:
        raise InputError(f"no rounding is called {rounding!r}; there are {', '.join(ROUNDINGS)}")
    first, last = LAYERS.index(joined), LAYERS.index(stop)
    entering = [*ENTERING.get(start, ())] if enters else []
    names = [*entering, *([] if source is None else source.passes)]
    if enters or source is not None:
        names.append(CONTRACTS[joined])
    if start == "bufferized" and enters:  # what a text leaves open is chosen
        chosen = (
            "choose-schedule",
            "limit-panels",
            "limit-padded-reads",
            "derive-sizes",
            "limit-arguments",
            "compact-arguments",
            "compact-buffers",
            "elide-joins",
        )
        names[-1:] = ["verify-bufferized{open=true}", *chosen, "verify-bufferized"]
    if enters:
        names += ENTERED.get(start, ())
    names += [name for stage in STAGES[first + 1 : last + 1] for name in stage.passes]
    left_out = KERNEL_ROUNDING_PASSES if rounding == "eager" else frozenset[str]()
    return tuple(_spec(name, target, rounding) for name in names if name not in left_out)


def _spec(name: str, target: str, rounding: str) -> str:
    if name in TARGET_PASSES and target != "host":
        return f'{name}{{target="{target}"}}'
    if name in ROUNDING_PASSES and rounding != ROUNDINGS[0]:
        return f'{name}{{rounding="{rounding}"}}'
    return name


CONTRACT_PASSES = frozenset(CONTRACTS.values())
"""The passes that say whether a program stands at a layer."""


@with_frames_together
def run_pipeline(
    module: ModuleOp,
    specs: Sequence[Pass],
    context: Context,
    finished: Finished | None = None,
) -> None:
    """Run passes on a module in place; behind one that is not Lamina's, verify the program.

    `finished` is called with each kernel that no pass changes any more, as early as may be; none is
    where each pass is to be seen on its own, in a log or a reproducer.

    Raises InputError for an unknown pass, for options that it does not have, and for a pass that
    is not for a program in this state. Where the environment asks for crash reproducers, one is
    written for whatever a pass raises; the error's notes say how to run it.
    """
    runner = PassRunner(CONTRACT_PASSES)
    if finished is None or wanted_file() is not None or is_told(topic("passes")):
        _run_in_turn(module, specs, context, runner)
        return
    before, nested, behind = kernel_passes(specs)
    _run_in_turn(module, before, context, runner)
    if not nested or callee_programs(module):
        _run_in_turn(module, (*nested, *behind), context, runner)
        return
    verify_state(module, nested[0].name)
    runner.apply_by_kernel(nested, behind, module, finished)
    # Kernels are loops now, which passes of entries leave them; to look for nests in them again
    # and again is a walk over all that there is.
    makes_loops = any(one.name == "apply-schedule" for one in nested)
    are_loops = makes_loops and all(map(is_own, (*nested, *behind)))
    # Threads may be at work on what is finished: no fork comes between any more.
    _run_in_turn(module, behind, context, runner, forks=False, is_known=are_loops)


def _run_in_turn(
    module: ModuleOp,
    specs: Sequence[Pass],
    context: Context,
    runner: PassRunner,
    *,
    forks: bool = True,
    is_known: bool = False,
) -> None:
    """Runs passes; whether the program is for each of them is asked, if it is not known."""
    log, file = topic("passes"), wanted_file()
    is_logged = is_told(log)
    last: ModulePass | None = None
    for number, spec in enumerate(specs):
        if forks:
            let_fork()
        coming = pass_of(spec)
        before = None if file is None else str(module)
        begin = time.perf_counter() if is_logged else 0.0
        try:
            if not is_known and not _ORDER.tells(last, coming):
                verify_state(module, coming.name)
            runner.apply(coming, context, module)
            last = coming
        except Exception as error:
            if not isinstance(error, LaminaError):
                error.add_note(f"while running pass '{coming.name}'")
            if file is not None and before is not None:
                passes = [str(pass_of(one).pipeline_pass_spec()) for one in specs[number:]]
                error.add_note(written(file, reproducer(before, passes, error)))
            raise
        if is_logged:
            spent = 1e3 * (time.perf_counter() - begin)
            count = sum(1 for _ in module.walk())
            log.info("%s: %.2f ms, %d ops", coming.name, spent, count)
