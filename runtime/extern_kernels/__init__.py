"""Kernels that are called, not generated: their registry, and those that Lamina brings."""
