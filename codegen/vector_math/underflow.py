"""Where what underflows is put, so that no subnormal number is made on the way to 0."""

from lamina.codegen.vector_math.builder import MathBuilder


def vanishing(b: MathBuilder) -> float:
    """An n for which `MathBuilder.scale` gives 0 at its usual speed.

    Processors of Intel take 150 cycles for each vector in which a result is subnormal, or is
    rounded to 0 from there. A factor of 0, as two halves of n make it, rounds nothing; nor does
    the instruction for so small an n.
    """
    if b.scaling_instruction() is not None:
        return b.pick(-1024.0, -8192.0)
    return b.pick(-254.0, -2046.0)
