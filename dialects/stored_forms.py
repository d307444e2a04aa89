"""Forms in which MLIR keeps programs in files, not read here: what prints them as text."""

from __future__ import annotations

from lamina.dialects.errors import InputError

BYTECODE = b"ML\xefR"
"""How files of MLIR's bytecode begin."""


def refuse_bytecode(data: bytes, name: str) -> None:
    """Raises InputError for MLIR's bytecode, in which StableHLO's portable artifacts are."""
    if data.startswith(BYTECODE):
        raise InputError(
            f"{name}: error: MLIR's bytecode ({_producer(data)}), where text is read: "
            "stablehlo-translate --deserialize FILE prints a portable artifact of StableHLO, "
            "mlir-opt FILE other programs"
        )


def _producer(data: bytes) -> str:
    """What wrote a file of bytecode, as it says behind the number of the form."""
    begin = len(BYTECODE) + 1
    end = data.find(b"\0", begin)
    said = data[begin:end] if end >= 0 else b""
    return said.decode("ascii", "replace") or "of an unknown producer"


def hint_of_op(name: str) -> str:
    """What is added to the message that an op is not known, where its dialect is such a form."""
    if not name.startswith("vhlo."):
        return ""
    return (
        ": a form of StableHLO that is kept in files; "
        "stablehlo-opt --vhlo-legalize-to-stablehlo FILE prints what is read here"
    )
