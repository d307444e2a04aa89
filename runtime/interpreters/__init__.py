"""Reference interpreters: any program, at any layer, over NumPy. `run_module` is the entry."""

from lamina.runtime.interpreters.run import run_module

__all__ = ["run_module"]
