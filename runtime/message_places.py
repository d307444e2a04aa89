"""Places in the messages of a program that comes from the disk cache.

Programs that differ in nothing but the lines they were read from share code. What fails in one of
them must name its own line: on disk a message has the number of the place, which the program at
hand then has the words for.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from lamina.dialects.places import place_of
from lamina.dialects.records import record
from lamina.runtime.executable import ProgramMetadata

_NUMBERED = re.compile(r"\{place (\d+)\}: ")


@record
class MessagePlaces:
    """The places of a program's ops, each once, in the order of the program."""

    texts: tuple[str, ...]
    pattern: str
    """Which ops share a place: programs where others do are not the same."""

    @classmethod
    def of(cls, module: ModuleOp) -> MessagePlaces:
        """The places in a module as it comes in."""
        numbers: dict[str, int] = {}
        pattern = [numbers.setdefault(place_of(op) or "", len(numbers)) for op in module.walk()]
        return cls(tuple(numbers), " ".join(map(str, pattern)))

    def numbered(self, metadata: ProgramMetadata) -> ProgramMetadata:
        """The metadata with numbers for places in front of messages."""
        numbers = {text: number for number, text in enumerate(self.texts) if text}

        def number(message: str) -> str:
            found = max((t for t in numbers if message.startswith(f"{t}: ")), key=len, default="")
            return f"{{place {numbers[found]}}}{message[len(found) :]}" if found else message

        return _with_messages(metadata, number)

    def placed(self, metadata: ProgramMetadata) -> ProgramMetadata:
        """The inverse of `numbered`; IndexError for a number that the program does not have."""

        def place(message: str) -> str:
            found = _NUMBERED.match(message)
            return f"{self.texts[int(found[1])]}: {message[found.end() :]}" if found else message

        return _with_messages(metadata, place)


def _with_messages(metadata: ProgramMetadata, change: Callable[[str], str]) -> ProgramMetadata:
    def changed(slot: Any) -> Any:
        is_check = slot.get("kind") == "check" and slot.get("target")
        return {**slot, "target": change(slot["target"])} if is_check else slot

    return replace(
        metadata,
        messages=tuple(map(change, metadata.messages)),
        arguments={entry: list(map(changed, slots)) for entry, slots in metadata.arguments.items()},
    )
