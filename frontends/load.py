"""`lamina.load`: programs that `Compiled.save` wrote, which may name custom ops of torch."""

from lamina.frontends import torch_kernels as _torch_kernels  # noqa: F401 - for what it names
from lamina.runtime.load import load

__all__ = ["load"]
