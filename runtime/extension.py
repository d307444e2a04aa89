"""`lamina.extend`: the one place at which others add to the compiler, or replace parts of it.

    cubes = lamina.extend("cubes")
    cubes.ops("cubes::cube(Tensor self) -> Tensor")

    @cubes.result_rule("cubes.cube")
    def result_types(args): return [args["self"]]

    @cubes.lowers("cubes.cube", to="loop")
    def lower(op, b): ...

    with cubes:  # or cubes.activate(), for the whole process
        lamina.compile(program)

The tools take the file by `--load FILE.py`; an entry point of the group `lamina.extensions` is
found by all of them and by `lamina.compile` as well. docs/embedding.md has each of these run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from xdsl.ir import Dialect
from xdsl.passes import ModulePass

from lamina.codegen.target import Target
from lamina.dialects import extension_tables as tables
from lamina.dialects.errors import InputError
from lamina.dialects.extension_entries import (
    EDGES,
    OWN_DIALECTS,
    SCHEMA_DIALECTS,
    Entries,
    Entry,
    Table,
    caller,
)
from lamina.dialects.schema.dialect import TableDialect
from lamina.dialects.schema.tables import schema_of, table_rows

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

Decorator = Callable[[F], F]

_NAME = re.compile(r"[^\W\d][\w.-]*")


class Extension(Entries):
    """What one author adds to the compiler; it does nothing until it is active.

    As a context manager it is active in its block, in the thread that runs it (scopes nest, and the
    innermost is asked first); between `activate` and `deactivate` in all threads. Programs keep the
    code that they were compiled to.

    `version` is the author's word for which code the extension makes: with it, code of programs
    that it touches is kept in the disk cache, under a key of name, version and files; without,
    such programs are compiled anew in each process. `dialects` are xDSL's, for ops that are
    written as classes; `passes` are classes of passes, found by their names in pipelines;
    `targets` are machines by the names that `target=` takes.

    What is there already, of Lamina or of an extension around this one, is replaced with
    `override=True` only. Every method raises InputError, naming the extension, its file and line,
    for a name that is no name of that kind, or that this extension has given something already.

        mine = lamina.extend("mine", version="1")
        mine.ops("mine::double(Tensor x) -> Tensor")
        with mine:
            compiled = lamina.compile(text)
    """

    def __init__(
        self,
        name: str,
        *,
        version: str | None = None,
        dialects: Iterable[Dialect] = (),
        passes: Iterable[type[ModulePass]] = (),
        targets: Mapping[str, Target] | None = None,
        override: bool = False,
    ) -> None:
        super().__init__(str(name), version, caller())
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InputError(f"lamina.extend({name!r}): a name is letters, digits, '.', '-', '_'")
        for dialect in dialects:
            self._checked("dialect", str(dialect), dialect, Dialect)
            if dialect.name in OWN_DIALECTS:
                raise self._error(f"dialect '{dialect.name}' is Lamina's; ops() adds ops to it")
            self.add("dialect", dialect.name, _giving(dialect), override=override)
        for kind in passes:
            is_pass = isinstance(kind, type) and issubclass(kind, ModulePass)
            self._checked("pass", str(kind), kind if is_pass else None, type)
            self.add("pass", kind.name, _giving(kind), override=override)
        for target_name, target in (targets or {}).items():
            self._checked("target", target_name, target, Target)
            self.add("target", target_name, target, override=override)

    def _checked(self, table: Table, name: str, value: Any, kind: type) -> None:
        if not isinstance(value, kind):
            raise self._error(f"the {table} '{name}' is no {kind.__name__}")

    def _error(self, said: str) -> InputError:
        return Entry(None, self.name, caller()).error(said)

    def __repr__(self) -> str:
        return f"<extension '{self.name}' of {self.place}, {len(self.entries)} entries>"

    # What it adds

    def ops(self, *schemas: str) -> None:
        """Ops in torch's schema grammar, `cubes::cube(Tensor self, int n=1) -> Tensor`.

        `schemas` are one text each. They are ops of the dialect that the schema names, a new one or
        `aten`, `core_aten` or `prims`, with text, verifier and builder like all others; a torch op
        of that namespace and name is imported as this op. An overload without a name is called
        `default`, but in prims.
        """
        for text in schemas:
            name = self._schema_name(text)
            self.add("op", name, text)
            dialect = name.partition(".")[0]
            if dialect not in OWN_DIALECTS and ("dialect", dialect) not in self.entries:
                self.add("dialect", dialect, self._dialect_of_schemas(dialect))

    def _schema_name(self, text: str) -> str:
        try:
            schema = schema_of(text)
        except (ValueError, AttributeError, KeyError, IndexError) as error:
            raise self._error(f"{error}; one is 'name::op(Tensor self) -> Tensor'") from None
        dialect = schema.namespace
        if dialect in OWN_DIALECTS and dialect not in SCHEMA_DIALECTS:
            raise self._error(f"ops of {dialect} are no functions of tensors, '{text}'")
        if schema.mutates or schema.aliases:
            raise self._error(f"'{text}' writes or views; ops of extensions are functions")
        return f"{dialect}.{schema.name if dialect == 'prims' else schema.overload_name}"

    def _dialect_of_schemas(self, dialect: str) -> Callable[[], Dialect]:
        made = TableDialect(
            dialect,
            lambda: table_rows(
                "\n".join(
                    entry.value
                    for (table, name), entry in self.entries.items()
                    if table == "op" and name.startswith(f"{dialect}.")
                ),
                default_suffix=True,
            ),
        )
        return lambda: made

    def result_rule(self, *names: str, override: bool = False) -> Decorator[F]:
        """Decorator: the types of the results of ops that come from schemas.

        The function gets a dict of all arguments by name, tensors as their types, everything else
        as Python constants, and gives a list of types. It refuses operands by a ValueError, whose
        text the verifier shows. A rule of `aten.X` serves `core_aten.X`, too.
        """
        return self._adding("result rule", names, override)

    def lowers(
        self,
        *names: str,
        to: Literal["core_aten", "prims", "loop"] | None = None,
        override: bool = False,
    ) -> Decorator[F]:
        """Decorator: a lowering of ops, by full name, to the layer `to`.

        For ops of Lamina's `to` may be left out: it is the next layer. With one further down, or
        for an op of another dialect, the op stands at all layers above and goes down there.

        The function gets the op and a builder (`Builder`; for loops `LoopBuilder`, whose `generic`,
        `pointwise`, `reduce` make nests), and gives a value, or a sequence of them, for the op's
        results, of the same types; `raise b.refuse(reason)` refuses an op. It may make ops of the
        layer, `loop` ops, and ops that are themselves lowered further down.
        """
        for name in names:
            _, own = _next_layer(name)
            if to is None and own is None:
                raise self._error(f"lowering of '{name}': to= says to which layer it goes")
        if to is not None and to not in EDGES:
            raise self._error(f"lowering to '{to}': layers to lower to are {', '.join(EDGES)}")

        def decorate(function: F) -> F:
            for name in self._op_names("lowering", names, function):
                own = _next_layer(name)[1]
                if own is not None and to is not None and _below(own, to):
                    raise self._error(f"lowering of '{name}' to '{to}', which is not below it")
                self.add("lowering", name, function, override=override, to=to or own or "")
            return function

        return decorate

    def interprets(self, *names: str, override: bool = False) -> Decorator[F]:
        """Decorator: the meaning of ops, by full name, over NumPy.

        The function gets the op and its operands, tensors as arrays (f16 and bf16 as f32, in which
        the op is computed), and gives an array, or a tuple of them, of the shapes of the results.
        An op without one is interpreted as what it is lowered to.
        """
        return self._adding("interpreter", names, override)

    def vector_function(self, name: str, *, override: bool = False) -> Decorator[F]:
        """Decorator: a function of scalars, lane by lane, for bodies of loops:
        `SpecialOp(name, [x])`, in text `loop.special "name"(%x) : f32`.

        It gets a builder (`SpecialBuilder`) and one or two values of f32 or f64, vectors or
        scalars, and gives one of that type, made by Python's operators and the builder's methods.
        Interpreters compute it from the same formula, on arrays.
        """
        from inspect import Parameter, signature

        def decorate(function: F) -> F:
            self._callable("vector function", function)
            kinds = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
            taken = [p for p in signature(function).parameters.values() if p.kind in kinds]
            if len(taken) not in (2, 3):
                raise self._error(f"the vector function '{name}' takes a builder and 1 or 2 values")
            self.add("vector function", name, function, override=override, operands=len(taken) - 1)
            return function

        return decorate

    def extern_kernel(
        self,
        name: str,
        *,
        dtypes: Sequence[str] | None = None,
        layout: Literal["row", "column"] = "row",
        override: bool = False,
    ) -> Decorator[F]:
        """Decorator: a kernel behind `loop.extern`, found while the extension is active: when a
        program is compiled. Function, `dtypes` and `layout` are as `lamina.extern_kernel` says."""
        from lamina.runtime.extern_kernels.registry import made_kernel

        def decorate(function: F) -> F:
            kernel = made_kernel(name, function, dtypes, layout)
            self.add("extern kernel", name, kernel, override=override)
            return function

        return decorate

    def native_kernel(
        self,
        name: str,
        code: object,
        *,
        dtypes: Sequence[str] | None = None,
        override: bool = False,
    ) -> None:
        """C code behind `loop.extern`, found while this is active.

        `code` and `dtypes` are as `lamina.native_kernel` says.
        """
        from lamina.runtime.extern_kernels.registry import made_native_kernel

        kernel = made_native_kernel(name, code, dtypes)
        self.add("extern kernel", name, kernel, override=override)

    def backend(self, name: str, *, override: bool = False) -> Callable[[T], T]:
        """Decorator: a class, of which one object is made, or an object: what `partition` asks.

        `supports(op)` gives True, or the reason why not. `compile(module)` gets a module whose
        `@main` takes and gives tensors, at the layer where the pass stands, and gives a function of
        as many NumPy arrays (read-only) to an array or a tuple, or a `lamina.NativeCode`. It is
        called once for equal modules.
        """
        if not re.fullmatch(r"\w+", str(name)):
            raise self._error(f"'{name}' is no name of a back end: letters, digits and '_'")

        def decorate(given: T) -> T:
            made: Any = given() if isinstance(given, type) else given
            for method in ("supports", "compile"):
                if not callable(getattr(made, method, None)):
                    raise self._error(f"the backend '{name}' has no method {method}()")
            self.add("backend", name, made, override=override)
            return given

        return decorate

    def chooses_schedules(self, name: str, *, override: bool = False) -> Decorator[F]:
        """Decorator: how kernels run that have no schedule yet, before the cost model is asked.

        The function gets a kernel, a `func.FuncOp` of nests on buffers, and the `Target`, and gives
        the text of a schedule, as `Compiled.kernels[i].schedule` is one, or None for kernels that
        it leaves to others. What a text leaves open the compiler chooses.
        """

        def decorate(function: F) -> F:
            self._callable("schedule chooser", function)
            self.add("schedule chooser", name, function, override=override)
            return function

        return decorate

    def imports(self, *names: str, override: bool = False) -> Decorator[F]:
        """Decorator: how calls of torch ops become ops: of a namespace, `mylib`, or of one op,
        `mylib::f`, for which the namespace's is not asked.

        The function gets the overload's name ("f.default"), its arguments by name (tensors as SSA
        values, all else as Python has it), and the types of the results, and gives an op with
        such results, which the importer puts in.
        """
        for name in names:
            if not re.fullmatch(r"\w+(::\w+(\.\w+)?)?", name):
                raise self._error(f"'{name}' is no namespace of torch, nor an op, as 'mylib::f'")

        def decorate(function: F) -> F:
            self._callable("importer", function)
            for name in names:
                self.add("importer", name, function, override=override)
            return function

        return decorate

    def _adding(self, table: Table, names: Sequence[str], override: bool) -> Decorator[F]:
        def decorate(function: F) -> F:
            for name in self._op_names(table, names, function):
                self.add(table, name, function, override=override)
            return function

        return decorate

    def _op_names(self, table: Table, names: Sequence[str], function: object) -> list[str]:
        """The names, if they are of ops."""
        self._callable(table, function)
        if not names:
            raise self._error(f"the {table} needs the name of an op")
        found: list[str] = []
        for name in names:
            dialect, _, rest = str(name).partition(".")
            if not dialect or not rest:
                raise self._error(f"the {table} of '{name}': a name is a dialect and an op")
            found.append(name)
        return found

    def _callable(self, table: Table, function: object) -> None:
        if not callable(function):
            raise self._error(f"the {table} is {function!r}, which cannot be called")

    # When it is active

    def __enter__(self) -> Extension:
        tables.enter(self)
        return self

    def __exit__(self, *_: object) -> None:
        tables.leave(self)

    def activate(self) -> Extension:
        """Has every thread see it, until `deactivate`; gives itself."""
        tables.activate(self)
        return self

    def deactivate(self) -> None:
        """Ends what `activate` began; no error if it did not."""
        tables.deactivate(self)

    def check(self) -> None:
        """Raises InputError for an entry in the place of one of Lamina's, without `override`, and
        for one about an op of Lamina's dialects that does not exist."""
        from lamina.runtime.replaced_entries import missing_op, owner_of

        own = self.names("op")
        for (table, name), entry in self.entries.items():
            if (near := missing_op(table, name, entry, own)) is not None:
                raise entry.error(f"the {table} of '{name}': there is no such op; nearest: {near}")
            if not entry.override and (owner := owner_of(table, name, entry)) is not None:
                tables.refuse_second(entry, table, name, owner)


def _giving(value: T) -> Callable[[], T]:
    return lambda: value


def _next_layer(name: str) -> tuple[str, str | None]:
    """The dialect of an op, and the layer to which Lamina lowers it."""
    dialect = str(name).partition(".")[0]
    below: dict[str, str] = dict(zip(SCHEMA_DIALECTS, EDGES, strict=True))
    return dialect, below.get(dialect)


def _below(own: str, to: str) -> bool:
    return list(EDGES).index(to) < list(EDGES).index(own)


extend = Extension
"""An extension, to be filled and then used: `cubes = lamina.extend("cubes")`."""
