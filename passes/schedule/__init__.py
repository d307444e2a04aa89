"""How kernels become explicit loops: one module for each part of a schedule."""
