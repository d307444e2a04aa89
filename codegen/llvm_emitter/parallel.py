"""`scf.parallel`: outlined and run through `GOMP_parallel`, in static contiguous chunks.

The iterations are split into as many equal runs as there are threads; what the body uses from
outside travels in a struct on the caller's stack. Inside a parallel region, or without an OpenMP
runtime, the loop is an ordinary one.
"""

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from lamina.codegen.llvm_emitter.control_flow import emit_loop
from lamina.codegen.llvm_emitter.writer import Emitter, FunctionWriter, unsupported

#: C's `void GOMP_parallel(void (*fn)(void *), void *data, unsigned threads, unsigned flags)` and
#: the two questions a thread asks; libgomp, libomp and libiomp5 all have the three.
OPENMP_SYMBOLS = ("GOMP_parallel", "omp_get_num_threads", "omp_get_thread_num")

Bounds = tuple[str, str, str]


def _parallel(w: FunctionWriter, op: scf.ParallelOp) -> None:
    if len(op.lowerBound) != 1 or op.initVals:
        raise unsupported(op, "one dimension and no reductions", "scf.for inside scf.parallel")
    bounds = (w.value(op.lowerBound[0]), w.value(op.upperBound[0]), w.value(op.step[0]))
    block = op.body.block
    if w.in_parallel or w.before_loop:
        emit_loop(w, bounds, block, (), ())
        return
    captured = _captured(w, block)
    body = _outline(w, block, captured)
    if not w.module.options.openmp or _at_most_one(bounds):
        operands = [w.typed(v) for v in captured]
        w.line(f"call void @{body}({_arguments(operands, *bounds)})")
    else:
        _fork(w, body, captured, bounds)


def _at_most_one(bounds: Bounds) -> bool:
    if any(bound.startswith("%") for bound in bounds):
        return False
    lower, upper, step = map(int, bounds)
    return lower + step >= upper


def _captured(w: FunctionWriter, block: Block) -> list[SSAValue]:
    """Registers of the enclosing function that the body reads, in order of first use."""
    found: dict[SSAValue, None] = {}
    for inner in block.walk():
        for operand in inner.operands:
            if w.values.get(operand, "").startswith("%"):
                found[operand] = None
    return list(found)


def _outline(w: FunctionWriter, block: Block, captured: list[SSAValue]) -> str:
    """Writes the body as a function of what it captures, lower, upper and step; gives its name."""
    name = f"{w.name}.region{w.count_region()}"
    inner = FunctionWriter(w.module, name, w.emitters)
    inner.in_parallel = True
    for value, operand in w.values.items():
        if not operand.startswith("%"):
            inner.bind(value, operand)
    parameters: list[str] = []
    for number, value in enumerate(captured):
        inner.bind(value, f"%p{number}")
        parameters.append(f"{w.type(value)}{w.attributes.get(value, '')} %p{number}")
    header = f"define internal void @{name}({_arguments(parameters, '%lower', '%upper', '%step')})"
    emit_loop(inner, ("%lower", "%upper", "%step"), block, (), ())
    w.module.functions.append(inner.text(header))
    return name


def _arguments(operands: list[str], *bounds: str) -> str:
    return ", ".join([*operands, *(f"i64 {bound}" for bound in bounds)])


def _fork(w: FunctionWriter, body: str, captured: list[SSAValue], bounds: Bounds) -> None:
    """Packs the captured registers, and calls `GOMP_parallel` with a function that unpacks them."""
    packed = [(w.type(v), w.value(v)) for v in captured]
    packed += [("i64", bound) for bound in bounds if bound.startswith("%")]
    layout = "{ " + ", ".join(type_ for type_, _ in packed) + " }"
    context = w.fresh("context")
    w.allocas.append(f"  {context} = alloca {layout}")
    for number, (type_, operand) in enumerate(packed):
        slot = w.emit(f"getelementptr inbounds {layout}, ptr {context}, i32 0, i32 {number}")
        w.line(f"store {type_} {operand}, ptr {slot}")
    w.module.declare("GOMP_parallel", "void", "ptr, ptr, i32, i32")
    thread = _thread_function(w, body, layout, packed, len(captured), bounds)
    w.line(f"call void @GOMP_parallel(ptr @{thread}, ptr {context}, i32 0, i32 0)")


def _thread_function(
    w: FunctionWriter,
    body: str,
    layout: str,
    packed: list[tuple[str, str]],
    captured: int,
    bounds: Bounds,
) -> str:
    """Writes what each thread runs: finds its share of the iterations, calls the body."""
    name = f"{body}.thread"
    t = FunctionWriter(w.module, name, w.emitters)
    unpacked: list[tuple[str, str]] = []
    for number, (type_, _) in enumerate(packed):
        slot = t.emit(f"getelementptr inbounds {layout}, ptr %context, i32 0, i32 {number}")
        unpacked.append((type_, t.emit(f"load {type_}, ptr {slot}")))
    dynamic = iter(unpacked[captured:])
    lower, upper, step = (next(dynamic)[1] if b.startswith("%") else b for b in bounds)
    first, last = _share(t, lower, upper, step)
    operands = [f"{type_} {operand}" for type_, operand in unpacked[:captured]]
    t.line(f"call void @{body}({_arguments(operands, first, last, step)})")
    w.module.functions.append(t.text(f"define internal void @{name}(ptr %context)"))
    return name


def _share(t: FunctionWriter, lower: str, upper: str, step: str) -> tuple[str, str]:
    """This thread's [first, last) of lower..upper: shares differ by at most one iteration."""
    t.module.declare("omp_get_thread_num", "i32", "")
    t.module.declare("omp_get_num_threads", "i32", "")
    me = t.emit(f"zext i32 {t.call('omp_get_thread_num', 'i32', '')} to i64")
    threads = t.emit(f"zext i32 {t.call('omp_get_num_threads', 'i32', '')} to i64")
    span = t.emit(f"sub nsw i64 {upper}, {lower}")
    span = t.intrinsic("smax", "i64", [span, "0"])
    rounded = t.emit(f"add i64 {span}, {step}")
    rounded = t.emit(f"sub i64 {rounded}, 1")
    count = t.emit(f"udiv i64 {rounded}, {step}")
    each = t.emit(f"udiv i64 {count}, {threads}")
    rest = t.emit(f"urem i64 {count}, {threads}")
    before = t.emit(f"mul i64 {me}, {each}")
    extra = t.intrinsic("umin", "i64", [me, rest])
    begin = t.emit(f"add i64 {before}, {extra}")
    more = t.emit(f"zext i1 {t.emit(f'icmp ult i64 {me}, {rest}')} to i64")
    end = t.emit(f"add i64 {begin}, {t.emit(f'add i64 {each}, {more}')}")
    first = t.emit(f"add i64 {lower}, {t.emit(f'mul i64 {begin}, {step}')}")
    last = t.emit(f"add i64 {lower}, {t.emit(f'mul i64 {end}, {step}')}")
    return first, t.intrinsic("smin", "i64", [last, upper])


EMITTERS: dict[type[Operation], Emitter] = {
    scf.ParallelOp: _parallel,
}
