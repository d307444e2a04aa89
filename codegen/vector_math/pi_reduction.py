"""x modulo pi/2 for huge x: exact integer arithmetic on the bits of 2/pi (Payne and Hanek)."""

from functools import cache

from lamina.codegen.vector_math.builder import MathBuilder, Value

_NAME = "lamina.reduce_pi"
_WORDS = 24
#: Arguments are hardly ever huge: what LLVM saves on this code, every program with a sine saves.
_RARE = "noinline optnone nounwind"

_DECLARATIONS = {
    "llvm.ctlz.i64": "declare i64 @llvm.ctlz.i64(i64, i1)",
    "llvm.fma.f64": "declare double @llvm.fma.f64(double, double, double)",
    "llvm.fshl.i64": "declare i64 @llvm.fshl.i64(i64, i64, i64)",
}

#: pi / 2 as two doubles.
_HIGH, _LOW = "0x3FF921FB54442D18", "0x3C91A62633145C07"


@cache
def _two_over_pi() -> list[int]:
    """A word of zeros and then the first bits of 2/pi, 64 to a word.

    pi by Machin's formula, 16 atan(1/5) - 4 atan(1/239), in integers.
    """
    bits = 64 * _WORDS + 64

    def arctangent_of_inverse(n: int) -> int:
        power = total = (1 << bits) // n
        for k in range(1, bits):
            power //= n * n
            if not power:
                break
            term = power // (2 * k + 1)
            total += -term if k % 2 else term
        return total

    pi = 16 * arctangent_of_inverse(5) - 4 * arctangent_of_inverse(239)
    number = (2 << (64 * (_WORDS - 1) + bits)) // pi
    words = [(number >> (64 * i)) & (2**64 - 1) for i in reversed(range(_WORDS - 1))]
    return [0, *words]


def _text() -> str:
    """`{r, r_low, q} reduce_pi(x)`: |x| at least 2, x = (q + 4 k) pi/2 + r.

    x = m 2^e. Of 2/pi only 192 bits matter: those before give multiples of 4 with m 2^e, those
    after are beyond the precision. The product modulo 2^192 is q in two bits, and a fraction; its
    first word is not 0, as no double is nearer to a multiple of pi/2 than 2^-61.
    """
    words = ", ".join(f"i64 {word - 2**64 if word >= 2**63 else word}" for word in _two_over_pi())
    return f"""@{_NAME}.table = internal constant [{_WORDS} x i64] [{words}]

define internal {{ double, double, double }} @{_NAME}(double %x) {_RARE} {{
  %bits = bitcast double %x to i64
  %shifted = lshr i64 %bits, 52
  %biased = and i64 %shifted, 2047
  %fraction = and i64 %bits, 4503599627370495
  %m = or i64 %fraction, 4503599627370496
  %position = sub i64 %biased, 1013
  %word = lshr i64 %position, 6
  %bit = and i64 %position, 63
  %p0 = getelementptr i64, ptr @{_NAME}.table, i64 %word
  %p1 = getelementptr i64, ptr %p0, i64 1
  %p2 = getelementptr i64, ptr %p0, i64 2
  %p3 = getelementptr i64, ptr %p0, i64 3
  %w0 = load i64, ptr %p0
  %w1 = load i64, ptr %p1
  %w2 = load i64, ptr %p2
  %w3 = load i64, ptr %p3
  %a0 = call i64 @llvm.fshl.i64(i64 %w0, i64 %w1, i64 %bit)
  %a1 = call i64 @llvm.fshl.i64(i64 %w1, i64 %w2, i64 %bit)
  %a2 = call i64 @llvm.fshl.i64(i64 %w2, i64 %w3, i64 %bit)
  %wide_m = zext i64 %m to i128
  %wide1 = zext i64 %a1 to i128
  %wide2 = zext i64 %a2 to i128
  %product2 = mul i128 %wide2, %wide_m
  %carry2 = lshr i128 %product2, 64
  %times1 = mul i128 %wide1, %wide_m
  %product1 = add i128 %times1, %carry2
  %carry1 = lshr i128 %product1, 64
  %more0 = trunc i128 %carry1 to i64
  %times0 = mul i64 %a0, %m
  %b0 = add i64 %times0, %more0
  %b1 = trunc i128 %product1 to i64
  %b2 = trunc i128 %product2 to i64
  %q2 = lshr i64 %b0, 62
  %s0 = call i64 @llvm.fshl.i64(i64 %b0, i64 %b1, i64 2)
  %s1 = call i64 @llvm.fshl.i64(i64 %b1, i64 %b2, i64 2)
  %s2 = shl i64 %b2, 2
  %below = icmp slt i64 %s0, 0
  %up = zext i1 %below to i64
  %q = add i64 %q2, %up
  %rest2 = icmp ne i64 %s2, 0
  %borrow2 = zext i1 %rest2 to i64
  %s12 = or i64 %s1, %s2
  %rest1 = icmp ne i64 %s12, 0
  %borrow1 = zext i1 %rest1 to i64
  %n2 = sub i64 0, %s2
  %minus1 = sub i64 0, %s1
  %n1 = sub i64 %minus1, %borrow2
  %minus0 = sub i64 0, %s0
  %n0 = sub i64 %minus0, %borrow1
  %f0 = select i1 %below, i64 %n0, i64 %s0
  %f1 = select i1 %below, i64 %n1, i64 %s1
  %f2 = select i1 %below, i64 %n2, i64 %s2
  %zeros = call i64 @llvm.ctlz.i64(i64 %f0, i1 false)
  %first = call i64 @llvm.fshl.i64(i64 %f0, i64 %f1, i64 %zeros)
  %second = call i64 @llvm.fshl.i64(i64 %f1, i64 %f2, i64 %zeros)
  %high_bits = lshr i64 %first, 11
  %rest = and i64 %first, 2047
  %rest_up = shl i64 %rest, 42
  %second_down = lshr i64 %second, 22
  %low_bits = or i64 %rest_up, %second_down
  %high_float = uitofp i64 %high_bits to double
  %low_float = uitofp i64 %low_bits to double
  %exponent = sub i64 970, %zeros
  %scale_bits = shl i64 %exponent, 52
  %scale = bitcast i64 %scale_bits to double
  %low_exponent = sub i64 917, %zeros
  %low_scale_bits = shl i64 %low_exponent, 52
  %low_scale = bitcast i64 %low_scale_bits to double
  %high = fmul double %high_float, %scale
  %low = fmul double %low_float, %low_scale
  %r = fmul double %high, {_HIGH}
  %minus_r = fneg double %r
  %error = call double @llvm.fma.f64(double %high, double {_HIGH}, double %minus_r)
  %cross = fmul double %low, {_HIGH}
  %cross2 = fmul double %high, {_LOW}
  %sum = fadd double %cross, %cross2
  %r_low = fadd double %sum, %error
  %x_below = icmp slt i64 %bits, 0
  %flip = xor i1 %below, %x_below
  %n = fneg double %r
  %n_low = fneg double %r_low
  %out = select i1 %flip, double %n, double %r
  %out_low = select i1 %flip, double %n_low, double %r_low
  %minus_q = sub i64 0, %q
  %out_q = select i1 %x_below, i64 %minus_q, i64 %q
  %q_float = sitofp i64 %out_q to double
  %t0 = insertvalue {{ double, double, double }} poison, double %out, 0
  %t1 = insertvalue {{ double, double, double }} %t0, double %out_low, 1
  %t2 = insertvalue {{ double, double, double }} %t1, double %q_float, 2
  ret {{ double, double, double }} %t2
}}"""


def _vector_text(vector: str, lanes: int) -> str:
    """`reduce_pi` of each lane: a loop, because huge arguments are rare and code is not free."""
    triple, vectors = "{ double, double, double }", f"{{ {vector}, {vector}, {vector} }}"
    places = [f"  %m{k} = alloca {vector}, align 64" for k in range(4)]
    stores = [
        line
        for k in range(3)
        for line in (
            f"  %v{k} = extractvalue {triple} %found, {k}",
            f"  %p{k} = getelementptr double, ptr %m{k}, i64 %lane",
            f"  store double %v{k}, ptr %p{k}",
        )
    ]
    made = [
        line
        for k, before in enumerate(("poison", "%t0", "%t1"))
        for line in (
            f"  %w{k} = load {vector}, ptr %m{k}, align 64",
            f"  %t{k} = insertvalue {vectors} {before}, {vector} %w{k}, {k}",
        )
    ]
    return "\n".join(
        [
            f"define internal {vectors} @{_NAME}.{lanes}({vector} %x) {_RARE} {{",
            "entry:",
            *places,
            f"  store {vector} %x, ptr %m3, align 64",
            "  br label %each",
            "each:",
            "  %lane = phi i64 [ 0, %entry ], [ %next, %each ]",
            "  %place = getelementptr double, ptr %m3, i64 %lane",
            "  %one = load double, ptr %place",
            f"  %found = call {triple} @{_NAME}(double %one)",
            *stores,
            "  %next = add i64 %lane, 1",
            f"  %more = icmp ult i64 %next, {lanes}",
            "  br i1 %more, label %each, label %done",
            "done:",
            *made,
            f"  ret {vectors} %t2",
            "}",
        ]
    )


def reduce_lanes(
    b: MathBuilder, x: Value, far: Value, usual: tuple[Value, Value, Value]
) -> list[Value]:
    """(q, r, r_low) of every lane where `far` holds; `usual` elsewhere."""
    b.shared.helpers.setdefault(_NAME, _text())
    for name, text in _DECLARATIONS.items():
        b.shared.declarations.setdefault(name, text)
    safe = b.select(far, x, 2.0**30)
    name = _NAME
    if b.count:
        name = f"{_NAME}.{b.count}"
        b.shared.helpers.setdefault(name, _vector_text(b.type, b.count))
    triple = f"{{ {b.type}, {b.type}, {b.type} }}"
    found = b.emit(triple, f"call {triple} @{name}({b.type} {safe.text})")
    r, low, q = (b.emit(b.type, f"extractvalue {triple} {found.text}, {i}") for i in range(3))
    return [b.select(far, a, u) for a, u in zip((q, r, low), usual, strict=True)]
