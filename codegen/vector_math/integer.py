"""Integer functions."""

from lamina.codegen.vector_math.builder import Value
from lamina.codegen.vector_math.special_builder import SpecialBuilder, State


def gcd(b: SpecialBuilder, x: Value, y: Value) -> Value:
    """The greatest common divisor of integers without sign; that of 0 and y is y.

    Stein's binary algorithm: only shifts, subtractions and comparisons, which vectors have.
    """
    shift = b.trailing_zeros(b.either(x, y))
    x_odd = b.shift_down(x, b.trailing_zeros(x))
    usable = b.both(b.icmp("ne", x, 0), b.icmp("ne", y, 0))

    def step(state: State) -> tuple[State, Value]:
        a, rest = state
        rest = b.shift_down(rest, b.trailing_zeros(rest))
        swap = b.icmp("ugt", a, rest)
        small, large = b.select(swap, rest, a), b.select(swap, a, rest)
        rest = b.sub(large, small)
        return [small, rest], b.icmp("ne", rest, 0)

    bits = b.integer_bits
    found, _ = b.repeat(2 * bits, [x_odd, y], usable, step)
    return b.select(usable, b.shift_up(found, shift), b.either(x, y))
