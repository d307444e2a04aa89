"""The records that native call code and Python share, and the text of that code.

Each record is one row of `RECORDS`: it becomes a ctypes structure and an LLVM type. In the `.ll.in`
files, `%x = get Record.field %p`, `set Record.field %p, value` and `%q = at Record.field %p` load,
store and address a field by its name; the rest is LLVM IR as it is.
"""

import ctypes
import re
from functools import cache
from importlib.resources import files

from lamina.dialects.sizes.formula import KINDS, MOST_DEPTH
from lamina.runtime.dispatch.flags import COMPACT
from lamina.runtime.dispatch.functions import FUNCTIONS
from lamina.runtime.free_memory import ASKED_FROM

Fields = tuple[tuple[str, str], ...]

LATE = 500_000
"""Nanoseconds beyond the time of one thread after which a team counts as late: less than a thread
that has lost its core is away, more than cold caches and interrupts take."""

MOST_PATIENCE = 32
"""Most times the time lost on a late team for which one thread then goes on alone: where teams are
always late, trying them takes a thirty-second of the time."""

FIRST_RUNS = 32
"""Runs of a team's function of one kind, by a team or by one thread, before the other kind is
probed: twice as many each time that the probes change nothing, within the next two bounds. Not
measured: four probes are an eighth of the runs at first."""

PROBE_SHARE = 128
"""Parts of the time of which probes may take one: what they lose, against as many runs of the usual
kind, decides how far they are apart at most."""

HELD = 20_000_000
"""Nanoseconds of runs for which a decision stands at least, once probes have confirmed it a few
times: some slices of the scheduler. Probes that lose nothing would stay frequent otherwise."""

PROBES = 4
"""Runs of the other kind, of which the fastest counts: the first ones wake threads, and fetch what
lies in the caches of other cores. Not measured."""

LONG_RUN = 1_000_000
"""Nanoseconds from which on a kind of run is not probed: a core reads some 10 MB of others' caches
in that time (`FAR_BANDWIDTH` of the cost model), more than what kernels hand on there."""

HALVES = 16
"""Buckets for outputs of which a call may need a part only, each of half the bytes of the one
before: the last is for rows that are a 32,768th of the bound."""

SLOTS = 8
"""Most blocks that a bucket keeps."""

VIEW_SHARE = 2
"""A result is a view of its padded memory if it takes at least one part in so many; a smaller one
is copied, so that it does not hold the rest."""

HEADER_BYTES = 128
"""In front of the data of a block: its DLPack record, up to the alignment of the data."""

FORMS_OF_OUTPUTS = {
    "array": 0,  # as it is
    "size": 1,  # read by others, no result
    "check": 2,  # must be true, no result
    "cut": 3,  # an array, as far as sizes say
    "i64": 4,  # a number
    "f64": 5,
    "i1": 6,
}
"""What becomes of an output once a program has run; see `dynamic_results`."""

MOST_RANK = 64
"""Dimensions that native code has room for where sizes are told by calls."""

STEPS = {f"STEP_{kind.upper()}": place for place, kind in enumerate(KINDS)}
"""Kinds of steps of a `Formula`; up to `STEP_ARGUMENT` each puts a number on the stack, others take
two from there."""

_NUMBERS = {
    "MOST_RANK": MOST_RANK,
    "ASKED_FROM": ASKED_FROM,
    "VIEW_SHARE": VIEW_SHARE,
    "COMPACT": COMPACT,
    "MOST_DEPTH": MOST_DEPTH,
    **STEPS,
    "LATE": LATE,
    "MOST_PATIENCE": MOST_PATIENCE,
    "FIRST_RUNS": FIRST_RUNS,
    "PROBE_SHARE": PROBE_SHARE,
    "HELD": HELD,
    "PROBES": PROBES,
    "LONG_RUN": LONG_RUN,
    "NEVER": (1 << 63) - 1,
}
"""What stands in the sources by name, behind a dollar sign."""

RECORDS: dict[str, Fields] = {
    # DLPack's own two, see dlpack.h
    "DLTensor": (
        ("data", "ptr"),
        ("device", "i32"),
        ("device_id", "i32"),
        ("rank", "i32"),
        ("dtype", "i32"),  # code, bits and lanes in one
        ("shape", "ptr"),
        ("strides", "ptr"),
        ("offset", "i64"),
    ),
    "DLManaged": (
        ("major", "i32"),
        ("minor", "i32"),
        ("context", "ptr"),  # the bucket
        ("deleter", "ptr"),
        ("flags", "i64"),
        ("tensor", "DLTensor"),
        ("is_mapped", "i64"),  # not DLPack's: whether all pages of the block are there to be read
    ),
    # what array libraries gave us: NumPy's, then torch's
    "Api": (
        ("ndarray", "ptr"),
        ("new_array", "ptr"),  # PyArray_NewFromDescr
        ("set_base", "ptr"),  # PyArray_SetBaseObject
        ("array_fields", "i64"),  # where the fields of an array object begin
        ("tensor", "ptr"),
        ("parameter", "ptr"),
        ("describe", "ptr"),  # dltensor_from_py_object_no_sync
        ("wrap", "ptr"),  # managed_tensor_to_py_object_no_sync
        ("is_grad_enabled", "ptr"),
        ("requires_grad", "ptr"),  # the name, a string
        ("version", "ptr"),  # the name of a tensor's version counter, a string
        ("is_neg", "ptr"),
        ("is_conj", "ptr"),
        ("integer", "ptr"),
        ("true", "ptr"),
        ("none", "ptr"),
        ("type_field", "i64"),  # where an object's type is
        ("kept_limit", "i64"),  # bytes of unused blocks to keep at most
        ("room", "ptr"),  # whether there is memory for so many bytes
    ),
    # an input or an output
    "Value": (
        ("pointer", "i32"),  # its place among the program's pointers
        ("dtype", "i32"),  # as DLPack has it
        ("rank", "i32"),
        ("flags", "i32"),  # 1: the program writes to it, 2: complex, 4, 8: see `flags`
        ("elements", "i64"),
        ("bytes", "i64"),
        ("shape", "ptr"),
        ("strides", "ptr"),  # in elements
        ("numpy_dtype", "ptr"),  # null where NumPy has none
        ("bucket", "ptr"),
        ("form", "i32"),  # of an output: see `FORMS_OF_OUTPUTS`; of an input 1 for an integer
        ("item_bytes", "i32"),  # of an element
        ("open", "ptr"),  # for each dimension an `Open`; null where all extents are known
        ("cuts", "ptr"),  # for each dimension the output that is its size, or -1
        # of an output whose memory need not be all of it, for each dimension the pointer to the
        # size at which what is touched ends, or -1; else null
        ("limits", "ptr"),
        ("buckets", "ptr"),  # of such an output, for its bytes, half of them, and so on
        ("bucket_count", "i64"),
        ("steps", "ptr"),  # of an output that is a size and follows from inputs, else null
        ("step_count", "i64"),
    ),
    # a step by which a size follows from inputs, on a stack: see `Formula`
    "Step": (
        ("kind", "i32"),  # one of `STEPS`
        ("unused", "i32"),
        ("value", "i64"),  # the number, or the place of the pointer to it
    ),
    # an extent of an argument that calls tell: `factor` times a size, and `offset`
    "Open": (
        ("size", "i32"),  # its place among those of the program, -1 where the extent is known
        ("touched", "i32"),  # positions that the program may touch; arguments with fewer are padded
        ("factor", "i64"),
        ("offset", "i64"),
    ),
    # a size that calls tell, and which of its values the program is for
    "OpenSize": (
        ("least", "i64"),
        ("most", "i64"),
        ("start", "i64"),  # it is this and a multiple of `step`
        ("step", "i64"),
        ("pointer", "i32"),  # its place among the program's pointers, or -1
        ("term_count", "i32"),
        ("terms", "ptr"),  # of a size that follows from others; null if it does not
        ("offset", "i64"),  # beside the terms
    ),
    # a multiple of a size, or of the product of two
    "Term": (
        ("factor", "i64"),
        ("size", "i32"),  # its place among those of the program
        ("other", "i32"),  # that of another one, or -1
    ),
    # programs for different sizes of the same arguments
    "Choice": (
        ("slow", "ptr"),  # takes calls that fit none
        ("programs", "ptr"),
        ("input_count", "i32"),
        ("program_count", "i32"),
    ),
    "Program": (
        ("main", "ptr"),  # the native entry point
        ("slow", "ptr"),  # takes calls that do not fit
        ("failed", "ptr"),  # raises the error of a status
        ("finish", "ptr"),  # nests the results; null if they are given as they are
        ("lock", "ptr"),  # held while the GIL is given up; null keeps the GIL
        ("owner", "ptr"),  # the thread that is in the program, 0 for none; two records may share it
        ("nested", "ptr"),  # takes calls that a kernel of the program makes
        ("pointers", "ptr"),  # those of inputs and outputs are filled in by each call
        ("inputs", "ptr"),
        ("outputs", "ptr"),
        ("copies", "ptr"),  # after the run
        ("ranges", "ptr"),  # memory that must not be shared; none if nothing is written
        ("boxed", "ptr"),  # the place of each input in a list of arguments
        ("watched", "ptr"),  # arguments in that list that the program was prepared for
        ("hits", "ptr"),  # how many calls have found them unchanged
        ("broken", "ptr"),  # raises the error of a check, by the output that it is
        ("short", "ptr"),  # raises the error of an output for which there is no memory
        ("untouched", "ptr"),  # bytes of scratch memory that no run has touched so far
        ("open", "ptr"),  # sizes that calls tell
        ("calls", "ptr"),  # how many there were; null where nobody counts
        ("brief", "i64"),  # runs with sizes up to there keep the GIL if nobody is in the program
        ("layout", "ptr"),  # for each entry of the result the number of an output, or -1 for None
        ("pointer_count", "i32"),
        ("input_count", "i32"),
        ("output_count", "i32"),
        ("copy_count", "i32"),
        ("range_count", "i32"),
        ("watched_count", "i32"),
        ("boxed_count", "i32"),  # length of the list of arguments
        ("result_count", "i32"),
        ("open_count", "i32"),
        ("form", "i32"),  # 0: the only result itself, 1: a tuple, 2: a list
        ("native_kind", "i32"),  # without inputs: 0 gives NumPy arrays, 1 tensors
        ("guarded", "i32"),  # 1: the caller knows that no input is lazily negated or conjugated
        ("brief_at", "i32"),  # the pointer to the size that `brief` is of; -1 if it is of none
        ("derives", "i32"),  # 1 where an output is a size that follows from inputs
    ),
    # see `watched.Watched`
    "Watched": (
        ("place", "i32"),
        ("flags", "i32"),  # 1: only the identity counts, 2: there is a sample
        ("identity", "ptr"),
        ("version", "i64"),
        ("data", "ptr"),
        ("sample", "ptr"),
        ("word", "i64"),  # what the sample was
    ),
    # what the teams of one function have taken: see parallel.ll.in
    "Site": (
        ("function", "ptr"),
        ("serial", "i64"),  # nanoseconds on one thread; 0 is unknown
        ("until", "i64"),  # until when one thread goes on alone
        ("patience", "i64"),  # how many times as long as was lost, in parts of 64
        ("alone", "i64"),  # 1 where one thread is the usual kind of run, 0 where teams are
        ("left", "i64"),  # runs of the usual kind before the other is probed; below 1 it is
        ("runs", "i64"),  # how many such runs there are at a time
        ("usual", "i64"),  # nanoseconds of the usual kind; 0 is unknown
        ("probed", "i64"),  # least nanoseconds of the other kind while it is probed
        (
            "lost",
            "i64",
        ),  # nanoseconds that the probes at hand took more than runs of the usual kind
    ),
    # the new value of a mutated input, carried back after the run
    "Copy": (("target", "i32"), ("source", "i32"), ("bytes", "i64")),
    # memory of an argument, and where it is in a call; `written` is 1 or 0
    "Range": (("pointer", "i32"), ("unused", "i32"), ("bytes", "i64"), ("written", "i64")),
    "Span": (("start", "i64"), ("end", "i64"), ("written", "i64")),
    # memory of one size that outputs gave back; slots are exchanged atomically, since deleters run
    # on any thread and without the GIL
    "Bucket": (
        ("bytes", "i64"),  # of a block, with its header and what stands before it
        ("alignment", "i64"),
        ("count", "i64"),  # slots in use
        ("lead", "i64"),  # bytes of a block before its header
        ("slots", f"[{SLOTS} x ptr]"),
    ),
}

COUNTERS = ("lamina_kept_bytes", "lamina_block_bytes", "lamina_blocks_made")
"""Bytes of unused blocks, bytes of all blocks, and how many were made since the start."""

ENTRIES = (
    "lamina_call",
    "lamina_call_boxed",
    "lamina_call_one_of",
    "lamina_complete",
    "lamina_poll",
    "lamina_parallel",
    "lamina_forget",
    "lamina_fork",
    "lamina_most_threads",
    "lamina_api",
    *COUNTERS,
)

_SOURCES = (
    "memory.ll.in",
    "arguments.ll.in",
    "overlap.ll.in",
    "open_sizes.ll.in",
    "derived_sizes.ll.in",
    "watched.ll.in",
    "call.ll.in",
    "interrupt.ll.in",
    "parallel.ll.in",
)
_FIELD = re.compile(
    r"^  (?:(?P<name>%[\w.]+) = (?P<verb>get|at)|set) (?P<field>\w+(?:\.\w+)+) (?P<base>[%@][\w.]+)"
    r"(?:, (?P<value>\S+))?"
)
_MAY_NAME = re.compile(r" (?:get|at|set) ")


def structure(name: str) -> type[ctypes.Structure]:
    """A record as a ctypes structure; pointers are addresses."""
    return _structure(name)


@cache
def _structure(name: str) -> type[ctypes.Structure]:
    fields = [(field, _ctype(kind)) for field, kind in RECORDS[name]]
    return type(name, (ctypes.Structure,), {"_fields_": fields})


def _ctype(kind: str) -> type:
    plain = {"ptr": ctypes.c_void_p, "i32": ctypes.c_int32, "i64": ctypes.c_int64}
    if kind in plain:
        return plain[kind]
    return structure(kind) if kind in RECORDS else ctypes.c_void_p * SLOTS


def native_source() -> str:
    """The native call code as LLVM IR."""
    parts = [f"%{name} = type {{ {_llvm_fields(row)} }}" for name, row in RECORDS.items()]
    for name, kind in FUNCTIONS.items():
        result, arguments = kind.split(" ", 1)
        parts.append(f"declare {result} @{name}{arguments}")
    parts.append("@lamina_api = global %Api zeroinitializer")
    parts += [f"@{name} = global i64 0" for name in COUNTERS]
    for source in _SOURCES:
        text = files(__name__.rpartition(".")[0]).joinpath(source).read_text()
        for name, value in _NUMBERS.items():
            text = text.replace(f"${name}", str(value))
        parts += [_expand(line) for line in text.splitlines()]
    return "\n".join(parts) + "\n"


def _llvm_fields(row: Fields) -> str:
    return ", ".join(f"%{kind}" if kind in RECORDS else kind for _, kind in row)


def _expand(line: str) -> str:
    """The LLVM IR of a line of a source file, which may name a field."""
    match = _FIELD.match(line) if _MAY_NAME.search(line) else None
    if match is None:
        return line
    record, *path = match["field"].split(".")
    steps, kind = "", record
    for field in path:
        names = [name for name, _ in RECORDS[kind]]
        steps += f", i32 {names.index(field)}"
        kind = RECORDS[kind][names.index(field)][1]
    name = match["name"]
    address = name if match["verb"] == "at" else f"{name}.field" if name else _unique(match)
    lines = [f"  {address} = getelementptr %{record}, ptr {match['base']}, i32 0{steps}"]
    if match["verb"] == "get":
        lines.append(f"  {name} = load {kind}, ptr {address}")
    elif name is None:
        lines.append(f"  store {kind} {match['value']}, ptr {address}")
    return "\n".join(lines)


def _unique(match: re.Match[str]) -> str:
    return f"%{match['field']}.set"
