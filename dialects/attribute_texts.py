"""Attributes as text, printed once each: those of IR are mostly shared, and slow to print."""

from __future__ import annotations

from xdsl.ir import Attribute

from lamina.dialects.identity_cache import once_an_object


@once_an_object
def text_of(attribute: Attribute) -> str:
    """`str(attribute)`."""
    return str(attribute)
