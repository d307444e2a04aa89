"""The table of importers: which function imports an op of ONNX, by domain, name and version."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from lamina.dialects.records import record
from lamina.frontends.onnx.values import Held

if TYPE_CHECKING:
    from lamina.frontends.onnx.node import Node

Result = Held | Sequence[Held | None]
Importer = Callable[["Node"], Result]

OLDEST_OPSET = 7
"""Broadcasting as it is today began with opset 7."""
NEWEST_OPSET = 28
"""The importers were written against ops up to this opset."""


@record
class Row:
    """An importer and the versions of the op (the opsets where it last changed) that it is for."""

    run: Importer
    first: int = 1
    last: int = NEWEST_OPSET


IMPORTERS: dict[tuple[str, str], list[Row]] = {}
"""By domain ("" is ONNX's own) and name of the op."""


def imports(
    *names: str, first: int = 1, last: int = NEWEST_OPSET, domain: str = ""
) -> Callable[[Importer], Importer]:
    """Registers the importer of some ops, in the versions `first` to `last`."""

    def register(run: Importer) -> Importer:
        for name in names:
            IMPORTERS.setdefault((domain, name), []).append(Row(run, first, last))
        return run

    return register


def find_importer(domain: str, name: str, version: int) -> Importer | None:
    """The importer of a version of an op, if there is one."""
    for row in IMPORTERS.get((domain, name), ()):
        if row.first <= version <= row.last:
            return row.run
    return None
