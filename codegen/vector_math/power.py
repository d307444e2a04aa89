"""rsqrt, cbrt, pow."""

from lamina.codegen.vector_math.builder import MathBuilder, Value


def rsqrt(b: MathBuilder, x: Value) -> Value:
    """1 / sqrt(x): the CPU's 14-bit estimate and Newton's step, where it has one."""
    name = _estimate_name(b)
    if name is None:
        return 1.0 / b.sqrt(x)
    mask = f"i{max(8, b.count)}"
    zero = b.const(0.0)
    y = b.call(name, b.type, [x, zero], f", {mask} -1")
    for _ in range(1 if b.single else 2):
        error = b.fma(-(x * y), y, 1.0)
        better = b.fma(y * 0.5, error, y)
        # 0 and inf meet their inverse in `error`: the estimate is already right there.
        y = b.select(error.is_nan(), y, better)
    return y


def _estimate_name(b: MathBuilder) -> str | None:
    width = b.count * b.bits
    if not b.target.has("avx512f") or not b.target.has("avx512vl"):
        return None
    return (
        f"llvm.x86.avx512.rsqrt14.p{'s' if b.single else 'd'}.{width}"
        if (width in (128, 256, 512))
        else None
    )
