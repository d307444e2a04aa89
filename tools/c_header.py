"""The C header of an object program: one function with typed arguments, and its memory."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from lamina.passes.contracts.entry_attributes import CONSTANT_KINDS
from lamina.runtime.ahead_of_time import ObjectProgram
from lamina.runtime.buffers import ALIGNMENT, rounded
from lamina.runtime.entry import Entry, Slot

C_TYPES = {
    "bf16": "uint16_t",
    "f16": "uint16_t",
    "f32": "float",
    "f64": "double",
    "i1": "bool",
    "complex<f32>": "float",
    "complex<f64>": "double",
    **{f"i{bits}": f"int{bits}_t" for bits in (8, 16, 32, 64)},
    **{f"ui{bits}": f"uint{bits}_t" for bits in (8, 16, 32, 64)},
}
"""What C calls an element: the bits of half floats, each of the two parts of complex numbers."""

_KEYWORDS = frozenset(
    re.findall(
        r"\w+",
        "auto bool break case catch char class const continue default delete do double else enum "
        "extern false float for friend goto if inline int long namespace new operator private "
        "protected public register restrict return short signed sizeof static struct switch "
        "template this throw true try typedef typename union unsigned using virtual void volatile "
        "while memory arguments status",
    )
)
"""Words of C and C++, and names that the functions of a header have already."""


_PLACED = (*CONSTANT_KINDS, "prepared", "arena", "mutation")
"""Kinds of slots that lie in blocks of memory, see `Memory`."""


def c_names(slots: Sequence[Slot]) -> dict[str, str]:
    """A name of C for each slot, all different."""
    taken = set(_KEYWORDS)
    found: dict[str, str] = {}
    for slot in slots:
        name = re.sub(r"\W", "_", slot.name, flags=re.ASCII)
        name = name if re.match(r"[A-Za-z]", name) else f"a_{name}"
        while name in taken:
            name += "_"
        taken.add(name)
        found[slot.name] = name
    return found


class Memory:
    """Where slots without an argument of their own lie: their places in blocks of memory."""

    def __init__(self, program: ObjectProgram) -> None:
        self.places: dict[tuple[str, str], tuple[str, int]] = {}
        self.sizes = {"workspace": 0, "prepared": 0}
        for name, at in program.places.items():
            self.places["main", name] = self.places["setup", name] = ("weights", at)
        for slot in program.main.slots:
            if slot.kind == "prepared":
                place = ("prepared", self._take("prepared", slot))
                self.places["main", slot.name] = self.places["setup", slot.name] = place
        for entry, slots in (("main", program.main), ("setup", program.setup or Entry(()))):
            end = self.sizes["workspace"]
            self.sizes["workspace"] = 0
            for slot in slots.slots:
                if slot.kind in ("arena", "mutation"):
                    self.places[entry, slot.name] = ("workspace", self._take("workspace", slot))
                elif (entry, slot.name) not in self.places and slot.kind == "prepared":
                    place = ("prepared", self._take("prepared", slot))
                    self.places[entry, slot.name] = place
            self.sizes["workspace"] = max(self.sizes["workspace"], end)

    def _take(self, block: str, slot: Slot) -> int:
        begin = self.sizes[block]
        self.sizes[block] = begin + rounded(slot.size, ALIGNMENT)
        return begin


def parameters(program: ObjectProgram) -> list[tuple[str, str, Slot]]:
    """The arguments of the C function but its memory: declaration, what it is, and the slot."""
    names = c_names(program.main.slots)
    written = {slot.target for slot in program.main.slots if slot.kind == "mutation"}
    found: list[tuple[str, str, Slot]] = []
    for kinds in (("input",), ("output", "size"), ("seed",)):
        for slot in program.main.slots:
            if slot.kind not in kinds:
                continue
            constant = "" if slot.kind != "input" or slot.name in written else "const "
            said = "seed and counter" if slot.kind == "seed" else slot.type_text
            said += ", written" if slot.kind == "input" and slot.name in written else ""
            found.append((f"{constant}{C_TYPES[slot.dtype]} *{names[slot.name]}", said, slot))
    return found


def header(program: ObjectProgram, version: str) -> str:
    """The text of the header."""
    prefix, memory = program.prefix, Memory(program)
    upper = prefix.upper()
    machine = program.target
    link = f"{prefix}.o{' with -fopenmp' if program.needs_openmp else ''}"
    weights = 0 if program.embeds else len(program.weights)
    lines = [
        f"/* {prefix}: made by Lamina {version} for {machine.triple}, {machine.cpu}.",
        f"   Link {link}. Tensors are row-major and do not overlap. A result of 0 is",
        f"   success; {prefix}_message tells what others mean. */",
        f"#ifndef {upper}_H",
        f"#define {upper}_H",
        "#include <stdbool.h>",
        "#include <stdint.h>",
        "#include <string.h>",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        f"#define {upper}_WEIGHTS_BYTES {weights}",
        f"#define {upper}_PREPARED_BYTES {memory.sizes['prepared']}",
        f"#define {upper}_WORKSPACE_BYTES {memory.sizes['workspace']}",
        "",
        f"/* Memory of so many bytes, at multiples of {ALIGNMENT}; null where 0 are needed. */",
        f"struct {prefix}_memory {{",
        f"  const void *weights; /* what {prefix}.weights holds */",
        f"  void *prepared;      /* filled by {prefix}_prepare, then only read */",
        "  void *workspace;     /* of one call at a time */",
        "};",
        "",
        f"int32_t {prefix}_main(void **arguments);",
    ]
    if program.setup is not None:
        lines.append(f"int32_t {prefix}_setup(void **arguments);")
    if program.embeds:
        lines.append(f"extern const unsigned char {prefix}_weights[];")
    if any(slot.kind == "poll" for slot in program.main.slots):
        lines.append(f"static inline int32_t {prefix}_poll(void) {{ return 0; }}")
    lines += ["", *_prepare(program, memory)]
    lines += ["", *_call(program, memory), "", *_message(program)]
    lines += ["", "#ifdef __cplusplus", "}", "#endif", "#endif"]
    return "\n".join(lines) + "\n"


def _prepare(program: ObjectProgram, memory: Memory) -> Iterator[str]:
    prefix = program.prefix
    yield "/* Prepares constants: to be called once, before the others. */"
    yield f"static inline int32_t {prefix}_prepare(const struct {prefix}_memory *memory) {{"
    yield "  (void)memory;"
    if program.setup is None:
        yield "  return 0;"
    else:
        yield from _array(program, memory, "setup", program.setup, {})
        yield f"  return {prefix}_setup(arguments);"
    yield "}"


def _call(program: ObjectProgram, memory: Memory) -> Iterator[str]:
    names = c_names(program.main.slots)
    taken = [(f"{text},", said) for text, said, _ in parameters(program)]
    width = max((len(text) for text, _ in taken), default=0)
    yield f"static inline int32_t {program.prefix}("
    for text, said in taken:
        yield f"    {text.ljust(width)} /* {said} */"
    yield f"    const struct {program.prefix}_memory *memory) {{"
    yield "  (void)memory;"
    checks = [slot for slot in program.main.slots if slot.kind == "check"]
    for slot in checks:
        yield f"  bool {names[slot.name]} = false;"
    yield from _array(program, memory, "main", program.main, names)
    yield f"  int32_t status = {program.prefix}_main(arguments);"
    for number, slot in enumerate(checks, len(program.messages) + 1):
        yield f"  if (status == 0 && !{names[slot.name]}) status = {number};"
    for slot in program.main.slots:
        if slot.kind == "mutation" and slot.size:
            source = _place(program, memory, "main", slot)
            target = names[slot.target or ""]
            yield f"  if (status == 0) memcpy({target}, {source}, {slot.size});"
    yield "  return status;"
    yield "}"


def _array(
    program: ObjectProgram, memory: Memory, label: str, entry: Entry, names: Mapping[str, str]
) -> Iterator[str]:
    yield f"  void *arguments[{max(len(entry.slots), 1)}] = {{"
    for slot in entry.slots:
        yield f"      {_pointer(program, memory, label, slot, names)},"
    yield "      0};" if not entry.slots else "  };"


def _pointer(
    program: ObjectProgram, memory: Memory, label: str, slot: Slot, names: Mapping[str, str]
) -> str:
    if slot.kind == "poll":
        return f"(void *)(uintptr_t)&{program.prefix}_poll"
    if slot.kind == "check":
        return f"(void *)&{names[slot.name]}"
    if slot.kind in _PLACED:
        return _place(program, memory, label, slot)
    return f"(void *){names[slot.name]}"


def _place(program: ObjectProgram, memory: Memory, label: str, slot: Slot) -> str:
    block, at = memory.places[label, slot.name]
    if not slot.size:
        return "0"
    embedded = block == "weights" and program.embeds
    base = f"{program.prefix}_weights" if embedded else f"memory->{block}"
    return f"(void *)((char *){base} + {at})"


def all_messages(program: ObjectProgram) -> list[str]:
    """What each status from 1 on means."""
    checks = [slot for slot in program.main.slots if slot.kind == "check"]
    return [*program.messages, *(slot.target or "an assertion failed" for slot in checks)]


def _message(program: ObjectProgram) -> Iterator[str]:
    yield "/* What a result of the functions above means. */"
    yield f"static inline const char *{program.prefix}_message(int32_t status) {{"
    yield "  switch (status) {"
    yield '    case 0: return "success";'
    for number, message in enumerate(all_messages(program), 1):
        yield f"    case {number}: return {_quoted(message)};"
    yield '    default: return "unknown status";'
    yield "  }"
    yield "}"


def _quoted(text: str) -> str:
    """A string of C; what is not plain ASCII as octal escapes of UTF-8."""
    plain = "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\?' else f"\\{byte:03o}"
        for byte in text.encode()
    )
    return f'"{plain}"'
