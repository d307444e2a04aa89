"""`lamina-run`: compile a file of textual IR of any layer, run it, check it, time it."""

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from lamina.codegen.target import Target
from lamina.dialects.errors import ArgumentError, InputError
from lamina.passes.contracts.entry_attributes import (
    CONSTANT_KINDS,
    IN_MEMORY,
    verify_entries,
)
from lamina.runtime.compile import compile_module
from lamina.runtime.compiled import Compiled
from lamina.runtime.entry import Slot, as_codes, function_named
from lamina.runtime.free_memory import check_room
from lamina.runtime.interpreters.loop_entry import given_slots as slots_of_program
from lamina.runtime.layers import LAYERS, check_layer, layer_of, parse
from lamina.runtime.program_entries import only_entry, split_entries, with_main
from lamina.tools.bound_arrays import arrays_of
from lamina.tools.extension_files import add_load_argument, run_extended
from lamina.tools.judged_types import HALF_FLOATS, judged_slots
from lamina.tools.pipeline_arguments import add_pipeline_arguments, pipeline_of
from lamina.tools.source_files import FILES, add_sizes_argument, read_source
from lamina.tools.undefined_results import (
    refuse_uncounted,
    refuse_undefined,
    refuse_unwritten,
)

_TOLERANCES: dict[str, tuple[float, float]] = {
    "bf16": (1e-2, 2e-2),
    "f16": (1e-3, 1e-2),
    "f32": (1e-4, 1e-4),
    "f64": (1e-10, 1e-8),
    "complex<f32>": (1e-4, 1e-4),
    "complex<f64>": (1e-10, 1e-8),
}
"""Absolute and relative tolerance of `--check` for each element type; integers must be equal."""
_ROUNDED_LAYERS = LAYERS[LAYERS.index("fused") :]
"""Layers whose programs say themselves where kernels round."""
_UNITS = 8
"""A sum that cancels is off by units in the last place of its terms: so many of the result's
largest element are tolerated, too."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; the exit code, 1 for bad input or a failed check."""
    return run_extended("lamina-run", arguments, lambda: _run(_parser().parse_args(arguments)))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lamina-run",
        description=f"Compile {FILES} and run its function main.",
        epilog="Arguments are taken by lamina.name from .npz files, .npy files fill the rest in "
        "order, and what remains is seeded random.",
    )
    add = parser.add_argument
    add("file", help="the program; - for textual IR from standard input")
    add_sizes_argument(parser)
    add("--inputs", nargs="+", default=[], metavar="FILE", help=".npy and .npz files")
    add("--entry", default="main", metavar="NAME", help="the public function to run (main)")
    add("--seed", type=int, default=0, help="of the random arguments (default 0)")
    add("--save", metavar="OUT.npz", help="write the results, named out0, out1, ...")
    add("--check", action="store_true", help="compare with the interpreter of the file's layer")
    add("--time", nargs="?", type=int, const=100, metavar="N", help="time N calls (default 100)")
    add("--print-kernels", action="store_true", help="show what was fused into what")
    add("--print-memory", action="store_true", help="show the peak memory, by what it is for")
    add("--explain-fusion", action="store_true", help="say why kernels were not joined")
    add("--print-ir", metavar="LAYER", help=f"show a layer: {', '.join(LAYERS)}")
    add("--target", help=f"{', '.join(Target.names())} (default: host)")
    add("--print-schedules", action="store_true", help="show how each kernel runs")
    add("--explain", action="store_true", help="estimate each kernel's schedule, and others")
    add("--tune", type=float, default=0, metavar="SECONDS", help="measure other schedules first")
    add("--no-cache", action="store_true", help="compile afresh, without the disk cache")
    add_pipeline_arguments(parser)
    add_load_argument(parser)
    return parser


def _run(options: argparse.Namespace) -> None:
    _check_options(options)
    source = read_source(options.file, options.sizes)
    module = source.module
    verify_entries(module, layer_of(module))
    if options.entry != "main":
        module = only_entry(module, options.entry)
    module = with_main(module, "run")
    split_entries(module)
    slots = given_slots(module, options.file)
    arrays = arguments_of(slots, options.inputs, options.seed, arrays_of(source, slots))
    bound = {slot.name: arrays[slot.name] for slot in slots if slot.kind in CONSTANT_KINDS}
    inputs = [arrays[slot.name].copy() for slot in slots if slot.kind not in CONSTANT_KINDS]
    compiled = compile_module(
        module.clone(),
        target=options.target,
        constants=bound,
        cache=not options.no_cache,
        tune=options.tune,
        pipeline=pipeline_of(options),
    )
    if options.print_ir:
        print(compiled.ir(options.print_ir))
    if options.print_kernels:
        print(compiled.measure(*inputs) if compiled.runs_here else compiled.kernels)
    if options.print_memory:
        print(compiled.memory)
    if options.explain_fusion:
        print(compiled.kernels.explain())
    if options.print_schedules:
        print(compiled.kernels.schedules())
    if options.explain:
        print(compiled.explain_schedules())
    if not compiled.runs_here and (
        options.print_ir or options.print_kernels or options.print_memory
    ):
        return
    results = _as_list(compiled(*inputs))
    _show(results, compiled)
    if options.save:
        plain = {f"out{i}": as_codes(r) for i, r in enumerate(results)}  # NumPy has no narrow types
        np.savez(options.save, **plain)  # pyright: ignore
    if options.check:
        eager = partial(
            compile_module,
            module.clone(),
            target=options.target,
            constants=bound,
            rounding="eager",
            pipeline=pipeline_of(options),
        )
        _check(module, {slot.name: arrays[slot.name] for slot in slots}, results, compiled, eager)
    if options.time is not None:
        _time(compiled, inputs, options.time)


def _check_options(options: argparse.Namespace) -> None:
    """Raises InputError for what no run could do, before anything is compiled."""
    if options.time is not None and options.time < 1:
        raise InputError(f"--time {options.time}: it takes at least one call")
    if options.seed < 0:
        raise InputError(f"--seed {options.seed}: seeds are 0 or more")
    if options.save is not None:
        path = Path(options.save)
        if path.suffix != ".npz" or path.is_dir():
            raise InputError(f"--save {options.save}: it takes the name of a file OUT.npz")
        if not path.absolute().parent.is_dir():
            raise InputError(f"--save {options.save}: there is no such folder")
    if options.print_ir is not None:
        check_layer(options.print_ir)


# Arguments


def given_slots(module: ModuleOp, file: str) -> list[Slot]:
    """The arguments that a caller gives: of @main, and constants that only @setup takes.

    Raises InputError if there is no @main.
    """
    if function_named(module, "main") is None:
        raise InputError(f"{file}: error: there is no function @main to run")
    return slots_of_program(module)


def arguments_of(
    slots: Sequence[Slot],
    files: Sequence[str],
    seed: int,
    bound: Mapping[str, np.ndarray] | None = None,
) -> dict[str, np.ndarray]:
    """An array for each argument: by name from .npz or `bound`, in order from .npy, else random."""
    named, listed = loaded_arrays(files)
    named = {**(bound or {}), **named}
    unknown = [name for name in named if name not in {slot.name for slot in slots}]
    if unknown:
        expected = ", ".join(f"{slot.name}: {slot.type_text}" for slot in slots[:8])
        raise ArgumentError(f"no argument is named '{unknown[0]}'; the arguments are: {expected}")
    open_inputs = [slot for slot in slots if slot.name not in named]
    open_inputs.sort(key=lambda slot: slot.kind in CONSTANT_KINDS)
    if len(listed) > len(open_inputs):
        raise ArgumentError(f"{len(listed)} .npy files for {len(open_inputs)} arguments")
    for slot, array in zip(open_inputs, listed, strict=False):
        named[slot.name] = array
    generator = np.random.default_rng(seed)
    return {
        slot.name: np.asarray(named[slot.name], order="C")
        if slot.name in named
        else _random(slot, generator)
        for slot in slots
    }


def loaded_arrays(files: Sequence[str]) -> tuple[dict[str, np.ndarray], list[np.ndarray]]:
    """Arrays of .npz files by name, and those of .npy files in order; InputError for others."""
    named: dict[str, np.ndarray] = {}
    listed: list[np.ndarray] = []
    for file in files:
        try:
            loaded = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                listed.append(loaded)
            else:
                named.update({name: loaded[name] for name in loaded.files})
        except FileNotFoundError:
            raise
        except (ValueError, EOFError, OSError, BadZipFile):
            raise InputError(f"{file}: error: not a .npy or .npz file of plain arrays") from None
    return named, listed


_COPIES = 3
"""At most, of an argument while it is made."""


def _random(slot: Slot, generator: np.random.Generator) -> np.ndarray:
    """Normal floats; small integers that are valid indices of most tables; fair booleans."""
    dtype = slot.numpy_dtype
    if prod(max(extent, 1) for extent in slot.shape) * dtype.itemsize > sys.maxsize:
        raise ArgumentError(f"{slot.name}: {slot.type_text} is more than memory can hold")
    check_room(_COPIES * slot.size, f"random numbers for {slot.name}: {slot.type_text}")
    made = np.empty(slot.shape, dtype)
    if dtype.kind in "fc" or slot.dtype == "bf16":
        drawn = np.float64 if dtype in (np.float64, np.complex128) else np.float32
        made[...] = generator.standard_normal(slot.shape, drawn)
        if dtype.kind == "c":
            made += 1j * generator.standard_normal(slot.shape, drawn)
    else:
        made[...] = generator.integers(0, 2, slot.shape, np.bool_)
    return made


# Results


def _as_list(results: Any) -> list[np.ndarray]:
    return list(results) if isinstance(results, tuple) else [results]


def _show(results: Sequence[np.ndarray], compiled: Compiled) -> None:
    with np.printoptions(threshold=16, edgeitems=2, precision=5, linewidth=100):
        for slot, result in zip(compiled.outputs, results, strict=True):
            print(f"{slot.name}: {slot.type_text}")
            print(f"  {str(result).replace(chr(10), chr(10) + '  ')}")


def _wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _check(
    module: ModuleOp,
    arguments: Mapping[str, np.ndarray],
    results: Sequence[np.ndarray],
    compiled: Compiled,
    eager: Callable[[], Compiled],
) -> None:
    """Compares with the interpreter at the file's own layer; raises InputError on a difference.

    An interpreter rounds after every op, code inside a kernel does not: results of f32 that half
    floats went into differ by their units, sums of half floats that cancel by those of their terms.
    There, code that rounds after every op is compared instead (`eager`), and the results with the
    interpreter of the fused program, which rounds as they do: each at the tolerance of its type.
    Equal results of programs in memory are accepted only where all that they read was written.
    """

    from lamina.runtime.interpreters import run_module

    def interpreted(program: ModuleOp) -> list[Any]:
        return run_module(program, {name: array.copy() for name, array in arguments.items()})

    expected, layer = interpreted(module), layer_of(module)
    said = f"the {layer} interpreter"
    judged = judged_slots(module, compiled.outputs)

    def directly() -> float:
        return largest_difference(judged, results, expected)

    def where_both_round() -> float:
        inputs = [arguments[slot.name].copy() for slot in compiled.inputs]
        largest_difference(judged, _as_list(eager()(*inputs)), expected)
        return largest_difference(
            compiled.outputs, results, interpreted(parse(compiled.ir("fused")))
        )

    is_rounded = layer in _ROUNDED_LAYERS or not any(s.dtype in HALF_FLOATS for s in judged)
    try:
        if is_rounded or (judged == list(compiled.outputs) and _is_equal(directly)):
            worst = directly()
        else:
            worst = where_both_round()
            said = f"the fused interpreter, and to {said} where every op rounds"
    except InputError as error:

        def again(counting: dict[str, np.ndarray]) -> float:
            made = _as_list(compiled(*(counting[slot.name].copy() for slot in compiled.inputs)))
            wanted = run_module(module, {name: array.copy() for name, array in counting.items()})
            return largest_difference(judged, made, wanted)

        refuse_uncounted(module, arguments, again, error)
        refuse_undefined(module, arguments, error)
        raise
    if layer in IN_MEMORY:
        refuse_unwritten(module, arguments)  # what memory held may be what was expected
    print(f"check: equal to {said}, largest difference {worst:.2e}")


def _is_equal(compare: Callable[[], float]) -> bool:
    """Whether a comparison finds no difference."""
    try:
        compare()
    except InputError:
        return False
    return True


def largest_difference(
    slots: Sequence[Slot], results: Sequence[np.ndarray], expected: Sequence[Any]
) -> float:
    """Between results and those of the interpreter; InputError where it exceeds the tolerance.

    That is of a slot's element type, see `judged_slots`.
    """
    worst = 0.0
    for slot, result, wanted in zip(slots, results, expected, strict=False):
        ours, theirs = np.asarray(result), np.asarray(wanted)
        if ours.shape != theirs.shape:
            raise InputError(
                f"check failed: {slot.name} has shape {ours.shape}, the interpreter's has "
                f"{theirs.shape}"
            )
        absolute, relative = _TOLERANCES.get(slot.dtype, (0.0, 0.0))
        absolute = max(absolute, _units_of_largest(theirs))
        fits = np.isclose(ours, theirs, rtol=relative, atol=absolute, equal_nan=True)
        if not fits.all():
            raise InputError(f"check failed: {slot.name} {_difference(ours, theirs, ~fits)}")
        if ours.size:
            with np.errstate(invalid="ignore"):
                apart = np.abs(_wide(ours) - _wide(theirs))
            worst = max(worst, float(np.max(apart, initial=0.0, where=~np.isnan(apart))))
    return worst


def _units_of_largest(wanted: np.ndarray) -> float:
    """`_UNITS` in the last place of the largest finite element of f32, f64 or complex; else 0."""
    if wanted.dtype not in (np.float32, np.float64, np.complex64, np.complex128):
        return 0.0
    sizes = np.abs(wanted)
    largest = float(np.max(sizes, initial=0.0, where=np.isfinite(sizes)))
    return _UNITS * float(np.finfo(wanted.dtype).eps) * largest


def _difference(ours: np.ndarray, theirs: np.ndarray, wrong: np.ndarray) -> str:
    """Where they are furthest apart among the elements that are `wrong`."""
    with np.errstate(invalid="ignore"):
        apart = np.abs(ours.astype(complex) - theirs.astype(complex))
    apart = np.where(wrong, np.nan_to_num(apart, nan=np.inf), -1.0)
    place = np.unravel_index(int(np.argmax(apart)), ours.shape)
    where = ", ".join(str(int(i)) for i in place)
    return f"[{where}] is {ours[place]}, the interpreter's is {theirs[place]}"


def _time(compiled: Compiled, inputs: Sequence[Any], count: int) -> None:
    samples: list[float] = []
    for _ in range(count):
        start = time.perf_counter()
        compiled(*inputs)
        samples.append(time.perf_counter() - start)
    samples.sort()
    best, middle = samples[0] * 1e6, samples[len(samples) // 2] * 1e6
    print(f"time of {count} calls: best {best:.1f} us, median {middle:.1f} us")


if __name__ == "__main__":
    sys.exit(main())
