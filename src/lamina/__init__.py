"""Lamina: a multi-dialect ML compiler; the public API."""

__version__ = "0.1.0"
