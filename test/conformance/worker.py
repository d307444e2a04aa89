"""A process that judges samples: reads units of work from stdin, writes a line for each verdict.

It may crash or hang at any sample; what started it sees that and starts another.
"""

from __future__ import annotations

import copy
import json
import os
import re
import sys
import time
import traceback
import warnings
from itertools import islice
from typing import IO, Any

import torch
from cases import UNINITIALISED, Entry, Sample, entries, samples
from judge import difference, is_no_worse, tolerances, widened
from open_loops import UNTOLD, in_loops, results_in_loops, results_within_bounds
from sensitivity import DRAWS, is_within_reach, nudged
from ties import TIED, names_equal_values
from torch.utils import _pytree as pytree

import lamina
from lamina.dialects.errors import InputError, UnsupportedError

UNEXPORTABLE = (
    (re.compile(r"[Ss]parse|[Nn]ested|jagged"), "sparse or nested tensors"),
    (re.compile(r"[Qq]uantize"), "quantized tensors"),
    (re.compile(r"[Dd]ata.?[Dd]epend|Unsupported: .*dynamic|unbacked|u\d+"), "sizes from data"),
)
"""What torch.export says when a program is none of functional strided tensors, and our word."""

OTHER_SEEDS = range(2, 18)
"""Where eager mode draws numbers, results that all these seeds agree on are determined: one seed
more is not enough, as a draw from two categories comes out alike half of the time."""

DOUBLE = (torch.float64, torch.complex128)

Verdict = dict[str, Any]


def judge(entry: Entry, sample: Sample, via: str) -> Verdict:
    """Runs one sample both ways: a verdict with status, reason and milliseconds."""
    try:
        expected, values = _eager(entry, sample)
    except Exception as error:
        return {"status": "skipped", "reason": f"eager: {_first_line(error)}"}
    strided = all(_is_strided(leaf) for leaf in pytree.tree_leaves((sample.tensors, expected)))
    if not strided:
        return {"status": "refused", "reason": "export: tensors that are not strided"}
    ways = {"export": _exported, "compile": _compiled, "open": _opened, "loops": _lowered}
    run = ways[via]
    return run(entry, sample, expected, values)


def _is_strided(leaf: Any) -> bool:
    if not isinstance(leaf, torch.Tensor):
        return isinstance(leaf, bool | int | float | complex | str | None)
    return leaf.layout is torch.strided and not leaf.is_quantized and not leaf.is_nested


def _eager(entry: Entry, sample: Sample) -> tuple[Any, bool]:
    """Torch's result and arguments after the call, and whether the values are determined."""
    expected = _call(sample.program, sample, seed=1)
    drew = not torch.equal(torch.get_rng_state(), _seeded(1))
    name = entry.info.name.rpartition(".")[2]
    if name in UNINITIALISED:
        return expected, False
    for seed in OTHER_SEEDS if drew else OTHER_SEEDS[:1]:
        again = _call(sample.program, sample, seed=seed)
        if difference(expected, again, entry.info, values=True) is not None:
            return expected, False
    return expected, True


def _seeded(seed: int) -> torch.Tensor:
    """The state of torch's generator after seeding it."""
    state = torch.Generator().manual_seed(seed)
    return state.get_state()


def _call(function: Any, sample: Sample, seed: int) -> tuple[Any, list[torch.Tensor]]:
    torch.manual_seed(seed)
    tensors = [_copy(tensor) for tensor in sample.tensors]
    return _detached(function(*tensors)), tensors


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    """The same elements with the same strides."""
    return tensor.clone() if tensor.layout is torch.strided else tensor.detach()


def _detached(value: Any) -> Any:
    return pytree.tree_map(lambda leaf: leaf.detach().clone() if _is_plain(leaf) else leaf, value)


def _is_plain(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.layout is torch.strided


def _exported(entry: Entry, sample: Sample, expected: Any, values: bool) -> Verdict:
    try:
        with torch.no_grad():
            program = torch.export.export(
                sample.program, tuple(_copy(t) for t in sample.tensors), strict=False
            )
    except Exception as error:
        return {"status": "refused", "reason": f"export: {_export_reason(error)}"}
    started = time.process_time()
    try:
        compiled = lamina.compile(program, cache=False)
        spent = time.process_time() - started
        actual = _call(compiled, sample, seed=1)
    except UnsupportedError as error:
        return {
            "status": "refused",
            "reason": f"lamina: {error.op}: {error.reason}",
            "op": error.op,
        }
    except Exception as error:
        return _internal(error)
    verdict = _compare(entry, sample, expected, actual, values)
    if verdict["status"] == "failed" and _lost_in_export(entry, sample, program, actual):
        reason = "export: the exported program has another result than the module, as torch runs it"
        return {"status": "refused", "reason": reason}
    return {**verdict, "ms": round(1e3 * spent, 1)}


def _opened(entry: Entry, sample: Sample, expected: Any, values: bool) -> Verdict:
    """With all sizes open that torch leaves open: padded, or where an op takes no padding exact."""
    program = _open_program(sample)
    if not isinstance(program, torch.export.ExportedProgram):
        return program
    note = None
    for policy in ("padded", "exact"):
        try:
            compiled = lamina.compile(program, cache=False, versions=policy)
            if not compiled.sizes.names:
                return {"status": "skipped", "reason": "export: torch leaves no size open"}
            actual = _call(compiled, sample, seed=1)
        except UnsupportedError as error:
            note = f"{error.op}: {error.reason}"
            if policy == "exact":
                return {"status": "refused", "reason": f"lamina: {note}", "op": error.op}
            continue
        except InputError as error:
            if "sizes are equal where" not in str(error):
                return _internal(error)
            return {"status": "refused", "reason": f"lamina: {_first_line(error)}"}
        except Exception as error:
            return _internal(error)
        verdict = _compare(entry, sample, expected, actual, values)
        if verdict["status"] == "failed" and _lost_in_export(entry, sample, program, actual):
            return {"status": "refused", "reason": "export: the program has another result"}
        return verdict if note is None else {**verdict, "note": f"not padded: {note}"}
    raise AssertionError("both policies were tried")


def _open_program(sample: Sample) -> Any:
    """The exported program with all sizes open that torch leaves open, or a verdict."""
    if not sample.tensors:
        return {"status": "skipped", "reason": "export: no tensor has a size to leave open"}
    auto = tuple(dict.fromkeys(range(t.dim()), torch.export.Dim.AUTO) for t in sample.tensors)
    tensors = tuple(_copy(t) for t in sample.tensors)
    try:
        with torch.no_grad():
            return torch.export.export(
                sample.program, tensors, dynamic_shapes={"tensors": auto}, strict=False
            )
    except Exception as error:
        return {"status": "refused", "reason": f"export: {_export_reason(error)}"}


def _lowered(entry: Entry, sample: Sample, expected: Any, values: bool) -> Verdict:
    """With all sizes open down to loops, which are interpreted, as they are and within bounds: what
    mutates shows its results."""
    program = _open_program(sample)
    if not isinstance(program, torch.export.ExportedProgram):
        return program
    try:
        loops = in_loops(program)
        if loops is None:
            return {"status": "skipped", "reason": "export: torch leaves no size open"}
        made = [results_in_loops(*loops, sample)]
    except UnsupportedError as error:
        reason = f"lamina: {error.op}: {error.reason}"
        return {"status": "refused", "reason": reason, "op": error.op}
    except InputError as error:  # the ranges of sizes do not tell, or torch has data decide some
        if not UNTOLD.search(str(error)):
            return _internal(error)
        return {"status": "refused", "reason": f"lamina: {_first_line(error)}"}
    except Exception as error:
        return _internal(error)
    note: Verdict = {}
    try:
        made.append(results_within_bounds(*loops, sample))
    except UnsupportedError as error:
        note = {"unbounded": f"{error.op}: {error.reason}"}
    except Exception as error:
        return _internal(error)
    leaves, spec = pytree.tree_flatten(expected[0])
    verdict: Verdict = {}
    for found in map(iter, made):
        results = [torch.as_tensor(next(found)) if _is_plain(leaf) else leaf for leaf in leaves]
        actual = pytree.tree_unflatten(results, spec), expected[1]
        verdict = _compare(entry, sample, expected, actual, values)
        if verdict["status"] != "passed":
            break
    return verdict | note


def _lost_in_export(entry: Entry, sample: Sample, program: Any, actual: Any) -> bool:
    """Whether torch, too, gets `actual` from the exported program, unlike from the module."""
    with torch.no_grad():
        exported = _call(program.module(), sample, seed=1)
    return difference(exported, actual, entry.info, values=True) is None


def _compiled(entry: Entry, sample: Sample, expected: Any, values: bool) -> Verdict:
    from torch._dynamo.exc import BackendCompilerFailed

    torch._dynamo.reset()
    function = torch.compile(sample.program, backend="lamina", options={"cache": False})
    try:
        with torch.no_grad():
            actual = _call(function, sample, seed=1)
    except BackendCompilerFailed as error:
        inner = error.inner_exception
        if isinstance(inner, UnsupportedError):
            return {
                "status": "refused",
                "reason": f"lamina: {inner.op}: {inner.reason}",
                "op": inner.op,
            }
        return _internal(inner)
    except Exception as error:
        return {"status": "refused", "reason": f"export: dynamo: {_export_reason(error)}"}
    return _compare(entry, sample, expected, actual, values)


def _compare(entry: Entry, sample: Sample, expected: Any, actual: Any, values: bool) -> Verdict:
    try:
        one, other = (
            [(sample.same_up_to(result), after) for result, after in (expected, actual)]
            if values
            else [expected, actual]
        )
    except Exception as error:
        return {"status": "failed", "reason": f"result of another form: {_first_line(error)}"}
    found = difference(one, other, entry.info, values=values)
    if found is None:
        return {"status": "passed"}
    if _may_tie(entry, sample) and names_equal_values(expected[0], actual[0], sample.tensors[0]):
        return {"status": "passed", "note": "another place of an equal value"}
    if "in eager mode" not in found and _exact_agrees(entry.info, sample, one, other):
        return {"status": "passed", "note": "no further from double precision than eager mode"}
    if "in eager mode" not in found and _reference_agrees(entry, sample, one, other):
        return {"status": "passed", "note": "no further from the reference than eager mode"}
    if "in eager mode" not in found and _last_bit_decides(entry.info, sample, one, other):
        return {"status": "passed", "note": "the last bit of an input changes eager mode's more"}
    return {"status": "failed", "reason": f"wrong result: {found}"}


def _may_tie(entry: Entry, sample: Sample) -> bool:
    program = sample.program
    _, options = pytree.tree_unflatten(program.leaves, program.spec)
    return entry.info.name in TIED and not options.get("stable", False)


def _exact_agrees(info: Any, sample: Sample, expected: Any, actual: Any) -> bool:
    torch.manual_seed(1)
    try:
        program = copy.deepcopy(sample.program).double()
        exact = _call(program, Sample(program, widened(sample.tensors)), seed=1)
        exact = (sample.same_up_to(exact[0]), exact[1])
        return is_no_worse(exact, expected, actual, info)
    except Exception:
        return False


def _last_bit_decides(info: Any, sample: Sample, expected: Any, actual: Any) -> bool:
    """Whether eager mode's results for inputs just beside are as far off as `actual`."""
    try:
        program = copy.deepcopy(sample.program).double()
        exact = _call(program, Sample(program, widened(sample.tensors)), seed=1)[0]
        beside = [
            _call(sample.program, Sample(sample.program, nudged(sample.tensors, draw)), seed=1)[0]
            for draw in range(DRAWS)
        ]
    except Exception:
        return False
    rows = [pytree.tree_leaves(result) for result in (exact, expected[0], actual[0], *beside)]
    for truth, one, other, *near in zip(*rows, strict=True):
        if not isinstance(one, torch.Tensor) or not one.is_floating_point():
            return False
        limits = tolerances(info, one.dtype)
        if difference(one, other, info, values=True) is None:
            continue
        if not is_within_reach(truth, one.double(), other.double(), near, limits):
            return False
    return difference(expected[1], actual[1], info, values=True) is None


def _reference_agrees(entry: Entry, sample: Sample, expected: Any, actual: Any) -> bool:
    """Whether the database's own reference, a function on NumPy arrays, is on the side of `actual`.

    Only where eager mode is in double precision, which has no wider one to ask.
    """
    reference = getattr(entry.info, "ref", None)
    results = pytree.tree_leaves(expected[0])
    if reference is None or any(leaf.dtype not in DOUBLE for leaf in results):
        return False
    program = sample.program
    leaves = list(program.leaves)
    for place, tensor in zip(program.places, sample.tensors, strict=True):
        leaves[place] = tensor.numpy()
    args, options = pytree.tree_unflatten(leaves, program.spec)
    try:
        exact = pytree.tree_map(torch.as_tensor, reference(*args, **options))
    except Exception:
        return False
    return is_no_worse((exact, sample.tensors), expected, actual, entry.info)


def _internal(error: BaseException) -> Verdict:
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{'/'.join(frames[-1].filename.split('/')[-2:])}:{frames[-1].lineno}" if frames else ""
    return {
        "status": "failed",
        "reason": f"internal error: {type(error).__name__}: {_first_line(error)}",
        "place": place,
    }


def _export_reason(error: BaseException) -> str:
    text = f"{type(error).__name__}: {error}"
    for pattern, word in UNEXPORTABLE:
        if pattern.search(text):
            return f"{word} ({_clip(text)})"
    return _clip(text)


def _first_line(error: BaseException) -> str:
    return _clip(str(error))


def _clip(text: str) -> str:
    return " ".join(text.split())[:300]


def serve(lines: IO[str], out: IO[str]) -> None:
    """Answers every unit on `lines` with a line per sample, then a line that it is done."""
    known = {entry.name: entry for entry in entries(["*"])}

    def write(record: dict[str, Any]) -> None:
        out.write(json.dumps(record) + "\n")
        out.flush()

    write({"ready": True})
    warm = False
    for line in lines:
        unit = json.loads(line)
        entry = known[unit["name"]]
        try:
            made = islice(samples(entry, unit["dtype"]), unit["start"], unit["stop"])
            for number, sample in enumerate(made, unit["start"]):
                write({"begin": number})
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    verdict = judge(entry, sample, unit["via"])
                if not warm and "ms" in verdict:  # most of it is the import of passes
                    del verdict["ms"]
                    warm = True
                write({"sample": number, **verdict})
        except Exception as error:
            write({"sample": -1, "status": "skipped", "reason": f"samples: {_first_line(error)}"})
        write({"done": True})


def main() -> None:
    """Serves on stdin and stdout; whatever else prints goes to stderr."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    torch.set_num_threads(1)
    serve(sys.stdin, out)


if __name__ == "__main__":
    main()
