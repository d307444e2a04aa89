"""Changes to the text of a program that leave it nearly right."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"|[%@^#!][\w$.-]+|[A-Za-z_][\w$.]*(?:<[^<>\n]*(?:<[^<>\n]*>[^<>\n]*)*>)?'
    r"|-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|->|::|\s+|."
)
"""A string, a name with its sign, a word with its parameters, a number, a mark, or white space."""

NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d*(?:[eE][-+]?\d+)?)?(?![\w.])|(?<=[<x])\d+(?=x)")
ELEMENT = re.compile(r"(?<![A-Za-z_%@])(?:[su]?i\d+|b?f\d+|index|complex<f\d+>)\b>?")
OP_NAME = re.compile(
    r"\b(?:aten|core_aten|prims|loop|control|arith|math|scf|vector|memref|func|cf)"
    r"\.[\w.]+"
)
TYPE = re.compile(r"\b(?:tensor|memref|vector)<[^<>\n]*(?:<[^<>\n]*>[^<>\n]*)*>")
VALUE = re.compile(r"%[\w$.-]+")
WORD = re.compile(r"(?<=[ (\[<{])(?!bb)[A-Za-z_]\w*(?=[ )\]>,}])")


def _pieces() -> dict[str, tuple[str, ...]]:
    """The lines of each section of `pieces.txt`."""
    sections = Path(__file__).with_name("pieces.txt").read_text().split("## ")[1:]
    return {name: tuple(lines) for name, *lines in (part.split("\n") for part in sections)}


PIECES = {name: tuple(filter(None, lines)) for name, lines in _pieces().items()}
"""What a mutation may put into a text, by kind."""

Mutation = Callable[[str, Random], str]


def _tokens(text: str) -> list[str]:
    return TOKEN.findall(text) or [""]


def _place(tokens: Sequence[str], random: Random) -> int:
    """Where a token stands that is no white space."""
    places = [i for i, token in enumerate(tokens) if not token.isspace()]
    return random.choice(places) if places else 0


def delete_tokens(text: str, random: Random) -> str:
    """Without up to three tokens in a row."""
    tokens = _tokens(text)
    start = _place(tokens, random)
    del tokens[start : start + random.choice((1, 1, 2, 3))]
    return "".join(tokens)


def repeat_token(text: str, random: Random) -> str:
    """A token twice."""
    tokens = _tokens(text)
    place = _place(tokens, random)
    tokens.insert(place, tokens[place] + random.choice((" ", "", ", ")))
    return "".join(tokens)


def swap_tokens(text: str, random: Random) -> str:
    """Two tokens in each other's place."""
    tokens = _tokens(text)
    one, other = _place(tokens, random), _place(tokens, random)
    tokens[one], tokens[other] = tokens[other], tokens[one]
    return "".join(tokens)


def copy_token(text: str, random: Random) -> str:
    """A token in the place of another."""
    tokens = _tokens(text)
    tokens[_place(tokens, random)] = tokens[_place(tokens, random)]
    return "".join(tokens)


def _lines_changed(text: str, random: Random) -> str:
    lines = text.split("\n")
    one, other = random.randrange(len(lines)), random.randrange(len(lines))
    kind = random.randrange(3)
    if kind == 0:
        del lines[one]
    elif kind == 1:
        lines.insert(other, lines[one])
    else:
        lines[one], lines[other] = lines[other], lines[one]
    return "\n".join(lines)


def _replacer(pattern: re.Pattern[str], candidates: Sequence[str], everywhere: float) -> Mutation:
    """Replaces one match by a candidate or by another match; sometimes every equal one."""

    def mutate(text: str, random: Random) -> str:
        found = list(pattern.finditer(text))
        if not found:
            return text
        old = random.choice(found)
        own = random.random() < 0.4 or not candidates
        new = random.choice(found)[0] if own else random.choice(candidates)
        if random.random() >= everywhere:
            return text[: old.start()] + new + text[old.end() :]
        return pattern.sub(lambda match: new if match[0] == old[0] else match[0], text)

    return mutate


def _groups(text: str, opening: str, closing: str) -> list[tuple[int, int]]:
    stack: list[int] = []
    found: list[tuple[int, int]] = []
    for place, character in enumerate(text):
        if character == opening:
            stack.append(place)
        elif character == closing and stack:
            found.append((stack.pop(), place + 1))
    return found


def edit_group(text: str, random: Random) -> str:
    """A region, list or parameter list emptied, deleted, repeated or put in another's place."""
    opening, closing = random.choice(("{}", "{}", "()", "[]", "<>"))
    groups = _groups(text, opening, closing)
    if not groups:
        return text
    start, stop = random.choice(groups)
    first, last = random.choice(groups)
    piece = text[start:stop]
    new = random.choice(
        ("", opening + closing, f"{piece}, {piece}", f"{piece} {piece}", text[first:last])
    )
    return text[:start] + new + text[stop:]


def add_attribute(text: str, random: Random) -> str:
    """An attribute more in some dictionary, or a dictionary where there was none."""
    attribute = random.choice(PIECES["attributes"])
    places = [match.end() for match in re.finditer(r"\{(?=[\w\"])", text)]
    if places and random.random() < 0.6:
        place = random.choice(places)
        return f"{text[:place]}{attribute}, {text[place:]}"
    places = [match.start() for match in re.finditer(r" :|\)(?=\n| )|$", text, re.MULTILINE)]
    place = random.choice(places) if places else 0
    return f"{text[:place]} {{{attribute}}}{text[place:]}"


def change_constant(text: str, random: Random) -> str:
    """The value of some attribute is another constant."""
    places = list(re.finditer(r"= ([^%,{}\n]+?)(?=[,}\n)])", text))
    places += list(re.finditer(r"arith\.constant (.+)", text))
    places += list(re.finditer(r"pad ([^:]+ : \w+)", text))
    if not places:
        return text
    place = random.choice(places)
    return text[: place.start(1)] + random.choice(PIECES["constants"]) + text[place.end(1) :]


def insert_block(text: str, random: Random) -> str:
    """A label of a block somewhere between lines."""
    lines = text.split("\n")
    label = random.choice(("^bb1:", "^bb0(%q: f32):", "^bb9(%q: tensor<4xf32>, %r: index):"))
    lines.insert(random.randrange(len(lines) + 1), label)
    return "\n".join(lines)


def cut(text: str, random: Random) -> str:
    """The text up to some place."""
    return text[: random.randrange(len(text) + 1)]


MUTATIONS: tuple[tuple[int, Mutation], ...] = (
    (4, delete_tokens),
    (3, repeat_token),
    (4, swap_tokens),
    (4, copy_token),
    (3, _lines_changed),
    (10, _replacer(NUMBER, PIECES["numbers"], 0.5)),
    (10, _replacer(ELEMENT, PIECES["elements"], 0.6)),
    (6, _replacer(TYPE, PIECES["types"], 0.5)),
    (6, _replacer(OP_NAME, (), 0.2)),
    (8, _replacer(VALUE, (), 0.1)),
    (3, _replacer(WORD, (), 0.2)),
    (5, edit_group),
    (4, add_attribute),
    (5, change_constant),
    (2, insert_block),
    (1, cut),
)
"""How often, and what."""


def other_op(names: Sequence[str]) -> Mutation:
    """The name of an op becomes one of `names`, most often of its own dialect."""

    def mutate(text: str, random: Random) -> str:
        found = list(OP_NAME.finditer(text))
        if not found:
            return text
        old = random.choice(found)
        own = [n for n in names if n.partition(".")[0] == old[0].partition(".")[0]]
        new = random.choice(own if own and random.random() < 0.8 else names)
        return text[: old.start()] + new + text[old.end() :]

    return mutate


def mutated(text: str, random: Random, op_names: Sequence[str]) -> str:
    """The text after one to three mutations."""
    kinds = [mutation for _, mutation in MUTATIONS] + [other_op(op_names)]
    weights = [weight for weight, _ in MUTATIONS] + [8]
    for mutation in random.choices(kinds, weights, k=random.choice((1, 1, 1, 2, 2, 3))):
        text = mutation(text, random)
    return text
