"""Source locations of graph nodes, from the stack traces that torch.export records."""

import os
import re

import torch
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, StringAttr, UnknownLoc

_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
_TORCH_FOLDER = os.path.dirname(torch.__file__) + os.sep
_NOT_THE_USERS = (_TORCH_FOLDER, "<eval_with_key>")
"""Torch's own code, and graphs that it ran as code."""

_UNKNOWN = UnknownLoc()


class Locations:
    """Turns stack traces into locations, each distinct trace and each distinct line once."""

    def __init__(self) -> None:
        self._by_trace: dict[str, LocationAttr] = {}
        self._by_line: dict[tuple[str, str], LocationAttr] = {}

    def of_trace(self, trace: str | None) -> LocationAttr:
        """The innermost frame outside torch's own folder, which is the line the user wrote.

        When all frames are torch's, the innermost one; without a trace the location is unknown.
        torch records no columns, so the column is 0, which stands for unknown.
        """
        if not trace:
            return _UNKNOWN
        found = self._by_trace.get(trace)
        if found is None:
            found = self._by_trace[trace] = self._parse(trace)
        return found

    def _parse(self, trace: str) -> LocationAttr:
        frames = _FRAME.findall(trace)
        if not frames:
            return _UNKNOWN
        own = [frame for frame in frames if not frame[0].startswith(_NOT_THE_USERS)]
        line = (own or frames)[-1]
        found = self._by_line.get(line)
        if found is None:
            place = StringAttr(line[0]), IntAttr(int(line[1])), IntAttr(0)
            found = self._by_line[line] = FileLineColLoc(*place)
        return found
