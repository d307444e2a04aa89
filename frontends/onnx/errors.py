"""Refusals of ONNX models."""

from __future__ import annotations

from collections.abc import Sequence

from lamina.dialects.errors import UnsupportedError


class ValuesNeededError(UnsupportedError):
    """Sizes of the program depend on what is in some inputs; `inputs` are their names."""

    def __init__(self, op: str, reason: str, inputs: Sequence[str], location: str) -> None:
        self.inputs = tuple(inputs)
        given = ", ".join(f"{name!r}: array" for name in inputs)
        super().__init__(
            op,
            reason,
            location=location,
            nearest=f"bind them when compiling: constants={{{given}}}" if inputs else None,
        )
