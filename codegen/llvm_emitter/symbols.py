"""Names of functions in object files.

A function of a program may have any name, also that of a function of C which code calls (`fmod`,
`memset`), and characters that LLVM does not take as they are.
"""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[A-Za-z_][\w.]*", re.ASCII)
_RESERVED = re.compile(r"__|llvm\.|lamina[._]|function\.|GOMP_|omp_")
"""How names begin that LLVM, OpenMP and Lamina have for themselves."""

LIBC_SYMBOLS = ("memcpy", "memset", "memmove", "fmaf", "fma", "sched_yield")
"""What LLVM calls on its own account on any CPU, and what waiting threads call."""

_MATH = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 exp10 "
    "expm1 fabs fdim floor fma fmax fmaximum fmin fminimum fmod frexp ldexp lgamma log log10 log1p "
    "log2 modf nearbyint pow remainder rint round roundeven sin sincos sinh sqrt tan tanh tgamma "
    "trunc"
)
_CALLED = frozenset([*LIBC_SYMBOLS, "abort", "bcmp", "memcmp"]) | {
    name + ending for name in _MATH.split() for ending in ("", "f")
}
"""Functions of C of which LLVM makes calls, those of `_MATH` on CPUs that have no instruction."""

_SPECIAL = re.compile(rb"[^A-Za-z0-9_.]")


def escaped(name: str) -> str:
    """The name, with `$` and two digits for each byte that a symbol cannot have as it is."""
    return _SPECIAL.sub(lambda found: b"$%02x" % found[0][0], name.encode()).decode()


def function_symbol(name: str) -> str:
    """The symbol of a kernel, or of another function that stays inside of its program."""
    if _PLAIN.fullmatch(name) and name not in _CALLED and not _RESERVED.match(name):
        return name
    return f"function.{escaped(name)}"
