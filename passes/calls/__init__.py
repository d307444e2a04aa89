"""Functions that stay functions: each a program of its own, until all are linked into one."""
