"""How the operands of a contraction lie in memory: in panels, in pairs, or packed by its tasks.

    loop.generic ... attributes {lamina.packing = #loop.packing<panel = 32, pack_at = call>}

A note says what stands in the buffers, so that a nest which is wrong about it would read other
elements: the verifier compares it with the operand's shape and index map (`nest_attributes`).
"""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.irdl import irdl_attr_definition
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.loop.clauses import NUMBER, ORDINAL, WORD, Clauses, ClausesAttr, clause
from lamina.dialects.records import record

PACKING = "lamina.packing"
"""Attribute of a contraction whose operands are packed, a `#loop.packing`."""


@record
class Packing(Clauses):
    """How a product reads its operands."""

    attribute_name = "loop.packing"

    panel: int | None = clause(
        NUMBER,
        "Columns of a panel, a power of 2 or three times one. The column operand lies in such "
        "panels, or in runs of neighbouring elements with room for a whole last panel. Half floats "
        "are widened where they are multiplied by f32.",
    )
    pack_at: str | None = clause(
        WORD,
        "When panels are made that are not prepared for good: in every `call`; or by each `task`, "
        "which reads columns as they stand, and widens half floats.",
        ("call", "task"),
    )
    pairs: int | None = clause(
        ORDINAL,
        "Of a product of bf16 in matrix tiles: the read that is packed in pairs of summed "
        "elements. The other one has these side by side.",
    )

    def verify(self) -> None:
        """Raises VerifyException for what no product reads."""
        super().verify()
        where = f"#{self.attribute_name}"
        if self.panel is None or _odd_part(self.panel) not in (1, 3):
            said = "is left out" if self.panel is None else f"= {self.panel}"
            legal = "a width, a power of 2 or three times one"
            raise VerifyException(f"{where}: panel {said}; it is {legal}")
        if self.pairs not in (None, 0, 1):
            raise VerifyException(f"{where}: pairs = {self.pairs}; a product has reads 0 and 1")
        if self.pairs is not None and self.pack_at == "task":
            raise VerifyException(
                f"{where}: pack_at = task beside pairs; tasks pack these where the columns are "
                "neighbours, without being told"
            )


def _odd_part(number: int) -> int:
    """What is left of a number without its factors of 2."""
    return number // (number & -number) if number else 0


@irdl_attr_definition
class PackingAttr(ClausesAttr[Packing]):
    """How the operands of a product are packed."""

    name = "loop.packing"
    kind = Packing


NOT_PACKED = Packing()
"""What `packing_of` gives for a nest without a note."""


def packing_of(nest: Operation) -> Packing:
    """How a nest reads its operands."""
    found = nest.attributes.get(PACKING)
    if found is None:
        return NOT_PACKED
    return found.data if isinstance(found, PackingAttr) else NOT_PACKED


def is_packed(nest: Operation) -> bool:
    """Whether a nest is a product of packed operands."""
    return PACKING in nest.attributes


def in_matrix_tiles(nest: Operation) -> bool:
    """Whether a nest is a product in matrix tiles."""
    return packing_of(nest).pairs is not None


def is_packed_by_tasks(nest: Operation) -> bool:
    """Whether each task of a product packs the panels that it multiplies."""
    return packing_of(nest).pack_at == "task"


def set_packing(nest: Operation, packing: Packing) -> None:
    """Say how a product reads its operands."""
    nest.attributes[PACKING] = PackingAttr(packing)
