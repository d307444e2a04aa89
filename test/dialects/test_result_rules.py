"""Result rules against torch: every ATen and prims call that sample programs make, as programs
write it and as torch takes it apart."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

import pytest
import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._subclasses.schema_check_mode import SchemaCheckMode
from torch.utils._python_dispatch import TorchDispatchMode
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, f32, f64, i1, i64
from xdsl.ir import Attribute

from lamina.dialects.aten import Aten
from lamina.dialects.prims import Prims
from lamina.dialects.schema.grammar import NO_DEFAULT, Schema
from lamina.dialects.schema.promotion import DTYPES, c128
from lamina.dialects.schema.result_rules import PRIMS_RULES, RULES, find_rule

WITHOUT_RULE = {
    "aten.linalg_lstsq.default": "which results are empty depends on the rank found",
    "aten.tensor_split.tensor_indices_or_sections": "the number of results is data",
}
"""So has everything that is about sparse tensors, which Lamina does not have."""

NEEDS_SIZES = re.compile(
    r"aten\.(unsafe_)?(chunk|[dhv]?split|tensor_split|unbind|squeeze)(_copy)?_?\."
    r"|aten\.(corrcoef|cov|_?linalg_solve(_ex)?|batch_norm)\."
)
"""Where the number of results or of their dims follows from sizes."""

LENGTH_IS_DATA = re.compile(
    r"aten\.(argwhere|bincount|_ctc_loss|_?embedding_bag|masked_select|nonzero|one_hot|_?unique)"
)
"""Where a size of a result follows from data, and is unknown whatever is known of operands."""

DTYPE_OF = {getattr(torch, name): dtype for name, dtype in DTYPES.items()}


def type_of(value: torch.Tensor) -> TensorType:
    return TensorType(DTYPE_OF[value.dtype], list(value.shape))


def constant_of(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return type_of(value)
    if isinstance(value, torch.dtype):
        return DTYPE_OF[value]
    if isinstance(value, list | tuple):
        return [constant_of(entry) for entry in value]
    if isinstance(value, torch.layout | torch.device | torch.memory_format | torch.Generator):
        return str(value)
    return value


def bound(schema: Schema, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments as a rule gets them."""
    given = {a.name: v for a, v in zip(schema.args, args, strict=False)} | kwargs
    found: dict[str, Any] = {}
    for arg in schema.args:
        value = constant_of(given.get(arg.name, arg.default))
        assert value is not NO_DEFAULT, f"{schema.overload_name} misses {arg.name}"
        single = value is not None and arg.type.is_list and not isinstance(value, list)
        found[arg.name] = [value] * (arg.type.size or 1) if single else value
    return found


NUMBERS: dict[type, Attribute] = {bool: i1, int: i64, float: f64, complex: c128}


def types_of(results: Any) -> list[Attribute | None]:
    """Types of all results; None for a gradient that was not asked for."""
    if results is None:
        return []
    if isinstance(results, list | tuple):
        return [t for entry in results for t in ([None] if entry is None else types_of(entry))]
    if isinstance(results, torch.Tensor):
        return [type_of(results)]
    return [NUMBERS[type(results)]]


class Innermost(TorchDispatchMode):
    """Shows the log the calls that reach torch's kernels."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self.log = log

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.log.call(func, args, kwargs or {})


class Outermost(Innermost, SchemaCheckMode):
    """The calls a program makes, before torch takes them apart: only few kinds of mode, of which
    SchemaCheckMode is one, may stand there."""

    def __init__(self, log: Log) -> None:
        TorchDispatchMode.__init__(self, _dispatch_key=torch._C.DispatchKey.PreDispatch)
        self.log = log


class Log:
    """What was seen: overloads checked, those without a rule, and disagreements."""

    def __init__(self) -> None:
        self.checked: dict[str, int] = {}
        self.missing: set[str] = set()
        self.last: dict[str, Said] = {}
        self.wrong: dict[str, str] = {}
        self.wrong_without_sizes: dict[str, str] = {}

    def call(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Run an overload, and compare its rule (asked before, since operands may change)."""
        dialect = {"aten": Aten, "prims": Prims}.get(func.namespace)
        name = f"{func._schema.name.partition('::')[2]}.{func._overloadname}"
        name = name.removesuffix(".default") if dialect is Prims else name
        if dialect is None or name not in dialect.rows:
            return func(*args, **kwargs)
        schema, full = dialect.schema(name), f"{dialect.name}.{name}"
        rule = find_rule(dialect.name, name, schema.tags)
        if rule is None:
            self.missing.add(full)
            return func(*args, **kwargs)
        given = bound(schema, args, kwargs)
        said, said_without = answer(rule, given), answer(rule, without_sizes(given))
        self.last[full] = said
        results = func(*args, **kwargs)
        wanted = types_of(results)
        self.checked[full] = self.checked.get(full, 0) + 1
        vague = "?" in show(said) and not LENGTH_IS_DATA.match(full)
        if vague or (not all_agree(said, wanted) and not scalar_operand_of_primitive(full, given)):
            self.wrong[full] = describe(full, given, said, wanted)
        if not all_agree(said_without, wanted) and not NEEDS_SIZES.match(full):
            self.wrong_without_sizes[full] = describe(full, given, said_without, wanted)
        return results


Said = list[Attribute] | Exception


def answer(rule: Callable[[dict[str, Any]], list[Attribute]], given: dict[str, Any]) -> Said:
    try:
        return rule(given)
    except Exception as error:
        return error


def agrees(said: Attribute, wanted: Attribute | None) -> bool:
    if not isinstance(said, TensorType) or not isinstance(wanted, TensorType):
        return wanted is None or said == wanted
    pairs = zip(said.get_shape(), wanted.get_shape(), strict=False)
    same_rank = said.get_num_dims() == wanted.get_num_dims()
    same_kind = said.element_type == wanted.element_type
    return same_kind and same_rank and all(a in (b, DYNAMIC_INDEX) for a, b in pairs)


def all_agree(said: Said, wanted: list[Attribute | None]) -> bool:
    return isinstance(said, list) and len(said) == len(wanted) and all(map(agrees, said, wanted))


def without_sizes(value: Any) -> Any:
    """Every dim of every tensor made unknown."""
    if isinstance(value, TensorType):
        return TensorType(value.element_type, [DYNAMIC_INDEX] * value.get_num_dims())
    if isinstance(value, list):
        return [without_sizes(entry) for entry in value]
    if isinstance(value, dict):
        return {name: without_sizes(entry) for name, entry in value.items()}
    return value


def scalar_operand_of_primitive(full: str, given: dict[str, Any]) -> bool:
    """Torch's primitives take 0-d tensors beside others; ours want equal shapes."""
    ranks = {v.get_num_dims() for v in given.values() if isinstance(v, TensorType)}
    return full.startswith("prims.") and 0 in ranks and len(ranks) > 1


def describe(full: str, given: dict[str, Any], said: Said, wanted: Any) -> str:
    shown = ", ".join(f"{name}={show(value)}" for name, value in given.items())
    return f"{full}({shown})\n    torch: {show(wanted)}\n    rule: {show(said)}"


def show(value: Any) -> str:
    return f"[{', '.join(map(show, value))}]" if isinstance(value, list) else str(value)


def run(log: Log, programs: Iterable[Callable[[], Any]]) -> None:
    with warnings.catch_warnings(), enable_python_dispatcher(), Outermost(log), Innermost(log):
        warnings.simplefilter("ignore")
        for program in programs:
            program()


def samples_of(entries: Iterable[Any], dtype: torch.dtype, number: int) -> Iterable[Any]:
    for entry in entries:
        if dtype not in entry.supported_dtypes("cpu") or entry.name.startswith("jiterator"):
            continue
        for sample in islice(entry.sample_inputs("cpu", dtype), number):
            yield lambda e=entry, s=sample: e.op(s.input, *s.args, **s.kwargs)


def calls_of_samples() -> Log:
    from torch.testing._internal.common_methods_invocations import op_db, python_ref_db

    references = [entry for entry in python_ref_db if "geometric" not in entry.name]
    samples = [
        *samples_of(op_db, torch.float32, 3),
        *samples_of(op_db, torch.int64, 1),
        *samples_of(references, torch.float32, 1),
    ]
    log = Log()
    run(log, samples)
    return log


@pytest.fixture(scope="module")
def log() -> Log:
    """In a thread of its own, whose stack is short: torch looks through it for each sample."""
    pytest.importorskip("expecttest", reason="torch's own test data needs it")
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(calls_of_samples).result()


def test_rules_agree_with_torch(log: Log) -> None:
    assert not log.wrong, "\n".join(log.wrong.values())


def test_rules_without_sizes_agree_with_torch(log: Log) -> None:
    assert not log.wrong_without_sizes, "\n".join(log.wrong_without_sizes.values())


def test_every_call_has_a_rule(log: Log) -> None:
    assert [n for n in log.missing if "sparse" not in n and n not in WITHOUT_RULE] == []


def test_many_overloads_were_seen(log: Log) -> None:
    """Guards the tests above: they would agree on nothing seen."""
    assert sum(name.startswith("aten.") for name in log.checked) > 600
    assert sum(name.startswith("prims.") for name in log.checked) > 95


def x(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.ones(shape, dtype=dtype)


def n(*shape: int) -> torch.Tensor:
    return x(*shape, dtype=torch.int64)


F = torch.nn.functional
OPS = torch.ops.aten
VARIANTS: dict[str, Callable[[], Any]] = {
    "aten.add_.Tensor": lambda: x(2, 3).add_(x(3), alpha=2),
    "aten.transpose_.default": lambda: x(2, 3).transpose_(0, 1),
    "aten.squeeze_.dim": lambda: x(2, 1).squeeze_(1),
    "aten.masked_fill_.Scalar": lambda: x(2, 3).masked_fill_(n(3) > 0, 1.0),
    "aten.scatter_add_.default": lambda: x(3).scatter_add_(0, n(2), x(2)),
    "aten.index_put_.default": lambda: x(3, 2).index_put_([n(2)], x(2)),
    "aten.bernoulli_.float": lambda: x(2).bernoulli_(0.5),
    "aten.__iand__.Scalar": lambda: n(2).__iand__(1),
    "aten.add.out": lambda: torch.add(x(2, 3), x(3), out=x(2, 3, dtype=torch.float64)),
    "aten.mm.out": lambda: torch.mm(x(2, 3), x(3, 4), out=x(0)),
    "aten.max.dim_max": lambda: torch.max(x(2, 3), 1, out=(x(2), n(2))),
    "aten.arange.start_out": lambda: torch.arange(0, 5, out=x(0)),
    "aten.cat.out": lambda: torch.cat([x(2), x(3)], out=x(0)),
    "aten.view_copy.default": lambda: torch.view_copy(x(2, 3), [6]),
    "aten._foreach_exp.default": lambda: OPS._foreach_exp([x(2), x(3)]),
    "aten._foreach_mul.List": lambda: OPS._foreach_mul([x(), x(2).int()], [x(2, 3), x(3, 2)]),
    "aten._foreach_div.ScalarList": lambda: OPS._foreach_div([x(2), x(3).int()], [1, 2]),
    "aten._foreach_add_.Scalar": lambda: OPS._foreach_add_([x(2), x(3)], 1),
    "aten._foreach_norm.Scalar": lambda: OPS._foreach_norm([x(2), x(3)]),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_variants_follow_the_functional_overload(name: str) -> None:
    log = Log()
    run(log, [VARIANTS[name]])
    assert name in log.checked
    assert not log.wrong, "\n".join(log.wrong.values())


BACKWARD: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = (
    lambda v: F.gelu(v),
    lambda v: F.layer_norm(v, [8], x(8), x(8)),
    lambda v: F.group_norm(v, 2, x(4), x(4)),
    lambda v: F.batch_norm(v, None, None, x(4), x(4), training=True),
    lambda v: F.conv2d(v, x(6, 4, 3, 3).requires_grad_(), x(6)),
    lambda v: F.max_pool2d(v, 2),
    lambda v: torch.softmax(v, 1),
    lambda v: v[:, 1:, ::2].select(1, 0),
    lambda v: F.embedding(n(2), v[0, 0]),
)


@pytest.mark.parametrize("place", range(len(BACKWARD)))
def test_backward_overloads(place: int) -> None:
    log = Log()
    value = x(2, 4, 8, 8).requires_grad_()
    run(log, [lambda: BACKWARD[place](value).sum().backward()])
    assert any("backward" in name for name in log.checked)
    assert not log.wrong, "\n".join(log.wrong.values())


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "add.Tensor": (lambda: x(2, 3) + x(4), r"shapes \[2, 3\] and \[4\] do not broadcast"),
    "sub.Tensor": (lambda: (n(2) > 0) - (n(2) > 0), "not defined for bool"),
    "bitwise_not.default": (lambda: torch.bitwise_not(x(2)), "needs bool or integers, not f32"),
    "mm.default": (lambda: torch.mm(x(2, 3), x(4, 5)), "inner sizes differ: 3 and 4"),
    "linear.default": (lambda: F.linear(x(2, 3), x(5, 4)), "inner sizes differ"),
    "view.default": (lambda: x(2, 3).view(4), "6 elements"),
    "permute.default": (lambda: x(2, 3).permute(0, 0), "names a dim twice"),
    "expand.default": (lambda: x(2, 3).expand(4, 3), "does not expand"),
    "select.int": (lambda: x(2).select(0, 5), "index 5 is out of range"),
    "split_with_sizes.default": (lambda: OPS.split_with_sizes(x(4), [1, 2]), "do not add up"),
    "cat.default": (lambda: torch.cat([x(2, 3), x(2, 4)]), "sizes of dim 1 differ"),
    "mean.default": (lambda: n(2).mean(), "not defined; give a float dtype"),
    "amax.default": (lambda: x(0).amax(), "no elements"),
    "layer_norm.default": (lambda: F.layer_norm(x(2, 3), [4]), "is not the end of"),
    "embedding.default": (lambda: F.embedding(x(2), x(3, 4)), "must hold integers"),
    "gather.default": (lambda: x(2, 3).gather(1, n(2)), "must have the rank"),
    "index.Tensor": (lambda: x(2, 3)[n(2), n(3)], "do not broadcast"),
    "conv2d.default": (lambda: F.conv2d(x(1, 3, 8, 8), x(4, 2, 3, 3)), "has 3 channels"),
    "max_pool2d.default": (lambda: F.max_pool2d(x(1, 1, 2, 2), 3), "does not fit"),
    "arange.start": (lambda: torch.arange(3, 0), "no way from 3 to 0"),
    "add_.Tensor": (lambda: x(3).add_(x(2, 3)), "does not fit into"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_rules_refuse_what_torch_refuses(name: str) -> None:
    program, message = REFUSED[name]
    log = Log()
    with pytest.raises((RuntimeError, IndexError, ValueError, TypeError)):
        run(log, [program])
    said = log.last[f"aten.{name}"]
    assert isinstance(said, ValueError)
    assert re.search(message, str(said))


def test_the_tables_have_the_overloads_with_rules() -> None:
    ours = {"shift_right_logical", "slice"}
    assert RULES.keys() <= set(Aten.names)
    assert PRIMS_RULES.keys() - ours <= set(Prims.names)
    declared = {"extern"}  # its results are what the program says
    assert set(Prims.names) - declared <= PRIMS_RULES.keys()


def t(*shape: int, dtype: Attribute = f32) -> TensorType:
    return TensorType(dtype, shape)


SQUARES = [[3, 3], [2, 2], [1, 1], [1, 1]]
EXTENSIONS: dict[str, tuple[list[Any], TensorType]] = {
    "contract": ([t(2, 3, 4), t(5, 2, 4), [0], [1], [2], [2]], t(2, 3, 5)),
    "convolution": ([t(1, 4, 9), t(6, 2, 3), [2], [1], [1], 2], t(1, 6, 5)),
    "reduce_window": ([t(2, 7, 7), "max", *SQUARES, False], t(2, 4, 4)),
    "take": ([t(10, 4), t(2, 3, dtype=i64), 0], t(2, 3, 4)),
    "gather": ([t(10, 4), t(2, 4, dtype=i64), 0], t(2, 4)),
    "pad": ([t(2, 3), 0.0, [1, 0], [0, -1]], t(3, 2)),
    "argmax": ([t(2, 3), [1]], t(2, dtype=i64)),
    "argmin": ([t(2, 3), [0, 1]], t(dtype=i64)),
    "scan": ([t(2, 3), "add", 1], t(2, 3)),
}


@pytest.mark.parametrize("name", EXTENSIONS)
def test_own_primitives(name: str) -> None:
    args, wanted = EXTENSIONS[name]
    rule = find_rule("prims", name, frozenset())
    assert rule is not None
    names = [arg.name for arg in Prims.schema(name).args]
    assert rule(dict(zip(names, args, strict=True))) == [wanted]


def test_primitives_do_not_broadcast_or_promote() -> None:
    rule = find_rule("prims", "add", frozenset())
    assert rule is not None
    with pytest.raises(ValueError, match="shapes must be equal"):
        rule({"self": t(2, 3), "other": t(3)})
    with pytest.raises(ValueError, match="element types must be equal"):
        rule({"self": t(2), "other": t(2, dtype=i64)})
